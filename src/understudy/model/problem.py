"""The problem that a fit solves: a model's answers beside the noisy ones. Public numbers only.

A fit moves one parameter for each cell of the maximal observed cliques and one for each answer to another query; the model's
log-potentials are linear in the parameters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Domain, Zeros
from understudy.errors import InternalError
from understudy.model.correlated import Spread
from understudy.model.engine import Calibrated, Engine, Folding, Objective, Vector
from understudy.model.network import Flat, Network
from understudy.model.observation import Layout, Observation, Tables, by_cells, combine, estimate_total
from understudy.model.residuals import Residuals


@dataclass(frozen=True)
class Point:
    """Parameters, and the answers that they give."""

    parameters: Vector
    answers: Vector
    log_z: float


class Problem:
    """Minimise the sum of ``(answer - value)² / (2 sigma²)`` over distributions of mass ``total``.

    Vectors (one number a parameter) are the engine's; everything else is decided on plain numbers.
    """

    in_cells = True
    """Whether sums that tell every cell have a parameter for each cell."""

    def __init__(
        self,
        domain: Domain,
        observations: Sequence[Observation],
        zeros: Sequence[Zeros],
        total: float | None,
        engine: Engine,
        *,
        prior: Tables | None = None,
    ) -> None:
        self.observations = combine(observations)
        if not self.observations:
            raise InternalError("A model needs at least one observation to be fitted to.")
        self.engine = engine
        self.total = float(estimate_total(self.observations) if total is None else total)  # plain: engines may need it so
        self.residuals = Residuals(domain, [o for o in self.observations if o.query is None])
        others = [by_cells(o, self.total) if self.in_cells else o for o in self.observations if o.query is not None]
        network = Network(domain, [*(o.clique for o in self.observations), *(prior or {})], zeros)
        largest = [self.residuals.observed[clique] for clique in self.residuals.cliques]
        self.layout = Layout(network, [*largest, *others], prior)

    def evaluate(self, parameters: Vector) -> Point:
        """Run inference at ``parameters``, and keep what a solver needs of it."""
        answers, log_z = self._objective.evaluate(parameters)
        return Point(parameters, self.total * answers, log_z)

    def calibrate(self, parameters: Vector) -> Calibrated:
        """Run inference at ``parameters``, and keep all of it."""
        return self._objective.calibrate(parameters)

    def loss(self, point: Point) -> float:
        """Return the objective."""
        return self.squared(point.answers - self.noisy, self.parts(point.answers) - self._told[0])

    def slope(self, point: Point) -> Vector:
        """Return the direction in which the parameters raise the objective most: the residuals, where they act."""
        values, precision = self._told
        of_parts = precision * (self.parts(point.answers) - values)
        return self._shared_noise(point.answers - self.noisy, inverse=True) + self.of_parts(of_parts)

    def squared(self, errors: Vector, of_parts: Vector | None = None) -> float:
        """Return half the squares of errors in all answers, in units of the noise: about ½ for each answer of the truth."""
        of_parts = self.parts(errors) if of_parts is None else of_parts
        return self._squared(errors) / 2 + float(of_parts @ (self._told[1] * of_parts)) / 2

    def pull(self, parameters: Vector) -> Vector:
        """Return Qθ, where ½ θ·Qθ is half the squares of the potentials' residuals, each times its variance.

        A residual of the potentials is the sum of what all parameters add to it: θ itself has no say in how it is shared.
        """
        r, (alone, share, variance) = self.residuals, self._weights
        parts = self.parts(parameters)
        shared = self._shared.fold(share * parts)
        for axis, shares in self._axes:
            shared = shared - axis.unfold(shares * axis.fold(shared))
        parts = alone * parts + share * self._shared.unfold(variance * shared) if r.sets else alone * parts
        return self._shared_noise(parameters) + self.of_parts(parts)

    def _squared(self, errors: Vector) -> float:
        """Return the squares of errors, in units of the noise."""
        if self._spreads:
            return float(errors @ self._shared_noise(errors, inverse=True))
        scaled = errors / self.sigma
        return float(scaled @ scaled)

    def _shared_noise(self, vector: Vector, *, inverse: bool = False) -> Vector:
        """Multiply by the covariance of the noise on all answers, or by its inverse."""
        found = vector / self.sigma**2 if inverse else self.sigma**2 * vector
        if not self._spreads:
            return found
        plain, new = self.engine.numpy(vector), self.engine.numpy(found).copy()
        for o, spread, where in self._spreads:
            if inverse:
                new[where] = spread.weighed(plain[where]) / o.sigma**2
            else:
                new[where] = o.sigma**2 * spread.covered(plain[where])
        return self.engine.vector(new)

    @cached_property
    def _spreads(self) -> list[tuple[Observation, Spread, slice]]:
        """The observations whose cells share noise, and where they lie."""
        places = [slice(a, b) for a, b in pairwise(self.layout.bounds.tolist())]
        return [(o, o.spread, s) for o, s in zip(self.layout.observations, places, strict=True) if o.spread is not None]

    def parts(self, vector: Vector) -> Vector:
        """Sum the cells of the maximal cliques to all their smaller marginals."""
        first = self._first.fold(vector)
        return first + self._later.fold(first)

    def of_parts(self, parts: Vector) -> Vector:
        """The transpose of ``parts``: add to each cell the numbers of all the smaller marginals' cells that it lies in."""
        return self._first.unfold(parts + self._later.unfold(parts))

    @cached_property
    def values(self) -> Vector:
        """What the observations together say of the maximal cliques, with the right total; then the other answers."""
        r = self.residuals
        alone = self.engine.vector(r.part_alone)
        of_sets = self._shared.unfold(self.engine.vector(r.set_sizes * r.residual)) if r.sets else 0.0 * alone
        parts = alone * self.parts(self.noisy) + self.engine.vector(r.part_share) * of_sets
        even = np.concatenate([np.repeat(self.total / r.lengths, r.lengths), np.zeros(self._others)])
        return self.noisy + self.of_parts(parts) + self.engine.vector(even)

    @cached_property
    def inconsistency(self) -> float:
        """The loss that is left where the model says just what the observations together say."""
        return self.loss(Point(self.values, self.values, 0.0))

    @cached_property
    def noisy(self) -> Vector:
        """The noisy answers about the maximal cliques, then the others."""
        return self.engine.vector(self.layout.values)

    @cached_property
    def sigma(self) -> Vector:
        """The standard deviation of each of these answers' noise."""
        return self.engine.vector(self.layout.sigma)

    @cached_property
    def typical_sigma(self) -> float:
        """The geometric mean of the observations' standard deviations."""
        return float(np.exp(np.mean([np.log(o.sigma) for o in self.observations])))

    @property
    def noise_level(self) -> float:
        """The loss that the truth itself would have, about: half the number of answers."""
        return sum(o.values.size for o in self.observations) / 2

    @cached_property
    def shrinkage(self) -> Vector:
        """How strongly each answer is drawn to its neighbours: only where nothing else tells about its attribute."""
        told = Counter(attribute for o in self.observations for attribute in o.clique)
        pieces = [shrinkage(o) * (told[o.clique[0]] == 1 if o.clique else 0) for o in self.layout.observations]
        return self.engine.vector(np.concatenate(pieces))

    @property
    def _others(self) -> int:
        """How many answers are no cells of a marginal."""
        return int(self.layout.values.size - self.residuals.lengths.sum())

    @cached_property
    def _objective(self) -> Objective:
        return self.engine.objective(self.layout)

    @cached_property
    def _first(self) -> Folding:
        return self.engine.folding(self.residuals.from_cliques, int(self.layout.values.size), self.residuals.part_cells)

    @cached_property
    def _later(self) -> Folding:
        return self.engine.folding(self.residuals.from_parts, self.residuals.part_cells, self.residuals.part_cells)

    @cached_property
    def _shared(self) -> Folding:
        return self.engine.folding(self.residuals.shared, self.residuals.part_cells, self.residuals.set_cells)

    @cached_property
    def _axes(self) -> list[tuple[Folding, Vector]]:
        cells, vector = self.residuals.set_cells, self.engine.vector
        return [(self.engine.folding(sums, cells, s.size), vector(s)) for sums, s in self.residuals.axes]

    @cached_property
    def _weights(self) -> tuple[Vector, Vector, Vector]:
        r, vector = self.residuals, self.engine.vector
        return vector(r.part_alone * r.part_variance), vector(r.part_share), vector(r.set_sizes**2 * r.set_variance)

    @cached_property
    def overlap(self) -> Vector:
        """For each cell of the parts, what ``understudy.model.preconditioner`` damps there."""
        return self.engine.vector(self.residuals.overlap())

    @cached_property
    def _told(self) -> tuple[Vector, Vector]:
        values, precision = self.residuals.told()
        return self.engine.vector(values), self.engine.vector(precision)


