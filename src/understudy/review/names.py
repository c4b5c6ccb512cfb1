"""What everybody knows of a column by its name or its words: months go from 1 to 12, answers are yes or no.

Public: nothing here was looked up in a table.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable

from understudy.review.usual import last_word

PAIRS = (
    *(("n", "y"), ("no", "yes"), ("f", "t"), ("false", "true"), ("0", "1"), ("off", "on")),
    *(("n", "j"), ("n", "o"), ("n", "s"), ("falsch", "wahr"), ("faux", "vrai")),
    *(("f", "m"), ("female", "male"), ("woman", "man"), ("non", "oui"), ("nein", "ja"), ("no", "si"), ("no", "sí")),
)
"""Words, in any case, that are a whole list of answers; what stands for "no" comes first."""

IDENTIFIERS = frozenset({"id", "ids", "uuid", "guid", "identifier", "no", "nr"})
"""The last word of a name that tells somebody, or something, from all others."""
MOST_CODES = 200
"""A column with no more values than this holds codes, whatever its name."""


def is_identifier(name: str, values: int) -> bool:
    """Whether a column with so many values identifies somebody, or something, by its name."""
    word = last_word(name)
    return values > MOST_CODES and (word in IDENTIFIERS or word.endswith("nr"))


def person_or_nothing(name: str) -> str:
    """Return the decision about an identifier that many rows share."""
    person = json.dumps(name, ensure_ascii=False)
    return (
        "left out, since its name says that it identifies somebody or something. If it says whose row it is, and people "
        f"have several rows, protect people: write person = {person} and rows_per_person = 5, or whatever number you "
        "choose, at the top of the file."
    )


def known_answers(texts: Iterable[str]) -> list[str] | None:
    """Return the texts when they are the two answers to a question, in their usual order, in all spellings of either."""
    found: dict[str, list[str]] = {}
    for text in texts:
        found.setdefault(text.strip().lower(), []).append(text)
    return next(([text for word in pair for text in found[word]] for pair in PAIRS if set(pair) == set(found)), None)


def is_clock(name: str, values: Collection[float]) -> bool:
    """Whether whole numbers are times of day, hours before minutes: 517 is 5:17."""
    named = "time" in name.lower()
    fits = all(0 <= value <= 2400 and value % 100 < 60 for value in values)
    return fits and max(values) > 999 and len(values) >= (24 if named else 200)
