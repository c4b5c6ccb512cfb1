"""Real against synthetic: how far off a release is from the table it stands for. NOT PRIVATE, and marked so.

Reads exact counts of the private table; nothing that it returns may be released.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique
from understudy.metrics import RunningErrors, Subsample
from understudy.release import Release
from understudy.sampling import some_of
from understudy.source import open_source
from understudy.uncertainty import Bound
from understudy.workload import Same, Workload

NOT_PRIVATE = "NOT PRIVATE: compares with the table itself. Keep what it says with the table."


MOST_COMPARED, MOST_PAIRS, MOST_CELLS = 20_000, 2_000, 1 << 30
"""Marginals of a workload, and their cells together, that are compared; of more, so many are drawn. Pairs besides."""
AT_ONCE = 1 << 24
"""Cells of marginals that are held at a time."""
DRAWN_WITH = 0
"""The seed of the draw: the same marginals are compared each time."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """One marginal, real and synthetic. ``error`` and ``bound`` are in rows, summed over cells."""

    clique: Clique
    error: float
    """‖M(D) - M(D̂)‖₁."""
    bound: Bound | None
    real: NDArray[np.int64] | None = field(default=None, repr=False)
    """The counts of a single column; of several they are not kept."""
    synthetic: NDArray[np.float64] | None = field(default=None, repr=False)
    """As ``real``, each synthetic row counted as many times as it stands for rows."""

    @property
    def within(self) -> bool | None:
        """Whether the error is within its bound; None where there is no bound."""
        return None if self.bound is None else self.error <= self.bound.value


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """A release beside the table it stands for. NOT PRIVATE."""

    release: Release
    rows: int
    """Of the private table, exactly."""
    marginals: tuple[Comparison, ...]
    """Every marginal of the workload's closure, smallest first; of very many a part, drawn at random."""
    compared: int
    """How many marginals of the workload the errors are averages over: all, or a part drawn at random."""
    error: float
    """The workload error (L1), as a share of the rows: 0 is perfect, 2 is nothing right."""
    error_l2: float
    error_max: float
    subsample: Subsample | None
    """How many of the real rows would do as well; None for a table without rows."""

    @property
    def bounded(self) -> int:
        """How many marginals have a bound."""
        return sum(m.bound is not None for m in self.marginals)

    @property
    def within(self) -> int:
        """How many marginals are within their bound."""
        return sum(m.within is True for m in self.marginals)

    def worst(self, count: int = 10) -> list[Comparison]:
        """Return the marginals with the largest errors."""
        return sorted(self.marginals, key=lambda m: -m.error)[:count]

    def describe(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        sample = self.subsample
        return {
            "private": False,
            "notice": NOT_PRIVATE,
            "rows": self.rows,
            "synthetic_rows": self.release.manifest.table.rows,
            "workload": self.release.manifest.workload.name,
            "compared": self.compared,
            "workload_error": self.error,
            "workload_error_l2": self.error_l2,
            "workload_error_max": self.error_max,
            "subsample_rows": None if sample is None or np.isinf(sample.rows) else sample.rows,
            "subsample_fraction": None if sample is None or np.isinf(sample.fraction) else sample.fraction,
            "bounded": self.bounded,
            "within_bound": self.within,
            "confidence": self.release.manifest.confidence,
            "marginals": [_described(m, max(self.rows, 1)) for m in self.marginals],
        }

    def __repr__(self) -> str:
        return (
            f"*** {NOT_PRIVATE} ***\nEvaluation: workload error {self.error:.4f} "
            f"({self.within} of {self.bounded} marginals within their bound)"
        )


def _described(m: Comparison, rows: int) -> dict[str, Any]:
    return {
        "columns": list(m.clique),
        "error": m.error / rows,
        "bound": None if m.bound is None else m.bound.value / rows,
        "kind": None if m.bound is None else m.bound.kind,
    }


def evaluate(data: Any, release: Release) -> Evaluation:
    """Compare ``release`` with the private table ``data`` on every marginal of its workload. NOT PRIVATE.

    Errors are those of the synthetic table, each of its rows counted as many times as it stands for rows. Of a workload with
    very many marginals a part is compared, drawn at random.
    """
    workload, source = release.workload, open_source(data, release.schema)
    own, others = _compared(workload)
    costs = dict(zip(own, _costs(workload, own), strict=True))
    scale = len(workload.cliques) / len(own) / workload.queries
    errors = RunningErrors(int(source.count([()])[0]))
    found: dict[Clique, Comparison] = {}
    for block in release.domain.blocks([*others, *own], AT_ONCE):
        real, made = source.count(block), release.table_marginals(block)
        mine = [i for i, clique in enumerate(block) if clique in costs]
        weights = [costs[block[i]] for i in mine]
        errors.add([scale * c for c in weights], weights, [real[i] for i in mine], [made[i] for i in mine])
        found |= {c: _comparison(c, r, m, release.bounds.get(c)) for c, r, m in zip(block, real, made, strict=True)}
    return Evaluation(
        release=release,
        rows=errors.total,
        marginals=tuple(sorted(found.values(), key=lambda m: len(m.clique))),
        compared=len(own),
        error=errors.l1,
        error_l2=errors.l2,
        error_max=errors.worst,
        subsample=errors.subsample,
    )


def _compared(workload: Workload) -> tuple[list[Clique], list[Clique]]:
    """Return the workload's own marginals to compare, and the smaller ones of its closure beside them."""
    mean = max(1, workload.cells // len(workload.closure))
    most = max(1, min(MOST_COMPARED, MOST_CELLS // mean))
    rng = np.random.default_rng(DRAWN_WITH)
    own = some_of(workload.cliques, most, rng)
    if len(workload.closure) <= most:
        others = list(workload.closure)
    else:
        others = [*workload.closure_of(1), *some_of(workload.closure_of(2), min(most, MOST_PAIRS), rng)]
    taken = frozenset(own)
    return own, [r for r in others if r not in taken]


def _costs(workload: Workload, own: Sequence[Clique]) -> Sequence[float]:
    """Return the weights of ``own``."""
    if isinstance(workload.query_weights, Same):
        return [workload.query_weights.value] * len(own)
    weights = dict(zip(workload.cliques, workload.query_weights, strict=True))
    return [weights[clique] for clique in own]


def _comparison(clique: Clique, real: NDArray[np.int64], made: NDArray[np.float64], bound: Bound | None) -> Comparison:
    error = float(np.abs(real - made).sum())
    return Comparison(clique, error, bound, *((real, made) if len(clique) == 1 else ()))
