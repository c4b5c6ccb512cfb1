"""RAP: relaxed adaptive projection (Aydore, Brown, Kearns, Kenthapadi, Melis, Roth and Siva, 2021), by whole marginals.

Sees no counts: the lines that need the table go through the door, and each says what it costs.

Where this departs from the printed text: a query is a whole marginal, as the AIM paper ran it, since all of its cells are
measured for the price of one; its score is its L1 error. The number of rows is measured first, which the paper takes as
known. Probabilities are a softmax, where the paper clips. A small share of the budget is kept to compare the finished model
with the table, which bounds rest on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from understudy.domain import Clique
from understudy.errors import BudgetError
from understudy.mechanism.aim import Aim, to_check
from understudy.mechanism.base import Mechanism
from understudy.mechanism.candidates import RANKING, estimates, held_at_once
from understudy.mechanism.config import AimConfig, CheckedConfig, whole
from understudy.mechanism.estimators import ESTIMATORS, Estimation
from understudy.mechanism.outcome import Outcome
from understudy.mechanism.running import Run
from understudy.model import Model
from understudy.privacy import Candidate, selection_epsilon_for
from understudy.workload import Workload

MEASURING = Fraction(1, 2)
"""The share of a round that is spent on measuring; the rest is for choices."""
A_COLUMN = 2
"""Marginals are chosen for each column, in all rounds together."""


@dataclass(frozen=True)
class RapConfig(CheckedConfig):
    """Of RAP."""

    rounds: int = 10
    """T: so many times marginals are chosen and measured, and the relaxed table is projected."""
    each: int | None = None
    """K: how many marginals are chosen in a round. Two for each column in all rounds together, unless given."""

    def __post_init__(self) -> None:
        """Refuse settings that make no sense, by name and value."""
        super().__post_init__()
        for name in ("rounds", "each"):
            value = getattr(self, name)
            if not (whole(value) and value >= 1) and (name == "rounds" or value is not None):
                raise BudgetError(f"{name} must be a whole number of at least 1, not {value!r}.")

    def chosen_of(self, attributes: int, marginals: int) -> int:
        """Return K for a table of so many attributes, and a workload of so many marginals."""
        wanted = -(-A_COLUMN * attributes // self.rounds) if self.each is None else self.each
        return min(wanted, marginals)


@dataclass(frozen=True)
class Rap(Mechanism):
    """The worst marginals by noisy choices, measured, then a projection to a relaxed table; so many times."""

    config: RapConfig = field(default_factory=RapConfig)

    @property
    def name(self) -> str:
        """Its name in the registry."""
        return "rap"

    @property
    def estimation(self) -> Estimation:
        """Relaxed projection."""
        return ESTIMATORS["relaxed"]

    def expects(self, workload: Workload) -> Sequence[Clique]:
        """Return the marginals to count in the first pass: all that may be asked for, or the first of too many."""
        return Aim(AimConfig(initial="uniform")).expects(workload)

    def execute(self, run: Run) -> Outcome:
        """Algorithm 3 of the paper."""
        config, choices = self.config, held_at_once(run.domain, list(run.workload.cliques))
        run.reserve(config.kept)
        with run.running():
            each = config.chosen_of(len(run.domain), len(choices))
            part = run.rho / (config.rounds * each + MEASURING)  # what one marginal costs; the rows cost half of that
            model = measured(run, config, [()], part * MEASURING)
            for left in range(config.rounds, 0, -1):
                chosen = worst(run, model, choices, each, part * (1 - MEASURING))  # costs half of the round
                rest = run.remaining / each if left == 1 else part * MEASURING  # costs the other half
                model = measured(run, config, chosen, rest)
            return run.outcome(checked=to_check(run, config, model))


def worst(run: Run, model: Model, choices: Sequence[Clique], each: int, rho: Fraction) -> list[Clique]:
    """Choose the marginals with the largest L1 errors, one after another, none twice. Costs ε²/8 = ``rho`` for each."""
    later = dict(zip(choices, estimates(model, choices, RANKING), strict=True))
    epsilon = selection_epsilon_for(rho)
    chosen: list[Clique] = []
    for _ in range(each):
        scored = [Candidate(r, 1.0, 0.0, estimate) for r, estimate in later.items()]
        chosen.append(run.select(scored, epsilon=epsilon, round_index=0).clique)
        del later[chosen[-1]]
    return chosen


def measured(run: Run, config: RapConfig, cliques: Sequence[Clique], rho: Fraction) -> Model:
    """Measure marginals, each for ``rho``, and project to a relaxed table."""
    for clique in cliques:
        run.measure(clique, scale=config.scale_for(rho, run.door.unit), noise=config.noise, round_index=0)
    return run.estimate(0)
