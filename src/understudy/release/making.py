"""From a finished run to a release: draw the table, bound its error, write the manifest. Post-processing: public."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.addresses import give_back
from understudy.domain import Clique, Combinations
from understudy.manifest.manifest import (
    NOT_PRIVATE,
    Amount,
    AskedEntry,
    BoundEntry,
    ChargeEntry,
    CheckEntry,
    DistanceEntry,
    InsideEntry,
    LedgerReference,
    Manifest,
    MechanismEntry,
    ModelEntry,
    OpenedEntry,
    PrivacyEntry,
    PublicEntry,
    QueryEntry,
    RoundEntry,
    RuleEntry,
    SumEntry,
    TableEntry,
    WorkloadEntry,
)
from understudy.mechanism import Outcome, Round
from understudy.mechanism.choosing import GUESSED_ROWS
from understudy.mechanism.sums import is_count
from understudy.model import Mixture, Model, RegionModel
from understudy.privacy import Budget, Measurement
from understudy.release.frames import Convert, to_arrow
from understudy.release.inside import inside_weights
from understudy.release.release import Release
from understudy.release.synthetic import SyntheticTable, narrowed
from understudy.schema import Schema
from understudy.schema.column import fine_name
from understudy.uncertainty import Evidence, TableMarginals, bounded, bounds
from understudy.workload import Workload, described

DEFAULT_DELTA = 1e-9
MOST_LISTED = 10_000
"""Marginals of a workload that a manifest lists; of more it says the rule that they are made by."""
MOST_BOUNDED, MOST_CELLS = 1 << 11, 1 << 25
"""Marginals, and their cells together, whose bounds a manifest lists."""


@dataclass(frozen=True)
class Settings:
    """What a release says about how it was asked for. ``rows`` None: as many as the model's noisy total, ``most_rows`` at
    most.
    """

    run: str
    workload: str = "custom"
    options: Mapping[str, Any] = field(default_factory=dict)
    rows: int | None = None
    confidence: float = 0.95
    ledger: LedgerReference | None = None
    most_rows: int | None = None
    forecasts: Mapping[str, float] = field(default_factory=dict)
    opened: Sequence[OpenedEntry] = ()
    asked: str | None = None
    """A hash of all settings."""


def make_release(
    outcome: Outcome,
    schema: Schema,
    budget: Budget,
    settings: Settings,
    *,
    rng: np.random.Generator,
    convert: Convert = to_arrow,
) -> Release:
    """Draw a synthetic table from the run's model, and put everything that may be known about it together."""
    codes = _drawn(outcome, schema, settings, rng)
    model, rows = outcome.model, len(codes)
    assert model is not None  # nothing could have been drawn
    weight = model.total / rows if rows else 0.0
    manifest = Manifest(
        understudy=installed_version(),
        run=settings.run,
        private=outcome.private,
        notice="" if outcome.private else NOT_PRIVATE,
        mechanism=_mechanism(outcome, settings),
        privacy=_privacy(outcome, budget),
        workload=_workload(outcome.workload, settings.workload),
        table=TableEntry(rows=rows, total=float(model.total), total_stddev=outcome.total_stddev, weight=weight),
        model=_model(model, outcome),
        rounds=[_round(r) for r in outcome.rounds],
        charges=[ChargeEntry(purpose=c.purpose, rho=Amount.of(c.rho)) for c in outcome.charges],
        confidence=settings.confidence,
        bounds=_bounds(outcome, _Weighted(TableMarginals(schema.domain, codes), weight), settings.confidence, rng),
        check=_check(outcome),
        inside=[_inside(m, schema) for m in outcome.inside if is_count(m)],
        sums=[_sum(m, schema) for m in outcome.inside if not is_count(m)],
        opened=list(settings.opened),
        ledger=settings.ledger,
        public=_public(outcome),
        asked=settings.asked,
        declaration=schema.declaration.model_dump(mode="json", exclude_defaults=True),
    )
    model.forget_answers()
    model.forget_work()
    table = SyntheticTable.of_drawn(schema, codes, rng, inside_weights(schema, model, outcome.inside))
    return Release(manifest, schema, model, outcome.measurements, table, outcome.inside, convert)


def _drawn(outcome: Outcome, schema: Schema, settings: Settings, rng: np.random.Generator) -> NDArray[np.unsignedinteger]:
    """Draw the rows, as narrow codes. What the check worked out is let go first, to make room for them."""
    if outcome.model is not None:
        outcome.model.forget_work()
    give_back()
    codes = narrowed(outcome.draw(rng, settings.rows, settings.most_rows), schema.domain)
    give_back()
    return codes


def installed_version() -> str:
    """Return the version of this software."""
    try:
        return version("understudy")
    except PackageNotFoundError:
        return "unknown"


