"""Open columns: a run learns their values itself, within its own budget, delta included; killed, it spends nothing twice."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from pyarrow import csv

import understudy
from contracts.mechanisms import LINEAR
from contracts.tape import Tape, differences, frozen_entropy, paid
from understudy import Ledger, Sql, check_schema, plan, synthesize
from understudy.cli import main
from understudy.errors import BudgetError, BudgetExceeded, CapacityError, LedgerError, SchemaError, SourceError, UserError
from understudy.mechanism import memory
from understudy.privacy import Budget, Charge, Door, Shared, Unit, epsilon_of, rho_of
from understudy.privacy.cost import float_below
from understudy.request import OPEN_SHARE, Request
from understudy.schema import Schema, parse_schema
from understudy.schema.cells import Objects
from understudy.schema.listed import Listed
from understudy.source import MemorySource
from understudy.source.opened import OpenSource, OpenSpeller
from understudy.source.undeclared import texts_of
from understudy.workload import Workload

SCHEMA = """
[columns.town]
kind = "open"
nullable = true

[columns.sex]
kind = "categorical"
values = ["F", "M"]
other = "F"

[columns.age]
kind = "integer"
min = 0
max = 99
bins = 4
nullable = true

[columns.job]
kind = "open"
other = "another"
nulls = ["N"]
nullable = true
"""
QUICK: dict[str, Any] = {"workload": "all-2way", "mechanism": "independent", "rows": 200}
ROWS = 4_000


def table(rows: int = ROWS) -> dict[str, list[Any]]:
    rng = np.random.default_rng(3)
    return {
        "town": [["Paris", "Lyon", "Nice", None][i % 4] if i % 100 else f"rare {i}" for i in range(rows)],
        "sex": rng.choice(["F", "M"], rows).tolist(),
        "age": [5, *rng.integers(0, 99, rows - 1).tolist()],
        "job": [["nurse", "smith", "N"][i % 3] if i % 50 else f"odd {i}" for i in range(rows)],
    }


def schema(text: str = SCHEMA) -> Schema:
    return parse_schema(text)


def asked_of_texts(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Door, Shared]]:
    found: list[tuple[Door, Shared]] = []
    ask = Door.ask

    def kept(door: Door, question: Any) -> Any:
        found.extend([(door, question)] if isinstance(question, Shared) else [])
        return ask(door, question)

    monkeypatch.setattr(Door, "ask", kept)
    return found


@pytest.mark.promise(36)
def test_texts_that_many_rows_have_become_the_values_of_the_column(tmp_path: Path) -> None:
    rows = table()
    made = synthesize(rows, schema(), epsilon=2, out=tmp_path / "r", **QUICK)
    town, job = made.schema["town"], made.schema["job"]
    assert (town.labels, job.labels) == (("Lyon", "Nice", "Paris", "(other)", "null"), ("nurse", "smith", "another", "null"))
    assert set(made.table["town"]) <= {"Lyon", "Nice", "Paris", "(other)", None}
    assert "N" in made.table["job"]
    again = understudy.load(tmp_path / "r")
    assert again.schema.declaration == made.schema.declaration
    assert [entry.column for entry in again.manifest.opened] == ["town", "job"]
    assert sum((charge.rho for charge in made.spend), Fraction(0)) == made.spent <= made.rho
    kept = " ".join(path.read_bytes().decode(errors="replace") for path in (tmp_path / "r").rglob("*") if path.is_file())
    assert "rare " not in kept
    assert "odd 50" not in kept
    card, threshold = " ".join(made.card.split()), made.manifest.opened[0].threshold
    assert 'the values of "town", "job" were learnt by this run, under the budget stated here' in card
    assert f'A text of "town" is shown only where its count with noise reached {threshold}' in card
    assert "of delta, 2.5e-10 is for texts of open columns" in card
    assert "Values of open columns" in (tmp_path / "r" / "report.html").read_text()
    later = synthesize(rows, tmp_path / "r" / "schema.toml", epsilon=1, **QUICK)  # the values are known from now on
    assert later.manifest.opened == []
    assert "were learnt by an earlier run, whose budget adds to this one" in " ".join(later.card.split())


@pytest.mark.promise(9)
@pytest.mark.promise(16)
@pytest.mark.promise(36)
@pytest.mark.parametrize("most", [None, 3])
def test_texts_and_all_the_rest_share_one_budget_and_one_delta(most: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = asked_of_texts(monkeypatch)
    rows = {**table(), "who": [f"p{i // 4}" for i in range(ROWS)]}
    person = "" if most is None else f'person = "who"\nrows_per_person = {most}\n'
    made = synthesize(rows, schema(person + SCHEMA), epsilon=3, delta=1e-6, **QUICK)
    unit = Unit.ADD_REMOVE if most is None else Unit("add-remove", most, "who")
    assert [(door.unit, question.attribute) for door, question in asked] == [(unit, "town"), (unit, "job")]
    (door, _), (other, _) = asked
    assert door.filter is other.filter
    noise = 1e-6 - sum(question.delta for _, question in asked)
    assert epsilon_of(made.rho, noise * (1 + 1e-9)) <= 3
    assert made.spent == door.filter.spent <= made.rho == door.filter.rho
    texts = sum((question.cost(unit) for _, question in asked), Fraction(0))
    assert OPEN_SHARE * made.rho * Fraction(99, 100) <= texts <= OPEN_SHARE * made.rho
    assert [entry.rho.fraction for entry in made.manifest.opened] == [question.cost(unit) for _, question in asked]
    assert (made.manifest.privacy.epsilon, made.manifest.privacy.delta) == (3, 1e-6)


@pytest.mark.promise(28)
@pytest.mark.promise(36)
def test_the_ledger_counts_the_rho_and_the_delta_of_texts_with_the_run(tmp_path: Path) -> None:
    book = Ledger.create(tmp_path / "l")
    book.declare("t", Budget.of(epsilon=2, delta=1e-9))
    made = synthesize(table(), schema(), epsilon=1, ledger=book, dataset="t", **QUICK)
    found = book.state().dataset("t")
    (run,) = found.runs
    assert found.spent == made.spent
    assert found.delta_beside == Fraction(2.5e-10)
    assert found.most(found.delta_beside) == Fraction(rho_of(2, float_below(Fraction(1e-9) - Fraction(2.5e-10))))
    assert run.charges[0].purpose.startswith("texts of (town) that many share")
    with pytest.raises(BudgetExceeded):
        synthesize(table(), schema(), epsilon=2, ledger=book, dataset="t", **QUICK)


@pytest.mark.promise(9)
@pytest.mark.promise(36)
def test_texts_and_all_the_rest_are_within_delta_to_the_last_digit() -> None:
    names = [f"c{i}" for i in range(7)]
    declared = schema("".join(f'[columns.{name}]\nkind = "open"\n' for name in names))
    for epsilon, delta in product((1, 3, 8), (1e-9, 1e-6, 3e-7, 1.1e-5, 7e-12)):
        asked = Request.of(declared, Budget.of(epsilon=epsilon, delta=delta))
        assert sum(Fraction(question.delta) for question in asked.opening) <= Fraction(asked.beside)
        rest = Fraction(delta) - Fraction(asked.beside)
        assert asked.budget.rho == rho_of(epsilon, float_below(rest))


def test_a_cap_lets_the_run_through_that_asks_for_all_of_it(tmp_path: Path) -> None:
    book = Ledger.create(tmp_path / "l")
    book.declare("t", Budget.of(epsilon=3, delta=1e-9))
    made = synthesize(table(), schema(), epsilon=3, ledger=book, dataset="t", **QUICK)
    assert book.state().dataset("t").spent == made.spent


class Killed(BaseException):
    """Ends a run as a signal would."""


def stopped_at(monkeypatch: pytest.MonkeyPatch, place: int) -> None:
    """Let so many questions be answered, then end the run."""
    ask, count = Door.ask, [0]

    def counted(door: Door, question: Any) -> Any:
        if count[0] == place:
            raise Killed
        count[0] += 1
        return ask(door, question)

    monkeypatch.setattr(Door, "ask", counted)


@pytest.mark.promise(30)
@pytest.mark.parametrize("place", [1, 2, 4])
def test_a_run_that_was_stopped_goes_on_and_asks_nothing_twice(
    place: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = Ledger.create(tmp_path / "l")
    book.declare("t", Budget.of(epsilon=2, delta=1e-9))
    settings = {**QUICK, "epsilon": 1, "ledger": book, "dataset": "t"}
    with monkeypatch.context() as patch:
        stopped_at(patch, place)
        with pytest.raises(Killed):
            synthesize(table(), schema(), **settings)
    before = book.state().dataset("t").runs[0].charges
    assert len(before) == place
    drawn: list[str] = []
    draw = Door._drawn
    monkeypatch.setattr(Door, "_drawn", lambda door, q, *rest: (drawn.append(q.purpose), draw(door, q, *rest))[1])
    others = {"sex": "M" if table()["sex"][0] == "F" else "F", "age": 6, "town": "Lima", "job": "smith"}
    for name, one in others.items():
        changed = table()
        changed[name][0] = one  # of an age, inside its bin; of a town, a text that nobody else has
        with pytest.raises(LedgerError, match="not the table that the run began with"):
            synthesize(changed, schema(), resume=True, **settings)
    drawn.clear()
    made = synthesize(table(), schema(), resume=True, **settings)
    (run,) = book.state().dataset("t").runs
    assert run.charges[:place] == before
    assert [charge.purpose for charge in run.charges] == [charge.purpose for charge in made.spend]
    assert drawn == [charge.purpose for charge in made.spend][place:]
    assert run.settled == made.spent <= made.rho


@pytest.mark.promise(30)
def test_a_run_of_persons_goes_on_whichever_of_their_texts_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of which rows a person's texts are counted is drawn anew in each read; the table is the same one."""
    rows = {**table(), "who": [f"p{i // 40}" for i in range(ROWS)]}
    declared = schema('person = "who"\nrows_per_person = 3\n' + SCHEMA)
    settings = {**QUICK, "epsilon": 4, "out": tmp_path / "r"}
    with monkeypatch.context() as patch:
        stopped_at(patch, 3)
        with pytest.raises(Killed):
            synthesize(rows, declared, **settings)
    assert synthesize(rows, declared, resume=True, **settings).manifest.opened


