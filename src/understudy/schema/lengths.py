"""Which parts of an expression are moments, lengths of time or numbers; units of time become factors. Public.

A length is the difference of two moments, or ``minutes(number)`` and its like; added to a moment it gives a moment. Of a
length, ``minutes(length)`` is a number again. Dates count in days, other moments in seconds, so a length does too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from understudy.schema.binned import Binned
from understudy.schema.expressions import CALENDAR, UNITS, Call, Expression, Name, Number
from understudy.schema.measures import Measure
from understudy.schema.problems import Wrong
from understudy.schema.scales import Moments
from understudy.schema.typed import DAY

MOMENTS = ("date", "datetime", "time")
_ADD = "add a length of time to a moment, such as arrival + minutes(stay) or admitted + days(3)"


class Sense(Enum):
    """What a part of an expression is."""

    NUMBER = "number"
    MOMENT = "moment"
    LENGTH = "length"


_N, _M, _L = Sense
_SUMS = {("+", _M, _L): _M, ("+", _L, _M): _M, ("-", _M, _L): _M, ("-", _M, _M): _L, ("+", _L, _L): _L, ("-", _L, _L): _L}


@dataclass(frozen=True)
class Meaning:
    """An expression without units, and what it is; ``moments`` are the columns of moments in it, which count alike."""

    expression: Expression
    sense: Sense
    moments: tuple[Measure, ...]


def meaning_of(expression: Expression, measures: Mapping[str, Measure]) -> Meaning:
    """Read the units of an expression; ``measures`` are those of the columns that it reckons with. Raises Wrong."""
    moments = tuple(measure for measure in measures.values() if measure.space in MOMENTS)
    if len({zone is None for measure in moments for zone in [_zone(measure)]}) > 1:
        raise Wrong("a date-time with a time zone and one without do not count alike.", "expression")
    reader = _Reader({measure.column.name: measure for measure in moments}, moments[0].space if moments else "")
    found, sense = reader.read(expression)
    return Meaning(found, sense, moments)


def _zone(measure: Measure) -> str | None:
    scale = measure.column.scale if isinstance(measure.column, Binned) else None
    return scale.timezone if isinstance(scale, Moments) else None


@dataclass(frozen=True)
class _Reader:
    moments: Mapping[str, Measure]
    space: str

    def read(self, expression: Expression) -> tuple[Expression, Sense]:
        """Return the expression without units, and what it is."""
        if isinstance(expression, Number):
            return expression, _N
        if isinstance(expression, Name):
            return expression, _M if expression.column in self.moments else _N
        if expression.what in CALENDAR:
            return expression, _N
        parts, senses = zip(*(self.read(part) for part in expression.parts), strict=True)
        if expression.what in UNITS:
            return self._in_units(expression.what, parts[0], senses[0])
        return Call(expression.what, parts), _sense(expression.what, senses)

    def _in_units(self, unit: str, part: Expression, sense: Sense) -> tuple[Expression, Sense]:
        """Return a length of so many units, or how many units a length has."""
        if sense is _M or not self.space:
            raise Wrong(f"{unit}() is of a difference of moments, or of a number that is added to a moment.", "expression")
        one = DAY if self.space == "date" else 1
        if sense is _L:
            return self._counted(part, UNITS[unit], one), _N
        if UNITS[unit] < one:
            raise Wrong(f"a date counts in whole days; use days() instead of {unit}().", "expression")
        return _times(part, UNITS[unit] // one), _L

    def _counted(self, length: Expression, unit: int, one: int) -> Expression:
        """Return a length in units; a whole number where both moments are multiples of the unit."""
        if unit <= one:
            return _times(length, one // unit)
        ratio = Call("/", (length, Number(float(unit // one), whole=True)))
        ends = length.parts if isinstance(length, Call) and length.what == "-" else ()
        grains = [self.moments[end.column].times * one % unit for end in ends if isinstance(end, Name)]
        return Call("round", (ratio,)) if len(grains) == 2 and not any(grains) else ratio


def _times(part: Expression, factor: int) -> Expression:
    return part if factor == 1 else Call("*", (part, Number(float(factor), whole=True)))


def _sense(what: str, senses: Sequence[Sense]) -> Sense:
    """Return what an operator or a function gives. A length beside a number counts as one."""
    if what in ("+", "-"):
        if len(senses) == 2 and (found := _SUMS.get((what, senses[0], senses[1]))) is not None:
            return found
        if _M in senses:
            raise Wrong(f'"{what}" does not go with a moment here: {_ADD}.', "expression")
        return _L if senses == (_L,) else _N
    if what in ("min", "max", "abs"):
        return senses[0] if len({*senses}) == 1 else _N
    if what == "*":
        return _L if sorted(sense.value for sense in senses) == ["length", "number"] else _N
    return _L if what == "/" and tuple(senses) == (_L, _N) else _N
