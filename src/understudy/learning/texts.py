"""The texts of all columns that have texts, learnt together in rounds: first what very many rows share, then the rest.

Sees no counts: it holds a door. All that it does follows from the door's answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from understudy.privacy import WHOLE, Door, Rest, sigma_for
from understudy.privacy.cost import float_below

ROUNDS = (Fraction(1, 20), Fraction(3, 16), Fraction(1))
"""Of what is left, for each round. Most rows have texts that very many share, which little tells; they then count only for
their other texts, which are few."""


@dataclass
class Texts:
    """What was told of a column: its texts, and about how many rows have them. The empty text is a missing value."""

    values: list[str] = field(default_factory=list)
    rows: float = 0.0


def learn_texts(door: Door, columns: Sequence[str], delta: float) -> tuple[dict[str, Texts], list[Rest]]:
    """Learn the texts of ``columns`` for all that the door has left; return what was asked, too."""
    found = {name: Texts() for name in columns}
    asked: list[Rest] = []
    for share in ROUNDS if columns else ():
        known = tuple((name, tuple(one.values)) for name, one in found.items())
        sigma = sigma_for(door.filter.remaining * share, door.unit)
        asked.append(Rest(known, sigma, float_below(Fraction(delta) / len(ROUNDS))))
        told = door.ask(asked[-1])
        fresh = sum(not texts for _, texts in known) ** 0.5  # a row counts 1 / fresh for each of these columns at most
        rows = {name: 1.0 if texts else fresh for name, texts in known}
        for (column, text), value in zip(told.texts, told.values.tolist(), strict=True):
            found[column].values.append(text)
            found[column].rows += rows[column] * value / WHOLE if text else 0.0
    return found, asked
