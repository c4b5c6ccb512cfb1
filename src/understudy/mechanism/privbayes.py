"""PrivBayes+PGM: a Bayesian network, grown greedily, with a graphical model for its conditionals.

Zhang, Cormode, Procopiuc, Srivastava and Xiao, 2017. Sees no counts: the lines that need the table go through the door, and
each says what it costs.

Where this departs from the printed text: every column is measured first, and each marginal of the network as soon as it is
chosen. An attribute that is not in the network yet is independent of it in the model, so the model's answer on (X, Π) is
P(X) P(Π). That is public, so the score R(X, Π) moves by one count for a record, where with exact P(X) and P(Π) it would
move by four. The first two attributes are chosen together. What the noise leaves unreadable is never measured, however many
parents are allowed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from math import comb

from understudy.domain import Clique, Domain
from understudy.errors import UserError
from understudy.mechanism.aim import to_check
from understudy.mechanism.base import Mechanism
from understudy.mechanism.candidates import RANKING, allowed, estimates, require_tree
from understudy.mechanism.config import CheckedConfig
from understudy.mechanism.dependence import counted_first, measure_columns, spend_the_rest, useful_cells
from understudy.mechanism.outcome import Outcome
from understudy.mechanism.running import Run
from understudy.model import Model
from understudy.privacy import Candidate, selection_epsilon_for
from understudy.workload import Workload

SELECT = Fraction(3, 10)
"""β of the paper: the share of the budget for choices."""
COLUMNS = Fraction(2, 10)
"""The share for the columns; the rest is for the marginals of the network."""
MOST_FAMILIES = 20_000
"""Where more would have to be compared in a step, attributes get fewer parents."""
THETA = 4.0
"""θ of the paper: the count of a cell is on average so many times its noise."""


@dataclass(frozen=True)
class PrivBayesConfig(CheckedConfig):
    """Of PrivBayes."""

    parents: int = 2
    """Most parents of an attribute."""

    def __post_init__(self) -> None:
        """Refuse settings that make no sense, by name and value."""
        super().__post_init__()
        if isinstance(self.parents, bool) or not isinstance(self.parents, int) or self.parents < 1:
            raise UserError(f"parents must be a whole number of at least 1, not {self.parents!r}.")


@dataclass(frozen=True)
class PrivBayes(Mechanism):
    """Columns, then each attribute with the parents that it depends on most."""

    config: PrivBayesConfig = field(default_factory=PrivBayesConfig)

    @property
    def name(self) -> str:
        """Its name in the registry."""
        return "privbayes+pgm"

    def expects(self, workload: Workload) -> Sequence[Clique]:
        """Return the marginals that a run may ask for: an attribute with its parents."""
        return counted_first(workload, self.config.parents + 1)

    def execute(self, run: Run) -> Outcome:
        """Measure the columns, grow the network, measuring each part of it, and fit."""
        columns, config = [(a,) for a in run.domain], self.config
        require_tree(run.domain, [*columns, *run.model_cliques], config.max_size)
        run.reserve(config.kept)
        with run.running():
            model = measure_columns(run, config, run.rho * COLUMNS if len(columns) > 1 else run.rho)  # costs a fifth
            model = grow(run, config, model)  # costs three tenths in choices, and what is left
            return run.outcome(checked=to_check(run, config, model))


def grow(run: Run, config: PrivBayesConfig, model: Model) -> Model:
    """Add one attribute at a time: choose it with its parents (costs ε²/8), measure them (costs an equal share), fit."""
    inside: set[str] = set()
    steps = len(run.domain) - 1
    epsilon = selection_epsilon_for(run.rho * SELECT / steps) if steps else 0.0
    part = run.rho * (1 - SELECT - COLUMNS) / max(steps, 1)
    for left in range(steps, 0, -1):
        choices = readable(run, config, model, families(run.domain, inside, config.parents), part)
        if not choices:
            break
        later = estimates(model, choices, RANKING)
        scored = [Candidate(r, 1.0, 0.0, e) for r, e in zip(choices, later, strict=True)]
        chosen = run.select(scored, epsilon=epsilon, round_index=0).clique
        rho = run.remaining if left == 1 else part
        run.measure(chosen, scale=config.scale_for(rho, run.door.unit), noise=config.noise, round_index=0)
        model = run.estimate(0)
        inside |= set(chosen)
    return spend_the_rest(run, config, model)


def families(domain: Domain, inside: set[str], parents: int) -> list[Clique]:
    """Return every attribute outside the network with each set of parents inside; at first, every pair."""
    if not inside:
        return list(combinations(domain, 2))
    outside, network = [a for a in domain if a not in inside], [a for a in domain if a in inside]
    found: list[Clique] = []
    for size in range(1, parents + 1):
        if size > 1 and len(found) + len(outside) * comb(len(network), size) > MOST_FAMILIES:
            break
        found += [domain.clique([*chosen, new]) for new in outside for chosen in combinations(network, size)]
    return found


def readable(run: Run, config: PrivBayesConfig, model: Model, choices: Sequence[Clique], rho: Fraction) -> list[Clique]:
    """Return those that are θ-useful, that fit into the model, and that lie inside no other such (R only grows with Π)."""
    most = useful_cells(run, config, model, rho, THETA)
    useful = [r for r in choices if run.domain.cells(r) <= most]
    fitting = allowed(run.domain, run.model_cliques, useful, config.max_size) if useful else []
    sets = {frozenset(r) for r in fitting}
    larger = {s - {a} for s in sets for a in s}
    return [r for r in fitting if frozenset(r) not in larger]
