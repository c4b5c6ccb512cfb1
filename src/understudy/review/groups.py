"""The decisions of a draft: marks that ask the same of several columns are one, which may also be made column by column.

Sees no table. The text of a draft shows what was seen in one, to its owner.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from understudy.review.blocks import quote
from understudy.review.marks import Mark, accept, leave_out, marks_of, open_up, shown

_WIDTH = 110
_SLIPS = r"[\d,]+ of [\d,]+ values[^;]*?(?=;|\.$|\. [A-Z])"
"""What a mark of any column may say beside what it asks: how many values are not as all the others."""
_TOLD = frozenset(("kind", "type", "nullable", "nulls", "other", "values", "edges", "min", "max", "width"))
"""Settings that say nothing of the rows, or are told otherwise: ``other`` is the first value, or the bin in the middle."""


@dataclass(frozen=True)
class Question:
    """What marks with a text of this ``form`` ask, said of several columns; ``special`` is what each says of its own."""

    form: str
    asks: str
    special: str = r"$."


QUESTIONS = (
    Question(
        r"In all rows it follows from",
        "the value of another column tells theirs, in all rows. Where that is so by what they mean, go one by one, and "
        "declare them derived. Accepted, they stay as drafted, with what was seen.",
        r'follows from "[^"]*"',
    ),
    Question(
        r'seems? to mean "missing"',
        'a value that was seen is taken to mean "missing". Accept that, and what else was seen, if you know it without the '
        "data.",
        r'[^;]* seems? to mean "missing"|if [^;]* means "missing"|\d+ of them in fewer than \d+ rows',
    ),
    Question(
        r'; if .* means "missing"',
        'a value may mean "missing", and is taken for an ordinary one. Where it does, go one by one, and write nulls. '
        "Accept what you know without the data.",
        r'if [^;]* means "missing"|\d+ of them in fewer than \d+ rows',
    ),
    Question(
        r"in fewer than \d+ rows",
        "the values that were seen are listed, some of which few rows have. Accept those that you know without the data: "
        "the others would be disclosed. Unlisted, each run learns those that many rows have, for a part of its budget.",
        r"\d+ of them in fewer than \d+ rows",
    ),
    Question(
        r"^(these \d+ values were|this value was) seen",
        "the values that were seen are listed. Accept those that you know without the data, from a code book or by what "
        "the columns mean: the others would be disclosed.",
    ),
    Question(
        r"^the smallest and the largest number",
        "the smallest and the largest number were seen. Accept those that you know without the data.",
    ),
    Question(
        r"^bounds and bins were chosen",
        "bounds and bins were chosen by looking at the numbers. Accept those that you know without them.",
    ),
    Question(
        r"^the first and the last (day|moment)",
        "the first and the last day or moment were seen, and rounded. Accept those that you know without the data.",
        r"whether the day[^;]* comes first|years of two digits are of the hundred from the year of min on",
    ),
    Question(
        r" was seen, and is kept as the end of the day|^hours without a zero in front|^all times that were seen",
        "of times of day more was seen: the end of the day (2400), a step that all are multiples of, or hours without a "
        "zero in front, which may be lengths of time. Accept that, if you know it without the data, and they say when; "
        "what says how long is better written as numbers.",
        r"\d\S* was seen|hours without a zero in front",
    ),
    Question(
        r"^left out, since it has about",
        "they are left out, since they have too many different texts to list. To keep one (by its values, or unlisted: then "
        "each run learns the texts that many rows have), or if one says whose row it is, go one by one.",
        r"about [\d,]+ different texts|prefix = \d+ has \d+ values",
    ),
    Question(
        r"^left out, since its numbers have commas",
        "they are left out, since their numbers have commas; such are read from CSV files alone, where they are not beside "
        "others with points. To keep them, write all numbers alike (docs/schema.md, CSV files), and draft again.",
    ),
    Question(
        r"^left out, since (its numbers have signs|texts stand among|it has lengths of time)",
        "they are left out, since their numbers have signs (12 % or $5), or texts stand among these, or they are lengths of "
        'time (27:14:00). To keep them, write plain numbers, and draft again; where such texts mean "missing", go one by '
        "one, and write them as nulls.",
        r"(?<=its numbers \().*?(?=\)\. Write)",
    ),
    Question(
        r"^left out, since its name",
        "they are left out, since their names say that they identify somebody or something. If one says whose row it is, "
        "and people have several rows, go one by one, and declare it as the person.",
    ),
    Question(
        r"^left out: ", "they are left out, since the file tells too little of them.", r"(?<=left out: ).*?(?=\. Declare)"
    ),
    Question(r"^nulls were seen", 'what means "missing" was seen in the table. Accept what you know without it.'),
)
"""The first one that fits a mark is the one that it asks; a mark that fits none, or is about no column, stands alone."""


@dataclass(frozen=True)
class Group:
    """One decision: marks that ask the same, in the order of the file."""

    marks: tuple[Mark, ...]
    question: Question | None

    @property
    def left_out(self) -> bool:
        """Whether its columns are left out already."""
        return self.marks[0].left_out


def groups_of(text: str, apart: Collection[Question] = ()) -> list[Group]:
    """Return the decisions that are left, in the order of the file. Those about what ``apart`` names are one a column."""
    found: dict[Question | int, list[Mark]] = {}
    for mark in marks_of(text):
        question = asked(mark)
        found.setdefault(mark.line if question is None or question in apart else question, []).append(mark)
    return [Group(tuple(marks), asked(marks[0])) for marks in found.values()]


def asked(mark: Mark) -> Question | None:
    """Return what a mark asks, if other columns may be asked the same."""
    if mark.column is None:
        return None
    return next((question for question in QUESTIONS if re.search(question.form, mark.message)), None)


def columns_of(text: str, group: Group) -> list[str]:
    """Return a line for each column of a group: its name, what is special about it, and its settings, cut where long."""
    return [_short(line) for line in _lines(text, group)]


def _short(line: str) -> str:
    """Return a line, cut between words where it is long."""
    return line if len(line) <= _WIDTH else f"{line[: _WIDTH - 1].rpartition(' ')[0] or line[: _WIDTH - 2]} …"


def is_cut(text: str, group: Group) -> bool:
    """Whether ``columns_of`` leaves out a part of what was seen of a column."""
    return any(len(line) > _WIDTH for line in _lines(text, group))


def _lines(text: str, group: Group) -> list[str]:
    assert group.question is not None
    lines = []
    for mark in group.marks:
        special = [found[0].strip() for found in re.finditer(f"{group.question.special}|{_SLIPS}", mark.message)]
        declared = {} if mark.left_out else tomllib.loads(shown(text, mark))["columns"][mark.column]
        missing = "" if any("missing" in words for words in special) else _missing(declared)
        line = "; ".join(filter(None, [*special, missing, _settings(declared)]))
        lines.append(f"{mark.column}: {line}" if line else str(mark.column))
    return lines


def _missing(declared: Mapping[str, Any]) -> str:
    """Return what is declared to mean "missing", beside what everybody writes for it."""
    words = [one for one in declared.get("nulls", []) if one != ""]
    return f'{_spelled(words)} mean{"s" * (len(words) == 1)} "missing"' if words else ""


def _spelled(values: Sequence[Any]) -> str:
    return ", ".join(quote(value) if isinstance(value, str) else str(value) for value in values)


def _settings(declared: Mapping[str, Any]) -> str:
    """Return what was seen of a column, in one line: all that is declared, but for what says nothing of the rows."""
    others = "; ".join(f"{key} {_spelled([value])}" for key, value in declared.items() if key not in _TOLD)
    if values := declared.get("values"):
        words = f"{len(values)} value{'s' * (len(values) > 1)}: {_spelled(values)}"
    elif edges := declared.get("edges"):
        words = _bins(edges, declared)
    else:
        words = f"from {declared['min']} to {declared['max']}" if {"min", "max"} <= {*declared} else ""
        words += f", in bins of {declared['width']}" if words and "width" in declared else ""
    return "; ".join(filter(None, [others, words]))


def _bins(edges: Sequence[Any], declared: Mapping[str, Any]) -> str:
    """Say where bins start, and first which of them are for one value alone: many rows have that."""
    whole = declared["kind"] == "integer"
    least = declared.get("step") or (1 if whole else 10.0 ** -declared["decimals"] if "decimals" in declared else 0)
    alone = [a for a, b in pairwise(edges) if isinstance(a, int | float) and b - a <= least * (1 + 1e-6)]
    words = f", of one value {_spelled(alone)}" if alone else ""
    return f"{len(edges) - 1} bins from {edges[0]} to {edges[-1]}{words}, which start at {_spelled(edges[:-1])}"


def accept_all(text: str, group: Group) -> str:
    """Return the file without the marks of a group."""
    for mark in reversed(group.marks):
        text = accept(text, mark)
    return text


def open_all(text: str, group: Group) -> str:
    """Return the file with the columns of a group as open ones."""
    for mark in reversed(group.marks):
        text = open_up(text, mark)
    return text


def leave_all_out(text: str, group: Group) -> str:
    """Return the file without the columns of a group."""
    for mark in reversed(group.marks):
        text = leave_out(text, mark)
    return text
