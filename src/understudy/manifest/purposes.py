"""What each charge was for, as the card lists it: no two lines alike, and with the unit of the noise.

Public: made of the purposes on record, which stay as they are, for runs are resumed by them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

_NOISE = re.compile(r"(?P<what>.*), (?P<noise>(?:gaussian|laplace) noise of scale [^ ,]+)(?P<rest>.*)", re.DOTALL)
_SUMS = re.compile(r"measure \d+ sums? \((?P<kind>[^)]+)\) of ")
_ROWS = ("groups", "prefix-sums")
"""Sums in which a row counts once: their noise is in rows, that of others in the units of their weights."""
_LOOKS = ("finer bin by finer bin", "once more, number by number where a finer bin has many rows")


def purposes_told(purposes: Sequence[str]) -> list[str]:
    """Return each purpose with what tells it from the others, and with the unit of its noise."""
    seen: Counter[str] = Counter()
    found = []
    for purpose in purposes:
        whole, kind = _NOISE.fullmatch(purpose), _kind(purpose)
        what, noise = (purpose, "") if whole is None else (whole["what"], f", {whole['noise']} {_unit(kind)}{whole['rest']}")
        if kind == "groups":
            subject = what.partition(" of ")[2]
            what += f", {_LOOKS[min(seen[subject], 1)]}"
            seen[subject] += 1
        told = what + noise
        seen[told] += 1
        found.append(told if seen[told] == 1 else f"{told} (time {seen[told]})")
    return found


def _kind(purpose: str) -> str | None:
    """Return of which kind the sums are that were measured; None where none were."""
    sums = _SUMS.match(purpose)
    return None if sums is None else sums["kind"]


def _unit(kind: str | None) -> str:
    return "rows" if kind is None or kind in _ROWS else "in units of its weights"
