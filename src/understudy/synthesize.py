"""From a private table to a release in one call: read the request, reserve the budget, run, draw, save.

Hands the private table to the door unopened, and reads nothing itself. Whatever can be refused is, before any spend.
"""

from __future__ import annotations

import secrets
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from glob import glob
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

from understudy.domain import NOTHING
from understudy.errors import LedgerError, UnderstudyWarning, UserError, did_you_mean
from understudy.learning.opening import Opened, learn_open
from understudy.ledger import Ledger
from understudy.ledger.keeping import Place, Spending, spending
from understudy.manifest.manifest import LedgerReference
from understudy.manifest.strength import warn_of_weakness
from understudy.mechanism import DEFAULT, MECHANISMS, Outcome
from understudy.mechanism.memory import require_memory, rows_within
from understudy.model import Device, one_thread
from understudy.privacy import Door, ResearchNoise, SecureNoise, Unit
from understudy.progress import Choice, shown
from understudy.release import Release, load, make_release
from understudy.release.frames import Convert, converter_for
from understudy.release.making import DEFAULT_DELTA
from understudy.release.storage import refuse_existing, require_room
from understudy.request import (
    Output,
    Request,
    UnitName,
    budget_of,
    options_of,
    output_of,
    place_of,
    schema_of,
)
from understudy.schema import Schema, require_learnt_privately, require_reviewed
from understudy.source import Csv, Sql, unopened
from understudy.source.opened import OpenSource
from understudy.source.unopened import Unopened
from understudy.workload.wanted import Queries


