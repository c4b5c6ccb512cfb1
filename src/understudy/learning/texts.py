"""The texts of all columns that have texts, learnt together in rounds: first what very many rows share, then the rest.

Sees no counts: it holds a door. All that it does follows from the door's answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import prod

from understudy.privacy import WHOLE, Door, Rest, sigma_for
from understudy.privacy.cost import float_below

ROUNDS = (Fraction(1, 20), Fraction(3, 16), Fraction(1))
"""Of what is left, for each round. Most rows have texts that very many share, which little tells; they then count only for
their other texts, which are few."""

LEAST = 0.1
"""Of all rows, at least so many are taken to count for columns of which nothing is known."""


@dataclass
class Texts:
    """What was told of a column: its texts, and about how many rows have them. The empty text is a missing value."""

    values: list[str] = field(default_factory=list)
    rows: float = 0.0


def learn_texts(
    door: Door, columns: Mapping[str, float], found: Mapping[str, Texts], delta: float
) -> tuple[Mapping[str, Texts], list[Rest]]:
    """Add the texts of ``columns`` to those that were ``found``, for all that the door has left; return what was asked, too.

    About so many rows have a text in each column, as noisy counts tell.
    """
    asked: list[Rest] = []
    for share in ROUNDS if columns else ():
        known = tuple((name, tuple(one.values)) for name, one in found.items())
        sigma = sigma_for(door.filter.remaining * share, door.unit)
        asked.append(Rest(known, sigma, float_below(Fraction(delta) / len(ROUNDS))))
        told, parts = door.ask(asked[-1]), _parts(columns, found)
        for (column, text), value in zip(told.texts, told.values.tolist(), strict=True):
            found[column].values.append(text)
            found[column].rows += value / WHOLE / parts[column] if text else 0.0
    return found, asked


def _parts(columns: Mapping[str, float], found: Mapping[str, Texts]) -> dict[str, float]:
    """Return about how much a row counts for a new text of each column, if columns were independent."""
    new = {name: min(max(1 - found[name].rows / max(columns[name], 1.0), 0.0), 1.0) for name in columns}
    begun = {name: share for name, share in new.items() if found[name].values}
    none = max(prod(1 - share for share in begun.values()), LEAST)
    fresh = none / max(len(new) - len(begun), 1) ** 0.5
    return {name: (1 + sum(begun.values()) - begun[name]) ** -0.5 if name in begun else fresh for name in columns}
