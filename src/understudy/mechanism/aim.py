"""AIM: Algorithm 1 of the paper, line by line, with Algorithms 2 (initialise) and 3 (anneal) below it.

Sees no counts: the lines that need the table go through the door, and each says what it costs.

Where this departs from the printed text: a candidate inside a clique of the model is always allowed; whether
the last round has come is also asked before the first; estimation weights by 1/(2σ²) (in
``understudy.model``); Δ_t is the largest weight among the allowed candidates and the exponential mechanism
uses ε/(2Δ), because the scores are not monotone (in ``understudy.privacy``); a candidate that cannot win is left out of
C_t, and of thousands only those are in it that the model has grown towards, and some others in turn (in ``pool``);
of more than 110 attributes several marginals are chosen before the next estimate, and the rounds end when only chance is
left to be measured (in ``turns``); where sums of cells are asked for, scores
and measurements are of sums (in ``strategy``); a run may start from public data (in ``starting``);
one-way marginals that drown in the noise are measured again before anything larger, and those of a wide table get a
larger share of the budget; a small share of the budget is kept for a last look at how far the
finished model is from the table, which bounds rest on.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Literal

from understudy.domain import Clique
from understudy.errors import BudgetError
from understudy.mechanism.again import measure_by_need
from understudy.mechanism.base import Mechanism
from understudy.mechanism.candidates import allowed, expected_noise, held_at_once, require_capacity
from understudy.mechanism.capacity import Capacity
from understudy.mechanism.config import AimConfig, CheckedConfig
from understudy.mechanism.estimators import ESTIMATORS, Estimation
from understudy.mechanism.events import RoundStarted
from understudy.mechanism.judge import Judge, Paper
from understudy.mechanism.outcome import Outcome, Round
from understudy.mechanism.pace import Pace
from understudy.mechanism.pool import Pool, Reach
from understudy.mechanism.running import Run
from understudy.mechanism.schedule import RoundBudget, allocate, equal_budget, first_budget, last_budget
from understudy.mechanism.starting import prepare, started
from understudy.mechanism.strategy import strategy_for
from understudy.mechanism.told import constant, free, without_told
from understudy.mechanism.turns import Rounds, Seen, Turns, by_chance
from understudy.model import CELL_BYTES, Model
from understudy.privacy import Candidate, Measurement, Selection, linear_scale_for, selection_epsilon_for
from understudy.workload import Workload

ONCE_MORE = "what is measured again"
FARTHEST = 2.0
"""The largest L1 distance between two marginals as shares."""
NARROW = 16
"""A table of more attributes is wide: the paper's noise on its one-way marginals grows with their number."""
TOGETHER = 16
"""Where pairs take turns, one marginal for each so many attributes is chosen before the next estimate."""
MOST_FIRST = Fraction(35, 100)
"""One-way marginals of a wide table may take this share of the budget …"""
CLEAR_ENOUGH = 0.02
"""… unless they are no farther than this from the truth, on average."""
TOO_NOISY = FARTHEST / 3
"""One-way marginals farther from the truth than this, on average, are no ground to choose others on."""
COUNTED_AT_ONCE = 2**24
"""Marginals with so many cells in all are counted in the first pass; of more, each when it is first asked for."""
EACH = 2**10
"""What a marginal costs to count besides its cells, in cells."""
CHECK_NOISE = 0.1
"""The noise on a distance of the check should be no more than this share of the rows …"""
FEWEST_CHECKED, MOST_CHECKED = 1_000, 20_000
"""… but so many marginals are checked all the same, and no more than that."""
MOST_SORTED = 200_000
"""Of more marginals of one size, the smallest are not looked for."""
CHECKED_AT_ONCE = 4
"""The marginals that the finished model is checked on take at most so many times its capacity …"""
COMPARED = 2**24
"""… and have no more cells than this, all together."""


