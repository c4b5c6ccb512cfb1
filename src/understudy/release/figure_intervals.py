"""Bootstrap intervals of figures by group. Public: from what was released alone.

Each draw of ``understudy.uncertainty`` is a table that the private one may be; with it, the counts inside bins get other
noise. A figure's interval is as wide as the figure varies over the draws. That of a quantile is Woodruff's: how much the
share of rows below it varies says how far up and down to look for its ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from understudy.privacy import Measurement
from understudy.release.computed import Computing
from understudy.release.contents import Contents
from understudy.release.inside import Weights, inside_weights
from understudy.schema.column import fine_name
from understudy.schema.spread import Place, Spread
from understudy.uncertainty import Bootstrap
from understudy.uncertainty.intervals import half_widths, require_confidence
from understudy.uncertainty.refits import Refit, with_noise

Floats = NDArray[np.float64]

SEED = 18
WIDER = 1.25
"""Figures of values add up many cells, whose departures have more in common than those that are drawn: their intervals are
so much wider. Chosen on two tables, where about nine of ten held without it, and confirmed on others (docs/intervals.md)."""
LEAST_SHARE = 1e-9
"""An interval of a quantile ends at the first or the last rows there are."""


@dataclass(frozen=True, eq=False)
class Simulation:
    """Tables that the private one may be, each with the weights inside bins that other noise leads to."""

    contents: Contents
    bootstrap: Bootstrap
    _inside: dict[str, list[Weights]] = field(default_factory=dict, init=False, repr=False)

    def draws(self, computing: Computing) -> Iterator[tuple[Floats, Weights]]:
        """Yield counts, groups × codes, with weights for the column whose values count."""
        axes = computing.asked.axes
        clique = self.contents.model.domain.clique(axes)
        named = computing.column.name if computing.of_values and computing.column is not None else ""
        inside = self.inside(named) if named in self.contents.inside else repeat({})
        for draw, weights in zip(self.bootstrap.draws(clique), inside, strict=False):
            yield computing.table(draw.counts.transpose([clique.index(a) for a in axes])), weights

    def inside(self, name: str) -> list[Weights]:
        """Return the weights of one column, for each refitted model; they are worked out once."""
        if name not in self._inside:
            rng = np.random.default_rng([SEED, 0])
            measured = [m for m in self.contents.fine if m.clique == (fine_name(name),)]
            self._inside[name] = [
                inside_weights(self.contents.schema, refit.model, self._measured_again(name, measured, refit, rng))
                for refit in self.bootstrap.refits
            ]
        return self._inside[name]

    def _measured_again(
        self, name: str, measured: Sequence[Measurement], refit: Refit, rng: np.random.Generator
    ) -> list[Measurement]:
        """Measure inside the bins again, as if the base of a refit were the table."""
        column, rows = self.contents.schema[name], refit.base.marginal((name,))
        weights = self.contents.inside[name]
        whole = np.bincount(column.coarse[: len(weights)], weights)[column.coarse[: len(weights)]]
        shares = np.divide(weights, whole, out=np.zeros_like(weights), where=whole > 0)
        exact = np.append(shares, np.ones(len(column.coarse) - len(weights))) * rows[column.coarse]
        answers = [exact if m.query is None else m.query.forward(exact) for m in measured]
        return [
            replace(m, values=with_noise(answer, m, rng).astype(np.int64))
            for m, answer in zip(measured, answers, strict=True)
        ]


def interval(simulation: Simulation, computing: Computing, table: Floats, confidence: float) -> tuple[Floats, Floats]:
    """Return the ends of each group's interval; ``table`` has the model's counts, groups × codes."""
    require_confidence(confidence)
    if computing.of_values and computing.asked.function in ("median", "quantile"):
        return _woodruff(simulation, computing, table, confidence)
    centre = computing.numbers(table, simulation.contents.inside)
    reach = half_widths(centre, (computing.numbers(*draw) for draw in simulation.draws(computing)), confidence)
    if computing.of_values:
        return _possible(computing, centre - WIDER * reach, centre + WIDER * reach)
    lower, upper = centre - reach, centre + reach
    if computing.asked.function == "share":
        return np.clip(lower, 0.0, 1.0), np.clip(upper, 0.0, 1.0)
    return np.maximum(np.ceil(lower - 0.5), 0.0), np.floor(upper + 0.5)  # counts are whole


def _possible(computing: Computing, lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
    """Keep means within what the schema declares, and totals of numbers of one sign on their side of zero."""
    low, high = computing.spread({}).ends()
    if computing.asked.function == "total":
        low, high = (0.0 if low >= 0 else -np.inf), (0.0 if high <= 0 else np.inf)
    return np.clip(lower, low, high), np.clip(upper, low, high)


def _woodruff(simulation: Simulation, computing: Computing, table: Floats, confidence: float) -> tuple[Floats, Floats]:
    """Return quantiles at the ends of an interval for the share of rows below the quantile that was asked for."""
    at, spread = computing.asked.at, computing.spread(simulation.contents.inside)
    places = [spread.place(row, at) for row in table]
    centre = np.where(table.sum(axis=1) > 0, at, np.nan)
    ranks = (_ranks(computing.spread(inside), drawn, places) for drawn, inside in simulation.draws(computing))
    reach = WIDER * half_widths(centre, ranks, confidence)
    ends = [np.clip(centre + side * reach, LEAST_SHARE, 1 - LEAST_SHARE) for side in (-1, 1)]
    low, high = ([spread.quantile(row, share) for row, share in zip(table, end, strict=True)] for end in ends)
    return np.array(low), np.array(high)


def _ranks(spread: Spread, table: Floats, places: Sequence[Place | None]) -> Floats:
    """Return the share of each group's rows that lies below its place."""
    found = [np.nan if place is None else spread.rank(row, place) for row, place in zip(table, places, strict=True)]
    return np.array(found)
