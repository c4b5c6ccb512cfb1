"""What every question to a door must keep, as checks that raise; and an example of each kind, by which it joins."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from privacy.fakes import ConstantSource, ForbiddenSource, RecordingNoise, TableSource
from understudy.domain import Domain
from understudy.errors import BudgetExceeded, FormatError, UserError
from understudy.privacy import (
    Budget,
    Candidate,
    Centred,
    Choices,
    DistancesTo,
    Door,
    Filter,
    Groups,
    Inquiry,
    Linear,
    Marginal,
    Matrix,
    NoJournal,
    PrefixSums,
    Question,
    Unit,
)
from understudy.privacy.noise import INT64, Counts

from .median import Median
from .tape import Draw, cost

DOMAIN = Domain.of({"age": 4, "sex": 2, "town": 3})
OTHER = Domain.of({"city": 4, "flag": 2})
UNITS = [Unit(kind, rows) for kind in ("add-remove", "replace") for rows in (1, 3)]  # type: ignore[arg-type]
RHO = Fraction(10**6)
LARGEST = 2**62


def _candidates() -> list[Candidate]:
    rng = np.random.default_rng(5)
    cliques = [("age",), ("sex", "town"), ()]
    return [Candidate(c, w, 1.5, rng.uniform(0, 4, DOMAIN.shape(c))) for c, w in zip(cliques, (1.0, 0.3, 0.0), strict=True)]


SUMS = np.array([[1, 1, 0, 0, 0, 0], [0, -2, 1, 0, 0, 5], [3, 3, 3, 3, 3, 3]])

EXAMPLES: dict[str, Question[Any]] = {
    "marginal": Marginal(("age", "town"), 3.0),
    "laplace": Marginal(("age",), 2.0, "laplace"),
    "choice": Choices(_candidates(), 0.7),
    "choices": Choices(_candidates(), 0.7, 2),
    "distances": DistancesTo(_candidates(), 4.0),
    "linear": Linear(("sex", "town"), Matrix(SUMS, (2, 3)), 3.0),
    "linear, laplace": Linear(("sex", "town"), Matrix(SUMS, (2, 3)), 3.0, "laplace"),
    "prefix sums": Linear(("age",), PrefixSums((4,)), 3.0),
    "groups": Linear(("age", "town"), Groups([[0, 0, 1, 1], [0, 1, 0]]), 3.0),
    "residual": Linear(("age", "town"), Centred((4, 3)), 30.0),
    "residual, laplace": Linear(("sex", "town"), Centred((2, 3)), 30.0, "laplace"),
    "prefix sums of two": Linear(("sex", "town"), PrefixSums((2, 3)), 3.0, "laplace"),
    "median": Median("age", 0.5),
}
"""A new kind of question joins the suite by a line here."""

Rows = list[tuple[int, ...]]


def neighbours(unit: Unit, pairs: int = 60) -> Iterator[tuple[Rows, Rows]]:
    """Yield neighbouring tables of ``DOMAIN``: random ones, and those in which all of a person's records are alike."""
    rng = np.random.default_rng(7)

    def records(alike: bool) -> Rows:
        made = [tuple(int(rng.integers(size)) for size in DOMAIN.sizes) for _ in range(unit.rows)]
        return made[:1] * unit.rows if alike else made

    for number in range(pairs):
        rest = [tuple(int(rng.integers(size)) for size in DOMAIN.sizes) for _ in range(int(rng.integers(12)))]
        one, other = records(number % 2 == 0), records(number % 2 == 0)
        table, changed = [*rest, *one], [*rest, *(other if unit.kind == "replace" else [])]
        yield (table, changed) if number % 3 else (changed, table)


def _exact(question: Question[Any], counts: Sequence[Counts]) -> Counts:
    made = question.exact(counts)
    assert made.dtype == np.int64, "exact numbers are integers"
    return made.reshape(-1)


def the_cost_covers_what_neighbours_do(question: Question[Any]) -> None:
    """Neither the charge nor the stated sensitivity is less than what a neighbour does to the exact numbers."""
    for unit in UNITS:
        mask, paid = question.mask(unit), question.cost(unit)
        assert isinstance(paid, Fraction)
        kind = "select" if mask.kind == "selection" else mask.kind
        for rows in neighbours(unit):
            low, high = (_exact(question, TableSource(DOMAIN, table).count(question.reads)) for table in rows)
            assert low.shape == high.shape, "the shape depends on the table"
            once = cost(Draw(kind, low, mask.scale, None), Draw(kind, high, mask.scale, None))  # type: ignore[arg-type]
            assert mask.draws * once <= paid, "paid too little"
            moved = [abs(int(a) - int(b)) for a, b in zip(low, high, strict=True)]
            far = {"gaussian": sum(m * m for m in moved), "laplace": sum(moved), "selection": max(moved, default=0)}
            assert far[mask.kind] <= mask.sensitivity, "moved farther than is stated"


