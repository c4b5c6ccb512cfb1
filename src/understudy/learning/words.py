"""Words of which every table has some, such as yes and no: told by the first question, without a threshold.

Sees no counts: that a column may hold one of these is known before any table is. All that it does follows from answers.
"""

from __future__ import annotations

from understudy.learning.tree import First
from understudy.schema.ladder import MISSING, PAIRS, TEXT, WORDS


def rows_of_words(first: First) -> float:
    """Return how many rows have one of the two words that most rows have; none where that may be noise."""
    rows = max(_of(first, *pair) for pair in PAIRS)
    return rows if first.sure(rows, 2) else 0.0


def known_words(first: First) -> list[str]:
    """Return those two words; none where no row may have one. With N goes Y, unless J surely has more rows.

    The rarer one is a value too, though hardly any row has it. Not so where other texts surely are beside them, or missing
    values, which may be all that is no "yes".
    """
    most = rows_of_words(first)
    if not most:
        return []
    pair = next(pair for pair in PAIRS if not first.sure(most - _of(first, *pair), 2))
    beside = any(first.sure(float(first.plain[cell]), 1) for cell in (MISSING, TEXT))
    return [word for word in pair if not beside or first.sure(_of(first, word), 1)]


def _of(first: First, *words: str) -> float:
    return float(sum(first.plain[WORDS[word]] for word in words))
