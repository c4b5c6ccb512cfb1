"""How near synthetic rows come to real ones, and a simple membership-inference attack. A sanity check, and no proof.

NOT PRIVATE where one of the tables is.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, sqrt

import numpy as np
from numpy.typing import NDArray

from understudy.measures.learning import area_under_curve
from understudy.measures.rows import Rows

MOST_ASKED, MOST_FOUND = 2_000, 10_000
"""Rows whose nearest row is looked for, and rows among which."""
AT_ONCE = 1 << 24
"""Distances that are held at a time."""
SEED = 3
Codes = NDArray[np.int32]


@dataclass(frozen=True)
class Nearest:
    """Distances to the nearest record: of so many columns how many differ, by their codes."""

    asked: int
    """Synthetic rows whose nearest row was looked for."""
    among: int
    """Rows of each table among which."""
    columns: int
    copies: float
    """The share of the synthetic rows that equal a real row in every code."""
    median: float
    """The middle distance of a synthetic row to the nearest row of the table."""
    compared: str
    """What stands beside: ``held-out`` rows, or other ``real`` rows."""
    median_compared: float
    """The middle distance of a synthetic row to the nearest held-out row; of a real row to the nearest other one."""
    copies_compared: float
    """Copies in the same comparison."""
    nearer: float | None
    """The share of synthetic rows that are nearer to the table than to the held-out rows, ties half: 1/2 is ideal."""


@dataclass(frozen=True)
class Membership:
    """An attack: who is nearest to a synthetic row is said to be in the table."""

    rows: int
    """Of the table, and as many held out."""
    auc: float
    """The chance that a row of the table is nearer to the synthetic ones than a held-out row: 1/2 is what guessing has."""
    error: float
    """The standard error of ``auc`` where the attack knows nothing."""
    advantage: float
    """The largest difference of the shares of members and others that the attack names, over all thresholds."""
    limit: float
    """What the promise allows as advantage, of any attack on one row."""

    @property
    def noticeable(self) -> bool:
        """Whether the attack does better than guessing by more than chance explains (three standard errors)."""
        return self.auc > 0.5 + 3 * self.error


def nearest(asked: Codes, among: Codes, *, themselves: bool = False) -> NDArray[np.int64]:
    """Return for each row of ``asked`` in how many columns the nearest row of ``among`` differs.

    ``themselves`` says that ``asked`` are the first rows of ``among``; a row is not its own neighbour then.
    """
    found = np.empty(len(asked), np.int64)
    step = max(1, AT_ONCE // max(len(among), 1))
    for start in range(0, len(asked), step):
        part = asked[start : start + step]
        apart = np.zeros((len(part), len(among)), np.uint16)
        for column in range(asked.shape[1]):
            apart += part[:, column, None] != among[None, :, column]
        if themselves:
            apart[np.arange(len(part)), start + np.arange(len(part))] = np.iinfo(np.uint16).max
        found[start : start + step] = apart.min(axis=1)
    return found


def nearest_records(real: Rows, made: Rows, held: Rows | None) -> Nearest | None:
    """Compare distances to the table with those to held-out rows, or with those within the table."""
    rng = np.random.default_rng(SEED)
    others = real if held is None else held
    among = min(MOST_FOUND, real.sampled, others.sampled)
    asked = made.some(MOST_ASKED, rng)
    if among < 2 or not len(asked):
        return None
    table = real.some(among, rng)
    own = nearest(asked, table)
    if held is None:
        beside = nearest(table[:MOST_ASKED], table, themselves=True)
        nearer = None
    else:
        beside = nearest(asked, held.some(among, rng))
        nearer = float((own < beside).mean() + (own == beside).mean() / 2)
    return Nearest(
        len(asked),
        among,
        asked.shape[1],
        float((own == 0).mean()),
        float(np.median(own)),
        "real" if held is None else "held-out",
        float(np.median(beside)),
        float((beside == 0).mean()),
        nearer,
    )


def attack(real: Rows, made: Rows, held: Rows, epsilon: float, delta: float) -> Membership | None:
    """Guess by distance to the nearest synthetic row who was in the table."""
    rng = np.random.default_rng(SEED)
    rows = min(MOST_ASKED, real.sampled, held.sampled)
    synthetic = made.some(MOST_FOUND, rng)
    if rows < 2 or not len(synthetic):
        return None
    members, others = (nearest(table.some(rows, rng), synthetic) for table in (real, held))
    scores = -np.concatenate([members, others]).astype(np.float64)
    inside = np.arange(len(scores)) < len(members)
    area = area_under_curve(scores, inside)
    assert area is not None
    return Membership(rows, area, sqrt((2 * rows + 1) / 12) / rows, advantage(scores, inside), allowed(epsilon, delta))


def advantage(scores: NDArray[np.float64], inside: NDArray[np.bool_]) -> float:
    """Return the largest difference of true and false positive rates over all thresholds."""
    levels = np.unique(scores)
    ours, theirs = np.sort(scores[inside]), np.sort(scores[~inside])
    gaps = np.searchsorted(theirs, levels) / len(theirs) - np.searchsorted(ours, levels) / len(ours)
    return float(max(gaps.max(), 0.0))


def allowed(epsilon: float, delta: float) -> float:
    """Return the largest advantage that (ε, δ) allows: (e^ε - 1 + 2δ) / (e^ε + 1)."""
    return min(1.0, 1 - 2 * (1 - delta) / (exp(min(epsilon, 700)) + 1))
