"""Two tables group by group: the rows with each value of a chosen column, and every other column among them.

NOT PRIVATE where one of the tables is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from understudy.domain import Domain
from understudy.errors import UserError
from understudy.measures.columns import Both, Counts, both_means, total_variation
from understudy.measures.rows import Tables
from understudy.schema import Column

MOST_GROUPS = 100
Pair = tuple[Counts, Counts]


@dataclass(frozen=True)
class GroupColumn:
    """One column among the rows of a group."""

    name: str
    tvd: float
    """Total variation distance of its codes."""
    missing: Both
    mean: Both | None = None
    total: Both | None = None
    stddev: Both | None = None
    median: Both | None = None
    """Of the samples."""


@dataclass(frozen=True)
class Group:
    """The rows with one value (or in one bin) of the chosen column."""

    label: str
    rows: Both
    """How many; each synthetic row counts as many times as it stands for rows."""
    columns: tuple[GroupColumn, ...]
    """Empty where one of the tables has no row of the group."""


@dataclass(frozen=True)
class Grouping:
    """All groups of a column."""

    by: str
    groups: tuple[Group, ...]


def require_groups(domain: Domain, by: str) -> None:
    """Refuse a column with too many groups."""
    if domain[by] > MOST_GROUPS:
        raise UserError(f'"{by}" has {domain[by]:,} values or bins; choose a column with at most {MOST_GROUPS} to group by.')


def measure_groups(by: Column, counts: Mapping[str, Pair], tables: Tables) -> Grouping:
    """Compare the groups of ``by``; ``counts`` has those of each other column, groups first, real and synthetic."""
    if not counts:
        return Grouping(by.name, ())
    ours, theirs = next(iter(counts.values()))
    sizes = [Both(float(a), float(b)) for a, b in zip(ours.sum(axis=1), theirs.sum(axis=1), strict=True)]
    groups = [
        Group(
            label, size, tuple(_column(_In(by.name, code, tables), n, c) for n, c in counts.items()) if _both(size) else ()
        )
        for code, (label, size) in enumerate(zip(by.labels, sizes, strict=True))
        if size.real or size.synthetic
    ]
    return Grouping(by.name, tuple(groups))


def _both(size: Both) -> bool:
    return bool(size.real and size.synthetic)


@dataclass(frozen=True, eq=False)
class _In:
    """The rows of both tables that have one code of one column."""

    by: str
    code: int
    tables: Tables


def _column(group: _In, name: str, counts: Pair) -> GroupColumn:
    real, made, code = group.tables.real, group.tables.made, group.code
    ours, theirs = counts[0][code], counts[1][code]
    null = real.schema[name].places.null
    missing = Both(*(0.0 if null is None else float(c[null] / c.sum()) for c in (ours, theirs)))
    tvd = total_variation(ours, theirs)
    if name not in real.sums:
        return GroupColumn(name, tvd, missing)
    sums = real.by[group.by][name], made.by[group.by][name]
    if not (sums[0].number[code] and sums[1].number[code]):
        return GroupColumn(name, tvd, missing)
    totals = [float(s.mean[code] * s.number[code]) for s in sums]
    return GroupColumn(
        name,
        tvd,
        missing,
        both_means(*sums, code),
        Both(totals[0], totals[1] * group.tables.weight),
        Both(float(sums[0].stddev[code]), float(sums[1].stddev[code])),
        _median(group, name),
    )


def _median(group: _In, name: str) -> Both | None:
    found = []
    for rows in (group.tables.real, group.tables.made):
        numbers = rows.numbers[name][rows.codes[:, rows.schema.domain.index(group.by)] == group.code]
        numbers = numbers[~np.isnan(numbers)]
        if not len(numbers):
            return None
        found.append(float(np.median(numbers)))
    return Both(found[0], found[1])
