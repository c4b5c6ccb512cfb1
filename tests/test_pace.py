"""A time limit is for the whole run, and how long it takes to read decides nothing. On a clock that only work moves."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from understudy.domain import Clique, Domain
from understudy.mechanism import Event, Outcome, capacity, mechanism, pace
from understudy.mechanism.calibration import Rates
from understudy.mechanism.candidates import units
from understudy.mechanism.forecast import table_seconds
from understudy.model import fit
from understudy.privacy import Budget, Door, ResearchNoise
from understudy.privacy.questions import choice
from understudy.privacy.scoring import scores
from understudy.privacy.stopwatch import Stopwatch
from understudy.source import MemorySource
from understudy.workload import Workload

SMALL = Domain.of({"a": 2, "b": 3, "c": 4, "d": 2})
TWO_WAY = Workload.all_kway(SMALL, 2)
ROWS = 300
RATES = Rates(clique=1e-4, byte=1e-10, marginal=5e-5, look=3e-8, value=5e-8)
FIT, STEPS, JUDGING = 1.0, 10, 0.25
"""Each fit takes a second, and says that it took ten steps; judging all candidates takes a quarter."""


class Time:
    """A clock that stands still unless something is done."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def fit(self, *arguments: Any, **options: Any) -> Any:
        self.now += FIT
        return replace(fit(*arguments, **{**options, "max_iterations": 10}), iterations=STEPS, seconds=FIT)


class Slow:
    """A source that takes some seconds to count."""

    def __init__(self, time: Time, seconds: float) -> None:
        rng = np.random.default_rng(0)
        first = rng.integers(0, 2, ROWS)
        codes = [
            first,
            (first + rng.integers(0, 2, ROWS)) % 3,
            2 * first + rng.integers(0, 2, ROWS),
            rng.integers(0, 2, ROWS),
        ]
        self._source, self.domain = MemorySource.of_codes(np.column_stack(codes), SMALL), SMALL
        self._time, self._seconds = time, seconds

    def count(self, cliques: Sequence[Clique]) -> list[NDArray[np.int64]]:
        self._time.now += self._seconds
        return self._source.count(cliques)


class Noise(ResearchNoise):
    """Takes some seconds to draw a choice."""

    def __init__(self, time: Time, seconds: float) -> None:
        super().__init__(1)
        self._time, self._seconds = time, seconds

    def select(self, scores: Any, scale: float) -> int:
        self._time.now += self._seconds
        return super().select(scores, scale)


def run(limit: float | None, *, counting: float = 0.0, drawing: float = 0.0, **options: Any) -> tuple[Outcome, list[Event]]:
    time, events = Time(), []
    door = Door(Slow(time, counting), Budget.of(rho=8), noise=Noise(time, drawing))
    how = mechanism("aim", time_limit=limit, **options)

    def judged(*arguments: Any) -> Any:
        time.now += JUDGING
        return scores(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(choice, "scores", judged)
        return how.run(door, TWO_WAY, estimator=time.fit, clock=time, on_event=events.append), events


@pytest.fixture(autouse=True)
def calibrated(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that is known: this clock stands still while it is measured."""
    monkeypatch.setattr(pace, "measured", lambda clock: RATES)


@pytest.fixture
def free() -> float:
    """How long a run takes that nobody hurries."""
    return run(None)[0].seconds


@pytest.mark.promise(10)
@pytest.mark.parametrize("counting", [3.0, 10_000.0])
def test_how_long_counting_takes_decides_nothing(counting: float, free: float) -> None:
    """Every pass takes so many seconds more, which would be more than the limit allows."""
    limit = 0.6 * free + room()
    (one, first), (two, second) = run(limit), run(limit, counting=counting)
    assert one.ended == "time"
    assert len(one.rounds) > 1
    assert first == second
    assert [r.clique for r in one.rounds] == [r.clique for r in two.rounds]


@pytest.mark.promise(10)
def test_how_long_counting_takes_does_not_decide_how_large_the_model_grows(
    free: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a machine so slow that each byte of a model counts."""
    monkeypatch.setattr(capacity, "SMALL", 100)
    monkeypatch.setattr(pace, "measured", lambda clock: replace(RATES, byte=1e-3))
    limit = 2 * (free + room())
    (one, _), (two, _) = (run(limit, counting=counting, capacity="auto") for counting in (0.0, 3.0))
    assert len({r.limit for r in one.rounds}) > 3
    assert [(r.clique, r.limit) for r in one.rounds] == [(r.clique, r.limit) for r in two.rounds]


@pytest.mark.promise(10)
def test_how_long_a_choice_takes_to_draw_decides_nothing(free: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """That depends on the exact scores: where one is far above the rest, it takes many times as long."""
    limit = 0.6 * free + room()
    (one, first), (two, second) = run(limit), run(limit, drawing=3.0)
    assert one.ended == "time"
    assert first == second
    monkeypatch.setattr(capacity, "SMALL", 100)
    monkeypatch.setattr(pace, "measured", lambda clock: replace(RATES, byte=1e-3))
    (one, _), (two, _) = (run(2 * (free + room()), drawing=drawing, capacity="auto") for drawing in (0.0, 3.0))
    assert [(r.clique, r.limit) for r in one.rounds] == [(r.clique, r.limit) for r in two.rounds]


def room() -> float:
    """What is left, on this clock, for what comes after the rounds."""
    looked_at = 3 * units(len(TWO_WAY.closure), TWO_WAY.cells)  # by the check, and twice for bounds
    unit = JUDGING / units(len(TWO_WAY.closure), TWO_WAY.cells)
    drawing = pace.TABLE_MARGIN * table_seconds(TWO_WAY, ROWS, RATES)
    return pace.STEPS * FIT / STEPS + pace.MARGIN * unit * looked_at + drawing + pace.REST


def test_time_is_left_for_what_comes_after_the_rounds(free: float) -> None:
    limit = 0.6 * free + room()
    hurried, _ = run(limit)
    assert len(hurried.rounds) > 1
    assert hurried.seconds - FIT <= limit - room()  # the last fit is a part of what comes after
    assert hurried.ended == "time"


def test_a_limit_that_what_comes_after_alone_would_take_ends_at_once() -> None:
    assert len(run(0.9 * room())[0].rounds) == 1


PARTS = ("STEPS", "MARGIN", "TABLE_MARGIN", "REST")


@pytest.mark.parametrize("part", PARTS)
def test_each_part_of_the_forecast_counts(part: str, free: float, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PARTS:
        monkeypatch.setattr(pace, name, 0.0)
    assert run(1.1 * free)[0].ended == "budget"
    monkeypatch.setattr(pace, part, 1e9)
    assert run(1.1 * free)[0].ended == "time"


def test_a_large_model_takes_longer_for_each_byte_when_it_is_finished(free: float, monkeypatch: pytest.MonkeyPatch) -> None:
    limit = 1.1 * free + room()
    assert run(limit)[0].ended == "budget"
    monkeypatch.setattr(pace, "LARGER", 1e-9)
    assert run(limit)[0].ended == "time"


def test_a_stopwatch_stands_still_also_when_what_is_done_meanwhile_fails() -> None:
    time = Time()
    watch = Stopwatch(time)
    time.now = 5.0
    with suppress(KeyError), watch.still():
        time.now = 9.0
        raise KeyError
    assert watch() == 5.0
    time.now = 10.0
    assert watch() == 6.0