@pytest.mark.promise(10)
@pytest.mark.promise(36)
def test_on_a_neighbour_the_same_answers_give_the_same_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def recorded(rows: dict[str, list[Any]], tape: Tape, name: str) -> tuple[dict[str, bytes], list[Charge]]:
        with monkeypatch.context() as patch:
            frozen_entropy(patch)
            tape.install(patch)
            settings = {**QUICK, "mechanism": "aim", "max_size": "1MB", "out": tmp_path / name}
            made = synthesize(rows, schema(), epsilon=2, **settings)
        files = {str(p.relative_to(tmp_path / name)): p.read_bytes() for p in (tmp_path / name).rglob("*") if p.is_file()}
        return files, list(made.spend)

    rows, first = table(1_500), Tape()
    files, charges = recorded(rows, first, "a")
    sums = [at for at, charge in enumerate(charges, start=1) if LINEAR.match(charge.purpose)]
    assert sums
    for number, odd in enumerate([("Paris", "?", 3, "N"), (None, "M", "x", "nurse"), ("", None, 1e9, float("nan"))]):
        second = Tape(frozen=first.draws)
        neighbour = {name: [*values, one] for (name, values), one in zip(rows.items(), odd, strict=True)}
        others, _ = recorded(neighbour, second, f"b{number}")
        assert others == files
        assert differences(first.draws, second.draws, paid(charges), Unit.ADD_REMOVE, sums) == []


