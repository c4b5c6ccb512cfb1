"""Orders between columns: no row that is generated breaks one, whatever its bins, and nothing else is forbidden."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy import check_schema, synthesize
from understudy.schema import Schema, SchemaFileError, parse_schema

RNG = np.random.default_rng(0)


def column(name: str, edges: list[int], more: str = "nullable = true") -> str:
    return f'[columns.{name}]\nkind = "integer"\nedges = {edges}\n{more}\n'


def schema_of(*orders: str, **edges: list[int]) -> Schema:
    zeros = "".join(f'[[zeros]]\nalways = "{order}"\n' for order in orders)
    return parse_schema("".join(column(name, e) for name, e in edges.items()) + zeros)


def possible(schema: Schema, operators: list[tuple[str, str, bool]]) -> set[tuple[int, ...]]:
    """Return by brute force the codes that some values in order have; a missing value fits beside anything."""
    ranges = []
    for one in schema.columns:
        low, high = one.bins.lowest, one.bins.highest  # type: ignore[attr-defined]
        ranges.append([(code, v) for code in range(len(low)) for v in range(low[code], high[code] + 1)] + [(len(low), None)])
    names = [*schema.domain]
    found = set()
    for row in itertools.product(*ranges):
        value = {name: v for name, (_, v) in zip(names, row, strict=True)}
        pairs = [(value[a], value[b], strict) for a, b, strict in operators]
        if all(x is None or y is None or x < y or (x == y and not strict) for x, y, strict in pairs):
            found.add(tuple(code for code, _ in row))
    return found


def allowed(schema: Schema) -> set[tuple[int, ...]]:
    every = np.array(list(itertools.product(*map(range, schema.domain.sizes))))
    bad = np.zeros(len(every), bool)
    for zero in schema.zeros:
        bad |= zero.table(schema.domain)[tuple(every[:, [schema.domain.index(n) for n in zero.clique]].T)]
    return set(map(tuple, every[~bad].tolist()))


EDGES = st.lists(st.integers(0, 9), min_size=2, max_size=4, unique=True).map(sorted)


@given(EDGES, EDGES, st.booleans())
def test_exactly_the_impossible_pairs_are_forbidden(a: list[int], b: list[int], strict: bool) -> None:
    try:
        schema = schema_of(f"a {'<' if strict else '<='} b", a=a, b=b)
    except SchemaFileError:
        return
    assert allowed(schema) == possible(schema, [("a", "b", strict)])


@given(EDGES, EDGES, EDGES, st.sampled_from(["a <= b <= c", "a < b < c", "c >= b > a"]), st.integers(0, 2**32))
def test_values_of_a_chain_are_in_order_in_all_rows_that_are_possible(
    a: list[int], b: list[int], c: list[int], rule: str, seed: int
) -> None:
    try:
        schema = schema_of(rule, a=a, b=b, c=c)
    except SchemaFileError:
        return
    codes = np.array(sorted(allowed(schema)))
    table = schema.decode(codes, np.random.default_rng(seed))
    assert (schema.encode(table) == codes).all()  # nothing left its bin
    first = ">" in rule or rule == "a < b < c"
    for row in zip(*(table[n].to_pylist() for n in "abc"), strict=True):
        for x, y, strict in ((row[0], row[1], first), (row[1], row[2], rule == "a < b < c"), (row[0], row[2], first)):
            assert x is None or y is None or x < y or (x == y and not strict)


def test_values_are_drawn_uniformly_among_those_in_order() -> None:
    schema = schema_of("a <= b", a=[0, 2], b=[0, 2])
    table = schema.decode(np.zeros((60_000, 2), int), np.random.default_rng(5))
    pairs, counts = np.unique(np.stack([table["a"].to_numpy(), table["b"].to_numpy()]), axis=1, return_counts=True)
    assert pairs.shape[1] == 6
    assert np.abs(counts / 10_000 - 1).max() < 0.06  # 6 standard deviations


def test_a_narrow_bin_beside_a_wide_one_needs_no_luck() -> None:
    schema = schema_of("a <= b", a=[0, 10_000_000], b=[0, 1])
    table = schema.decode(np.zeros((2_000, 2), int), np.random.default_rng(5))
    assert (table["a"].to_numpy() <= table["b"].to_numpy()).all()


def test_other_kinds() -> None:
    schema = parse_schema("""
