"""Record a run on one table, replay it on a neighbour with every noisy answer frozen, and list how the two differ.

A run that keeps its promise differs in nothing but the exact numbers that the noise was given, and those by no more than
was paid for. What is paid for is checked against what the neighbours really cost, not against what the code declares.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from understudy.privacy import Charge, ResearchNoise, SecureNoise, Unit, distances_cost, gaussian_cost

Kind = Literal["gaussian", "laplace", "select"]


@dataclass(frozen=True, eq=False)
class Draw:
    """One use of the noise: what it was given, and what it answered."""

    kind: Kind
    exact: NDArray[np.int64]
    scale: float
    answer: Any

    @property
    def asked(self) -> tuple[Kind, tuple[int, ...], float]:
        """What may be compared between neighbours."""
        return self.kind, self.exact.shape, self.scale


@dataclass
class Tape:
    """Stands in for the secure generator. Without ``frozen`` it draws from a seeded one; with it, it plays back."""

    seed: int = 0
    frozen: Sequence[Draw] | None = None
    draws: list[Draw] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._noise = ResearchNoise(self.seed)

    def draw(self, kind: Kind, exact: NDArray[np.int64], scale: float) -> Any:
        """Answer, and remember the question."""
        answer = self._answer(kind, exact, scale)
        self.draws.append(Draw(kind, exact.copy(), scale, answer))
        return answer.copy() if isinstance(answer, np.ndarray) else answer

    def _answer(self, kind: Kind, exact: NDArray[np.int64], scale: float) -> Any:
        if self.frozen is None:
            return getattr(self._noise, kind)(exact, scale)
        at = len(self.draws)
        if at >= len(self.frozen) or self.frozen[at].asked != (kind, exact.shape, scale):
            raise Parted(f"question {at + 1} is {kind} of shape {exact.shape} at scale {scale}, which was not asked before")
        return self.frozen[at].answer

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let every secure generator in this process answer from here; a door still takes it for the secure one."""
        for kind in ("gaussian", "laplace", "select"):
            monkeypatch.setattr(SecureNoise, kind, self._method(kind))

    def _method(self, kind: Any) -> Callable[..., Any]:
        return lambda _, exact, scale: self.draw(kind, exact, scale)


class Parted(AssertionError):
    """A replay asked what the recording had not asked."""


def frozen_entropy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make random names, seeds, dates and times repeat: what is left to differ then comes from the table."""
    rng = np.random.default_rng(0)
    monkeypatch.setattr("os.urandom", rng.bytes)
    monkeypatch.setattr("random._urandom", rng.bytes)
    monkeypatch.setattr("understudy.model.estimation.time.perf_counter", lambda: 0.0)
    monkeypatch.setattr("understudy.ledger.store.now", lambda: "2026-01-01T00:00:00.000Z")
    # The one thing in an unfinished run's ledger that is of the table, under a key: the owner's alone, and not released.
    monkeypatch.setattr("understudy.privacy.door.fingerprint", lambda *_: bytes(32))


def timeless(event: Any) -> Any:
    """Return an event without its times, which depend on the machine."""
    if is_dataclass(event) and any(f.name == "seconds" for f in fields(event)):
        return replace(event, seconds=0.0)  # type: ignore[type-var]
    return event


def cost(recorded: Draw, replayed: Draw) -> Fraction:
    """Return what telling these two apart really costs, in rho, exactly.

    Gaussian: ‖Δ‖₂² / 2σ². Laplace: (‖Δ‖₁ / b)² / 2. Selection with P ∝ exp(score / s): bounded range, η²/8 with η the range
    of the scores' changes over s, whichever way each moves.
    """
    moved = [int(a) - int(b) for a, b in zip(recorded.exact.flat, replayed.exact.flat, strict=True)]
    scale = Fraction(recorded.scale)
    if recorded.kind == "gaussian":
        return sum(m * m for m in moved) / (2 * scale**2)
    if recorded.kind == "laplace":
        return (sum(map(abs, moved)) / scale) ** 2 / 2
    return ((max(moved) - min(moved)) / scale) ** 2 / 8


def differences(
    recorded: Sequence[Draw],
    replayed: Sequence[Draw],
    charges: Sequence[Fraction],
    unit: Unit,
    linear: Collection[int] = (),
) -> list[str]:
    """List every question that was not asked again, or that moved by more than was paid for, or than is declared.

    ``linear`` are the numbers of those that are linear queries: these have a sensitivity of their own, so that what was paid
    for says all.
    """
    found = []
    if [d.asked for d in recorded] != [d.asked for d in replayed]:
        return ["the questions differ in number, kind, shape or scale"]
    if len(charges) != len(recorded):
        found.append(f"{len(recorded)} answers were drawn and {len(charges)} paid for")
    for at, (a, b, paid) in enumerate(zip(recorded, replayed, charges, strict=False), start=1):
        real = cost(a, b)
        if real > paid:
            found.append(f"answer {at} ({a.kind}) cost {float(real):.6g} and {float(paid):.6g} was paid")
        moved = [abs(int(x) - int(y)) for x, y in zip(a.exact.flat, b.exact.flat, strict=True)]
        if a.kind != "select" and at not in linear and not _declared(moved, unit, a, paid):
            found.append(f"answer {at} ({a.kind}) moved by more than the unit says")
    return found


def _declared(moved: Sequence[int], unit: Unit, draw: Draw, paid: Fraction) -> bool:
    """Whether a marginal moved by no more than its unit says, or of distances, which are paid for one by one, each did."""
    if draw.kind == "gaussian" and paid == distances_cost(draw.scale, len(moved), unit) != gaussian_cost(draw.scale, unit):
        return max(moved) <= unit.score
    return sum(moved) <= unit.l1 and sum(m * m for m in moved) <= unit.l2_squared


def paid(charges: Sequence[Charge]) -> list[Fraction]:
    """Return the amounts."""
    return [charge.rho for charge in charges]
