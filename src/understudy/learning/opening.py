"""The values of an open column, learnt inside a run by one question at its door. Sees no counts: it holds a door."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from understudy.manifest.manifest import Amount, OpenedEntry
from understudy.privacy import Door, Shared

MOST_TEXTS = 1_000
"""Texts of one column that become values of it: the commonest, by their noisy counts. A model of more is of no use."""


@dataclass(frozen=True)
class Opened:
    """What a run has learnt of an open column: the texts that are its values, and what may be said of them."""

    column: str
    texts: tuple[str, ...]
    entry: OpenedEntry


def learn_open(door: Door, question: Shared, delta: float) -> Opened:
    """Ask for the texts of an open column that many rows have; ``delta`` is that of the whole run."""
    found = door.ask(question)
    common = np.sort(np.argsort(-found.values, kind="stable")[:MOST_TEXTS])
    texts = tuple(found.texts[place] for place in common)
    entry = OpenedEntry(
        column=question.attribute,
        values=len(texts),
        sigma=question.sigma,
        delta=question.delta,
        threshold=found.threshold,
        rare=question.rare(door.unit, delta),
        rho=Amount.of(found.rho),
    )
    return Opened(question.attribute, texts, entry)
