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
from understudy.metrics import Subsample, subsampling_fraction, workload_error, workload_error_l2, workload_error_max
from understudy.release import Release
from understudy.source import open_source
from understudy.uncertainty import Bound

NOT_PRIVATE = "NOT PRIVATE: compares with the table itself. Keep what it says with the table."


@dataclass(frozen=True, eq=False)
class Comparison:
    """One marginal, real and synthetic. ``error`` and ``bound`` are in rows, summed over cells."""

    clique: Clique
    real: NDArray[np.int64] = field(repr=False)
    synthetic: NDArray[np.float64] = field(repr=False)
    """Each synthetic row counted as many times as it stands for rows."""
    bound: Bound | None

    @property
    def error(self) -> float:
        """‖M(D) - M(D̂)‖₁."""
        return float(np.abs(self.real - self.synthetic).sum())

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
    """Every marginal of the workload's closure, smallest first."""
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

    Errors are those of the synthetic table, each of its rows counted as many times as it stands for rows.
    """
    workload = release.workload
    cliques = list(dict.fromkeys([*workload.closure, *workload.cliques]))
    real = dict(zip(cliques, open_source(data, release.schema).count(cliques), strict=True))
    synthetic = {clique: release.table_marginal(*clique) for clique in cliques}
    ours: Sequence[NDArray[np.int64]] = [real[c] for c in workload.cliques]
    theirs = [synthetic[c] for c in workload.cliques]
    rows = int(ours[0].sum())
    error = workload_error(workload, ours, theirs)
    return Evaluation(
        release=release,
        rows=rows,
        marginals=tuple(Comparison(c, real[c], synthetic[c], release.bounds.get(c)) for c in workload.closure),
        error=error,
        error_l2=workload_error_l2(workload, ours, theirs),
        error_max=workload_error_max(workload, ours, theirs),
        subsample=subsampling_fraction(workload, ours, error) if rows else None,
    )
