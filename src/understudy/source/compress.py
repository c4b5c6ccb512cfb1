"""Fold equal rows of a batch into one row with a weight, so that every later pass reads fewer rows.

PRIVATE: works on the coded rows of the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.source.codes import Codes, Column, narrow

_MOST_GROUP_CELLS = 2**20
_MOST_KEYS = 2**63


@dataclass(frozen=True)
class _Group:
    """Some neighbouring columns as one: per row a number below ``radix``.

    The number is the rank of the row's combination among the ``combinations`` that occur, or, for a single
    column too large for a table of ranks, its code.
    """

    numbers: NDArray[np.integer]
    radix: int
    sizes: tuple[int, ...]
    combinations: NDArray[np.intp] | None = None


def compress(codes: Codes, sizes: Sequence[int]) -> Codes:
    """Return the distinct rows and how often each occurs, or ``codes`` itself where that does not pay.

    It does not pay when a whole row does not fit in one 64-bit key (such wide rows hardly repeat), nor when
    fewer than a third of the rows would go away.
    """
    if codes.weights is not None or codes.rows == 0 or not codes.columns:
        return codes
    key, radix = np.zeros(codes.rows, np.int64), 1
    groups = []
    for group in _groups(codes.columns, sizes):
        radix *= group.radix
        if radix > _MOST_KEYS:
            return codes
        key *= group.radix
        key += group.numbers.astype(np.int64)
        groups.append(group)
    key.sort()
    starts = np.flatnonzero(np.concatenate(([True], key[1:] != key[:-1])))
    if 3 * len(starts) > 2 * codes.rows:
        return codes
    weights = np.diff(starts, append=codes.rows).astype(np.int64)
    return Codes(len(starts), _decode(key[starts], groups), weights)


def _groups(columns: Sequence[Column], sizes: Sequence[int]) -> Iterator[_Group]:
    """Take columns together while their combinations can be looked up in a small table."""
    first = 0
    while first < len(columns):
        if sizes[first] > _MOST_GROUP_CELLS:
            yield _Group(columns[first], sizes[first], (sizes[first],))
            first += 1
            continue
        code, cells, last = columns[first].astype(np.uint32), sizes[first], first + 1
        while last < len(columns) and cells * sizes[last] <= _MOST_GROUP_CELLS:
            code = code * np.uint32(sizes[last]) + columns[last]
            cells *= sizes[last]
            last += 1
        yield _rank(code, cells, tuple(sizes[first:last]))
        first = last


def _rank(code: NDArray[np.uint32], cells: int, sizes: tuple[int, ...]) -> _Group:
    present = np.zeros(cells, np.bool_)
    present[code] = True
    combinations = np.flatnonzero(present)
    rank = np.zeros(cells, np.uint32)
    rank[combinations] = np.arange(len(combinations), dtype=np.uint32)
    return _Group(rank[code], len(combinations), sizes, combinations)


def _decode(keys: NDArray[np.int64], groups: Sequence[_Group]) -> tuple[Column, ...]:
    """Turn keys back into columns, the last column first."""
    columns: list[Column] = []
    for group in reversed(groups):
        keys, number = np.divmod(keys, group.radix)
        code = number if group.combinations is None else group.combinations[number]
        for size in reversed(group.sizes):
            code, column = np.divmod(code, size)
            columns.append(narrow(column, size))
    return tuple(reversed(columns))
