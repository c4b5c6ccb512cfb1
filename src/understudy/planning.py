"""Before any data is touched: what a budget buys for a schema and a number of rows. Public: no table is opened.

Three kinds of figures, kept apart. Arithmetic: noise levels and their share of the rows follow from the settings. Forecast:
the mechanism, by the error of each; time and memory, from a model of what a run costs. Rehearsal, where it takes seconds or
is asked for: the mechanism runs on a made-up table of the same schema, with columns that depend on each other; its time and
its size are typical, its error is the made-up table's own.
"""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from math import pi, sqrt
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import CapacityError, UnderstudyWarning, UserError
from understudy.manifest.strength import warn_of_weakness
from understudy.mechanism import DEFAULT, MECHANISMS, kind_of
from understudy.mechanism.calibration import calibrated
from understudy.mechanism.choosing import FORECASTS
from understudy.mechanism.config import CheckedConfig
from understudy.mechanism.expecting import Case, expected
from understudy.mechanism.forecast import table_seconds
from understudy.mechanism.memory import PROCESS, peak_memory
from understudy.privacy import Unit, sigma_for
from understudy.privacy.budget import RHOS
from understudy.progress import Choice
from understudy.release import Release
from understudy.release.making import DEFAULT_DELTA
from understudy.request import AUTO, OPEN_SHARE, Request, budget_of, options_of, schema_of
from understudy.schema import Schema
from understudy.source import MemorySource
from understudy.source.persons import memory_for
from understudy.synthesize import synthesize
from understudy.workload import Workload
from understudy.workload.wanted import Queries

MOST_REHEARSED = 200_000
"""Rows of a rehearsal; counting is a small part of a run, so more would change little but time."""
REHEARSED = 8.0
"""Seconds that a rehearsal may be expected to take, unless one is asked for."""
MOST_COMPARED, MOST_CELLS, AT_ONCE = 2_000, 1 << 27, 1 << 22
"""Marginals of a workload that a rehearsal compares, and their cells; of more, so many are drawn. Cells that are held."""
CLASSES = 6
MOST_PLANNED = 32
"""Values that an open column is planned with, at most: Greek letters, so that no prefix cuts them and no null is one."""
STAND_IN_SEED = 7


@dataclass(frozen=True)
class ColumnNoise:
    """What noise does to one column in the first measurements: expected L1 error as a share of the rows."""

    name: str
    codes: int
    noise: float


@dataclass(frozen=True)
class OpenColumn:
    """What a run can learn of an open column: texts that about so many rows have, at least; and how many were planned."""

    name: str
    threshold: int
    values: int


@dataclass(frozen=True)
class Rehearsal:
    """A run on a made-up table."""

    rows: int
    seconds: float
    rounds: int
    size: int
    error: float
    ended: str


@dataclass(frozen=True)
class Plan:
    """What to expect. Everything but ``rehearsal`` is arithmetic."""

    rows: int
    epsilon: float
    delta: float
    rho: float
    queries: int
    marginals: int
    mechanism: str
    """The one that is planned: where none is named, the one that ``synthesize`` would take."""
    most_rounds: int
    """0 where it has none."""
    sigma_first: float
    """The noise on each cell of the first measurements (one for each column); the largest where columns differ."""
    sigma_single: float
    """The noise if all of the budget went into one marginal: no cell can be known better than this."""
    max_size: int
    """What the model may grow to; no more than one table of all columns takes."""
    least_size: int
    memory: int
    """Bytes that the whole process may take at its peak, if the model grows to its limit."""
    typical_memory: int
    """Bytes that it takes at the peak as a rule: most models stay far below their limit."""
    seconds: float
    """About how long a run takes on an idle core of this machine, less reading the table, from a model of its cost; half or
    twice that may come.
    """
    table_seconds: float
    """How long of this the table takes after the rounds, drawn, bounded and written: a time limit shortens rounds alone."""
    columns: tuple[ColumnNoise, ...] = field(repr=False)
    rehearsal: Rehearsal | None
    forecasts: dict[str, float] = field(default_factory=dict)
    """The error that each mechanism is expected to have, the least first: what ``mechanism="auto"`` goes by; empty where one
    is named."""
    sums: bool = False
    """Whether the workload asks for sums of cells; ``forecasts`` are of cells all the same, ``rehearsal`` is of the sums."""
    rows_per_person: int | None = None
    """How many rows of each person are used at most; all noise is in proportion to it. None where each row is a person."""
    persons: int | None = None
    rows_used: int = 0
    """About how many rows are used of all persons together; every share of rows is one of these."""
    unrehearsed: str = ""
    """Why there is no rehearsal; empty where there is one."""
    opened: tuple[OpenColumn, ...] = ()
    """Columns whose values the run learns. Nobody knows these before, so a number of them is taken."""

    def describe(self) -> dict[str, Any]:
        """Return the plan as plain data."""
        return asdict(self)


