"""A schema learnt from a private table under a budget: reserve it, ask column by column, write down what was told.

Hands the private table to the door unopened, and reads nothing itself. Nobody need vouch for the result.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from understudy.errors import SchemaError, Spent, UserError
from understudy.learning.columns import kind_of, learn_column, rows_of_texts, texts_before, texts_column
from understudy.learning.texts import learn_texts
from understudy.learning.tree import ask_first, glance
from understudy.ledger import Ledger
from understudy.ledger.keeping import spending
from understudy.ledger.state import BESIDE, LEARNS
from understudy.privacy import WHOLE, Budget, Door, ResearchNoise, Rest, SecureNoise, Unit
from understudy.privacy.cost import float_above, float_below
from understudy.release.making import DEFAULT_DELTA
from understudy.request import TEXTS_SHARE, budget_of, place_of
from understudy.schema import Schema
from understudy.schema.declaration import ColumnDeclaration, CsvDeclaration, LearntDeclaration, SchemaDeclaration, Table
from understudy.schema.person import Person
from understudy.schema.problems import SchemaFileError
from understudy.schema.schema import build_schema
from understudy.schema.spelling import spelled_name
from understudy.source.csv import Csv
from understudy.source.opening import columns_of
from understudy.source.undeclared import UndeclaredSource

GLANCE_SHARE = Fraction(1, 50)
"""Of the budget, for which columns plainly hold texts …"""
FIRST_SHARE = Fraction(3, 16)
"""… and, if no column does, for what kind each column is …"""
NUMBERS_SHARE = Fraction(1, 2)
"""… and of a column's part of the rest, for the bins of numbers and days. Texts get what these leave: a text below the
threshold is lost, where a bin that is too wide is drawn from still."""


def learn_schema(
    data: Any,
    *,
    epsilon: float,
    delta: float = DEFAULT_DELTA,
    columns: Sequence[str] | None = None,
    person: str | None = None,
    rows_per_person: int | None = None,
    ledger: str | Path | Ledger | None = None,
    dataset: str | None = None,
    seed: int | None = None,
) -> Schema:
    """Learn a schema from a private table, under (``epsilon``, ``delta``) differential privacy. It needs no review.

    ``data`` is any table with names that ``synthesize`` takes; ``columns`` are those to learn, all unless given. Kinds,
    bounds, bins and where values are missing come from noisy counts, texts only where many rows have them, but for words
    such as yes and no, which are known before any table. Columns of which
    nothing could be learnt for this budget are left out.

    What it costs adds to what the release costs that is made with it: take both from one ``ledger``. Where persons have
    several rows, name who they are, as in a schema. ``seed`` makes it repeatable for research, and NOT PRIVATE.
    """
    found, _ = learnt_schema(
        data,
        epsilon=epsilon,
        delta=delta,
        columns=columns,
        person=person,
        rows_per_person=rows_per_person,
        ledger=ledger,
        dataset=dataset,
        seed=seed,
    )
    return found


def learnt_schema(
    data: Any,
    *,
    epsilon: float,
    delta: float = DEFAULT_DELTA,
    columns: Sequence[str] | None = None,
    person: str | None = None,
    rows_per_person: int | None = None,
    ledger: str | Path | Ledger | None = None,
    dataset: str | None = None,
    seed: int | None = None,
) -> tuple[Schema, Spent]:
    """Return a schema as ``learn_schema`` does, and what it has spent."""
    with spending() as run:
        whom = _person(person, rows_per_person)
        csv = _dialect(data)
        names = _named(columns or columns_of(data, csv), person)
        promised, texts = budget_of(epsilon, delta, None), delta * TEXTS_SHARE
        spent = replace(promised, rho=budget_of(epsilon, float_below(Fraction(delta) - Fraction(texts)), None).rho)
        unit = Unit.ADD_REMOVE if whom is None else Unit("add-remove", whom.rows, whom.column)
        place = place_of(ledger, dataset, None, resume=False, seeded=seed is not None)
        source = UndeclaredSource(data, names, whom, csv)
        facts = {LEARNS: _digest(names), "unit": unit.value, "private": seed is None, BESIDE: texts}
        log = run.begin(place, spent, facts, private=seed is None, resume=False)
        noise = SecureNoise() if seed is None else ResearchNoise(seed)
        door = Door(source, Budget.of(rho=spent.rho), unit=unit, noise=noise, journal=log)
        run.filter = door.filter
        del data, source  # nothing below can reach the rows but through the door
        learnt, asked = _asked(door, names, spent.rho, texts)
        cost = LearntDeclaration(
            epsilon=epsilon,
            delta=delta,
            rho=float_above(spent.rho),
            texts=texts,
            threshold=min((one.threshold(unit) // WHOLE for one in asked), default=None),
            rare=min((one.rare(unit, delta / len(asked)) for one in asked), default=None),
            unit=unit.value,
            private=door.private,
        )
        found = _written(learnt, cost, whom, csv)
    return found, Spent(run.rho, spent.rho, run.rho, learns=True)


def _asked(
    door: Door, names: Sequence[str], rho: Fraction, delta: float
) -> tuple[dict[str, ColumnDeclaration | None], list[Rest]]:
    """Ask what kind each column is, then learn numbers and days, then texts with all that is left; None where that fails.

    Return what was asked about texts, too.
    """
    part = rho / len(names)
    first = {name: glance(door, name, part * GLANCE_SHARE) or ask_first(door, name, part * FIRST_SHARE) for name in names}
    kinds = {name: kind_of(first[name]) for name in names}
    learnt: dict[str, ColumnDeclaration | None] = dict.fromkeys(names)
    texts = [name for name in names if kinds[name] == "text"]
    part = door.filter.remaining / len(names) * (NUMBERS_SHARE if texts else 1)
    for name in (name for name in names if kinds[name] not in (None, "text")):
        learnt[name] = learn_column(door, name, first[name], part)
    before = {name: texts_before(first[name]) for name in texts}
    found, asked = learn_texts(door, {name: rows_of_texts(first[name]) for name in texts}, before, delta)
    learnt |= {name: texts_column(one, first[name]) for name, one in found.items()}
    return learnt, asked


def _written(
    learnt: dict[str, ColumnDeclaration | None], cost: LearntDeclaration, person: Person | None, csv: CsvDeclaration | None
) -> Schema:
    """Put what was learnt down as a schema."""
    columns = {name: declared for name, declared in learnt.items() if declared is not None and _stands(name, declared)}
    if not columns:
        raise SchemaError("Nothing could be learnt of any column: the budget is too small for so few rows.")
    column, rows = (None, None) if person is None else (person.column, person.rows)
    table = Table(csv=csv, learnt=cost)
    declared = SchemaDeclaration(table=table, columns=columns, person=column, rows_per_person=rows)
    return build_schema(declared, "The learnt schema", lambda path: None)


def _stands(name: str, declared: ColumnDeclaration) -> bool:
    """Whether a schema may declare the column so; one that may not must not cost all others."""
    try:
        build_schema(SchemaDeclaration(table=Table(), columns={name: declared}), "The learnt column", lambda path: None)
    except SchemaFileError:
        return False
    return True


def _named(columns: Sequence[str], person: str | None) -> list[str]:
    """Return the columns to learn, each once; who a person is, is none of them."""
    if isinstance(columns, str):
        raise UserError(f"columns is a list of names, not one text: write [{columns!r}].")
    names = [name for name in dict.fromkeys(columns) if name != person]
    if not names:
        besides = "" if person is None else f' besides "{person}"'
        raise UserError(f"There is no column to learn{besides}.")
    if taken := [name for name in names if name in map(spelled_name, names)]:
        raise UserError(f"The column {taken[0]!r} has a name that learning needs for itself: rename it.")
    return names


def _person(column: str | None, rows: int | None) -> Person | None:
    if (column is None) != (rows is None):
        raise UserError("Name both: person, the column that identifies one, and rows_per_person, how many are used at most.")
    if column is None or rows is None:
        return None
    if isinstance(rows, bool) or not isinstance(rows, int) or rows < 1:
        raise UserError(f"rows_per_person must be a whole number of at least 1, not {rows!r}.")
    return Person(column, rows, ())


def _digest(names: Sequence[str]) -> str:
    return hashlib.sha256(json.dumps(list(names)).encode()).hexdigest()[:32]


def _dialect(data: Any) -> CsvDeclaration | None:
    """Return how a CSV file is written, as it was given; the schema will say so too."""
    if not isinstance(data, Csv):
        return None
    names = None if isinstance(data.header, bool) or data.header is None else list(data.header)
    marks = {"decimal": data.decimal, "thousands": data.thousands}
    return CsvDeclaration(separator=data.separator, quote=data.quote, encoding=data.encoding, header=names, **marks)
