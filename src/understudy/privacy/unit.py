"""The unit of privacy: how much of a table one person's data may be, with the sensitivities that follow from it.

Public: sensitivities are properties of the definition, never of a table.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar, Literal

from understudy.errors import FormatError, InternalError

UnitKind = Literal["add-remove", "replace"]
_ON_RECORD = re.compile(
    r"(?P<kind>add_remove|replace)(?: of (?P<rows>[1-9]\d*) rows(?: of one (?P<person>.+))?)?", re.DOTALL
)


@dataclass(frozen=True)
class Unit:
    """Which tables count as neighbours. Two neighbours must be hard to tell apart from what is released.

    add-remove (also called unbounded): all records of one person, at most ``rows``, are added or removed. The number of
    records is then private. replace (also called bounded): at most ``rows`` records of one person are replaced by as many
    others. The number of records, and of each person's, is then the same for all.
    """

    kind: UnitKind
    rows: int = 1
    """How many records of one person are counted at most."""
    person: str | None = None
    """The column that identifies a person; None where each record is a person."""

    ADD_REMOVE: ClassVar[Unit]
    REPLACE: ClassVar[Unit]

    def __post_init__(self) -> None:
        """Refuse what is no unit."""
        if self.kind not in ("add-remove", "replace"):
            raise InternalError(f'A unit of privacy is add-remove or replace, not "{self.kind}".')
        if isinstance(self.rows, bool) or not isinstance(self.rows, int) or self.rows < 1:
            raise InternalError(f"A unit of privacy has a whole number of rows, at least 1, not {self.rows!r}.")

    @classmethod
    def of(cls, value: str) -> Unit:
        """Return the unit that is on record as ``value``."""
        found = _ON_RECORD.fullmatch(value)
        if found is None:
            raise FormatError(f'There is no unit of privacy "{value}" on record; it is add_remove or replace.')
        kind: UnitKind = "replace" if found["kind"] == "replace" else "add-remove"
        return cls(kind, int(found["rows"] or 1), found["person"])

    @property
    def value(self) -> str:
        """The unit as records have it: ``add_remove``, ``replace``; more rows than one, and who is a person, are named."""
        name = self.kind.replace("-", "_")
        if self.person is not None:
            return f"{name} of {self.rows} rows of one {self.person}"
        return name if self.rows == 1 else f"{name} of {self.rows} rows"

    @property
    def protects(self) -> str:
        """What is protected, in words."""
        whom = "one row" if self.person is None else f'one "{self.person}", with all rows'
        return f"{whom} ({'its presence' if self.kind == 'add-remove' else 'its content'})"

    def adds_to(self, other: Unit) -> bool:
        """Whether budgets add up: the same is protected, however many rows of a person either counts."""
        return (self.kind, self.person) == (other.kind, other.person) and (self.person is not None or self == other)

    @property
    def l1(self) -> int:
        """How far one marginal may move between neighbours, in L1: each record by one, a replaced one in two cells."""
        return self.rows if self.kind == "add-remove" else 2 * self.rows

    @property
    def l2_squared(self) -> int:
        """How far one marginal may move between neighbours, in squared L2: all records in one cell, or all from one cell
        to another.
        """
        return self.rows**2 if self.kind == "add-remove" else 2 * self.rows**2

    @property
    def score(self) -> int:
        """How far an L1 distance to a fixed estimate may move; a candidate's score moves by its weight times
        this.
        """
        return self.l1


Unit.ADD_REMOVE, Unit.REPLACE = Unit("add-remove"), Unit("replace")
UNITS = (Unit.ADD_REMOVE, Unit.REPLACE)
"""What users may ask for: one record a person."""
