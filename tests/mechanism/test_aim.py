from dataclasses import replace
from fractions import Fraction
from math import pi, sqrt
from types import SimpleNamespace

import numpy as np
import pytest

from understudy.domain import Clique, Domain, Zeros
from understudy.errors import BudgetError, CapacityError, UserError, WorkloadError
from understudy.mechanism import (
    MECHANISMS,
    Aim,
    AimConfig,
    Estimated,
    Event,
    Failed,
    Finished,
    Measured,
    Outcome,
    RoundEnded,
    RoundStarted,
    RunStarted,
    Selected,
    aim,
    mechanism,
)
from understudy.mechanism.calibration import Rates
from understudy.mechanism.candidates import allowed, as_candidates
from understudy.mechanism.estimators import ESTIMATORS
from understudy.mechanism.gaussian import shares
from understudy.mechanism.running import LATEST
from understudy.model import tree_size
from understudy.privacy import UNITS, Choices, Door, Linear, Marginal, Selections, Unit
from understudy.workload import Workload

from .conftest import SMALL, MakeDoor

TWO_WAY = Workload.all_kway(SMALL, 2)


def same(one: Outcome, two: Outcome) -> bool:
    return len(one.measurements) == len(two.measurements) and all(
        a.clique == b.clique and a.scale == b.scale and (a.values == b.values).all()
        for a, b in zip(one.measurements, two.measurements, strict=True)
    )


def test_one_way_marginals_come_first_at_sigma_zero(make_door: MakeDoor) -> None:
    door = make_door(rho=Fraction(1, 2))
    outcome = mechanism("aim", check=0).run(door, TWO_WAY)
    first = outcome.measurements[:4]
    assert [m.clique for m in first] == [("a",), ("b",), ("c",), ("d",)]
    sigma = sqrt(16 * 4 / (2 * 0.9 * 0.5))  # line 4: σ₀ = √(T / (2 α ρ)), T = 16 d
    assert all(m.scale == pytest.approx(sigma, rel=1e-12) for m in first)
    assert outcome.rounds[0].selection.epsilon == pytest.approx(sqrt(8 * 0.1 * 0.5 / 64), rel=1e-12)


FAINT = Fraction(1, 2000)
"""A budget at which σ₀ is about as large as the small table."""


def test_one_way_marginals_that_drown_in_noise_are_measured_again(make_door: MakeDoor) -> None:
    outcome = mechanism("aim", check=0).run(make_door(rho=FAINT), TWO_WAY)
    first, second, third, rest = (outcome.measurements[k : k + 4] for k in (0, 4, 8, 12))
    for again in (second, third):
        assert [m.clique for m in again] == [m.clique for m in first]
    assert all(b.scale == pytest.approx(a.scale / 2, rel=1e-9) for a, b in zip(first, second, strict=True))
    left = FAINT - sum((m.rho for m in [*first, *second]), Fraction(0))
    assert float(sum(m.rho for m in third)) == pytest.approx(0.9 * float(left), rel=1e-9)  # α of what was left
    assert [m.clique for m in rest] == [r.clique for r in outcome.rounds]
    assert outcome.rounds[-1].final
    assert sum(charge.rho for charge in outcome.charges) == pytest.approx(float(FAINT), rel=1e-9)
    assert sum((charge.rho for charge in outcome.charges), Fraction(0)) <= FAINT


def test_they_are_measured_once_where_that_is_enough(make_door: MakeDoor) -> None:
    """Also where each is uniform, so that nothing stands out: what matters is how much noise there is for the rows."""
    codes = np.random.default_rng(0).integers(0, SMALL.sizes, (3000, len(SMALL)))
    outcome = mechanism("aim").run(make_door(rho=1, codes=codes), TWO_WAY)
    assert len(outcome.measurements) - len(outcome.rounds) == 4


@pytest.mark.parametrize(("options", "initial"), [({"adaptive": False}, 4), ({"initial": "uniform"}, 1)], ids=str)
def test_the_ablations_measure_once_however_large_the_noise(
    make_door: MakeDoor, options: dict[str, object], initial: int
) -> None:
    outcome = mechanism("aim", **options).run(make_door(rho=FAINT / 100), TWO_WAY)
    assert len(outcome.measurements) - len(outcome.rounds) == initial


