"""The texts of several columns that many rows share, beside those that are known, by one histogram with a threshold.

May see private counts, on their way to the noise. What is not shared by many is not told, but by a chance of ``delta``.
"""

from __future__ import annotations

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
from understudy.privacy.questions.shared import packed, unpacked
from understudy.privacy.unit import Unit

WHOLE = 2**10
"""A row that counts for one text alone counts as much; all counts are in such parts of a row."""
Text = tuple[str, str]
"""A column, and a text of it."""


@dataclass(frozen=True, eq=False)
class RestTexts:
    """Texts that were not known, in alphabetical order by column, and how many rows count for each, with noise."""

    texts: tuple[Text, ...]
    values: Counts
    """In parts of a row: ``WHOLE`` is one."""
    rho: Fraction
    private: bool


@dataclass(frozen=True, eq=False)
class Rest(Asked[RestTexts]):
    """Asks for the texts of the columns of ``known`` that many rows have, beside those that are known of each.

    Gaussian noise of ``sigma`` rows is added to each count. All columns together cost as much as a marginal, and ``delta``:
    a row counts for its texts that are not known in parts the squares of which add up to one at most.
    """

    known: tuple[tuple[str, tuple[str, ...]], ...]
    sigma: float
    delta: float

    def __post_init__(self) -> None:
        """Refuse noise and chances that do not exist, and a question about nothing."""
        object.__setattr__(self, "sigma", float(positive(self.sigma, "sigma")))
        if not 0 < self.delta < 1:
            raise BudgetError(f"delta must lie strictly between 0 and 1, not {self.delta!r}.")
        names = [name for name, _ in self.known]
        if not names or len({*names}) < len(names):
            raise BudgetError("Ask for one column or more, each named once.")

    @property
    def purpose(self) -> str:
        """As in ``texts of (town, ward) that many share, beside 3 known ones, gaussian noise of scale 30, delta 1e-12``."""
        columns, known = ", ".join(name for name, _ in self.known), sum(len(texts) for _, texts in self.known)
        noise = f"gaussian noise of scale {self.sigma:.6g}, delta {self.delta:.3g}"
        return f"texts of ({columns}) that many share, beside {known} known ones, {noise}"

    def terms(self, unit: Unit) -> Mapping[str, Any]:
        """Return all that makes it this question and no other."""
        known = [[name, *texts] for name, texts in self.known]
        return {"rest": known, "sigma": self.sigma.hex(), "delta": self.delta.hex()}

    def cost(self, unit: Unit) -> Fraction:
        """Return what it costs in zCDP, beside ``delta``.

        In units of rows, the counts of one row are a vector without negative numbers, of length one at most, which follows
        from that row and from earlier answers. All rows of a unit add up to length ``unit.rows`` at most; as many rows
        replaced differ by two such vectors without negative numbers, whose squared distance is at most the sum of their
        squares. So neighbours move these counts by no more than those of a marginal.
        """
        return gaussian_cost(self.sigma, unit)

    def mask(self, unit: Unit) -> Mask:
        """Return the noise on each count, in parts of a row."""
        return Mask("gaussian", self.sigma * WHOLE, unit.l2_squared * WHOLE**2)

    def threshold(self, unit: Unit) -> int:
        """Return the smallest noisy count that is told, in parts of a row.

        A text for which one unit of privacy alone counts has ``unit.rows`` rows at most, and there are at most ``unit.l1``
        of them in each column. The discrete Gaussian reaches a whole number m with at most the chance that the normal
        distribution has of reaching m - 1 (docs/privacy.md): together at most ``delta``.
        """
        far = self._far(self.delta / (unit.l1 * len(self.known)))
        return unit.rows * WHOLE + ceil(self.sigma * WHOLE * far) + 1

    def rare(self, unit: Unit, chance: float) -> int:
        """Return how many rows a text may have at most to be told with no more than ``chance``: by noise alone."""
        return max(self.threshold(unit) - 1 - ceil(self.sigma * WHOLE * self._far(chance)), 0) // WHOLE

    @staticmethod
    def _far(chance: float) -> float:
        """Return how many sigma the normal distribution exceeds with ``chance``, above what its last digits may be off."""
        return max(-NormalDist().inv_cdf(chance), 0.0) * (1 + 1e-9)

    def require(self, domain: Domain) -> None:
        """Refuse columns that are not there."""
        for name, _ in self.known:
            domain.index(name)

    def told(self, texts: Sequence[Text], noisy: Counts, unit: Unit) -> Counts:
        """Return what may be told, as whole numbers: the texts whose noisy counts reach the threshold, and these."""
        least = self.threshold(unit)
        return packed([(text, int(value)) for text, value in zip(texts, noisy, strict=True) if value >= least])

    def fits(self, outcome: Counts) -> bool:
        """Whether an outcome on record holds texts of these columns with their counts."""
        columns = {name for name, _ in self.known}
        try:
            told = [(column in columns, text, value) for (column, text), value in unpacked(outcome)]
        except (ValueError, TypeError):
            return False
        return all(known and isinstance(text, str) and isinstance(value, int) for known, text, value in told)

    def answer(self, outcome: Counts, receipt: Receipt) -> RestTexts:
        """Return the texts, with their noisy counts."""
        told = unpacked(outcome)
        values = np.array([value for _, value in told], np.int64)
        values.setflags(write=False)
        return RestTexts(tuple((column, text) for (column, text), _ in told), values, receipt.rho, receipt.private)
