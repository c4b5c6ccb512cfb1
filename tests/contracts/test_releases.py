"""A whole run, from the table to the saved folder, recorded and replayed: every byte that leaves is the same for neighbours.

Files, their names and sizes, events, what is printed, logged and warned of, the release itself and the text of errors. The
names of runs and the seed of the synthetic rows are drawn from frozen entropy, so that what differs comes from the table.
"""

from __future__ import annotations

import gc
import json
import logging
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from click.testing import CliRunner

import understudy
from understudy.cli import main
from understudy.errors import UserError
from understudy.ledger import Ledger
from understudy.mechanism import DEFAULT
from understudy.privacy import Budget, Unit
from understudy.schema import Schema, parse_schema
from understudy.source import MemorySource, StreamedSource

from .forms import FORMS
from .mechanisms import LINEAR, registered
from .neighbours import PAIRS, QUICK, TABLE, WRONG_TYPES, Pair, pairs
from .people import ANNA, HEIGHT, NOBODY, SCHEMA_TEXT, arrow, schema
from .tape import Tape, differences, frozen_entropy, timeless

pytestmark = [pytest.mark.promise(n) for n in (10, 12, 13, 14, 15)]
SETTINGS: dict[str, Any] = {"rho": Fraction(1, 2), "workload": "all-2way", "max_size": "1MB"}


class Stop(Exception):
    """Ends a run in its middle."""


@dataclass
class Shown:
    """All that one run left behind."""

    files: dict[str, bytes] = field(default_factory=dict)
    events: list[Any] = field(default_factory=list)
    printed: str = ""
    logged: list[str] = field(default_factory=list)
    warned: list[str] = field(default_factory=list)
    ending: str = ""
    release: list[str] = field(default_factory=list)

    def differs(self, other: Shown) -> list[str]:
        """Name what differs; files one by one."""
        names = sorted(set(self.files) | set(other.files))
        found = [name for name in names if self.files.get(name) != other.files.get(name)]
        return found + [
            name for name in self.__dataclass_fields__ if name != "files" and getattr(self, name) != getattr(other, name)
        ]


class Listener(logging.Handler):
    """Keeps every record of every logger, whatever its level."""

    def __init__(self) -> None:
        super().__init__(0)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(f"{record.name} {record.levelname} {record.getMessage()}")


Act = Callable[[Any, Path, Callable[[Any], None]], Any]


@dataclass
class Stage:
    """A folder with the table in it, always under the same name, and everything around a run listened to."""

    folder: Path
    monkeypatch: pytest.MonkeyPatch
    capfd: pytest.CaptureFixture[str]

    def run(self, form: str, rows: Any, tape: Tape, act: Act) -> Shown:
        """Put the table on stage, run, and clear the stage; return what was left."""
        data = self.folder / "data"
        data.mkdir(parents=True)
        table, out, shown, ears = FORMS[form](rows, data), self.folder / "out", Shown(), Listener()
        out.mkdir()
        root = logging.getLogger()
        root.addHandler(ears)
        level = root.level
        root.setLevel(1)
        try:
            with self.monkeypatch.context() as patch, warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                frozen_entropy(patch)
                tape.install(patch)
                shown.ending, shown.release = _acted(act, table, out, lambda e: shown.events.append(timeless(e)))
        finally:
            root.removeHandler(ears)
            root.setLevel(level)
        shown.printed = "".join(self.capfd.readouterr())
        shown.logged, shown.warned = ears.lines, [str(w.message) for w in warned]
        shown.files = {str(p.relative_to(out)): p.read_bytes() for p in sorted(out.rglob("*")) if p.is_file()}
        self.folder.rename(self.folder.with_name(f"used {len(list(self.folder.parent.iterdir()))}"))
        return shown


