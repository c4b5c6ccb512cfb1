"""One column of two tables: its distribution, and the mean, total, deviation and quantiles where it has numbers.

NOT PRIVATE where one of the tables is. Names of scores are those of SDMetrics, and so are their definitions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.measures.rows import Sums, Tables
from understudy.measures.values import Floats
from understudy.schema import Column

QUANTILES = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
Counts = NDArray[np.integer] | NDArray[np.floating]


@dataclass(frozen=True)
class Both:
    """A number of the real table, and the same number of the synthetic one."""

    real: float
    synthetic: float

    @property
    def difference(self) -> float:
        """Synthetic less real."""
        return self.synthetic - self.real

    @property
    def relative(self) -> float | None:
        """The difference as a share of the real number; None where that is 0."""
        return self.difference / abs(self.real) if self.real else None


@dataclass(frozen=True)
class Numbers:
    """What the numbers of a column add up to. Missing ones are left out."""

    mean: Both
    total: Both
    """Of the whole table; each synthetic row counts as many times as it stands for rows."""
    stddev: Both
    quantiles: tuple[Both, ...]
    """Those of ``QUANTILES``, of the samples."""
    ks: float
    """Kolmogorov-Smirnov: the largest difference between the two shares of numbers up to any value."""
    boundary: float
    """The share of the synthetic numbers that lie between the smallest and the largest real one."""

    @property
    def ks_complement(self) -> float:
        """1 less the Kolmogorov-Smirnov distance."""
        return 1 - self.ks


@dataclass(frozen=True)
class ColumnMeasures:
    """One column, real against synthetic."""

    name: str
    kind: str
    missing: Both
    """The share of rows without a value."""
    tvd: float
    """Total variation distance of the codes, missing ones included: the share of rows in the wrong bin."""
    tv_complement: float | None
    """1 less the same distance without missing ones; None where one table has nothing else."""
    coverage: float | None
    """The share of the values (or bins) of the real table that the synthetic one has, too."""
    numbers: Numbers | None
    """None for a column without numbers, and where a table has none in it."""


def total_variation(real: Counts, synthetic: Counts) -> float:
    """Return half the summed distance of the shares; 1 where one table is empty and the other is not."""
    ours, theirs = float(real.sum()), float(synthetic.sum())
    if not ours or not theirs:
        return 0.0 if ours == theirs else 1.0
    return float(np.abs(real / ours - synthetic / theirs).sum()) / 2


def kolmogorov_smirnov(real: Floats, synthetic: Floats) -> float:
    """Return the largest difference of two empirical distribution functions; neither may be empty."""
    ours, theirs = np.sort(real), np.sort(synthetic)
    both = np.concatenate([ours, theirs])
    gaps = np.searchsorted(ours, both, side="right") / len(ours) - np.searchsorted(theirs, both, side="right") / len(theirs)
    return float(np.abs(gaps).max())


def measure_column(column: Column, counts: tuple[Counts, Counts], tables: Tables) -> ColumnMeasures:
    """Compare a column by the counts of its codes, real and synthetic, and by its numbers."""
    ours, theirs = counts
    null = column.places.null
    there = np.arange(column.size) != (-1 if null is None else null)
    known = ours[there].any() and theirs[there].any()
    occurs = there & (ours > 0)
    return ColumnMeasures(
        column.name,
        column.kind,
        Both(_share(ours, null), _share(theirs, null)),
        total_variation(ours, theirs),
        1 - total_variation(ours[there], theirs[there]) if known else None,
        float((theirs[occurs] > 0).mean()) if known else None,
        measure_numbers(column.name, tables) if column.name in tables.real.sums else None,
    )


def _share(counts: Counts, code: int | None) -> float:
    return 0.0 if code is None else float(counts[code] / max(counts.sum(), 1))


def measure_numbers(name: str, tables: Tables) -> Numbers | None:
    """Compare the numbers of a column; None where one of the tables has none."""
    real, made = tables.real, tables.made
    ours, theirs = (rows.numbers[name][~np.isnan(rows.numbers[name])] for rows in (real, made))
    if not len(ours) or not len(theirs):
        return None
    sums = real.sums[name], made.sums[name]
    low, high = ours.min(), ours.max()
    return Numbers(
        mean=both_means(*sums),
        total=Both(float((sums[0].mean * sums[0].number)[0]), float((sums[1].mean * sums[1].number)[0]) * tables.weight),
        stddev=Both(float(sums[0].stddev[0]), float(sums[1].stddev[0])),
        quantiles=both_quantiles(ours, theirs, QUANTILES),
        ks=kolmogorov_smirnov(ours, theirs),
        boundary=float(((theirs >= low) & (theirs <= high)).mean()),
    )


def both_means(real: Sums, made: Sums, group: int = 0) -> Both:
    """Return the means of a group."""
    return Both(float(real.mean[group]), float(made.mean[group]))


def both_quantiles(real: Floats, made: Floats, levels: Sequence[float]) -> tuple[Both, ...]:
    """Return quantiles, interpolated between neighbouring numbers."""
    return tuple(Both(float(a), float(b)) for a, b in zip(np.quantile(real, levels), np.quantile(made, levels), strict=True))
