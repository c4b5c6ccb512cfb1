"""The texts of a column that many people share, by a noisy histogram with a threshold.

May see private counts, on their way to the noise. What is not shared by many is not told, but by a chance of ``delta``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from statistics import NormalDist
from typing import Any

import numpy as np

from understudy.domain import Domain
from understudy.errors import BudgetError
from understudy.privacy.cost import gaussian_cost, positive
from understudy.privacy.noise import Counts
from understudy.privacy.questions.base import Asked, Mask, Receipt
from understudy.privacy.unit import Unit


@dataclass(frozen=True, eq=False)
class SharedTexts:
    """Texts, in alphabetical order, with their noisy counts; none of these is below ``threshold``."""

    texts: tuple[str, ...]
    values: Counts
    threshold: int
    rho: Fraction
    private: bool


@dataclass(frozen=True)
class Shared(Asked[SharedTexts]):
    """Asks for the texts of ``attribute`` that many rows have, with Gaussian noise of scale ``sigma`` on each count.

    Costs as much as a marginal, and ``delta``: the chance that a text is told which one unit of privacy alone has. A text
    that others have too is protected by the noise.
    """

    attribute: str
    sigma: float
    delta: float

    def __post_init__(self) -> None:
        """Refuse noise and chances that do not exist."""
        object.__setattr__(self, "sigma", float(positive(self.sigma, "sigma")))
        if not 0 < self.delta < 1:
            raise BudgetError(f"delta must lie strictly between 0 and 1, not {self.delta!r}.")

    @property
    def purpose(self) -> str:
        """As in ``texts of (town) that many share, gaussian noise of scale 30, delta 1e-12``."""
        return (
            f"texts of ({self.attribute}) that many share, gaussian noise of scale {self.sigma:.6g}, delta {self.delta:.3g}"
        )

    def terms(self, unit: Unit) -> Mapping[str, Any]:
        """Return all that makes it this question and no other."""
        return {"shared": self.attribute, "sigma": self.sigma.hex(), "delta": self.delta.hex()}

    def cost(self, unit: Unit) -> Fraction:
        """Return what it costs in zCDP, beside ``delta``: neighbours move the counts as those of any marginal."""
        return gaussian_cost(self.sigma, unit)

    def mask(self, unit: Unit) -> Mask:
        """Return the noise on the count of each text."""
        return Mask("gaussian", self.sigma, unit.l2_squared)

    def threshold(self, unit: Unit) -> int:
        """Return the smallest noisy count that is told.

        A text that only one unit of privacy has counts at most ``unit.rows``, and there are at most ``unit.l1`` of them. The
        discrete Gaussian reaches a whole number m with at most the chance that the normal distribution has of reaching m - 1
        (docs/privacy.md): together at most ``delta``.
        """
        far = max(-NormalDist().inv_cdf(self.delta / unit.l1), 0.0) * (1 + 1e-9)  # above what its last digits may be off
        return unit.rows + ceil(self.sigma * far) + 1

    def rare(self, unit: Unit, chance: float) -> int:
        """Return how many rows a text may have at most to be told with no more than ``chance``: by noise alone."""
        far = max(-NormalDist().inv_cdf(chance), 0.0) * (1 + 1e-9)
        return max(self.threshold(unit) - 1 - ceil(self.sigma * far), 0)

    def require(self, domain: Domain) -> None:
        """Refuse an attribute that is not there."""
        domain.index(self.attribute)

    def told(self, texts: Sequence[str], noisy: Counts, unit: Unit) -> Counts:
        """Return what may be told, as whole numbers: the texts whose noisy counts reach the threshold, and these."""
        told = [(text, int(value)) for text, value in zip(texts, noisy, strict=True) if value >= self.threshold(unit)]
        return packed(told)

    def fits(self, outcome: Counts) -> bool:
        """Whether an outcome on record holds texts with their counts."""
        try:
            return all(isinstance(text, str) and isinstance(value, int) for text, value in _unpacked(outcome))
        except (ValueError, TypeError):
            return False

    def answer(self, outcome: Counts, receipt: Receipt) -> SharedTexts:
        """Return the texts, with their noisy counts."""
        told = _unpacked(outcome)
        values = np.array([value for _, value in told], np.int64)
        values.setflags(write=False)
        texts = tuple(text for text, _ in told)
        return SharedTexts(texts, values, self.threshold(receipt.unit), receipt.rho, receipt.private)


def packed(told: Any) -> Counts:
    """Return what is told, of texts and whole numbers, as whole numbers."""
    content = json.dumps(told).encode()
    return np.frombuffer(content + b" " * (-len(content) % 8), dtype="<i8").astype(np.int64)


def unpacked(outcome: Counts) -> Any:
    """Return what ``packed`` was given."""
    return json.loads(outcome.astype("<i8").tobytes())


def _unpacked(outcome: Counts) -> list[tuple[str, int]]:
    return [(text, value) for text, value in unpacked(outcome)]