def test_one_huge_attribute_does_not_take_the_budget_of_the_others(make_door: MakeDoor) -> None:
    domain = Domain.of({"a": 2, "b": 3, "c": 4, "huge": 5000})
    outcome = mechanism("aim").run(make_door(domain=domain, rows=2000, rho=1), Workload.all_kway(domain, 2))
    assert sum(m.clique == ("a",) for m in outcome.measurements[:5]) == 1


def test_annealing_follows_algorithm_3(make_door: MakeDoor) -> None:
    outcome = mechanism("aim").run(make_door(rho=2), TWO_WAY)
    assert len(outcome.rounds) > 2
    assert any(r.annealed for r in outcome.rounds)
    spent = sum((m.rho for m in outcome.measurements[:4]), Fraction(0))
    for r, after in zip(outcome.rounds, outcome.rounds[1:], strict=False):
        spent += r.rho
        assert r.annealed == (r.change <= sqrt(2 / pi) * r.measurement.scale * r.measurement.values.size)
        factor = 2 if r.annealed else 1
        if after.final:
            assert float(outcome.rho - spent) <= 2 * factor**2 * float(r.rho) * (1 + 1e-9)
        else:
            assert after.measurement.scale == pytest.approx(r.measurement.scale / factor, rel=1e-9)
            assert after.selection.epsilon == pytest.approx(r.selection.epsilon * factor, rel=1e-9)
    assert [r.final for r in outcome.rounds] == [False] * (len(outcome.rounds) - 1) + [True]


def test_the_score_is_line_13(make_door: MakeDoor) -> None:
    model = mechanism("independent").run(make_door(), TWO_WAY).model
    assert model is not None
    workload = Workload.of(SMALL, [(["a", "b"], 2), (["b", "c"], 1)])
    aim, mwem = (as_candidates(model, [("a", "b"), ("b",)], workload, AimConfig(criterion=c), 5.0) for c in ("aim", "mwem"))
    assert [c.weight for c in aim] == [2 * 2 + 1 * 1, 2 + 1]
    assert aim[0].penalty == pytest.approx(sqrt(2 / pi) * 5.0 * 6)
    assert [(c.weight, c.penalty) for c in mwem] == [(1, 6), (1, 3)]
    laplace = as_candidates(model, [("a",)], workload, AimConfig(noise="laplace"), 5.0)
    assert laplace[0].penalty == pytest.approx(5.0 * 2)


def test_mwem_is_the_papers(make_door: MakeDoor) -> None:
    outcome = mechanism("mwem").run(make_door(rho=1), TWO_WAY)
    assert outcome.measurements[0].clique == ()
    assert len(outcome.rounds) == 4
    assert all(r.candidates == tuple(TWO_WAY.cliques) for r in outcome.rounds)
    assert all(not r.annealed for r in outcome.rounds)
    scales = [m.scale for m in outcome.measurements]
    assert max(scales) / min(scales) < 1.001


def test_duplicates_are_doubled_weights(make_door: MakeDoor) -> None:
    queries = [(["a", "b"], 1.0), (["b", "c", "d"], 3.0)]
    twice = Workload.of(SMALL, queries + queries[:1])
    doubled = Workload.of(SMALL, [(["a", "b"], 2.0), (["b", "c", "d"], 3.0)])
    for name in MECHANISMS:
        runs = [mechanism(name).run(make_door(seed=5), w) for w in (twice, doubled)]
        assert same(*runs), name


def test_seeded_runs_repeat_and_seeds_matter(make_door: MakeDoor) -> None:
    one, two, other = (mechanism("aim").run(make_door(seed=s), TWO_WAY) for s in (1, 1, 2))
    assert same(one, two)
    assert not same(one, other)
    assert not one.private


