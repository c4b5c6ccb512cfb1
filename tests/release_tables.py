"""A small table with a column of every kind, its schema, and a quick seeded release of it, for the tests of releases."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import numpy as np
import pyarrow as pa

from understudy import Release, Schema, synthesize
from understudy.schema import parse_schema

SCHEMA = """
[table]
name = "Visits"
[columns.age]
kind = "integer"
min = 0
max = 99
bins = 10
other = 40
[columns.visits]
kind = "integer"
min = 0
max = 9
nullable = true
type = "int32"
[columns.sex]
kind = "categorical"
values = ["F", "M"]
nullable = true
type = "category"
[columns.level]
kind = "ordinal"
values = ["low", "mid", "high"]
other = "low"
[columns.pay]
kind = "real"
min = 0
max = 1000
bins = 5
nullable = true
[columns.member]
kind = "boolean"
nullable = true
[columns.owner]
kind = "boolean"
other = false
[columns.born]
kind = "date"
min = 1950-01-01
max = 2009-12-31
width = "10 years"
nullable = true
[columns.seen]
kind = "datetime"
min = 2024-01-01T00:00:00
max = 2024-12-31T23:59:59
width = "quarter"
nullable = true
"""


def schema() -> Schema:
    return parse_schema(SCHEMA, source="visits.toml")


def columns(rows: int = 400, seed: int = 5) -> dict[str, list[Any]]:
    rng = np.random.default_rng(seed)

    def maybe(values: list[Any]) -> list[Any]:
        return [None if rng.random() < 0.1 else value for value in values]

    age = rng.integers(0, 100, rows).tolist()
    return {
        "age": age,
        "visits": maybe(rng.integers(0, 10, rows).tolist()),
        "sex": maybe([("F", "M")[i] for i in rng.integers(0, 2, rows)]),
        "level": [("low", "mid", "high")[min(2, a // 34)] for a in age],
        "pay": maybe(rng.uniform(0, 1000, rows).round(2).tolist()),
        "member": maybe([bool(i) for i in rng.integers(0, 2, rows)]),
        "owner": [bool(i) for i in rng.integers(0, 2, rows)],
        "born": maybe([date(int(y), 5, 17) for y in rng.integers(1950, 2010, rows)]),
        "seen": maybe([datetime(2024, int(m), 3, 12, 30) for m in rng.integers(1, 13, rows)]),
    }


def table(rows: int = 400, seed: int = 5) -> pa.Table:
    found = columns(rows, seed)
    types = {"visits": pa.int32(), "born": pa.date32(), "seen": pa.timestamp("us")}
    return pa.table({name: pa.array(values, type=types.get(name)) for name, values in found.items()})


def quick(data: Any, **settings: Any) -> Release:
    """A seeded release in a fraction of a second."""
    defaults: dict[str, Any] = {
        "epsilon": 5,
        "workload": "all-1way",
        "mechanism": "independent",
        "seed": 1,
        "progress": False,
    }
    return synthesize(data, schema(), **{**defaults, **settings})
