"""AIM: Algorithm 1 of the paper, line by line, with Algorithms 2 (initialise) and 3 (anneal) below it.

Sees no counts: the lines that need the table go through the door, and each says what it costs.

Where this departs from the printed text: a candidate inside a clique of the model is always allowed; whether
the last round has come is also asked before the first; estimation weights by 1/(2σ²) (in
``understudy.model``); Δ_t is the largest weight among the allowed candidates and the exponential mechanism
uses ε/(2Δ), because the scores are not monotone (in ``understudy.privacy``); one-way marginals that drown in the
noise are measured again before anything larger; a small share of the budget is kept for a last look at how far the
finished model is from the table, which bounds rest on.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from understudy.domain import Clique
from understudy.errors import BudgetError
from understudy.mechanism.base import Mechanism
from understudy.mechanism.candidates import allowed, expected_noise, judged, pool, require_capacity
from understudy.mechanism.config import AimConfig
from understudy.mechanism.events import RoundStarted
from understudy.mechanism.outcome import Outcome, Round
from understudy.mechanism.pace import Pace
from understudy.mechanism.schedule import Step, equal_step, first_step, last_step
from understudy.mechanism.session import Session
from understudy.model import CELL_BYTES, Model
from understudy.privacy import epsilon_for
from understudy.workload import Workload

FARTHEST = 2.0
"""The largest L1 distance between two marginals as shares."""
DROWNED = FARTHEST / 3
"""One-way marginals farther from the truth than this, on average, are no ground to choose others on."""
CHECKED_AT_ONCE = 4
"""The marginals that the finished model is checked on take at most so many times its capacity."""


@dataclass(frozen=True)
class Aim(Mechanism):
    """The adaptive and iterative mechanism. Its ablations are configurations of it."""

    config: AimConfig = field(default_factory=AimConfig)

    @property
    def name(self) -> str:
        """Its name in the registry."""
        return "aim"

    def expects(self, workload: Workload) -> tuple[Clique, ...]:
        """Return the marginals that a run may ask for, so that a door can count them in one pass."""
        asked = [*_initial_cliques(workload, self.config), *pool(workload, self.config), *_checked(workload, self.config)]
        return tuple(dict.fromkeys(asked))

    def play(self, session: Session) -> Outcome:
        """Play Algorithm 1."""
        return algorithm_1(session, self.config)


def algorithm_1(session: Session, config: AimConfig) -> Outcome:
    """AIM. Lines 1–3, the inputs, are in ``session`` and ``config``; ρ is what is left in the door's budget."""
    require_capacity(session.domain, session.model_cliques, pool(session.workload, config), config.max_size)
    session.hold_back(config.kept)
    step = initial_step(session, config)  # lines 4–6 and 9: σ₀ and ε₁, kept as their exact costs
    with session.running():
        model, step = initialise(session, config, step)  # line 7: costs 1/(2σ₀²) for each one-way marginal
        pace = Pace(session, config.time_limit)
        ended: Literal["budget", "time"] = "budget"
        step = next_step(session, config, step)
        while True:  # line 10: while ρ_used < ρ
            limit = session.share_with(step) * config.max_size  # lines 11 and 12: (ρ_used / ρ) MAX-SIZE
            if pace.is_last() and not step.final:
                step, ended = last_step(session.remaining, config.share), "time"
            done, model = play_round(session, config, step, int(limit), model)  # lines 12–15: costs ε²/8 + 1/(2σ²)
            session.record(done)
            if step.final:
                rounds = config.rounds_for(len(session.domain))
                checked = _checked(session.workload, config)  # not in the paper: costs k/(2σ²) for k distances
                return session.outcome(ended=ended, most_rounds=rounds, checked=checked)  # line 18 is left to the model
            step = next_step(session, config, step.annealed() if done.annealed else step)  # line 16


