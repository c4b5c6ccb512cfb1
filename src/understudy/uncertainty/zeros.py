"""What declared zeros say about a marginal: which cells must be empty, and which columns follow from others.

Public: from the schema's declarations alone. What rests on them holds for tables that have no row declared impossible.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique, Domain, Zeros

Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Possible:
    """Which cells of a marginal the declared ``zeros`` leave possible."""

    domain: Domain
    zeros: Sequence[Zeros] = ()
    _known: dict[Clique, Bools | None] = field(default_factory=dict, init=False, repr=False)

    def cells(self, clique: Clique) -> Bools | None:
        """Return the possible cells of ``clique``, shaped as the marginal; None when no zero concerns it."""
        if clique not in self._known:
            self._known[clique] = self._found(clique)
        return self._known[clique]

    def determining(self, clique: Clique) -> Clique | None:
        """Return the smallest part of ``clique`` from which the zeros let all of it be told; None when there is none."""
        possible = self.cells(clique)
        if possible is None:
            return None
        parts = [part for size in range(1, len(clique)) for part in combinations(clique, size)]
        for part in sorted(parts, key=self.domain.cells):
            if possible.sum(axis=_outside(clique, part)).max() <= 1:
                return part
        return None

    def _found(self, clique: Clique) -> Bools | None:
        possible: Bools | None = None
        for zero in self.zeros:
            empty = self._empty(zero, clique)
            if empty.any():
                possible = np.ones(self.domain.shape(clique), dtype=bool) if possible is None else possible
                possible &= ~empty
        return possible

    def _empty(self, zero: Zeros, clique: Clique) -> Bools:
        """Cells of ``clique`` that ``zero`` forbids whatever the other attributes are, ready to be broadcast."""
        forbidden = zero.table(self.domain)
        seen = forbidden.all(axis=_outside(zero.clique, clique))
        return np.asarray(seen).reshape([self.domain[a] if a in zero.clique else 1 for a in clique])


def _outside(clique: Clique, part: Clique) -> tuple[int, ...]:
    """The axes of ``clique`` that ``part`` does not name."""
    return tuple(axis for axis, a in enumerate(clique) if a not in part)
