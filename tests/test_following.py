"""Runs with derived columns that codes tell: counted in every form, answered, saved, and nearer to the table."""

from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import understudy
from understudy import evaluate, plan, synthesize
from understudy.errors import UserError
from understudy.report import render_report
from understudy.schema import Schema, parse_schema
from understudy.source import open_source
from understudy.workload import Workload

OWN = "".join(
    f'[columns.{name}]\nkind = "integer"\nmin = {low}\nmax = {high}\nother = {low}\n'
    for name, low, high in (("region", 0, 7), ("adults", 1, 6), ("children", 0, 6), ("income", 0, 30), ("rooms", 1, 9))
)
PERSONS = '[columns.persons]\nkind = "derived"\nexpression = "adults + children"\n'
MANY = '[columns.many]\nkind = "derived"\nexpression = "income >= 15"\n'


def households(rows: int = 5_000, seed: int = 1) -> pa.Table:
    rng = np.random.default_rng(seed)
    region = rng.integers(0, 8, rows)
    adults = 1 + rng.binomial(5, 0.15 + 0.03 * region)
    children = np.minimum(rng.poisson(0.2 + 0.5 * (adults == 2) + 0.1 * region), 6)
    income = np.clip((adults * 4 + region + rng.normal(0, 4, rows)).astype(int), 0, 30)
    rooms = np.minimum(1 + (adults + children) // 2 + rng.integers(0, 3, rows), 9)
    return pa.table({"region": region, "adults": adults, "children": children, "income": income, "rooms": rooms})


@pytest.fixture(scope="module")
def schema() -> Schema:
    return parse_schema(OWN + PERSONS + MANY)


@pytest.fixture(scope="module")
def release(schema: Schema) -> understudy.Release:
    return synthesize(households(), schema, epsilon=3, workload="all-2way", seed=0, progress=False)


def pairs_error(schema: Schema, real: pa.Table, made: pa.Table) -> float:
    """Return the mean error of all pairs, derived columns among them."""
    one, two = (schema.lifted.encode(table) for table in (real, made))
    sizes, found = schema.lifted.domain.sizes, []
    for i, j in combinations(range(len(sizes)), 2):
        counts = [np.bincount(c[:, i] * sizes[j] + c[:, j], minlength=sizes[i] * sizes[j]) / len(c) for c in (one, two)]
        found.append(np.abs(counts[0] - counts[1]).sum())
    return float(np.mean(found))


@pytest.mark.parametrize("form", ["arrow", "pandas", "csv", "parquet", "array", "persons"])
def test_it_is_counted_in_every_form_of_a_table(form: str, schema: Schema, tmp_path: Path) -> None:
    table, lifted = households(400), schema.lifted
    data: object = table
    if form == "pandas":
        data = pytest.importorskip("pandas") and table.to_pandas()
    elif form == "csv":
        pyarrow.csv.write_csv(table, data := tmp_path / "table.csv")
    elif form == "parquet":
        pyarrow.parquet.write_table(table, data := tmp_path / "table.parquet")
    elif form == "array":
        data = schema.encode(table)
    elif form == "persons":
        data = table.append_column("who", pa.array(range(len(table))))
        lifted = parse_schema('person = "who"\nrows_per_person = 2\n' + OWN + PERSONS + MANY).lifted
    cliques = [("persons",), ("rooms", "persons"), ("adults", "persons", "many"), ("many",)]
    source, codes = open_source(data, lifted), lifted.encode(table)
    for _ in range(3):  # a file is read twice, then kept
        for clique, counts in zip(cliques, source.count(cliques), strict=True):
            places = [codes[:, lifted.domain.index(name)] for name in clique]
            expected = np.zeros(lifted.domain.shape(clique), np.int64)
            np.add.at(expected, tuple(places), 1)
            assert (counts == expected).all()


def test_it_is_never_broken(release: understudy.Release) -> None:
    made = release.sample(20_000, rng=np.random.default_rng(0))
    for table in (release.table, made):
        assert (table["persons"].to_numpy() == table["adults"].to_numpy() + table["children"].to_numpy()).all()
        assert (table["many"].to_numpy(zero_copy_only=False) == (table["income"].to_numpy() >= 15)).all()


def test_it_is_answered_and_given(release: understudy.Release) -> None:
    whole, parents = release.marginal("persons").counts, release.marginal("adults", "children").counts
    assert whole.sum() == pytest.approx(parents.sum())
    assert whole[0] == pytest.approx(parents[0, 0])
    some = release.sample(50, given={"persons": 3}, rng=np.random.default_rng(0))
    assert set(some["persons"].to_pylist()) == {3}


def test_a_saved_release_has_it_and_an_earlier_one_without_it_is_read(
    release: understudy.Release, schema: Schema, tmp_path: Path
) -> None:
    release.save(tmp_path / "new")
    again = understudy.load(tmp_path / "new")
    assert (again.marginal("rooms", "persons").counts == release.marginal("rooms", "persons").counts).all()
    earlier = synthesize(
        households(500), schema, epsilon=1, workload=Workload.all_kway(schema.domain, 2), seed=0, progress=False
    )
    earlier.save(tmp_path / "old")
    with pytest.raises(UserError, match='"persons" is derived'):
        understudy.load(tmp_path / "old").marginal("persons")


def test_what_is_asked_of_it_is_nearer_to_the_table(schema: Schema) -> None:
    table = households(20_000)
    settings = {"epsilon": 10, "seed": 0, "progress": False}
    made = synthesize(table, schema, workload="all-2way", **settings).table
    without = synthesize(table, schema, workload=Workload.all_kway(schema.domain, 2), **settings).table
    assert pairs_error(schema, table, made) < 0.8 * pairs_error(schema, table, without)


def test_a_marginal_that_a_smaller_one_tells_is_never_chosen(release: understudy.Release) -> None:
    chosen = {one.clique for one in release.measurements if len(one.clique) > 1}
    assert not any("many" in clique and "income" in clique for clique in chosen)
    assert max(one.candidates for one in release.manifest.rounds) == 7 + 21 - 1  # income tells many


def test_a_list_has_it_where_it_names_it(schema: Schema) -> None:
    named = synthesize(households(500), schema, epsilon=1, workload=[["persons", "rooms"]], seed=0, progress=False)
    assert "persons" in named.domain
    unnamed = synthesize(households(500), schema, epsilon=1, workload=[["adults", "rooms"]], seed=0, progress=False)
    assert "persons" not in unnamed.domain


def test_mechanisms_that_keep_nothing_impossible_leave_it_derived(schema: Schema) -> None:
    made = synthesize(households(500), schema, epsilon=1, mechanism="independent", seed=0, progress=False)
    assert "persons" not in made.domain
    assert "persons" in made.table.column_names
    off = synthesize(households(500), schema, epsilon=1, workload="all-2way", zeros=False, seed=0, progress=False)
    assert "persons" not in off.domain


def test_it_is_evaluated_and_planned(release: understudy.Release, schema: Schema) -> None:
    found = evaluate(households(), release)
    assert "persons" in [column.name for column in found.columns]
    assert plan(schema, rows=1000, epsilon=1, workload="all-2way").rehearsal is not None


def test_a_column_with_one_value_costs_nothing() -> None:
    table = households(2_000)
    constant = table.append_column("country", pa.array(["here"] * len(table)))
    one = '[columns.country]\nkind = "categorical"\nvalues = ["here"]\nother = "here"\n'
    settings = {"epsilon": 1, "workload": "all-2way", "mechanism": "aim", "seed": 0, "progress": False}
    with_it, without = (
        synthesize(constant, parse_schema(OWN + one), **settings),
        synthesize(table, parse_schema(OWN), **settings),
    )
    assert not any("country" in charge.purpose for charge in with_it.manifest.charges)
    purposes = [[c.purpose for c in one.manifest.charges if c.purpose.startswith("measure")] for one in (with_it, without)]
    assert purposes[0] == purposes[1]
    assert set(with_it.table["country"].to_pylist()) == {"here"}
    made = synthesize(constant, parse_schema(OWN + one), epsilon=1, workload="all-2way", seed=0, progress=False)
    assert not any("country" in charge.purpose for charge in made.manifest.charges)


def test_a_table_of_constants_alone_is_made() -> None:
    one = '[columns.country]\nkind = "categorical"\nvalues = ["here"]\nother = "here"\n'
    made = synthesize(pa.table({"country": ["here"] * 900}), parse_schema(one), epsilon=1, seed=0, progress=False)
    assert set(made.table["country"].to_pylist()) == {"here"}


def test_who_a_person_is_can_be_asked_for_by_nobody() -> None:
    table = households(400).append_column("who", pa.array(range(400)))
    schema = parse_schema('person = "who"\nrows_per_person = 2\n' + OWN)
    release = synthesize(table, schema, epsilon=1, workload="all-2way", seed=0, progress=False)
    for ask in (lambda: release.marginal("who"), lambda: release.answer("mean(income) by who")):
        with pytest.raises(UserError, match='"who" identifies a person'):
            ask()


def test_its_own_values_in_the_table_are_never_read(schema: Schema, tmp_path: Path) -> None:
    table = households(400)
    other = table.append_column("persons", pa.array(["secret"] * 400)).append_column(
        "many", pa.array([None] * 400, pa.string())
    )
    pyarrow.csv.write_csv(other, tmp_path / "other.csv")
    cliques = [("persons",), ("income", "persons"), ("many",)]
    expected = open_source(table, schema.lifted).count(cliques)
    for data in (other, tmp_path / "other.csv"):
        found = open_source(data, schema.lifted).count(cliques)
        assert all((one == two).all() for one, two in zip(found, expected, strict=True))


def test_what_is_said_of_a_derived_column_that_is_modelled(release: understudy.Release) -> None:
    """It has a chart of its own, so the report must not say that it is not shown; it is none of the declared ones."""
    page = render_report(release)
    assert "Not shown" not in page
    assert "| Domain | 5 declared columns (and 2 that follow from them)," in release.card


def test_the_card_counts_one_column_that_follows() -> None:
    release = synthesize(
        households(200), parse_schema(OWN + PERSONS), epsilon=1, workload="all-1way", seed=0, progress=False
    )
    assert "| Domain | 5 declared columns (and 1 that follows from them)," in release.card
