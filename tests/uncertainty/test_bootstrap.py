"""Bootstrap intervals: what they are made of, and how often they hold on small tables. On real ones: a benchmark.

Everything is seeded, so nothing here fails by chance. Where a share is held to limits, the comment says where it lies.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

from understudy.domain import Domain
from understudy.errors import UserError
from understudy.mechanism import mechanism
from understudy.model import GraphicalModel, MatrixQuery, Observation
from understudy.privacy import Budget, Door, Measurement, ResearchNoise
from understudy.privacy.noise import NoiseKind
from understudy.source import MemorySource
from understudy.uncertainty import Bootstrap, Evidence, bootstrap_intervals
from understudy.uncertainty.departures import departed, measured_parts
from understudy.uncertainty.intervals import at_most, half_widths, student
from understudy.uncertainty.refits import Held, refits, with_noise
from understudy.uncertainty.strength import GRID, Strengths, log_likelihood
from understudy.uncertainty.tilts import Tilt, tilted, tilts
from understudy.workload import Workload

from .runs import OTHER_REGION, Run, determined_run, one_run


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@dataclass(frozen=True, eq=False)
class Drawn:
    run: Run
    bootstrap: Bootstrap


@cache
def drawn() -> list[Drawn]:
    found = [one_run(seed, rows=2_000) for seed in range(6)]
    return [Drawn(run, Bootstrap(run.evidence)) for run in found]


def test_what_was_measured_of_some_columns() -> None:
    measured = [("a", "b"), ("b", "c"), ("d",)]
    assert measured_parts(("a", "b", "c"), measured) == [("a", "b"), ("b", "c")]
    assert measured_parts(("a", "d"), measured) == [("a",), ("d",)]
    assert measured_parts(("a", "b"), measured) == [("a", "b")]


def test_a_departure_leaves_what_was_measured() -> None:
    table = rng(1).uniform(50, 500, (4, 5))
    counts = departed(table, ("a", "b"), [("a",), ("b",)], 0.5, rng(2))
    assert np.abs(counts - table).max() > 20
    for axis in (0, 1):
        np.testing.assert_allclose(counts.sum(axis=axis), table.sum(axis=axis), rtol=0.01)
    assert departed(table, ("a", "b"), [("a", "b")], 0.5, rng(2)) is table


def test_without_strength_a_departure_is_that_of_a_sample() -> None:
    """A pair of independent columns: (1 - a/n)(1 - b/n) times the count is the variance, which 2,000 draws tell to 5 %."""
    table = np.outer([300.0, 700], [200.0, 300, 500]) / 1_000
    generator = rng(3)
    counts = [departed(table, ("a", "b"), [("a",), ("b",)], 0.0, generator) for _ in range(2_000)]
    expected = np.outer([300.0, 700], [200.0, 300, 500]) / 1_000 * np.outer([0.7, 0.3], [0.8, 0.7, 0.5])
    np.testing.assert_allclose(np.var(counts, axis=0), expected, rtol=0.15)


def test_strength_is_learnt_from_many_noisy_distances() -> None:
    """100 distances whose noise is as large as what is looked for; one alone says next to nothing."""
    expected = 1_000 + 2_000 * GRID
    for truth in (0.1, 0.8):
        noisy = 1_000 + 2_000 * truth + rng(4).normal(0, 1_000, 100)
        found = Strengths.learnt(np.array([log_likelihood(d, expected, 1_000) for d in noisy])).of(None) @ GRID
        assert truth / 1.6 < found < 1.6 * truth
    nothing = Strengths.learnt(np.zeros((0, len(GRID))))
    assert 0.1 < nothing.of(None) @ GRID < 0.8


def test_a_clear_distance_counts_more_than_those_of_others() -> None:
    expected = 1_000 + 2_000 * GRID
    learnt = Strengths.learnt(np.array([log_likelihood(1_200, expected, 100)] * 50))
    own = log_likelihood(4_000, expected, 100)
    assert learnt.of(own) @ GRID > 5 * (learnt.of(None) @ GRID)


def alone(counts: Any, scale: float) -> Measurement:
    """A column that was measured alone, with noise that happens to be 0, or that rises and falls by its scale."""
    wave = np.rint(scale * np.resize([1, -1], len(counts))).astype(np.int64)
    return Measurement(("a",), np.asarray(counts, np.int64) + wave, "gaussian", scale, Fraction(1), private=False)


def flat(codes: int, rows: float) -> GraphicalModel:
    return GraphicalModel(Domain.of({"a": codes}), {("a",): np.zeros(codes)}, rows)


def test_what_shrinkage_hides_of_a_column_is_a_tilt() -> None:
    """Counts that fall, under noise larger than they are: the model is flat, and the measurement says that they fall."""
    falling = np.linspace(20, 0, 40)
    (found,) = tilts(flat(40, 400), [alone(falling, 30)]).values()
    assert found.mean < -0.05
    assert found.deviation > 0.2
    table = np.full(40, 10.0)
    drawn = tilted(table, ("a",), {"a": Tilt(-1.0, 0.0)}, rng())
    assert drawn.sum() == pytest.approx(400)
    assert (np.diff(drawn) < 0).all()


def test_a_column_that_stands_out_of_the_noise_is_not_tilted() -> None:
    falling = np.linspace(20_000, 0, 40)
    found = tilts(flat(40, 400_000), [alone(falling, 30)])
    assert all(abs(tilt.mean) < 0.01 and tilt.deviation < 0.01 for tilt in found.values())
    assert tilts(flat(3, 400), [alone([300, 90, 10], 30)]) == {}, "too few codes to be shrunk"


@pytest.mark.parametrize(("freedom", "quantile"), [(8, 2.306), (16, 2.120), (32, 2.037), (1_000, 1.962)])
def test_student(freedom: int, quantile: float) -> None:
    assert student(0.95, freedom) == pytest.approx(quantile, rel=0.005)


@pytest.mark.parametrize("number", [8, 15, 32])
def test_one_more_number_is_at_most_that_as_often_as_it_says(number: int) -> None:
    """Of 20,000 tries 95 % give or take 0.6 % (four deviations); the draws' own quantile holds in 87 to 92 %."""
    made = rng(4).normal(10, 3, (20_000, number + 1))
    told = np.array([at_most(row[:-1], 0.95) for row in made])
    assert (made[:, -1] <= told).mean() == pytest.approx(0.95, abs=0.006)
    assert (made[:, -1] <= np.quantile(made[:, :-1], 0.95, axis=1)).mean() < 0.93