@pytest.mark.promise(16)
def test_a_person_counts_with_so_many_rows() -> None:
    rows = {"who": [f"p{i}" for i in range(3000)] + ["me"] * 3000, "town": ["Paris", "Lyon"] * 1500 + ["mine"] * 3000}
    text = 'person = "who"\nrows_per_person = 2\n[columns.town]\nkind = "open"\n'
    made = synthesize(rows, schema(text), epsilon=4, workload="all-1way", mechanism="independent", rows=10)
    assert made.schema["town"].labels == ("Lyon", "Paris", "(other)")


@pytest.mark.promise(29)
def test_nothing_is_read_before_it_is_reserved_and_paid_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    book = Ledger.create(tmp_path / "l")
    book.declare("t", Budget.of(epsilon=1, delta=1e-9))
    read: list[int] = []

    def fail(self: object, *_: object) -> None:
        read.append(len(book.state().runs))
        raise SourceError("It was read.")

    monkeypatch.setattr(OpenSource, "count", fail)
    monkeypatch.setattr(OpenSource, "texts", fail)
    monkeypatch.setattr(MemorySource, "count", fail)
    with pytest.raises(SourceError, match="It was read"):
        synthesize(table(), schema(), epsilon=1, ledger=book, dataset="t", **QUICK)
    assert read == [1]
    with pytest.raises(BudgetExceeded):
        synthesize(table(), schema(), epsilon=3, ledger=book, dataset="t", **QUICK)
    assert read == [1]


