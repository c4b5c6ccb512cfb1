"""A marginal with noise on each cell. May see private counts, on their way to the noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import exp, sinh, sqrt
from typing import Any

from understudy.domain import Clique, Domain
from understudy.errors import BudgetError, WorkloadError, did_you_mean
from understudy.privacy.cost import gaussian_cost, laplace_cost, positive
from understudy.privacy.maps import LinearMap
from understudy.privacy.noise import Counts, NoiseKind
from understudy.privacy.questions.base import Mask, Question, Receipt
from understudy.privacy.unit import Unit


@dataclass(frozen=True, eq=False)
class Measurement:
    """A noisy marginal, or a linear query of one, and all that is public about how it was made."""

    clique: Clique
    values: Counts
    """Shaped as the marginal, or flat for a query; may be negative."""
    noise: NoiseKind
    scale: float
    """The parameter of the noise: sigma of a discrete Gaussian, b of a discrete Laplace."""
    rho: Fraction
    private: bool
    """False when the noise came from a seeded generator."""
    query: LinearMap | None = None
    """What ``values`` answer about the marginal; None: its cells."""

    @property
    def sigma(self) -> float:
        """The standard deviation of the noise on each value."""
        return gaussian_deviation(self.scale) if self.noise == "gaussian" else laplace_deviation(self.scale)


@dataclass(frozen=True)
class Marginal(Question[Measurement]):
    """Asks for the marginal on ``clique`` with noise of ``scale`` on each cell.

    Costs ``unit.l2_squared / (2 scale²)`` with Gaussian noise, ``(unit.l1 / scale)² / 2`` with Laplace noise.
    """

    clique: Clique
    scale: float
    noise: NoiseKind = "gaussian"

    def __post_init__(self) -> None:
        """Refuse a scale or a noise that does not exist."""
        object.__setattr__(self, "scale", checked_scale(self.scale, self.noise))

    @property
    def reads(self) -> tuple[Clique, ...]:
        """The marginal."""
        return (self.clique,)

    @property
    def purpose(self) -> str:
        """As in ``measure (age, sex), gaussian noise of scale 3``."""
        return f"measure ({', '.join(self.clique)}), {self.noise} noise of scale {self.scale:.6g}"

    def terms(self, unit: Unit) -> Mapping[str, Any]:
        """Return clique and noise."""
        return {"measure": self.clique, "noise": self.noise, "scale": self.scale.hex()}

    def cost(self, unit: Unit) -> Fraction:
        """Return the cost of a marginal."""
        return (gaussian_cost if self.noise == "gaussian" else laplace_cost)(self.scale, unit)

    def mask(self, unit: Unit) -> Mask:
        """Return the noise on each cell."""
        return Mask(self.noise, self.scale, unit.l2_squared if self.noise == "gaussian" else unit.l1)

    def require(self, domain: Domain) -> None:
        """Refuse attributes that are not there, or not in the order of the schema."""
        require_order(self.clique, domain, "Marginal")

    def exact(self, counts: Sequence[Counts]) -> Counts:
        """Return the counts."""
        return counts[0]

    def size(self, domain: Domain) -> int:
        """Return the number of cells."""
        return domain.cells(self.clique)

    def answer(self, outcome: Counts, receipt: Receipt) -> Measurement:
        """Return the noisy counts in the marginal's shape."""
        values = outcome.reshape(receipt.domain.shape(self.clique))
        return Measurement(self.clique, values, self.noise, self.scale, receipt.rho, receipt.private)


def checked_scale(scale: object, noise: str) -> float:
    """Return the scale of Gaussian or Laplace noise as a float; anything else is refused."""
    if noise not in ("gaussian", "laplace"):
        hint = did_you_mean(str(noise), ("gaussian", "laplace"))
        raise BudgetError(f'There is no noise called "{noise}"; choose "gaussian" or "laplace".{hint}')
    return float(positive(scale, "The scale of the noise"))


def require_order(clique: Clique, domain: Domain, what: str) -> None:
    """Refuse a clique whose attributes are not there, or not in the order of the schema."""
    places = [domain.index(attribute) for attribute in clique]
    if any(a >= b for a, b in pairwise(places)):
        raise WorkloadError(f"{what} ({', '.join(clique)}) is not in the order of the schema; make it with Domain.clique.")


def gaussian_deviation(sigma: float) -> float:
    """Return the standard deviation of the discrete Gaussian of scale ``sigma``: a little less, when that is
    small.
    """
    if sigma > 4:  # the difference is below 1e-130 relatively
        return sigma
    weight = [(k, exp(-(k * k) / (2 * sigma * sigma))) for k in range(1, 160)]
    return sqrt(2 * sum(k * k * p for k, p in weight) / (1 + 2 * sum(p for _, p in weight)))


def laplace_deviation(scale: float) -> float:
    """Return the standard deviation of the discrete Laplace of ``scale`` b: 1 / (√2 sinh(1 / 2b))."""
    return 0.0 if scale < 1e-3 else 1 / (sqrt(2) * sinh(1 / (2 * scale)))
