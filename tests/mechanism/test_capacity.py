"""A model as large as time allows: what it may grow to follows from the clock and from what is on record, and is kept."""

from __future__ import annotations

from dataclasses import replace
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import understudy
from ledger.small import FACTS, Stop, fresh, stopping_after
from release_tables import schema, table
from understudy.domain import Domain
from understudy.errors import UserError
from understudy.mechanism import Event, Outcome, RoundStarted, capacity, mechanism, memory, pace
from understudy.mechanism.calibration import Rates
from understudy.mechanism.capacity import shares_to_come
from understudy.model import fit
from understudy.privacy import Budget, Door, ResearchNoise
from understudy.source import MemorySource
from understudy.workload import Workload

DOMAIN = Domain.of(dict.fromkeys("abcdef", 4))
WORKLOAD = Workload.all_kway(DOMAIN, 3)
BYTES_A_SECOND = 2000


class Time:
    """A clock that fits move: each takes as long as its model is large."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def fit(self, *arguments: Any, **options: Any) -> Any:
        found = fit(*arguments, **{**options, "max_iterations": 10})
        seconds = found.model.size / BYTES_A_SECOND
        self.now += seconds
        return replace(found, iterations=300, seconds=seconds)


def codes() -> np.ndarray[Any, np.dtype[np.int32]]:
    rng = np.random.default_rng(0)
    first = rng.integers(0, 4, 2000)
    return np.column_stack([(first + (rng.random(2000) < 0.3) * rng.integers(0, 4, 2000)) % 4 for _ in "abcdef"]).astype(
        np.int32
    )


def run(**options: Any) -> Outcome:
    time = Time()
    door = Door(MemorySource.of_codes(codes(), DOMAIN), Budget.of(rho=4), noise=ResearchNoise(1))
    return mechanism("aim", **options).run(door, WORKLOAD, estimator=time.fit, clock=time)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models of this table have some kilobytes."""
    monkeypatch.setattr(capacity, "SMALL", 500)
    step = 1 / BYTES_A_SECOND / capacity.FIT_STEPS
    monkeypatch.setattr(pace, "measured", lambda clock: Rates(clique=0.0, byte=step, marginal=0.0, look=0.0, value=0.0))


def test_a_size_that_was_set_is_shared_out_as_the_budget_is_spent() -> None:
    made = run(max_size=10_000)
    assert [r.limit for r in made.rounds] == sorted(r.limit for r in made.rounds)
    assert made.rounds[-1].limit == 10_000


def test_more_time_lets_the_model_grow_larger_and_the_time_is_kept() -> None:
    free = run(max_size=10**9)
    sizes = []
    for limit in (0.05 * free.seconds, 0.15 * free.seconds):
        made = run(capacity="auto", time_limit=limit, max_size=10**9)
        assert made.seconds <= limit
        assert made.ended == "budget"  # the model was kept small instead of rounds left out
        assert len(made.rounds) > 5
        sizes.append(max(r.size for r in made.rounds))
    assert sizes[0] < sizes[1] < max(r.size for r in free.rounds)


def test_memory_is_a_limit_however_much_time_there_is() -> None:
    made = run(capacity="auto", time_limit=1e9, max_size=4_000)
    assert max(r.limit for r in made.rounds) == 4_000
    assert max(r.size for r in made.rounds) <= 4_000


@pytest.mark.parametrize(
    ("spent", "cost", "between", "rounds", "shares"),
    [(0.0, 0.1, 10, 10, 5.0), (0.9, 0.05, 10, 2, 1.9), (0.0, 0.05, 10, 12.5, 10 * 0.25 + 2.5 * 0.75), (1.0, 0.1, 10, 0, 0)],
)
def test_rounds_to_come_and_what_is_spent_by_then(
    spent: float, cost: float, between: float, rounds: float, shares: float
) -> None:
    """Rounds at a twentieth: ten take half of it, then at a fifth there are two and a half."""
    assert shares_to_come(spent, cost, between) == (pytest.approx(rounds), pytest.approx(shares))


