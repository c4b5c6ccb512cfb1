"""The canary: whatever command or function is used, however it ends, no mark and no exact number of the table comes out."""

from __future__ import annotations

import gc
import logging
import tempfile
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

import understudy
from contracts.tape import Tape, frozen_entropy
from release_tables import SCHEMA
from understudy.cli import main
from understudy.cli.evaluate import evaluate as evaluate_command
from understudy.errors import UserError
from understudy.ledger import Ledger
from understudy.privacy import Budget
from understudy.source import StreamedSource

from .canary import MARK, NUMBERS, ROWS, leaks, leaks_in, private_table

pytestmark = [pytest.mark.promise(n) for n in (14, 15, 25, 26)]

QUICK = ("--epsilon", "0.5", "--workload", "all-1way", "--mechanism", "independent")
NOT_PRIVATE = {("schema", "draft"), ("schema", "review"), ("schema", "check"), ("evaluate",)}
"""Commands that say themselves that what they show is not private."""


@pytest.fixture(scope="module")
def private() -> pa.Table:
    return private_table()


@pytest.fixture
def home(tmp_path: Path, private: pa.Table) -> Path:
    """The owner's folder, in which everything is private, and may be."""
    folder = tmp_path / "home"
    folder.mkdir()
    pa.csv.write_csv(private, folder / "visits.csv")
    (folder / "visits.toml").write_text(f"# {MARK}: a comment of the owner's\n{SCHEMA}", encoding="utf-8")
    (folder / "book.csv").write_text("column,value,label\nsex,F,Female\n", encoding="utf-8")
    return folder


@pytest.fixture
def out(tmp_path: Path) -> Path:
    folder = tmp_path / "out"
    folder.mkdir()
    return folder


class Ears(logging.Handler):
    def __init__(self) -> None:
        super().__init__(0)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(record.getMessage())


@pytest.fixture(autouse=True)
def heard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    """Listen to all logs, screens and temporary folders; randomness repeats, so that no number is there by chance."""
    ears, root, scratch = Ears(), logging.getLogger(), tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    Tape(seed=7).install(monkeypatch)
    frozen_entropy(monkeypatch)
    root.addHandler(ears)
    root.setLevel(1)
    yield
    root.removeHandler(ears)
    root.setLevel(logging.WARNING)
    assert leaks("\n".join(ears.said)) == []
    assert leaks("".join(capfd.readouterr())) == []
    assert list(leaks_in(scratch)) == []
    assert list(scratch.iterdir()) == [], "a run leaves nothing in the temporary folder"


def run(*arguments: object, keys: str = "") -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments], input=keys)


def told(result: Result) -> str:
    return f"{result.stdout}\n{result.stderr}\n{result.exception!r}"


def test_the_canary_sings(tmp_path: Path, private: pa.Table) -> None:
    """What the checks look for is in the table, and would be found wherever it is written."""
    assert private.num_rows == ROWS
    for text in (f"{ROWS}", "7,919 rows", "n=7919;", '"rows": 2753,', "(3989)", f"a {MARK.upper()}!"):
        assert leaks(text), text
    for text in ("17919", "7919.5", "0.7919", "a7919f", "79190", "-7919"):
        assert leaks(text) == [], text
    import numpy as np

    np.save(tmp_path / "a.npy", np.array([1, NUMBERS[1]]))
    (tmp_path / f"{MARK}.txt").write_text("nothing")
    (tmp_path / "b.ledger").write_bytes(b"x" + np.int64(ROWS).tobytes())
    assert len(list(leaks_in(tmp_path))) == 3


# Every command.


def commands(group: click.Group, path: tuple[str, ...] = ()) -> set[tuple[str, ...]]:
    found: set[tuple[str, ...]] = set()
    for name, command in group.commands.items():
        found |= commands(command, (*path, name)) if isinstance(command, click.Group) else {(*path, name)}
    return found


