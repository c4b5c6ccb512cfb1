"""What a kept mutant is: a piece of a source file, what replaces it, and the tests that find it out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """One lie. ``edits`` are (file under src/understudy, before, after); ``patch`` names a function instead."""

    name: str
    breaks: tuple[int, ...]
    what: str
    edits: tuple[tuple[str, str, str], ...]
    caught_by: tuple[str, ...]
    patch: str = ""


def one(
    name: str,
    breaks: int | tuple[int, ...],
    what: str,
    edit: tuple[str, str, str] | Sequence[tuple[str, str, str]],
    *tests: str,
) -> Mutant:
    edits = (edit,) if isinstance(edit[0], str) else tuple(edit)
    return Mutant(name, (breaks,) if isinstance(breaks, int) else breaks, what, edits, tests)  # type: ignore[arg-type]