def plan(
    schema: Schema | str | Path,
    *,
    rows: int,
    persons: int | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | Fraction | None = None,
    workload: Queries = "all-3way",
    mechanism: str = DEFAULT,
    unit: str | Unit = "add-remove",
    max_size: str | int = "80MB",
    memory: str | int | None = None,
    rehearse: bool | None = None,
    time_limit: str | float | None = "20s",
    progress: Choice = False,
) -> Plan:
    """Say what a run can be expected to do for about ``rows`` rows, from the schema alone.

    Where the schema limits the rows of a person, ``persons`` is about how many there are, and the plan is made for the rows
    that are used of them. Without it all rows are taken as used, which is too good where some persons have more.
    ``mechanism`` is that of ``synthesize``: "auto", or one of those that it chooses from. A plan takes seconds: a rehearsal
    on a made-up table is made where it takes no longer than that, unless ``rehearse`` says. ``time_limit`` is that of the
    rehearsal, where the mechanism goes round by round.
    """
    if isinstance(rows, bool) or not isinstance(rows, int) or rows < 1:
        raise UserError(f"rows must be a whole number of at least 1 (a guess will do), not {rows!r}.")
    if mechanism not in (DEFAULT, *FORECASTS) and mechanism in MECHANISMS:
        raise UserError(f'A plan is made for {", ".join((DEFAULT, *FORECASTS))}, not for "{mechanism}".')
    budget, options = budget_of(epsilon, delta, rho), options_of({}, max_size, time_limit if max_size == AUTO else None)
    warn_of_weakness(budget, DEFAULT_DELTA)
    declared = schema_of(schema)
    used = _rows_used(declared, rows, persons)
    asked = Request.of(declared, budget, workload, mechanism, options, unit=unit, rows=used, memory=memory)
    opened = _opened(asked, used)
    whole = float(asked.budget.rho)
    asked = _settled(asked, opened) if opened else asked
    found = replace(_arithmetic(asked, rows, used), rho=whole, opened=opened, persons=persons)
    if rehearse is False:
        return replace(found, unrehearsed="none was wanted")
    return _rehearsed(found, asked, progress, limit=time_limit, wanted=rehearse is not None)


def _rehearsed(found: Plan, asked: Request, progress: Choice, *, limit: str | float | None, wanted: bool) -> Plan:
    """Return the plan with a rehearsal; unless it is ``wanted``, not where it takes long or does not fit."""
    if not wanted and found.seconds > REHEARSED:
        return replace(found, unrehearsed=f"a run is forecast to take more than {REHEARSED:g} s")
    try:
        made = _rehearse(asked, found.rows_used, limit, progress)
    except CapacityError:
        if wanted:
            raise
        return replace(found, unrehearsed="it does not fit in memory")
    return replace(found, rehearsal=made, unrehearsed="" if made else "every made-up row was an impossible one")


