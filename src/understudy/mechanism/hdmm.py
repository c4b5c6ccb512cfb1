"""HDMM+PGM: the whole workload by the strategy that is best for its marginals, then a graphical model of the answers.

Sees no counts: what needs the table goes through the door, and says what it costs.

For marginals the best strategy is known in closed form (the residual basis: Xiao, He, Zhang and Kifer, 2023). A marginal
is the sum of the residuals of all subsets of its attributes, each of which says what no smaller marginal does. So the
residuals of the closure are measured instead of the marginals, none of them twice: what a one-way marginal says is not paid
for again in every pair that holds it. Nothing is chosen by the table, so nothing is spent on choices.

As in the paper's survey, a model is made where its junction tree is small enough; other workloads are refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from math import prod, sqrt

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique, Domain
from understudy.mechanism.aim import to_check
from understudy.mechanism.base import Mechanism
from understudy.mechanism.candidates import require_tree
from understudy.mechanism.config import CheckedConfig
from understudy.mechanism.outcome import Outcome
from understudy.mechanism.running import Run
from understudy.mechanism.schedule import allocate
from understudy.model import Observation
from understudy.privacy import Centred, Unit, linear_scale_for
from understudy.workload import Workload

Table = NDArray[np.float64]

LACKING = 0.01
"""What a precision lacks by less than this share is as good as nothing: a fit to so noisy an answer hardly ends."""


@dataclass(frozen=True)
class Hdmm(Mechanism):
    """Every residual of the workload's closure, with the noise split for the least squared error, and a model."""

    config: CheckedConfig = field(default_factory=CheckedConfig)

    @property
    def name(self) -> str:
        """Its name in the registry."""
        return "hdmm+pgm"

    def expects(self, workload: Workload) -> Sequence[Clique]:
        """Return the marginals that a run asks for: residuals of these, and what the model is checked on."""
        return tuple(dict.fromkeys([*variances(workload), *workload.closure]))

    def execute(self, run: Run) -> Outcome:
        """Measure every residual at its share, then fit."""
        domain = run.domain
        require_tree(domain, [*run.workload.cliques, *run.model_cliques], self.config.max_size)
        run.reserve(self.config.kept)
        with run.running():
            measure_residuals(run, self.config)  # costs all but what is kept for the check
            model = run.estimate(0, lambda answers: as_marginals(domain, answers))
            checked = to_check(run, self.config, model)
            return run.outcome(checked=checked, last=lambda answers: as_marginals(domain, answers))


def variances(workload: Workload) -> dict[Clique, float]:
    """Return v_B for each residual B: with noise of variance σ_B² on B, the weighted squared error is Σ v_B σ_B².

    v_B = Σ_{A ⊇ B} c_A n_A p_B Π_{j ∈ A∖B} n_j^-2, where n_A are the cells of A and p_B = Π_{i ∈ B} (n_i - 1) / n_i. An
    attribute with one value has no residual.
    """
    domain = workload.domain
    found: dict[Clique, float] = {(): 0.0}
    for clique, weight in zip(workload.cliques, workload.query_weights, strict=True):
        held = tuple(a for a in clique if domain[a] > 1)
        for residual in subsets(held):
            own = prod((domain[a] - 1) / domain[a] for a in residual)
            rest = prod(1 / domain[a] for a in held if a not in residual)
            found[residual] = found.get(residual, 0.0) + weight * domain.cells(held) * own * rest**2
    return found


def measure_residuals(run: Run, config: CheckedConfig) -> None:
    """Measure every residual, with noise that minimises Σ v_B σ_B² for Σ s_B² / (2 σ_B²) = ρ.

    s_B is how far a neighbour moves the residual. Lagrange: σ_B² ∝ s_B / √v_B, which costs √v_B s_B in proportion.
    """
    wanted = {b: v for b, v in variances(run.workload).items() if v > 0}
    parts = allocate(run.rho, [sqrt(v) * moved(run.domain, b, run.door.unit) for b, v in wanted.items()])
    for left, (clique, part) in zip(range(len(wanted), 0, -1), zip(wanted, parts, strict=True), strict=True):
        measure_residual(run, config, clique, run.remaining if left == 1 else part)