def play_round(session: Session, config: AimConfig, step: Step, limit: int, model: Model) -> tuple[Round, Model]:
    """Lines 12–15: one selection, one measurement, one estimate."""
    index, began = len(session.rounds) + 1, session.seconds
    epsilon, scale = epsilon_for(step.select), config.scale_for(step.measure, session.door.unit)
    choices = allowed(session.domain, session.model_cliques, pool(session.workload, config), limit)  # C_t: no cost
    session.tell(RoundStarted(index, len(choices), epsilon, scale, limit, step.final))
    scored = judged(model, choices, session.workload, config, scale)
    selection = session.select(scored, epsilon=epsilon, round_index=index)  # line 13: costs ε²/8
    if step.final:  # what rounding ε down has left is spent as well
        scale = config.scale_for(session.remaining, session.door.unit)
    measurement = session.measure(  # line 14: costs 1/(2σ²)
        selection.clique, scale=scale, noise=config.noise, round_index=index
    )
    after = session.estimate(index)  # line 15: no cost
    threshold = expected_noise(config, scale) * measurement.values.size  # Algorithm 3, line 1
    before = scored[selection.index]
    change = session.noted(  # Algorithm 3, line 1; noted, so that a resumed run anneals where it did
        f"change of round {index}", lambda: float(np.abs(after.marginal(selection.clique) - before.estimate).sum())
    )
    return Round(
        index=index,
        candidates=tuple(choices),
        penalties=tuple(candidate.penalty for candidate in scored),
        selection=selection,
        measurement=measurement,
        change=change,
        threshold=threshold,
        annealed=config.adaptive and change <= threshold,
        final=step.final,
        size=session.size,
        seconds=session.seconds - began,
        before=model,
    ), after


def initialise(session: Session, config: AimConfig, step: Step) -> tuple[Model, Step]:
    """Algorithm 2: measure each one-way marginal of W_+ at σ₀ (when started uniform, only the rows).

    Not in the paper: while they drown in the noise, they are measured again with less of it, as Algorithm 3 would, for
    choices that rest on them would be blind. Costs 1/(2σ²) for each once more, at most α of what is left.
    """
    cliques = _initial_cliques(session.workload, config)
    while True:
        scale = config.scale_for(step.measure, session.door.unit)
        for clique in cliques:
            session.measure(clique, scale=scale, noise=config.noise, round_index=0)
        model = session.estimate(0)
        clearer = step.annealed(config.share * session.remaining / len(cliques))
        if clearer.measure <= step.measure or not _drowned(session, config, model, scale):
            return model, step
        step = clearer


def _drowned(session: Session, config: AimConfig, model: Model, scale: float) -> bool:
    """Whether noise takes too much of the one-way marginals as shares: their distance to the true ones, expected of it."""
    if not config.adaptive or config.initial == "uniform":
        return False
    rows = session.noted(f"estimated rows after {len(session.measurements)} measurements", lambda: model.total)
    noise = expected_noise(config, scale) / max(rows, 1.0)
    distances = [min(noise * session.domain.cells((a,)), FARTHEST) for a in session.workload.attributes]
    return sum(distances) > DROWNED * len(distances)


def initial_step(session: Session, config: AimConfig) -> Step:
    """Lines 4 and 9, or equal rounds when not adaptive; refused where Algorithm 2 would leave nothing over."""
    initial, rounds = len(_initial_cliques(session.workload, config)), config.rounds_for(len(session.domain))
    if not config.adaptive:
        return equal_step(session.rho, rounds, config.share, initial)
    step = first_step(session.rho, rounds, config.share)
    if initial * step.measure >= session.rho:
        raise BudgetError(
            f"rounds = {rounds} is too few: the {initial} marginals measured first would use up the budget. "
            "Leave rounds out, or set more of them. Nothing was spent."
        )
    return step


def next_step(session: Session, config: AimConfig, step: Step) -> Step:
    """Algorithm 3, line 8: is this the last round? When not adaptive, the last is simply number T."""
    if config.adaptive:
        return step.within(session.remaining, config.share)
    if len(session.rounds) + 1 == config.rounds_for(len(session.domain)):
        return last_step(session.remaining, config.share)
    return step


def _initial_cliques(workload: Workload, config: AimConfig) -> list[Clique]:
    return [(a,) for a in workload.attributes] if config.initial == "independent" else [()]


def _checked(workload: Workload, config: AimConfig) -> list[Clique]:
    """Return what the finished model is checked on: W_+, without its largest marginals where all would take too much."""
    taken, room = set(), CHECKED_AT_ONCE * config.max_size if config.kept else 0
    for r in sorted(workload.closure, key=workload.domain.cells):
        room -= CELL_BYTES * workload.domain.cells(r)
        if room < 0:
            break
        taken.add(r)
    return [r for r in workload.closure if r in taken]