def test_the_size_limit_grows_with_the_budget_and_holds(make_door: MakeDoor) -> None:
    domain = Domain.of({"a": 10, "b": 10, "c": 10, "d": 10})
    limit = 8 * 500
    events: list[Event] = []
    outcome = mechanism("aim", max_size=limit, rounds=20).run(
        make_door(domain=domain, rho=10, rows=5000), Workload.all_kway(domain, 3), on_event=events.append
    )
    limits = [e.size_limit for e in events if isinstance(e, RoundStarted)]
    assert limits == sorted(limits)
    assert limits[-1] in (limit, limit - 1)
    for r, allowed_size in zip(outcome.rounds, limits, strict=True):
        assert r.size <= max(allowed_size, 8 * 40)
    assert max(len(m.clique) for m in outcome.measurements) == 2
    wide = mechanism("aim", rounds=20).run(make_door(domain=domain, rho=10, rows=5000), Workload.all_kway(domain, 3))
    assert max(len(m.clique) for m in wide.measurements) == 3


def test_what_lies_inside_a_clique_is_always_allowed() -> None:
    domain = Domain.of({"a": 10, "b": 10, "c": 10})
    pool = [("a",), ("b",), ("a", "b"), ("b", "c")]
    assert allowed(domain, [("a", "b")], pool, 0) == [("a",), ("b",), ("a", "b")]
    assert ("b", "c") in allowed(domain, [("a", "b")], pool, 8 * 200)
    assert allowed(domain, [], [("a", "b"), ("a", "b", "c")], 0) == [("a", "b")]


ZERO = Zeros(("a", "b"), np.array([[0, 1], [1, 0]]))


def test_structural_zeros_count_in_the_size_and_are_kept(make_door: MakeDoor) -> None:
    limit = tree_size(SMALL, []) + 1
    with pytest.raises(CapacityError, match="structural zeros"):
        mechanism("aim", max_size=limit).run(make_door(), TWO_WAY, zeros=[ZERO])
    mechanism("aim", max_size=limit, zeros=False).run(make_door(), TWO_WAY, zeros=[ZERO])
    outcome = mechanism("aim").run(make_door(), TWO_WAY, zeros=[ZERO])
    assert outcome.model is not None
    table = outcome.model.marginal(("a", "b"))
    assert table[0, 1] == table[1, 0] == 0
    without = mechanism("aim", zeros=False).run(make_door(), TWO_WAY, zeros=[ZERO])
    assert without.model is not None
    assert without.model.marginal(("a", "b")).min() > 0
    assert without.zeros == ()


@pytest.mark.parametrize("name", ["aim", "mwem", "independent", "gaussian+pgm"])
def test_too_small_a_capacity_is_refused_before_any_spend(make_door: MakeDoor, name: str) -> None:
    door = make_door()
    with pytest.raises(CapacityError, match="Nothing was spent"):
        mechanism(name, max_size=8).run(door, TWO_WAY)
    assert door.filter.spent == 0


def test_mwem_needs_one_of_its_own_candidates_to_fit(make_door: MakeDoor) -> None:
    workload = Workload.all_kway(SMALL, 3)
    with pytest.raises(CapacityError):
        mechanism("mwem", max_size=tree_size(SMALL, []) + 8).run(make_door(), workload)
    outcome = mechanism("mwem", max_size=tree_size(SMALL, [("a", "b", "d")])).run(make_door(), workload)
    assert {r.clique for r in outcome.rounds} == {("a", "b", "d")}


def test_snapshots_are_kept_where_bounds_may_rest_on_them(make_door: MakeDoor) -> None:
    domain = Domain.of({"a": 10, "b": 10, "c": 10, "d": 10})
    outcome = mechanism("aim", max_size=8 * 500, rounds=20, adaptive=False).run(
        make_door(domain=domain, rho=10, rows=5000), Workload.all_kway(domain, 3)
    )
    last = {c: r.index for r in outcome.rounds for c in r.candidates}
    kept = {r.index for r in outcome.rounds if r.before is not None}
    assert kept == {*last.values(), *(r.index for r in outcome.rounds[-LATEST:])}
    assert LATEST <= len(kept) < len(outcome.rounds) == 20


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize(
    "option",
    [
        {"noise": "laplace"},
        {"alpha": 0.5},
        {"initial": "uniform"},
        {"criterion": "mwem", "candidates": "workload"},
        {"adaptive": False},
        {"zeros": False},
    ],
)
def test_every_ablation_runs(make_door: MakeDoor, unit: Unit, option: dict[str, object]) -> None:
    outcome = mechanism("aim", **option).run(make_door(unit=unit, rho=1), TWO_WAY, zeros=[ZERO])
    assert outcome.rounds
    assert outcome.unit == unit
    if option.get("noise") == "laplace":
        assert {m.noise for m in outcome.measurements} == {"laplace"}
    if option.get("adaptive") is False:
        assert len(outcome.rounds) == 4
        assert len({round(m.scale, 6) for m in outcome.measurements}) == 1


