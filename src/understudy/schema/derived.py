"""Derived columns: worked out from other columns of each synthetic row. They are never read, counted or modelled.

Public. The owner's check of a table compares them with the table's own, and is not private.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from understudy.errors import did_you_mean
from understudy.schema.binned import Binned
from understudy.schema.build import build_column
from understudy.schema.column import Column, Held
from understudy.schema.declaration import Boolean, Categorical, Derived, Real
from understudy.schema.expressions import (
    CALENDAR,
    Expression,
    calendar_parts,
    is_boolean,
    is_whole,
    largest,
    names_in,
    parse_expression,
    work_out,
)
from understudy.schema.listed import Listed, spell
from understudy.schema.measures import Floats, Measure, measure_of
from understudy.schema.problems import Wrong
from understudy.schema.reading import Bools
from understudy.schema.rules import RuleError
from understudy.schema.scales import Decimals, Moments
from understudy.schema.typed import DAY

WIDEST = 1e300


@dataclass(frozen=True, eq=False, kw_only=True)
class DerivedColumn:
    """A column that follows from ``parents``. ``of_code`` is its value for each code of a parent, where it is looked up."""

    name: str
    type: pa.DataType
    parents: tuple[Column, ...]
    rule: str
    expression: Expression | None = None
    of_code: pa.Array | None = None
    decimals: int | None = None
    line: int | None = None
    description: str | None = None
    own_nulls: tuple[str, ...] = field(default=(), init=False)

    @property
    def in_figures(self) -> bool:
        """Whether a text file spells its values as numbers."""
        return bool(pa.types.is_integer(self.type) or pa.types.is_floating(self.type))

    @property
    def decodes_null(self) -> bool:
        """Whether it may be null: where a parent may be missing, a division be by zero, or a number be beyond the type."""
        if self.of_code is not None:
            return bool(self.of_code.null_count)
        unknown = any(parent.nullable or parent.places.own_other is not None for parent in self.parents)
        narrow = pa.types.is_integer(self.type) and self.type != pa.int64()
        return unknown or narrow or self._largest > (2**53 if pa.types.is_integer(self.type) else WIDEST)

    def work_out(self, table: Mapping[str, Held]) -> pa.Array:
        """Return the value for each row of a table that has the parents; null where one of these has none."""
        if self.of_code is not None:
            return self.of_code.take(pa.array(self.parents[0].encode(table[self.parents[0].name])))
        return self.reckon({parent.name: self._measures[parent.name].of(table[parent.name]) for parent in self.parents})

    def reckon(self, values: Mapping[str, Floats]) -> pa.Array:
        """Return what the expression is for numbers of the parents, as ``Measure`` counts them."""
        assert self.expression is not None
        moments = {name: _moments(self._measures[name], values[name]) for _, name in calendar_parts(self.expression)}
        return self._written(work_out(self.expression, values, moments))

    def _written(self, found: Floats) -> pa.Array:
        missing = np.isnan(found)
        if pa.types.is_boolean(self.type):
            return pa.array(found == 1, mask=missing)
        if pa.types.is_integer(self.type):
            info = np.iinfo(str(self.type))
            missing |= (found < info.min) | (found > min(info.max, 2**53))
            found = np.rint(np.where(missing, 0, found))
            return pc.cast(pa.array(found.astype(np.int64), mask=missing), self.type)
        rounded = found if self.decimals is None else np.round(found, self.decimals)
        return pc.cast(pa.array(rounded, mask=missing), self.type)

    def spell(self, values: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return values as a text file spells them: with their decimals."""
        if self.decimals is None or not pa.types.is_floating(self.type):
            return pc.cast(values, pa.string())
        fits = pc.less(pc.abs(values), 1e15)  # beyond, a number has no decimals to spell
        spelled = Decimals(self.type, self.decimals).spell(pc.if_else(fits, values, pa.scalar(None, self.type)))
        return pc.if_else(pc.fill_null(fits, True), spelled, pc.cast(values, pa.string()))

    def broken(self, table: Mapping[str, Held]) -> Bools:
        """Say in which rows the table's own values are others. Not private: for the owner's eyes."""
        mine, own = self._reader, table[self.name]
        made = self.work_out(table)
        if isinstance(mine, Listed):
            return np.asarray(mine.encode(made) != mine.encode(own)) | (mine.faults(own) > 1)
        measure = measure_of(mine)
        assert measure is not None
        one, two = measure.of(made), measure.of(own)
        tolerance = 0.0 if self.decimals is None else 0.51 * 10.0**-self.decimals
        return ~(np.isclose(one, two, rtol=1e-9, atol=tolerance, equal_nan=True))

    @cached_property
    def _reader(self) -> Column:
        """Reads the column of a table as the kind that this one is."""
        if self.of_code is not None and not (pa.types.is_boolean(self.type) or pa.types.is_floating(self.type)):
            values: list[Any] = pc.unique(self.of_code.drop_null()).to_pylist()
            return build_column(self.name, Categorical(kind="categorical", values=values, nullable=True), (), None)
        if pa.types.is_boolean(self.type):
            return build_column(self.name, Boolean(kind="boolean", nullable=True), (), None)
        return build_column(self.name, Real(kind="real", min=-WIDEST, max=WIDEST, bins=1, nullable=True), (), None)

    @cached_property
    def _largest(self) -> float:
        """What no value exceeds in magnitude, with what is declared of the parents."""
        assert self.expression is not None
        ends = {name: np.abs([*m.low, *m.high]) for name, m in self._measures.items()}
        return largest(self.expression, {name: float(np.nanmax(values)) for name, values in ends.items()})

    @cached_property
    def _measures(self) -> dict[str, Measure]:
        found = {parent.name: measure_of(parent) for parent in self.parents}
        return {name: measure for name, measure in found.items() if measure is not None}


