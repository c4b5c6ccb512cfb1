"""The strongest attacker there is: knows both tables, every setting and every released number, and guesses which it was.

White box: each attack runs the code of the product behind a door on two worst-case neighbours, and scores every run by its
exact log-likelihood ratio, which no attacker can better (Neyman and Pearson).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique, Domain
from understudy.mechanism import mechanism
from understudy.model import fit
from understudy.privacy import (
    Budget,
    Candidate,
    Distances,
    Door,
    Measurement,
    Noise,
    Selection,
    Selections,
    Unit,
    distances_sigma_for,
    sigma_for,
)
from understudy.privacy.scoring import distance, scores
from understudy.schema import Schema
from understudy.source import open_source
from understudy.workload import Workload

DOMAIN = Domain.of({"a": 2, "b": 3, "c": 2})
ROW, INSTEAD = (1, 2, 1), (0, 0, 0)
REST = [(0, 0, 0)] * 3 + [(1, 1, 0)] * 2 + [(0, 1, 1)]
"""The records that both tables have; the attacker knows them too, so they do not matter."""

MakeNoise = Callable[[], Noise | None]


class Table:
    """Counts of a few known records, made once: an audit opens thousands of doors."""

    def __init__(self, rows: Sequence[tuple[int, ...]], domain: Domain = DOMAIN) -> None:
        self.domain = domain
        self._whole = np.zeros(domain.sizes, np.int64)
        for row in rows:
            self._whole[row] += 1

    def count(self, cliques: Sequence[Clique]) -> list[NDArray[np.int64]]:
        return [np.asarray(self._one(clique), np.int64) for clique in cliques]

    def _one(self, clique: Clique) -> NDArray[np.int64]:
        away = tuple(i for i, name in enumerate(self.domain) if name not in clique)
        return np.asarray(self._whole.sum(axis=away))


def of_persons(unit: Unit, rows: Sequence[tuple[int, ...]]) -> Table:
    """Count the known records and those of one person with the code of the product."""
    schema = Schema.from_domain(dict(zip(DOMAIN, DOMAIN.sizes, strict=True)))
    person = {"person": unit.person, "rows_per_person": unit.rows}
    declared = replace(schema, declaration=schema.declaration.model_copy(update=person))
    columns = dict(zip(DOMAIN, zip(*REST, *rows, strict=True), strict=True))
    data = {name: list(values) for name, values in columns.items()} | {unit.person: [None] * len(REST) + ["p"] * len(rows)}
    counted = open_source(data, declared).count([tuple(DOMAIN)])[0]
    return Table([cell for cell in np.ndindex(counted.shape) for _ in range(counted[cell])])


MANY = 40
"""Rows of the person who is attacked; the unit allows fewer."""


@cache
def worst_pair(unit: Unit) -> tuple[Table, Table]:
    """Return neighbours that every marginal tells apart as far as the unit allows."""
    if unit.person is not None:
        without = [] if unit.kind == "add-remove" else [INSTEAD] * MANY
        return of_persons(unit, without), of_persons(unit, [ROW] * MANY)
    rest = REST if unit == Unit.ADD_REMOVE else [*REST, INSTEAD]
    return Table(rest), Table([*REST, ROW])


@dataclass(frozen=True)
class Guess:
    """Log-likelihood ratios (with the record over without it) of runs on the table without, and on the one with it."""

    without: NDArray[np.float64]
    within: NDArray[np.float64]

    def errors(self) -> tuple[int, int]:
        """Return false alarms and misses of the guess "with it" above a ratio of one; ties go half and half."""
        return self._wrong(self.without, 1), self._wrong(self.within, -1)

    @staticmethod
    def _wrong(ratios: NDArray[np.float64], sign: int) -> int:
        signed = sign * ratios
        return int((signed > 1e-12).sum() + (np.abs(ratios) <= 1e-12).sum() // 2)


def guessed(unit: Unit, runs: int, once: Callable[[Table], float]) -> Guess:
    """Run the attack ``runs`` times on each table."""
    made = [np.array([once(table) for _ in range(runs)]) for table in worst_pair(unit)]
    return Guess(made[0], made[1])


@cache
def _exact(clique: Clique, unit: Unit) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    (without,), (within,) = (table.count([clique]) for table in worst_pair(unit))
    return without, within


def ratio_of(measured: Measurement, unit: Unit) -> float:
    """Return log P(values | with) − log P(values | without), exactly, for either noise."""
    without, within = _exact(measured.clique, unit)
    if measured.query is not None:
        without, within = measured.query.exact(without), measured.query.exact(within)
    near, far = measured.values - within, measured.values - without
    if measured.noise == "gaussian":
        return float((far**2 - near**2).sum() / (2 * measured.scale**2))
    return float((np.abs(far) - np.abs(near)).sum() / measured.scale)


def measuring(unit: Unit, rho: Fraction, runs: int, noise: MakeNoise) -> Guess:
    """Attack single measurements: one marginal, measured with all of the budget in a few parts.

    Parts of several scales make the attacker's statistic nearly continuous, although each answer is a whole number.
    """
    sigmas = [sigma_for(rho * Fraction(k, 9), unit) for k in (2, 3, 4)]

    def once(table: Table) -> float:
        door = Door(table, Budget.of(rho=rho), unit=unit, noise=noise())
        return sum(ratio_of(door.measure(("a", "b"), scale=sigma), unit) for sigma in sigmas)

    return guessed(unit, runs, once)


def checking(unit: Unit, rho: Fraction, runs: int, noise: MakeNoise) -> Guess:
    """Attack checks: the estimates are one table's own counts, so that the record moves every distance, and all one way."""
    asked = [("a",), ("b",), ("a", "b"), ("b", "c")]
    estimates = [Candidate(r, 1.0, 0.0, _exact(r, unit)[0].astype(np.float64)) for r in asked]
    sigmas = [distances_sigma_for(rho * Fraction(k, 9), len(asked), unit) for k in (2, 3, 4)]

    def once(table: Table) -> float:
        door = Door(table, Budget.of(rho=rho), unit=unit, noise=noise())
        return sum(ratio_of_distances(door.distances(estimates, sigma=sigma), estimates, unit) for sigma in sigmas)

    return guessed(unit, runs, once)