def test_replacing_one_record_needs_root_two_more_noise(make_door: MakeDoor) -> None:
    one, two = (mechanism("aim").run(make_door(unit=u), TWO_WAY) for u in (Unit.ADD_REMOVE, Unit.REPLACE))
    assert two.measurements[0].scale == pytest.approx(sqrt(2) * one.measurements[0].scale, rel=1e-12)


class Clock:
    """Each look takes a second."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def test_a_time_limit_ends_the_run_with_the_whole_budget(make_door: MakeDoor, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rounds alone; what is left for the time after them is tested with the pace."""
    for part in ("STEPS", "MARGIN", "TABLE_MARGIN", "REST"):
        monkeypatch.setattr(f"understudy.mechanism.pace.{part}", 0.0)
    monkeypatch.setattr("understudy.mechanism.pace.measured", lambda clock: Rates(0.0, 0.0, 0.0, 0.0, 0.0))
    door = make_door(rho=8)
    free = mechanism("aim").run(make_door(rho=8), TWO_WAY, clock=Clock())
    limit = 0.7 * free.seconds
    hurried = mechanism("aim", time_limit=limit).run(door, TWO_WAY, clock=Clock())
    assert 1 < len(hurried.rounds) < len(free.rounds)
    assert (free.ended, hurried.ended) == ("budget", "time")
    assert hurried.seconds <= limit
    assert float(door.filter.remaining / door.filter.rho) < 1e-15
    assert hurried.rounds[-1].final


def test_no_time_at_all_still_gives_a_sound_result(make_door: MakeDoor) -> None:
    outcome = mechanism("aim", time_limit=0.0).run(make_door(), TWO_WAY)
    assert len(outcome.rounds) == 1
    assert outcome.model is not None


def test_events_tell_the_story_in_order(make_door: MakeDoor) -> None:
    events: list[Event] = []
    outcome = mechanism("aim").run(make_door(), TWO_WAY, on_event=events.append)
    assert isinstance(events[0], RunStarted)
    assert isinstance(events[-1], Finished)
    kinds = [type(e) for e in events]
    for kind in (RoundStarted, Selected, RoundEnded):
        assert kinds.count(kind) == len(outcome.rounds)
    assert kinds.count(Measured) == len(outcome.measurements)
    assert [e.round for e in events if isinstance(e, Measured)] == [0] * 4 + [r.index for r in outcome.rounds]
    assert events[-1].spent == float(outcome.spent)


def test_a_failure_says_what_stays_spent(make_door: MakeDoor) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError

    events: list[Event] = []
    door = make_door()
    with pytest.raises(RuntimeError):
        mechanism("aim").run(door, TWO_WAY, on_event=events.append, estimator=broken)  # type: ignore[arg-type]
    assert isinstance(events[-1], Failed)
    assert events[-1].spent == float(door.filter.spent) > 0