def measure_residual(run: Run, config: CheckedConfig, clique: Clique, rho: Fraction) -> None:
    """Measure one for ``rho``; that of no attribute is the number of rows."""
    if clique:
        query = Centred(run.domain.shape(clique))
        scale = linear_scale_for(rho, query, config.noise, run.door.unit)
        run.measure(clique, scale=scale, noise=config.noise, round_index=0, query=query)
    else:
        run.measure(clique, scale=config.scale_for(rho, run.door.unit), noise=config.noise, round_index=0)


def moved(domain: Domain, clique: Clique, unit: Unit) -> float:
    """Return how far a neighbour moves a residual, in L2."""
    if not clique:
        return sqrt(unit.l2_squared)
    query = Centred(domain.shape(clique))
    return sqrt(query.l2_squared(unit)) / query.whole


@dataclass(frozen=True)
class Residuals:
    """What is known of each residual: its values in counts, and the precision of each (one over the variance)."""

    domain: Domain
    values: Mapping[Clique, Table]
    precisions: Mapping[Clique, float]

    @classmethod
    def of(cls, domain: Domain, answers: Sequence[Observation]) -> Residuals:
        """Read them off the answers that are residuals; repeated ones are combined by inverse variance."""
        values, precisions = dict[Clique, Table](), dict[Clique, float]()
        for o in filter(is_residual, answers):
            found, new, before = _residual(o), _precision(o), precisions.get(o.clique, 0.0)
            if before:
                found = (before * values[o.clique] + new * found) / (before + new)
            values[o.clique], precisions[o.clique] = found, before + new
        return cls(domain, values, precisions)

    def marginals(self) -> list[Observation]:
        """Return noisy marginals that say what the residuals say, which a fit can use as they are.

        A marginal of deviation σ tells the residual of each subset C with the precision n_C / (n_A σ²), n the cells. From
        the largest down, each marginal gets the precision that its own residual lacks. Where the larger ones leave none to
        add, a residual counts for somewhat more than it should: all marginals agree on it, so the fit is pulled to the same
        place.
        """
        cells, given = self.domain.cells, dict[Clique, float]()
        for clique in sorted(self.precisions, key=len, reverse=True):
            above = sum(more for other, more in given.items() if set(clique) < set(other))
            owed = self.precisions[clique] / cells(clique)
            if owed > above * (1 + LACKING):
                given[clique] = owed - above
        return [
            Observation(clique, rebuilt(self.domain, clique, self.values), (more * cells(clique)) ** -0.5)
            for clique, more in sorted(given.items())
        ]


def as_marginals(domain: Domain, answers: Sequence[Observation]) -> list[Observation]:
    """Return marginals that say what the residuals say, and all other answers as they are."""
    return [*Residuals.of(domain, answers).marginals(), *(o for o in answers if not is_residual(o))]


def is_residual(answer: Observation) -> bool:
    """Whether an answer is a residual: that of no attribute is the number of rows."""
    return isinstance(answer.query, Centred) or not answer.clique


def rebuilt(domain: Domain, clique: Clique, residuals: Mapping[Clique, Table]) -> Table:
    """Return a marginal: the sum of the residuals of its subsets, each spread evenly over the other attributes."""
    found = np.zeros(domain.shape(clique))
    for part in subsets(clique):
        share = domain.cells(part) / domain.cells(clique)
        shape = tuple(domain[a] if a in part else 1 for a in clique)
        found += share * residuals[part].reshape(shape)
    return found


def subsets(clique: Clique) -> Iterator[Clique]:
    """Yield every subset, the empty one first."""
    for size in range(len(clique) + 1):
        yield from combinations(clique, size)


def _residual(answer: Observation) -> Table:
    """Return the residual in counts; noise that is not centred says nothing, and is taken off."""
    if not isinstance(answer.query, Centred):
        return answer.values
    return answer.query.adjoint(answer.values) / answer.query.whole**2


def _precision(answer: Observation) -> float:
    """Return one over the variance of the noise, in counts."""
    whole = answer.query.whole if isinstance(answer.query, Centred) else 1
    return (whole / answer.sigma) ** 2
