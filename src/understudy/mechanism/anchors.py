"""One-way marginals for the last fit, from all that was measured of a column. Public: noisy answers alone.

A fit keeps every cell of every marginal at or above zero, so the noise on thousands of empty cells adds up to rows that are
not there, most of them in the rare values of a column; its mean and its total suffer first. What all measurements say of the
column alone, averaged by inverse variance and then made a distribution, errs half as much. The last fit is held to it.

Clipping that average at zero would still leave rows in tails that are empty: half of the noise. Codes that stand next to
each other have similar counts, so each count is first drawn towards a part of the larger one beside it, by as much as the
noise says (a posterior mean), unless it stands out: a value that many rows share.

Where one weighted sum of the column was measured (``sums.py``), the counts are moved to it, each by how uncertain it is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Domain, Zeros
from understudy.model import Observation
from understudy.privacy import Centred
from understudy.schema.within import CLOSE, PASSES, Within

FIRM = 20.0
"""An anchor counts as if its noise were so many times smaller than it is."""
LOOSE = 2.0
"""The same, of columns that need not be numbers: a fit of sparse marginals may know more of these than their sums tell."""
FEWEST_CODES = 3
"""A column of fewer codes is known to its sum alone."""

FALL = 0.4
"""What is expected of a code, as a part of the larger count beside it; it may be off by as much as itself."""
SPIKES, END_SPIKES = 0.1, 0.5
"""How often a code stands out from those beside it; the first and the last of a column do more often."""
SELDOM = 1e-4
"""How often a distance does."""
MERGED = (1, 2, 4, 8, 16)
"""So many neighbouring cells of a gap are taken together: the fewer the better …"""
MOST_ROWS, ENOUGH = 0.8, 0.5
"""… with which such a part of the rows stands out of the noise; without the second, nothing is known of the distances."""
HARDLY = 1.0
"""Where fewer rows than this are as far apart or farther, there are none."""
HIGH = 5.0
"""By how many deviations of the noise, about."""
EXACT = 1e-6
"""Less noise than this is as good as none, and would be divided by: the largest budgets leave none at all."""
EMPTY = 0.1
"""A code that was settled at 0 takes up this part of what its variance says when all must add up."""
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Known:
    """What is known of a column's rows: the counts of its values, which add up, and the variance of each."""

    counts: Floats
    variances: Floats
    sigma: float
    """The deviation of each count as it was measured, before any was drawn to others."""
    rows: float
    """The variance of the number of all rows."""

    @property
    def _together(self) -> Within:
        """All counts as those of one bin, which add up."""
        return Within(np.zeros(len(self.counts), np.intp), self.counts, self.variances)

    def covariance(self, one: Floats, other: Floats) -> Floats:
        """Return that of two sums of counts, by their weights in the last axis; counts add up, whatever they are."""
        return self._together.covariance(one, other)

    def of_rows(self, weights: Floats) -> Floats:
        """Return the variance that a sum has since the number of rows is not known exactly."""
        return np.asarray(self.rows * ((weights @ self.counts) / self.counts.sum()) ** 2)

    def told(self, weights: Floats, answer: float, variance: float) -> Known:
        """Return what is known once a sum of counts is told, with noise of this variance: a posterior mean, at least 0."""
        held = float(self.covariance(weights, weights))
        kept = held / max(held + variance + float(self.of_rows(weights)), 1e-300)
        goal = float(weights @ self.counts) + kept * (answer - float(weights @ self.counts))
        return replace(self, counts=self._together.moved(weights, goal))


def anchored(
    observations: Sequence[Observation], attributes: Iterable[str], total: float, firm: float = FIRM
) -> list[Observation]:
    """Return the observations, and an anchor for each of ``attributes`` that was measured.

    One sum of such a column alone is part of its anchor, and of nothing else.
    """
    some = set(attributes)
    kept = [o for o in observations if not (_is_sum(o) and o.clique[0] in some)]
    anchors = [_anchor(observations, attribute, total, firm) for attribute in attributes]
    return [*kept, *(anchor for anchor in anchors if anchor is not None)]


