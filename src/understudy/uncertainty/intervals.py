"""Bootstrap intervals: for single counts, and for the summed error of a marginal. Public: from what was released alone.

Their coverage is measured (docs/intervals.md), not proved: bounds that are proved are in ``bounds`` and ``cells``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique
from understudy.errors import UserError
from understudy.uncertainty.bootstrap import Bootstrap

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class BootstrapIntervals:
    """``lower`` to ``upper`` for each count of the private table on ``clique``, each by itself. Expected, not proved."""

    clique: Clique
    estimate: Floats = field(repr=False)
    """The model's counts, which the intervals lie about."""
    lower: NDArray[np.int64] = field(repr=False)
    upper: NDArray[np.int64] = field(repr=False)
    summed: float
    """The summed error of all counts is expected to be at most this."""
    confidence: float


def bootstrap_intervals(bootstrap: Bootstrap, attributes: Iterable[str], *, confidence: float = 0.95) -> BootstrapIntervals:
    """Return intervals for the counts of the marginal on ``attributes``, in the domain's order."""
    require_confidence(confidence)
    clique = bootstrap.model.domain.clique(attributes)
    centre = bootstrap.model.marginals([clique])[0]
    summed: list[float] = []

    def counts() -> Iterator[Floats]:
        for draw in bootstrap.draws(clique):
            summed.append(float(np.abs(draw.counts - centre).sum()))
            yield draw.counts

    reach = half_widths(centre, counts(), confidence)
    lower = np.maximum(np.ceil(centre - reach - 0.5), 0).astype(np.int64)  # a half more: counts are whole, the model's not
    upper = np.maximum(np.floor(centre + reach + 0.5), lower).astype(np.int64)
    return BootstrapIntervals(clique, centre, lower, upper, at_most(np.array(summed), confidence), confidence)


def half_widths(centre: Floats, draws: Iterable[Floats], confidence: float) -> Floats:
    """Return how far ``centre`` may be off: the root mean square of what draws are off, times Student's quantile.

    Draws may be NaN where a figure has no value; where all are, so is the result.
    """
    squares, number = np.zeros(centre.shape), np.zeros(centre.shape)
    for draw in draws:
        off = draw - centre
        known = np.isfinite(off)
        squares += np.where(known, off, 0.0) ** 2
        number += known
    mean = np.divide(squares, number, out=np.full(centre.shape, np.nan), where=number > 0)
    quantiles = np.array([np.nan, *(student(confidence, n) for n in range(1, int(number.max(initial=0)) + 1))])
    return np.asarray(quantiles[number.astype(int)] * np.sqrt(mean))


def at_most(draws: Floats, confidence: float) -> float:
    """Return what one more such number is at most, were they normal. Their own quantile holds less often: that of 15 numbers
    for 95 % in 89 % of the cases.
    """
    reach = student(2 * confidence - 1, len(draws) - 1) * float(draws.std(ddof=1)) * (1 + 1 / len(draws)) ** 0.5
    return max(float(draws.mean() + reach), 0.0)


def student(confidence: float, freedom: int) -> float:
    """Return the two-sided quantile of Student's distribution (Cornish and Fisher's expansion)."""
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    first, second = (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96
    return z + first / freedom + second / freedom**2


def require_confidence(confidence: float) -> None:
    """Refuse what is no probability."""
    if not 0 < confidence < 1:
        raise UserError(f"confidence must lie strictly between 0 and 1 (say 0.95), not {confidence}.")
