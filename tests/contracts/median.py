"""A kind of question that the package does not have, to show what one takes: a private median, in this file alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from understudy.domain import Clique, Domain
from understudy.privacy import Mask, Question, Receipt, Unit, selection_cost
from understudy.privacy.cost import float_above
from understudy.privacy.noise import Counts


@dataclass(frozen=True)
class MiddleCode:
    code: int
    rho: Fraction
    private: bool


@dataclass(frozen=True)
class Median(Question[MiddleCode]):  # a code with about as many records below as above
    attribute: str
    epsilon: float

    @property
    def reads(self) -> tuple[Clique, ...]:
        return ((self.attribute,),)

    @property
    def purpose(self) -> str:
        return f"median of {self.attribute}, epsilon = {self.epsilon:.6g}"

    def terms(self, unit: Unit) -> Mapping[str, Any]:
        return {"median": self.attribute, "epsilon": self.epsilon.hex()}

    def cost(self, unit: Unit) -> Fraction:
        return selection_cost(self.epsilon)

    def mask(self, unit: Unit) -> Mask:  # a record moves "below less above" by one, a replaced one by two
        return Mask("selection", float_above(2 * unit.l1 / Fraction(self.epsilon)), unit.l1)

    def require(self, domain: Domain) -> None:
        domain.clique((self.attribute,))

    def exact(self, counts: Sequence[Counts]) -> Counts:
        cells = [int(c) for c in counts[0]]
        return np.array([-min(abs(sum(cells[:i]) - sum(cells[i + 1 :])), 2**62) for i in range(len(cells))], np.int64)

    def size(self, domain: Domain) -> int:
        return 1

    def answer(self, outcome: Counts, receipt: Receipt) -> MiddleCode:
        return MiddleCode(int(outcome[0]), receipt.rho, receipt.private)
