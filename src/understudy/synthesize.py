"""From a private table to a release in one call: check everything, put the budget on record, run, draw, save.

Opens the private table and hands it to the door; reads no count itself. Whatever can be refused is refused before any spend.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

import numpy as np

from understudy.errors import BudgetError, UserError, did_you_mean
from understudy.mechanism import Event, Mechanism, OnEvent
from understudy.mechanism import mechanism as make_mechanism
from understudy.privacy import Budget, Door, Filter, ResearchNoise, SecureNoise, Unit
from understudy.privacy.cost import show
from understudy.progress import Choice, shown
from understudy.quantities import parse_size, parse_time
from understudy.release import Release, make_release
from understudy.release.frames import like
from understudy.release.making import DEFAULT_DELTA, Settings
from understudy.release.release import TableFormat
from understudy.release.storage import refuse_existing, require_room, staged, write_into
from understudy.schema import Schema, load_schema, require_reviewed
from understudy.source import open_source
from understudy.spending import Journal
from understudy.workload import Workload

UnitName = Literal["add-remove", "replace"]
Queries = str | Workload | Iterable[tuple[Iterable[str], float]]


@dataclass(frozen=True)
class Output:
    """Where a release goes: a folder that must not exist yet (or be a release, to be replaced)."""

    folder: Path
    format: TableFormat = "csv"
    report: bool = True
    overwrite: bool = False

    @property
    def spending(self) -> Path:
        """The record of what unfinished runs have spent, beside the folder."""
        return self.folder.with_name(f"{self.folder.name}.spent.json")


def synthesize(
    data: Any,
    schema: Schema | str | Path,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | Fraction | None = None,
    workload: Queries = "all-3way",
    rows: int | None = None,
    mechanism: str = "aim",
    unit: UnitName | Unit = "add-remove",
    max_size: str | int = "80MB",
    time_limit: str | float | None = None,
    confidence: float = 0.95,
    out: str | Path | Output | None = None,
    progress: Choice = None,
    seed: int | None = None,
    **options: Any,
) -> Release:
    """Make a differentially private synthetic table, and everything that may be known about it.

    ``data`` is any table that can be opened: a pandas or polars frame, Arrow, a dict of arrays, an array of codes, the
    path or glob of CSV or Parquet files, or ``Sql(query)``. ``schema`` is a reviewed ``Schema`` or the path of its file.

    The promise is (``epsilon``, ``delta``) differential privacy, or ``rho`` of zCDP instead. ``delta`` is 1e-9 unless
    given: it is the chance that the promise fails, so it should be far below one over the number of people. It is never
    derived from the table.

    ``rows`` of the synthetic table: as many as noisy counts say the table has, unless given; never the table's own number.
    ``out`` saves the release to a folder, all or nothing; the budget is on record beside it before anything is read.
    ``progress``: True, False, a function that is told every event, or None for a terminal only. ``seed`` makes a run
    repeatable for research, and NOT PRIVATE. Further ``options`` are the mechanism's: ``rounds``, ``alpha``, ``noise`` …
    """
    schema = schema if isinstance(schema, Schema) else load_schema(schema)
    require_reviewed(schema)
    budget = budget_of(epsilon, delta, rho)
    queries, name = workload_of(workload, schema)
    options |= {"max_size": parse_size(max_size)} | ({} if time_limit is None else {"time_limit": parse_time(time_limit)})
    how = modelled(mechanism, options)
    settings = Settings(uuid4().hex, name, options, _rows(rows), _confidence(confidence))
    target = out if isinstance(out, Output) or out is None else Output(Path(out))
    neighbours, noise = unit_of(unit), SecureNoise() if seed is None else ResearchNoise(_seed(seed))
    if target is not None:
        refuse_existing(target.folder, target.overwrite)
        require_room(target.folder, (settings.rows or 0) * len(schema.columns))
    source, convert = open_source(data, schema), like(data, schema)
    door = Door(source, budget, unit=neighbours, noise=noise, expect=how.expects(queries))
    del data, source  # nothing below can reach the rows but through the door
    with on_record(door, budget, settings.run, target) as note:
        with shown(progress) as tell:
            outcome = how.run(door, queries, zeros=schema.zeros, on_event=_noting(tell, note))
        rng = np.random.default_rng(secrets.randbits(128) if seed is None else [seed, 1])
        release = make_release(outcome, schema, budget, settings, rng=rng, convert=convert)
        if target is not None:
            save_release(release, target)
    return release


def budget_of(epsilon: float | None, delta: float | None, rho: float | Fraction | None) -> Budget:
    """Return the budget; ``delta`` is 1e-9 where only epsilon is given."""
    if rho is not None:
        return Budget.of(rho=rho, epsilon=epsilon, delta=delta)
    if epsilon is None:
        raise BudgetError("Say how much may be disclosed: epsilon (1 is usual; smaller is more private), or rho.")
    return Budget.of(epsilon=epsilon, delta=DEFAULT_DELTA if delta is None else delta)


def workload_of(workload: Queries, schema: Schema) -> tuple[Workload, str]:
    """Return the workload and the name that the release gives it (a file's name is nobody's business)."""
    if isinstance(workload, Workload):
        return workload, "custom"
    if not isinstance(workload, str | Path):
        return Workload.of(schema.domain, workload), "custom"
    text = str(workload)
    return Workload.parse(text, schema.domain), "custom" if Path(text).is_file() else text


def unit_of(unit: UnitName | Unit | str) -> Unit:
    """Return the unit of privacy called ``add-remove`` or ``replace``."""
    if isinstance(unit, Unit):
        return unit
    names = {"add-remove": Unit.ADD_REMOVE, "replace": Unit.REPLACE}
    try:
        return names[unit.replace("_", "-")]
    except (KeyError, AttributeError):
        hint = did_you_mean(str(unit), names)
        raise UserError(f'The unit of privacy is add-remove or replace, not "{unit}".{hint}') from None


def modelled(name: str, options: dict[str, Any]) -> Mechanism:
    """Return the mechanism; one that makes no model cannot make a table."""
    if name == "gaussian":
        raise UserError('"gaussian" only answers queries and makes no table; use "gaussian+pgm", or "aim".')
    return make_mechanism(name, **options)


def _rows(rows: int | None) -> int | None:
    if rows is not None and (isinstance(rows, bool) or not isinstance(rows, int | np.integer) or rows < 0):
        raise UserError(f"rows must be a whole number of at least 0, not {rows!r}.")
    return None if rows is None else int(rows)


def _confidence(confidence: float) -> float:
    if not isinstance(confidence, int | float) or not 0 < confidence < 1:
        raise UserError(f"confidence must lie strictly between 0 and 1 (say 0.95), not {confidence!r}.")
    return float(confidence)


def _seed(seed: int) -> int:
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise UserError(f"seed must be a whole number of at least 0, not {seed!r}; leave it out for a private run.")
    return seed


def _noting(tell: OnEvent, note: Callable[[], None]) -> OnEvent:
    """Put charges on record before showing the event that tells of them."""

    def on_event(event: Event) -> None:
        note()
        tell(event)

    return on_event


@contextmanager
def on_record(door: Door, budget: Budget, run: str, target: Output | None) -> Iterator[Callable[[], None]]:
    """Put the budget on record before anything is read; when the run fails, say and keep what it spent."""
    journal = None if target is None else Journal(target.spending, run, budget, private=door.private)
    known = 0

    def note() -> None:
        nonlocal known
        if journal is not None and len(door.filter.charges) > known:
            known = len(door.filter.charges)
            journal.update(door.filter.charges)

    try:
        yield note
    except BaseException as error:
        if journal is not None:
            journal.stop(door.filter.charges)
        error.add_note(spent_note(door.filter))
        raise
    if journal is not None:
        journal.close()


def spent_note(used: Filter) -> str:
    """Say what a run that failed has spent."""
    if not used.charges:
        return "Nothing was spent."
    return f"Spent, and stays spent: rho = {show(used.spent)} of {show(used.rho)}, in {len(used.charges)} charges."


def save_release(release: Release, target: Output) -> None:
    """Write the release and its report, all or nothing."""
    with staged(target.folder) as draft:
        write_into(release, draft, target.format)
        if target.report:
            from understudy.report import write_report

            write_report(release, draft / "report.html")
