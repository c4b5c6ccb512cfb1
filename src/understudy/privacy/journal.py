"""What a door tells before an answer leaves it: the question, its cost, the noisy outcome. Kept, a run can resume.

Public: a request holds parameters, an outcome is noisy and paid for. No exact count ever comes here; what is computed from
exact counts is a fingerprint under a secret key, which is for the owner's ledger alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from understudy.privacy.noise import Counts


@dataclass(frozen=True)
class Inquiry:
    """A question to a door, and all that makes it this one and no other (estimates apart: they follow from answers)."""

    cost: Fraction
    purpose: str
    terms: Mapping[str, Any]

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of the question, every digit of it."""
        text = json.dumps([hex_fraction(self.cost), self.purpose, self.terms], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


def hex_fraction(value: Fraction) -> str:
    """Write a fraction exactly, however many digits it has."""
    return f"{value.numerator:x}/{value.denominator:x}"


class Journal(Protocol):
    """Keeps a run's answers, durably and in order. Of a run that is resumed, it gives the first ones back."""

    @property
    def keeps(self) -> bool:
        """Whether anything is kept: where nothing is, nobody need prepare it."""
        ...

    @property
    def bound(self) -> bool:
        """Whether the run goes on, and must be with the table that is on record."""
        ...

    def bind(self, fingerprint: Callable[[bytes], bytes]) -> None:
        """Keep the table's fingerprint under a fresh key; or compare it with the one on record, and raise if they differ.

        Told at the first read, before anything is drawn. ``fingerprint`` gives it for a key.
        """
        ...

    def recall(self, request: Inquiry) -> Counts | None:
        """Return what was answered when this was asked before, flat; None when it was never asked. Other questions fail."""
        ...

    def commit(self, request: Inquiry, outcome: Counts) -> None:
        """Put an answer on record for good, or raise: an answer may leave the door only after this returned."""
        ...

    def note(self, name: str, make: Callable[[], bytes], *, large: bool = False) -> bytes | None:
        """Return what the run noted under ``name`` when it came here first, or make and keep it now.

        For public values that answers alone do not determine, or that are costly to compute again. A ``large`` one is
        kept at once, and may be let go later: then None comes back.
        """
        ...

    def discard(self, names: Iterable[str]) -> None:
        """Allow large notes to be dropped: nobody will ask for what is in them."""
        ...


class NoJournal:
    """Keeps nothing."""

    keeps = bound = False

    def bind(self, fingerprint: Callable[[bytes], bytes]) -> None:
        """Nothing goes on."""

    def recall(self, request: Inquiry) -> Counts | None:
        """Nothing was asked before."""
        return None

    def commit(self, request: Inquiry, outcome: Counts) -> None:
        """Keep nothing."""

    def note(self, name: str, make: Callable[[], bytes], *, large: bool = False) -> bytes | None:
        """Make it, every time."""
        return make()

    def discard(self, names: Iterable[str]) -> None:
        """Nothing is held."""
