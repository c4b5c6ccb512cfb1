"""Neighbouring tables: no score and no marginal moves by more than declared, and control flow does not move
at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from understudy.domain import Domain
from understudy.privacy import (
    UNITS,
    Budget,
    Candidate,
    Choices,
    Door,
    Product,
    Unit,
    scoring,
    selection_epsilon_for,
    sigma_for,
)
from understudy.privacy.noise import Counts
from understudy.privacy.scoring import TOP_DISTANCE, TOP_WEIGHT, distance, integer_weights, rounded, scores

from .fakes import RecordingNoise, TableSource

Rows = list[tuple[int, ...]]


@st.composite
def domains(draw: st.DrawFn) -> Domain:
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    return Domain.of({"abc"[i]: size for i, size in enumerate(sizes)})


def rows_of(domain: Domain) -> st.SearchStrategy[tuple[int, ...]]:
    return st.tuples(*(st.integers(0, size - 1) for size in domain.sizes))


@st.composite
def neighbours(draw: st.DrawFn, domain: Domain, unit: Unit) -> tuple[Rows, Rows]:
    """Two tables of which one is the other with a record added, or replaced; in either order."""
    table = draw(st.lists(rows_of(domain), max_size=12))
    if unit == Unit.ADD_REMOVE:
        other = [*table, draw(rows_of(domain))]
    else:
        table = [*table, draw(rows_of(domain))]
        other = [*table[:-1], draw(rows_of(domain))]
    return (table, other) if draw(st.booleans()) else (other, table)


@st.composite
def queries(draw: st.DrawFn, shape: tuple[int, ...]) -> Product | None:
    """Sums of the cells of a marginal: prefixes, or any whole weights, of some of its attributes."""
    some: list[Counts | int] = []
    for size in shape:
        wild = arrays(np.int64, (draw(st.integers(1, 3)), size), elements=st.integers(-4, 4)).filter(np.any)
        some.append(draw(st.just(size) | st.just(np.tril(np.ones((size, size), np.int64))) | wild))
    return None if draw(st.booleans()) else Product(some)


estimates = st.floats(-5, 15) | st.sampled_from([0.5, 1.5, -0.5, 1e300, -1e300, 2.0**40, 2.0**40 - 3])
weights = st.floats(0, 10) | st.floats(1e-9, 1e-3) | st.just(1e12)


@st.composite
def candidate_lists(draw: st.DrawFn, domain: Domain) -> list[Candidate]:
    cliques = [c for n in range(1, len(domain) + 1) for c in combinations(domain.attributes, n)]
    chosen = draw(st.lists(st.sampled_from(cliques), min_size=1, max_size=6))
    made = [
        Candidate(
            clique,
            draw(weights),
            draw(st.floats(-1e3, 1e3) | st.just(1e300)),
            np.array(draw(st.lists(estimates, min_size=domain.cells(clique), max_size=domain.cells(clique)))).reshape(
                domain.shape(clique)
            ),
        )
        for clique in chosen
    ]
    heavy = Candidate(cliques[0], draw(st.floats(0.1, 10)), 0.0, np.zeros(domain.shape(cliques[0])))
    return [*(replace(one, query=draw(queries(domain.shape(one.clique)))) for one in made), heavy]


@st.composite
def cases(draw: st.DrawFn) -> tuple[Unit, Domain, Rows, Rows, list[Candidate]]:
    unit, domain = draw(st.sampled_from(UNITS)), draw(domains())
    return unit, domain, *draw(neighbours(domain, unit)), draw(candidate_lists(domain))


def largest_moves(
    score: Callable[[Sequence[Counts], Sequence[Candidate]], Counts],
    case: tuple[Unit, Domain, Rows, Rows, list[Candidate]],
) -> list[Fraction]:
    """Return how far each candidate's score moved, in units of what was declared for it (0/0 is 0)."""
    unit, domain, table, other, candidates = case
    cliques = [c.clique for c in candidates]
    a, b = (score(TableSource(domain, rows).count(cliques), candidates) for rows in (table, other))
    declared = integer_weights([c.weight for c in candidates]) * [c.moved(unit) for c in candidates]
    moved = [abs(int(x) - int(y)) for x, y in zip(a, b, strict=True)]
    return [Fraction(m, int(d)) if d else Fraction(m) for m, d in zip(moved, declared, strict=True)]


@pytest.mark.promise(3)
@pytest.mark.promise(11)
@settings(max_examples=400, deadline=None)
@given(cases())
def test_no_score_moves_by_more_than_its_declared_sensitivity(case: Any) -> None:
    assert max(largest_moves(scores, case)) <= 1


