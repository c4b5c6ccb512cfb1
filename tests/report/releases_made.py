"""Makes releases to report on: small runs on made-up tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from understudy.mechanism import mechanism
from understudy.privacy import Budget, Door, ResearchNoise, SecureNoise, Unit
from understudy.release import Release, make_release
from understudy.release.making import Settings
from understudy.schema import Schema, parse_schema
from understudy.source import open_source
from understudy.workload import Workload

NASTY = "<script>alert('a')</script>"
QUOTES = "\"quoted\" & 'single'"
UNICODE = "Größe אבג 🙂"


def make(
    table: Any,
    schema: Schema,
    *,
    name: str = "aim",
    epsilon: float = 1.0,
    queries: Iterable[Sequence[str]] | None = None,
    way: int = 2,
    secure: bool = False,
    unit: Unit = Unit.ADD_REMOVE,
    rows: int | None = None,
    **options: Any,
) -> Release:
    """Run a mechanism and put a release together; seeded throughout, unless ``secure``."""
    domain = schema.domain
    workload = Workload.all_kway(domain, way) if queries is None else Workload.of(domain, [(q, 1.0) for q in queries])
    runs = mechanism(name, **options)
    budget = Budget.of(epsilon=epsilon, delta=1e-9)
    noise = SecureNoise() if secure else ResearchNoise(7)
    door = Door(open_source(table, schema), budget, unit=unit, noise=noise, expect=runs.expects(workload))
    outcome = runs.run(door, workload, zeros=schema.zeros)
    settings = Settings(run="0" * 32, workload=f"all-{way}way", rows=rows)
    return make_release(outcome, schema, budget, settings, rng=np.random.default_rng(1))


def codes(sizes: dict[str, int], rows: int = 2000) -> tuple[pa.Table, Schema]:
    """Return a table of dependent codes with its schema."""
    rng = np.random.default_rng(3)
    base = rng.integers(0, 1000, rows)
    columns = {
        name: np.where(rng.random(rows) < 0.5, base + i, rng.integers(0, 1000, rows)) % size
        for i, (name, size) in enumerate(sizes.items())
    }
    return pa.table(columns), Schema.from_domain(sizes)


def nasty() -> tuple[pa.Table, Schema]:
    """Return a table whose names and values would break a careless page."""
    text = f"""
[table]
name = '''{NASTY}'''
description = '''{QUOTES}{NASTY}'''
[columns.'{QUOTES.replace("'", "’")}']
kind = "categorical"
description = '''{NASTY}'''
values = ['''{NASTY}''', '''{QUOTES}''', "{"very long " * 12}"]
nullable = true
[columns."{UNICODE}"]
kind = "ordinal"
values = ["&amp;", "</td>", "<!--"]
other = "]]>"
[columns."<img src=x onerror=alert(1)>"]
kind = "boolean"
nullable = true
"""
    schema = parse_schema(text)
    rng = np.random.default_rng(5)
    picks = {c.name: rng.integers(0, 2, 1500) for c in schema.columns}
    values = {
        schema.columns[0].name: [(NASTY, QUOTES)[i] for i in picks[schema.columns[0].name]],
        schema.columns[1].name: [("&amp;", "</td>")[i] for i in picks[schema.columns[1].name]],
        schema.columns[2].name: [(True, None)[i] for i in picks[schema.columns[2].name]],
    }
    return pa.table(values), schema
