"""The settings of each mechanism, with the paper's defaults. Public; checked before any spend.

A mechanism has the settings that mean something to it and no others. Each class adds what the next kind of mechanism needs:
noise, then a model, then a check of it, then rounds, then the switches of AIM.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite
from typing import Literal, TypeVar, get_args

from understudy.errors import BudgetError, CapacityError, UserError, did_you_mean
from understudy.privacy import Unit, laplace_scale_for, sigma_for

MEGABYTE = 2**20

Initial = Literal["independent", "uniform"]
CandidateRule = Literal["closure", "workload"]
Growth = Literal["fixed", "auto"]
Criterion = Literal["aim", "mwem"]
NoiseName = Literal["gaussian", "laplace"]
EstimatorName = Literal["pgm", "relaxed", "generator", "regions"]
Zero = TypeVar("Zero")


@dataclass(frozen=True)
class NoiseConfig:
    """Of a mechanism that measures, and makes no model."""

    noise: NoiseName = "gaussian"
    """(B1: laplace.) The unit of privacy (B2) belongs to the door."""
    inside: float = 0.06
    """Share of the budget for where inside their bins the values of columns lie, and what they add up to. Not in the
    paper; 0 for none. Nothing is spent where no column has bins with several values."""

    def __post_init__(self) -> None:
        """Refuse settings that make no sense, by name and value."""
        one_of("noise", self.noise, get_args(NoiseName))
        if not _number(self.inside) or not 0 <= self.inside < 1:
            raise BudgetError(f"inside must be at least 0 and less than 1, not {self.inside!r}.")

    @property
    def for_inside(self) -> Fraction:
        """``inside`` as the decimal that was written."""
        return Fraction(self.inside).limit_denominator(10**9)

    def scale_for(self, rho: Fraction, unit: Unit) -> float:
        """Return the least scale of noise that ``rho`` buys for a marginal."""
        return sigma_for(rho, unit) if self.noise == "gaussian" else laplace_scale_for(rho, unit)

    def enforced(self, declared: Sequence[Zero]) -> Sequence[Zero]:
        """Return the structural zeros that a run keeps to, of those that the schema declares."""
        return declared


@dataclass(frozen=True)
class ModelConfig(NoiseConfig):
    """Of a mechanism that fits a model to what it measures."""

    max_size: int = 80 * MEGABYTE
    """MAX-SIZE: bytes of the junction tree that the model may grow to."""
    zeros: bool = True
    """Enforce structural zeros where the schema declares them."""

    def __post_init__(self) -> None:
        """Refuse settings that make no sense, by name and value."""
        super().__post_init__()
        if not _number(self.max_size) or self.max_size <= 0:
            raise CapacityError(f"max_size must be a number of bytes above 0, not {self.max_size!r}.")

    def enforced(self, declared: Sequence[Zero]) -> Sequence[Zero]:
        """Return what the schema declares, unless ``zeros`` is off."""
        return declared if self.zeros else ()


@dataclass(frozen=True)
class CheckedConfig(ModelConfig):
    """Of a mechanism that looks, at the end, how far its model is from the table."""

    check: float = 0.005
    """Share of the budget that is kept to check the finished model with: bounds rest on it. Not in the paper; 0 for none."""

    def __post_init__(self) -> None:
        """Refuse settings that make no sense, by name and value."""
        super().__post_init__()
        if not _number(self.check) or not 0 <= self.check < 1:
            raise BudgetError(f"check must be at least 0 and less than 1, not {self.check!r}.")

    @property
    def kept(self) -> Fraction:
        """``check`` as the decimal that was written."""
        return Fraction(self.check).limit_denominator(10**9)


@dataclass(frozen=True)
class RoundsConfig(CheckedConfig):
    """Of a mechanism that chooses what to measure, round by round. MWEM+PGM has these."""

    rounds: int | None = None
    """T: 16 per attribute when adaptive, one per attribute when not."""
    alpha: float = 0.9
    """Share of each round that is spent on measuring (B3: 0.5)."""
    time_limit: float | None = None
    """Seconds for the whole run, up to the saved release. One that would go on for longer spends what is left in one last
    round instead. Reading the table comes on top: how long it takes depends on the rows, so the clock stands still then.
    """
    capacity: Growth = "fixed"
    """The model grows towards ``max_size`` as the budget is spent, or (auto) as far as ``time_limit`` allows within it."""

    def __post_init__(self) -> None:
        """Refuse settings that make no sense, by name and value."""
        super().__post_init__()
        if not _number(self.alpha) or not 0 < self.alpha < 1:
            raise BudgetError(f"alpha must lie strictly between 0 and 1, not {self.alpha!r}.")
        if self.rounds is not None and (not whole(self.rounds) or self.rounds < 1):
            raise BudgetError(f"rounds must be a whole number of at least 1, not {self.rounds!r}.")
        if self.time_limit is not None and (not _number(self.time_limit) or self.time_limit < 0):
            raise UserError(f"time_limit must be a number of seconds, not {self.time_limit!r}.")
        one_of("capacity", self.capacity, get_args(Growth))
        if self.capacity == "auto" and self.time_limit is None:
            raise UserError(
                "A model as large as time allows (--max-size auto) needs a limit on the time: --time-limit 10m, say. "
                "Nothing was spent."
            )

    @property
    def share(self) -> Fraction:
        """``alpha`` as the decimal that was written."""
        return Fraction(self.alpha).limit_denominator(10**9)


@dataclass(frozen=True)
class AimConfig(RoundsConfig):
    """Hyper-parameters of Algorithm 1, and the switches of the ablation study (its codes in brackets)."""

    initial: Initial = "independent"
    """Measure all one-way marginals first, or start from the uniform distribution (A1)."""
    candidates: CandidateRule = "closure"
    """Choose from the downward closure of the workload, or from the workload itself (A2)."""
    criterion: Criterion = "aim"
    """Weighted expected improvement, or MWEM's distance less the number of cells (A2)."""
    adaptive: bool = True
    """Anneal the budget of a round, or give each of ``rounds`` rounds the same (A3)."""
    estimator: EstimatorName = "pgm"
    """Fit graphical models; or what has no junction tree: mixtures of products, which are a relaxed table (O1) or what a
    generator network puts out; or regions, marginals that agree where they overlap (AP-PGM)."""

    def __post_init__(self) -> None:
        """Refuse settings that make no sense, by name and value."""
        for name, kind in _CHOICES.items():
            one_of(name, getattr(self, name), get_args(kind))
        super().__post_init__()

    def rounds_for(self, attributes: int) -> int:
        """Return T for a table of so many attributes."""
        if self.rounds is not None:
            return self.rounds
        return (16 if self.adaptive else 1) * attributes


_CHOICES = {"initial": Initial, "candidates": CandidateRule, "criterion": Criterion, "estimator": EstimatorName}


def one_of(name: str, value: object, allowed: tuple[str, ...]) -> None:
    """Refuse a value that is none of those allowed."""
    if value not in allowed:
        hint = did_you_mean(str(value), allowed)
        raise UserError(f'{name} must be one of {", ".join(allowed)}, not "{value}".{hint}')


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def whole(value: object) -> bool:
    """Whether a value is a whole number."""
    return isinstance(value, int) and not isinstance(value, bool)
