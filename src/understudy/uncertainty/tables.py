"""Marginals of a synthetic (hence public) table, so that its error can be bounded like a model's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique, Domain
from understudy.source import MemorySource


@dataclass(frozen=True, eq=False)
class TableMarginals:
    """Counts of a synthetic table of codes, rows × columns in the order of ``domain``."""

    domain: Domain
    codes: NDArray[np.integer] = field(repr=False)

    def marginals(self, cliques: Sequence[Clique]) -> list[NDArray[np.int64]]:
        """Count all cliques together."""
        return self._source.count(cliques)

    def marginal(self, clique: Clique) -> NDArray[np.int64]:
        """Count one clique."""
        return self.marginals([clique])[0]

    @cached_property
    def _source(self) -> MemorySource:
        return MemorySource.of_codes(self.codes, self.domain)
