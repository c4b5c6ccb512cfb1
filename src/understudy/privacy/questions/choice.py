"""Private choices among candidates, by the exponential mechanism. May see private scores, on their way to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from understudy.domain import Clique, Domain
from understudy.errors import WorkloadError
from understudy.privacy.cost import float_above, positive, selection_cost
from understudy.privacy.noise import Counts
from understudy.privacy.questions.base import Mask, Question, Receipt
from understudy.privacy.questions.marginal import require_order
from understudy.privacy.scoring import Candidate, integer_weights, scores
from understudy.privacy.unit import Unit


@dataclass(frozen=True, eq=False)
class Selection:
    """A private choice among candidates, and all that is public about how it was made."""

    index: int
    """Its place among the candidates that were left when it was chosen."""
    clique: Clique
    epsilon: float
    rho: Fraction
    weights: Counts
    """The integer weights actually used, one for each candidate that was left."""
    sensitivity: int
    """How far any score could move between neighbours, in the units of ``weights``."""
    scale: float
    """P(candidate) ∝ exp(score / scale)."""
    private: bool


@dataclass(frozen=True, eq=False)
class Selections:
    """Private choices from the same scores, in their order; ``rho`` is what they cost together."""

    chosen: tuple[Selection, ...]
    rho: Fraction
    private: bool


@dataclass(frozen=True, eq=False)
class Choices(Question[Selections]):
    """Asks for ``number`` of ``candidates``, one after another, each among those that are left, with
    P ∝ exp(epsilon · score / (2 · sensitivity)).

    Costs ``epsilon² / 8`` for each: they compose. The sensitivity is the largest weight times ``unit.score``; the scores
    are not monotone in the table, hence the 2. They are worked out once, which is why this is one question.
    """

    candidates: Sequence[Candidate]
    epsilon: float
    number: int = 1

    def __post_init__(self) -> None:
        """Refuse a choice among nothing, of more than there are, and an epsilon that is none."""
        _ = self.weights
        positive(self.epsilon, "epsilon")
        if not 1 <= self.number <= len(self.candidates):
            raise WorkloadError(
                f"{self.number} of {len(self.candidates)} candidates cannot be chosen: ask for at least one."
            )

    @cached_property
    def weights(self) -> Counts:
        """The integer weights of the candidates."""
        return integer_weights([candidate.weight for candidate in self.candidates])

    @property
    def reads(self) -> tuple[Clique, ...]:
        """The marginals to choose from."""
        return tuple(candidate.clique for candidate in self.candidates)

    @property
    def purpose(self) -> str:
        """As in ``select one of 12 marginals, epsilon = 0.1``."""
        many, each = ("one", "") if self.number == 1 else (str(self.number), " each")
        return f"select {many} of {len(self.candidates)} marginals, epsilon = {float(self.epsilon):.6g}{each}"

    def terms(self, unit: Unit) -> Mapping[str, Any]:
        """Return what was chosen from, and how sharply; estimates follow from earlier answers."""
        penalties = [float(candidate.penalty).hex() for candidate in self.candidates]
        chosen_from = {"select": list(self.reads), "weights": self.weights.tolist(), "penalties": penalties}
        return {**chosen_from, "draws": self.number, "scale": self.mask(unit).scale.hex()}

    def cost(self, unit: Unit) -> Fraction:
        """Return the cost of so many selections, whatever the unit: the scale follows from it."""
        return self.number * selection_cost(self.epsilon)

    def mask(self, unit: Unit) -> Mask:
        """Return the exponential mechanism for these weights."""
        sensitivity = int(self.weights.max()) * unit.score
        scale = float_above(2 * sensitivity / positive(self.epsilon, "epsilon"))
        return Mask("selection", scale, sensitivity, self.number)

    def require(self, domain: Domain) -> None:
        """Refuse candidates that do not fit the table; their estimates are made here at the latest."""
        require_estimates(self.candidates, domain)

    def exact(self, counts: Sequence[Counts]) -> Counts:
        """Return the scores."""
        return scores(counts, self.candidates)

    def size(self, domain: Domain) -> int:
        """Return how many are chosen: the place of each."""
        return self.number

    def fits(self, outcome: Counts) -> bool:
        """Whether they are the places of candidates, no two the same."""
        inside = ((outcome >= 0) & (outcome < len(self.candidates))).all()
        return bool(inside) and np.unique(outcome).size == outcome.size

    def answer(self, outcome: Counts, receipt: Receipt) -> Selections:
        """Return the choices, in their order."""
        mask = self.mask(receipt.unit)
        left, found = np.arange(len(self.candidates)), []
        for place in outcome.tolist():
            found.append(
                Selection(
                    index=int(np.searchsorted(left, place)),
                    clique=self.candidates[place].clique,
                    epsilon=float(self.epsilon),
                    rho=receipt.rho / self.number,
                    weights=self.weights[left],
                    sensitivity=mask.sensitivity,
                    scale=mask.scale,
                    private=receipt.private,
                )
            )
            left = left[left != place]
        return Selections(tuple(found), receipt.rho, receipt.private)


def require_estimates(candidates: Sequence[Candidate], domain: Domain) -> None:
    """Refuse candidates whose clique or estimate is not of ``domain``."""
    for candidate in candidates:
        require_order(candidate.clique, domain, "Candidate")
        if candidate.estimate.shape != domain.shape(candidate.clique):
            name = f"Candidate ({', '.join(candidate.clique)})"
            raise WorkloadError(f"{name}: the estimate's shape {candidate.estimate.shape} is not the marginal's.")
