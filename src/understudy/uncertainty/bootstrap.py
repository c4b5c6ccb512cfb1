"""Tables as the private one may be, by what was released: draws that intervals of any figure are made of. Public.

The noise is drawn again (``refits``), and so is what the model leaves out (``departures``), as strong as the noisy distances
of the model from the table say (``strength``). docs/intervals.md says what that covers, and how often it was right.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique
from understudy.errors import UserError
from understudy.mechanism.hdmm import subsets
from understudy.model import GraphicalModel, Model, Observation
from understudy.privacy import Centred
from understudy.uncertainty.departures import departed, measured_parts
from understudy.uncertainty.evidence import Evidence
from understudy.uncertainty.refits import Held, Refit, refits
from understudy.uncertainty.strength import GRID, Strengths, log_likelihood
from understudy.uncertainty.tilts import Tilt, tilted, tilts

Floats = NDArray[np.float64]

MOST_REFITS, FEWEST_REFITS = 32, 8
ROOM = 1 << 27
"""Bytes that the junction trees of all refitted models may take together; of models above 4 MB there are fewer refits."""
QUICK = 1 << 24
"""Bytes of a model whose refits are a matter of seconds."""
SEED = 17
"""Draws are the same at every call: an interval does not change when it is asked for again."""
LEARNT_FROM = 100
"""Marginals, at most, that the strength of missing interactions is learnt from."""
LEARNT_CELLS = 1 << 13
"""Larger marginals are left out of that."""
OWN_CELLS = 1 << 16
"""The distance of a larger marginal than this is not looked at even for itself."""
KEPT_CELLS = 1 << 16
"""Draws of larger marginals are made again each time."""
TRIES = 3
"""Draws that an expected distance is the mean of."""


@dataclass(frozen=True, eq=False)
class Draw:
    """Counts that the private table may have, and the refitted model that they rest on."""

    counts: Floats
    model: Model


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """Draws from what a release lets be expected of the private table."""

    evidence: Evidence
    held: Held = field(default_factory=Held)
    """Columns that the last fit was held to."""
    sums: tuple[Observation, ...] = ()
    """Sums of such columns that were told beside the measurements."""
    _last: dict[Clique, list[Draw]] = field(default_factory=dict, init=False, repr=False)
    """The draws of the clique that was asked for last: a mean and a quantile by the same group need the same."""

    def draws(self, clique: Clique) -> Iterator[Draw]:
        """Yield counts of ``clique``, in the domain's order, as the private table may have them; the same at every call."""
        if unknown := self.unmeasured(clique):
            raise UserError(
                f'Column "{unknown[0]}" was never measured, since the workload leaves it out: '
                "nothing is known of how far off it is, and there is no bootstrap interval."
            )
        if (telling := self._telling(clique)) != clique:
            return self._widened(clique, telling)
        if clique in self._last:
            return iter(self._last[clique])
        if self.model.domain.cells(clique) > KEPT_CELLS:
            return self._drawn(clique)
        self._last.clear()
        self._last[clique] = list(self._drawn(clique))
        return iter(self._last[clique])

    def unmeasured(self, attributes: Iterable[str]) -> list[str]:
        """Return those that no measurement has, since the workload leaves them out: no draw knows how far off they are.

        Of an attribute with one code there is nothing to measure.
        """
        told = {a for measurement in self.evidence.measurements for a in measurement.clique}
        return [a for a in attributes if a not in told and self.model.domain[a] > 1]

    def _telling(self, clique: Clique) -> Clique:
        """Return the attributes that have more than one code; where none has, one that was measured, whose counts add up."""
        found = tuple(a for a in clique if self.model.domain[a] > 1)
        return found or next((m for m in self._measured if len(m) == 1), clique)

    def _widened(self, clique: Clique, telling: Clique) -> Iterator[Draw]:
        shape = self.model.domain.shape(clique)
        for draw in self.draws(telling):
            counts = draw.counts if draw.counts.size == np.prod(shape) else draw.counts.sum()
            yield Draw(np.reshape(counts, shape), draw.model)

    def _drawn(self, clique: Clique) -> Iterator[Draw]:
        parts = measured_parts(clique, self._measured)
        rng = np.random.default_rng([SEED, 1])
        chances = None if clique in parts else self.strengths(clique)
        centre = self.model.marginals([clique])[0]
        for refit in self.refits:
            strength = 0.0 if chances is None else float(rng.choice(GRID, p=chances))
            table = tilted(refit.around(centre, clique), clique, self._tilts, rng)
            yield Draw(departed(table, clique, parts, strength, rng), refit.model)

    @property
    def model(self) -> Model:
        """The model of the release."""
        if self.evidence.model is None:
            raise UserError("This mechanism makes no model; there is nothing to draw from.")
        return self.evidence.model

    @property
    def quick(self) -> bool:
        """Whether draws are a matter of seconds; of a large model they may take minutes."""
        return self.possible and self.model.size <= QUICK

    @property
    def possible(self) -> bool:
        """Whether there can be draws: a graphical model is fitted again as it was, another is not."""
        return isinstance(self.evidence.model, GraphicalModel)

    @cached_property
    def refits(self) -> list[Refit]:
        """The models that other noise would have led to."""
        if not isinstance(self.model, GraphicalModel):
            raise UserError(
                "This release has no graphical model, and bootstrap intervals are for those alone: leave them out."
            )
        number = int(np.clip(ROOM // max(self.model.size, 1), FEWEST_REFITS, MOST_REFITS))
        rng = np.random.default_rng([SEED, 0])
        return refits(self.model, self.evidence.measurements, self.held, number, rng, sums=self.sums)

    def strengths(self, clique: Clique) -> Floats:
        """Return how likely each strength of ``GRID`` is for a marginal that nothing measured."""
        return self._learnt.of(self._likelihood(clique) if self._tells(clique, OWN_CELLS) else None)

    @cached_property
    def _learnt(self) -> Strengths:
        found = [r for r in self._distance if self._tells(r, LEARNT_CELLS) and r not in measured_parts(r, self._measured)]
        some = found[:: max(1, -(-len(found) // LEARNT_FROM))]
        return Strengths.learnt(np.array([self._likelihood(r) for r in some]).reshape(len(some), len(GRID)))

    def _tells(self, clique: Clique, most: int) -> bool:
        return clique in self._distance and self.model.domain.cells(clique) <= most

    def _likelihood(self, clique: Clique) -> Floats:
        """Return the log-likelihood of each strength, by the noisy distance of one marginal."""
        assert self.evidence.distances is not None
        rng = np.random.default_rng([SEED, 2])
        centre, parts = self.model.marginals([clique])[0], measured_parts(clique, self._measured)
        tables = [tilted(refit.around(centre, clique), clique, self._tilts, rng) for refit in self.refits[:TRIES]]
        expected = [
            np.mean([np.abs(departed(t, clique, parts, float(s), rng) - np.rint(centre)).sum() for t in tables])
            for s in GRID
        ]
        return log_likelihood(float(self._distance[clique]), np.array(expected), self.evidence.distances.sigma)

    @cached_property
    def _tilts(self) -> dict[str, Tilt]:
        return tilts(self.model, self.evidence.measurements)

    @cached_property
    def _distance(self) -> dict[Clique, int]:
        found = self.evidence.distances
        return {} if found is None else dict(zip(found.cliques, found.values.tolist(), strict=True))

    @cached_property
    def _measured(self) -> list[Clique]:
        """The marginals that were measured: as they are, or by the residuals of all their parts."""
        found = self.evidence.measurements
        residuals = {m.clique for m in found if isinstance(m.query, Centred)}
        whole = (b for b in residuals if residuals.issuperset(part for part in subsets(b) if part))
        return list(dict.fromkeys([*(m.clique for m in found if m.query is None), *sorted(whole)]))
