"""PrivMRF: a Markov random field on a graph that the dependences of pairs decide, and marginals of its cliques.

Cai, Lei, Wei and Xiao, 2021. Sees no counts: the lines that need the table go through the door, and each says what it costs.

Where this departs from the printed text: dependence is the distance from the product of the noisy columns, which are
measured first, and not of the exact ones, so that a record moves it by one. The marginals are chosen one by one by the
exponential mechanism, which errs less than noise on the error of each; its score is the error less what the noise of the
measurement would be, as in AIM. The field is fitted by the engine of all mechanisms here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from math import sqrt

from understudy.domain import Clique, Domain
from understudy.errors import BudgetError
from understudy.mechanism.aim import to_check
from understudy.mechanism.base import Mechanism
from understudy.mechanism.candidates import RANKING, estimates, expected_noise, held_at_once, require_tree
from understudy.mechanism.config import CheckedConfig
from understudy.mechanism.dependence import counted_first, measure_columns, pair_distances, spend_the_rest, useful_cells
from understudy.mechanism.outcome import Outcome
from understudy.mechanism.running import Run
from understudy.model import Model, junction_tree, tree_size
from understudy.privacy import Candidate, selection_epsilon_for
from understudy.workload import Workload

COLUMNS, PAIRS, SELECT = Fraction(1, 10), Fraction(1, 10), Fraction(1, 10)
"""Shares of the budget for the columns, for the dependence of pairs, and for choices; the rest is for marginals."""
THETA = 6.0
"""θ of the paper: the count of a cell is on average so many times its noise."""
FEW = 4
"""At least one marginal is chosen for so many attributes."""
LARGEST = 4
"""Marginals of more attributes than this are not looked at."""


@dataclass(frozen=True)
class PrivMrfConfig(CheckedConfig):
    """Of PrivMRF."""

    rounds: int | None = None
    """How many marginals are chosen: as many as leave half of the pairs readable, within limits."""

    def __post_init__(self) -> None:
        """Refuse settings that make no sense, by name and value."""
        super().__post_init__()
        if self.rounds is not None and (
            isinstance(self.rounds, bool) or not isinstance(self.rounds, int) or self.rounds < 1
        ):
            raise BudgetError(f"rounds must be a whole number of at least 1, not {self.rounds!r}.")


@dataclass(frozen=True)
class PrivMrf(Mechanism):
    """Columns, a graph, then the marginals of its cliques that the model answers worst."""

    config: PrivMrfConfig = field(default_factory=PrivMrfConfig)

    @property
    def name(self) -> str:
        """Its name in the registry."""
        return "privmrf"

    def expects(self, workload: Workload) -> Sequence[Clique]:
        """Return the marginals that a run may ask for, as far as they are few enough to count in one pass."""
        return counted_first(workload, LARGEST)

    def execute(self, run: Run) -> Outcome:
        """Measure the columns, build a graph, measure marginals of its cliques, fit."""
        columns, config = [(a,) for a in run.domain], self.config
        require_tree(run.domain, [*columns, *run.model_cliques], config.max_size)
        run.reserve(config.kept)
        with run.running():
            model = measure_columns(run, config, run.rho * COLUMNS if len(columns) > 1 else run.rho)  # costs a tenth
            if len(columns) > 1:
                apart = pair_distances(run, model, run.rho * PAIRS)  # costs a tenth
                model = refine(run, config, model, apart)  # costs a tenth in choices, and what is left
            return run.outcome(checked=to_check(run, config, model))


def refine(run: Run, config: PrivMrfConfig, model: Model, apart: Mapping[Clique, float]) -> Model:
    """Choose a marginal of the graph's cliques (costs ε²/8), measure it (costs an equal share), fit; so many times.

    Where the noise leaves no marginal readable, the columns are measured once more with all that is left.
    """
    measuring = run.remaining - run.rho * SELECT
    alone = useful_cells(run, config, model, measuring, THETA)
    rounds = config.rounds or rounds_for(run.domain, alone)
    epsilon, part = selection_epsilon_for(run.rho * SELECT / rounds), measuring / rounds
    most = alone / sqrt(rounds)
    graph = triangulated(run, config.max_size, [p for p in apart if run.domain.cells(p) <= most], apart)
    choices = held_at_once(run.domain, marginals_of(run.domain, graph, most))
    if not choices:
        return spend_the_rest(run, config, model)
    noise = expected_noise(config, config.scale_for(part, run.door.unit))
    for left in range(rounds, 0, -1):
        later = estimates(model, choices, RANKING)
        scored = [Candidate(r, 1.0, noise * run.domain.cells(r), e) for r, e in zip(choices, later, strict=True)]
        chosen = run.select(scored, epsilon=epsilon, round_index=0).clique
        rho = run.remaining if left == 1 else part
        run.measure(chosen, scale=config.scale_for(rho, run.door.unit), noise=config.noise, round_index=0)
        model = run.estimate(0)
    return model


def rounds_for(domain: Domain, alone: float) -> int:
    """Return how many marginals to measure, if one that is measured ``alone`` may have so many cells to be θ-useful.

    One of T may have √T times fewer. As many as leave half of the pairs useful; two for each attribute at most, and one for
    every ``FEW`` of them at least.
    """
    sizes = sorted(map(domain.cells, combinations(domain, 2)))
    most, least = 2 * len(domain), max(1, len(domain) // FEW)
    times = min(max(alone / sizes[len(sizes) // 2], 0.0), most)  # squared, it stays a float, however little noise there is
    return max(least, min(most, int(times**2)))


def triangulated(run: Run, limit: int, pairs: Iterable[Clique], apart: Mapping[Clique, float]) -> list[Clique]:
    """Return the maximal cliques of a graph: the most dependent pairs first, each that leaves the tree within ``limit``."""
    edges = [z.clique for z in run.zeros]
    for pair in sorted(pairs, key=lambda p: (-apart[p], p)):
        if tree_size(run.domain, [*edges, pair]) <= limit:
            edges.append(pair)
    return list(junction_tree(run.domain, edges).cliques)


def marginals_of(domain: Domain, cliques: Iterable[Clique], most: float) -> list[Clique]:
    """Return the θ-useful marginals of cliques: those of two attributes or more with at most ``most`` cells."""
    found = {
        r
        for clique in cliques
        for size in range(2, min(len(clique), LARGEST) + 1)
        for r in combinations(clique, size)
        if domain.cells(r) <= most
    }
    return sorted((domain.clique(r) for r in found), key=lambda r: (len(r), [domain.index(a) for a in r]))