def lines(home: Path, out: Path) -> list[tuple[tuple[str, ...], list[object]]]:
    """Return every private command with its arguments, in an order in which each finds what it needs."""
    schema, data, release, book = home / "visits.toml", home / "visits.csv", out / "release", out / "budget.ledger"
    synthesize = ["synthesize", data, "-s", schema, *QUICK]
    shared = ["--ledger", book, "--dataset", "visits"]
    return [
        (("schema", "show"), ["schema", "show", schema]),
        (("schema", "show"), ["schema", "show", schema, "--json"]),
        (("schema", "json-schema"), ["schema", "json-schema"]),
        (("schema", "import"), ["schema", "import", home / "book.csv"]),
        (("plan",), ["plan", "-s", schema, "--rows", 5000, "-e", 1, "--no-rehearsal"]),
        (("ledger", "init"), ["ledger", "init", book, "--dataset", "visits", "--epsilon", 4]),
        (("ledger", "cap"), ["ledger", "cap", book, "--dataset", "visits", "--epsilon", 5]),
        (("synthesize",), [*synthesize, "-o", release, *shared]),
        (("synthesize",), [*synthesize, "-o", out / "again", "--json", "--format", "parquet"]),
        (("synthesize",), [*synthesize, "-o", out / "replaced", "--unit", "replace", "--rows", 50]),
        (("ledger", "show"), ["ledger", "show", book]),
        (("ledger", "show"), ["ledger", "show", book, "--json"]),
        (("ledger", "verify"), ["ledger", "verify", book]),
        (("ledger", "export"), ["ledger", "export", book]),
        (("ledger", "export"), ["ledger", "export", book, "--json", "-o", out / "lines.json"]),
        (("sample",), ["sample", release, "-n", 30]),
        (("sample",), ["sample", release, "-n", 30, "--given", "sex=F", "-o", out / "more.csv"]),
        (("query",), ["query", release, "sex"]),
        (("query",), ["query", release, "sex", "age", "--json"]),
        (("report",), ["report", release]),
        (("demo",), ["demo", "--folder", out / "demo", "--rows", 300, "-w", "all-1way"]),
    ]


def test_no_command_tells(home: Path, out: Path) -> None:
    played = set()
    for path, arguments in lines(home, out):
        result = run(*arguments)
        assert result.exit_code == 0, told(result)
        assert leaks(told(result).replace(str(home), "")) == [], arguments
        played.add(path)
    assert list(leaks_in(out)) == []
    assert played == commands(main) - NOT_PRIVATE, "a new command has to sing here, or be marked not private"


def test_what_is_not_private_says_so(home: Path, out: Path) -> None:
    """These show what they saw, which also shows that the marks are visible to whoever looks."""
    release = out / "release"
    assert run("synthesize", home / "visits.csv", "-s", home / "visits.toml", *QUICK, "-o", release).exit_code == 0
    drafted = out / "draft.toml"
    assert run("schema", "draft", home / "visits.csv", "-o", drafted).exit_code == 0
    shown = {
        ("evaluate",): run("evaluate", home / "visits.csv", release),
        ("schema", "draft"): run("schema", "draft", home / "visits.csv"),
        ("schema", "review"): run("schema", "review", drafted, keys="q"),
        ("schema", "check"): run("schema", "check", home / "visits.csv", "-s", home / "visits.toml"),
    }
    assert set(shown) == NOT_PRIVATE
    for path, result in shown.items():
        assert result.exit_code == 0, told(result)
        said = result.stderr.lower()
        assert "not private" in said or "looking at the data" in said, path
    assert leaks(told(shown["schema", "check"]))
    assert "NOT PRIVATE" in (evaluate_command.help or "")
    page = home / "page.html"
    assert run("evaluate", home / "visits.csv", release, "--report", page).exit_code == 0
    assert "not private" in page.read_text(encoding="utf-8").lower()


# The library.


def test_the_library_tells_nothing(private: pa.Table, out: Path) -> None:
    book = Ledger.create(out / "budget.ledger")
    book.declare("visits", Budget.of(epsilon=4, delta=1e-9))
    events: list[Any] = []
    (out / "visits.toml").write_text(SCHEMA, encoding="utf-8")
    made = understudy.synthesize(
        private,
        out / "visits.toml",
        epsilon=0.5,
        workload="all-2way",
        rounds=40,
        max_size="1MB",
        out=out / "release",
        ledger=book,
        dataset="visits",
        progress=events.append,
    )
    loaded = understudy.load(out / "release")
    for release in (made, loaded):
        answer, more = release.marginal("sex", "level"), release.sample(40, {"sex": "F"})
        texts = [str(release), repr(release), release.card, str(answer), repr(answer), str(more), repr(release.spend)]
        texts += [repr(release.manifest), repr(release.measurements), repr(release.model), str(release.table)]
        assert [leak for text in texts for leak in leaks(text)] == []
        for measured in release.measurements:
            assert not any((measured.values == n).any() for n in NUMBERS)
        assert release.arrow.num_rows not in NUMBERS
    assert leaks("\n".join(map(repr, events))) == []
    assert leaks(repr(book.state())) == []
    made.save(out / "saved", format="parquet")
    assert list(leaks_in(out)) == []


