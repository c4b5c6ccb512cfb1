"""Bootstrap intervals of figures by group. Public: from what was released alone.

Each draw of ``understudy.uncertainty`` is a table that the private one may be; with it, the counts inside bins get other
noise. A figure's interval is as wide as the figure varies over the draws. That of a quantile is Woodruff's: how much the
share of rows below it varies says how far up and down to look for its ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from understudy.privacy import Measurement
from understudy.release.computed import Computing
from understudy.release.contents import Contents
from understudy.release.inside import Weights, inside_weights
from understudy.release.spread import Place, Spread
from understudy.schema.column import fine_name
from understudy.uncertainty import Bootstrap
from understudy.uncertainty.intervals import half_widths, require_confidence
from understudy.uncertainty.refits import with_noise

Floats = NDArray[np.float64]

SEED = 18
LEAST_SHARE = 1e-9
"""An interval of a quantile ends at the first or the last rows there are."""


def interval(
    computing: Computing, contents: Contents, bootstrap: Bootstrap, table: Floats, confidence: float
) -> tuple[Floats, Floats]:
    """Return the ends of each group's interval; ``table`` has the model's counts, groups × codes."""
    require_confidence(confidence)
    draws = _Draws(computing, contents, bootstrap)
    if computing.of_values and computing.asked.function in ("median", "quantile"):
        return _woodruff(draws, table, confidence)
    centre = computing.numbers(table, contents.inside)
    reach = half_widths(centre, (computing.numbers(*draw) for draw in draws), confidence)
    lower, upper = centre - reach, centre + reach
    if computing.of_values:
        return lower, upper
    if computing.asked.function == "share":
        return np.clip(lower, 0.0, 1.0), np.clip(upper, 0.0, 1.0)
    return np.maximum(np.ceil(lower - 0.5), 0.0), np.floor(upper + 0.5)  # counts are whole


@dataclass(frozen=True, eq=False)
class _Draws:
    """Tables that the private one may be, groups × codes, each with the weights inside bins that other noise leads to."""

    computing: Computing
    contents: Contents
    bootstrap: Bootstrap

    def __iter__(self) -> Iterator[tuple[Floats, Weights]]:
        axes, rng = self.computing.asked.axes, np.random.default_rng([SEED, 0])
        clique = self.contents.model.domain.clique(axes)
        measured = self._measured()
        for draw in self.bootstrap.draws(clique):
            inside: Weights = {}
            if measured is not None:
                again = replace(measured, values=with_noise(self._exact(measured), measured, rng).astype(np.int64))
                inside = inside_weights(self.contents.schema, draw.model, [again])
            yield self.computing.table(draw.counts.transpose([clique.index(a) for a in axes])), inside

    def _measured(self) -> Measurement | None:
        """Return the noisy counts inside the bins of the column, where its values count and there are any."""
        column = self.computing.column
        if column is None or not self.computing.of_values or column.name not in self.contents.inside:
            return None
        return next(m for m in self.contents.fine if m.clique == (fine_name(column.name),))

    def _exact(self, measured: Measurement) -> Floats:
        """Return what the release takes the counts inside bins to be."""
        assert self.computing.column is not None
        weights = self.contents.inside[self.computing.column.name]
        return np.concatenate([weights, np.zeros(measured.values.size - weights.size)])


def _woodruff(draws: _Draws, table: Floats, confidence: float) -> tuple[Floats, Floats]:
    """Return quantiles at the ends of an interval for the share of rows below the quantile that was asked for."""
    computing, at = draws.computing, draws.computing.asked.at
    spread = computing.spread(draws.contents.inside)
    places = [spread.place(row, at) for row in table]
    centre = np.where(table.sum(axis=1) > 0, at, np.nan)
    ranks = (_ranks(computing.spread(inside), drawn, places) for drawn, inside in draws)
    reach = half_widths(centre, ranks, confidence)
    ends = [np.clip(centre + side * reach, LEAST_SHARE, 1 - LEAST_SHARE) for side in (-1, 1)]
    low, high = ([spread.quantile(row, share) for row, share in zip(table, end, strict=True)] for end in ends)
    return np.array(low), np.array(high)


def _ranks(spread: Spread, table: Floats, places: Sequence[Place | None]) -> Floats:
    """Return the share of each group's rows that lies below its place."""
    found = [np.nan if place is None else spread.rank(row, place) for row, place in zip(table, places, strict=True)]
    return np.array(found)
