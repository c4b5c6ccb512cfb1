"""Two columns of two tables: how strongly they are associated in each, and how alike the tables are on them.

NOT PRIVATE where one of the tables is. Names of scores are those of SDMetrics, and so are their definitions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique
from understudy.measures.columns import Both, Counts, total_variation
from understudy.measures.rows import Rows
from understudy.measures.values import Floats

NOTHING = 1e-12
"""A variance below this share of the square of the mean is rounding."""


@dataclass(frozen=True)
class PairMeasures:
    """Two columns, real against synthetic."""

    clique: Clique
    cramers_v: Both
    """Cramér's V of the table of codes: 0 for independent columns, 1 where one tells the other."""
    contingency_similarity: float
    """1 less the total variation distance of the two tables of codes."""
    unseen: float
    """The share of the synthetic rows whose combination no real row has."""
    correlation: Both | None = None
    """Pearson's, of the samples; None unless both columns have numbers that vary in both tables."""

    def correlated(self, correlation: Both | None) -> PairMeasures:
        """Return the same with its correlation."""
        return replace(self, correlation=correlation)

    @property
    def correlation_similarity(self) -> float | None:
        """1 less half the difference of the correlations."""
        return None if self.correlation is None else 1 - abs(self.correlation.difference) / 2


def measure_pair(clique: Clique, real: Counts, made: Counts) -> PairMeasures:
    """Compare two tables by the counts of the codes of two columns."""
    association = Both(cramers_v(real), cramers_v(made))
    return PairMeasures(clique, association, 1 - total_variation(real, made), unseen(real, made))


def unseen(real: Counts, made: Counts) -> float:
    """Return the share of the synthetic rows in cells that no real row is in."""
    return float(made[real == 0].sum() / max(made.sum(), 1e-300))


def cramers_v(counts: Counts) -> float:
    """Return Cramér's V, without correction; values that do not occur are left out. 0 where a column is constant."""
    total = float(counts.sum())
    rows, columns = counts.sum(axis=1, dtype=np.float64), counts.sum(axis=0, dtype=np.float64)
    least = min(int((rows > 0).sum()), int((columns > 0).sum())) - 1
    if least < 1:
        return 0.0
    kept = counts[np.ix_(rows > 0, columns > 0)]
    expected = np.outer(rows[rows > 0], columns[columns > 0])
    squared = float((np.square(kept, dtype=np.float64) / expected).sum()) - 1  # χ² over the number of rows
    return float(np.sqrt(np.clip(squared / least, 0, 1))) if total else 0.0


def correlations(rows: Rows) -> tuple[list[str], NDArray[np.float64]]:
    """Return the columns with numbers, and Pearson's correlation of each two, over the rows that have both."""
    names = [name for name, values in rows.numbers.items() if not np.isnan(values).all()]
    if not names:
        return [], np.zeros((0, 0))
    values = np.column_stack([rows.numbers[name] for name in names])
    there = ~np.isnan(values)
    centre, spread = np.nanmean(values, axis=0), np.nanstd(values, axis=0)
    values = np.where(there, (values - centre) / np.where(spread > 0, spread, 1), 0.0)
    return names, _pearson(values, there.astype(np.float64))


def _pearson(values: Floats, there: Floats) -> Floats:
    """Return correlations of standardised columns, each over the rows where both are there; NaN where one does not vary."""
    number = there.T @ there
    ours, squares = values.T @ there, (values**2).T @ there  # sums of the first column over the rows of both
    with np.errstate(invalid="ignore", divide="ignore"):
        covariance = values.T @ values - ours * ours.T / number
        variance = squares - ours**2 / number
        found = covariance / np.sqrt(np.where(variance > NOTHING * number, variance, np.nan))
        found = found / np.sqrt(np.where(variance > NOTHING * number, variance, np.nan)).T
    return np.clip(found, -1, 1)


def both_correlations(real: Rows, made: Rows) -> dict[Clique, Both]:
    """Return the correlation of each two columns in both tables, where there is one."""
    (names, ours), (others, theirs) = correlations(real), correlations(made)
    place = {name: i for i, name in enumerate(others)}
    found: dict[Clique, Both] = {}
    for i, a in enumerate(names):
        for j, b in enumerate(names[i + 1 :], start=i + 1):
            if a in place and b in place:
                both = Both(float(ours[i, j]), float(theirs[place[a], place[b]]))
                if not np.isnan(both.difference):
                    found[a, b] = both
    return found