@pytest.mark.promise(3)
@pytest.mark.parametrize("unit", UNITS)
def test_the_declared_sensitivity_is_reached(unit: Unit) -> None:
    """The bound is tight, so a smaller declaration would fail the test above; and scores move both ways at
    once.
    """
    domain = Domain.of({"a": 2, "b": 2})
    table: Rows = [(0, 0)]
    other: Rows = [(0, 0), (0, 1)] if unit == Unit.ADD_REMOVE else [(1, 1)]
    low, high = np.array([1.0, 0.0]), np.array([0.0, 1.0]) if unit == Unit.REPLACE else np.array([5.0, 5.0])
    candidates = [Candidate(("a",), 1.0, 0.0, low), Candidate(("a",), 1.0, 0.0, high)]
    a, b = (scores(TableSource(domain, rows).count([("a",)] * 2), candidates) for rows in (table, other))
    assert (b - a).tolist() == [TOP_WEIGHT * unit.score, -TOP_WEIGHT * unit.score]


@pytest.mark.promise(3)
@pytest.mark.promise(11)
@settings(max_examples=200, deadline=None)
@given(cases())
def test_a_choice_states_the_farthest_that_any_score_moves(case: Any) -> None:
    """By its weight and its query together: a light candidate with many sums may move farther than a heavy one."""
    unit, domain, table, other, candidates = case
    stated = Choices(candidates, 1.0).mask(unit).sensitivity
    cliques = [c.clique for c in candidates]
    a, b = (scores(TableSource(domain, rows).count(cliques), candidates) for rows in (table, other))
    assert np.abs(a - b).max() <= stated


@pytest.mark.promise(3)
@pytest.mark.parametrize("unit", UNITS)
def test_prefixes_move_a_score_by_as_many_as_a_record_is_in(unit: Unit) -> None:
    domain = Domain.of({"a": 3, "b": 2})
    query = Product([np.tril(np.ones((3, 3), np.int64)), 2])
    candidates = [Candidate(("a", "b"), 1.0, 0.0, np.zeros((3, 2)), query), Candidate(("b",), 2.0, 0.0, np.zeros(2))]
    table: Rows = [(0, 0)] * 4
    other: Rows = [*table, (0, 0)] if unit == Unit.ADD_REMOVE else [*table[1:], (0, 1)]
    if unit == Unit.REPLACE:  # one that leaves what is too high for what is too low
        candidates[0] = replace(candidates[0], estimated=np.array([[9.0, -9.0], [0, 0], [0, 0]]))
    a, b = (scores(TableSource(domain, rows).count([("a", "b"), ("b",)]), candidates) for rows in (table, other))
    assert Choices(candidates, 1.0).mask(unit).sensitivity == abs(int(b[0] - a[0])) == 3 * unit.score * TOP_WEIGHT // 2


@pytest.mark.promise(3)
def test_squared_error_as_a_score_would_be_found_out() -> None:
    """Mutant: the squared distance, whose sensitivity is not the weight."""

    def squared(counts: Sequence[Counts], candidates: Sequence[Candidate]) -> Counts:
        w = integer_weights([c.weight for c in candidates])
        return np.array(
            [int(v) * int(((x - rounded(c.estimate)) ** 2).sum()) for v, x, c in zip(w, counts, candidates, strict=True)]
        )

    case: Any = (
        Unit.ADD_REMOVE,
        Domain.of({"a": 2}),
        [(0,)] * 3,
        [(0,)] * 4,
        [Candidate(("a",), 1.0, 0.0, np.zeros(2))],
    )
    assert max(largest_moves(squared, case)) > 1


@pytest.mark.promise(3)
def test_an_estimate_left_unrounded_would_be_found_out() -> None:
    """Mutant: rounding each score instead of the estimate moves a score by a unit more than declared."""

    def unrounded(counts: Sequence[Counts], candidates: Sequence[Candidate]) -> Counts:
        w = integer_weights([c.weight for c in candidates])
        return np.array(
            [int(v) * round(float(np.abs(x - c.estimate).sum())) for v, x, c in zip(w, counts, candidates, strict=True)]
        )

    half = [Candidate(("a",), 1.0, 0.0, np.array([1.5, 0.0]))]  # distances 0.5 and 1.5, rounded 0 and 2
    case: Any = (Unit.ADD_REMOVE, Domain.of({"a": 2}), [(0,)], [], half)
    assert largest_moves(unrounded, case) == [2]
    assert largest_moves(scores, case) == [1]


# Scores stay in range, and the clamped distance is what it says.


@pytest.mark.promise(5)
@given(
    st.lists(st.integers(0, 2**63 - 1) | st.integers(0, 50), min_size=1, max_size=6),
    st.lists(st.floats(-1e308, 1e308) | st.floats(-60, 60), min_size=6, max_size=6),
)
def test_distance_is_the_exact_one_up_to_its_limit(counts: list[int], estimate: list[float]) -> None:
    whole = [min(max(round(e), -TOP_DISTANCE), TOP_DISTANCE) for e in estimate[: len(counts)]]
    exact = sum(abs(c - e) for c, e in zip(counts, whole, strict=True))
    assert distance(np.array(counts, np.int64), np.array(estimate[: len(counts)])) == min(exact, TOP_DISTANCE)


