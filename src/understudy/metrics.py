"""How far off a synthetic table is: workload error in three norms, and the share of rows that would do as
well.

Pure functions on count arrays. They may be handed exact counts, and then what they return is private too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, pi

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique
from understudy.errors import WorkloadError
from understudy.workload import Workload

Counts = NDArray[np.integer] | NDArray[np.floating]


def workload_error(workload: Workload, real: Sequence[Counts], synthetic: Sequence[Counts]) -> float:
    """Return the paper's Definition "Workload Error": 1/(k |D|) Σ c_i ‖M_i(D) - M_i(D̂)‖₁ (no factor ½).

    Both lists follow ``workload.cliques``. Counts are compared as they are, as in the definition: a synthetic
    table of another size than the real one has that counted as error. Use ``rescaled`` first to compare
    shares instead. A real table without rows counts as one of a single row.

    Where sums of a marginal are asked for, they take the place of its cells, divided by the number of sums that a record
    is in at most (``Workload.errors``).
    """
    return _averaged(workload, real, synthetic, lambda gap: float(np.abs(gap).sum()))


def workload_error_l2(workload: Workload, real: Sequence[Counts], synthetic: Sequence[Counts]) -> float:
    """Return 1/(k |D|) Σ c_i ‖M_i(D) - M_i(D̂)‖₂, otherwise as ``workload_error``."""
    return _averaged(workload, real, synthetic, lambda gap: float(np.sqrt(np.square(gap).sum())))


def workload_error_max(workload: Workload, real: Sequence[Counts], synthetic: Sequence[Counts]) -> float:
    """Return 1/|D| max_i c_i ‖M_i(D) - M_i(D̂)‖_∞: the worst single cell, otherwise as ``workload_error``."""
    gaps = _gaps(workload, real, synthetic)
    worst = max(c * float(np.abs(gap).max()) for c, gap in zip(workload.query_weights, gaps, strict=True))
    return worst / _rows(real)


def rescaled(real: Sequence[Counts], synthetic: Sequence[Counts]) -> list[NDArray[np.float64]]:
    """Return ``synthetic`` scaled to the number of rows of ``real``; a table without rows is left alone."""
    rows = float(real[0].sum())
    totals = [float(counts.sum()) for counts in synthetic]
    return [np.asarray(m, dtype=np.float64) * (rows / t if t > 0 else 1.0) for m, t in zip(synthetic, totals, strict=True)]


@dataclass(frozen=True)
class Subsample:
    """The smallest number of rows, drawn with replacement, that does at least as well; ``fraction`` of all
    rows.

    ``fraction`` above 1 means better than a fresh sample as large as the table; infinite means better than
    any sample.
    """

    rows: float
    fraction: float


def subsampling_error(workload: Workload, real: Sequence[Counts], rows: int) -> float:
    """Return the expected workload error of ``rows`` rows drawn from the table with replacement, in closed
    form.

    The paper's Theorem on subsampling, with errors of shares: the sample is scaled up to the size of the
    table.
    """
    _checked(workload, real)
    return _SubsampleError(workload, real)(rows)


def subsampling_fraction(workload: Workload, real: Sequence[Counts], error: float) -> Subsample:
    """Return how many rows, drawn from the real table, would have an expected workload error of at most
    ``error``.
    """
    _checked(workload, real)
    if not error >= 0:
        raise WorkloadError(f"An error must be a number of at least 0, not {error}.")
    return _SubsampleError(workload, real).fraction(error)


class _SubsampleError:
    """Expected error as a function of the sample's size. Cells of equal count err equally: keep one; empty ones do not."""

    def __init__(self, workload: Workload, real: Sequence[Counts]) -> None:
        if workload.asked:
            raise WorkloadError("Subsamples are compared by cells; this workload asks for sums of them.")
        self.total = int(real[0].sum())
        if self.total < 1:
            raise WorkloadError("A table without rows has no subsamples to compare with.")
        self.counts, self.weights = _distinct(real, workload.shares)

    def __call__(self, rows: int) -> float:
        return float(self.weights @ mean_deviation(rows, self.counts, self.total))

    def fraction(self, error: float) -> Subsample:
        """Return the smallest sample that errs by at most ``error``.

        The expected error falls with the number of rows (a running mean is a backward martingale), so bisection finds it.
        """
        high = 1
        while self(high) > error:
            high *= 2
            if high > 2**61 // self.total:
                return Subsample(inf, inf)
        low = high // 2  # too few rows (or none), unless high is 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self(middle) <= error else (middle, high)
        return Subsample(float(high), high / self.total)