class Replay:
    """A door without a table: it gives the answers of an earlier run, to whoever asks the same questions."""

    def __init__(self, door: Door, outcome: Outcome) -> None:
        self.domain, self.unit, self.private, self.fine = door.domain, door.unit, door.private, door.fine
        self.filter = Door(_NoSource(door.domain), _budget(door)).filter  # type: ignore[arg-type]
        self._measurements = iter(outcome.measurements)
        self._selections = iter(outcome.selections)
        self._distances = iter([*outcome.compared, outcome.distances])

    def timed(self, clock):  # type: ignore[no-untyped-def]
        return clock

    def ask(self, question):  # type: ignore[no-untyped-def]
        match question:
            case Marginal() | Linear():
                found = next(self._measurements)
                assert (found.clique, found.scale, found.noise) == (question.clique, question.scale, question.noise)
            case Choices():
                chosen = [next(self._selections) for _ in range(question.number)]
                assert {found.epsilon for found in chosen} == {question.epsilon}
                assert [len(found.weights) for found in chosen] == [len(question.candidates) - k for k in range(len(chosen))]
                found = Selections(tuple(chosen), sum((one.rho for one in chosen), Fraction(0)), self.private)
            case _:
                found = next(self._distances)
                assert (found.cliques, found.sigma) == (question.reads, question.sigma)
        self.filter.charge(found.rho, "replayed")
        return found


class _NoSource:
    def __init__(self, domain: Domain) -> None:
        self.domain = domain


def _budget(door: Door):  # type: ignore[no-untyped-def]
    from understudy.privacy import Budget

    return Budget.of(rho=door.filter.rho)


@pytest.mark.parametrize("rho", [1, FAINT])
@pytest.mark.parametrize("name", sorted(MECHANISMS))
def test_control_flow_depends_on_the_table_only_through_answers(make_door: MakeDoor, name: str, rho: Fraction) -> None:
    """With the answers frozen there is no table at all, and every question and event comes out the same."""

    def timeless(events: list[Event]) -> list[Event]:
        return [replace(e, seconds=0.0) if hasattr(e, "seconds") else e for e in events]

    door = make_door(rho=rho)
    told: list[Event] = []
    outcome = mechanism(name).run(door, TWO_WAY, on_event=told.append)
    again: list[Event] = []
    mechanism(name).run(Replay(door, outcome), TWO_WAY, on_event=again.append)  # type: ignore[arg-type]
    assert timeless(told) == timeless(again)


