"""A linear query of a marginal with noise on each answer. May see exact answers, on their way to the noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from understudy.domain import Clique, Domain
from understudy.errors import WorkloadError
from understudy.privacy.cost import positive, root_above
from understudy.privacy.maps import LinearMap
from understudy.privacy.noise import Counts, NoiseKind
from understudy.privacy.questions.base import Mask, Question, Receipt
from understudy.privacy.questions.marginal import Measurement, checked_scale, require_order
from understudy.privacy.unit import Unit


@dataclass(frozen=True, eq=False)
class Linear(Question[Measurement]):
    """Asks for ``query`` of the marginal on ``clique``, with noise of ``scale`` on each answer.

    Costs ``l2² / (2 scale²)`` with Gaussian noise and ``(l1 / scale)² / 2`` with Laplace noise, where l1 and l2 are how far
    a neighbour moves the answers.
    """

    clique: Clique
    query: LinearMap
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
        """As in ``measure 12 sums (prefix-sums) of (age), gaussian noise of scale 3``."""
        number = self.query.answers
        what = f"{number} sum{'' if number == 1 else 's'} ({self.query.kind}) of ({', '.join(self.clique)})"
        return f"measure {what}, {self.noise} noise of scale {self.scale:.6g}"

    def terms(self, unit: Unit) -> Mapping[str, Any]:
        """Return clique, map and noise."""
        return {"linear": self.clique, "query": self.query.described, "noise": self.noise, "scale": self.scale.hex()}

    def cost(self, unit: Unit) -> Fraction:
        """Return the cost of the answers together."""
        scale = Fraction(self.scale)
        if self.noise == "gaussian":
            return self.query.l2_squared(unit) / (2 * scale**2)
        return (self.query.l1(unit) / scale) ** 2 / 2

    def mask(self, unit: Unit) -> Mask:
        """Return the noise on each answer."""
        moved = self.query.l2_squared(unit) if self.noise == "gaussian" else self.query.l1(unit)
        return Mask(self.noise, self.scale, moved)

    def require(self, domain: Domain) -> None:
        """Refuse attributes that are not there, and a map of another marginal."""
        require_order(self.clique, domain, "Marginal")
        if self.query.shape != domain.shape(self.clique):
            raise WorkloadError(f"The query is of a marginal of shape {self.query.shape}, not {domain.shape(self.clique)}.")

    def exact(self, counts: Sequence[Counts]) -> Counts:
        """Return the exact answers."""
        return self.query.exact(counts[0])

    def size(self, domain: Domain) -> int:
        """Return the number of answers."""
        return self.query.answers

    def answer(self, outcome: Counts, receipt: Receipt) -> Measurement:
        """Return the noisy answers with the query that they answer."""
        return Measurement(self.clique, outcome, self.noise, self.scale, receipt.rho, receipt.private, self.query)


def linear_scale_for(rho: Fraction, query: LinearMap, noise: NoiseKind, unit: Unit) -> float:
    """Return the least scale of noise at which ``query`` costs at most ``rho``."""
    moved = query.l2_squared(unit) if noise == "gaussian" else query.l1(unit) ** 2
    return root_above(moved / (2 * positive(rho, "rho")))