def test_the_more_rounds_are_to_come_the_smaller_the_model_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    """After an annealing it goes by how many there were as well."""
    free, first = run(max_size=10**9).seconds, []
    for between in (1.0, 1000.0):
        monkeypatch.setattr(capacity, "rounds_between", lambda *facts, between=between: between)
        first.append(run(capacity="auto", time_limit=0.05 * free, max_size=10**9).rounds[0].limit)
    assert first[0] > first[1]


def test_a_model_does_not_grow_much_in_one_round() -> None:
    made = run(capacity="auto", time_limit=1e9, max_size=10**9)
    for one, other in pairwise(made.rounds):
        assert other.limit <= capacity.GROWTH * max(one.size, 500) + 1


def test_time_must_be_limited_and_the_mechanism_must_grow_its_model() -> None:
    settings: dict[str, Any] = {"rho": 1, "max_size": "auto", "progress": False, "seed": 1}
    with pytest.raises(UserError, match=r"--max-size auto\) needs a limit on the time: --time-limit 10m"):
        understudy.synthesize(table(20), schema(), **settings)
    with pytest.raises(UserError, match=r'auto is for .* \(aim, aim2, mwem\), not for "mst": give a size, such as 80MB'):
        understudy.synthesize(table(20), schema(), mechanism="mst", time_limit="1m", **settings)


def test_all_of_a_limit_on_memory_or_a_part_of_the_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Never a part of what is free, which may depend on the table."""
    settings: dict[str, Any] = {"rho": 1, "max_size": "auto", "time_limit": "1m", "progress": False, "seed": 1}
    monkeypatch.setattr(memory, "_left", lambda: iter([2**40]))
    found = [
        understudy.synthesize(table(20), schema(), **settings, **more).manifest.mechanism.options["max_size"]
        for more in ({}, {"memory": "2GB"}, {"memory": "4GB"})
    ]
    assert found[1] < found[2] < 4 * 2**30
    monkeypatch.setattr(memory, "_left", lambda: iter([2**30]))
    monkeypatch.setattr(memory, "resident", count(2**30).__next__)
    assert memory.growing_memory(None) is not None
    again = understudy.request.Request.of(
        schema(), Budget.of(rho=1), options=understudy.request.options_of({}, "auto", "1m")
    )
    assert again.mechanism.max_size == found[0]


@pytest.mark.parametrize("answers", [9, 12, 16])
def test_a_resumed_run_allows_what_it_allowed_before(answers: int, tmp_path: Path) -> None:
    """On a clock that goes on differently: what was decided is on record. The first new round goes by what is there, too."""
    ledger = fresh(tmp_path)
    told: list[list[Event]] = [[], []]

    def play(log: Any, which: int, time: Time, stop: Any = None) -> Outcome:
        def listen(event: Event) -> None:
            told[which].append(event)
            if stop is not None:
                stop(event)

        door = Door(MemorySource.of_codes(codes(), DOMAIN), Budget.of(rho=1), journal=log)
        how = mechanism("aim", capacity="auto", time_limit=40.0, max_size=10**9)
        return how.run(door, WORKLOAD, estimator=time.fit, clock=time, on_event=listen)

    with pytest.raises(Stop):
        play(ledger.begin("people", Budget.of(rho=1), FACTS), 0, Time(), stopping_after(answers))
    made = play(ledger.resume("people", FACTS), 1, Time())
    first, second = ([e.size_limit for e in events if isinstance(e, RoundStarted)] for events in told)
    assert len(second) > len(first) > 0
    assert second[: len(first)] == first
    assert [r.limit for r in made.rounds] == second
    assert made.seconds <= 40.0


def test_the_release_says_what_was_allowed() -> None:
    settings: dict[str, Any] = {"rho": 1, "workload": "all-2way", "progress": False, "seed": 1}
    made = understudy.synthesize(table(60), schema(), max_size="auto", time_limit="1m", memory="2GB", **settings)
    manifest = made.manifest
    assert manifest.mechanism.options["capacity"] == "auto"
    assert manifest.mechanism.options["time_limit"] == 60
    assert all(r.limit is not None and 0 < r.limit <= manifest.mechanism.options["max_size"] for r in manifest.rounds)
