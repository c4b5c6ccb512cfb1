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

from understudy.domain import Clique, Domain
from understudy.errors import BudgetError
from understudy.mechanism.aim import to_check
from understudy.mechanism.base import Mechanism
from understudy.mechanism.candidates import RANKING, estimates, expected_noise, held_at_once, require_tree
from understudy.mechanism.config import CheckedConfig
from understudy.mechanism.dependence import counted_first, measure_columns, pair_distances, useful_cells
from understudy.mechanism.outcome import Outcome
from understudy.mechanism.running import Run
from understudy.model import Model, junction_tree, tree_size
from understudy.privacy import Candidate, selection_epsilon_for
from understudy.workload import Workload

COLUMNS, PAIRS, SELECT = Fraction(1, 10), Fraction(1, 10), Fraction(1, 10)
"""Shares of the budget for the columns, for the dependence of pairs, and for choices; the rest is for marginals."""
THETA = 6.0
"""θ of the paper: the count of a cell is on average so many times its noise."""
LARGEST = 4
"""Marginals of more attributes than this are not looked at."""


@dataclass(frozen=True)
class PrivMrfConfig(CheckedConfig):
    """Of PrivMRF."""

    rounds: int | None = None
    """How many marginals are chosen: two for each attribute."""

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
    """Choose a marginal of the graph's cliques (costs ε²/8), measure it (costs an equal share), fit; so many times."""
    rounds = config.rounds or 2 * len(run.domain)
    epsilon, part = selection_epsilon_for(run.rho * SELECT / rounds), (run.remaining - run.rho * SELECT) / rounds
    most = useful_cells(run, config, model, part, THETA)
    graph = triangulated(run, config.max_size, [p for p in apart if run.domain.cells(p) <= most], apart)
    choices = held_at_once(run.domain, marginals_of(run.domain, graph, most) or [min(apart, key=run.domain.cells)])
    noise = expected_noise(config, config.scale_for(part, run.door.unit))
    for left in range(rounds, 0, -1):
        later = estimates(model, choices, RANKING)
        scored = [Candidate(r, 1.0, noise * run.domain.cells(r), e) for r, e in zip(choices, later, strict=True)]
        chosen = run.select(scored, epsilon=epsilon, round_index=0).clique
        rho = run.remaining if left == 1 else part
        run.measure(chosen, scale=config.scale_for(rho, run.door.unit), noise=config.noise, round_index=0)
        model = run.estimate(0)
    return model


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