@dataclass(frozen=True)
class Aim(Mechanism):
    """The adaptive and iterative mechanism. Its ablations are configurations of it."""

    config: AimConfig = field(default_factory=AimConfig)
    takes_public = True

    @property
    def name(self) -> str:
        """Its name in the registry."""
        return "aim"

    @property
    def follows(self) -> bool:
        """Whether it models derived columns: where its models can hold to what they follow from."""
        return self.config.zeros and self.estimation.graphical

    @property
    def estimation(self) -> Estimation:
        """How its models are fitted."""
        return ESTIMATORS[self.config.estimator]

    def expects(self, workload: Workload) -> Sequence[Clique]:
        """Return the marginals to count in the first pass: all that may be asked for, or the first of too many."""
        initial = _initial_cliques(workload, self.config)
        if workload.cells > COUNTED_AT_ONCE or len(workload.closure) > COUNTED_AT_ONCE // EACH:
            return initial
        return list(dict.fromkeys([*initial, *workload.closure]))

    def execute(self, run: Run) -> Outcome:
        """Play Algorithm 1."""
        return algorithm_1(run, Paper(self.config))


def algorithm_1(run: Run, judge: Judge) -> Outcome:
    """AIM. Lines 1–3, the inputs, are in ``run`` and the judge's settings; ρ is what is left in the door's budget."""
    config = judge.config
    pool = Pool(run.workload, config, run.door.unit)
    if run.estimation.graphical:
        require_capacity(run.domain, run.model_cliques, pool.smallest, config.max_size)
    run.reserve(config.kept)
    run.set_aside(judge.again if pool.all_pairs else Fraction(0), ONCE_MORE)
    prepare(run)
    budget = initial_budget(run, config)  # lines 4–6 and 9: σ₀ and ε₁, kept as their exact costs
    with run.running():
        model, budget = initialise(run, config, budget)  # line 7: costs 1/(2σ₀²) for each one-way marginal
        model = started(run, config, model)  # not in the paper: costs what was set aside, where there is a public table
        pace = Pace(run, config.time_limit)
        capacity = Capacity(run, config, pace)
        ended: Literal["budget", "time"] = "budget"
        budget = next_budget(run, config, budget)
        turns = Turns(pool, together(pool))
        while True:  # line 10: while ρ_used < ρ
            number = budget.times(turns.number, run.remaining)  # one, but for a wide table
            last = pace.is_last()
            limit = run.share_with(budget, number) * capacity.now(budget, number)  # lines 11 and 12: (ρ_used / ρ) MAX-SIZE
            if last and not budget.final:
                budget, number, ended = last_budget(run.remaining, config.share), 1, "time"
            done = run_rounds(run, turns, budget, int(limit), model, judge=judge, number=number)  # lines 12–15
            model, nothing_left = done.model, turns.ended(done, number, float(run.remaining / budget.annealed().total))
            if nothing_left and not budget.final:
                model = measure_again(run, config, turns.found)  # not in the paper: costs what is left
            if nothing_left or budget.final:
                rounds = config.rounds_for(free(run))
                if run.take(ONCE_MORE):
                    measure_by_need(run, config, model)  # not in the paper, nor in AIM: costs what was kept for it
                checked = to_check(run, config, model)  # not in the paper: costs k/(2σ²) for k distances
                # line 18 is left to the model
                return run.outcome(
                    ended=ended, most_rounds=rounds, checked=checked, last=judge.last, every_column=judge.every_column
                )
            budget = next_budget(run, config, budget.annealed() if done.annealed else budget)  # line 16