def spelled(values: Sequence[Any], settings: str) -> dict[str, int]:
    declared = parse_schema(f'[columns.x]\nkind = "open"\n{settings}')
    texts, counts = texts_of({"x": values}, OpenSpeller("x", declared=declared.open[0]), None, None)
    settled = declared.settled({"x": texts})
    codes = settled["x"].encode(Objects(values))
    found = {text: int(count) for text, count in zip(texts, counts.tolist(), strict=True)}
    assert {settled["x"].labels[code] for code in codes.tolist()} <= {*found, "(other)", "null", "-"}
    assert all(np.bincount(codes, minlength=99)[settled["x"].labels.index(text)] == found[text] for text in found)
    return found


def test_texts_are_counted_as_the_column_will_read_them() -> None:
    assert spelled(["a", " a ", "b", "", None, "(other)"], "") == {"a": 2, "b": 1}
    assert spelled(["a", "N", " N ", "-9"], 'nulls = ["N", -9]\nnullable = true') == {"a": 1}
    assert spelled(["I21.4", "I21", "I2", "J1", " I219"], "prefix = 3") == {"I21": 3, "I2": 1, "J1": 1}
    assert spelled(["Nice", "N", "No", "Lyon"], 'prefix = 1\nnulls = ["N"]\nnullable = true') == {"L": 1}
    assert spelled([7, 7.0, 10001, 2.5, float("nan")], "") == {"10001": 1, "2.5": 1, "7": 2}
    assert spelled([7, -9, 8], "nulls = [-9]\nnullable = true") == {"7": 1, "8": 1}
    assert spelled(["x" * 101, "a\nb", "ok"], "") == {"ok": 1}


def test_a_column_of_which_nothing_is_told_is_the_catch_all() -> None:
    rows = {"x": [f"somebody {i}" for i in range(500)], "y": ["a", "b"] * 250}
    text = '[columns.x]\nkind = "open"\nprefix = 3\nother = "somebody"\n[columns.y]\nkind = "open"\ntype = "category"\n'
    made = synthesize({"x": [f"{i:04}" for i in range(500)], "y": rows["y"]}, schema(text), epsilon=2, **QUICK)
    assert made.schema["x"].labels == ("somebody",)
    assert set(made.table["x"]) == {"somebody"}
    assert made.schema["y"].labels == ("a", "b", "(other)")


@pytest.mark.parametrize("form", ["csv", "parquet", "pandas", "lazy", "category", "sql"])
def test_every_form_of_a_table_gives_the_same_values(form: str, tmp_path: Path) -> None:
    rows = table(1_000)
    arrow = pa.table(rows)
    csv.write_csv(arrow, tmp_path / "t.csv")
    pq.write_table(arrow, tmp_path / "t.parquet")
    with duckdb.connect(str(tmp_path / "t.duckdb")) as database:
        database.execute(f"CREATE TABLE t AS SELECT * FROM '{tmp_path}/t.parquet'")
    forms = {
        **{"csv": tmp_path / "t.csv", "parquet": tmp_path / "t.parquet", "pandas": pd.DataFrame(rows)},
        **{"lazy": pl.DataFrame(rows).lazy(), "category": pd.DataFrame(rows).astype({"town": "category"})},
        "sql": Sql("SELECT * FROM t", tmp_path / "t.duckdb"),
    }
    made = synthesize(forms[form], schema(), epsilon=2, seed=1, **QUICK)
    same = synthesize(rows, schema(), epsilon=2, seed=1, **QUICK)
    assert made.schema.declaration == same.schema.declaration
    assert made.arrow.equals(same.arrow)


