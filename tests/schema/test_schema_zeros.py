"""Impossible combinations: rules forbid exactly the cells that hold no possible value, and never more."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.schema import Schema, SchemaFileError, parse_schema
from understudy.schema.rules import All, Compare, IsNull, Not, RuleError, Some, parse_rule

COLUMNS = """
[columns.age]
kind = "integer"
edges = [0, 10, 15, 18, 40]
nullable = true
[columns.marital]
kind = "categorical"
values = ["Never-married", "Married"]
other = "Other"
nullable = true
[columns.level]
kind = "ordinal"
values = ["low", "mid", "high"]
nullable = true
[columns.paid]
kind = "boolean"
other = false
[columns."of age"]
kind = "date"
min = 2020-01-01
max = 2020-12-31
width = "month"
nullable = true
[columns.score]
kind = "real"
min = 0
max = 1
bins = 4
other = -1
"""


def zeros_of(entry: str) -> tuple[Schema, set[tuple[str, ...]]]:
    """Return the schema, and the forbidden cells by their labels."""
    schema = parse_schema(f"{COLUMNS}\n[[zeros]]\n{entry}\n")
    [zeros] = schema.zeros
    assert zeros.clique == schema.domain.clique(zeros.clique)
    labels = [schema[name].labels for name in zeros.clique]
    return schema, {tuple(labels[i][code] for i, code in enumerate(cell)) for cell in zeros.cells}


def test_a_rule_forbids_whole_bins_only() -> None:
    schema, cells = zeros_of("""when = "age < 16"\nthen = 'marital = "Never-married"'""")
    young = ["0 to 9", "10 to 14"]  # 15 to 17 lies on both sides of 16
    assert cells == set(itertools.product(young, ["Married", "Other"]))
    assert schema.zeros[0].undecided == ("age",)


def test_null_is_unknown_unless_asked_about() -> None:
    _, cells = zeros_of("never = 'age >= 18 and marital is null'")
    assert cells == {("18 to 40", "null")}
    _, cells = zeros_of("when = 'age is null'\nthen = 'level is null'")
    assert cells == {("null", "low"), ("null", "mid"), ("null", "high")}


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("level > 'low' and paid = true", {("mid", "true"), ("high", "true")}),
        ("not (level <= 'mid' or paid = false)", {("high", "true")}),
        ("level not in ['low', 'mid'] and paid != false", {("high", "true")}),
        ("level == 'mid' and paid = true", {("mid", "true")}),
        ("`of age` < 2020-03-01 and level = 'low'", {("low", f"2020-{m}") for m in ("01", "02")}),
        ("score < 0.5 and paid = true", {("true", "[0, 0.25)"), ("true", "[0.25, 0.5)")}),
        ("score = -1 and paid = true", {("true", "-1")}),
    ],
)
def test_the_language(rule: str, expected: set[tuple[str, ...]]) -> None:
    _, cells = zeros_of(f'never = "{rule}"')
    assert {tuple(label[:7] if label.startswith("2020") else label for label in cell) for cell in cells} == expected


def test_listed_combinations_in_any_order_of_columns() -> None:
    values = '[[true, "Married"], [true, { null = true }], [true, "Married"]]'
    _, cells = zeros_of(f'columns = ["paid", "marital"]\nvalues = {values}')
    assert cells == {("Married", "true"), ("null", "true")}


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("never = 'agee < 3'", 'no column "agee" in this schema. Did you mean "age"'),
        ("never = 'age <'", "expected a constant, but the rule ends"),
        ("never = 'age < Married'", 'text stands in quotes: "Married"'),
        ("never = 'age < 3 age'", 'expected "and", "or" or the end'),
        ("never = '__import__(\"os\")'", "expected =, !=, <"),
        ("never = 'age < 3; 1'", "cannot read"),
        ("never = 'marital < \"Married\"'", "without order"),
        ("never = 'marital = \"Maried\"'", 'Did you mean "Married"'),
        ("never = 'age = \"x\"'", "cannot be compared"),
        ("never = 'paid is null'", "never null"),
        ("never = 'age = 16'", 'bins of "age" hold values on both sides'),
        ("never = 'age > 99'", "forbids nothing"),
        ("never = 'age >= 0 or age is null'", "forbids every combination"),
        ("when = 'age < 10'", "give|or when with then"),
        ("never = 'age < 10'\nwhen = 'age < 10'\nthen = 'age > 3'", "or never"),
        ('columns = ["paid"]', "need both columns and values"),
        ('columns = ["paid", "age"]\nvalues = [[true]]', "1 values for 2 columns"),
        ('columns = ["paid", "age"]\nvalues = [[true, 3]]', "does not name exactly one code"),
        ('columns = ["paid"]\nvalues = [[true], [false]]', "forbids every combination"),
        (
            'columns = ["paid"]\nvalues = [[true]]\n[[zeros]]\nnever = "paid = false"',
            "leave no possible value",
        ),
    ],
)
def test_errors_name_the_line_and_the_fix(entry: str, words: str) -> None:
    with pytest.raises(SchemaFileError) as caught:
        zeros_of(entry)
    [problem] = caught.value.problems
    assert any(word in problem.message for word in words.split("|")), problem.message
    assert problem.line is not None
    assert problem.line > COLUMNS.count("\n")


def test_huge_cliques_are_refused() -> None:
    big = "".join(f"[columns.c{i}]\nkind='integer'\nmin=0\nmax=99\nbins=100\nother=0\n" for i in range(4))
    rule = " and ".join(f"c{i} = 0" for i in range(4))
    with pytest.raises(SchemaFileError, match="100,000,000 combinations"):
        parse_schema(f"{big}[[zeros]]\nnever = '{rule}'\n")


def test_deep_rules_are_refused_rather_than_crash() -> None:
    with pytest.raises(RuleError, match="too many brackets"):
        parse_rule("(" * 5000 + "a = 1" + ")" * 5000)


VALUES: dict[str, list[Any]] = {
    "age": list(range(41)),
    "level": ["low", "mid", "high"],
    "paid": [False, True],
}
ORDER: dict[str, Callable[[Any], Any]] = {"level": VALUES["level"].index}


def comparisons(name: str) -> st.SearchStrategy[Compare]:
    operators = ["=", "<", "<="] if name != "paid" else ["="]
    return st.builds(Compare, st.just(name), st.sampled_from(operators), st.sampled_from(VALUES[name]))


CONDITIONS = st.recursive(
    st.sampled_from(list(VALUES)).flatmap(comparisons),
    lambda inner: st.one_of(
        st.builds(Not, inner),
        st.builds(lambda a, b: All((a, b)), inner, inner),
        st.builds(lambda a, b: Some((a, b)), inner, inner),
    ),
    max_leaves=5,
)


def holds(condition: Any, row: dict[str, Any]) -> bool:
    """Evaluate a condition on one row of values, by the plain meaning of its words."""
    if isinstance(condition, Compare):
        key = ORDER.get(condition.column, lambda v: v)
        left, right = key(row[condition.column]), key(condition.constant)
        return bool({"=": left == right, "<": left < right, "<=": left <= right}[condition.operator])
    if isinstance(condition, Not):
        return not holds(condition.part, row)
    results = [holds(part, row) for part in condition.parts]
    return all(results) if isinstance(condition, All) else any(results)


def spell(condition: Any) -> str:
    if isinstance(condition, Compare):
        constant = condition.constant
        shown = f"'{constant}'" if isinstance(constant, str) else str(constant).lower()
        return f"{condition.column} {condition.operator} {shown}"
    if isinstance(condition, Not):
        return f"not ({spell(condition.part)})"
    return "(" + (" and " if isinstance(condition, All) else " or ").join(map(spell, condition.parts)) + ")"


@given(CONDITIONS)
def test_no_possible_row_is_ever_forbidden(condition: Any) -> None:
    """Brute force over all rows: a forbidden cell holds only rows for which the condition is true."""
    try:
        schema, _ = zeros_of(f'never = "{spell(condition)}"')
    except SchemaFileError as error:
        assert "forbids" in str(error)  # noqa: PT017
        return
    [zeros] = schema.zeros
    forbidden = {tuple(cell) for cell in zeros.cells.tolist()}
    for values in itertools.product(*(VALUES[name] for name in zeros.clique)):
        row = dict(zip(zeros.clique, values, strict=True))
        codes = tuple(_code(schema, name, value) for name, value in row.items())
        if codes in forbidden:
            assert holds(condition, row)


def _code(schema: Schema, name: str, value: Any) -> int:
    found = schema[name].compare("=", value)
    assert not isinstance(found, str)
    return int(np.flatnonzero(found.can[: schema[name].places.ordinary])[0])


@given(comparisons("age"), comparisons("level"))
def test_a_plain_pair_forbids_every_cell_that_it_can(one: Compare, two: Compare) -> None:
    """Brute force: where all rows of a cell are impossible, the cell is forbidden."""
    both = All((one, two))
    expected = set()
    base = parse_schema(COLUMNS)
    cells: dict[tuple[int, int], list[bool]] = {}
    for age, level in itertools.product(VALUES["age"], VALUES["level"]):
        cell = (_code(base, "age", age), _code(base, "level", level))
        cells.setdefault(cell, []).append(holds(both, {"age": age, "level": level}))
    expected = {cell for cell, results in cells.items() if all(results)}
    if not expected:
        with pytest.raises(SchemaFileError, match="forbids nothing"):
            zeros_of(f'never = "{spell(both)}"')
    else:
        schema, _ = zeros_of(f'never = "{spell(both)}"')
        assert {tuple(cell) for cell in schema.zeros[0].cells.tolist()} == expected


def test_null_tests_parse() -> None:
    assert parse_rule("a is not null") == Not(IsNull("a"))
