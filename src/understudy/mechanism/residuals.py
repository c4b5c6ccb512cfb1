"""Residuals: those of the workload's closure in several passes, each by what the last one has shown. Sees no counts.

HDMM+PGM measures every residual once, with noise that is best where nothing is known of the table (``hdmm.py``). But much of
what it measures says little: a triple that its pairs explain, or cells that are empty. Here the columns come first. Each
pass then splits a part of the budget by need (``need.py``): what the workload errs by, as far as it can be told from the
answers so far. Nothing is chosen by the table but through noisy answers, so nothing is spent on choices.

The model is fitted to shrunken residuals, the smaller ones first: each is drawn towards what a model of those before
says of it, by as much as its noise deserves (``understudy.model.shrinkage``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import groupby
from math import prod, sqrt

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique
from understudy.mechanism.aim import to_check
from understudy.mechanism.base import Mechanism
from understudy.mechanism.candidates import require_tree
from understudy.mechanism.config import CheckedConfig
from understudy.mechanism.hdmm import Residuals, Table, is_residual, measure_residual, subsets, variances
from understudy.mechanism.need import Needs
from understudy.mechanism.outcome import Outcome
from understudy.mechanism.running import Run
from understudy.mechanism.schedule import allocate
from understudy.model import Model, Observation, kept_of
from understudy.workload import Workload

COLUMNS = Fraction(1, 10)
"""The share of the budget that the first pass has, for columns."""
PASSES = (Fraction(1, 10), Fraction(1, 5), Fraction(2, 5), Fraction(1))
"""What each later pass spends of what is left."""

CLEAR = 5.0
"""What departs by so many times its noise is kept whole: of a hundred times, even a hundredth would be the noise again."""


@dataclass(frozen=True)
class ByNeed(Mechanism):
    """Residuals of the workload's closure, measured in passes by need, and a model of them shrunken."""

    config: CheckedConfig = field(default_factory=CheckedConfig)

    @property
    def name(self) -> str:
        """Its name in the registry."""
        return "residuals"

    @property
    def every_column(self) -> bool:
        """Whether its last fit is held to each single column: always."""
        return True

    def expects(self, workload: Workload) -> Sequence[Clique]:
        """Return the marginals that a run asks for: residuals of these, and what the model is checked on."""
        return tuple(dict.fromkeys([*variances(workload), *workload.closure]))

    def execute(self, run: Run) -> Outcome:
        """Measure columns, then by need what the workload lacks, then fit."""
        require_tree(run.domain, [*run.workload.cliques, *run.model_cliques], self.config.max_size)
        run.reserve(self.config.kept)
        with run.running():
            passes = Passes(run, self.config)
            passes.measure_columns()
            for share in PASSES:
                passes.measure_by_need(share)
            model = passes.learn()
            checked = to_check(run, self.config, model)
            return run.outcome(checked=checked, last=passes.shrunk, every_column=self.every_column)


class Passes:
    """What the answers so far say: the residuals, shrunken, and how far they depart from what was expected of them."""

    def __init__(self, run: Run, config: CheckedConfig) -> None:
        self.run, self.config = run, config
        self.needs = Needs.of(run.workload, run.door.unit)
        self.known = Residuals(run.domain, {}, {})
        self._departures: dict[Clique, float] = {}
        self._done = 0

    def measure_columns(self) -> None:
        """Measure the rows and the columns, split as HDMM+PGM would. Costs its share."""
        worth, prices = variances(self.run.workload), zip(self.needs.residuals, self.needs.prices.tolist(), strict=True)
        first = {b: sqrt(worth[b] * price) for b, price in prices if len(b) < 2}
        self._measure(list(first), list(first.values()), COLUMNS * self.run.remaining)

    def measure_by_need(self, share: Fraction) -> None:
        """Measure what the workload lacks, for a share of what is left; all of it in the last pass."""
        rho, model = share * self.run.remaining, self.learn()

        def split() -> NDArray[np.float64]:
            return self.needs.split(model, self.known, self._departures, float(rho))

        parts = self.run.note_array(f"shares of pass {self._done}", len(self.needs.residuals), split)
        some = [(b, part) for b, part in zip(self.needs.residuals, parts.tolist(), strict=True) if part > 0]
        self._measure([b for b, _ in some], [part for _, part in some], rho)

    def _measure(self, residuals: Sequence[Clique], parts: Sequence[float], rho: Fraction) -> None:
        whole = rho == self.run.remaining
        for k, (residual, part) in enumerate(zip(residuals, allocate(rho, parts), strict=True), start=1):
            last = whole and k == len(residuals)  # what rounding has left is spent as well
            measure_residual(self.run, self.config, residual, self.run.remaining if last else part)
        self._done += 1

    def learn(self) -> Model:
        """Shrink the residuals, the smaller ones first, each towards a model of those before; return the model of all."""
        answers = Residuals.of(self.run.domain, self.run.observations)
        measured = sorted({part for b in answers.values for part in subsets(b)}, key=len)
        few = [b for b in measured if len(b) < 2]
        model = self._fitted(answers, {b: answers.values[b] for b in few})
        for _, layer in groupby(measured[len(few) :], key=len):
            listed = list(layer)
            heard = zip(listed, model.marginals(listed), strict=True)
            model = self._fitted(answers, dict(self.known.values) | {b: self._drawn(answers, b, m) for b, m in heard})
        return model

    def _fitted(self, answers: Residuals, values: Mapping[Clique, Table]) -> Model:
        """Return a model of residuals with these values."""
        precisions = {b: answers.precisions.get(b, 0.0) for b in values}
        self.known = Residuals(answers.domain, values, precisions)
        return self.run.estimate(self._done, lambda _: self.known.marginals())

    def _drawn(self, answers: Residuals, residual: Clique, marginal: Table) -> Table:
        """Return a residual drawn towards what ``marginal`` lets expect; where it was not asked for, that itself."""
        expected = centred(marginal)
        if residual not in answers.values:
            return expected
        off, noise = answers.values[residual] - expected, answers.precisions[residual] ** -0.5
        freedom = prod(n - 1 for n in off.shape)
        self._departures[residual] = max(float((off**2).sum()) / freedom - noise**2, 0.0)
        kept = np.where(np.abs(off) > CLEAR * noise, 1.0, kept_of(off, marginal, noise))
        return centred(expected + kept * off)

    def shrunk(self, answers: Sequence[Observation]) -> Sequence[Observation]:
        """Return what the last fit is made to: the marginals of the shrunken residuals, and all that was asked besides."""
        return [*self.known.marginals(), *(o for o in answers if not is_residual(o))]


def centred(table: Table) -> Table:
    """Return the residual that a table has: along each axis the mean taken off."""
    found = np.asarray(table, dtype=np.float64)
    for axis in range(found.ndim):
        found = found - found.mean(axis=axis, keepdims=True)
    return found
