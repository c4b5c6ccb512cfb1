"""What a question to a door is: which counts it reads, what it costs, which noise hides them, what the answer is.

May see private counts, in ``exact`` alone. The door adds the noise, so that no question can leave it out.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Generic, Literal, TypeVar

from understudy.domain import Clique, Domain
from understudy.privacy.noise import Counts
from understudy.privacy.unit import Unit

A_co = TypeVar("A_co", covariant=True)


@dataclass(frozen=True)
class Mask:
    """The noise that hides exact numbers.

    gaussian, laplace: discrete noise of ``scale`` on each number. selection: one of their places, drawn by the exponential
    mechanism with P(i) ∝ exp(number[i] / scale); ``draws`` of them, each among those that are left.
    """

    kind: Literal["gaussian", "laplace", "selection"]
    scale: float
    sensitivity: int
    """How far the numbers may move between neighbours: in squared L2 (gaussian), in L1 (laplace), each (selection)."""
    draws: int = 1
    """How often the noise is drawn for the same numbers; each draw costs as much as the first."""


@dataclass(frozen=True)
class Receipt:
    """What an answer says about how it was made: the door's table, its unit, what was paid, whether it is private."""

    domain: Domain
    unit: Unit
    rho: Fraction
    private: bool


class Question(ABC, Generic[A_co]):
    """A question that a door can answer; what it knows is public. ``A_co`` is what its asker gets.

    A new kind of question is a subclass in a file of its own. ``tests/contracts/questions.py`` has an example of each,
    and the contract suite tries it: that its cost covers what neighbours do to ``exact``, among other things.
    """

    @property
    @abstractmethod
    def reads(self) -> tuple[Clique, ...]:
        """The marginals whose counts it reads."""

    @property
    @abstractmethod
    def purpose(self) -> str:
        """What it is for, in words: for the ledger, and for messages."""

    @abstractmethod
    def terms(self, unit: Unit) -> Mapping[str, Any]:
        """Return all that makes it this question and no other, as plain data: an answer on record is known by it."""

    @abstractmethod
    def cost(self, unit: Unit) -> Fraction:
        """Return what it costs in zCDP (rho), exactly. The door compares it with what OpenDP states for ``mask``."""

    @abstractmethod
    def mask(self, unit: Unit) -> Mask:
        """Return the noise that its exact numbers get."""

    @abstractmethod
    def require(self, domain: Domain) -> None:
        """Refuse what cannot be asked of a table of ``domain``, before anything is paid."""

    @abstractmethod
    def exact(self, counts: Sequence[Counts]) -> Counts:
        """Return the exact numbers (int64) from the counts of ``reads``: what the noise is added to. Private.

        How far they move between neighbours is what ``mask`` states. It must not fail, whatever the counts are.
        """

    @abstractmethod
    def size(self, domain: Domain) -> int:
        """Return how many numbers the noisy outcome has: 1 for each selection."""

    def fits(self, outcome: Counts) -> bool:
        """Whether a noisy outcome on record, of the right size, can be this question's."""
        return True

    @abstractmethod
    def answer(self, outcome: Counts, receipt: Receipt) -> A_co:
        """Return what the asker gets, from the noisy outcome (flat, read-only)."""