def synthesize(
    data: Any,
    schema: Schema | str | Path,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | Fraction | None = None,
    workload: Queries = "all-3way",
    rows: int | None = None,
    mechanism: str = DEFAULT,
    unit: UnitName | Unit = "add-remove",
    max_size: str | int = "80MB",
    time_limit: str | float | None = None,
    memory: str | int | None = None,
    device: Device = "auto",
    confidence: float = 0.95,
    out: str | Path | Output | None = None,
    ledger: str | Path | Ledger | None = None,
    dataset: str | None = None,
    resume: bool = False,
    progress: Choice = None,
    public: Any = None,
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

    ``rows`` of the synthetic table: as many as noisy counts say the table has (1,000 where noise is as large as that, and
    nobody knows), at most 10 million and what fits into memory, unless given; never the table's own number.
    ``out`` saves the release to a folder, all or nothing. The whole budget is reserved before anything is read: in
    ``ledger`` for ``dataset``, which may refuse it, or else in a ledger of the run's own beside the folder. Each answer is
    on record before anybody sees it. ``resume`` goes on with a run that was stopped or killed, and spends nothing twice.
    Whatever exception ends a run, its ``spent`` says what was spent by then.

    ``max_size`` bounds the model, such as "1GB"; with "auto" it grows as far as ``time_limit`` and memory allow, by how the
    run itself goes. ``time_limit``, such as "10m", is for the whole run, less reading the table: rounds end
    early enough for the rest, which ``plan`` forecasts; where that alone takes longer, so does the run, after one round.

    ``memory`` is what the whole process may take, such as "4GB": most of what is free unless given. A run that may take more
    is refused before it spends anything; where it is given, the model grows no larger than fits.

    ``mechanism`` is a name, or "auto" for the one whose error is forecast to be least, from the schema, the workload, the
    budget, ``max_size`` and ``rows`` (taken for the table's, where given), of those that have all ``options`` and can use
    ``public``. The release says which it was, and what was forecast for the others.

    ``device`` is where models are fitted: "cpu", "cuda" (a GPU, through PyTorch), or "auto", a GPU for large models where
    there is one.

    ``public`` is a public table with the same columns, last year's say: where it is near to the private one, the model
    starts from it. It may be anything that ``data`` may. The promise does not cover its rows, and does not depend on them.

    ``progress``: True, False, a function that is told every event, or None for a terminal only. ``seed`` makes a run
    repeatable for research, and NOT PRIVATE. Further ``options`` are the mechanism's: ``rounds``, ``alpha``, ``noise`` …
    """
    with spending() as run:
        _refuse_misspelt(options)
        declared, beside = _reviewed(schema, seed), public is not None
        budget, taken = budget_of(epsilon, delta, rho), options_of(options, max_size, time_limit)
        if seed is None:
            warn_of_weakness(budget, DEFAULT_DELTA)
        told: dict[str, Any] = {"unit": unit, "rows": rows, "memory": memory, "confidence": confidence, "seed": seed}
        asked = Request.of(declared, budget, workload, mechanism, taken, public=beside, **told).on(device)
        place = place_of(ledger, dataset, target := output_of(out), resume=resume, seeded=not asked.private)
        return _run(run, data, asked.with_public(_other(public, data)), place, target, resume=resume, progress=progress)


def _refuse_misspelt(options: Iterable[str]) -> None:
    """Refuse an option that no mechanism has, where a setting of ``synthesize`` is called nearly so."""
    settings = [name for name, one in signature(synthesize).parameters.items() if one.kind is one.KEYWORD_ONLY]
    taken = {option for kind in MECHANISMS.values() for option in kind.takes}
    for option in options:
        hint = did_you_mean(option, [*settings, *taken])
        if option not in taken and any(f'"{name}"' in hint for name in settings):
            raise UserError(f'There is no setting "{option}".{hint}')


def _reviewed(schema: Schema | str | Path, seed: int | None) -> Schema:
    """Return the schema, unless it is a draft; or was learnt without privacy, where the run should be private."""
    found = schema_of(schema)
    require_reviewed(found)
    if seed is None:
        require_learnt_privately(found)
    return found


def _other(public: Any, data: Any) -> Any:
    """Return the public table, unless it is the private one, or has a file of it."""
    same = (
        public is data
        or (isinstance(public, Sql) and isinstance(data, Sql) and public == data)
        or _files(public) & _files(data)
    )
    if public is not None and same:
        raise UserError("The public table is the private one: its rows would be in the release without any protection.")
    return public


def _files(table: Any) -> set[Path]:
    """Return the files that a path or a glob names, by whatever name; of other tables none."""
    path = table.path if isinstance(table, Csv) else table
    return {Path(name).resolve() for name in (path, *glob(str(path)))} if isinstance(path, str | Path) else set()


def _run(
    run: Spending, data: Any, asked: Request, place: Place, target: Output | None, *, resume: bool, progress: Choice
) -> Release:
    """Run the mechanism behind the door; make the release, and save it where it should go."""
    if resume and target is not None and (saved := _saved_already(place, asked, target)) is not None:
        return saved
    _require_room(asked, target)
    convert = converter_for(data, asked.schema)
    with one_thread(), shown(progress, limit=asked.options.get("time_limit")) as tell:
        door, asked, opened = _opened(run, data, asked, place, resume=resume)
        if opened:
            convert = converter_for(data, asked.schema)
        del data  # nothing below can reach the rows but through the door
        outcome = asked.mechanism.run(
            door,
            asked.workload,
            zeros=asked.schema.zeros,
            on_event=tell,
            engine=asked.engine,
            public=asked.public,
            columns=asked.schema.columns,
            gaps=asked.schema.gaps,
        )
        outcome = replace(outcome, charges=door.filter.charges)  # those for open columns are of the run, too
        del door  # with the table and its counts
        release = _made(run, outcome, asked, place, convert, opened=opened)
    if target is not None:
        release.save(target.folder, format=target.format, report=target.report, overwrite=target.overwrite)
    return release


def _opened(
    run: Spending, data: Any, asked: Request, place: Place, *, resume: bool
) -> tuple[Door, Request, Sequence[Opened]]:
    """Reserve the budget, and return the door to the table, which nobody has opened yet.

    Where columns are open, their texts are asked for first, and the run is settled by the answers.
    """
    questions = asked.opening
    first = OpenSource(data, asked.schema) if questions else unopened(data, asked.schema)
    log = run.begin(place, asked.budget, asked.facts, private=asked.private, resume=resume)
    noise = SecureNoise() if asked.seed is None else ResearchNoise(asked.seed)
    if not isinstance(first, OpenSource):
        return _door(run, first, asked, {"noise": noise, "journal": log}), asked, ()
    before = Door(first, asked.budget, unit=asked.unit, noise=noise, journal=log, fine=first.fine)
    run.filter = before.filter
    opened = [learn_open(before, question, asked.budget.delta or 0.0) for question in questions]
    texts = {one.column: one.texts for one in opened}
    asked = asked.settled(asked.schema.settled(texts, private=asked.private))
    require_memory(asked.peak, asked.memory)
    shared = {"noise": noise, "journal": log, "after": before}
    return _door(run, unopened(data, asked.schema), asked, shared), asked, opened


def _door(run: Spending, source: Unopened, asked: Request, settings: Mapping[str, Any]) -> Door:
    """Return the door to a table of which all is declared."""
    expected = asked.mechanism.expects(asked.workload)
    fine = source.fine if asked.mechanism.config.inside else NOTHING
    budget = asked.budget if run.filter is None else run.filter
    door = Door(source, budget, unit=asked.unit, expect=expected, fine=fine, **settings)
    run.filter = door.filter
    return door


def _made(
    run: Spending, outcome: Outcome, asked: Request, place: Place, convert: Convert, *, opened: Sequence[Opened]
) -> Release:
    """Draw the table, and put everything that may be known about it together."""
    rng = np.random.default_rng(secrets.randbits(128) if asked.seed is None else [asked.seed, 1])
    counted = None if run.head is None else LedgerReference(dataset=place.dataset, head=run.head)
    tree = 0 if outcome.model is None else outcome.model.size
    most = rows_within(asked.workload, asked.memory, tree, asked.schema.drawn)
    settings = replace(asked.settings, run=run.run, ledger=counted, most_rows=most, opened=[one.entry for one in opened])
    return make_release(outcome, asked.schema, asked.budget, settings, rng=rng, convert=convert)


def _require_room(asked: Request, target: Output | None) -> None:
    """Refuse a run whose release could not be written, or that would not fit in memory."""
    if target is not None:
        refuse_existing(target.folder, target.overwrite)
        require_room(target.folder, (asked.rows or 0) * len(asked.schema.columns))
    require_memory(asked.peak, asked.memory)


def _saved_already(place: Place, asked: Request, target: Output) -> Release | None:
    """Return the release in the folder, where it is the one that is asked for: then there is nothing left to run.

    A run that was killed after its release had been saved is settled. One that may replace the release, and has not
    finished, goes on.
    """
    if not (target.folder / "release.json").is_file():
        return None
    release = load(target.folder)
    if place.settle_saved(release.manifest.run, asked.facts):
        return release
    if place.unfinished(asked.facts):
        if target.overwrite:
            return None
        raise LedgerError(
            f"{target.folder} holds a finished release of another run than the one to resume, which has not finished. "
            "Name the folder of that run."
        )
    counted = release.manifest.ledger
    if release.manifest.asked == asked.settings.asked and (counted is None or counted.dataset == place.dataset):
        text = (
            f"The release in {target.folder} is complete already: there was nothing to resume, and nothing was spent. Which "
            "table it was made of was not looked at."
        )
        warnings.warn(text, UnderstudyWarning, stacklevel=4)  # where synthesize is called
        return release
    if target.overwrite:
        return None
    raise LedgerError(
        f"{target.folder} holds a finished release of other settings, or of another version: there is nothing to resume in "
        "it. Name the folder of the run that was stopped, or leave --resume out and name a new one."
    )
