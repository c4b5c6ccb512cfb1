"""What a user asks for, read and refused in one place: ``synthesize``, ``plan`` and the commands all begin here.

Public: settings, and a public table where one is given. No private table is looked at.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from understudy.errors import BudgetError, LedgerError, SourceError, UserError, did_you_mean
from understudy.ledger import Ledger
from understudy.ledger.keeping import Place
from understudy.ledger.state import BESIDE
from understudy.mechanism import DEFAULT, MECHANISMS, AimConfig, Mechanism, kind_of
from understudy.mechanism import mechanism as make_mechanism
from understudy.mechanism.choosing import GUESSED_ROWS, Case
from understudy.mechanism.chosen import chosen, takers
from understudy.mechanism.memory import capacity_within, growing_memory, peak_memory
from understudy.mechanism.public import Public
from understudy.model import EngineFor, engine_on, on_cpu
from understudy.privacy import Budget, Shared, Unit, sigma_for
from understudy.privacy.amounts import amount_text
from understudy.privacy.cost import float_below
from understudy.quantities import parse_size, parse_time
from understudy.release.making import DEFAULT_DELTA, Settings
from understudy.release.release import TableFormat
from understudy.release.storage import require_format
from understudy.schema import Schema, load_schema
from understudy.source import open_source
from understudy.workload import Workload
from understudy.workload.wanted import Queries, asked_of, by_rule, workload_of

UnitName = Literal["add-remove", "replace"]
TEXTS_SHARE = 0.25
"""Of delta, for texts that few people share, where texts are learnt; the rest is for the noise."""
OPEN_SHARE = Fraction(1, 10)
"""Of the budget, for the texts of open columns."""
AUTO = "auto"
"""As the size of the model: what time and memory decide."""


@dataclass(frozen=True)
class Output:
    """Where a release goes: a folder that must not exist yet (or be a release, to be replaced)."""

    folder: Path
    format: TableFormat = "csv"
    report: bool = True
    overwrite: bool = False

    def __post_init__(self) -> None:
        """Refuse a format that there is not, before a run rather than after it; take the folder's name as text, too."""
        require_format(self.format)
        object.__setattr__(self, "folder", Path(self.folder))

    @property
    def ledger(self) -> Path:
        """The ledger of unfinished runs beside the folder, where no other ledger is given."""
        return self.folder.with_name(f"{self.folder.name}.ledger")