@dataclass(frozen=True)
class _Weighted:
    """Marginals of a synthetic table whose rows each stand for ``weight`` rows."""

    table: TableMarginals
    weight: float

    def marginals(self, cliques: Sequence[Clique]) -> list[NDArray[np.float64]]:
        return [np.asarray(counts * self.weight, np.float64) for counts in self.table.marginals(cliques)]


def _mechanism(outcome: Outcome, settings: Settings) -> MechanismEntry:
    return MechanismEntry(
        name=outcome.mechanism,
        options=dict(settings.options),
        ended=outcome.ended,
        most_rounds=outcome.most_rounds,
        forecasts=dict(settings.forecasts),
        forecast_rows=(settings.rows or GUESSED_ROWS) if settings.forecasts else None,
    )


def _privacy(outcome: Outcome, budget: Budget) -> PrivacyEntry:
    delta = DEFAULT_DELTA if budget.delta is None else budget.delta
    return PrivacyEntry(
        epsilon=budget.epsilon_at(delta),
        delta=delta,
        rho=Amount.of(budget.rho),
        spent=Amount.of(outcome.spent),
        unit="replace" if outcome.unit.kind == "replace" else "add_remove",
        person=outcome.unit.person,
        rows_per_person=outcome.unit.rows,
    )


def _workload(workload: Workload, name: str) -> WorkloadEntry:
    if isinstance(workload.cliques, Combinations) and len(workload.cliques) > MOST_LISTED:
        ((size, column),) = workload.cliques.layers
        return WorkloadEntry(name=name, queries=workload.queries, rule=RuleEntry(size=size, column=column))
    listed = [
        QueryEntry(attributes=list(clique), weight=cost, asked=_asked(workload, clique))
        for clique, cost in zip(workload.cliques, workload.query_weights, strict=True)
    ]
    return WorkloadEntry(name=name, queries=workload.queries, marginals=listed)


def _asked(workload: Workload, clique: Clique) -> AskedEntry | None:
    asked = workload.asked.get(clique)
    return None if asked is None else AskedEntry.model_validate(described(asked))


def _model(model: Model, outcome: Outcome) -> ModelEntry:
    cliques = [list(clique) for clique in model.cliques]
    components = model.weights.size if isinstance(model, Mixture) else 0
    regions = len(cliques) if isinstance(model, RegionModel) else 0
    measured = len(outcome.measurements)
    return ModelEntry(size=model.size, cliques=cliques, measured=measured, components=components, regions=regions)


def _round(r: Round) -> RoundEntry:
    return RoundEntry(
        index=r.index,
        chosen=list(r.clique),
        candidates=len(r.candidates),
        epsilon=r.selection.epsilon,
        noise=r.measurement.noise,
        scale=r.measurement.scale,
        sigma=r.measurement.sigma,
        cells=r.measurement.values.size,
        rho=Amount.of(r.rho),
        change=r.change,
        threshold=r.threshold,
        annealed=bool(r.annealed),
        final=r.final,
        size=r.size,
        limit=r.limit,
    )


def _inside(found: Measurement, schema: Schema) -> InsideEntry:
    names = {fine_name(name): (name, None) for name in schema.domain} | {gap.name: gap.columns[::-1] for gap in schema.gaps}
    column, above = names[found.clique[0]]
    return InsideEntry(column=column, above=above, cells=found.values.size, sigma=found.sigma, rho=Amount.of(found.rho))


def _sum(found: Measurement, schema: Schema) -> SumEntry:
    column = next(name for name in schema.domain if found.clique == (fine_name(name),))
    return SumEntry(column=column, sigma=found.sigma, rho=Amount.of(found.rho))


def _bounds(outcome: Outcome, table: _Weighted, confidence: float, rng: np.random.Generator) -> list[BoundEntry]:
    evidence = Evidence.of(outcome)
    listed = bounded(evidence, MOST_BOUNDED, MOST_CELLS, rng)
    for_table = bounds(evidence, table, confidence=confidence, cliques=listed)
    for_model = bounds(evidence, confidence=confidence, cliques=listed)
    return [
        BoundEntry(
            columns=list(clique),
            kind=b.kind,
            table=b.value,
            model=for_model[clique].value,
            round=b.round,
            checked=b.checked,
        )
        for clique, b in for_table.items()
    ]


def _public(outcome: Outcome) -> PublicEntry | None:
    found = outcome.public
    return None if found is None else PublicEntry(rows=found.rows, digest=found.digest, used=found.used)


def _check(outcome: Outcome) -> CheckEntry | None:
    if outcome.distances is None:
        return None
    pairs = zip(outcome.distances.cliques, outcome.distances.values, strict=True)
    found = [DistanceEntry(columns=list(clique), distance=int(value)) for clique, value in pairs]
    return CheckEntry(sigma=outcome.distances.sigma, rho=Amount.of(outcome.distances.rho), marginals=found)
