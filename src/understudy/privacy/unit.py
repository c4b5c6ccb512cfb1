"""What one person's data may be: the unit of privacy, with the sensitivities that follow from it.

Public: sensitivities are properties of the definition, never of a table.
"""

from __future__ import annotations

from enum import Enum


class Unit(Enum):
    """Which tables count as neighbours. Two neighbours must be hard to tell apart from what is released."""

    ADD_REMOVE = "add_remove"
    """One record is added or removed (also called unbounded). The number of records is then private."""

    REPLACE = "replace"
    """One record is replaced by another (also called bounded). The number of records is then the same for
    all.
    """

    @property
    def l1(self) -> int:
        """How far one marginal may move between neighbours, in L1."""
        return 1 if self is Unit.ADD_REMOVE else 2

    @property
    def l2_squared(self) -> int:
        """How far one marginal may move between neighbours, in squared L2: two cells by one each on
        replacement.
        """
        return 1 if self is Unit.ADD_REMOVE else 2

    @property
    def score(self) -> int:
        """How far an L1 distance to a fixed estimate may move; a candidate's score moves by its weight times
        this.
        """
        return self.l1