def _rows_used(schema: Schema, rows: int, persons: int | None) -> int:
    """Return about how many rows are used where so many persons have unlike numbers of rows: R (1 - (1 - P/R)^k).

    That is what the limit k leaves of a geometric distribution of rows over persons. It is exact where k = 1, and where each
    person has one row.
    """
    if persons is None:
        return rows
    if schema.person is None:
        raise UserError("persons goes with person and rows_per_person in the schema: without them each row is a person.")
    if isinstance(persons, bool) or not isinstance(persons, int) or not 1 <= persons <= rows:
        raise UserError(f"persons must be a whole number from 1 to rows ({rows:,}), not {persons!r}.")
    return round(rows * (1 - (1 - persons / rows) ** schema.person.rows))


def _opened(asked: Request, rows: int) -> tuple[OpenColumn, ...]:
    """Return what is known of open columns: no more texts are told than so many rows can have."""
    found = []
    for question in asked.opening:
        threshold = question.threshold(asked.unit)
        found.append(OpenColumn(question.attribute, threshold, max(1, min(MOST_PLANNED, rows // threshold))))
    return tuple(found)


def _settled(asked: Request, opened: tuple[OpenColumn, ...]) -> Request:
    """Return the run with made-up values of its open columns, and what is left of its budget after these."""
    texts = {one.name: [chr(ord("α") + number) for number in range(one.values)] for one in opened}
    left = replace(asked.budget, rho=(1 - OPEN_SHARE) * asked.budget.rho)
    return replace(asked.settled(asked.schema.settled(texts)), budget=left)


def _arithmetic(asked: Request, rows: int, used: int) -> Plan:
    """Return what follows from the settings alone, for a table of so many rows of which some are used."""
    schema, budget, queries, config = asked.schema, asked.budget, asked.workload, asked.mechanism.config
    asked_for = max(1, sum(column.size > 1 for column in schema.read))  # the others follow, at no cost
    kept = config.kept if isinstance(config, CheckedConfig) else 0
    left = (1 - kept) * (1 - (config.for_inside if schema.fine else 0)) * budget.rho
    zeros = [zero.clique for zero in config.enforced(schema.zeros)]
    rates = calibrated()
    found = expected(Case(asked.mechanism, queries, left, asked.unit, used, zeros, asked_for), rates)
    counted, most = asked.mechanism.expects(queries), asked.mechanism.max_size
    base = PROCESS + (0 if schema.person is None else memory_for(rows))
    return Plan(
        rows=rows,
        epsilon=budget.epsilon_at(budget.delta or DEFAULT_DELTA),
        delta=budget.delta or DEFAULT_DELTA,
        rho=float(budget.rho),
        queries=queries.queries,
        marginals=len(queries.closure),
        mechanism=asked.mechanism.name,
        most_rounds=found.rounds,
        sigma_first=max(found.noise.values()),
        sigma_single=sigma_for(budget.rho, asked.unit),
        max_size=found.most,
        least_size=found.least,
        memory=base + peak_memory(queries, counted, most, used, schema.drawn),
        typical_memory=base + peak_memory(queries, counted, found.typical, used, schema.drawn),
        seconds=found.seconds,
        table_seconds=table_seconds(queries, used, rates),
        columns=tuple(
            ColumnNoise(c.name, c.size, _noise_share(found.noise[c.name], c.size, used))
            for c in schema.columns
            if c.name in found.noise
        ),
        rehearsal=None,
        forecasts=dict(asked.forecasts),
        sums=bool(queries.asked),
        rows_used=used,
        rows_per_person=None if schema.person is None else schema.person.rows,
    )


def _noise_share(sigma: float, codes: int, rows: int) -> float:
    """√(2/π) σ n / N: the expected L1 error of a noisy column as a share of the rows, before any fitting."""
    return min(2.0, sqrt(2 / pi) * sigma * codes / rows)


def _rehearse(asked: Request, rows: int, limit: str | float | None, progress: Choice) -> Rehearsal | None:
    """Run on a made-up table. With fewer rows than planned the budget grows in proportion, so noise per row is the same.

    Nobody in the made-up table has several rows; the budget shrinks instead, to the noise that several rows a person need.
    Beyond the largest budget that is accepted there is no noise left to speak of, so that one is taken.
    """
    schema, workload = asked.schema, asked.workload
    codes = stand_in(schema, min(rows, MOST_REHEARSED), np.random.default_rng(STAND_IN_SEED))
    if not len(codes):  # every row that came up was an impossible one
        return None
    rho = min(asked.budget.rho * Fraction(rows, len(codes) * asked.unit.rows) ** 2, Fraction(RHOS[1]))
    began = monotonic()
    unit = asked.unit.kind
    own, how = codes[:, : len(schema.read)], asked.mechanism.name
    options = {**asked.options, **({"time_limit": limit} if "time_limit" in kind_of(how).takes else {})}
    told: dict[str, Any] = {"workload": workload, "mechanism": how, "progress": progress}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnderstudyWarning)  # the budget was made to fit fewer rows
        release = synthesize(own, _plain(schema), rho=rho, unit=unit, **told, **options)
    seconds = monotonic() - began
    error, manifest = rehearsed_error(workload, codes, release), release.manifest
    return Rehearsal(len(codes), seconds, len(manifest.rounds), manifest.model.size, error, manifest.mechanism.ended)


def rehearsed_error(workload: Workload, codes: NDArray[np.int32], release: Release) -> float:
    """Return the workload error of a rehearsal, some marginals at a time; of very many, so many are drawn."""
    made_up, queries = MemorySource.of_codes(codes, workload.domain), len(workload.cliques)
    most = max(1, min(MOST_COMPARED, MOST_CELLS * len(workload.closure) // max(workload.cells, 1)))
    places = range(queries) if queries <= most else np.random.default_rng(STAND_IN_SEED).choice(queries, most, replace=False)
    shares = {workload.cliques[i]: workload.shares[i] * queries / len(places) for i in map(int, places)}
    total = 0.0
    for block in workload.domain.blocks(shares, AT_ONCE):
        for clique, real, made in zip(block, made_up.count(block), release.table_marginals(block), strict=True):
            total += shares[clique] * float(np.abs(workload.errors(clique, real - made)).sum())
    return total / max(len(codes), 1)


def _plain(schema: Schema) -> Schema:
    """Return the schema without its mark as a draft, and without persons: a made-up table has nothing to disclose."""
    table = schema.table.model_copy(update={"draft": False})
    declared = schema.declaration.model_copy(update={"table": table, "person": None, "rows_per_person": None})
    return Schema(schema.columns, schema.zeros, declared, schema.source)


def stand_in(schema: Schema, rows: int, rng: np.random.Generator) -> NDArray[np.int32]:
    """Make up a table of codes: each row belongs to one of a few hidden classes, and each class has habits of its own.

    Impossible combinations are drawn again, a few times, and dropped in the end.
    """
    habits = [rng.dirichlet(np.full(column.size, 0.5), size=CLASSES) for column in schema.read]
    found = schema.follow(_draw(habits, rows, rng))
    for _ in range(20):
        wrong = _forbidden(found, schema)
        if not wrong.any():
            break
        found[wrong] = schema.follow(_draw(habits, int(wrong.sum()), rng))
    return found[~_forbidden(found, schema)]


def _draw(habits: list[NDArray[np.float64]], rows: int, rng: np.random.Generator) -> NDArray[np.int32]:
    group = rng.integers(0, CLASSES, rows)
    codes = np.empty((rows, len(habits)), np.int32)
    for column, habit in enumerate(habits):
        drawn = rng.random(rows)
        for one, chances in enumerate(np.cumsum(habit, axis=1)[:, :-1]):  # a class at a time: never rows × codes in memory
            codes[group == one, column] = np.searchsorted(chances, drawn[group == one], side="right")
    return codes


def _forbidden(codes: NDArray[np.int32], schema: Schema) -> NDArray[np.bool_]:
    wrong = np.zeros(len(codes), dtype=bool)
    for zero in schema.zeros:
        shape = schema.domain.shape(zero.clique)
        place = np.ravel_multi_index([codes[:, schema.domain.index(a)] for a in zero.clique], shape)
        wrong |= np.isin(place, np.ravel_multi_index(list(zero.cells.T), shape))
    return wrong