def test_sums_that_were_told_beside_the_measurements_are_drawn_again() -> None:
    """Counts have noise of 100 each, the sum of all codes' numbers about their mean one of 200: by counts, of 7,300."""
    weights = np.arange(40.0) - 19.5
    told = Observation(("a",), np.zeros(1), 200.0, MatrixQuery(weights[None], (40,)))
    measured, model = [alone(np.full(40, 1000), 100)], flat(40, 40_000)
    spread = {}
    for name, sums in {"without": [], "with": [told]}.items():
        found = refits(model, measured, Held(("a",)), 16, rng(3), sums=sums)
        spread[name] = np.std([weights @ (one.model.marginal(("a",)) - one.base.marginal(("a",))) for one in found])
    assert 100 < spread["with"] < 400
    assert spread["without"] > 5 * spread["with"]


def test_half_widths_leave_out_what_has_no_value() -> None:
    centre = np.array([0.0, 1.0, np.nan])
    draws = [np.array([1.0, np.nan, 0.0]), np.array([-1.0, 3.0, 0.0])]
    found = half_widths(centre, draws, 0.95)
    assert found[:2] == pytest.approx([student(0.95, 2), 2 * student(0.95, 1)])
    assert np.isnan(found[2])


def test_intervals_hold_about_as_often_as_they_say() -> None:
    """All cells of all marginals of six runs: 97.6 % hold; with half the noise 82 % would."""
    held: list[bool] = []
    for one in drawn():
        for clique, truth in one.run.truth.items():
            found = bootstrap_intervals(one.bootstrap, clique)
            held += ((found.lower <= truth) & (truth <= found.upper)).ravel().tolist()
    assert 0.92 < np.mean(held) < 0.99


def test_the_summed_error_is_expected_where_it_lies() -> None:
    held = [
        one.run.error(clique) <= bootstrap_intervals(one.bootstrap, clique).summed
        for one in drawn()
        for clique in one.run.truth
    ]
    assert np.mean(held) > 0.85


