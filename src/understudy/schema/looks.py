"""Noisy counts of where inside its bins the values of a column lie, put together. Public: computed from noisy answers.

A look counts groups of the codes of ``Binned.fine``. Each group is a finer bin (``Binned.rounded``), or a number in one that
was cut into numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.schema.binned import Binned

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Look:
    """One noisy count of each group."""

    groups: NDArray[np.integer]
    """The group that each code of ``fine`` is in; rising."""
    counts: Floats
    variance: float
    """That of the noise on each count."""

    @property
    def first(self) -> NDArray[np.intp]:
        """The first code of each group."""
        return np.flatnonzero(np.diff(self.groups, prepend=-1))


@dataclass(frozen=True, eq=False)
class Looks:
    """All looks at one column; at least one."""

    each: Sequence[Look]

    def rounded(self, column: Binned) -> tuple[Floats, Floats]:
        """Return the counts of the finer bins, averaged by inverse variance, and the variance of each."""
        within = [column.rounds[look.first] for look in self.each]
        certain = [1 / (np.bincount(w) * look.variance) for w, look in zip(within, self.each, strict=True)]
        counts = [np.bincount(w, look.counts) for w, look in zip(within, self.each, strict=True)]
        variances = 1 / np.sum(certain, axis=0)
        return variances * np.sum([c * n for c, n in zip(certain, counts, strict=True)], axis=0), variances

    def of_numbers(self, column: Binned) -> Look | None:
        """Return the look that cut most finer bins into numbers; None where none cut any."""
        most = max(self.each, key=lambda look: len(look.counts))
        return most if column.rounded is not None and len(most.counts) > column.rounded.size else None