[columns.left]
kind = "time"
format = "%H%M"
type = "int64"
other = 00:00:00
[columns.came]
kind = "time"
other = 23:59:00
width = "3 hours"
[columns.low]
kind = "real"
min = 0
max = 1
other = 0
[columns.high]
kind = "real"
min = 0
max = 1
bins = 3
decimals = 1
other = 1
[columns.first]
kind = "ordinal"
values = ["S", "M", "L"]
other = "S"
[columns.last]
kind = "ordinal"
values = ["S", "M", "L"]
other = "L"
[[zeros]]
always = "left < came"
[[zeros]]
always = "low <= high"
[[zeros]]
always = "first <= last"
""")
    rng = np.random.default_rng(2)
    codes = np.stack([rng.integers(0, size, 40_000) for size in schema.domain.sizes], axis=1)
    for zero in schema.zeros:
        codes = codes[~zero.table(schema.domain)[tuple(codes[:, [schema.domain.index(n) for n in zero.clique]].T)]]
    table = schema.decode(codes, rng).to_pandas()
    assert len(table) > 5_000
    assert (table["left"].map("{:04}".format) < table["came"].str.replace(":", "")).all()
    assert (table["low"] <= table["high"]).all()
    assert (table["first"].map("SML".index) <= table["last"].map("SML".index)).all()
    assert {len(z.cells) for z in schema.zeros if z.clique == ("first", "last")} == {3}


@pytest.mark.parametrize(
    ("order", "words"),
    [
        ("a", "expected columns with <, <=, > or >= between them"),
        ("a <= 3", "expected the name of a column"),
        ("a <= d", 'is called "d"'),
        ("a <= b and b <= c", "expected columns with"),
        ("a <= b <= a", "circle"),
        ("a <= a", "cannot be compared"),
        ("a <= word", "cannot be compared"),
        ("c <= a", "wrong way round"),
    ],
)
def test_what_is_wrong_is_said(order: str, words: str) -> None:
    columns = column("a", [0, 3], "other = 0") + column("b", [0, 3]) + column("c", [5, 9], "other = 5")
    word = '[columns.word]\nkind = "categorical"\nvalues = ["x"]\nother = "x"\n'
    with pytest.raises(SchemaFileError) as caught:
        parse_schema(f'{columns}{word}[[zeros]]\nalways = "{order}"')
    assert words in str(caught.value)


def test_a_value_that_is_given_keeps_the_order() -> None:
    schema = schema_of("a <= b", a=[0, 5, 9], b=[0, 9])
    release = synthesize(
        {"a": [1, 2, 3] * 50, "b": [4, 5, 9] * 50}, schema, epsilon=1, workload="all-2way", mechanism="independent", rows=50
    )
    assert all(a <= 3 for a in release.sample(20, {"b": 3, "a": "0 to 4"})["a"])
    assert all(a == 3 for a in release.sample(20, {"b": 3, "a": "5 to 9"})["a"])  # it has to leave its bin
    assert all(b == 9 for b in release.sample(20, {"a": 9, "b": "0 to 9"})["b"])
    assert all(a is None or b is None or a <= b for a, b in zip(*release.table.values(), strict=True))


def test_a_check_counts_the_rows_that_are_out_of_order() -> None:
    schema = schema_of("a <= b", a=[0, 4, 9], b=[0, 4, 9])
    [misfit] = check_schema(pa.table({"a": [1, 3, 9, None], "b": [2, 2, 1, 0]}), schema)
    assert (misfit.column, misfit.rows, misfit.goes_to) == ("a <= b", 2, "stays, but is never generated")
