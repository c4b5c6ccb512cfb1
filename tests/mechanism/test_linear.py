"""A linear query all the way: a small mechanism asks for prefix sums, fits, resumes, is bounded, saved and loaded."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from ledger.checks import log_content
from ledger.small import FACTS, Stop, stopping_after
from privacy.fakes import TableSource
from understudy.domain import Clique, Domain
from understudy.errors import FormatError
from understudy.ledger import Ledger
from understudy.mechanism import AimConfig, Mechanism, Outcome, mechanism
from understudy.mechanism.aim2 import SUMS_LEFT
from understudy.mechanism.running import Run
from understudy.privacy import Budget, Door, LinearMap, Matrix, PrefixSums, ResearchNoise, Unit, linear_scale_for
from understudy.release import load
from understudy.release.making import Settings, make_release
from understudy.schema import Schema
from understudy.uncertainty import Evidence, bounds
from understudy.workload import Workload

DOMAIN = Domain.of({"age": 8, "sex": 2})
WORKLOAD = Workload.all_kway(DOMAIN, 1)
RNG = np.random.default_rng(2)
ROWS = [(min(int(a), 7), int(s)) for a, s in zip(RNG.poisson(3, 900), RNG.integers(0, 2, 900), strict=True)]
BUDGET = Budget.of(rho=1)
HALVES = Matrix(np.repeat(np.eye(2, dtype=np.int64), 4, axis=1), (8,))


@dataclass(frozen=True)
class Prefixes(Mechanism):
    """Measures the rows, prefix sums of an ordered column, and a matrix of two sums of it."""

    config: AimConfig = field(default_factory=AimConfig)
    queries: tuple[LinearMap, ...] = (PrefixSums((8,)), HALVES)

    @property
    def name(self) -> str:
        return "prefixes"

    def expects(self, workload: Workload) -> tuple[Clique, ...]:
        return ((), ("age",))

    def execute(self, run: Run) -> Outcome:
        with run.running():
            part, unit = run.rho / (1 + len(self.queries)), run.door.unit
            run.measure((), scale=self.config.scale_for(part, unit), noise="gaussian", round_index=0)
            for query in self.queries:
                scale = linear_scale_for(part, query, "gaussian", unit)
                run.measure(("age",), scale=scale, noise="gaussian", round_index=0, query=query)
            run.estimate(0)
            return run.outcome()


def door(**options: object) -> Door:
    return Door(TableSource(DOMAIN, ROWS), BUDGET, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("unit", [Unit.ADD_REMOVE, Unit.REPLACE])
def test_a_model_is_fitted_to_prefix_sums(unit: Unit) -> None:
    outcome = Prefixes().run(door(noise=ResearchNoise(4), unit=unit), WORKLOAD)
    assert outcome.model is not None
    truth = np.bincount([a for a, _ in ROWS], minlength=8)
    found = outcome.model.marginal(("age",))
    sums = outcome.measurements[1]
    assert sums.values.shape == (8,)
    assert np.abs(np.cumsum(found) - np.cumsum(truth)).max() < 5 * sums.sigma
    assert np.abs(found - truth).sum() < 900 * 0.1 < np.abs(truth - 900 / 8).sum(), "nearer by far than without a query"
    assert outcome.spent <= 1
    assert float(outcome.spent) == pytest.approx(1.0)


def test_no_bound_is_made_for_sums() -> None:
    """The rows were measured; of age only sums were, of which no theorem speaks."""
    outcome = Prefixes().run(door(noise=ResearchNoise(4)), WORKLOAD)
    assert bounds(Evidence.of(outcome), cliques=[("age",), ("sex",)]) == {}
    assert set(bounds(Evidence.of(outcome), cliques=[()])) == {()}


@pytest.mark.promise(23)
def test_a_run_with_linear_queries_resumes(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "budget.ledger")
    ledger.declare("people", Budget.of(rho=2))
    log = ledger.begin("people", BUDGET, FACTS)
    with pytest.raises(Stop):
        Prefixes().run(door(journal=log), WORKLOAD, on_event=stopping_after(2))
    kept = [log_content(ledger, item.seq) for item in ledger.state().runs[0].items if item.kind == "charged"]
    log = ledger.resume("people", FACTS)
    outcome = Prefixes().run(door(journal=log), WORKLOAD)
    log.finish()
    assert [m.values.size for m in outcome.measurements] == [1, 8, 2]
    assert [m.values.ravel().tolist() for m in outcome.measurements[:2]] == [k.tolist() for k in kept]
    run = ledger.state().runs[0]
    assert run.charges == outcome.charges
    assert len(run.charges) == 3
    assert ledger.verify().sound


@pytest.mark.parametrize("noise", [None, ResearchNoise(4)])
def test_a_release_keeps_its_linear_queries(tmp_path: Path, noise: ResearchNoise | None) -> None:
    schema = Schema.from_domain({"age": 8, "sex": 2})
    source = TableSource(schema.domain, ROWS)
    outcome = Prefixes().run(Door(source, BUDGET, noise=noise), Workload.all_kway(schema.domain, 1))
    release = make_release(outcome, schema, BUDGET, Settings(run="0" * 32), rng=np.random.default_rng(0))
    folder = release.save(tmp_path / "out")
    back = load(folder)
    assert [type(m.query) for m in back.measurements] == [type(None), PrefixSums, Matrix]
    for one, other in zip(release.measurements, back.measurements, strict=True):
        assert np.array_equal(one.values, other.values)
        assert one.rho == other.rho
        if one.query is not None and other.query is not None:
            assert one.query.described == other.query.described
    assert back.marginal("age").bound is None
    (stored,) = (folder / "measurements").glob("queries*.npy")
    assert ("NOT" in stored.name) is (noise is not None)
    np.save(stored, np.zeros(16, "<i8"), allow_pickle=False)
    with pytest.raises(FormatError, match="linear queries"):
        load(folder)
    stored.unlink()
    with pytest.raises(FormatError, match="missing or damaged"):
        load(folder)


def test_aim2_takes_off_what_a_fit_leaves_of_the_noise_on_sums() -> None:
    """Of the same candidates, its first penalties are a part of AIM's; those of single columns need no room of the model."""
    workload = Workload.of(DOMAIN, [{"attributes": DOMAIN.attributes, "prefixes": "age"}])

    def first(name: str) -> dict[Clique, float]:
        played = mechanism(name, **({"again": False} if name == "aim2" else {})).run(door(noise=ResearchNoise(4)), workload)
        return dict(zip(played.rounds[0].candidates, played.rounds[0].penalties, strict=True))

    paper, fitted = first("aim"), first("aim2")
    assert fitted["age",] == pytest.approx(SUMS_LEFT * paper["age",])