def run_rounds(
    run: Run, turns: Turns, budget: RoundBudget, limit: int, model: Model, *, judge: Judge, number: int
) -> Rounds:
    """Lines 12–15: one selection, one measurement, one estimate; or ``number`` of the first two before the estimate.

    Costs ε²/8 + 1/(2σ²) for each.
    """
    config, first, began, limit = judge.config, len(run.rounds) + 1, run.seconds, turns.within(limit, run.size)
    epsilon, scale = selection_epsilon_for(budget.select), config.scale_for(budget.measure, run.door.unit)
    rows = max(run.note(f"estimated rows of round {first}", lambda: model.total), 1.0)
    limit = min(limit, judge.room(rows, scale))
    choices = candidates(run, turns.pool, scale, limit, model, rows=rows, judge=judge)  # C_t: no cost
    run.tell(RoundStarted(first, len(choices), epsilon, scale, limit, budget.final))
    scored = judge.scored(run, model, choices, scale)
    number = min(number, len(scored))
    chosen = run.select_some(scored, epsilon=epsilon, number=number, round_index=first)  # line 13: costs ε²/8 each
    taken = _fitting(run, chosen, limit)
    rho = run.remaining if budget.final else budget.measure  # what rounding ε down has left is spent as well
    known = {candidate.clique: candidate for candidate in scored}
    measured = {  # line 14: costs 1/(2σ²) each
        clique: measure_chosen(run, config, known[clique], rho, index=first + k) for k, clique in enumerate(taken)
    }
    after = run.estimate(first + len(taken) - 1)  # line 15: no cost
    seconds, seen = (run.seconds - began) / len(taken), list[Seen]()
    for selection, left in _in_turn(chosen, scored):
        if selection.clique not in measured:
            continue
        done = _played(run, left, selection, measured[selection.clique], judge=judge, models=(model, after))
        seen.append(_seen(run, known[selection.clique], done, compared=turns.sweeps))
        annealed = (
            len(seen) == len(taken) and config.adaptive and (turns.over or 2 * sum(s.still for s in seen) >= len(seen))
        )
        run.record(replace(done, annealed=annealed, final=budget.final, limit=limit, seconds=seconds))
    return Rounds(after, run.rounds[-1].annealed, seen)


def _seen(run: Run, chosen: Candidate, done: Round, *, compared: bool) -> Seen:
    """Return what a round showed, ``compared`` with what chance would do."""
    chance = run.note(f"chance of round {done.index}", lambda: by_chance(chosen.estimate)) if compared else 0.0
    return Seen(done.clique, done.change, done.threshold, chance)


def _played(
    run: Run,
    left: Sequence[Candidate],
    selection: Selection,
    measurement: Measurement,
    *,
    judge: Judge,
    models: tuple[Model, Model],
) -> Round:
    """Return the record of one round, with what Algorithm 3 decides by."""
    index, (before, after), chosen = len(run.rounds) + 1, models, left[selection.index]
    threshold = judge.threshold(run, chosen, _scale_of_cells(run, chosen, measurement))  # Algorithm 3, line 1
    change = run.note(  # Algorithm 3, line 1; noted, so that a resumed run anneals where it did
        f"change of round {index}", lambda: chosen.gap(after.marginal(chosen.clique))
    )
    return Round(
        index=index,
        candidates=tuple(candidate.clique for candidate in left),
        penalties=array("d", (candidate.penalty for candidate in left)),
        selection=selection,
        measurement=measurement,
        change=change,
        threshold=threshold,
        annealed=False,
        final=False,
        size=run.size,
        limit=0,
        seconds=0.0,
        before=before,
    )


def _fitting(run: Run, chosen: Sequence[Selection], limit: int) -> list[Clique]:
    """Return those of ``chosen`` that the model has room for within ``limit`` bytes, together: the first always."""
    wanted = [selection.clique for selection in chosen]
    room = partial(run.estimation.room_for, run.domain, run.model_cliques)
    if len(wanted) == 1 or room(wanted, limit):
        return wanted
    found = wanted[:1]
    for clique in wanted[1:]:
        if room([*found, clique], limit):
            found.append(clique)
    return found


def _in_turn(chosen: Sequence[Selection], scored: list[Candidate]) -> Iterator[tuple[Selection, list[Candidate]]]:
    """Yield each choice with the candidates that were left when it was made."""
    for selection in chosen:
        yield selection, scored
        scored = scored[: selection.index] + scored[selection.index + 1 :]


