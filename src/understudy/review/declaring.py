"""What a draft proposes between columns, declared as it stands: orders, and columns that follow from others.

Sees no table. The text of a draft shows what was seen in one, to its owner.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from understudy.review.blocks import quote
from understudy.review.marks import Mark, accept, change, marks_of

_NAME = r"(?:`[^`]+`|[A-Za-z_][A-Za-z0-9_]*)"
_ORDER = re.compile(rf"{_NAME} <= {_NAME}")
_FOLLOWS = re.compile(rf"({_NAME}) = ({_NAME} \+ \w+\({_NAME}\)|\w+\({_NAME}\))")
_COLUMN = re.compile(rf"{_NAME}(?![\w(])")
_LOOKUP = re.compile(r'as kind = "derived", with (of = "(?:[^"\\]|\\.)*") and (lookup = \{.*\})\.$')
_ORDERS, _DERIVED = re.compile(r"^in all rows (.*?)\. An order"), re.compile(r"[Ii]n all rows (.*?): if that is so")


@dataclass(frozen=True)
class Proposal:
    """A rule that all rows keep: an order, or how a column follows from others, with the settings that say so."""

    rule: str
    column: str | None = None
    settings: tuple[str, ...] = ()

    def goes_with(self, others: Sequence[Proposal]) -> bool:
        """Whether it can stand beside what was declared: no order, and no derived column, has a derived one."""
        names = self.names - {self.column}
        return not names & {one.column for one in others} and all(self.column not in one.names for one in others)

    @property
    def names(self) -> set[str]:
        """The columns that it is about."""
        return {one.strip("`") for one in _COLUMN.findall(self.rule)}


def proposals_of(mark: Mark) -> list[Proposal]:
    """Return what a mark proposes: derived columns first, since no order has these."""
    if mark.column is not None:
        found = _LOOKUP.search(mark.message)
        return [Proposal(f"{mark.column} by its lookup", mark.column, found.groups())] if found else []
    orders = _ORDERS.search(mark.message)
    follows = _DERIVED.search(mark.message, orders.end() if orders else 0)
    following = _FOLLOWS.findall(follows[1]) if follows else []
    derived = [Proposal(f"{name} = {rule}", name.strip("`"), (f"expression = {quote(rule)}",)) for name, rule in following]
    return derived + [Proposal(rule) for rule in (_ORDER.findall(orders[1]) if orders else [])]


def declare(text: str, mark: Mark, chosen: Sequence[Proposal]) -> str:
    """Return the file with what was chosen of a mark declared, and with no mark there."""
    text = accept(text, mark)
    for one in chosen:
        text = _declared(text, one)
    return text


def _declared(text: str, one: Proposal) -> str:
    if one.column is None:
        return f"{text.rstrip()}\n\n[[zeros]]\nalways = {quote(one.rule)}\n"
    text = change(text, one.column, ['kind = "derived"', *one.settings])
    own = next((mark for mark in marks_of(text) if mark.column == one.column), None)
    return text if own is None else accept(text, own)  # its bounds are no longer asked for
