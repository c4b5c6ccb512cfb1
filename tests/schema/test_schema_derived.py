"""Derived columns follow from the others in every row, and are neither read nor counted."""

from __future__ import annotations

from datetime import date

import numpy as np
import pyarrow as pa
import pytest

from understudy import check_schema, synthesize
from understudy.errors import SchemaError
from understudy.release import load
from understudy.schema import SchemaFileError, parse_schema

PARENTS = """
[columns.education]
kind = "categorical"
values = ["School", "Bachelor"]
other = "Elsewhere"
nullable = true
[columns.years]
kind = "derived"
of = "education"
lookup = { School = 9, Bachelor = 13, Elsewhere = 0 }
[columns.admitted]
kind = "date"
min = 2022-01-01
max = 2023-12-31
width = "1 month"
nullable = true
[columns.price]
kind = "real"
min = 0
max = 100
bins = 4
decimals = 2
other = 0
[columns.size]
kind = "integer"
min = 0
max = 9
other = 0
[columns."at-home"]
kind = "integer"
min = 0
max = 9
other = 0
"""


def derived(rule: str, more: str = "") -> str:
    return f"{PARENTS}\n[columns.made]\nkind = 'derived'\n{rule}\n{more}\n"


TABLE = {
    "education": pa.array(["School", "Bachelor", None]),
    "admitted": pa.array([date(2022, 2, 7), date(2023, 12, 31), None]),
    "price": pa.array([1.1, 2.2, 100.0]),
    "size": pa.array([1, 2, 3]),
    "at-home": pa.array([0, 2, 4]),
}


@pytest.mark.parametrize(
    ("expression", "kind", "expected"),
    [
        ("month(admitted)", "int64", [2, 12, None]),
        ("year(admitted) * 100 + quarter(admitted)", "int64", [202201, 202304, None]),
        ("weekday(admitted)", "int64", [1, 7, None]),
        ("size + `at-home` - 2 * 3", "int64", [-5, -2, 1]),
        ("size - (`at-home` - 1)", "int64", [2, 1, 0]),
        ("size / `at-home`", "double", [None, 1.0, 0.75]),
        ("-size", "int64", [-1, -2, -3]),
        ("max(size, `at-home`, 2)", "int64", [2, 2, 4]),
        ("round(price * 1.5)", "int64", [2, 3, 150]),
        ("cut(price, 2, 50, 100)", "int64", [0, 1, 3]),
        ("size >= `at-home`", "bool", [True, True, False]),
        ("admitted >= admitted", "bool", [True, True, None]),
    ],
)
def test_expressions(expression: str, kind: str, expected: list[object]) -> None:
    [_, column] = parse_schema(derived(f'expression = "{expression}"')).derived
    assert column.work_out(TABLE).to_pylist() == expected
    assert str(column.type) == kind
    assert column.decodes_null or None not in expected


def test_a_lookup_has_a_value_for_each_code() -> None:
    [column] = parse_schema(PARENTS).derived
    codes = parse_schema(PARENTS).decode(np.array([[0, 0, 0, 0, 0], [1, 0, 0, 0, 0], [2, 0, 0, 0, 0], [3, 0, 0, 0, 0]]), RNG)
    assert codes["years"].to_pylist() == [9, 13, 0, None]
    assert codes.column_names == ["education", "years", "admitted", "price", "size", "at-home"]
    assert column.decodes_null


def test_a_lookup_of_bins_goes_by_their_labels() -> None:
    rule = 'of = "price"\nlookup = { "0.00 to 24.99" = "low", "25.00 to 49.99" = "low", "50.00 to 74.99" = "high", '
    [_, column] = parse_schema(derived(rule + '"75.00 to 100.00" = "high" }')).derived
    assert column.work_out(TABLE).to_pylist() == ["low", "low", "high"]


RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("expression = 'size +'", "expected a column or a number, but the expression ends"),
        ("expression = 'sise + 1'", 'Did you mean "size"'),
        ("expression = 'years + 1'", 'no column "years" in this schema that is not derived'),
        ("expression = 'education + 1'", "use a lookup"),
        ("expression = 'month(size)'", "month() is of date or datetime"),
        ("expression = 'month(admitted + 1)'", "month() is of one column"),
        ("expression = 'exec(size)'", 'there is no function "exec"'),
        ("expression = '__import__'", "no column"),
        ("expression = '1 + 1'", "names no column"),
        (f"expression = 'size{' + size' * 2000}'", "is longer than"),
        ("expression = 'size / 2'\ntype = 'int64'", "use round(...)"),
        ("expression = 'size > 2'\ntype = 'int64'", "does not go with this expression"),
        ("of = 'size'", "an expression, or a lookup"),
        ("of = 'size'\nexpression = 'size'", "an expression, or a lookup"),
        ("of = 'education'\nlookup = { School = 1, Bachelor = 2 }", 'lookup lacks "Elsewhere"'),
        ("of = 'education'\nlookup = { School = 1, Bachelor = 2, Elsewhere = 3, X = 1 }", 'lookup has "X"'),
        ("of = 'education'\nlookup = { School = 1, Bachelor = 'b', Elsewhere = 3 }", "of different kinds"),
        ("of = 'education'\nlookup = { School = 1, Bachelor = 999, Elsewhere = 3 }\ntype = 'int8'", "cannot hold"),
    ],
)
def test_what_is_wrong_is_said(rule: str, words: str) -> None:
    with pytest.raises(SchemaFileError) as caught:
        parse_schema(derived(rule))
    assert words in str(caught.value)
    assert caught.value.problems[0].column == "made"


def test_every_column_derived() -> None:
    with pytest.raises(SchemaFileError, match="every column is derived"):
        parse_schema("[columns.a]\nkind = 'derived'\nexpression = 'a'")


def test_a_run_neither_reads_nor_counts_it_and_a_release_has_it(tmp_path: object) -> None:
    rng = np.random.default_rng(1)
    table = {
        "education": rng.choice(["School", "Bachelor"], 400).tolist(),
        "admitted": [date(2022, 1, 1 + i % 28) for i in range(400)],
        "price": rng.uniform(0, 100, 400).round(2).tolist(),
        "size": rng.integers(0, 10, 400).tolist(),
        "at-home": rng.integers(0, 10, 400).tolist(),
    }
    schema = parse_schema(derived("expression = 'price * 3 / 2'", "decimals = 2"))
    release = synthesize(
        table, schema, epsilon=1, workload="all-2way", mechanism="independent", rows=300, out=f"{tmp_path}/r"
    )
    assert list(release.domain) == ["education", "admitted", "price", "size", "at-home"]
    made = load(f"{tmp_path}/r").arrow
    assert made.schema.types == release.arrow.schema.types
    assert made.column_names == [*schema.declaration.columns]
    prices, found = made["price"].to_numpy(), made["made"].to_numpy()
    np.testing.assert_allclose(found, prices * 3 / 2, atol=0.0051)
    with pytest.raises(SchemaError, match='derived, and has no counts of its own; ask for "education"'):
        release.marginal("years")
    given = release.sample(5, {"price": 12.34})
    assert given["made"] == [18.51] * 5


FAR = """
[columns.a]
kind = "integer"
min = 0
max = 4_000_000_000
bins = 3
other = 0
[columns.b]
kind = "real"
min = 0
max = 1e200
bins = 2
other = 0.0
[columns.made]
kind = "derived"
"""


@pytest.mark.parametrize(
    "rule", ["a * a", "b * b", "b * b = b * b", "a + 1e999", "round(b)", "-(a * a) + 1", "max(a, b * b)"]
)
def test_what_grows_beyond_all_numbers_is_null_and_its_column_says_so(rule: str) -> None:
    (made,) = parse_schema(f"{FAR}expression = '{rule}'").derived
    found = made.work_out({"a": pa.array([4_000_000_000]), "b": pa.array([1e200])})
    assert found.null_count == 1
    assert made.decodes_null


@pytest.mark.parametrize("rule", ["a + 1", "-a * 1000", "b * 1000", "a > 7", "min(a, 5)", "cut(a, 5, 10)", "abs(a - 9)"])
def test_what_cannot_is_never_null(rule: str) -> None:
    (made,) = parse_schema(f"{FAR}expression = '{rule}'").derived
    assert not made.decodes_null


def test_a_number_too_large_for_its_decimals_is_spelled_all_the_same() -> None:
    (made,) = parse_schema(f"{FAR}expression = 'b'\ndecimals = 2").derived
    values = made.work_out({"b": pa.array([1e200, 0.5])})
    assert made.spell(pa.chunked_array([values])).to_pylist() == ["1e+200", "0.50"]


def test_a_check_compares_it_with_the_tables_own() -> None:
    schema = parse_schema(derived("expression = 'size + `at-home`'"))
    table = {**TABLE, "years": pa.array([9, 12, None]), "made": pa.array(["1", "4", "8"])}
    found = {m.column: m.rows for m in check_schema(pa.table(table), schema)}
    assert found == {"years": 1, "made": 1}
    assert check_schema(pa.table(TABLE), schema) == []
