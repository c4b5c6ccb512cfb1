"""Derived columns: worked out from other columns of each synthetic row. They are never read, counted or modelled.

Public. The owner's check of a table compares them with the table's own, and is not private.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from understudy.errors import did_you_mean
from understudy.schema.binned import Binned
from understudy.schema.build import build_column
from understudy.schema.column import Column, Held
from understudy.schema.declaration import Boolean, Categorical, Date, DateTime, Derived, Real
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
from understudy.schema.formats import format_grain, has
from understudy.schema.lengths import Meaning, Sense, meaning_of
from understudy.schema.listed import Listed, spell
from understudy.schema.measures import Floats, Measure, measure_of
from understudy.schema.moments import seconds_of
from understudy.schema.problems import Wrong
from understudy.schema.reading import Bools
from understudy.schema.rules import RuleError
from understudy.schema.scales import Decimals, Moments
from understudy.schema.typed import DAY

WIDEST = 1e300
FIRST, LAST = datetime(1000, 1, 1), datetime(9999, 12, 31, 23)
"""Years of four digits, which every format can spell; whole hours, which the coarsest can."""


@dataclass(frozen=True, eq=False, kw_only=True)
class DerivedColumn:
    """A column that follows from ``parents``. ``of_code`` is its value for each code of a parent, where it is looked up.

    ``moments`` is the scale of one that is a date or a date-time.
    """

    name: str
    type: pa.DataType
    parents: tuple[Column, ...]
    rule: str
    expression: Expression | None = None
    of_code: pa.Array | None = None
    decimals: int | None = None
    moments: Moments | None = None
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
        if self.moments is not None:
            return unknown or self._largest * self._per_unit > min(map(abs, _reach(self.moments)))
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
        if self.moments is not None:
            first, last = _reach(self.moments)
            seconds = found * self._per_unit
            missing |= (seconds < first) | (seconds > last)
            return self.moments.write(np.rint(np.where(missing, 0, seconds) / self.moments.grain).astype(np.int64), missing)
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
        return ~(np.isclose(one, two, rtol=0 if self.moments else 1e-9, atol=tolerance, equal_nan=True))

    @cached_property
    def _reader(self) -> Column:
        """Reads the column of a table as the kind that this one is."""
        if self.of_code is not None and not (pa.types.is_boolean(self.type) or pa.types.is_floating(self.type)):
            values: list[Any] = pc.unique(self.of_code.drop_null()).to_pylist()
            return build_column(self.name, Categorical(kind="categorical", values=values, nullable=True), (), None)
        if pa.types.is_boolean(self.type):
            return build_column(self.name, Boolean(kind="boolean", nullable=True), (), None)
        if self.moments is not None:
            return build_column(self.name, _declared(self.moments), (), None)
        return build_column(self.name, Real(kind="real", min=-WIDEST, max=WIDEST, bins=1, nullable=True), (), None)

    @property
    def _per_unit(self) -> int:
        """The seconds in which it counts, where it is a moment."""
        return DAY if any(measure.space == "date" for measure in self._measures.values()) else 1

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


def _reach(moments: Moments) -> tuple[int, int]:
    """Return the first and the last second that can be written; what is beyond is missing."""
    nanoseconds = pa.types.is_timestamp(moments.type) and moments.type.unit == "ns"
    first, last = _years(moments)
    return (-9 * 10**9, 9 * 10**9) if nanoseconds else (seconds_of(first, None), seconds_of(last, None))


def _years(moments: Moments) -> tuple[datetime, datetime]:
    """Return the first and the last moment that can be spelled, to the hour."""
    if moments.form is None or not has(moments.form, "y"):
        return FIRST, LAST
    return FIRST.replace(year=moments.first_year), LAST.replace(year=min(moments.first_year + 99, LAST.year))


def _declared(moments: Moments) -> Date | DateTime:
    """Return what reads such moments in a table that has them."""
    zone, form, (first, last) = moments.timezone, moments.form, _years(moments)
    if moments.grain == DAY:
        return Date(kind="date", min=first.date(), max=last.date(), bins=1, format=form, nullable=True)
    return DateTime(kind="datetime", min=first, max=last, bins=1, format=form, timezone=zone, nullable=True)


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
    measures = _measured(expression, parents)
    meaning = meaning_of(expression, {name: measures[name] for name in _plain(expression)})
    whole = {name: measure.whole for name, measure in measures.items()}
    scale = _scale_of(declared, meaning, whole) if meaning.sense is Sense.MOMENT else None
    kind = _type_of(declared, meaning.expression, whole) if scale is None else scale.type
    rule = declared.expression or ""
    return DerivedColumn(**about, type=kind, parents=parents, rule=rule, expression=meaning.expression, moments=scale)


def _scale_of(declared: Derived, meaning: Meaning, whole: Mapping[str, bool]) -> Moments:
    """Return the scale of a moment: that of the first column of moments that it follows from, to its finest."""
    of = meaning.moments[0].column
    assert isinstance(of, Binned)
    if not isinstance(of.scale, Moments):
        raise Wrong("a time of day with a length added may be past midnight; use date-times.", "expression")
    if declared.type is not None or declared.decimals is not None:
        raise Wrong(f'it is a moment, and written as "{of.name}" is; drop type and decimals.', "expression")
    if of.kind == "date" and not is_whole(meaning.expression, whole):
        raise Wrong("a date counts in whole days; use days(round(...)).", "expression")
    grain = DAY if of.kind == "date" else 1 if of.scale.form is None else format_grain(of.scale.form)
    return replace(of.scale, grain=grain)


def _parent(name: str, known: Mapping[str, Column], key: str) -> Column:
    if name not in known:
        raise Wrong(f'there is no column "{name}" in this schema that is not derived.{did_you_mean(name, known)}', key)
    return known[name]


def _measured(expression: Expression, parents: Sequence[Column]) -> dict[str, Measure]:
    """Return how the parents become numbers, and refuse those that cannot be reckoned with."""
    found: dict[str, Measure] = {}
    for parent in parents:
        measure = measure_of(parent)
        if measure is None or measure.space.startswith("ordinal"):
            raise Wrong(f'column "{parent.name}" has no numbers to reckon with; use a lookup.', "expression")
        found[parent.name] = measure
    for function, name in calendar_parts(expression):
        if (kind := next(p.kind for p in parents if p.name == name)) not in CALENDAR[function][1]:
            raise Wrong(f'column "{name}" is {kind}; {function}() is of {" or ".join(CALENDAR[function][1])}.', "expression")
    dated = {found[name].space for name in _plain(expression) if found[name].space != "number"}
    if len(dated) > 1:
        raise Wrong(f"{' and '.join(sorted(dated))} do not count in the same unit; use columns of one kind.", "expression")
    return found


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
