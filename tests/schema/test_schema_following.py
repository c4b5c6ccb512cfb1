"""Derived columns that codes tell have codes when they are modelled; others have none."""

import numpy as np
import pyarrow as pa
import pytest

from understudy.schema import parse_schema

PARENTS = """
[columns.day]
kind = "date"
min = 2022-01-01
max = 2023-12-31
width = "1 month"
nullable = true
[columns.adults]
kind = "integer"
min = 0
max = 5
other = 0
[columns.children]
kind = "integer"
min = 0
max = 4
nullable = true
[columns.age]
kind = "integer"
min = 0
max = 99
bins = 10
other = 0
[columns.price]
kind = "real"
min = 0
max = 1000
bins = 10
other = 0
"""
TOLD = {
    "month": "month(day)",
    "persons": "adults + children",
    "old": "cut(age, 50)",
    "costly": "price > 500",
}
NOT_TOLD = {
    "weekday": "weekday(day)",  # a bin has all of them
    "next": "age + 1",
    "fifth": "cut(age, 55)",  # in the middle of a bin
    "with_tax": "price * 1.19",
    "again": "adults + 0",  # the same codes by other names
}


def derived(rules: dict[str, str]) -> str:
    return "".join(f'[columns.{name}]\nkind = "derived"\nexpression = "{rule}"\n' for name, rule in rules.items())


def rows(number: int = 500) -> pa.Table:
    rng = np.random.default_rng(3)
    days = np.datetime64("2022-01-01") + rng.integers(0, 730, number)
    children = pa.array(rng.integers(0, 5, number), mask=rng.random(number) < 0.2)
    columns = {"day": days, "adults": rng.integers(0, 6, number), "children": children}
    return pa.table({**columns, "age": rng.integers(0, 100, number), "price": rng.random(number) * 1000})


def test_a_column_that_codes_tell_has_codes_behind_the_others() -> None:
    schema = parse_schema(PARENTS + derived({**NOT_TOLD, **TOLD}))
    assert [*schema.lifted.domain] == [*schema.domain, *TOLD]
    assert schema.lifted.lifted is schema.lifted
    assert [c.name for c in schema.lifted.read] == [*schema.domain]


def test_a_schema_without_such_columns_stays_what_it_is() -> None:
    plain, others = parse_schema(PARENTS), parse_schema(PARENTS + derived(NOT_TOLD))
    assert plain.lifted is plain
    assert others.lifted is others


def test_its_codes_are_those_of_what_follows() -> None:
    schema, table = parse_schema(PARENTS + derived(TOLD)), rows()
    codes = schema.lifted.encode(table)
    assert (codes[:, : len(schema.columns)] == schema.encode(table)).all()
    for column in schema.derived:
        lifted = schema.lifted[column.name]
        made = lifted.decode(codes[:, schema.lifted.domain.index(column.name)], np.random.default_rng(0))
        assert made.to_pylist() == column.work_out({name: table[name] for name in table.column_names}).to_pylist()


def test_a_lookup_has_codes_unless_it_only_names_others_anew() -> None:
    lookup = '[columns.kind]\nkind = "derived"\nof = "adults"\nlookup = {0 = "none", 1 = "one", 2 = "more", 3 = "more", '
    schema = parse_schema(PARENTS + lookup + '4 = "more", 5 = "more"}\n')
    assert schema.lifted["kind"].labels == ("more", "none", "one")
    named = parse_schema(PARENTS + lookup + '4 = "four", 5 = "five"}\n')
    assert "kind" in named.lifted.domain  # two values share a name
    names = ", ".join(f'{i} = "{i} adults"' for i in range(6))
    anew = parse_schema(PARENTS + f'[columns.kind]\nkind = "derived"\nof = "adults"\nlookup = {{{names}}}\n')
    assert anew.lifted is anew


def test_every_other_value_beside_its_parents_is_impossible() -> None:
    schema = parse_schema(PARENTS + derived(TOLD)).lifted
    codes = schema.encode(rows(2000))
    for zero in schema.zeros:
        forbidden = zero.table(schema.domain)
        places = [codes[:, schema.domain.index(name)] for name in zero.clique]
        assert zero.told == zero.clique[-1]
        assert not forbidden[tuple(places)].any()
        assert (forbidden.sum(axis=-1) == forbidden.shape[-1] - 1).all()


def test_a_column_of_very_many_cells_has_no_codes() -> None:
    text = '[columns.a]\nkind = "integer"\nmin = 0\nmax = 299\nbins = 300\nother = 0\n'
    schema = parse_schema(text + text.replace("columns.a", "columns.b") + derived({"sum": "a + b"}))
    assert schema.lifted is schema


def test_a_table_need_not_have_it() -> None:
    schema = parse_schema(PARENTS + derived(TOLD)).lifted
    schema.require_columns(rows().column_names)
    with pytest.raises(Exception, match="no such column"):
        schema.require_columns(["day"])