@dataclass(frozen=True, eq=False)
class Request:
    """A run as it was asked for, with everything that can be known to be wrong refused."""

    schema: Schema
    budget: Budget
    workload: Workload
    workload_name: str
    unit: Unit
    mechanism: Mechanism
    options: Mapping[str, Any]
    """The mechanism's options that were given, which the release shows."""
    rows: int | None
    memory: int | None
    """Bytes that the whole process may take; None for most of what is free."""
    confidence: float
    seed: int | None
    forecasts: Mapping[str, float] = field(default_factory=dict)
    """Where the mechanism was chosen by forecast: the error that was forecast for each, the least first."""
    public: Public | None = None
    """A public table that the run may start from."""
    engine: EngineFor = on_cpu
    """What fits models; not among the facts, since a run may go on elsewhere."""
    beside: float = 0.0
    """The part of delta that texts of open columns take; ``budget`` has the rho that the rest of delta leaves."""
    again: Callable[[Schema, Budget, Workload], Request] | None = None
    """Asks for the same, once the open columns are settled."""
    known: str | None = None
    """A hash of the settings as they were before that; None where nothing was settled."""

    @classmethod
    def of(
        cls,
        schema: Schema | str | Path,
        budget: Budget,
        workload: Queries = "all-3way",
        mechanism: str = DEFAULT,
        options: Mapping[str, Any] | None = None,
        *,
        unit: UnitName | Unit | str = "add-remove",
        rows: int | None = None,
        memory: str | int | None = None,
        confidence: float = 0.95,
        seed: int | None = None,
        public: bool = False,
    ) -> Request:
        """Read what was given; ``budget_of`` and ``options_of`` read the rest, ``with_public`` a public table, if any."""
        declared, taken = schema_of(schema), options_of({}) if options is None else options
        given: dict[str, Any] = {"mechanism": mechanism, "options": options, "unit": unit, "rows": rows, "memory": memory}
        again = partial(cls.of, **given, confidence=confidence, seed=seed)
        budget, beside = _with_texts(budget) if declared.open else (budget, 0.0)
        queries, name = asked_of(workload, declared)
        wanted, room, sure = _rows(rows), None if memory is None else parse_size(memory), _confidence(confidence)
        neighbours = unit_of(unit, declared)
        among = takers(taken, public=public) if mechanism == DEFAULT else [mechanism]
        if declared.lifted is not declared and (queries.domain != declared.domain or by_rule(workload, queries)):
            following = [one for one in among if mechanism_of(one, taken).follows]
            declared, among = (declared.lifted, following) if following else (declared, among)
        if queries.domain != declared.domain:
            queries, name = workload_of(workload, declared)
        sized = partial(_sized, room=room, options=taken, workload=queries, rows=wanted, drawn=declared.drawn)
        errors: dict[str, float] = {}
        if mechanism == DEFAULT:
            size, zeros = taken.get("max_size", AimConfig().max_size), [z.clique for z in declared.zeros]
            kept = zeros if taken.get("zeros", True) else ()
            case = Case(queries, budget.rho, neighbours, size, wanted or GUESSED_ROWS, kept)
            mechanism, errors = chosen(case, among, sized)
        taken = sized(mechanism)
        how = mechanism_of(mechanism, taken)
        how.require(queries.domain, declared.zeros)
        read = (declared, budget, queries, name, neighbours, how, taken, wanted, room, sure, _seed(seed), errors)
        return cls(*read, beside=beside, again=again)

    @property
    def opening(self) -> tuple[Shared, ...]:
        """What is asked first: for the texts of each open column, for equal parts of what they have of the budget."""
        names = [column.name for column in self.schema.open]
        rho = OPEN_SHARE * self.budget.rho / max(len(names), 1)
        delta = float_below(Fraction(self.beside) / max(len(names), 1))
        return tuple(Shared(name, sigma_for(rho, self.unit), delta) for name in names)

    def settled(self, schema: Schema) -> Request:
        """Return the same run, with the values of its open columns known; the budget is the one that was reserved.

        A mechanism is chosen for what the texts of open columns have left of it.
        """
        assert self.again is not None
        left = replace(self.budget, rho=(1 - OPEN_SHARE) * self.budget.rho)
        found = self.again(schema, left, self.workload.on(schema.domain))
        known = _digest(self.facts)
        return replace(found, budget=self.budget, workload_name=self.workload_name, engine=self.engine, known=known)

    def with_public(self, table: Any) -> Request:
        """Return the same run with a public table to start from; it is read now, and refused where it is of no use."""
        if table is None:
            return self
        if self.schema.open:
            raise UserError(
                f'Column "{self.schema.open[0].name}" is open, and there is a public table: list the values that this one '
                "has, which costs nothing, or leave it out."
            )
        how = self.mechanism
        if not how.takes_public:
            others = " or ".join(name for name in MECHANISMS if make_mechanism(name).takes_public)
            raise UserError(f'"{how.name}" cannot start from public data; use {others}, or leave it out.')
        if not how.estimation.graphical:
            raise UserError(
                f'The estimator "{how.estimation.name}" cannot start from public data: leave one of the two out.'
            )
        return replace(self, public=public_of(table, self.schema))

    def on(self, device: str) -> Request:
        """Return the same run with its models on ``device``: auto, cpu or cuda, which is refused where there is none."""
        return replace(self, engine=engine_on(device))

    @property
    def private(self) -> bool:
        """Whether the promise will hold: a seeded run promises nothing."""
        return self.seed is None

    @property
    def peak(self) -> int:
        """Bytes that the run may add to its process at the peak, if the model grows to its limit."""
        counted = self.mechanism.expects(self.workload)
        return peak_memory(self.workload, counted, self.mechanism.max_size, self.rows, self.schema.drawn)

    @property
    def settings(self) -> Settings:
        """What the release says about how it was asked for; the run has no name yet."""
        told = (self.workload_name, self.options, self.rows, self.confidence)
        return Settings("", *told, forecasts=self.forecasts, asked=self.known or _digest(self.facts))

    @property
    def facts(self) -> dict[str, Any]:
        """What must be the same for a run to be resumed. Public; what is long is told by its digest."""
        schema, queries = self.schema, self.workload
        declared = [schema.declaration.model_dump(mode="json"), [[z.clique, z.cells.tolist()] for z in schema.zeros]]
        return {
            "private": self.private,
            "unit": self.unit.value,
            "budget": _promise(self.budget),
            "schema": _digest(declared),
            "workload": f"{self.workload_name} {_digest(queries.told)}",
            "mechanism": self.mechanism.name,
            "rows": self.rows,
            "confidence": self.confidence,
            **asdict(self.mechanism.config),
            **({} if self.public is None else {"public": self.public.digest}),
            **({BESIDE: self.beside} if self.beside else {}),
        }


def schema_of(schema: Schema | str | Path) -> Schema:
    """Return the schema, read from its file where a path is given."""
    return schema if isinstance(schema, Schema) else load_schema(schema)


def budget_of(epsilon: float | None, delta: float | None, rho: float | Fraction | None) -> Budget:
    """Return the budget; ``delta`` is 1e-9 where only epsilon is given."""
    if rho is not None:
        return Budget.of(rho=rho, epsilon=epsilon, delta=delta)
    if epsilon is None:
        raise BudgetError("Say how much may be disclosed: epsilon (1 is usual; smaller is more private), or rho.")
    return Budget.of(epsilon=epsilon, delta=DEFAULT_DELTA if delta is None else delta)


def _with_texts(budget: Budget) -> tuple[Budget, float]:
    """Return the budget at the delta that texts leave, and the part that they take."""
    if budget.epsilon is None or budget.delta is None:
        raise BudgetError(
            "Open columns need a part of delta, which rho alone does not have: give epsilon and delta, or list their values."
        )
    texts = budget.delta * TEXTS_SHARE
    rest = float_below(Fraction(budget.delta) - Fraction(texts))  # both together are delta, to the last digit
    return replace(budget, rho=Budget.of(epsilon=budget.epsilon, delta=rest).rho), texts


