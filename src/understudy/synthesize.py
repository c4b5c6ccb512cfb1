"""From a private table to a release in one call: check everything, reserve the budget, run, draw, save.

Hands the private table to the door unopened, and reads nothing itself. Whatever can be refused is, before any spend.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import numpy as np

from understudy.errors import BudgetError, LedgerError, UserError, did_you_mean
from understudy.ledger import Ledger
from understudy.ledger.keeping import Place, spending
from understudy.mechanism import Mechanism
from understudy.mechanism import mechanism as make_mechanism
from understudy.mechanism.memory import peak_memory, require_memory
from understudy.privacy import Budget, Door, ResearchNoise, SecureNoise, Unit
from understudy.privacy.amounts import amount_text
from understudy.progress import Choice, shown
from understudy.quantities import parse_size, parse_time
from understudy.release import Release, load, make_release
from understudy.release.frames import like
from understudy.release.making import DEFAULT_DELTA, Settings
from understudy.release.record import LedgerRecord
from understudy.release.release import TableFormat
from understudy.release.storage import refuse_existing, require_room, staged, write_into
from understudy.schema import Schema, load_schema, require_reviewed
from understudy.source import unopened
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
    def ledger(self) -> Path:
        """The ledger of unfinished runs beside the folder, where no other ledger is given."""
        return self.folder.with_name(f"{self.folder.name}.ledger")


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
    ledger: str | Path | Ledger | None = None,
    dataset: str | None = None,
    resume: bool = False,
    progress: Choice = None,
    seed: int | None = None,
    **options: Any,
) -> Release:
    """Make a differentially private synthetic table, and everything that may be known about it.

    ``data`` is any table that can be opened: a pandas or polars frame, Arrow, a dict of arrays, an array of codes, the
    path or glob of CSV or Parquet files, ``Csv(path)``, ``Sql(query)``. ``schema`` is a reviewed ``Schema``, or the path of
    its file.

    The promise is (``epsilon``, ``delta``) differential privacy, or ``rho`` of zCDP instead. ``delta`` is 1e-9 unless
    given: it is the chance that the promise fails, so it should be far below one over the number of people. It is never
    derived from the table.

    ``rows`` of the synthetic table: as many as noisy counts say the table has, unless given; never the table's own number.
    ``out`` saves the release to a folder, all or nothing. The whole budget is reserved before anything is read: in
    ``ledger`` for ``dataset``, which may refuse it, or else in a ledger of the run's own beside the folder. Each answer is
    on record before anybody sees it. ``resume`` goes on with a run that was stopped or killed, and spends nothing twice.
    Whatever exception ends a run, its ``spent`` says what was spent by then.

    ``progress``: True, False, a function that is told every event, or None for a terminal only. ``seed`` makes a run
    repeatable for research, and NOT PRIVATE. Further ``options`` are the mechanism's: ``rounds``, ``alpha``, ``noise`` …
    """
    with spending() as run:
        schema = schema if isinstance(schema, Schema) else load_schema(schema)
        require_reviewed(schema)
        budget = budget_of(epsilon, delta, rho)
        queries, name = workload_of(workload, schema)
        options |= {"max_size": parse_size(max_size)} | (
            {} if time_limit is None else {"time_limit": parse_time(time_limit)}
        )
        how = modelled(mechanism, options)
        settings = Settings("", name, options, _rows(rows), _confidence(confidence))
        target = out if isinstance(out, Output) or out is None else Output(Path(out))
        neighbours, noise = unit_of(unit), SecureNoise() if seed is None else ResearchNoise(_seed(seed))
        place = place_of(ledger, dataset, target, resume=resume, seeded=seed is not None)
        facts = {"private": seed is None, "unit": neighbours.value, "budget": _promise(budget)}
        facts |= facts_of(schema, queries, how, settings)
        if resume and target is not None and (saved := _saved_already(place, facts, target)) is not None:
            return saved
        if target is not None:
            refuse_existing(target.folder, target.overwrite)
            require_room(target.folder, (settings.rows or 0) * len(schema.columns))
        expected = how.expects(queries)
        require_memory(peak_memory(schema.domain, expected, how.config.max_size, settings.rows))
        source, convert = unopened(data, schema), like(data, schema)
        log = run.begin(place, budget, facts, private=seed is None, resume=resume)
        door = Door(source, budget, unit=neighbours, noise=noise, expect=expected, log=log)
        del data, source  # nothing below can reach the rows but through the door
        run.filter = door.filter
        rng = np.random.default_rng(secrets.randbits(128) if seed is None else [seed, 1])
        with shown(progress) as tell:
            outcome = how.run(door, queries, zeros=schema.zeros, on_event=tell)
            del door  # with the table and its counts
            counted = None if run.head is None else LedgerRecord(dataset=place.dataset, head=run.head)
            settings = replace(settings, run=run.run, ledger=counted)
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
        if unit.rows != 1:
            raise UserError(
                f"A unit of {unit.rows} rows a person is not offered yet: nothing would hold a person to so many."
            )
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


def place_of(
    ledger: str | Path | Ledger | None, dataset: str | None, target: Output | None, *, resume: bool, seeded: bool
) -> Place:
    """Return where the run is put on record: the ledger given, one of its own beside the output, or nowhere."""
    if (ledger is None) != (dataset is None):
        raise LedgerError("Give a ledger together with the name of the dataset in it: --ledger FILE --dataset NAME.")
    if seeded and ledger is not None:
        raise LedgerError("A seeded run is not private, so it has no place in a ledger. Leave the seed out, or the ledger.")
    if seeded and resume:
        raise LedgerError("A seeded run is not resumed, since it can be repeated: run it again.")
    if ledger is not None and dataset is not None:
        shared = ledger if isinstance(ledger, Ledger) else Ledger(ledger)
        shared.state().dataset(dataset)
        return Place(shared, dataset)
    if target is None:
        if resume:
            raise LedgerError("There is nothing to resume from: name the output folder of the run, or its ledger.")
        return Place(None)
    return Place(Ledger(target.ledger), own=True)


def facts_of(schema: Schema, queries: Workload, how: Mechanism, settings: Settings) -> dict[str, Any]:
    """Return what must be the same for a run to be resumed. Public; what is long is told by its digest."""
    declared = [schema.declaration.model_dump(mode="json"), [[z.clique, z.cells.tolist()] for z in schema.zeros]]
    return {
        "schema": _digest(declared),
        "workload": f"{settings.workload} {_digest([queries.cliques, queries.costs])}",
        "mechanism": how.name,
        "rows": settings.rows,
        "confidence": settings.confidence,
        **asdict(how.config),
    }


def _promise(budget: Budget) -> str:
    if budget.epsilon is None:
        return f"rho = {amount_text(budget.rho)}"
    return f"epsilon = {budget.epsilon!r}, delta = {budget.delta!r}"


def _digest(data: Any) -> str:
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:32]


def _saved_already(place: Place, facts: dict[str, Any], target: Output) -> Release | None:
    """Settle a run that was killed after its release had been saved; there is nothing left to run."""
    if not (target.folder / "release.json").is_file():
        return None
    release = load(target.folder)
    return release if place.settle_saved(release.record.run, facts) else None


def save_release(release: Release, target: Output) -> None:
    """Write the release and its report, all or nothing."""
    with staged(target.folder) as draft:
        write_into(release, draft, target.format)
        if target.report:
            from understudy.report import write_report

            write_report(release, draft / "report.html")
