"""Derived columns that the codes of their parents tell: such a column is counted and modelled, though it is never read.

Public: all of it follows from what is declared. A coarse column (a decade, a sum of two) is a cheap question, and what is
asked of it is lost where only its parents may be asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from math import prod

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from understudy.schema.binned import Binned
from understudy.schema.build import build_column
from understudy.schema.column import Column
from understudy.schema.declaration import Boolean, Categorical
from understudy.schema.derived import DerivedColumn
from understudy.schema.listed import Listed
from understudy.schema.measures import Floats, Measure, measure_of
from understudy.schema.zeros import DeclaredZeros

POINTS = 16
"""So many values of each bin are looked at: all of a bin that has no more."""
MOST_CELLS = 2**16
"""A column is followed only where its parents and it have no more cells together: the model always holds them."""
MOST_LOOKED_AT = 2**20
"""More values of all parents together are not looked at."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Follower(Listed):
    """A derived column with codes: ``told`` has its code for each combination of the codes of ``parents``."""

    follows: tuple[str, ...]
    told: NDArray[np.int32]

    @property
    def parents(self) -> tuple[str, ...]:
        """The columns that it follows from."""
        return self.follows

    def follow(self, codes: Sequence[NDArray[np.integer]]) -> NDArray[np.int32]:
        """Return its codes for rows with these codes of its parents."""
        return np.asarray(self.told[tuple(codes)], np.int32)

    @property
    def impossible(self) -> DeclaredZeros:
        """Every other value beside the parents' codes."""
        places = np.indices(self.told.shape).reshape(self.told.ndim, -1)
        cells = np.repeat(places.T, self.size - 1, axis=0)
        others = (self.told.reshape(-1, 1) + np.arange(1, self.size)) % self.size
        return DeclaredZeros(
            (*self.parents, self.name), np.column_stack([cells, others.ravel()]), rule=f"{self.name} follows", told=self.name
        )


def followers(derived: Iterable[DerivedColumn], columns: Sequence[Column]) -> tuple[Follower, ...]:
    """Return the derived columns that codes tell; not those that only name a parent's codes anew."""
    order = [column.name for column in columns]
    found = (_follower(column, sorted(column.parents, key=lambda p: order.index(p.name))) for column in derived)
    return tuple(one for one in found if one is not None)


def own(columns: Iterable[Column]) -> list[Column]:
    """Return the columns that are read from a table."""
    return [column for column in columns if not column.parents]


def _follower(column: DerivedColumn, parents: Sequence[Column]) -> Follower | None:
    if column.moments is not None or any(parent.kind == "open" for parent in parents):
        return None
    shape = tuple(parent.size for parent in parents)
    values = column.of_code if column.of_code is not None else _constant(column, parents)
    if values is None or pa.types.is_floating(values.type) or prod(shape) > MOST_CELLS:
        return None
    listed = sorted(pc.unique(values.drop_null()).to_pylist())
    size = len(listed) + bool(values.null_count)
    if size < 2 or size * prod(shape) > MOST_CELLS or (len(shape) == 1 and size == shape[0]):
        return None
    null = bool(values.null_count)
    declared: Boolean | Categorical = (
        Boolean(kind="boolean", nullable=null, other=None if null else False)
        if pa.types.is_boolean(values.type)
        else Categorical(kind="categorical", values=listed, nullable=null, other=None if null else listed[0])
    )
    made = build_column(column.name, declared, (), column.line)
    assert isinstance(made, Listed)
    told = np.ascontiguousarray(made.encode(values), np.int32).reshape(shape)
    settings = {one.name: getattr(made, one.name) for one in fields(Listed) if one.init}
    return Follower(**settings, follows=tuple(parent.name for parent in parents), told=told)


def _constant(column: DerivedColumn, parents: Sequence[Column]) -> pa.Array | None:
    """Return what an expression is for each combination of codes; None where values inside a bin make a difference."""
    measures = [measure for measure in map(measure_of, parents) if measure is not None]
    points = [_points(measure) for measure in measures]
    if len(points) < len(parents) or prod(map(np.size, points)) > MOST_LOOKED_AT:
        return None
    places = np.indices([one.shape[0] for one in points] + [one.shape[1] for one in points])
    codes, inside = places[: len(points)], places[len(points) :]
    values = {
        parent.name: one[code, at].ravel() for parent, one, code, at in zip(parents, points, codes, inside, strict=True)
    }
    made = column.reckon(values)
    found = made.to_numpy(zero_copy_only=False) if not made.null_count else pc.fill_null(pc.cast(made, pa.float64()), np.nan)
    rows = np.asarray(found, np.float64).reshape(prod(one.shape[0] for one in points), -1)
    if not ((rows == rows[:, :1]) | (np.isnan(rows) & np.isnan(rows[:, :1]))).all():
        return None
    return made.take(pa.array(np.arange(len(rows)) * rows.shape[1]))


def _points(measure: Measure) -> Floats:
    """Return values of each code: all, or some that are spread over its bin. Ends count where there are few."""
    low, high = measure.low[:, None], measure.high[:, None]
    step = measure.times / measure.parts if isinstance(measure.column, Binned) and measure.times else 0.0
    steps = np.rint((high - low) / step) if step else np.full_like(low, np.inf)
    several = np.arange(POINTS) / (POINTS - 1)
    few = low + np.minimum(np.arange(POINTS), np.nan_to_num(steps)) * (step or 0.0)
    spread = low + (np.floor(several * steps) * step if step else (several * 0.998 + 0.001) * (high - low))
    return np.where(steps < POINTS, few, spread) if step else np.where(low == high, low, spread)
