"""Marginals of a synthetic (hence public) table, so that its error can be bounded like a model's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique, Domain


@dataclass(frozen=True, eq=False)
class TableMarginals:
    """Counts of a synthetic table of codes, rows × columns in the order of ``domain``."""

    domain: Domain
    codes: NDArray[np.integer] = field(repr=False)

    def marginals(self, cliques: Sequence[Clique]) -> list[NDArray[np.int64]]:
        """Count each clique."""
        return [self.marginal(clique) for clique in cliques]

    def marginal(self, clique: Clique) -> NDArray[np.int64]:
        """Count one clique."""
        shape = self.domain.shape(clique)
        place = np.zeros(len(self.codes), dtype=np.int64)
        for attribute, size in zip(clique, shape, strict=True):
            place *= size
            place += self.codes[:, self.domain.index(attribute)]
        return np.bincount(place, minlength=self.domain.cells(clique)).astype(np.int64).reshape(shape)