def columns_held(
    domain: Domain, numeric: Collection[str], far: Sequence[Zeros], *, every: bool
) -> tuple[list[str], list[str]]:
    """Return the columns that the last fit is held to firmly, and those loosely, which are none but with ``every``.

    Columns that cannot be too ``far`` apart are left out: held by themselves, two of them would disagree.
    """
    free = [a for a in domain if not any(a in zeros.clique for zeros in far)]
    others = [a for a in free if every and a not in numeric and domain[a] >= FEWEST_CODES]
    return [a for a in free if a in numeric], others


def _is_sum(observation: Observation) -> bool:
    """Whether it is one number about a column alone."""
    return observation.query is not None and len(observation.clique) == 1 and observation.values.size == 1


def _anchor(observations: Sequence[Observation], attribute: str, total: float, firm: float) -> Observation | None:
    found = known(observations, attribute, total)
    if found is None:
        return None
    for o in observations:
        if _is_sum(o) and o.clique[0] == attribute:
            assert o.query is not None
            found = found.told(o.query.adjoint(np.ones(1)).ravel(), float(np.ravel(o.values)[0]), o.sigma**2)
    return Observation((attribute,), found.counts, found.sigma / firm)


def counted(
    observations: Sequence[Observation], prepared: Callable[[Sequence[Observation]], Sequence[Observation]]
) -> Sequence[Observation]:
    """Return the answers, residuals as the marginals that a fit is made to: alone they say nothing of a column's rows."""
    residuals = any(isinstance(o.query, Centred) for o in observations)
    return prepared(observations) if residuals else observations


def known(observations: Sequence[Observation], attribute: str, total: float) -> Known | None:
    """Return the column's rows by all marginals that have it, none below zero, ``total`` in all.

    None where sums of it were measured: their noise is small in sums and large in single counts, and what is drawn together
    count by count errs more in sums than the fit does. One sum of the column alone is no reason.
    """
    held = [o for o in observations if attribute in o.clique and not _is_sum(o)]
    if not held or total <= 0 or any(o.query is not None for o in held):
        return None
    summed = [_summed(o, attribute) for o in held]
    weights = np.array([1 / variance for _, variance in summed])
    mean = sum((w * values for w, (values, _) in zip(weights, summed, strict=True)), np.zeros(1)) / weights.sum()
    sigma = float(weights.sum() ** -0.5)
    rows = 1 / sum(1 / (o.sigma**2 * o.values.size) for o in observations if o.query is None)
    return Known(*_settled(mean, sigma, total), sigma, rows)


def _summed(observation: Observation, attribute: str) -> tuple[Floats, float]:
    """Sum the other columns out; return the rows of each value, and the variance of their noise."""
    axis = observation.clique.index(attribute)
    values = observation.values.sum(axis=tuple(i for i in range(observation.values.ndim) if i != axis))
    return values, observation.sigma**2 * observation.values.size / values.size


def settled(values: Floats, sigma: float, total: float) -> Floats:
    """Return noisy counts of neighbouring codes as counts of at least 0 that add up to ``total``."""
    return _settled(values, sigma, total)[0]


def _settled(values: Floats, sigma: float, total: float) -> tuple[Floats, Floats]:
    """Return the counts, and how uncertain each still is.

    What they lack or have too much is shared out by how uncertain each still is: a count that was drawn to its neighbours
    takes less of it than one that is as noisy as it was measured, and no count takes all.
    """
    spikes = np.full(len(values), SPIKES)
    spikes[[0, -1]] = END_SPIKES
    rising = _one_by_one(values, spikes, sigma)
    falling = _one_by_one(values[::-1], spikes[::-1], sigma)[::-1]
    beside = np.maximum(np.append(0.0, rising[:-1]), np.append(falling[1:], 0.0))
    found, variance = _posterior(values, FALL * beside, spikes, sigma)
    variance = np.where(found > 0, variance, EMPTY * variance)
    for _ in range(PASSES):
        missing = total - float(found.sum())
        weights = np.where((found > 0) | (missing > 0), variance, 0.0)
        if abs(missing) <= CLOSE * total or weights.sum() <= 0:
            break
        found = np.maximum(found + missing * weights / weights.sum(), 0.0)
    close = abs(total - float(found.sum())) <= CLOSE * total
    return (found * (total / float(found.sum())) if close else on_simplex(values, total)), variance


