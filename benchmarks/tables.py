"""The tables that are measured on, their workloads, and how far off an answer is: shared by the benchmarks.

Reads private counts of public research tables, for evaluation only: nothing here is private.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from reference_sets import DATASETS
from understudy import example
from understudy.domain import Domain
from understudy.metrics import workload_error, workload_error_l2, workload_error_max
from understudy.schema import DeclaredZeros
from understudy.source import MemorySource
from understudy.workload import Workload

Codes = NDArray[np.integer[Any]]

EXAMPLE_ROWS = 3_000
BINARY_ROWS, BINARY_ATTRIBUTES = 50_000, 16
PREDICTED = {"adult": "income>50K", "titanic": "Survived"}
"""The attribute of the target workload where the paper names one; elsewhere it is drawn once, with a fixed seed."""
WORKLOADS = ("all-3way", "target", "skewed", "all-2way")
WORKLOAD_SEED = 0


@dataclass(frozen=True, eq=False)
class Table:
    """A table of codes, rows × columns in the order of ``domain``."""

    name: str
    domain: Domain
    codes: Codes
    source: MemorySource

    @classmethod
    def load(cls, name: str) -> Table:
        """Read a research table, or make ``example``, the bundled one, or ``binary``."""
        if name == "binary":
            return cls.of(name, Domain.of({f"x{k}": 2 for k in range(BINARY_ATTRIBUTES)}), _binary())
        if name == "example":
            schema = example.schema()
            return cls.of(name, schema.domain, schema.encode(example.people(EXAMPLE_ROWS)))
        sizes = json.loads((DATASETS / f"{name}-domain.json").read_text())
        columns = pq.read_table(DATASETS / f"{name}.parquet").select(list(sizes))
        codes = np.column_stack([column.to_numpy() for column in columns.columns])
        return cls.of(name, Domain.of(sizes), np.asfortranarray(codes.astype(np.int32)))

    @classmethod
    def of(cls, name: str, domain: Domain, codes: Codes) -> Table:
        """Make a table from its codes."""
        return cls(name, domain, codes, MemorySource.of_codes(codes, domain))

    def workload(self, name: str) -> Workload:
        """Make one of ``WORKLOADS``, or a small one: all-1way, target-2way, few, few:1. The same at every run."""
        if name in ("target", "target-2way"):
            return Workload.target(self.domain, self.target, 2 if name == "target-2way" else 3)
        if name.startswith("few"):
            return Workload.of(self.domain, self.few(int(name.partition(":")[2] or WORKLOAD_SEED)))
        return Workload.parse(f"skewed:{WORKLOAD_SEED}" if name == "skewed" else name, self.domain)

    @property
    def target(self) -> str:
        """The attribute that every query of the target workload has."""
        drawn = np.random.default_rng(WORKLOAD_SEED).integers(len(self.domain))
        return PREDICTED.get(self.name, self.domain.attributes[drawn])

    def few(self, seed: int, queries: int = 5) -> list[list[str]]:
        """Draw a few marginals of two or three attributes, as somebody with a few questions would ask for."""
        rng = np.random.default_rng(seed)
        return [list(rng.choice(self.domain.attributes, 2 + k % 2, replace=False)) for k in range(queries)]

    def empty_pairs(self, pairs: int = 9) -> list[DeclaredZeros]:
        """The pairs of attributes with the largest share of empty combinations: evaluation only, not private."""
        cliques = list(combinations(self.domain.attributes, 2))
        counts = self.source.count(cliques)
        share = [float((count == 0).mean()) for count in counts]
        chosen = sorted(range(len(cliques)), key=lambda k: -share[k])[:pairs]
        return [DeclaredZeros(cliques[k], np.argwhere(counts[k] == 0).astype(np.int64)) for k in chosen]


def _binary() -> Codes:
    """Make up codes of two values, each column with a chance that depends on about half of those before it."""
    rng = np.random.default_rng(2_027)
    codes = np.zeros((BINARY_ROWS, BINARY_ATTRIBUTES), dtype=np.int32)
    for k in range(BINARY_ATTRIBUTES):
        slopes = rng.normal(0.0, 1.0, size=k) * (rng.random(k) < 0.5)
        chance = 1 / (1 + np.exp(-((2.0 * codes[:, :k] - 1.0) @ slopes + rng.normal(0.0, 0.5))))
        codes[:, k] = rng.random(BINARY_ROWS) < chance
    return codes


def available(name: str) -> bool:
    """Whether the table can be read here."""
    return name in ("example", "binary") or (DATASETS / f"{name}.parquet").exists()


def errors(workload: Workload, real: Sequence[NDArray[Any]], made: Sequence[NDArray[Any]]) -> dict[str, float]:
    """The paper's workload error, and its two variants."""
    return {
        "l1": workload_error(workload, real, made),
        "l2": workload_error_l2(workload, real, made),
        "max": workload_error_max(workload, real, made),
    }
