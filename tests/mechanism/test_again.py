"""What aim2 measures once more at the end: parts of what was measured, split by need, for all that was kept and no more."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from understudy.domain import Clique, Combinations
from understudy.mechanism import Outcome, mechanism
from understudy.mechanism.again import AGAIN, LEAST, parts, precisions, spread
from understudy.mechanism.again_sums import AGAIN_SUMS
from understudy.workload import Workload

from .conftest import SMALL, MakeDoor

TRIPLES = Workload.all_kway(SMALL, 3)


def played(make_door: MakeDoor, **options: Any) -> Outcome:
    return mechanism("aim2", check=0, **options).run(make_door(rows=2000, rho=1), TRIPLES)


def at_the_end(outcome: Outcome) -> list[Any]:
    """Those after the last round's own."""
    last = max(k for k, m in enumerate(outcome.measurements) if m is outcome.rounds[-1].measurement)
    return list(outcome.measurements[last + 1 :])


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_all_that_was_kept_is_spent_on_parts_of_what_was_measured(make_door: MakeDoor, noise: Any) -> None:
    outcome = played(make_door, noise=noise)
    more = at_the_end(outcome)
    before = outcome.measurements[: -len(more)]
    assert {m.clique for m in more} <= set(parts(SMALL, before))
    assert len({m.clique for m in more}) == len(more) > 1
    spent = sum((m.rho for m in more), Fraction(0))
    assert float(spent) == pytest.approx(float(AGAIN), rel=1e-6)
    assert min(float(m.rho / spent) for m in more) > LEAST / 2
    assert float(outcome.spent) == pytest.approx(1.0, rel=1e-9)
    assert outcome.spent <= 1


def test_it_can_be_left_out(make_door: MakeDoor) -> None:
    assert not at_the_end(played(make_door, again=False))


def test_every_set_that_was_measured_and_its_parts_are_listed(make_door: MakeDoor) -> None:
    outcome = played(make_door, again=False)
    measured = {m.clique for m in outcome.measurements}
    wanted = {t for r in measured for k in range(1, len(r) + 1) for t in combinations(r, k)}
    assert set(parts(SMALL, outcome.measurements)) == wanted


def test_a_marginal_is_known_by_all_that_holds_it(make_door: MakeDoor) -> None:
    """Simulated: the best estimate of a column's cell from a noisy column and a noisy pair."""
    outcome = played(make_door, again=False)
    pair = next(m for m in outcome.measurements if len(m.clique) == 2)
    own = next(m for m in outcome.measurements if m.clique == pair.clique[:1])
    summed = pair.sigma * np.sqrt(SMALL[pair.clique[1]])
    expected = 1 / own.sigma**2 + 1 / summed**2
    assert precisions(SMALL, [own, pair], [own.clique])[0] == pytest.approx(expected)
    assert precisions(SMALL, [own, pair], [pair.clique])[0] == pytest.approx(1 / pair.sigma**2)


def objective(worth: Any, known: Any, tells: Any, found: Any) -> float:
    return float((worth * (known + tells @ found) ** -0.5).sum())


def test_the_split_cannot_be_bettered() -> None:
    rng = np.random.default_rng(0)
    sets: list[Clique] = [t for k in (1, 2, 3) for t in combinations("abcd", k)]
    size = {"a": 2, "b": 3, "c": 12, "d": 30}
    cells = np.array([np.prod([size[a] for a in t]) for t in sets], dtype=float)
    tells = np.array(
        [
            [n / m if set(t) <= set(r) else 0.0 for r, m in zip(sets, cells, strict=True)]
            for t, n in zip(sets, cells, strict=True)
        ]
    )
    worth, known = cells * rng.random(len(sets)), rng.random(len(sets)) / cells
    found = spread(worth, known, tells, 3.0)
    assert found.sum() == pytest.approx(3.0)
    best = objective(worth, known, tells, found)
    assert best < 0.97 * objective(worth, known, tells, np.full(len(sets), 3.0 / len(sets)))
    for k, one in combinations(range(len(sets)), 2):
        for part in (0.1, 0.5):
            moved = found.copy()
            moved[one] += part * moved[k]
            moved[k] *= 1 - part
            assert objective(worth, known, tells, moved) > best * (1 - 2e-3)


def test_what_is_known_already_gets_nothing() -> None:
    found = spread(np.ones(2), np.array([1e6, 1e-6]), np.eye(2), 1.0)
    assert found[0] < 1e-3


@pytest.mark.parametrize(
    "workload", [TRIPLES, Workload.target(SMALL, "c", 3), Workload.of(SMALL, [(["a", "b"], 2.0), (["b", "c"], 0.5)])]
)
def test_a_part_weighs_what_the_queries_that_hold_it_do(workload: Workload) -> None:
    assert isinstance(workload.cliques, Combinations) == (len(workload.cliques) > 2)  # by a rule, and listed
    for r in workload.closure:
        queries = zip(workload.cliques, workload.query_weights, strict=True)
        assert workload.held[r] == pytest.approx(sum(c for s, c in queries if set(r) <= set(s)))


def test_where_sums_are_asked_for_sums_are_measured_again(make_door: MakeDoor) -> None:
    asked = Workload.of(SMALL, [{"attributes": ["a", "c"], "prefixes": "c"}, {"attributes": ["b", "c"], "prefixes": "c"}])
    outcome = mechanism("aim2", check=0).run(make_door(rows=2000, rho=1), asked)
    more = at_the_end(outcome)
    queries = {m.clique: m.query for m in outcome.measurements[: -len(more)] if m.query is not None}
    assert more
    assert all(m.query is queries[m.clique] for m in more if m.clique in queries)
    assert any(m.clique in queries for m in more)
    assert float(sum((m.rho for m in more), Fraction(0))) == pytest.approx(float(AGAIN_SUMS), rel=1e-6)
