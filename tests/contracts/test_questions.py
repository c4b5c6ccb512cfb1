"""The contract of questions, run on an example of every kind, and on some that break it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from understudy.errors import InternalError
from understudy.privacy import Budget, Door, Marginal, Mask, Question, Unit, questions
from understudy.privacy.noise import Counts

from . import median
from .questions import (
    CHECKS,
    DOMAIN,
    EXAMPLES,
    TableSource,
    counts_of_any_size_are_taken,
    it_resumes_from_its_record,
    the_cost_covers_what_neighbours_do,
)


@pytest.mark.promise(4)
@pytest.mark.promise(5)
@pytest.mark.promise(8)
@pytest.mark.promise(9)
@pytest.mark.promise(11)
@pytest.mark.promise(17)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", EXAMPLES)
def test_a_question_keeps_the_contract(name: str, check: Callable[[Question[Any]], None]) -> None:
    check(EXAMPLES[name])


def test_every_kind_of_question_has_an_example() -> None:
    kinds = {k for k in vars(questions).values() if inspect.isclass(k) and issubclass(k, Question) and k is not Question}
    assert kinds <= {type(example) for example in EXAMPLES.values()}


def test_a_new_kind_of_question_takes_one_short_file() -> None:
    """Nothing in the package knows the median; it is in the suite by one line."""
    text = Path(median.__file__).read_text(encoding="utf-8")
    assert len(text.splitlines()) < 60
    assert not hasattr(questions, "Median")
    found = Door(TableSource(DOMAIN, [(2, 0, 0)] * 500), Budget.of(rho=10)).ask(median.Median("age", 1.0))
    assert found.code == 2, "false alarm: below 1e-50"


# Questions that break it are found out.


@dataclass(frozen=True)
class Understated(Marginal):
    """States half the sensitivity, and charges for it."""

    def mask(self, unit: Unit) -> Mask:
        found = super().mask(unit)
        return replace(found, sensitivity=found.sensitivity / 2)  # type: ignore[arg-type]

    def cost(self, unit: Unit) -> Any:
        return super().cost(unit) / 2


@dataclass(frozen=True)
class Occupied(Marginal):
    """Answers with occupied cells alone: how many there are is free."""

    def exact(self, counts: Sequence[Counts]) -> Counts:
        return counts[0][counts[0] > 0]


@dataclass(frozen=True)
class Doubled(Marginal):
    """Wraps round at the end of int64, and back."""

    def exact(self, counts: Sequence[Counts]) -> Counts:
        return counts[0] // 2 + np.where(counts[0] > 2**62, np.int64(-(2**61)), 0)


@dataclass(frozen=True)
class Forgetful(Marginal):
    """Takes any answer on record for its own."""

    def size(self, domain: Any) -> Any:
        return _Any()


class _Any:
    def __eq__(self, other: object) -> bool:
        return True

    def __ne__(self, other: object) -> bool:
        return False

    __hash__ = None  # type: ignore[assignment]


BROKEN: list[tuple[Question[Any], Callable[[Question[Any]], None]]] = [
    (Understated(("age",), 3.0), the_cost_covers_what_neighbours_do),
    (Occupied(("age",), 3.0), the_cost_covers_what_neighbours_do),
    (Doubled(("age",), 3.0), counts_of_any_size_are_taken),
    (Forgetful(("age",), 3.0), it_resumes_from_its_record),
]


@pytest.mark.parametrize(("question", "check"), BROKEN, ids=lambda value: getattr(value, "__name__", type(value).__name__))
def test_a_broken_question_is_found_out(question: Question[Any], check: Callable[[Question[Any]], None]) -> None:
    with pytest.raises((AssertionError, ValueError, pytest.fail.Exception)):
        check(question)


@pytest.mark.promise(12)
def test_the_door_itself_refuses_an_answer_of_another_size() -> None:
    with pytest.raises(InternalError, match="another number of answers"):
        Door(TableSource(DOMAIN, [(0, 0, 0)]), Budget.of(rho=10)).ask(Occupied(("age",), 3.0))