def test_pairs_that_nothing_measured_have_intervals_too() -> None:
    """Single columns, nearly without noise: what is left is the sampling of rows, and what a model of columns lacks."""
    generator = rng(7)
    first = generator.integers(0, 5, 3_000)
    follows = generator.random(3_000) < 0.2
    codes = np.column_stack(
        [first, np.where(follows, first, generator.integers(0, 5, 3_000)), generator.integers(0, 4, 3_000)]
    )
    domain = Domain.of({"a": 5, "b": 5, "c": 4})
    source = MemorySource.of_codes(codes, domain)
    door = Door(source, Budget.of(rho=50), noise=ResearchNoise(8))
    made = mechanism("independent").run(door, Workload.all_kway(domain, 2))
    bootstrap = Bootstrap(Evidence.of(made))
    held = []
    for clique in (("a", "b"), ("a", "c"), ("b", "c"), ("a", "b", "c")):
        found, (truth,) = bootstrap_intervals(bootstrap, clique), source.count([clique])
        held += ((found.lower <= truth) & (truth <= found.upper)).ravel().tolist()
    assert np.mean(held) > 0.9


def test_an_interval_does_not_change_when_it_is_asked_for_again() -> None:
    one = drawn()[0]
    first, again = (bootstrap_intervals(b, ("b", "a")) for b in (one.bootstrap, Bootstrap(one.run.evidence)))
    assert first.clique == ("a", "b")
    assert (first.lower == again.lower).all()
    assert (first.upper == again.upper).all()
    assert (first.lower <= first.upper).all()
    wider = bootstrap_intervals(one.bootstrap, ("a", "b"), confidence=0.99)
    assert (wider.upper >= first.upper).all()
    assert wider.summed > first.summed


def test_impossible_cells_stay_empty() -> None:
    run = determined_run(3)
    found = bootstrap_intervals(Bootstrap(run.evidence), ("city", "region"))
    forbidden = tuple(OTHER_REGION.cells.T)
    assert (found.upper[forbidden] == 0).all()
    assert found.upper.sum() > 0


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_the_noise_of_a_simulation_is_that_of_the_measurement(noise: NoiseKind) -> None:
    """20,000 draws tell a deviation to 2 % (four of its own deviations, for Laplace noise)."""
    measured = Measurement(("a",), np.zeros(2, np.int64), noise, 12.0, Fraction(1), private=False)
    drawn = with_noise(np.full(20_000, 5.0), measured, rng(9))
    assert drawn.std() == pytest.approx(measured.sigma, rel=0.04)
    assert drawn.mean() == pytest.approx(5, abs=4 * measured.sigma / 20_000**0.5)
    assert (drawn == np.rint(drawn)).all()


def test_a_confidence_that_is_none() -> None:
    with pytest.raises(UserError, match="strictly between 0 and 1"):
        bootstrap_intervals(drawn()[0].bootstrap, ("a",), confidence=1.0)


def test_a_column_with_nearly_all_rows_in_one_code_is_tilted_so_far_and_no_farther() -> None:
    """Its ranks have hardly any variance: scores without limits overflowed, and the draw failed."""
    table = np.array([1e-200, 480.0, 1e-200])
    drawn = [tilted(table, ("a",), {"a": Tilt(0.5, 0.5)}, np.random.default_rng(seed)) for seed in range(20)]
    assert np.isfinite(drawn).all()
    np.testing.assert_allclose(np.sum(drawn, axis=1), 480)


def test_refits_are_held_to_columns_as_the_last_fit_was() -> None:
    """Of 40 codes three have rows. Noise of 50 leaves some in others, and fewer where the fit is held to the column."""
    rows = np.append(np.zeros(37), [4_000, 2_000, 1_000])
    domain = Domain.of({"a": 40})
    model = GraphicalModel(domain, {("a",): np.log(np.maximum(rows, 1e-9))}, 7_000.0)
    measured = [alone(rows, 50)]
    left = {}
    for name, held in {"held": Held((), ("a",)), "free": Held()}.items():
        found = refits(model, measured, held, 16, rng(3))
        left[name] = np.mean([one.model.marginal(("a",))[:37].sum() for one in found[::2]])
    assert left["held"] < 0.95 * left["free"]