def distances(values: Floats, sigma: float, total: float) -> Floats | None:
    """Return the rows of each cell of a gap by its noisy counts (the last is of rows without a distance), of ``total`` rows.

    Where rows are spread over many cells, none of them stands out by itself, and all would be taken for noise: as many are
    taken together as it takes, and share their rows. None where that does not help: little is known of the distances.
    """
    rows, sure = total - min(max(float(values[-1]), 0.0), total), list[tuple[float, Floats]]()
    for number in MERGED:
        starts = np.arange(0, len(values) - 1, number)
        together = falling(np.add.reduceat(values[:-1], starts), sigma * sqrt(number))
        found = np.repeat(together / number, number)[: len(values) - 1]
        sure.append((float(found.sum()), found))
        if sure[-1][0] >= MOST_ROWS * rows:
            break
    most, found = max(sure, key=lambda one: min(one[0], MOST_ROWS * rows))
    return found if most > 0 and most >= ENOUGH * rows else None


def falling(values: Floats, sigma: float) -> Floats:
    """Return noisy counts of cells that widen as counts of at least 0, none of which stands out by itself: beyond the last
    that is more than noise, they fall off.
    """
    spikes = np.full(len(values) + 1, SELDOM)
    rising = _one_by_one(np.append(0.0, values), spikes, sigma)[1:]
    back = _one_by_one(np.append(0.0, values[::-1]), spikes, sigma)[:0:-1]
    beside = np.maximum(np.append(0.0, rising[:-1]), np.append(back[1:], 0.0))
    found, _ = _posterior(values, FALL * beside, spikes[1:], sigma)
    return np.where(np.cumsum(found[::-1])[::-1] < HARDLY, 0.0, found)


def _one_by_one(values: Floats, spikes: Floats, sigma: float) -> Floats:
    """Return each count as the one before it, already settled, lets expect."""
    found = np.maximum(values, 0.0)
    for i in range(1, len(values)):
        found[i : i + 1], _ = _posterior(values[i : i + 1], FALL * found[i - 1 : i], spikes[i : i + 1], sigma)
    return found


def _posterior(values: Floats, expected: Floats, spikes: Floats, sigma: float) -> tuple[Floats, Floats]:
    """Return the means and variances of counts, given noisy ones: off from what is expected by as much as that is, or
    anything above.
    """
    off, noise = values - expected, max(sigma, EXACT) ** 2
    likely = expected**2 + expected + noise
    high = likely + HIGH**2 * noise
    odds = (1 - spikes) / spikes * np.sqrt(high / likely) * np.exp(-0.5 * off**2 * (1 / likely - 1 / high))
    spike = np.where(off > 0, 1 / (1 + odds), 0.0)
    kept = spike + (1 - spike) * (1 - noise / likely)
    variance = noise * kept + spike * (1 - spike) * (off * noise / likely) ** 2
    return np.maximum(expected + off * kept, 0.0), variance


def on_simplex(values: Floats, total: float) -> Floats:
    """Return the nearest numbers of at least 0 that add up to ``total``."""
    falling = np.sort(values)[::-1]
    above = (np.cumsum(falling) - total) / np.arange(1, len(values) + 1)
    last = int(np.flatnonzero(falling > above)[-1])
    return np.asarray(np.maximum(values - above[last], 0.0), dtype=np.float64)