class RunningErrors(_SubsampleError):
    """The errors of a workload, added up some marginals at a time."""

    def __init__(self, workload: Workload, rows: int) -> None:
        self.workload = workload
        self.total, self.l1, self.l2, self.worst = rows, 0.0, 0.0, 0.0
        self.counts, self.weights = np.zeros(0, np.int64), np.zeros(0)

    def add(self, cliques: Mapping[Clique, float], share: float, real: Sequence[Counts], made: Sequence[Counts]) -> None:
        """Count in some marginals, with their weights; a unit of error adds ``share`` of its weight to the workload's."""
        rows, shares = max(self.total, 1), [share * cost for cost in cliques.values()]
        for (clique, cost), part, ours, theirs in zip(cliques.items(), shares, real, made, strict=True):
            gap = np.abs(self.workload.errors(clique, np.asarray(ours - theirs, dtype=np.float64)))
            self.l1 += part * float(gap.sum()) / rows
            self.l2 += part * float(np.sqrt(np.square(gap).sum())) / rows
            self.worst = max(self.worst, cost * float(gap.max()) / rows)
        counts, weights = _distinct(real, shares)
        self.counts, place = np.unique(np.concatenate([self.counts, counts]), return_inverse=True)
        both = np.concatenate([self.weights, weights])
        self.weights = np.bincount(place, weights=both, minlength=len(self.counts)).astype(np.float64)

    @property
    def subsample(self) -> Subsample | None:
        """How many of the real rows would do as well as ``l1``; None for a table without rows, or sums of cells."""
        return self.fraction(self.l1) if self.total and not self.workload.asked else None


def _distinct(real: Sequence[Counts], shares: Sequence[float]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the different counts above 0 in the cells of ``real``, and for each the sum of its cells' shares."""
    flat = [np.zeros(0, np.int64), *(np.asarray(counts, dtype=np.int64).reshape(-1) for counts in real)]
    full = [counts[counts > 0] for counts in flat]
    weights = np.concatenate([np.full(len(f), s) for f, s in zip(full, [0.0, *shares], strict=True)])
    counts, place = np.unique(np.concatenate(full), return_inverse=True)
    return counts, np.bincount(place, weights=weights, minlength=len(counts)).astype(np.float64)


def mean_deviation(rows: int, counts: NDArray[np.int64], total: int) -> NDArray[np.float64]:
    """Return E|p - k/rows| for k ~ Binomial(rows, p = counts/total): (2/rows) s (1-p) P(k = s), s = ⌈rows p⌉.

    The probability is taken in the form of its deviance and Stirling remainders (Loader's saddle point),
    whose terms stay small: differences of log-gammas of a million would lose nine digits.
    """
    inner = (counts > 0) & (counts < total)
    c = counts[inner]
    s = -(-(rows * c) // total)  # exact: rows * total stays below 2^62
    hits, misses = s.astype(np.float64), (rows - s).astype(np.float64)
    p, q = c / total, (total - c) / total
    log_mass = -_deviance(hits, rows * p) - _deviance(misses, rows * q)
    log_mass += _stirling(np.float64(rows)) - _stirling(hits) - _stirling(misses)
    # P(k = s) has the factor sqrt(rows / (2π s (rows - s))), or 1 where s = rows (there Stirling's form has
    # no square root).
    root = np.sqrt(rows / (2 * pi * hits * np.where(misses > 0, misses, 1.0)))
    root = np.where(misses > 0, root, 1.0)
    result = np.zeros(len(counts))
    result[inner] = 2 / rows * hits * q * root * np.exp(log_mass)
    return result


def _deviance(x: NDArray[np.float64], mean: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return x log(x / mean) + mean - x, zero-safe; x is within one of the mean, so nothing cancels badly."""
    safe = np.where(x > 0, x, 1.0)
    return np.where(x > 0, x * -np.log1p((mean - safe) / safe), 0.0) + mean - x


def _stirling(n: NDArray[np.float64] | np.float64) -> NDArray[np.float64]:
    """Return log n! - log(sqrt(2πn) (n/e)^n), the remainder of Stirling's formula; 0 at n = 0."""
    small = np.minimum(n, _SMALL).astype(np.int64)
    big = np.maximum(n, _SMALL)
    square = 1 / (big * big)
    series = (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square / 1188)))) / big
    return np.where(n < _SMALL, _STIRLING_TABLE[np.minimum(small, _SMALL - 1)], series)


_SMALL = 16
_FACTORIAL_LOGS = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, _SMALL)))])
_N = np.arange(1, _SMALL)
_STIRLING_TABLE = np.concatenate([[0.0], _FACTORIAL_LOGS[1:] - (0.5 * np.log(2 * pi * _N) + _N * np.log(_N) - _N)])


def _averaged(
    workload: Workload, real: Sequence[Counts], synthetic: Sequence[Counts], norm: Callable[[Counts], float]
) -> float:
    gaps = _gaps(workload, real, synthetic)
    return sum(s * norm(gap) for s, gap in zip(workload.shares, gaps, strict=True)) / _rows(real)


def _gaps(workload: Workload, real: Sequence[Counts], synthetic: Sequence[Counts]) -> list[NDArray[np.float64]]:
    _checked(workload, real)
    _checked(workload, synthetic)
    gaps = [np.asarray(a - b, dtype=np.float64) for a, b in zip(real, synthetic, strict=True)]
    return [workload.errors(clique, gap) for clique, gap in zip(workload.cliques, gaps, strict=True)]


def _checked(workload: Workload, counts: Sequence[Counts]) -> None:
    if len(counts) != len(workload.cliques):
        raise WorkloadError(f"{len(workload.cliques)} marginals make the workload, but {len(counts)} were given.")
    for clique, marginal in zip(workload.cliques, counts, strict=True):
        if marginal.shape != workload.domain.shape(clique):
            raise WorkloadError(f"The marginal on {', '.join(clique)} has the wrong shape {marginal.shape}.")


def _rows(real: Sequence[Counts]) -> float:
    return max(float(real[0].sum()), 1.0)
