"""The format in which the texts of a column spell days, moments or times of day: told by two questions about how they look.

Sees no counts: it holds a door. All that it does follows from the door's answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from understudy.learning.tree import SURE, ask
from understudy.privacy import Door
from understudy.schema.layouts import layouts
from understudy.schema.spelling import EACH, NO_LAYOUT, SPELLINGS, WAYS, ZEROS, all_ways, format_of, spelled_name

WHICH = Fraction(3, 4)
"""For the layout: without it nothing is learnt of the column. The rest is for how it is spelled."""
DOUBT = 10
"""Days that come first are those of short years, and no years themselves, where one in so many rows proves it."""


def ask_form(door: Door, column: str, likely: Sequence[int], first: int, rho: Fraction, *, doubt: bool) -> str | None:
    """Ask which of the ``likely`` layouts most texts have, and in which way; return the format, None where that is noise.

    Of layouts with two formats, ``first`` says which one. Where there is ``doubt``, short years might come first.
    """
    codes = np.arange(SPELLINGS)
    layout = (codes - 1) // EACH
    found = ask(
        door, spelled_name(column), np.where(np.isin(layout, likely) & (codes != NO_LAYOUT), layout + 1, 0), rho * WHICH
    )
    best = max(likely, key=lambda one: found.values[one + 1])
    if found.values[best + 1] <= SURE * found.sigma:
        return None
    told = ask(door, spelled_name(column), np.where(layout == best, 1 + (codes - 1) % EACH, 0), rho * (1 - WHICH))
    rows, ways = told.values[1:].astype(float), all_ways()
    zeros, hours, capitals, small, clear = (
        np.bincount(ways[:, place], rows, len(way)).tolist() for place, way in enumerate(WAYS)
    )
    if doubt and DOUBT * clear[1] <= sum(clear):
        return None
    return format_of(
        layouts()[best].formats[first],
        ZEROS[_bare(zeros)],
        ZEROS[_bare(hours)],
        capitals=capitals[1] > capitals[0],
        small=small[1] > small[0],
    )


def _bare(zeros: list[float]) -> int:
    """Return the place in ``ZEROS`` of numbers without a zero in front, where many rows have such; else that of nothing."""
    _, padded, bare = zeros
    return 2 * (bare > max(2 * padded, sum(zeros) / DOUBT))
