"""The small language of impossible combinations: parsed into a tree, asked of every combination of codes.

Public. Nothing is evaluated but comparisons of a column with a constant, joined by and, or, not.

    condition  = and-part { "or" and-part }
    and-part   = part { "and" part }
    part       = "not" part | "(" condition ")" | comparison
    comparison = column ("=" | "!=" | "<" | "<=" | ">" | ">=") constant
               | column ["not"] "in" "[" constant { "," constant } "]"
               | column "is" ["not"] "null"
    constant   = "text" | 'text' | number | true | false | 2024-01-31 | 2024-01-31T12:00:00 | 08:30
    column     = a bare name, or any name between `backticks`

An order compares columns with one another: column ("<" | "<=") column ..., or all of them with ">" or ">=".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime, time

Constant = str | int | float | bool | date | datetime | time

MAX_DEPTH = 50
TOKEN = re.compile(
    r"\s*(?:(?P<text>\"(?:[^\"\\]|\\.)*\"|'[^']*')"
    r"|(?P<moment>\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?(?:Z|[+-]\d{2}:\d{2})?)?)"
    r"|(?P<clock>\d{2}:\d{2}(?::\d{2})?)"
    r"|(?P<number>[+-]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|`(?P<quoted>[^`]+)`"
    r"|(?P<name>[^\W\d][\w.-]*)"
    r"|(?P<mark><=|>=|!=|==|=|<|>|\(|\)|\[|\]|,))"
)
KEYWORDS = {"and", "or", "not", "in", "is", "null", "true", "false"}
NEGATED = {"!=": "=", ">": "<=", ">=": "<"}


class RuleError(ValueError):
    """The text of a rule cannot be read; the message says why and where."""


@dataclass(frozen=True)
class Compare:
    """A column against a constant; ``operator`` is one of =, <, <=."""

    column: str
    operator: str
    constant: Constant


@dataclass(frozen=True)
class IsNull:
    """The column is null."""

    column: str


@dataclass(frozen=True)
class Not:
    """The opposite of a condition."""

    part: Condition


@dataclass(frozen=True)
class All:
    """Every part holds."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True)
class Some:
    """At least one part holds."""

    parts: tuple[Condition, ...]


Condition = Compare | IsNull | Not | All | Some


def columns_of(condition: Condition) -> list[str]:
    """Return the columns that a condition names, in order of appearance, without repeats."""
    if isinstance(condition, Compare | IsNull):
        return [condition.column]
    parts = (condition.part,) if isinstance(condition, Not) else condition.parts
    return list(dict.fromkeys(name for part in parts for name in columns_of(part)))


def parse_rule(text: str) -> Condition:
    """Parse a condition; RuleError says what is wrong."""
    parser = _Parser(text)
    condition = parser.condition()
    parser.end()
    return condition


def parse_order(text: str) -> tuple[list[str], list[str]]:
    """Parse an order of columns, such as "born <= admitted < discharged", into columns and what stands between them."""
    parser = _Parser(text)
    names = [parser.column()]
    operators: list[str] = []
    while (operator := next((mark for mark in ("<=", ">=", "<", ">") if parser.take(mark)), None)) is not None:
        operators.append(operator)
        names.append(parser.column())
    if not operators or parser.current() is not None:
        raise RuleError(f"expected columns with <, <=, > or >= between them, {parser.found()}")
    return names, operators


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    at: int


