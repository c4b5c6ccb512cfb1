"""The small language of derived columns: parsed into a tree, worked out for whole columns at a time.

Public. Nothing is evaluated but arithmetic, comparisons and the functions below. ``lengths.py`` says what is a moment or a
length of time.

    expression = sum [ ("=" | "!=" | "<" | "<=" | ">" | ">=") sum ]
    sum        = product { ("+" | "-") product }
    product    = part { ("*" | "/") part }
    part       = "-" part | "(" expression ")" | number | column | function "(" expression { "," expression } ")"
    column     = a bare name without "-", or any name between `backticks`
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from understudy.schema.rules import MAX_DEPTH, RuleError
from understudy.schema.typed import DAY

Floats = NDArray[np.float64]

TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|`(?P<quoted>[^`]+)`"
    r"|(?P<name>[^\W\d][\w.]*)"
    r"|(?P<mark><=|>=|!=|==|=|<|>|\(|\)|,|\+|-|\*|/))"
)
COMPARISONS: dict[str, Callable[[Floats, Floats], NDArray[np.bool_]]] = {
    "=": np.equal,
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}
ARITHMETIC: dict[str, Callable[[Floats, Floats], Floats]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
}
CALENDAR: dict[str, tuple[Callable[[pa.Array], pa.Array], tuple[str, ...]]] = {
    "year": (pc.year, ("date", "datetime")),
    "quarter": (pc.quarter, ("date", "datetime")),
    "month": (pc.month, ("date", "datetime")),
    "day": (pc.day, ("date", "datetime")),
    "weekday": (lambda moments: pc.day_of_week(moments, count_from_zero=False), ("date", "datetime")),
    "hour": (pc.hour, ("datetime", "time")),
    "minute": (pc.minute, ("datetime", "time")),
}
"""Parts of a moment, and the kinds of column that have them; Monday is 1."""
NUMERIC: dict[str, tuple[int, int | None]] = {
    "round": (1, 1),
    "floor": (1, 1),
    "abs": (1, 1),
    "min": (2, None),
    "max": (2, None),
    "cut": (2, None),
}
"""Functions of numbers, with the fewest and the most that they take."""
UNITS = {"seconds": 1, "minutes": 60, "hours": 3600, "days": DAY}
"""Lengths of time in seconds: of a number the length, of a length the number. ``lengths.py`` makes factors of them."""
MOST_TOKENS = 400
"""Names, numbers and marks of an expression: a tree of so many can be walked through."""


@dataclass(frozen=True)
class Number:
    """A constant."""

    value: float
    whole: bool


@dataclass(frozen=True)
class Name:
    """The value of a column."""

    column: str


@dataclass(frozen=True)
class Call:
    """An operator or a function, and what it is of."""

    what: str
    parts: tuple[Expression, ...]


Expression = Number | Name | Call


def names_in(expression: Expression) -> list[str]:
    """Return the columns that an expression names, in order of appearance, without repeats."""
    if isinstance(expression, Name):
        return [expression.column]
    parts = expression.parts if isinstance(expression, Call) else ()
    return list(dict.fromkeys(name for part in parts for name in names_in(part)))


def calendar_parts(expression: Expression) -> list[tuple[str, str]]:
    """Return each function of a moment with the column that it is of."""
    if not isinstance(expression, Call):
        return []
    if expression.what in CALENDAR:
        (part,) = expression.parts
        assert isinstance(part, Name)
        return [(expression.what, part.column)]
    return [found for part in expression.parts for found in calendar_parts(part)]


def is_boolean(expression: Expression) -> bool:
    """Whether the expression is a comparison."""
    return isinstance(expression, Call) and expression.what in COMPARISONS


def is_whole(expression: Expression, whole: Mapping[str, bool]) -> bool:
    """Whether the expression has whole numbers only, where ``whole`` says which columns have."""
    if isinstance(expression, Number):
        return expression.whole
    if isinstance(expression, Name):
        return whole[expression.column]
    if expression.what in CALENDAR or expression.what in COMPARISONS or expression.what in ("round", "floor", "cut"):
        return True
    return expression.what != "/" and all(is_whole(part, whole) for part in expression.parts)


def largest(expression: Expression, bounds: Mapping[str, float]) -> float:
    """Return what no value exceeds in magnitude, where ``bounds`` says so of columns; infinite where one may be unknown."""
    if isinstance(expression, Number):
        return abs(expression.value)
    if isinstance(expression, Name):
        return bounds[expression.column]
    if expression.what in CALENDAR:
        return 9999.0
    parts = [largest(part, bounds) for part in expression.parts]
    by_constant = expression.what == "/" and isinstance(expression.parts[1], Number) and parts[1] > 0
    if not np.isfinite(parts).all() or (expression.what == "/" and not by_constant):
        return np.inf
    if expression.what in ("*", "/"):
        return parts[0] * parts[1] if expression.what == "*" else parts[0] / parts[1]
    return sum(parts) + 1  # no other function gives more


def work_out(expression: Expression, values: Mapping[str, Floats], moments: Mapping[str, pa.Array]) -> Floats:
    """Return the value for each row: NaN where a part is. ``moments`` holds the columns that functions of moments are of."""
    if isinstance(expression, Number):
        return np.full(len(next(iter(values.values()))), expression.value)
    if isinstance(expression, Name):
        return values[expression.column]
    if expression.what in CALENDAR:
        (part,) = expression.parts
        assert isinstance(part, Name)
        found = pc.cast(CALENDAR[expression.what][0](moments[part.column]), pa.float64())
        return np.asarray(pc.fill_null(found, np.nan).to_numpy(zero_copy_only=False))
    with np.errstate(all="ignore"):  # what is not a number is missing
        return _applied(expression.what, [work_out(part, values, moments) for part in expression.parts])


def _applied(what: str, parts: list[Floats]) -> Floats:
    unknown = np.any([np.isnan(part) for part in parts], axis=0)
    if what in ARITHMETIC:
        found = ARITHMETIC[what](parts[0], parts[1]) if len(parts) == 2 else -parts[0]
    elif what in COMPARISONS:
        found = COMPARISONS[what](parts[0], parts[1]).astype(np.float64)
    elif what == "cut":
        found = np.sum([parts[0] >= edge for edge in parts[1:]], axis=0).astype(np.float64)
    elif what in ("min", "max"):
        found = (np.min if what == "min" else np.max)(parts, axis=0)
    else:
        found = np.abs(parts[0]) if what == "abs" else np.floor(parts[0] + (0.5 if what == "round" else 0))
    return np.where(unknown | ~np.isfinite(found), np.nan, found)


def parse_expression(text: str) -> Expression:
    """Parse an expression; RuleError says what is wrong."""
    parser = _Parser(text)
    found = parser.expression()
    parser.end()
    return found


class _Parser:
    """Recursive descent over the tokens of one expression."""

    def __init__(self, text: str) -> None:
        self.tokens = _tokens(text)
        if len(self.tokens) > MOST_TOKENS:
            raise RuleError(f"it is longer than {MOST_TOKENS} names, numbers and marks")
        self.next = 0
        self.depth = 0

    def expression(self) -> Expression:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise RuleError("too many brackets inside each other")
        left = self.chain(("+", "-"), lambda: self.chain(("*", "/"), self.part))
        operator = self.take(*COMPARISONS)
        if operator is not None:
            left = Call(operator, (left, self.chain(("+", "-"), lambda: self.chain(("*", "/"), self.part))))
        self.depth -= 1
        return left

    def chain(self, operators: tuple[str, ...], operand: Callable[[], Expression]) -> Expression:
        left = operand()
        while (operator := self.take(*operators)) is not None:
            left = Call(operator, (left, operand()))
        return left

    def part(self) -> Expression:
        negative = False
        while self.take("-"):
            negative = not negative
        return Call("-", (self.atom(),)) if negative else self.atom()

    def atom(self) -> Expression:
        if self.take("("):
            inner = self.expression()
            self.need(")")
            return inner
        kind, text = self.tokens[self.next][:2] if self.next < len(self.tokens) else ("", "")
        if kind not in ("number", "name", "quoted"):
            raise RuleError(f"expected a column or a number, {self.found()}")
        self.next += 1
        if kind == "number":
            return Number(float(text.replace("_", "")), re.fullmatch(r"[\d_]+", text) is not None)
        return self.call(text) if kind == "name" and self.take("(") else Name(text)

    def call(self, name: str) -> Expression:
        if name not in CALENDAR and name not in NUMERIC and name not in UNITS:
            raise RuleError(f'there is no function "{name}"; there are {", ".join([*CALENDAR, *NUMERIC, *UNITS])}')
        parts = [self.expression()]
        while self.take(","):
            parts.append(self.expression())
        self.need(")")
        if name in CALENDAR and (len(parts) != 1 or not isinstance(parts[0], Name)):
            raise RuleError(f"{name}() is of one column")
        fewest, most = NUMERIC.get(name, (1, 1))
        if len(parts) < fewest or (most is not None and len(parts) > most):
            raise RuleError(f"{name}() is of {fewest} {'or more ' if most is None else ''}number{'s' * (fewest > 1)}")
        return Call(name, tuple(parts))

    def take(self, *marks: str) -> str | None:
        if self.next < len(self.tokens) and self.tokens[self.next][0] == "mark" and self.tokens[self.next][1] in marks:
            self.next += 1
            return self.tokens[self.next - 1][1]
        return None

    def need(self, mark: str) -> None:
        if self.take(mark) is None:
            raise RuleError(f'expected "{mark}", {self.found()}')

    def end(self) -> None:
        if self.next < len(self.tokens):
            raise RuleError(f"expected the end, {self.found()}")

    def found(self) -> str:
        if self.next >= len(self.tokens):
            return "but the expression ends"
        _, text, at = self.tokens[self.next]
        return f"found {text!r} at character {at + 1}"


def _tokens(text: str) -> list[tuple[str, str, int]]:
    tokens, at = [], 0
    while at < len(text.rstrip()):
        match = TOKEN.match(text, at)
        if match is None:
            raise RuleError(f"cannot read {text[at:].strip()[:20]!r} at character {at + 1}")
        kind = str(match.lastgroup)
        tokens.append((kind, match[kind], match.start(kind)))
        at = match.end()
    return tokens