def ratio_of_distances(made: Distances, estimates: Sequence[Candidate], unit: Unit) -> float:
    """The same for noisy distances."""
    exact = [[distance(c, e.estimate) for c in _exact(e.clique, unit)] for e in estimates]
    without, within = np.array(exact).T
    return float(((made.values - without) ** 2 - (made.values - within) ** 2).sum() / (2 * made.sigma**2))


def running(name: str, unit: Unit, rho: Fraction, runs: int, noise: MakeNoise) -> Guess:
    """Attack whole runs of a mechanism: every measurement, and every choice that led to it."""
    rounds = {"rounds": 6} if name in ("aim", "aim2", "mwem") else {}
    workload, how = Workload.all_kway(DOMAIN, 2), mechanism(name, **rounds)

    def once(table: Table) -> float:
        watched = Watching(table, rho, unit, noise())
        how.run(watched, workload, estimator=partial(fit, max_iterations=12))
        return watched.ratio

    return guessed(unit, runs, once)


class Watching(Door):
    """A door that adds up the attacker's log-likelihood ratio as answers leave it. Changes no answer."""

    __slots__ = ("ratio",)

    def __init__(self, table: Table, rho: Fraction, unit: Unit, noise: Noise | None) -> None:
        super().__init__(table, Budget.of(rho=rho), unit=unit, noise=noise)
        self.ratio = 0.0

    def ask(self, question):  # type: ignore[no-untyped-def]
        found = super().ask(question)
        match found:
            case Measurement():
                self.ratio += ratio_of(found, self.unit)
            case Distances():
                self.ratio += ratio_of_distances(found, question.estimates, self.unit)
            case Selections():
                self.ratio += ratio_of_choices(found, question.candidates, self.unit)
            case _:
                raise AssertionError(f"the attacker does not know what to make of a {type(found).__name__}")
        return found


def ratio_of_choices(made: Selections, candidates: Sequence[Candidate], unit: Unit) -> float:
    """The same for choices one after another, each among the candidates that are left."""
    without, within = (scores(table.count([c.clique for c in candidates]), candidates) for table in worst_pair(unit))
    left, ratio = list(range(len(candidates))), 0.0
    for choice in made.chosen:
        ratio += _log_chance(within[left], choice) - _log_chance(without[left], choice)
        left.pop(choice.index)
    return ratio


def _log_chance(exact: NDArray[np.int64], choice: Selection) -> float:
    scaled = exact / choice.scale
    scaled = scaled - scaled.max()
    return float(scaled[choice.index] - np.log(np.exp(scaled).sum()))


def choosing(unit: Unit, epsilon: float, runs: int, noise: MakeNoise) -> tuple[int, int]:
    """Attack selection: one candidate's score rises while the other's falls. Return how often the first was chosen."""
    without, within = worst_pair(unit)
    (low,), (high,) = without.count([("a",)]), within.count([("a",)])
    moved = float(np.abs(high - low).sum())  # the record takes the first score from 0 to this, the second back to 0
    candidates = [Candidate(("a",), 1.0, 0.0, low.astype(float)), Candidate(("a",), 1.0, 0.0, high.astype(float))]
    assert moved == unit.score

    def hits(table: Table) -> int:
        door = Door(table, Budget.of(rho=10**9), unit=unit, noise=noise())
        return sum(door.select(candidates, epsilon=epsilon).index == 0 for _ in range(runs))

    return hits(within), hits(without)