def _acted(act: Act, table: Any, out: Path, tell: Callable[[Any], None]) -> tuple[str, list[str]]:
    try:
        made = act(table, out, tell)
    except AssertionError:
        raise
    except BaseException as error:
        notes = " ".join(getattr(error, "__notes__", []))
        return f"{type(error).__name__}: {error} {notes} {error.__cause__!r} {error.__context__!r}", []
    if not isinstance(made, understudy.Release):
        return "returned", [str(made)]
    types = getattr(made.table, "dtypes", getattr(made.table, "schema", ""))
    return "returned", [str(made), made.card, repr(made), str(made.table), type(made.table).__name__, str(types)]


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Stage:
    gc.collect()  # what earlier tests left behind warns now, and not while a run is listened to
    return Stage(tmp_path / "stage", monkeypatch, capfd)


def synthesizing(mechanism: str, unit: Unit, *, declared: Schema | None = None, **settings: Any) -> Act:
    def act(table: Any, out: Path, tell: Callable[[Any], None]) -> Any:
        rounds = {"rounds": 6} if mechanism in ("aim", "aim2", "mwem") else {}
        asked = {**SETTINGS, **rounds, "mechanism": mechanism, "unit": unit, "out": out / "release", "progress": tell}
        return understudy.synthesize(table, declared or schema(), **{**asked, **settings})

    return act


def compared(stage: Stage, form: str, pair: Pair, act: Act) -> tuple[Shown, list[str]]:
    """Record, replay, and list every difference."""
    first = Tape(seed=3)
    recorded = stage.run(form, pair.table, first, act)
    again = Tape(seed=3, frozen=first.draws)
    replayed = stage.run(form, pair.other, again, act)
    charges = [d.scale for d in first.draws]  # what was paid is compared where the door is at hand: test_mechanisms
    assert len(charges) == len(again.draws)
    return recorded, recorded.differs(replayed)


def both(quick: list[Pair]) -> list[Any]:
    return [pytest.param(p, id=p.name, marks=() if p in quick else pytest.mark.audit) for p in PAIRS]


def of_mechanisms() -> list[Any]:
    """Return every mechanism with every pair; of CSV files AIM's alone are quick, of others the audit has all."""
    found = []
    for name, form, pair in product(registered(), ("arrow_table", "csv_file"), PAIRS):
        quick = pair in QUICK[1:4] and (form == "arrow_table" or name == "aim")
        marks = () if quick else pytest.mark.audit
        found.append(pytest.param(name, form, pair, id=f"{name}-{form}-{pair.name}", marks=marks))
    return found


@pytest.mark.parametrize(("name", "form", "pair"), of_mechanisms())
def test_every_byte_of_a_release_is_the_same(name: str, form: str, pair: Pair, stage: Stage) -> None:
    recorded, found = compared(stage, form, pair, synthesizing(name, pair.unit))
    assert found == []
    refused = "only answers queries" in recorded.ending
    assert refused or {"release/release.json", "release/report.html", "release/synthetic.csv"} <= set(recorded.files)
    assert refused or recorded.events


@pytest.mark.parametrize("pair", both(QUICK[1:4]))
def test_every_byte_is_the_same_where_nobody_names_a_mechanism(pair: Pair, stage: Stage) -> None:
    recorded, found = compared(stage, "arrow_table", pair, synthesizing(DEFAULT, pair.unit))
    assert found == []
    assert "forecast" in recorded.files["release/release.json"].decode()


TYPED = ("pandas_frame", "pandas_nullable", "pandas_objects", "polars_frame", "polars_lazy", "arrow_dictionary")
LOOSE = ("pandas_objects", "dict_of_lists", "dict_of_arrays")


EMPTIED = ("one more than none", "replaced: all there is")
"""Pairs in which a whole column has no value on one side. After ``convert_dtypes``, the caller's own act, it has then a
plain type where it would have a nullable one; docs/threat-model.md names that.
"""


def of_frames() -> list[Any]:
    cases = [(form, pair) for form in (*TYPED, *LOOSE[1:]) for pair in PAIRS]
    cases = [(form, pair) for form, pair in cases if form != "pandas_nullable" or pair.name not in EMPTIED]
    cases += [(form, pair) for form in LOOSE for pair in pairs(WRONG_TYPES)]
    quick = ("one more: nothing but nulls", "one more: a text for a number")
    return [
        pytest.param(form, pair, id=f"{form}: {pair.name}", marks=() if pair.name in quick else pytest.mark.audit)
        for form, pair in cases
    ]


