"""What a run spent outside of its rounds. Public: from the manifest alone."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from understudy.manifest import Manifest


@dataclass(frozen=True)
class Spending:
    """What was spent outside of rounds, in rho."""

    measuring: float
    """On marginals that no round chose: before the first one, and in some runs once more after the last."""
    opening: float
    """On the values of open columns."""
    inside: float
    """On where values lie inside their bins, and what they add up to."""
    checking: float
    """On a last look at the finished model."""

    @classmethod
    def of(cls, manifest: Manifest) -> Spending:
        """Read off what each part cost; what is left was spent on measurements."""
        checking = manifest.check.rho.fraction if manifest.check else Fraction(0)
        looked = sum((entry.rho.fraction for entry in manifest.inside), Fraction(0))
        inside = sum((entry.rho.fraction for entry in manifest.sums), looked)
        opening = sum((entry.rho.fraction for entry in manifest.opened), Fraction(0))
        rounds = sum((entry.rho.fraction for entry in manifest.rounds), Fraction(0))
        measuring = manifest.privacy.spent.fraction - rounds - inside - checking - opening
        return cls(float(measuring), float(opening), float(inside), float(checking))