def test_a_release_keeps_no_table(home: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sampling, querying and reporting work when the table is gone, and the frame that came in is let go."""
    frame = private_table().to_pandas()
    seen = weakref.ref(frame)
    in_memory = understudy.synthesize(
        frame, home / "visits.toml", epsilon=0.5, workload="all-1way", mechanism="independent", progress=False
    )
    del frame
    gc.collect()
    assert seen() is None
    assert run("synthesize", home / "visits.csv", "-s", home / "visits.toml", *QUICK, "-o", out / "r").exit_code == 0
    (home / "visits.csv").unlink()
    assert in_memory.sample(5).shape[0] == 5
    for arguments in (["sample", out / "r", "-n", 5], ["query", out / "r", "sex"], ["report", out / "r"]):
        assert run(*arguments).exit_code == 0


# However it ends.


def quoting(kind: type[BaseException]) -> Callable[..., Any]:
    count = StreamedSource.count

    def counted(self: StreamedSource, cliques: Any) -> Any:
        exact = count(self, cliques)
        raise kind(f"{MARK}: {[int(c.sum()) for c in exact]}")

    return counted


@pytest.mark.parametrize("kind", [KeyboardInterrupt, ValueError, MemoryError, ZeroDivisionError])
def test_a_run_that_breaks_tells_nothing(
    kind: type[BaseException], home: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error whose own text quotes the table, an interruption, a full memory; then resumed, and refused."""
    base = ["synthesize", home / "visits.csv", "-s", home / "visits.toml", *QUICK, "-o", out / "r"]
    with monkeypatch.context() as patch:
        patch.setattr(StreamedSource, "count", quoting(kind))
        broken = run(*base)
    assert broken.exit_code == {KeyboardInterrupt: 130, MemoryError: 2}.get(kind, 3)
    assert "stays spent" in broken.stderr
    resumed = run(*base, "--resume")
    assert resumed.exit_code == 0, told(resumed)
    refused = run(*base)
    assert refused.exit_code == 2
    for result in (broken, resumed, refused):
        assert leaks(f"{result.stdout}\n{result.stderr}") == []
    assert list(leaks_in(out)) == []


BAD_FILES: dict[str, Callable[[Path], None]] = {
    "not text": lambda path: path.write_bytes(path.read_bytes().replace(b"-17,", b"-\xff\xfe,")) and None,
    "an endless quote": lambda path: path.write_bytes(path.read_bytes().replace(b'"F"', b'"F', 1)) and None,
    "no header": lambda path: path.write_text(f"{MARK},{MARK}\n{MARK},1\n") and None,
    "empty": lambda path: path.write_text("") and None,
    "cut": lambda path: path.write_bytes(path.read_bytes()[:5000]) and None,
}


def chain(error: BaseException) -> str:
    """Return all that a traceback of ``error`` would print of messages: causes, contexts and notes."""
    texts, place = [], error
    while place is not None:
        texts += [str(place), *getattr(place, "__notes__", [])]
        place = place.__cause__ or place.__context__  # type: ignore[assignment]
    return "\n".join(texts)


@pytest.mark.parametrize("damage", BAD_FILES)
def test_failures_quote_nothing(damage: str, home: Path, out: Path, private: pa.Table) -> None:
    """Files that cannot be read, and a query that fails on a value: the error names neither value nor number."""
    BAD_FILES[damage](home / "visits.csv")
    result = run("synthesize", home / "visits.csv", "-s", home / "visits.toml", *QUICK, "-o", out / "r")
    assert result.exit_code in (0, 2), told(result)
    assert leaks(f"{result.stdout}\n{result.stderr}".replace(str(home), "")) == []
    assert list(leaks_in(out)) == []
    pq.write_table(private, home / "visits.parquet")
    sql = f"SELECT * REPLACE (CAST(sex AS INTEGER) AS sex) FROM '{home / 'visits.parquet'}' WHERE sex LIKE '%-%'"
    with pytest.raises(UserError) as caught:
        understudy.synthesize(
            understudy.Sql(sql), home / "visits.toml", epsilon=0.5, mechanism="independent", progress=False, out=out / "s"
        )
    assert leaks(chain(caught.value).replace(sql, "").replace(str(home), "")) == []
    assert list(leaks_in(out)) == []
