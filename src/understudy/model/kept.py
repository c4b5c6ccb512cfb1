"""Answers of a model that several steps ask for, kept within a limit. Public numbers only."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique

Answer = Callable[[Sequence[Clique]], list[NDArray[np.float64]]]


class Kept:
    """Marginals by clique, with ``room`` cells at most; the first to come stay."""

    def __init__(self) -> None:
        self.room = 0
        self._tables: dict[Clique, NDArray[np.float64]] = {}

    def answer(self, cliques: Sequence[Clique], ask: Answer) -> list[NDArray[np.float64]]:
        """Return the marginals on ``cliques``, and ask only for those that are not kept. Nobody may write into them."""
        missing = [c for c in dict.fromkeys(cliques) if c not in self._tables]
        new = dict(zip(missing, ask(missing), strict=True)) if missing else {}
        for clique, table in new.items():
            if table.size <= self.room:
                new[clique] = self._tables[clique] = table.copy()  # a part of something larger would keep all of that
                new[clique].setflags(write=False)
                self.room -= table.size
        return [new[c] if c in new else self._tables[c] for c in cliques]

    def forget(self) -> None:
        """Let go of all, and keep nothing more."""
        self.room = 0
        self._tables.clear()