def unit_of(unit: UnitName | Unit | str, schema: Schema) -> Unit:
    """Return the unit of privacy called ``add-remove`` or ``replace``: of a row, or of a person as the schema declares."""
    person = schema.person
    names = {"add-remove": Unit.ADD_REMOVE, "replace": Unit.REPLACE}
    if person is not None:
        names = {name: Unit(one.kind, person.rows, person.column) for name, one in names.items()}
    if isinstance(unit, Unit) and unit in (*names.values(), Unit(unit.kind)):
        return names[unit.kind]
    if isinstance(unit, Unit):
        raise UserError(
            f"A unit of {unit.rows} rows a person needs person and rows_per_person in the schema, which hold a person to "
            "so many: declare them there."
        )
    try:
        return names[unit.replace("_", "-")]
    except (KeyError, AttributeError):
        hint = did_you_mean(str(unit), names)
        raise UserError(f'The unit of privacy is add-remove or replace, not "{unit}".{hint}') from None


def options_of(
    options: Mapping[str, Any], max_size: str | int = "80MB", time_limit: str | float | None = None
) -> dict[str, Any]:
    """Return the options of a mechanism, with those that have names of their own in ``synthesize``."""
    limit = {} if time_limit is None else {"time_limit": parse_time(time_limit)}
    size = {"capacity": AUTO} if max_size == AUTO else {"max_size": parse_size(max_size)}
    return {**options, **size, **limit}


def _require_growing(mechanism: str, options: Mapping[str, Any]) -> None:
    """Refuse a model as large as time allows where the mechanism does not let it grow round by round."""
    named = [
        name for name, kind in MECHANISMS.items() if "capacity" in kind.takes and make_mechanism(name).estimation.graphical
    ]
    if options.get("capacity") == AUTO and (mechanism not in named or options.get("estimator", "pgm") != "pgm"):
        growing = ", ".join(named)
        raise UserError(
            f'--max-size auto is for mechanisms whose model grows round by round ({growing}), not for "{mechanism}": '
            "give a size, such as 80MB. Nothing was spent."
        )


def _sized(
    mechanism: str, *, room: int | None, options: Mapping[str, Any], workload: Workload, rows: int | None, drawn: int
) -> Mapping[str, Any]:
    """Return the options with a model that is no larger than the memory that is given allows; where none fits, as they are.

    One that grows as far as time allows gets all of that; where no memory is given, a part of the machine's.
    """
    _require_growing(mechanism, options)
    how = mechanism_of(mechanism, options)
    grows = options.get("capacity") == AUTO and "max_size" not in options
    within = growing_memory(room) if grows else room
    most = 0 if within is None else capacity_within(within, workload, how.expects(workload), rows, drawn)
    return {**options, "max_size": most} if most and (grows or most < how.max_size) else options


def mechanism_of(name: str, options: Mapping[str, Any]) -> Mechanism:
    """Return the mechanism; one that makes no model cannot make a table."""
    if not kind_of(name).modelled:
        others = ", ".join(f'"{other}"' for other, kind in MECHANISMS.items() if kind.modelled)
        raise UserError(f'"{name}" only answers queries and makes no table; use one of {others}.')
    return make_mechanism(name, **options)


def public_of(table: Any, schema: Schema) -> Public:
    """Read a public table of the same schema; who its persons are does not matter, as it is not protected."""
    declared = schema.declaration.model_copy(update={"person": None, "rows_per_person": None})
    try:
        found = Public(open_source(table, Schema(schema.columns, schema.zeros, declared, schema.source)))
        rows = found.rows
    except UserError as error:
        raise SourceError(f"The public table cannot be used: {error}") from None
    if not rows:
        raise SourceError("The public table has no rows, so there is nothing to start from; leave it out.")
    return found


def output_of(out: str | Path | Output | None) -> Output | None:
    """Return where the release goes; None where it stays in memory."""
    return out if isinstance(out, Output) or out is None else Output(Path(out))


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


def _rows(rows: int | None) -> int | None:
    if rows is not None and (isinstance(rows, bool) or not isinstance(rows, int | np.integer) or rows < 0):
        raise UserError(f"rows must be a whole number of at least 0, not {rows!r}.")
    return None if rows is None else int(rows)


def _confidence(confidence: float) -> float:
    if not isinstance(confidence, int | float) or not 0 < confidence < 1:
        raise UserError(f"confidence must lie strictly between 0 and 1 (say 0.95), not {confidence!r}.")
    return float(confidence)


def _seed(seed: int | None) -> int | None:
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or seed < 0):
        raise UserError(f"seed must be a whole number of at least 0, not {seed!r}; leave it out for a private run.")
    return seed


def _promise(budget: Budget) -> str:
    if budget.epsilon is None:
        return f"rho = {amount_text(budget.rho)}"
    return f"epsilon = {budget.epsilon!r}, delta = {budget.delta!r}"


def _digest(data: Any) -> str:
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:32]
