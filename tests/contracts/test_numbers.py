"""Neighbours of tables with sums, derived columns that are modelled, columns with one value and open columns, in the default
mechanism: every byte of the release is the same, and no exact number moves by more than was paid for.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from understudy import synthesize
from understudy.privacy import Charge, Unit
from understudy.schema import parse_schema
from understudy.source.opened import OpenSource

from .mechanisms import LINEAR
from .tape import Tape, differences, frozen_entropy, paid, timeless
from .test_releases import Listener

pytestmark = [pytest.mark.promise(n) for n in (10, 16)]

SCHEMA = """
[columns.pay]
kind = "integer"
min = -50
max = 9999
bins = 6
nullable = true
[columns.share]
kind = "real"
min = -1e300
max = 1e300
bins = 4
other = 0.0
[columns.size]
kind = "integer"
min = 0
max = 5
nullable = true
[columns.region]
kind = "categorical"
values = ["n", "s"]
other = "elsewhere"
nullable = true
[columns.country]
kind = "categorical"
values = ["here"]
other = "here"
[columns.large]
kind = "derived"
expression = "size >= 3"
[columns.north]
kind = "derived"
of = "region"
lookup = { "n" = true, "s" = false, "elsewhere" = false }
"""
OPEN = '[columns.town]\nkind = "open"\nnullable = true\n'
NAMES = ("pay", "share", "size", "region", "country", "large", "north", "town", "who")
Row = tuple[Any, ...]

TABLE: list[Row] = [
    (i * 37 % 9000, (i % 5) * 1e299, i % 7, "nsx"[i % 3], "here", "secret", i, ["Rome", "Oslo"][i % 2], f"p{i % 100}")
    for i in range(500)
]
ALONE = "Lima"
"""A text that nobody else has: it is told with a chance of delta, and is taken for not told here."""
ODD: dict[str, Row] = {
    "a plain one": (40, 0.5, 4, "n", "here", True, True, "Rome", "p3"),
    "a text of its own": (40, 0.5, 4, "n", "here", True, True, ALONE, "p3"),
    "nothing at all": (None,) * 9,
    "beyond every end": (10**30, 1e308, -(10**20), "?", "elsewhere", 7, "no", "x" * 5000, "me"),
    "no numbers": (float("nan"), float("-inf"), "a", 3.5, None, None, float("inf"), 'a"b\n\x00', ""),
    "the lowest": (-50, -1e300, 0, "s", "here", False, 0, "", "p3"),
    "the highest": (9999, 1e300, 5, "n", "here", "", "", "Oslo", "p3"),
}


def columns(rows: Sequence[Row]) -> dict[str, list[Any]]:
    return {name: [row[k] for row in rows] for k, name in enumerate(NAMES)}


@dataclass
class Seen:
    """All that a run shows: files, events, and what is printed, logged and warned of."""

    files: dict[str, bytes]
    told: list[str]
    printed: str
    charges: Sequence[Charge]


def not_told(texts: Callable[[OpenSource, str], tuple[list[str], Any]]) -> Callable[..., tuple[list[str], Any]]:
    """Read as ever, and then leave out what one row alone has."""

    def read(source: OpenSource, column: str) -> tuple[list[str], Any]:
        found, counts = texts(source, column)
        kept = [place for place, text in enumerate(found) if text != ALONE]
        return [found[place] for place in kept], counts[kept]

    return read


def run(table: tuple[Sequence[Row], str], unit: str, tape: Tape, out: Path, capfd: pytest.CaptureFixture[str]) -> Seen:
    rows, text = table
    ears, root, told = Listener(), logging.getLogger(), list[str]()
    settings = {"epsilon": 3, "workload": "all-2way", "rows": 60, "rounds": 8, "unit": unit, "out": out / "release"}
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        frozen_entropy(patch)
        tape.install(patch)
        patch.setattr(OpenSource, "texts", not_told(OpenSource.texts))
        patch.setattr(root, "handlers", [*root.handlers, ears])
        patch.setattr(root, "level", 1)
        root.manager._clear_cache()
        made = synthesize(
            columns(rows), parse_schema(text), progress=lambda event: told.append(str(timeless(event))), **settings
        )
    root.manager._clear_cache()
    assert sum(paid(made.spend), Fraction(0)) == made.spent <= made.rho
    told += [*ears.lines, *(str(one.message) for one in warned)]
    files = {str(p.relative_to(out)): p.read_bytes() for p in out.rglob("*") if p.is_file()}
    return Seen(files, told, "".join(capfd.readouterr()), made.spend)


def pairs(unit: Unit) -> list[tuple[list[Row], list[Row]]]:
    """Return neighbours: a row, or so many rows of a person, more; or as many replaced, each from one end to the other."""
    new = ("new",)
    odd = [row if unit.person is None else row[:-1] + new for row in ODD.values()]
    more = unit.rows if unit.kind == "replace" or unit.person is None else 4 * unit.rows
    before = [[other] * (unit.rows if unit.kind == "replace" else 0) for other in (odd[-1], *odd[:-1])]
    return [([*TABLE, *held], [*TABLE, *[row] * more]) for row, held in zip(odd, before, strict=True)]


UNITS = [Unit("add-remove"), Unit("replace"), Unit("add-remove", 5, "who"), Unit("replace", 5, "who")]
QUICK = [(UNITS[0], True), (UNITS[3], True), (UNITS[2], True)]
"""With an open column or without; the audit has all."""


def cases() -> list[Any]:
    every = [(unit, opened) for unit in UNITS for opened in (False, True)]
    return [
        pytest.param(*case, id=f"{case[0].value}{' open' * case[1]}", marks=() if case in QUICK else pytest.mark.audit)
        for case in every
    ]


@pytest.mark.parametrize(("unit", "opened"), cases())
def test_neighbours_cannot_be_told_apart_by_what_is_asked_of_numbers(
    unit: Unit, opened: bool, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    person = "" if unit.person is None else f'person = "{unit.person}"\nrows_per_person = {unit.rows}\n'
    text = person + SCHEMA + OPEN * opened
    first = Tape(seed=5)
    for number, (table, other) in enumerate(pairs(unit)):
        if not number or unit.kind == "replace":
            first = Tape(seed=5)
            recorded = run((table, text), unit.kind, first, tmp_path / f"a{number}", capfd)
        again = Tape(frozen=first.draws)
        replayed = run((other, text), unit.kind, again, tmp_path / f"b{number}", capfd)
        assert replayed == recorded
        linear = [at for at, charge in enumerate(recorded.charges, start=1) if LINEAR.match(charge.purpose)]
        assert linear, "a sum was asked for"
        assert differences(first.draws, again.draws, paid(recorded.charges), unit, linear) == []
