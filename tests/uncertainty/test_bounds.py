"""Coverage of each kind of bound over 60 seeded runs, and mutants that must fail it; more is in test_coverage.py."""

import sys
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from math import log, sqrt

import numpy as np
import pytest
from numpy.typing import NDArray

from understudy.domain import Clique, Domain
from understudy.errors import UserError
from understudy.mechanism import Round, mechanism
from understudy.privacy import Budget, Candidate, Door, ResearchNoise
from understudy.source import MemorySource
from understudy.uncertainty import TableMarginals, bounds, cell_intervals, weighted_average
from understudy.uncertainty.bounds import _unsupported, _Way
from understudy.uncertainty.rounds import FINAL_SHARE, round_distances, round_share
from understudy.uncertainty.supported import rows_bound

from .runs import DOMAIN, WEIGHTED, Run, one_run

RUNS = 60


@cache
def runs() -> list[Run]:
    return [one_run(seed) for seed in range(RUNS)]


@cache
def misses() -> dict[str, list[float]]:
    """For each kind, the share of bounds that failed, run by run."""
    found: dict[str, list[float]] = {"supported": [], "unsupported": []}
    for run in runs():
        made = bounds(run.evidence, confidence=0.95)
        for kind, shares in found.items():
            failed = [run.error(r) > b.value for r, b in made.items() if b.kind == kind]
            if failed:
                shares.append(float(np.mean(failed)))
    return found


@pytest.mark.statistical
@pytest.mark.parametrize("kind", ["supported", "unsupported"])
def test_at_most_five_in_a_hundred_bounds_fail(kind: str) -> None:
    """Were a bound to fail in exactly 5 % of runs, 60 runs would show more than 5 % almost half the time;
    but triangle inequalities leave room (below 1 % is seen), so a false alarm would need a bound several
    times worse: below 1e-6.
    """
    shares = misses()[kind]
    assert len(shares) > 0.8 * RUNS
    assert np.mean(shares) <= 0.05


@pytest.mark.statistical
def test_supported_bounds_of_a_fresh_table_hold_too() -> None:
    """As above, for synthetic rows instead of the model."""
    failed = []
    for run in runs():
        assert run.outcome.model is not None
        rng = np.random.default_rng(1)
        joint = run.outcome.model.marginals([DOMAIN.attributes])[0].reshape(-1)
        cells = rng.choice(joint.size, size=350, p=joint / joint.sum())
        table = TableMarginals(DOMAIN, np.column_stack(np.unravel_index(cells, DOMAIN.sizes)))
        for r, bound in bounds(run.evidence, table).items():
            failed.append(np.abs(table.marginal(r) - run.truth[r]).sum() > bound.value)
    assert np.mean(failed) <= 0.05


@pytest.mark.statistical
def test_a_radius_halved_is_caught() -> None:
    """The mutant: half the noise claimed. Its intervals fail far more often than 5 %."""
    failed = []
    for run in runs()[:50]:
        for r in (("a",), ("d",)):
            made = cell_intervals(run.evidence, r)
            failed.append(np.abs(made.estimate - run.truth[r]) > made.radius / 2)
    assert np.mean(np.concatenate([f.reshape(-1) for f in failed])) > 0.15


@pytest.mark.statistical
def test_cell_intervals_cover_one_by_one_and_together() -> None:
    """60 runs of four one-way marginals at 90 %. One by one: 840 cells, of which at most 15 % may fail (a
    false alarm needs nearly five standard errors). Together: 240 marginals, at most 18 % may fail (four).
    Seeds are fixed.
    """
    single, joint = [], []
    for run in runs():
        for a in DOMAIN:
            one = cell_intervals(run.evidence, [a], confidence=0.9)
            truth = run.truth[(a,)]
            single.append((truth < one.lower) | (truth > one.upper))
            every = cell_intervals(run.evidence, [a], confidence=0.9, simultaneous=True)
            joint.append(bool(((truth < every.lower) | (truth > every.upper)).any()))
            assert every.radius >= one.radius
    assert np.concatenate(single).mean() < 0.15
    assert np.mean(joint) < 0.18


def test_intervals_are_counts() -> None:
    made = cell_intervals(runs()[0].evidence, ("b",))
    assert made.lower.dtype == made.upper.dtype == np.int64
    assert (made.lower >= 0).all()
    assert (made.lower <= made.upper).all()