OUTSTANDING = 3.0
"""A cell this many standard deviations from the others is no noise."""

FEWEST = 8
"""Among fewer cells than this there is too little to learn how far the others lie apart."""

LARGEST_RATIO = 10.0
"""Noise is counted as at most so many times the signal's variance: more makes no difference but to the solver."""


def shrinkage(observation: Observation) -> Flat:
    """Return the pull of each cell of a one-way marginal towards the others like it: 0 where it stands out of the noise.

    Cells that do not stand out are known best by their mean; how far each departs from it is the less credible, the more
    the noise exceeds what they differ by. An error of ``pull`` records then moves a log-potential by 1: the mean count
    times noise variance over signal variance, the weight at which the entropy shrinks small departures by the right part.
    """
    values, variance = np.ravel(observation.values).astype(np.float64), observation.sigma**2
    pull = np.zeros(values.size)
    if observation.query is not None or observation.spread is not None or len(observation.clique) != 1:
        return pull
    alike = _alike(values, OUTSTANDING * observation.sigma)
    if np.count_nonzero(alike) >= FEWEST:
        signal = max(float(np.var(values[alike], ddof=1)) - variance, variance / LARGEST_RATIO)
        pull[alike] = max(float(values[alike].mean()), 0.0) * variance / signal
    return pull


def _alike(values: Flat, reach: float) -> NDArray[np.bool_]:
    """Return which values lie within ``reach`` of the mean of those that do."""
    alike = np.ones(values.size, dtype=np.bool_)
    for _ in range(20):
        closer = np.abs(values - values[alike].mean()) <= reach
        if not closer.any() or np.array_equal(closer, alike):
            break
        alike = closer
    return alike