def test_what_cannot_be_open_is_refused_before_anything_is_spent(tmp_path: Path) -> None:
    rows, quick = table(40), {**QUICK, "epsilon": 1}
    with pytest.raises(BudgetError, match="give epsilon and delta"):
        synthesize(rows, schema(), rho=0.1, **QUICK)
    with pytest.raises(SourceError, match="read once only"):
        synthesize(pa.table(rows).to_reader(), schema(), **quick)
    with pytest.raises(SourceError, match="array of codes has no texts"):
        synthesize(np.zeros((5, 4), int), schema(), **quick)
    spark = type("DataFrame", (), {"__module__": "pyspark.sql.classic.dataframe", "sparkSession": None})()
    with pytest.raises(SourceError, match="from a Spark table"):
        synthesize(spark, schema(), **quick)
    with pytest.raises(UserError, match="list the values that this one has"):
        synthesize(rows, schema(), public=table(30), **{**quick, "mechanism": "aim"})
    queries = [{"attributes": ["town"], "prefixes": "town"}]
    with pytest.raises(UserError, match="has no sums"):
        synthesize(rows, schema(), **{**quick, "workload": queries})
    with pytest.raises(SchemaError, match="is open: nobody knows its values"):
        schema(SCHEMA + '[[zeros]]\nnever = \'town = "Paris" and sex = "F"\'\n')
    with pytest.raises(SchemaError, match="so none is looked up"):
        schema(SCHEMA + '[columns.d]\nkind = "derived"\nof = "town"\nlookup = { "(other)" = 1 }\n')
    seeded = synthesize(rows, schema(), seed=1, **quick)
    with pytest.raises(SchemaError, match="learnt with a seed"):
        synthesize(rows, seeded.schema, **quick)


def test_a_run_that_does_not_fit_once_its_values_are_known_says_what_was_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    left = iter([None, 1])
    monkeypatch.setattr(memory, "memory_left", lambda _: next(left))
    with pytest.raises(CapacityError) as told:
        synthesize(table(), schema(), epsilon=3, **QUICK)
    assert told.value.spent is not None
    assert told.value.spent.rho > 0
    assert "The run may take" in str(told.value)
    said = " ".join([str(told.value), *told.value.__notes__])
    assert "Nothing was spent" not in said
    assert "Spent, and stays spent" in said


def test_a_workload_is_asked_of_the_values_that_were_learnt() -> None:
    declared = schema()
    queries = [["town", "sex"], ["job"]]
    made = [Workload.of(declared.domain, queries), queries, "target:town"]
    for workload in made:
        release = synthesize(table(), declared, epsilon=2, **{**QUICK, "workload": workload})
        assert release.workload.domain == release.schema.domain
    assert release.manifest.workload.name == "target:town"
    assert release.table_marginal("town").size == 5


def test_a_plan_says_which_texts_will_be_found(tmp_path: Path) -> None:
    found = plan(schema(), rows=50_000, epsilon=1, workload="all-2way", rehearse=True)
    assert [one.name for one in found.opened] == ["town", "job"]
    made = synthesize(table(), schema(), epsilon=1, **QUICK)
    assert [one.threshold for one in found.opened] == [entry.threshold for entry in made.manifest.opened]
    assert found.rho == float(made.rho)
    assert {column.name: column.codes for column in found.columns}["town"] == 34
    assert found.rehearsal is not None
    (tmp_path / "s.toml").write_text(SCHEMA)
    shown = CliRunner().invoke(main, ["plan", "-s", str(tmp_path / "s.toml"), "--rows", "500", "-e", "1", "--no-rehearsal"])
    assert f"town: texts that about {found.opened[0].threshold} rows have" in shown.output, shown.output
    assert "planned with 2 values" in shown.output


def test_a_check_takes_every_text_and_show_says_who_learns_them(tmp_path: Path) -> None:
    assert check_schema(table(), schema()) == []
    (tmp_path / "s.toml").write_text(SCHEMA)
    assert "learnt by each run" in CliRunner().invoke(main, ["schema", "show", str(tmp_path / "s.toml")]).output
    listed = schema()["town"]
    assert isinstance(listed, Listed)
    assert listed.labels == ("(other)", "null")


def test_a_plan_knows_texts_that_count_as_their_beginning() -> None:
    declared = schema(
        '[columns.town]\nkind = "open"\nprefix = 2\n[columns.sex]\nkind = "categorical"\nvalues = ["F"]\nother = "M"\n'
    )
    found = plan(declared, rows=50_000, epsilon=1, workload="all-2way", rehearse=True)
    assert {column.name: column.codes for column in found.columns}["town"] > 2


def test_a_finished_run_with_open_columns_is_complete_already(tmp_path: Path) -> None:
    settings: dict[str, Any] = {**QUICK, "epsilon": 4, "out": tmp_path / "r", "progress": False}
    made = understudy.synthesize(table(), parse_schema(SCHEMA), **settings)
    with pytest.warns(understudy.UnderstudyWarning, match="complete already"):
        again = understudy.synthesize(table(), parse_schema(SCHEMA), resume=True, **settings)
    assert again.manifest == made.manifest