def counts_of_any_size_are_taken(question: Question[Any]) -> None:
    """Counts at the end of int64 neither fail nor wrap round: one record more moves the numbers as far as any."""
    full = [np.full(DOMAIN.shape(c), INT64.max // DOMAIN.cells(c)) for c in question.reads]  # one more than all is too much
    for counts in (full, ConstantSource(DOMAIN, LARGEST).count(question.reads)):
        full[0].reshape(-1)[0] = INT64.max - full[0].reshape(-1)[1:].sum()
        low, mask = _exact(question, counts), question.mask(Unit.ADD_REMOVE)
        for place in range(1, DOMAIN.cells(question.reads[0])):
            more = [c.copy() for c in counts]
            more[0].reshape(-1)[place] += 1
            moved = [abs(int(a) - int(b)) for a, b in zip(low, _exact(question, more), strict=True)]
            assert max(moved, default=0) <= mask.sensitivity, "a large count wraps round"


def over_budget_is_refused_unread(question: Question[Any]) -> None:
    """A hair less than it costs is not enough, and nothing is read to find out."""
    for unit in UNITS:
        source = ForbiddenSource(DOMAIN)
        door = Door(source, Filter(question.cost(unit) * (1 - Fraction(1, 10**30))), unit=unit)
        with pytest.raises(BudgetExceeded, match="Nothing was read"):
            door.ask(question)
        assert (source.reads, door.filter.spent) == (0, 0)


def another_table_is_refused_unread(question: Question[Any]) -> None:
    """A table without its attributes costs nothing."""
    source = ForbiddenSource(OTHER)
    door = Door(source, Budget.of(rho=RHO))
    with pytest.raises(UserError):
        door.ask(question)
    assert (source.reads, door.filter.spent) == (0, 0)


class Kept(NoJournal):
    """Keeps outcomes by the fingerprint of the question."""

    def __init__(self) -> None:
        self.kept: dict[str, Counts] = {}

    def recall(self, request: Inquiry) -> Counts | None:
        found = self.kept.get(request.fingerprint)
        return None if found is None else found.copy()

    def commit(self, request: Inquiry, outcome: Counts) -> None:
        json.dumps(request.terms)
        self.kept[request.fingerprint] = outcome.copy()


def it_resumes_from_its_record(question: Question[Any]) -> None:
    """The answer on record comes back as it was, counted again and unread; one that cannot be its answer is refused."""
    for unit in UNITS:
        log = Kept()
        door = Door(TableSource(DOMAIN, [(1, 0, 2)] * 9), Budget.of(rho=RHO), unit=unit, journal=log)
        first = door.ask(question)
        again = Door(ForbiddenSource(DOMAIN), Budget.of(rho=RHO), unit=unit, journal=log)
        assert same(first, again.ask(question))
        assert again.filter.charges == door.filter.charges
        assert again.filter.spent == question.cost(unit)
        (name,) = log.kept
        log.kept[name] = np.append(log.kept[name], 0)
        with pytest.raises(FormatError, match="does not fit"):
            again.ask(question)
    assert (
        len({Inquiry(question.cost(u), question.purpose, {**question.terms(u), "unit": u.value}).fingerprint for u in UNITS})
        == 4
    )


def its_answer_says_how_it_was_made(question: Question[Any]) -> None:
    """Whether it is private, what it cost; of the declared size, and read-only."""
    source, noise = TableSource(DOMAIN, [(0, 1, 1)] * 5), RecordingNoise()
    door = Door(source, Budget.of(rho=RHO), noise=noise)
    answer = door.ask(question)
    assert len(noise.exact) == question.mask(Unit.ADD_REMOVE).draws
    assert all(given[1].dtype == np.int64 for given in noise.exact)
    assert all(given[0] == "select" or given[1].size == question.size(DOMAIN) for given in noise.exact)
    assert answer.rho == question.cost(Unit.ADD_REMOVE) == door.filter.spent
    assert answer.private is False
    assert Door(source, Budget.of(rho=RHO)).ask(question).private is True
    values = getattr(answer, "values", None)
    assert values is None or (values.dtype == np.int64 and not values.flags.writeable)


def same(one: Any, other: Any) -> bool:
    """Whether two answers are the same, field by field."""
    if isinstance(one, tuple) and one and is_dataclass(one[0]):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other, strict=True))
    if not is_dataclass(one):
        return bool(np.array_equal(one, other)) if isinstance(one, np.ndarray) else bool(one == other)
    return type(one) is type(other) and all(same(getattr(one, f.name), getattr(other, f.name)) for f in fields(one))


CHECKS: list[Callable[[Question[Any]], None]] = [
    the_cost_covers_what_neighbours_do,
    counts_of_any_size_are_taken,
    over_budget_is_refused_unread,
    another_table_is_refused_unread,
    it_resumes_from_its_record,
    its_answer_says_how_it_was_made,
]