def _moments(measure: Measure, values: Floats) -> pa.Array:
    """Return values of dates, date-times or times of day as Arrow's moments, of the column's own clock."""
    missing = np.isnan(values)
    seconds = np.where(missing, 0, values).astype(np.int64) * (DAY if measure.space == "date" else 1)
    scale = measure.column.scale if isinstance(measure.column, Binned) else None
    zone = scale.timezone if isinstance(scale, Moments) else None
    return pa.array(seconds, mask=missing).view(pa.timestamp("s", zone))


def build_derived(name: str, declared: Derived, columns: Sequence[Column], line: int | None) -> DerivedColumn:
    """Build one derived column; raises Wrong."""
    known = {column.name: column for column in columns}
    about: dict[str, Any] = {"name": name, "decimals": declared.decimals, "line": line, "description": declared.description}
    if (declared.expression is None) == (declared.lookup is None) or (declared.of is None) != (declared.lookup is None):
        raise Wrong("a derived column has an expression, or a lookup with of = ..., the column that it is looked up by.")
    if declared.lookup is not None:
        return _looked_up(declared, _parent(declared.of or "", known, "of"), about)
    try:
        expression = parse_expression(declared.expression or "")
    except RuleError as error:
        raise Wrong(f"the expression cannot be read: {error}.", "expression") from None
    parents = tuple(_parent(one, known, "expression") for one in names_in(expression))
    if not parents:
        raise Wrong("the expression names no column.", "expression")
    kind = _type_of(declared, expression, _measured(expression, parents))
    return DerivedColumn(**about, type=kind, parents=parents, rule=declared.expression or "", expression=expression)


def _parent(name: str, known: Mapping[str, Column], key: str) -> Column:
    if name not in known:
        raise Wrong(f'there is no column "{name}" in this schema that is not derived.{did_you_mean(name, known)}', key)
    return known[name]


def _measured(expression: Expression, parents: Sequence[Column]) -> dict[str, bool]:
    """Return which parents have whole numbers only, and refuse those that cannot be reckoned with."""
    found = {parent.name: measure_of(parent) for parent in parents}
    for name, measure in found.items():
        if measure is None or measure.space.startswith("ordinal"):
            raise Wrong(f'column "{name}" has no numbers to reckon with; use a lookup.', "expression")
    for function, name in calendar_parts(expression):
        if (kind := next(p.kind for p in parents if p.name == name)) not in CALENDAR[function][1]:
            raise Wrong(f'column "{name}" is {kind}; {function}() is of {" or ".join(CALENDAR[function][1])}.', "expression")
    dated = {m.space for name, m in found.items() if m is not None and m.space != "number" and name in _plain(expression)}
    if len(dated) > 1:
        raise Wrong(f"{' and '.join(sorted(dated))} do not count in the same unit; use columns of one kind.", "expression")
    return {name: measure is not None and measure.whole for name, measure in found.items()}


def _plain(expression: Expression) -> list[str]:
    """Return the columns that are used as numbers, and not only for a part of a moment."""
    inside = [name for _, name in calendar_parts(expression)]
    return [name for name in names_in(expression) if name not in inside]


def _type_of(declared: Derived, expression: Expression, whole: Mapping[str, bool]) -> pa.DataType:
    usual = "bool" if is_boolean(expression) else "int64" if is_whole(expression, whole) else "float64"
    given = declared.type or usual
    if given == "string" or (given == "bool") != (usual == "bool"):
        raise Wrong(f'type = "{given}" does not go with this expression, which is {usual}.', "type")
    if given.startswith(("int", "uint")) and usual == "float64":
        raise Wrong(f'type = "{given}" holds whole numbers, and this expression may have others; use round(...).', "type")
    return pa.type_for_alias(given)


def _looked_up(declared: Derived, parent: Column, about: dict[str, Any]) -> DerivedColumn:
    lookup = dict(declared.lookup or {})
    if parent.kind == "open":
        raise Wrong(f'column "{parent.name}" is open: nobody knows its values before a run, so none is looked up.', "of")
    labels = [spell(value) for value in parent.values] if isinstance(parent, Listed) else [*parent.ordinary_labels()]
    labels += [] if parent.places.own_other is None else [parent.other_label]
    if unknown := next((key for key in lookup if key not in labels), None):
        raise Wrong(f'lookup has "{unknown}", which is no value of column "{parent.name}".', "lookup")
    if absent := next((label for label in labels if label not in lookup), None):
        raise Wrong(f'lookup lacks "{absent}", a value of column "{parent.name}".', "lookup")
    kinds = {
        float if type(value) is int and float in map(type, lookup.values()) else type(value) for value in lookup.values()
    }
    if len(kinds) > 1:
        raise Wrong("the values of lookup are of different kinds; use only texts, numbers, or true and false.", "lookup")
    usual = {bool: "bool", int: "int64", str: "string", float: "float64"}[kinds.pop()]
    try:
        values = pa.array([lookup[label] for label in labels] + [None] * parent.nullable, pa.type_for_alias(usual))
        found = pc.cast(values, pa.type_for_alias(declared.type or usual))
    except (pa.ArrowException, OverflowError):
        raise Wrong(f'type = "{declared.type}" cannot hold every value of lookup.', "type") from None
    return DerivedColumn(**about, type=found.type, parents=(parent,), rule=f"looked up by {parent.name}", of_code=found)
