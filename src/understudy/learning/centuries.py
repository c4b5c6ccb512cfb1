"""The centuries of years that are spelled by two digits: from behind the longest gap between decades that surely are there.

Public: all of it follows from answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from understudy.learning.tree import Leaf
from understudy.schema.days import SHORT_DAY

DECADES = 10
LATE = 5
"""Decades from the fifties on are taken for those of the last century, if they are the last ones."""


def in_centuries(leaves: Sequence[Leaf]) -> list[Leaf]:
    """Return leaves that count from 2000 in the years that they seem to mean: 99 before 00, where both are there."""
    short = [leaf for leaf in leaves if leaf.node.low >= SHORT_DAY]
    seen = sorted({_decade(leaf) for leaf in short if leaf.sure and leaf.rows > 0}) or [0]
    gaps = {decade: min((decade - before - 1) % DECADES for before in seen) for decade in seen}
    first = max(seen, key=lambda decade: (gaps[decade], -((decade - LATE) % DECADES)))
    last = (first - 1 - gaps[first]) % DECADES
    found = [_earlier(leaf) if _decade(leaf) >= first and (first > last or last >= LATE) else leaf for leaf in short]
    return [leaf for leaf in found if leaf.node.low < leaf.node.high]  # there was no 29 February 1900


def _decade(leaf: Leaf) -> int:
    """Return which decade of a century a leaf is in."""
    return _year(leaf.node.low) % 100 // 10


def _year(day: float) -> int:
    return int(np.datetime64(int(day), "D").astype("datetime64[Y]").astype(int)) + 1970


def _earlier(leaf: Leaf) -> Leaf:
    """Return a leaf of a hundred years before."""
    low, high = (_before(day) for day in (leaf.node.low, leaf.node.high))
    return replace(leaf, node=replace(leaf.node, low=low, high=high))


def _before(day: float) -> float:
    date = np.datetime64(int(day), "D")
    month = date.astype("datetime64[M]")
    return float(((month - 1200).astype("datetime64[D]") + (date - month.astype("datetime64[D]"))).astype(np.int64))
