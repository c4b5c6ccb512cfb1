"""Many rows a person, on a real table: how far one moves counts, what an attacker sees of one, what it costs in error.

Not private: compares with the table itself. The attacker knows the table with and without one person, and every setting;
each run is scored by its exact log-likelihood ratio, as in ``tests/statistical``.
``PYTHONPATH=tests python benchmarks/persons.py TABLE.csv SCHEMA.toml PERSON ROWS [attack|limit|error ...]``
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from fractions import Fraction
from math import inf

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from statistical.attacks import Guess
from statistical.bounds import gaussian_bound, gaussian_epsilon
from structure import error
from understudy import load_schema, synthesize
from understudy.domain import Clique, Domain
from understudy.mechanism import mechanism
from understudy.privacy import Budget, Door, Measurement, Unit, epsilon_of
from understudy.schema import Schema
from understudy.source import MemorySource, open_source
from understudy.workload import Workload

RHO, DELTA, ALARM, RUNS = Fraction(1), 1e-9, 1e-3, 1_500
MANY = 4
"""The person who is attacked has so many times the rows that are used."""
SMALL = 3
"""Columns that the attacked runs are about: those with the fewest codes."""


def limited(schema: Schema, person: str, rows: int | None) -> Schema:
    """Return the schema with so many rows of each person; with all of them where None."""
    columns = {name: one for name, one in schema.declaration.columns.items() if name != person}
    settings = {"person": None if rows is None else person, "rows_per_person": rows, "columns": columns}
    kept = tuple(column for column in schema.columns if column.name != person)
    return Schema(kept, schema.zeros, schema.declaration.model_copy(update=settings), schema.source)


def limit(table: pa.Table, schema: Schema, person: str) -> None:
    """Take out the persons with the most rows, one at a time, and print how far the counts of all pairs move."""
    workload = Workload.all_kway(schema.domain, 2)
    cliques: list[Clique] = [*((name,) for name in schema.domain), *workload.cliques]
    everybody = open_source(table, schema).count(cliques)
    whom = table[person].drop_null().value_counts().to_pylist()
    named = [one for one in whom if one["values"] != ""]  # a row of nobody is a person of its own
    for one in sorted(named, key=lambda one: -one["counts"])[:3]:
        others = table.filter(pa.compute.fill_null(pa.compute.not_equal(table[person], one["values"]), True))
        without = open_source(others, schema).count(cliques)
        moved = [a - b for a, b in zip(everybody, without, strict=True)]
        most, least = max(int(np.abs(m).sum()) for m in moved), min(int(m.min()) for m in moved)
        print(
            f"a person of {one['counts']} rows: {len(cliques)} marginals move by {most} at most; the least change is {least}"
        )


class Known:
    """A table of which every count is known, and counted once."""

    def __init__(self, counts: dict[Clique, NDArray[np.int64]], domain: Domain) -> None:
        self.domain, self.counts = domain, counts

    def count(self, cliques: Sequence[Clique]) -> list[NDArray[np.int64]]:
        """Return the counts."""
        return [self.counts[clique].copy() for clique in cliques]


def attack(table: pa.Table, schema: Schema, claimed: Unit, name: str) -> float:
    """Run a mechanism often with and without a person of many rows, all alike; return the lower bound on epsilon."""
    rows = MANY * claimed.rows
    same = table.slice(0, 1).take(pa.array(np.zeros(rows, np.int64)))
    mine = same.set_column(same.column_names.index(claimed.person), claimed.person, pa.array(["somebody"] * rows))
    small = sorted(schema.domain, key=lambda column: (schema.domain[column] < 2, schema.domain[column]))[:SMALL]
    domain = schema.domain.project(schema.domain.clique(small))
    cliques: list[Clique] = [*((one,) for one in domain), *Workload.all_kway(domain, 2).cliques]
    joined = pa.concat_tables([table, mine], promote_options="permissive")
    known = [Known(dict(zip(cliques, open_source(t, schema).count(cliques), strict=True)), domain) for t in (table, joined)]
    how, workload = mechanism(name), Workload.all_kway(domain, 2)

    def once(source: Known) -> float:
        door = Door(source, Budget.of(rho=RHO), unit=claimed)
        return sum(_ratio(found, *known) for found in how.run(door, workload).measurements)

    guess = Guess(*(np.array([once(source) for _ in range(RUNS)]) for source in known))
    return gaussian_epsilon(gaussian_bound(*guess.errors(), guess.within.size, ALARM), DELTA)


def _ratio(found: Measurement, without: Known, within: Known) -> float:
    far, near = (found.values - source.counts[found.clique] for source in (without, within))
    return float((far**2 - near**2).sum() / (2 * found.scale**2))


def errors(path: str, table: pa.Table, schema: Schema, person: str, rows: int) -> None:
    """Print the error of all pairs, for rows and for persons, on all rows and on those that are used."""
    for most in (None, rows):
        began, declared = time.process_time(), limited(schema, person, most)
        release = synthesize(path, declared, epsilon=1, workload="all-2way", progress=False)
        all_rows = error(table, release.table, limited(schema, person, None), 2)
        what = "a row" if most is None else f"a person of {most} rows"
        print(f"epsilon = 1 protects {what}: error {all_rows:.4f} on all rows", end="")
        if most is not None:
            workload = Workload.all_kway(declared.domain, 2)
            used = open_source(table, declared).count([*workload.cliques])
            codes = declared.encode(release.table)
            made = MemorySource.of_codes(codes, declared.domain).count([*workload.cliques])
            far = [np.abs(a / a.sum() - b / b.sum()).sum() for a, b in zip(used, made, strict=True)]
            print(f", {np.mean(far):.4f} on the {int(used[0].sum()):,} rows that are used", end="")
        print(f", {time.process_time() - began:.0f} s of CPU", flush=True)


def main(path: str, declared: str, person: str, rows: int, parts: list[str]) -> None:
    """Print what was asked for."""
    schema, table = load_schema(declared), pyarrow.csv.read_csv(path)
    own, unit, claim = limited(schema, person, rows), Unit("add-remove", rows, person), epsilon_of(RHO, DELTA)
    if "limit" in parts:
        limit(table, own, person)
    if "attack" in parts:
        for words, used in (("as it is", own), ("MUTANT that limits nobody", limited(schema, person, None))):
            for name in ("gaussian", "independent"):
                began = time.process_time()
                found = attack(table, used, unit, name)
                shown = "more than can be told" if found == inf else f"{found:.2f}"
                print(f"{words}, {name}: epsilon is at least {shown} of {claim:.2f} claimed,", end=" ")
                print(f"{time.process_time() - began:.0f} s of CPU", flush=True)
    if "error" in parts:
        errors(path, table, schema, person, rows)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5:] or ["limit", "attack", "error"])
