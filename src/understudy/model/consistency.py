"""AP-PGM: fit marginals to noisy ones that need only agree with each other where they overlap. Public numbers only.

McKenna, Pradhan, Sheldon and Miklau, 2021: where the junction tree of the measured marginals is too large to ask for one
table behind them all, the *local polytope* takes the place of the marginal polytope. Its points are non-negative tables, one
for each region, that agree on every set of attributes which regions share. The same loss is minimised over it.

Here a region is a maximal measured marginal. The dual is that of ``understudy.model.solvers.Dual`` with Σ_r log Z_r, one
partition function for each region by itself, in the place of log Z: with it the entropy is that of the regions (counting
numbers 1, so that it is concave; none for what they share). The paper's messages between regions (convex generalised belief
propagation) have no place of their own: a region has a parameter for each cell, and what a message would move from one
region to another is a change of both regions' parameters that leaves the pull as it is. At the optimum the tables are what
all observations say together less the pull, both of which agree on what regions share; so they agree as well.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import cached_property
from typing import cast

import numpy as np

from understudy.domain import Clique, Domain, Zeros
from understudy.errors import InternalError
from understudy.model.engine import NUMPY, Calibrated, Objective, Vector
from understudy.model.estimation import Fit
from understudy.model.model import Model
from understudy.model.network import Flat
from understudy.model.observation import Layout, Observation, combine, estimate_total
from understudy.model.problem import Problem
from understudy.model.regions import RegionModel
from understudy.model.solvers import Dual
from understudy.model.threads import one_thread

IN_ROUNDS = Dual(smoothing=0.5)
"""More smoothing takes fewer steps: where noise is large beside the counts, in proportion."""
CLOSER = Dual(tolerance=1e-4)
"""For a model that is kept. Closer than for a graphical model: regions agree only as far as a fit has converged."""
MAX_ITERATIONS = 300
UNTOLD = 10.0
"""What nothing tells of is observed as even, with so many times the total as noise: next to nothing."""


def fit_regions(
    domain: Domain,
    observations: Sequence[Observation],
    *,
    zeros: Sequence[Zeros] = (),
    start: Model | None = None,
    solver: Dual = IN_ROUNDS,
) -> Fit[RegionModel]:
    """Fit a model of regions to ``observations``: minimise the sum of ``(answer - value)² / (2 sigma²)``.

    Each fit starts afresh: it takes ten steps to some hundreds, each as long as it takes to look at all cells some times.
    """
    began = time.perf_counter()
    with one_thread():
        problem = RegionProblem(domain, observations, zeros)
        state = solver.init(problem, problem.evaluate(np.zeros(problem.layout.values.size)))
        iterations, reason = 0, solver.done(problem, state)
        while reason is None:
            state = solver.step(problem, state)
            iterations += 1
            reason = solver.done(problem, state) or ("iteration limit" if iterations >= MAX_ITERATIONS else None)
        loss = problem.loss(state.point)
    if not np.isfinite(loss):
        raise InternalError(f"The fit ended with a loss of {loss} after {iterations} iterations.")
    model = RegionModel(domain, problem.tables(state.point.parameters), problem.total, tuple(zeros))
    return Fit(model, iterations, loss, loss / problem.noise_level, reason, time.perf_counter() - began)


class RegionProblem(Problem):
    """The same problem over the local polytope.

    Every attribute is in a region, and so is every clique with structural zeros or with a query: where no marginal was
    observed there, an even one is, with so much noise that it says nothing.
    """

    in_cells = False

    def __init__(self, domain: Domain, observations: Sequence[Observation], zeros: Sequence[Zeros]) -> None:
        self._real = combine(observations)
        if not self._real:
            raise InternalError("A model needs at least one observation to be fitted to.")
        total = estimate_total(self._real)
        known = {o.clique for o in self._real if o.query is None}
        wanted = [
            *(o.clique for o in self._real if o.query is not None),
            *(z.clique for z in zeros),
            *((a,) for a in domain),
        ]
        sigma = UNTOLD * max(total, *(o.sigma for o in self._real))
        even = [_even(domain, clique, total, sigma) for clique in dict.fromkeys(wanted) if not _inside(clique, known)]
        super().__init__(domain, [*self._real, *even], zeros, total, NUMPY)

    @property
    def noise_level(self) -> float:
        """The loss that the truth itself would have, about: half the number of answers."""
        return sum(o.values.size for o in self._real) / 2

    @cached_property
    def typical_sigma(self) -> float:
        """The geometric mean of the observations' standard deviations."""
        return float(np.exp(np.mean([np.log(o.sigma) for o in self._real])))

    @cached_property
    def overlap(self) -> Vector:
        """Nothing is damped: that regions share attributes couples them by the pull alone."""
        return self.engine.vector(np.zeros(self.residuals.part_cells))

    @cached_property
    def _objective(self) -> Objective:
        return _Apart(self.layout)

    def tables(self, parameters: Vector) -> dict[Clique, Flat]:
        """Return the regions' tables at ``parameters``."""
        network = self.layout.network
        cells = self.total * shares_of(self.layout, cast(Flat, parameters))[0]
        pieces = np.split(cells, network.starts[1:])
        return {c: piece.reshape(shape) for c, piece, shape in zip(network.cliques, pieces, network.shapes, strict=True)}


class _Apart:
    """Each region by itself: its shares are a softmax of its potentials."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    def evaluate(self, parameters: Vector) -> tuple[Flat, float]:
        """Return the answers to all observations, of regions of mass 1, and the sum of the regions' log Z."""
        shares, log_z = shares_of(self._layout, cast(Flat, parameters))
        return self._layout.answers(shares), log_z

    def calibrate(self, parameters: Vector) -> Calibrated:
        """Refuse: there is no one distribution to calibrate."""
        raise InternalError("A model of regions is not calibrated.")


def shares_of(layout: Layout, parameters: Flat) -> tuple[Flat, float]:
    """Return the cells of all regions as shares, and Σ_r log Z_r."""
    network, potentials = layout.network, layout.potentials(parameters)
    top = np.maximum.reduceat(potentials, network.starts)
    raised = np.exp(potentials - np.repeat(top, network.lengths))
    sums = np.add.reduceat(raised, network.starts)
    return raised / np.repeat(sums, network.lengths), float((np.log(sums) + top).sum())


def _even(domain: Domain, clique: Clique, total: float, sigma: float) -> Observation:
    shape = domain.shape(clique)
    return Observation(clique, np.full(shape, total / domain.cells(clique)), sigma)


def _inside(clique: Clique, known: set[Clique]) -> bool:
    return any(set(clique) <= set(other) for other in known)