@pytest.mark.parametrize("unit", UNITS)
def test_several_marginals_are_chosen_before_an_estimate(
    make_door: MakeDoor, unit: Unit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each choice and each measurement is paid for, no two of one estimate are the same, and the budget is used up."""
    monkeypatch.setattr(aim, "together", lambda pool: 3)
    door, told = make_door(rho=1, unit=unit), list[Event]()
    outcome = mechanism("aim", rounds=48).run(door, TWO_WAY, on_event=told.append)
    fits = sum(isinstance(event, Estimated) for event in told)
    assert fits - 2 < len(outcome.rounds), "none were chosen together"
    assert [r.index for r in outcome.rounds] == list(range(1, len(outcome.rounds) + 1))
    for r in outcome.rounds:
        assert r.candidates[r.selection.index] == r.clique
        assert len(r.candidates) == len(r.penalties) == len(r.selection.weights)
    assert sum((charge.rho for charge in outcome.charges), Fraction(0)) == door.filter.spent
    assert sum((r.rho for r in outcome.rounds), Fraction(0)) == sum(
        (c.rho for c in outcome.charges if c.purpose.startswith("select")), Fraction(0)
    ) + sum((r.measurement.rho for r in outcome.rounds), Fraction(0))
    assert float(door.filter.spent / door.filter.rho) == pytest.approx(1.0)
    again: list[Event] = []
    mechanism("aim", rounds=48).run(Replay(door, outcome), TWO_WAY, on_event=again.append)  # type: ignore[arg-type]
    assert [e for e in again if isinstance(e, Selected)] == [e for e in told if isinstance(e, Selected)]


def test_what_the_model_has_no_room_for_is_not_measured() -> None:
    """Of several that were chosen together only those are measured that stay within the limit together; one always is."""
    chosen = [SimpleNamespace(clique=clique) for clique in (("a", "b"), ("b", "c"), ("a",))]
    run = SimpleNamespace(domain=SMALL, model_cliques=[(a,) for a in SMALL], estimation=ESTIMATORS["pgm"])

    def fitting(limit: int) -> list[Clique]:
        return aim._fitting(run, chosen, limit)  # type: ignore[arg-type]

    both = tree_size(SMALL, [("a", "b"), ("b", "c")])
    assert fitting(both) == [("a", "b"), ("b", "c"), ("a",)]
    assert fitting(both - 1) == [("a", "b"), ("a",)]
    assert fitting(0) == [("a", "b")]
    run.estimation = ESTIMATORS["relaxed"]
    assert fitting(0) == [("a", "b"), ("b", "c"), ("a",)]


@pytest.mark.parametrize("name", sorted(MECHANISMS))
def test_what_a_mechanism_expects_is_all_that_it_asks_for(make_door: MakeDoor, name: str) -> None:
    chosen = mechanism(name)
    outcome = chosen.run(make_door(rho=1), TWO_WAY)
    asked = {m.clique for m in outcome.measurements} | {c for r in outcome.rounds for c in r.candidates}
    if name == "privsyn+pgm":  # joins pairs into marginals of any size: too many to count them all ahead
        asked = {r for r in asked if len(r) <= 2}
    assert asked <= set(chosen.expects(TWO_WAY))


def test_gaussian_answers_with_the_best_allocation(make_door: MakeDoor) -> None:
    workload = Workload.of(SMALL, [(["a"], 1), (["b", "c"], 4)])
    outcome = mechanism("gaussian").run(make_door(), workload)
    assert outcome.model is None
    assert set(outcome.answers) == set(workload.cliques)
    small, large = outcome.measurements
    assert float(large.rho / small.rho) == pytest.approx((4 * 12 / 2) ** (2 / 3), rel=1e-9)
    # No small shift of the budget makes the summed error Σ c n σ smaller.
    best = np.array(shares(workload)) / sum(shares(workload))

    def error(part: float) -> float:
        rho = np.array([part, 1 - part])
        return float((np.array([1 * 2, 4 * 12]) / np.sqrt(rho)).sum())

    assert error(best[0]) <= min(error(best[0] * 1.01), error(best[0] * 0.99))


def test_a_column_with_a_single_code_is_no_trouble(make_door: MakeDoor) -> None:
    domain = Domain.of({"empty": 1, "b": 3})
    codes = np.column_stack([np.zeros(40, dtype=np.int64), np.arange(40) % 3])
    outcome = mechanism("aim").run(make_door(domain=domain, codes=codes), Workload.all_kway(domain, 2))
    assert outcome.model is not None
    assert np.isfinite(outcome.model.marginal(("empty", "b"))).all()


def test_attributes_outside_the_workload_stay_uniform(make_door: MakeDoor) -> None:
    outcome = mechanism("aim").run(make_door(), Workload.of(SMALL, [(["a", "b"], 1)]))
    assert outcome.model is not None
    np.testing.assert_allclose(outcome.model.marginal(("c",)), outcome.model.total / 4)


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"alpha": 1.0}, BudgetError, "between 0 and 1"),
        ({"alpha": float("nan")}, BudgetError, "between 0 and 1"),
        ({"rounds": 0}, BudgetError, "at least 1"),
        ({"rounds": 2.5}, BudgetError, "whole"),
        ({"max_size": 0}, CapacityError, "above 0"),
        ({"max_size": float("inf")}, CapacityError, "bytes"),
        ({"noise": "gausian"}, UserError, 'Did you mean "gaussian"'),
        ({"initial": "none"}, UserError, "independent, uniform"),
        ({"time_limit": -1}, UserError, "seconds"),
        ({"round": 3}, UserError, 'Did you mean "rounds"'),
    ],
)
def test_bad_settings(options: dict[str, object], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        mechanism("aim", **options)


def test_too_few_rounds_are_refused_before_any_spend(make_door: MakeDoor) -> None:
    door = make_door()
    with pytest.raises(BudgetError, match="too few"):
        mechanism("aim", rounds=3).run(door, TWO_WAY)
    assert door.filter.spent == 0
    assert mechanism("aim", rounds=4).run(make_door(), TWO_WAY).rounds


def test_unknown_mechanism_and_foreign_workload(make_door: MakeDoor) -> None:
    with pytest.raises(UserError, match='Did you mean "mwem"'):
        mechanism("mwme")
    other = Domain.of({"x": 2})
    with pytest.raises(WorkloadError, match="another schema"):
        Aim().run(make_door(), Workload.all_kway(other, 1))