@pytest.mark.parametrize(("form", "pair"), of_frames())
def test_frames_come_back_in_types_that_no_record_can_change(form: str, pair: Pair, stage: Stage) -> None:
    assert compared(stage, form, pair, synthesizing("independent", pair.unit, out=None))[1] == []


@pytest.mark.parametrize("column", ["age", HEIGHT, "seen", "joined"])
@pytest.mark.parametrize("kind", ["arrow", "polars", "pandas", "pandas on arrow"])
def test_one_odd_value_does_not_change_the_type_of_a_column(kind: str, column: str) -> None:
    """A reader that meets one text in a column makes all of it texts; the synthetic column stays what the schema says."""
    makers: dict[str, Callable[[pa.Table], Any]] = {
        "arrow": lambda table: table,
        "polars": pl.from_arrow,
        "pandas": lambda table: table.to_pandas(),
        "pandas on arrow": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
    }
    table = arrow(TABLE)
    odd = table.set_column(table.column_names.index(column), column, table.column(column).cast(pa.string()))
    types = []
    for given in (table, odd):
        made = understudy.synthesize(makers[kind](given), schema(), rho=1, mechanism="independent", seed=1, progress=False)
        types.append(str(made.table.dtypes if hasattr(made.table, "dtypes") else made.table.schema))
    assert types[0] == types[1]


@pytest.mark.parametrize("pair", both(QUICK[1:2]))
@pytest.mark.parametrize("mechanism", ["aim", "independent"])
def test_a_run_that_fails_in_its_middle_says_the_same(mechanism: str, pair: Pair, stage: Stage) -> None:
    def act(table: Any, out: Path, tell: Callable[[Any], None]) -> Any:
        told = []

        def stop(event: Any) -> None:
            told.append(event)
            tell(event)
            if len(told) == 5:
                raise Stop("stopped")

        return synthesizing(mechanism, pair.unit)(table, out, stop)

    recorded, found = compared(stage, "csv_file", pair, act)
    assert found == []
    assert "stays spent" in recorded.ending
    assert "release.ledger" in recorded.files


@pytest.mark.parametrize("pair", both(QUICK[1:3]))
def test_a_run_that_was_stopped_and_resumed_leaves_the_same(pair: Pair, stage: Stage) -> None:
    """In a ledger of its owner's: every byte of it, of the release, and every event of both halves."""

    def act(table: Any, out: Path, tell: Callable[[Any], None]) -> Any:
        book = Ledger.create(out / "book.ledger")
        book.declare("people", Budget.of(rho=2))
        told = []

        def stop(event: Any) -> None:
            told.append(event)
            tell(event)
            if len(told) == 9:
                raise Stop("stopped")

        with pytest.raises(Stop):
            synthesizing("aim", pair.unit, ledger=book, dataset="people")(table, out, stop)
        return synthesizing("aim", pair.unit, ledger=book, dataset="people", resume=True)(table, out, tell)

    recorded, found = compared(stage, "csv_file", pair, act)
    assert found == []
    assert recorded.ending == "returned"
    assert {"book.ledger", "release/release.json"} <= set(recorded.files)


@pytest.mark.parametrize("pair", both(QUICK[1:3]))
@pytest.mark.parametrize("ending", ["well", "interrupted", "refused", "broken"])
def test_the_command_prints_the_same(ending: str, pair: Pair, stage: Stage) -> None:
    def act(table: Any, out: Path, tell: Callable[[Any], None]) -> str:
        (out.parent / "schema.toml").write_text(SCHEMA_TEXT, encoding="utf-8")
        unit = pair.unit.value.replace("_", "-")
        options = ["-s", out.parent / "schema.toml", "-o", out / "release", "--rho", "0.5", "-w", "all-2way", "--unit", unit]
        options += ["--mechanism", "independent"] + (["--max-size", "10"] if ending == "refused" else [])
        with pytest.MonkeyPatch.context() as patch:
            if ending in ("interrupted", "broken"):
                patch.setattr(
                    StreamedSource, "count", _raising(KeyboardInterrupt if ending == "interrupted" else ValueError)
                )
            result = CliRunner().invoke(main, ["synthesize", str(table), *map(str, options)])
        return f"{result.exit_code}\n{result.stdout}\n{result.stderr}"

    recorded, found = compared(stage, "csv_file", pair, act)
    assert found == []
    status = {"well": "0", "interrupted": "130", "refused": "2", "broken": "3"}[ending]
    assert recorded.release[0].startswith(status), recorded.release