def test_distance_adds_up_over_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring, "_BLOCK", 3)
    counts = np.arange(20).reshape(4, 5)
    assert distance(counts, np.full((4, 5), 7.0)) == int(np.abs(counts - 7).sum())
    assert distance(counts + TOP_DISTANCE, np.zeros((4, 5))) == TOP_DISTANCE


@pytest.mark.promise(3)
@pytest.mark.parametrize("block", [1, 4, 10, 2**15])
def test_many_distances_at_once_are_each_its_own(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring, "_BLOCK", block)
    rng = np.random.default_rng(0)
    counts = [rng.integers(0, 9, size) for size in (3, 1, 1, 7, 2, 30, 4)]
    kinds = [np.float64, np.float32, np.float64, np.float32, np.float32, np.float32, np.float64]
    estimates = [rng.uniform(-2, 9, c.shape).astype(kind) for c, kind in zip(counts, kinds, strict=True)]
    exact = [
        sum(abs(int(a) - round(float(b))) for a, b in zip(c, e, strict=True)) for c, e in zip(counts, estimates, strict=True)
    ]
    assert list(scoring.distances(counts, estimates)) == exact


@pytest.mark.promise(5)
def test_no_score_overflows() -> None:
    huge = [np.full(5, 2**63 - 1), np.zeros(5, np.int64)]
    far = [Candidate(("a",), 1.0, -1e300, np.zeros(5)), Candidate(("a",), 1.0, 1e300, np.zeros(5))]
    assert scores(huge, far).tolist() == [2 * TOP_WEIGHT * TOP_DISTANCE, -TOP_WEIGHT * TOP_DISTANCE]


@pytest.mark.parametrize(
    ("given_", "expected"),
    [
        ([1.0, 2.0, 4.0], [2**18, 2**19, 2**20]),
        ([1e-300, 1e300, 0.0], [1, 2**20, 0]),
        ([5e-324], [2**20]),
        ([1.7e308, 1.7e308], [2**20, 2**20]),
        ([3.0, 1.0], [2**20, round(2**20 / 3)]),
    ],
)
def test_weights_become_integers_in_proportion(given_: list[float], expected: list[int]) -> None:
    assert integer_weights(given_).tolist() == expected


def test_a_candidate_of_weight_zero_scores_zero_whatever_the_table() -> None:
    candidates = [Candidate(("a",), 0.0, 3.0, np.zeros(2)), Candidate(("a",), 1.0, 0.0, np.zeros(2))]
    assert [int(scores([np.array([n, n])] * 2, candidates)[0]) for n in (0, 5, 10**9)] == [0, 0, 0]


# Replay: with the released numbers frozen, neighbours lead to the same questions, charges and shapes.


def adaptive_run(domain: Domain, rows: Rows, unit: Unit, seed: int) -> tuple[TableSource, RecordingNoise, Door]:
    """A small run in which every later question depends on earlier answers."""
    source, noise = TableSource(domain, rows), RecordingNoise(seed)
    cliques = [c for n in range(1, len(domain) + 1) for c in combinations(domain.attributes, n)]
    door = Door(source, Budget.of(rho=1), unit=unit, noise=noise, expect=cliques[:2])
    answers = [door.measure(c, scale=4.0, noise="laplace").values for c in cliques[: len(domain)]]
    for _ in range(3):
        shift = float(sum(a.sum() for a in answers)) / 100
        candidates = [Candidate(c, 1.0 + abs(shift), 1.0, np.full(domain.shape(c), shift)) for c in cliques]
        chosen = door.select(candidates, epsilon=selection_epsilon_for(door.filter.remaining / 10))
        sigma = sigma_for(door.filter.remaining / 2, unit) * (1 + abs(shift) % 1)
        answers.append(door.measure(chosen.clique, scale=sigma).values)
    return source, noise, door


@st.composite
def replays(draw: st.DrawFn) -> tuple[Unit, Domain, Rows, Rows, int]:
    unit, domain = draw(st.sampled_from(UNITS)), draw(domains())
    return unit, domain, *draw(neighbours(domain, unit)), draw(st.integers(0, 5))


@pytest.mark.promise(10)
@pytest.mark.promise(11)
@settings(max_examples=100, deadline=None)
@given(replays())
def test_control_flow_depends_on_the_table_through_released_noise_only(case: Any) -> None:
    unit, domain, table, other, seed = case
    (source_a, noise_a, door_a), (source_b, noise_b, door_b) = (
        adaptive_run(domain, rows, unit, seed) for rows in (table, other)
    )
    assert source_a.calls == source_b.calls
    assert door_a.filter.charges == door_b.filter.charges
    assert repr(door_a) == repr(door_b)
    for (kind_a, exact_a, scale_a), (kind_b, exact_b, scale_b) in zip(noise_a.exact, noise_b.exact, strict=True):
        assert (kind_a, exact_a.shape, scale_a) == (kind_b, exact_b.shape, scale_b)
        moved = np.abs(exact_a - exact_b)
        if kind_a == "select":
            assert moved.max() <= TOP_WEIGHT * unit.score
        else:
            assert moved.sum() <= unit.l1
            assert (moved**2).sum() <= unit.l2_squared
