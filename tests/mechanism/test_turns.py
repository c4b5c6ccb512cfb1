"""Where pairs take turns: how many are chosen at a time, when the noise is halved, and when nothing is left to find."""

from fractions import Fraction
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from understudy.domain import Domain
from understudy.mechanism import AimConfig, aim, mechanism, pool
from understudy.mechanism.events import Event, Selected
from understudy.mechanism.pool import LIGHT, Pool
from understudy.mechanism.turns import GROWTH, Rounds, Seen, Turns, by_chance
from understudy.privacy import Budget, Door, ResearchNoise
from understudy.source import MemorySource
from understudy.workload import Workload

from .test_aim import Replay

MANY = Domain.of({f"x{i:02}": 2 + i % 3 for i in range(40)})
STRONG, BY_CHANCE, NOISE = (
    Seen(("x00", "x01"), change, noise, 10.0) for change, noise in ((50.0, 5.0), (12.0, 5.0), (30.0, 30.0))
)
ENOUGH = 1e9


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> Pool:
    """Pairs of 5 attributes have their turn at a time."""
    monkeypatch.setattr(pool, "LISTED", 100)
    monkeypatch.setattr(pool, "PAIRS", 200)
    return Pool(Workload.all_kway(MANY, 2), AimConfig())


def rounds(*seen: Seen, annealed: bool = False) -> Rounds:
    return Rounds(SimpleNamespace(), annealed, seen)  # type: ignore[arg-type]


def swept(turns: Turns, *seen: Seen) -> bool:
    """Play a sweep in which the same is seen each time."""
    answers = []
    while not turns.over:
        answers.append(turns.ended(rounds(*seen), len(seen), ENOUGH))
    assert not any(answers)
    return turns.ended(rounds(*seen, annealed=True), len(seen), ENOUGH)


def test_chance_is_what_samples_are_off_by() -> None:
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.ones(12))
    drawn = rng.multinomial(10_000, shares, size=2_000)
    assert by_chance(10_000 * shares) == pytest.approx(np.abs(drawn - 10_000 * shares).sum(axis=1).mean(), rel=0.1)
    assert by_chance(np.array([-1.0, 0.0])) == 0


def test_a_sweep_looks_at_every_pair_and_chooses_for_every_attribute(wide: Pool) -> None:
    assert wide.sweep == 8
    assert [Turns(wide, together)._length for together in (2, 20)] == [20, 8]


def test_as_many_are_chosen_as_stand_out_twice_over(wide: Pool) -> None:
    turns = Turns(wide, 8)
    told = []
    for seen in ([STRONG] * 8, [STRONG] * 3 + [BY_CHANCE] * 5, [NOISE] * 6, [STRONG] * 2, [STRONG] * 4):
        turns.ended(rounds(*seen), len(seen), ENOUGH)
        told.append(turns.number)
    assert told == [8, 6, 2, 4, 8]
    assert turns.found == [("x00", "x01")]


def test_a_narrow_table_is_played_as_printed() -> None:
    turns = Turns(Pool(Workload.all_kway(MANY, 2), AimConfig()), 1)
    for _ in range(100):
        assert not turns.over
        assert not turns.ended(rounds(NOISE, annealed=True), 1, 0.0)
        assert turns.number == 1
    assert turns.within(10**9, 0) == 10**9
    assert turns.found == []


def test_without_annealing_nothing_ends_early(wide: Pool) -> None:
    assert not Turns(Pool(Workload.all_kway(MANY, 2), AimConfig(adaptive=False)), 1).sweeps
    assert Turns(wide, 1).sweeps


@pytest.mark.parametrize(
    ("seen", "nothing"),
    [
        ([BY_CHANCE] * 10, True),
        ([STRONG] + [BY_CHANCE] * 9, True),
        ([STRONG] * 2 + [BY_CHANCE] * 8, False),
        ([NOISE] * 10, False),  # something may be hidden
        ([NOISE] * 5 + [BY_CHANCE] * 5, True),
        ([NOISE] * 6 + [BY_CHANCE] * 4, False),
    ],
)
def test_nothing_is_left_to_find_when_a_sweep_shows_what_chance_does(wide: Pool, seen: list[Seen], nothing: bool) -> None:
    assert swept(Turns(wide, 10), *seen) is nothing


