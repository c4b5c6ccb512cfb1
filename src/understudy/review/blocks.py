"""Parts of a schema file as a draft writes them: settings, and marks for what a person must decide.

Public: owns no data.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

MARK = "# REVIEW: "
WIDTH = 110


@dataclass(frozen=True)
class Block:
    """One column: its settings, or none when it is left out; ``mark`` is what a person must decide."""

    name: str
    lines: tuple[str, ...] = ()
    mark: str = ""
    why: str = ""
    nullable: bool = False

    def __str__(self) -> str:
        head = header(self.name)
        marks = [MARK + self.mark] if self.mark else []
        if self.lines:
            return "\n".join([*marks, head, *self.lines, ""])
        return "\n".join([*marks, *([f"# Left out: {self.why}."] if self.why else []), f"# {head}", ""])


def header(name: str) -> str:
    """Return the header of a column."""
    return f"[columns.{name if re.fullmatch(r'[A-Za-z0-9_-]+', name) else quote(name)}]"


def quote(text: str) -> str:
    """Return text as TOML spells it."""
    return re.sub("[\x7f-\x9f]", lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False))


def number(value: float, whole: bool) -> str:
    """Return a number as TOML spells it."""
    if whole:
        return str(int(value))
    return repr(float(value)) if abs(value) < 1e16 else f"{value:.17g}"


def listed(key: str, values: Sequence[str]) -> list[str]:
    """Return a setting that is a list, on one line when it is short."""
    one = f"{key} = [{', '.join(values)}]"
    if len(one) <= WIDTH:
        return [one]
    return [f"{key} = [", *_wrapped(values), "]"]


def _wrapped(values: Sequence[str]) -> list[str]:
    """Return lines of values, each value whole."""
    lines = [""]
    for value in values:
        if len(lines[-1]) + len(value) > WIDTH and lines[-1]:
            lines.append("")
        lines[-1] += f"{' ' if lines[-1] else '  '}{value},"
    return lines