def test_weighted_average_is_the_papers_estimator() -> None:
    run = next(run for run in runs() if sum("a" in m.clique for m in run.outcome.measurements) > 1)
    found = [m for m in run.outcome.measurements if "a" in m.clique]
    estimate = weighted_average(run.outcome.measurements, ("a",))
    assert estimate is not None
    precision = [3 / (m.values.size * m.scale**2) for m in found]
    assert estimate.sigma == pytest.approx(sum(precision) ** -0.5)
    project = [m.values.sum(axis=tuple(i for i, n in enumerate(m.clique) if n != "a")) for m in found]
    expected = sum(p * v for p, v in zip(precision, project, strict=True)) / sum(precision)
    np.testing.assert_allclose(estimate.values, expected)


def test_every_marginal_of_the_closure_has_a_bound() -> None:
    for run in runs()[:20]:
        assert set(bounds(run.evidence)) == set(WEIGHTED.closure)


@pytest.mark.statistical
def test_bounds_that_rest_on_the_check_hold() -> None:
    """40 runs, a third of the budget kept for the check; at 90 % those bounds may fail once in ten, and a mutant that
    forgets the noise fails in a third of all. Seeds are fixed.
    """
    failed, careless = [], []
    for seed in range(40):
        run = one_run(seed, check=0.33)
        assert run.outcome.distances is not None
        noisy = dict(zip(run.outcome.distances.cliques, run.outcome.distances.values, strict=True))
        for r, b in bounds(run.evidence, confidence=0.9).items():
            if b.checked:
                failed.append(run.error(r) > b.value)
                careless.append(run.error(r) > int(noisy[r]))
    assert len(failed) > 40
    assert np.mean(failed) <= 0.1
    assert np.mean(careless) > 0.3


def test_the_check_bounds_what_never_was_a_candidate() -> None:
    run = one_run(2, check=0.2)
    evidence = replace(run.evidence, rounds=(), measurements=())
    made = bounds(evidence)
    assert set(made) == set(WEIGHTED.closure)
    assert all(b.checked and b.kind == "unsupported" and b.round is None for b in made.values())
    assert set(bounds(replace(evidence, distances=None))) == set()


def test_a_check_of_much_noise_is_not_used() -> None:
    run = one_run(2, check=1e-7)
    assert not any(b.checked for b in bounds(run.evidence).values())


def test_no_bound_exceeds_both_tables() -> None:
    run = one_run(3, rho=1e-5)
    assert run.outcome.model is not None
    made = bounds(run.evidence)
    most = rows_bound(run.outcome.measurements, 0.002) + run.outcome.model.total
    assert all(b.value <= most * (1 + 1e-9) for b in made.values())
    assert any(b.value == pytest.approx(most) for b in made.values())
    assert all(run.error(r) <= b.value for r, b in made.items())


def test_more_confidence_costs_more() -> None:
    run = runs()[0]
    wide, narrow = bounds(run.evidence, confidence=0.999), bounds(run.evidence, confidence=0.8)
    assert all(wide[r].value > narrow[r].value for r in wide)


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_other_settings_have_bounds_as_well(noise: str) -> None:
    run = one_run(1, noise=noise, criterion="mwem", candidates="workload")
    made = bounds(run.evidence)
    assert all(run.error(r) <= b.value for r, b in made.items())
    assert {b.kind for b in made.values()} == {"supported", "unsupported"}


def test_bad_requests() -> None:
    run = runs()[0]
    with pytest.raises(UserError, match="between 0 and 1"):
        bounds(run.evidence, confidence=1.0)
    with pytest.raises(UserError, match="between 0 and 1"):
        cell_intervals(run.evidence, ["a"], confidence=0.0)
    with pytest.raises(UserError, match="No measurement contains"):
        cell_intervals(run.evidence, DOMAIN)
    source = MemorySource.of_codes(np.zeros((3, 4), dtype=np.int64), DOMAIN)
    answers = mechanism("gaussian").run(Door(source, Budget.of(rho=1), noise=ResearchNoise(0)), WEIGHTED)
    with pytest.raises(UserError, match="no model"):
        bounds(answers)


class Fixed:
    """A model with given marginals."""

    def __init__(self, marginals: dict[Clique, NDArray[np.float64]]) -> None:
        self._marginals = marginals

    def marginals(self, cliques: list[Clique], precision: str = "double") -> list[NDArray[np.float64]]:
        return [self._marginals[c] for c in cliques]


