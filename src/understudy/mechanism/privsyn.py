"""PrivSyn+PGM: pairs by a balance of noise and dependence, joined into larger marginals, and a graphical model of them.

Zhang, Wang, Li, Honorio, Backes, He, Chen and Zhang, 2021. Sees no counts: the lines that need the table go through the
door, and each says what it costs.

Where this departs from the printed text: dependence is the distance from the product of the noisy columns, which are
measured first, and not of the exact ones, so that a record moves it by one. A pair is taken only where the junction tree
stays within ``max_size``, since a graphical model takes the place of consistency, non-negativity and gradual updates of
records.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass, field
from fractions import Fraction

from understudy.domain import Clique, Domain
from understudy.mechanism.aim import to_check
from understudy.mechanism.base import Mechanism
from understudy.mechanism.candidates import expected_noise, require_tree
from understudy.mechanism.config import CheckedConfig
from understudy.mechanism.dependence import counted_first, measure_columns, pair_distances
from understudy.mechanism.outcome import Outcome
from understudy.mechanism.running import Run
from understudy.mechanism.schedule import allocate
from understudy.model import Model, tree_size
from understudy.workload import Workload

COLUMNS, PAIRS = Fraction(1, 10), Fraction(1, 10)
"""Shares of the budget for the columns and for the dependence of pairs; the rest is for the chosen marginals."""
MOST_CELLS = 5_000
"""Pairs are joined into marginals of no more cells than this."""


@dataclass(frozen=True)
class PrivSyn(Mechanism):
    """Columns, then the pairs that are worth their noise, joined where they overlap."""

    config: CheckedConfig = field(default_factory=CheckedConfig)

    @property
    def name(self) -> str:
        """Its name in the registry."""
        return "privsyn+pgm"

    def expects(self, workload: Workload) -> Sequence[Clique]:
        """Return the marginals that a run may ask for, as far as they are few enough to count in one pass."""
        return counted_first(workload, 2)

    def execute(self, run: Run) -> Outcome:
        """Measure the columns, choose pairs, join them, measure, fit."""
        columns, config = [(a,) for a in run.domain], self.config
        require_tree(run.domain, [*columns, *run.model_cliques], config.max_size)
        run.reserve(config.kept)
        with run.running():
            model = measure_columns(run, config, run.rho * COLUMNS if len(columns) > 1 else run.rho)  # costs a tenth
            if len(columns) > 1:
                apart = pair_distances(run, model, run.rho * PAIRS)  # costs a tenth
                model = measure_joined(run, config, joined(run.domain, balanced(run, config, apart)))  # costs what is left
            return run.outcome(checked=to_check(run, config, model))


def balanced(run: Run, config: CheckedConfig, apart: Mapping[Clique, float]) -> list[Clique]:
    """DenseMarg: add the pair that lowers Σ (noise of the chosen) + Σ (dependence of those left out) most, while one does.

    With ρ_i ∝ n_i^(2/3), the noise of all chosen, √(2/π) Σ n_i σ_i, is e (Σ n_i^(2/3))^(3/2), where e is the noise on a
    cell that all of the budget buys. Costs nothing: the dependences are noisy already.
    """
    each = expected_noise(config, config.scale_for(run.remaining, run.door.unit))
    weights = {pair: run.domain.cells(pair) ** (2 / 3) for pair in apart}
    chosen: list[Clique] = []
    size, held = 0.0, [z.clique for z in run.zeros]
    left = dict(apart)
    while left:
        gains = {p: gap - each * ((size + weights[p]) ** 1.5 - size**1.5) for p, gap in left.items()}
        best = max(left, key=lambda p: (gains[p], p))
        if gains[best] <= 0:
            break
        del left[best]
        if tree_size(run.domain, [*held, *chosen, best]) <= config.max_size:
            chosen.append(best)
            size += weights[best]
    return chosen


def joined(domain: Domain, pairs: Sequence[Clique]) -> list[Clique]:
    """Join pairs, the first first: as long as the cells stay within ``MOST_CELLS``, add the attribute that is paired with
    all others and brings most pairs that no marginal has yet; of several, the smallest.
    """
    together = {frozenset(p) for p in pairs}
    waiting, found = dict.fromkeys(map(frozenset, pairs)), []
    while waiting:
        inside = set(next(iter(waiting)))
        while True:
            fitting = {a: len(new) for a in domain if (new := _brought(domain, a, inside, together, waiting))}
            if not fitting:
                break
            inside.add(max(fitting, key=lambda a: (fitting[a], -domain[a], a)))
        found.append(domain.clique(inside))
        waiting = {p: None for p in waiting if not p <= inside}
    return found


def _brought(
    domain: Domain, new: str, inside: Set[str], together: Set[frozenset[str]], waiting: Collection[frozenset[str]]
) -> list[frozenset[str]]:
    """Return the waiting pairs that an attribute would bring; none where it is not paired with all, or too large."""
    if new in inside or domain.cells(domain.clique(inside)) * domain[new] > MOST_CELLS:
        return []
    pairs = [frozenset((new, a)) for a in inside]
    return [p for p in pairs if p in waiting] if all(p in together for p in pairs) else []


def measure_joined(run: Run, config: CheckedConfig, chosen: Sequence[Clique]) -> Model:
    """Measure them with ρ_i ∝ n_i^(2/3), and fit; the columns once more, where nothing was worth its noise."""
    cliques = list(chosen) or [(a,) for a in run.domain]
    parts = allocate(run.remaining, [run.domain.cells(r) ** (2 / 3) for r in cliques])
    for left, (clique, part) in zip(range(len(cliques), 0, -1), zip(cliques, parts, strict=True), strict=True):
        rho = run.remaining if left == 1 else part
        run.measure(clique, scale=config.scale_for(rho, run.door.unit), noise=config.noise, round_index=0)
    return run.estimate(0)