def _raising(kind: type[BaseException]) -> Any:
    count = StreamedSource.count

    def counted(self: StreamedSource, cliques: Any) -> Any:
        exact = count(self, cliques)
        raise kind(f"after counting {[int(c.sum()) for c in exact]}")

    return counted


def test_a_leak_would_show(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutants of the run: the number of rows in a log line, in a warning, in a file, in an error."""
    (pair,) = [p for p in PAIRS if p.name == "one more: a duplicate"]
    count = MemorySource.count

    def rows(source: MemorySource) -> int:
        return int(count(source, [()])[0])

    def telling(tell: Callable[[int], None]) -> Callable[..., Any]:
        def counted(self: MemorySource, cliques: Any) -> Any:
            tell(rows(self))
            return count(self, cliques)

        return counted

    def fail(n: int) -> None:
        raise UserError(f"{n} rows")

    def append(path: Path, text: str) -> None:
        with path.open("a") as file:  # the synthetic table is counted in the same way, and must not write over it
            file.write(text)

    leaks: dict[str, Callable[[int], None]] = {
        "logged": lambda n: logging.getLogger("understudy").debug("%d rows", n),
        "warned": lambda n: warnings.warn(f"{n} rows", stacklevel=2),
        "printed": lambda n: print(f"{n} rows", file=sys.stderr),
        "ending": fail,
        "leak.txt": lambda n: append(stage.folder / "out" / "leak.txt", "x" * n),
    }
    for name, leak in leaks.items():
        with monkeypatch.context() as patch:
            patch.setattr(MemorySource, "count", telling(leak))
            assert compared(stage, "arrow_table", pair, synthesizing("independent", pair.unit))[1] == [name]


def require_paid(stage: Stage, form: str, pair: Pair, act: Act) -> None:
    """The charges in the release are one for each draw, in order, and cover what the neighbours really cost."""
    first = Tape(seed=3)
    recorded = stage.run(form, pair.table, first, act)
    again = Tape(seed=3, frozen=first.draws)
    replayed = stage.run(form, pair.other, again, act)
    assert recorded.differs(replayed) == []
    charges = json.loads(recorded.files["release/release.json"])["charges"]
    amounts = [Fraction(charge["rho"]["exact"]) for charge in charges]
    linear = [at for at, charge in enumerate(charges, start=1) if LINEAR.match(charge["purpose"])]
    assert differences(first.draws, again.draws, amounts, pair.unit, linear) == []
    assert sum(amounts) <= SETTINGS["rho"]


def test_what_was_drawn_is_what_was_paid_for(stage: Stage) -> None:
    for pair in QUICK:
        require_paid(stage, "arrow_table", pair, synthesizing("aim", pair.unit))


PERSONS = parse_schema(f'person = "patient"\nrows_per_person = 3\n{SCHEMA_TEXT}')
VISITS = [{**row, "patient": "ann" if i % 5 == 0 else None if i % 7 == 0 else f"p{i % 9}"} for i, row in enumerate(TABLE)]
BEN = [{**row, "patient": "ben"} for row in [*TABLE[:12], *[NOBODY] * 30]]


@pytest.mark.promise(16)
@pytest.mark.parametrize("form", ["csv_file", "polars_lazy", "sql_over_files"])
@pytest.mark.parametrize("kind", ["add-remove", "replace"])
def test_a_person_with_many_rows_changes_no_byte_and_is_paid_for(kind: Any, form: str, stage: Stage) -> None:
    unit = Unit(kind, 3, "patient")
    without = VISITS if kind == "add-remove" else [*VISITS, *({**ANNA, "patient": "ben"} for _ in BEN)]
    pair = Pair("a person more", unit, without, [*BEN[:20], *VISITS, *BEN[20:]])
    require_paid(stage, form, pair, synthesizing("aim", unit, declared=PERSONS))