def _heavy_and_light(seed: int) -> tuple[Round, Fixed, float]:
    """One round that chooses ("h",), of weight 100, over ("l",), of weight 1, at nearly equal scores."""
    domain = Domain.of({"h": 50, "l": 50})
    rng = np.random.default_rng(seed)
    rows = 20_000
    source = MemorySource.of_codes(np.column_stack([rng.integers(0, 50, rows), rng.integers(0, 50, rows)]), domain)
    heavy, light = source.count([("h",), ("l",)])
    sign = np.where(np.arange(50) % 2, 1, -1)
    # 50 cells off by 8 each at weight 100 just beat 50 cells off by 790 each at weight 1.
    model = Fixed({("h",): heavy + 8.0 * sign, ("l",): light + 790.0 * sign})
    candidates = [Candidate(c, w, 0.0, model.marginals([c])[0]) for c, w in ((("h",), 100.0), (("l",), 1.0))]
    door = Door(source, Budget.of(rho=2000), noise=ResearchNoise(seed))
    selection = door.select(candidates, epsilon=100.0)
    measurement = door.measure(selection.clique, scale=1.0)
    made = Round(
        index=1,
        candidates=(("h",), ("l",)),
        penalties=(0.0, 0.0),
        selection=selection,
        measurement=measurement,
        change=0.0,
        threshold=0.0,
        annealed=False,
        final=True,
        size=0,
        limit=0,
        seconds=0.0,
        before=model,  # type: ignore[arg-type]
    )
    return made, model, 50 * 790.0


def _printed(r: Round, beta: float) -> float:
    """The theorem as printed, for the light marginal: λ₁ σ √n without the factor w_{r_t}."""
    assert r.before is not None
    lambda_1, lambda_2 = sqrt(2 * log(2 / beta)), log(2 / beta)
    distance = float(np.abs(r.before.marginals([r.clique])[0] - r.measurement.values).sum())
    width = lambda_1 * r.measurement.scale * sqrt(r.measurement.values.size)
    return 100 * distance + width + 2 * 100 / r.selection.epsilon * (log(2) + lambda_2)


def _ours(r: Round, beta: float) -> float:
    assert r.before is not None
    (value,) = round_distances(r, [(("l",), r.before.marginals([("l",)])[0])], beta)
    assert value is not None
    return value


@pytest.mark.statistical
@pytest.mark.parametrize(("bound", "valid"), [(_ours, True), (_printed, False)])
def test_the_weight_of_the_chosen_marginal_belongs_in_the_bound(bound: Callable[[Round, float], float], valid: bool) -> None:
    """100 rounds at 95 %. Ours: a false alarm needs more than 12 failures, below 1 in 500 even if it failed
    in exactly 5 %; seeds are fixed. The printed form fails in a large share of rounds.
    """
    failed = []
    for seed in range(100):
        r, _, truth = _heavy_and_light(seed)
        if r.clique == ("h",):
            failed.append(truth > bound(r, 0.05))
    assert len(failed) > 80
    assert (np.mean(failed) <= 0.12) if valid else (np.mean(failed) > 0.2)


def test_shares_of_the_failure_probability_add_up() -> None:
    for run in runs()[:5]:
        total = sum(round_share(run.evidence, r) for r in run.outcome.rounds)
        assert total <= 1 + 1e-12
        assert run.outcome.rounds[-1].final
        assert Fraction(FINAL_SHARE) < 1


def test_earlier_rounds_speak_where_nothing_else_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """The latest are asked of all marginals; an earlier one of those alone that it was the last to hold."""
    monkeypatch.setattr(sys.modules["understudy.uncertainty.bounds"], "LATEST", 1)
    evidence = one_run(0).evidence
    kept = [r for r in evidence.rounds if r.before is not None]
    assert len(kept) > 1
    last = kept[-1]
    gone = replace(last, candidates=last.candidates[:1], penalties=last.penalties[:1])
    evidence = replace(evidence, rounds=(*evidence.rounds[:-1], gone), measurements=(), distances=None)
    found = _unsupported(evidence, [_Way(r, r, np.zeros(DOMAIN.shape(r)), 0.0, 0.05) for r in last.candidates[1:]])
    assert {one.round for _, one in found} == {kept[-2].index}