def test_what_an_earlier_sweep_showed_does_not_count(wide: Pool) -> None:
    turns = Turns(wide, 10)
    assert not swept(turns, *[STRONG] * 10)
    assert swept(turns, *[BY_CHANCE] * 10)


def test_half_a_sweep_ends_nothing_but_the_noise_is_not_halved_for_a_few_rounds(wide: Pool) -> None:
    turns = Turns(wide, 10)
    assert not turns.ended(rounds(*[BY_CHANCE] * 10, annealed=True), 10, 20.0)
    assert turns.ended(rounds(*[BY_CHANCE] * 10, annealed=True), 10, 19.9)
    assert not turns.ended(rounds(*[BY_CHANCE] * 10), 10, 19.9)


def test_the_model_grows_slowly_in_the_first_sweep(wide: Pool) -> None:
    turns, most = Turns(wide, 10), 100 * LIGHT
    assert turns.within(most, 0) == LIGHT // 8
    assert turns.within(most, LIGHT // 2) == GROWTH * LIGHT // 2
    assert turns.within(most, 50 * LIGHT) == GROWTH * LIGHT
    assert turns.within(100, 50 * LIGHT) == 100
    swept(turns, STRONG)
    assert turns.within(most, 0) == most


def test_there_is_room_for_pairs_of_large_columns_in_the_first_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "LISTED", 100)
    monkeypatch.setattr(pool, "PAIRS", 200)
    large = Domain.of({f"x{i:02}": 200 for i in range(40)})
    turns = Turns(Pool(Workload.all_kway(large, 2), AimConfig()), 2)
    assert turns.within(10**9, 10**8) == 8 * 40 * 200**2


def planted(rows: int) -> np.ndarray:
    """Every fourth column is a copy of the one before it, most of the time."""
    rng = np.random.default_rng(3)
    codes = np.column_stack([rng.integers(0, size, rows) for size in MANY.sizes])
    for i in range(3, 40, 4):
        codes[:, i] = np.where(rng.random(rows) < 0.7, codes[:, i - 1] % MANY.sizes[i], codes[:, i])
    return codes


@pytest.mark.parametrize("name", ["aim", "aim2"])
def test_a_run_ends_when_all_is_found_and_spends_the_rest_on_what_was(
    wide: Pool, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """With so much budget a run as printed goes on for hundreds of rounds; this one finds what there is, and stops."""
    monkeypatch.setattr(aim, "together", lambda pool: 5)
    door = Door(MemorySource.of_codes(planted(4_000), MANY), Budget.of(rho=3), noise=ResearchNoise(1))
    told: list[Event] = []
    outcome = mechanism(name).run(door, Workload.all_kway(MANY, 2), on_event=told.append)
    pairs = {pair for i, pair in enumerate(pairwise(MANY)) if i % 4 == 2}
    in_rounds = 40 + len(outcome.rounds)
    again = [m.clique for m in outcome.measurements[in_rounds:]]
    assert pairs <= {r.clique for r in outcome.rounds} | {m.clique for m in outcome.measurements}
    assert again[:40] == [(a,) for a in MANY]
    assert pairs <= set(again) <= {m.clique for m in outcome.measurements[:in_rounds]}
    assert not outcome.rounds[-1].final
    assert len(outcome.rounds) < 160
    assert outcome.spent <= door.filter.rho
    assert float(outcome.spent / door.filter.rho) == pytest.approx(1.0)
    costs = {m.clique: m.rho / Fraction(m.values.size ** (2 / 3)) for m in outcome.measurements[in_rounds:]}
    assert max(costs.values()) == pytest.approx(min(costs.values()), rel=1e-6)
    replayed: list[Event] = []
    mechanism(name).run(Replay(door, outcome), Workload.all_kway(MANY, 2), on_event=replayed.append)  # type: ignore[arg-type]
    assert [e for e in replayed if isinstance(e, Selected)] == [e for e in told if isinstance(e, Selected)]