def together(pool: Pool) -> int:
    """Return how many marginals are chosen before the next estimate: one, but for a table so wide that pairs take turns."""
    return 1 if pool.all_pairs or not pool.config.adaptive else max(1, len(pool.domain) // TOGETHER)


def measure_chosen(run: Run, config: AimConfig, chosen: Candidate, rho: Fraction, *, index: int) -> Measurement:
    """Line 14: costs ``rho``. Where sums of the marginal are asked for, the strategy for them is measured."""
    how, unit = None if chosen.query is None else strategy_for(chosen.query).measured, run.door.unit
    scale = config.scale_for(rho, unit) if how is None else linear_scale_for(rho, how, config.noise, unit)
    return run.measure(chosen.clique, scale=scale, noise=config.noise, round_index=index, query=how)


def measure_again(run: Run, config: AimConfig, found: Sequence[Clique]) -> Model:
    """Measure one-way marginals and what was ``found`` once more. Costs all that is left."""
    queries = {m.clique: m.query for m in run.measurements}
    cliques = list(dict.fromkeys([*_initial_cliques(run.workload, config, constant(run)), *found]))
    parts = allocate(run.remaining, [run.domain.cells(clique) ** (2 / 3) for clique in cliques])
    for clique, part in zip(cliques, parts, strict=True):
        query, unit = queries[clique], run.door.unit
        scale = config.scale_for(part, unit) if query is None else linear_scale_for(part, query, config.noise, unit)
        run.measure(clique, scale=scale, noise=config.noise, round_index=len(run.rounds), query=query)
    return run.estimate(len(run.rounds))


def _scale_of_cells(run: Run, chosen: Candidate, measurement: Measurement) -> float:
    """Return the noise that cells would have had at the same cost."""
    if chosen.query is None:
        return measurement.scale
    return measurement.scale / strategy_for(chosen.query).scale(run.door.unit, measurement.noise)


def candidates(run: Run, pool: Pool, scale: float, limit: int, model: Model, *, rows: float, judge: Judge) -> list[Clique]:
    """Line 12, C_t: the marginals that could win and that fit into the model."""
    config = pool.config
    reach = Reach.of(run.domain, run.measurements, rows, expected_noise(config, 1.0))
    some = pool.worthwhile(reach, judge.least(scale), run.model_cliques, run.fits, run.size)
    hopeful = list(judge.hopeful(run, model, without_told(run, some), scale))
    if not run.estimation.graphical:
        return held_at_once(run.domain, run.estimation.within(run.domain, run.model_cliques, hopeful, limit))
    return allowed(run.domain, run.model_cliques, hopeful, limit)


def initialise(run: Run, config: AimConfig, budget: RoundBudget) -> tuple[Model, RoundBudget]:
    """Algorithm 2: measure each one-way marginal of W_+ at σ₀ (when started uniform, only the rows).

    Not in the paper: those of a wide table are measured again, within ``wide_share`` of the budget. And while they drown in
    the noise, with less of it, as Algorithm 3 would, for choices that rest on them would be blind. Costs 1/(2σ²) for each
    once more, at most α of what is left.
    """
    cliques = _initial_cliques(run.workload, config, constant(run))
    model = _measure_all(run, config, cliques, [budget.measure] * len(cliques))
    more = wide_share(len(cliques), config) * run.rho - run.spent
    if more > 0 and _too_noisy(run, config, model, CLEAR_ENOUGH):
        parts = allocate(more, [run.domain.cells(clique) ** (2 / 3) for clique in cliques])
        model = _measure_all(run, config, cliques, parts)
    while True:
        clearer = budget.annealed(config.share * run.remaining / len(cliques))
        if clearer.measure <= budget.measure or not _too_noisy(run, config, model):
            return model, budget
        budget = clearer
        model = _measure_all(run, config, cliques, [budget.measure] * len(cliques))


def wide_share(attributes: int, config: AimConfig) -> Fraction:
    """Return the share of the budget for one-way marginals: so much that those of a wide table get as much each as those of
    ``NARROW`` attributes, but no more than ``MOST_FIRST``; nothing more than the paper's for a narrow one.
    """
    if not config.adaptive or config.initial == "uniform" or attributes <= NARROW:
        return Fraction(0)
    return min(MOST_FIRST, config.share * attributes / config.rounds_for(NARROW))


def _measure_all(run: Run, config: AimConfig, cliques: Sequence[Clique], parts: Sequence[Fraction]) -> Model:
    """Measure each of ``cliques`` at its cost, and fit a model."""
    for clique, part in zip(cliques, parts, strict=True):
        run.measure(clique, scale=config.scale_for(part, run.door.unit), noise=config.noise, round_index=0)
    return run.estimate(0)


def _too_noisy(run: Run, config: AimConfig, model: Model, most: float = TOO_NOISY) -> bool:
    """Whether noise takes too much of the one-way marginals as shares: their distance to the true ones, expected of it."""
    if not config.adaptive or config.initial == "uniform":
        return False
    rows = max(run.note(f"estimated rows after {len(run.measurements)} measurements", lambda: model.total), 1.0)
    least: dict[Clique, float] = {}
    for m in run.measurements:
        noise = expected_noise(config, m.scale) * m.values.size / rows
        least[m.clique] = min(noise, least.get(m.clique, FARTHEST))
    return sum(least.values()) > most * len(least)


def initial_budget(run: Run, config: AimConfig) -> RoundBudget:
    """Lines 4 and 9, or equal rounds when not adaptive; refused where Algorithm 2 would leave nothing over."""
    initial, rounds = (
        len(_initial_cliques(run.workload, config, constant(run))),
        config.rounds_for(free(run)),
    )
    if not config.adaptive:
        return equal_budget(run.rho, rounds, config.share, initial)
    budget = first_budget(run.rho, rounds, config.share)
    if initial * budget.measure >= run.rho:
        raise BudgetError(
            f"rounds = {rounds} is too few: the {initial} marginals measured first would use up the budget. "
            "Leave rounds out, or set more of them. Nothing was spent."
        )
    return budget


def next_budget(run: Run, config: AimConfig, budget: RoundBudget) -> RoundBudget:
    """Algorithm 3, line 8: is this the last round? When not adaptive, the last is simply number T."""
    if config.adaptive:
        return budget.within(run.remaining, config.share)
    if len(run.rounds) + 1 == config.rounds_for(free(run)):
        return last_budget(run.remaining, config.share)
    return budget


def _initial_cliques(workload: Workload, config: AimConfig, known: Collection[str] = ()) -> list[Clique]:
    """Return what is measured first; of a column with one value, nothing is."""
    alone: list[Clique] = [(a,) for a in workload.attributes if a not in known]
    return alone if alone and config.initial == "independent" else [()]


def to_check(run: Run, config: CheckedConfig, model: Model) -> list[Clique]:
    """Return what the finished model is checked on: of W_+ the smallest, as many as leave the noise on each distance small
    beside the rows, and as fit into memory.
    """
    if not config.kept:
        return []
    workload, cells = run.workload, run.workload.domain.cells
    rows = run.note("estimated rows at the check", lambda: model.total)
    most = min(max(FEWEST_CHECKED, 2 * float(run.held) * (CHECK_NOISE * rows) ** 2), MOST_CHECKED)
    listed: list[Clique] = []
    if len(workload.closure) <= most:
        listed = list(workload.closure)
    else:
        for size in range(1, max(map(len, workload.closure[-1:])) + 1):
            layer = workload.closure_of(size)
            if len(layer) <= MOST_SORTED:
                listed += sorted(layer, key=cells)[: int(most) - len(listed)]
    taken, room = set(), min(CHECKED_AT_ONCE * config.max_size, CELL_BYTES * COMPARED)
    for r in sorted(listed, key=cells):
        room -= CELL_BYTES * cells(r)
        if room < 0:
            break
        taken.add(r)
    return [r for r in listed if r in taken]
