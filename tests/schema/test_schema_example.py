"""The example table is repeatable, fits its own schema, and has columns worth modelling."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from understudy import example
from understudy.review import check_schema
from understudy.schema import require_reviewed


def test_the_example_fits_its_reviewed_schema() -> None:
    people, schema = example.people(), example.schema()
    require_reviewed(schema)
    assert people.num_rows == 20_000
    assert schema.zeros
    assert check_schema(people, schema) == []


def test_the_example_is_repeatable_and_seeds_differ() -> None:
    assert example.people(rows=100).equals(example.people(rows=100))
    assert not example.people(rows=100, seed=1).equals(example.people(rows=100))


def test_types_survive_a_round_trip() -> None:
    people, schema = example.people(rows=2_000), example.schema()
    codes = schema.encode(people)
    back = schema.decode(codes, np.random.default_rng(0))
    assert back.schema.equals(people.schema)
    np.testing.assert_array_equal(schema.encode(back), codes)
    kinds = {str(field.type) for field in people.schema}
    assert kinds == {"int64", "string", "double", "bool", "date32[day]", "timestamp[us]"}


def test_columns_depend_on_one_another_and_some_are_missing() -> None:
    people = example.people()
    adults = people.filter(pc.greater_equal(people["age"], 30))
    high = adults.filter(pc.equal(adults["education"], "Master or above"))
    low = adults.filter(pc.equal(adults["education"], "Primary"))
    assert pc.mean(high["income"]).as_py() > 1.2 * pc.mean(low["income"]).as_py()
    assert {name for name in people.column_names if people[name].null_count} == {
        "occupation",
        "hours",
        "income",
        "weight_kg",
        "insured",
        "discharged",
    }


def test_any_number_of_rows() -> None:
    assert example.people(rows=0).num_rows == 0
    assert isinstance(example.people(rows=1), pa.Table)