class _Parser:
    """Recursive descent over the tokens of one rule."""

    def __init__(self, text: str) -> None:
        self.tokens = _tokens(text)
        self.next = 0
        self.depth = 0

    def condition(self) -> Condition:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise RuleError("too many brackets inside each other")
        parts = [self.both()]
        while self.take("or"):
            parts.append(self.both())
        self.depth -= 1
        return parts[0] if len(parts) == 1 else Some(tuple(parts))

    def both(self) -> Condition:
        parts = [self.part()]
        while self.take("and"):
            parts.append(self.part())
        return parts[0] if len(parts) == 1 else All(tuple(parts))

    def part(self) -> Condition:
        negations = 0
        while self.take("not"):
            negations += 1
        if self.take("("):
            inner = self.condition()
            self.need(")")
        else:
            inner = self.comparison()
        return Not(inner) if negations % 2 else inner

    def comparison(self) -> Condition:
        column = self.column()
        if self.take("is"):
            negated = self.take("not")
            self.need("null")
            return Not(IsNull(column)) if negated else IsNull(column)
        negated = self.take("not")
        if negated or self.peek("in"):
            self.need("in")
            members = Some(tuple(Compare(column, "=", constant) for constant in self.constants()))
            return Not(members) if negated else members
        return self.ordering(column)

    def ordering(self, column: str) -> Condition:
        operator = next((mark for mark in ("=", "==", "!=", "<=", ">=", "<", ">") if self.take(mark)), None)
        if operator is None:
            raise RuleError(f'expected =, !=, <, <=, >, >=, in or is after "{column}", {self.found()}')
        constant = self.constant()
        if operator in NEGATED:
            return Not(Compare(column, NEGATED[operator], constant))
        return Compare(column, operator.replace("==", "="), constant)

    def constants(self) -> list[Constant]:
        self.need("[")
        found = [self.constant()]
        while self.take(","):
            found.append(self.constant())
        self.need("]")
        return found

    def column(self) -> str:
        token = self.current()
        if token is None or token.kind not in ("name", "quoted") or self.is_keyword(token):
            raise RuleError(f"expected the name of a column, {self.found()}")
        self.next += 1
        return token.text

    def constant(self) -> Constant:
        token = self.current()
        if token is None or (
            token.kind not in ("text", "number", "moment", "clock") and token.text not in ("true", "false")
        ):
            hint = f'; text stands in quotes: "{token.text}"' if token is not None and token.kind == "name" else ""
            raise RuleError(f"expected a constant, {self.found()}{hint}")
        self.next += 1
        return _constant(token)

    def current(self) -> _Token | None:
        return self.tokens[self.next] if self.next < len(self.tokens) else None

    def is_keyword(self, token: _Token) -> bool:
        return token.kind == "name" and token.text.lower() in KEYWORDS

    def peek(self, text: str) -> bool:
        token = self.current()
        return token is not None and token.kind in ("name", "mark") and token.text.lower() == text

    def take(self, text: str) -> bool:
        found = self.peek(text)
        self.next += found
        return found

    def need(self, text: str) -> None:
        if not self.take(text):
            raise RuleError(f'expected "{text}", {self.found()}')

    def end(self) -> None:
        if self.current() is not None:
            raise RuleError(f'expected "and", "or" or the end, {self.found()}')

    def found(self) -> str:
        token = self.current()
        return "but the rule ends" if token is None else f"found {token.text!r} at character {token.at + 1}"


def _tokens(text: str) -> list[_Token]:
    tokens, at = [], 0
    while at < len(text.rstrip()):
        match = TOKEN.match(text, at)
        if match is None:
            raise RuleError(f"cannot read {text[at:].strip()[:20]!r} at character {at + 1}")
        kind = str(match.lastgroup)
        tokens.append(_Token(kind, match[kind], match.start(kind)))
        at = match.end()
    return tokens


def _constant(token: _Token) -> Constant:
    if token.kind == "text":
        inner = token.text[1:-1]
        return re.sub(r"\\(.)", r"\1", inner) if token.text[0] == '"' else inner
    if token.kind == "name":
        return token.text == "true"
    try:
        if token.kind == "moment":
            return date.fromisoformat(token.text) if len(token.text) == 10 else datetime.fromisoformat(token.text)
        if token.kind == "clock":
            return time.fromisoformat(token.text)
        digits = token.text.replace("_", "")
        return int(digits) if re.fullmatch(r"[+-]?\d+", digits) else float(digits)
    except ValueError:
        what = {"moment": "date", "clock": "time of day"}.get(token.kind, "number")
        raise RuleError(f'"{token.text}" is not a {what}') from None
