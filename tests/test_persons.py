"""A release that protects persons: the noise follows, the words say so, and the ledger keeps it apart from rows."""

from __future__ import annotations

import re
import tomllib
from fractions import Fraction
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import understudy
from understudy import Release
from understudy.cli import main
from understudy.errors import LedgerError, SourceError, UserError
from understudy.ledger import Ledger
from understudy.planning import plan
from understudy.privacy import Budget, Unit, sigma_for
from understudy.request import Request, unit_of
from understudy.schema import Schema, SchemaFileError, parse_schema

COLUMNS = """
[columns.ward]
kind = "categorical"
values = ["A", "B", "C"]
other = "C"
[columns.stay]
kind = "integer"
min = 1
max = 8
other = 1
"""
ROWS = parse_schema(COLUMNS)
PERSONS = parse_schema(f'person = "patient"\nrows_per_person = 4\n{COLUMNS}')
UNIT = Unit("add-remove", 4, "patient")
QUICK: dict[str, Any] = {"rho": 1, "mechanism": "independent", "workload": "all-1way", "progress": False}


def visits(people: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    patient = np.repeat(np.arange(people), rng.integers(1, 12, people))
    return pd.DataFrame(
        {"patient": patient, "ward": rng.choice(["A", "B"], len(patient)), "stay": rng.integers(1, 9, len(patient))}
    )


def made(unit: str = "add-remove", **settings: Any) -> Release:
    return understudy.synthesize(visits(), PERSONS, unit=unit, **{**QUICK, **settings})  # type: ignore[arg-type]


# The schema.


@pytest.mark.parametrize(
    ("head", "says"),
    [
        ('person = "patient"', r"line 1: person needs rows_per_person"),
        ("rows_per_person = 4", r"line 1: rows_per_person needs person"),
        ('person = "ward"\nrows_per_person = 4', r'line 1: "ward" identifies a person.*take it out'),
        ('person = "patient"\nrows_per_person = 0', r"line 2: rows_per_person does not fit: .*greater than or equal to 1"),
        ('person = "patient"\nrows_per_person = "4"', r"line 2: rows_per_person does not fit"),
        ('person = ""\nrows_per_person = 4', r"line 1: person does not fit"),
        ('persons = "patient"\nrows_per_person = 4', r'"persons" is not a setting here. Did you mean "person"'),
    ],
)
def test_a_declaration_that_makes_no_sense_says_so(head: str, says: str) -> None:
    with pytest.raises(SchemaFileError, match=says):
        parse_schema(f"{head}\n{COLUMNS}")


# The noise.


@pytest.mark.promise(16)
@pytest.mark.promise(17)
def test_the_unit_follows_from_the_schema() -> None:
    assert Request.of(PERSONS, Budget.of(rho=1)).unit == UNIT
    assert Request.of(PERSONS, Budget.of(rho=1), unit="replace").unit == Unit("replace", 4, "patient")
    assert Request.of(ROWS, Budget.of(rho=1)).unit == Unit.ADD_REMOVE
    assert unit_of(UNIT, PERSONS) == unit_of(Unit.ADD_REMOVE, PERSONS) == UNIT
    for wrong, schema in ((Unit("add-remove", 2), PERSONS), (Unit("add-remove", 2), ROWS), (UNIT, ROWS)):
        with pytest.raises(UserError, match="needs person and rows_per_person in the schema"):
            unit_of(wrong, schema)


@pytest.mark.promise(16)
@pytest.mark.promise(11)
def test_the_noise_is_that_of_as_many_rows() -> None:
    """The least noise that the whole budget could buy for two marginals of one row is a quarter of what is added."""
    release = made()
    assert release.unit == UNIT
    for measured in release.measurements:
        assert measured.scale >= 0.999 * 4 * sigma_for(Fraction(1, 2), Unit.ADD_REMOVE)


@pytest.mark.promise(16)
def test_counts_are_of_the_rows_that_are_used() -> None:
    release = made(rho=10**6)
    assert abs(release.manifest.table.total - visits().groupby("patient").size().clip(upper=4).sum()) < 20
    assert understudy.evaluate(visits(), release).error < 0.01


# What is said.


def words_of(text: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]*>", "", text)).split())


@pytest.mark.promise(16)
@pytest.mark.parametrize("unit", ["add-remove", "replace"])
def test_card_report_and_console_speak_of_persons(unit: str, tmp_path: Path) -> None:
    release = made(unit, out=tmp_path / "r")
    line = f"one person (patient) {'added or removed' if unit == 'add-remove' else 'replaced'}, with at most 4 rows"
    for text in (release.card, (tmp_path / "r" / "report.html").read_text(encoding="utf-8")):
        said = words_of(text)
        assert line in said
        assert 'A person is all rows with one value of "patient". At most 4 rows of each were used' in said
        assert "No single row" not in said
        assert "A person is one row" not in said
        assert "no row is dropped" not in said
        assert "one row" not in said
    assert line in repr(release)
    assert 'promised to every person in the private table, each told from others by "patient".' in words_of(release.card)


def test_report_and_query_say_which_rows_are_counted(tmp_path: Path) -> None:
    made(out=tmp_path / "r")
    said = words_of((tmp_path / "r" / "report.html").read_text(encoding="utf-8"))
    which = 'Counts are of the rows that were used: at most 4 of each "patient".'
    assert which in said
    assert "Real records, used, about" in said
    for asked in ("ward", "mean(stay) by ward"):
        assert which in CliRunner().invoke(main, ["query", str(tmp_path / "r"), asked]).output


def test_rows_are_spoken_of_where_each_is_a_person() -> None:
    release = understudy.synthesize(visits(), ROWS, **QUICK)
    assert "one row added or removed" in repr(release)
    assert "A person is one row." in release.card


@pytest.mark.promise(16)
def test_the_identifier_is_in_no_file(tmp_path: Path) -> None:
    data = visits().assign(patient=lambda t: "canary" + t.patient.astype(str))
    release = understudy.synthesize(data, PERSONS, **QUICK, out=tmp_path / "r")
    assert list(release.table.columns) == ["ward", "stay"]
    for path in (tmp_path / "r").rglob("*"):
        assert path.is_dir() or b"canary" not in path.read_bytes(), path


def test_a_saved_release_and_its_schema_declare_the_same(tmp_path: Path) -> None:
    made(out=tmp_path / "r")
    again = understudy.load(tmp_path / "r")
    assert again.unit == UNIT
    assert again.schema.person == PERSONS.person
    declared = tomllib.loads((tmp_path / "r" / "schema.toml").read_text(encoding="utf-8"))
    assert (declared["person"], declared["rows_per_person"]) == ("patient", 4)


# The ledger.


def run(book: Ledger, schema: Schema, **settings: Any) -> None:
    understudy.synthesize(visits(50), schema, **{**QUICK, "ledger": book, "dataset": "visits", **settings})


@pytest.fixture
def book(tmp_path: Path) -> Ledger:
    found = Ledger.create(tmp_path / "b.ledger")
    found.declare("visits", Budget.of(rho=9))
    return found


@pytest.mark.promise(16)
@pytest.mark.promise(17)
def test_budgets_of_rows_and_of_persons_are_not_added_up(book: Ledger) -> None:
    run(book, ROWS)
    for schema, unit in ((PERSONS, "add-remove"), (ROWS, "replace")):
        with pytest.raises(
            LedgerError, match=r"protects one row \(its presence\), but this run would.*do not add up"
        ) as caught:
            run(book, schema, unit=unit)
        assert caught.value.spent.rho == 0  # type: ignore[attr-defined]
    assert len(book.state().runs) == 1
    run(book, ROWS)
    assert book.state().dataset("visits").spent == 2


@pytest.mark.promise(16)
def test_budgets_of_persons_add_up_however_many_rows_are_used(book: Ledger) -> None:
    run(book, PERSONS)
    run(book, parse_schema(f'person = "patient"\nrows_per_person = 2\n{COLUMNS}'))
    assert book.state().dataset("visits").spent == 2
    with pytest.raises(LedgerError, match=r'one "patient", with all rows.*would protect one row'):
        run(book, ROWS)
    with pytest.raises(LedgerError, match="do not add up"):
        run(book, parse_schema(f'person = "stay"\nrows_per_person = 2\n{COLUMNS.split("[columns.stay]", maxsplit=1)[0]}'))
    shown = CliRunner().invoke(main, ["ledger", "show", str(book.path)]).output
    assert 'protects  one "patient", with all rows (its presence)' in shown


# The check.


def test_a_check_says_how_many_rows_are_left_out() -> None:
    left = int(visits().groupby("patient").size().sub(4).clip(lower=0).sum())
    [found] = understudy.check_schema(visits(), PERSONS)
    assert (found.column, found.problem, found.rows) == ("patient", "beyond 4 rows of a person", left)
    assert understudy.check_schema(visits(), parse_schema(f'person = "patient"\nrows_per_person = 11\n{COLUMNS}')) == []


def test_a_synthetic_table_is_checked_by_the_schema_of_its_persons(tmp_path: Path) -> None:
    run = understudy.synthesize(visits(), PERSONS, **QUICK)
    run.save(tmp_path / "rel")
    with pytest.warns(
        understudy.UnderstudyWarning, match=r'no column "patient".*synthetic table has none.*would be refused'
    ):
        assert understudy.check_schema(run.table, PERSONS) == []
    marks = ["--separator", ",", "--encoding", "utf-8", "--decimal", ".", "--thousands", ""]
    said = CliRunner().invoke(
        main, ["schema", "check", f"{tmp_path}/rel/synthetic.csv", "-s", f"{tmp_path}/rel/schema.toml", *marks]
    )
    assert said.exit_code == 0, said.output
    assert "Every value fits." in said.stdout
    with pytest.warns(understudy.UnderstudyWarning):
        [found] = understudy.check_schema({"ward": ["A", "?"], "stay": [1, 1]}, PERSONS)
    assert (found.column, found.rows) == ("ward", 1)


def test_one_file_of_many_without_the_person_is_refused(tmp_path: Path) -> None:
    visits().to_csv(tmp_path / "a.csv", index=False)
    visits().drop(columns="patient").to_csv(tmp_path / "b.csv", index=False)
    with pytest.raises(SourceError, match='no column "patient"'):
        understudy.check_schema(tmp_path / "*.csv", PERSONS)


# The plan.


def test_a_plan_says_what_more_rows_cost(tmp_path: Path) -> None:
    one, four = (plan(schema, rows=2_000, rho=1, workload="all-1way", rehearse=False) for schema in (ROWS, PERSONS))
    assert four.sigma_first == pytest.approx(4 * one.sigma_first)
    assert (one.rows_per_person, four.rows_per_person) == (None, 4)
    assert four.memory - one.memory == four.typical_memory - one.typical_memory == 99 * 2_000
    (tmp_path / "s.toml").write_text(f'person = "patient"\nrows_per_person = 4\n{COLUMNS}')
    asked = ["plan", "-s", str(tmp_path / "s.toml"), "--rows", "2000", "--rho", "1", "-w", "all-1way", "--no-rehearsal"]
    said = words_of(CliRunner().invoke(main, asked).output)
    assert "rows a person 4 of each at most" in said
    first = [f"{k} row{'s' * (k > 1)}: {k * one.sigma_first:,.1f}" for k in (1, 2, 8)]
    assert f"the same noise with {first[0]}; {first[1]}; {first[2]}" in said


def test_a_plan_counts_the_rows_that_are_used_of_persons(tmp_path: Path) -> None:
    """As a table has whose persons differ in how many rows they have; where each has one, or one is used, it is exact."""
    told: dict[str, Any] = {"rho": 1, "workload": "all-1way", "rehearse": False}
    rows = visits().groupby("patient").size()
    found = plan(PERSONS, rows=int(rows.sum()), persons=400, **told)
    assert found.rows_used == pytest.approx(rows.clip(upper=4).sum(), rel=0.15)
    assert found.rows_used < 0.65 * found.rows
    as_many = plan(PERSONS, rows=found.rows_used, **told)
    assert (as_many.rows_used, as_many.columns, as_many.forecasts) == (as_many.rows, found.columns, found.forecasts)
    assert min(c.noise for c in found.columns) > min(c.noise for c in plan(PERSONS, rows=found.rows, **told).columns)
    one = parse_schema(f'person = "patient"\nrows_per_person = 1\n{COLUMNS}')
    assert plan(one, rows=2_000, persons=700, **told).rows_used == 700
    assert plan(PERSONS, rows=2_000, persons=2_000, **told).rows_used == 2_000
    assert plan(PERSONS, rows=500, persons=100, **{**told, "rehearse": True}).rehearsal.rows == 295  # type: ignore[union-attr]


def test_a_plan_says_which_rows_it_takes_as_used(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(f'person = "patient"\nrows_per_person = 4\n{COLUMNS}')
    asked = ["plan", "-s", str(tmp_path / "s.toml"), "--rows", "2000", "--rho", "1", "-w", "all-1way", "--no-rehearsal"]
    said = words_of(CliRunner().invoke(main, asked).output)
    assert "rows used all 2,000, as if nobody had more than 4 rows; --persons says how many persons there are" in said
    said = words_of(CliRunner().invoke(main, [*asked, "--persons", "400"]).output)
    assert "rows used about 1,181 of 2,000, where 400 persons have unlike numbers of rows; at most 1,600" in said
    assert "of 1,181" in said.split("first noise")[1].split("least noise")[0]
    said = words_of(CliRunner().invoke(main, [*asked, "--persons", "2000"]).output)
    assert "rows used all 2,000: nobody has more than one" in said


@pytest.mark.parametrize(
    ("schema", "persons", "says"),
    [
        (ROWS, 10, "persons goes with person and rows_per_person in the schema"),
        (PERSONS, 0, "persons must be a whole number from 1 to rows"),
        (PERSONS, 2_001, r"persons must be a whole number from 1 to rows \(2,000\), not 2001"),
        (PERSONS, True, "persons must be a whole number"),
        (PERSONS, 3.5, "persons must be a whole number"),
    ],
)
def test_persons_that_no_table_has_are_refused(schema: Schema, persons: Any, says: str) -> None:
    with pytest.raises(UserError, match=says):
        plan(schema, rows=2_000, persons=persons, rho=1)


def test_a_rehearsal_has_the_noise_of_persons(monkeypatch: pytest.MonkeyPatch) -> None:
    """The made-up table has a row a person, and a budget that buys the noise of four."""
    asked: list[dict[str, Any]] = []

    def keeping(codes: Any, schema: Schema, **settings: Any) -> Release:
        asked.append({"schema": schema, **settings})
        return understudy.synthesize(codes, schema, **settings)

    monkeypatch.setattr("understudy.planning.synthesize", keeping)
    for unit in ("add-remove", "replace"):
        assert plan(PERSONS, rows=500, rho=1, workload="all-1way", time_limit=0, unit=unit).rehearsal is not None
        found = asked.pop()
        assert (found["rho"], found["unit"], found["schema"].person) == (Fraction(1, 16), unit, None)
        one, four = Unit(found["unit"]), Unit(found["unit"], 4, "patient")
        assert sigma_for(found["rho"], one) == pytest.approx(sigma_for(Fraction(1), four))
