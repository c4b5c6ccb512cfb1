"""Kill -9 at random moments, own children only: nothing that was drawn is under-counted, and nothing is spent twice."""

from __future__ import annotations

import json
import multiprocessing
import time
from fractions import Fraction
from multiprocessing.context import ForkServerContext
from pathlib import Path

import numpy as np
import pytest

import understudy
from understudy.ledger import Ledger, Run
from understudy.privacy import Budget

from .victims import RHO, marked_run, race

Marks = list[list[str]]
PER_LEDGER = 4
PATIENCE = 600
"""Seconds, on a machine that has other things to do."""


@pytest.fixture(scope="module")
def context() -> ForkServerContext:
    """Children that have everything imported already, so that kills hit the run and not the imports."""
    made = multiprocessing.get_context("forkserver")
    made.set_forkserver_preload(["ledger.victims", "understudy.report"])
    return made


@pytest.mark.promise(23)
@pytest.mark.parametrize("own", [False, True], ids=["shared ledger", "own ledger"])
def test_a_few_kills(tmp_path: Path, context: ForkServerContext, own: bool) -> None:
    kill_many(tmp_path, context, kills=6, seed=1 + own, own=own)


@pytest.mark.promise(23)
@pytest.mark.audit
def test_two_hundred_kills(tmp_path: Path, context: ForkServerContext) -> None:
    tally = kill_many(tmp_path, context, kills=160, seed=5, own=False)
    tally += kill_many(tmp_path / "own", context, kills=40, seed=6, own=True)
    assert tally["kills"] == 200
    assert tally["after an answer"] >= 60  # most kills fall into the middle of a run
    assert tally["finished"] >= 20
    print(dict(tally))


class Tally(dict[str, int]):
    def __add__(self, other: dict[str, int]) -> Tally:
        return Tally({name: self.get(name, 0) + other.get(name, 0) for name in {**self, **other}})


def kill_many(folder: Path, context: ForkServerContext, *, kills: int, seed: int, own: bool) -> Tally:
    """Start runs, kill them at seeded moments, check, resume them, kill them again; until enough were killed."""
    folder.mkdir(exist_ok=True)
    write_table(folder)
    rng = np.random.default_rng(seed)
    tally = Tally({"kills": 0, "after an answer": 0, "finished": 0})
    turn, took = 0, 0.0
    while tally["kills"] < kills or turn == 0:
        victim = Victim(folder, turn, own)
        turn += 1
        while victim.go(context, None if not took else float(rng.uniform(0, 1.1) * took)):
            tally["kills"] += 1
            tally["after an answer"] += any(kind == "saw" for kind, _ in victim.marks())
            victim.check_killed()
            if victim.over():
                break
            if tally["kills"] >= kills:
                victim.go(context, None)
                break
        took = took or victim.seconds
        victim.check_finished()
        tally["finished"] += 1
    return tally


def write_table(folder: Path) -> None:
    rng = np.random.default_rng(0)
    first = rng.integers(0, 2, 300)
    table = {"a": first, "b": first + rng.integers(0, 3, 300), "c": rng.integers(0, 2, 300)}
    (folder / "table.json").write_text(json.dumps({name: column.tolist() for name, column in table.items()}))


class Victim:
    """One run, through all its lives."""

    def __init__(self, folder: Path, turn: int, own: bool) -> None:
        self.folder, self.out = folder, folder / f"out{turn}"
        self.own, self.seconds = own, 0.0
        self.ledger = Ledger(f"{self.out}.ledger" if own else folder / f"{turn // PER_LEDGER}.ledger")
        self.others = set() if own else self._names()
        if not own and not self.ledger.path.exists():
            Ledger.create(self.ledger.path).declare("people", Budget.of(rho=RHO * PER_LEDGER))

    def _names(self) -> set[str]:
        return {run.name for run in self.ledger.state().runs} if self.ledger.path.exists() else set()

    def run(self) -> Run | None:
        if not self.ledger.path.exists() or not self.ledger.path.stat().st_size:
            return None
        mine = [run for run in self.ledger.state().runs if run.name not in self.others]
        assert len(mine) <= 1
        return mine[0] if mine else None

    def over(self) -> bool:
        """Whether the kill came after the end: the release saved, and its run settled."""
        run = self.run()
        return self.out.exists() and (run is None or run.state == "finished")

    def marks(self) -> Marks:
        path = Path(f"{self.out}.marks")
        lines = path.read_text().splitlines() if path.exists() else []
        return [json.loads(line) for line in lines if line.endswith("]")]

    def go(self, context: ForkServerContext, delay: float | None) -> bool:
        """Start the run or go on with it; kill it after ``delay``. Return whether it was killed before it was done."""
        before, known = len(self.marks()), self.run()
        ledger = "" if self.own else str(self.ledger.path)
        resume = known is not None and known.state != "finished"
        child = context.Process(target=marked_run, args=(str(self.folder), ledger, str(self.out), resume))
        child.start()
        deadline = time.monotonic() + PATIENCE
        while len(self.marks()) == before:
            assert child.is_alive() or len(self.marks()) > before
            assert time.monotonic() < deadline
            time.sleep(0.002)
        began = time.monotonic()
        child.join(delay)
        if delay is not None and child.is_alive():
            child.kill()
        child.join(PATIENCE)
        self.seconds = time.monotonic() - began
        assert child.exitcode in (0, -9)
        return child.exitcode == -9

    def check_killed(self) -> None:
        """The ledger is whole; what was drawn is counted; what was seen is on record."""
        run, lives = self.run(), self.lives()
        if run is None:
            assert not any(kind in ("draws", "saw") for life in lives for kind, _ in life) or self.out.exists()
            return
        verdict = self.ledger.verify()
        assert verdict.sound, verdict.problems
        digests = [item.digest for item in run.items if item.kind == "charged"]
        for life in lives:
            seen = [digest for kind, digest in life if kind == "saw"]
            assert seen == digests[: len(seen)]  # everybody who saw an answer saw the one on record
        if any(kind == "draws" for life in lives for kind, _ in life):
            assert run.counts == run.budget == Fraction(RHO) or run.state == "finished"
        assert run.charged <= run.counts

    def lives(self) -> list[Marks]:
        """The marks of each child, one after another."""
        found: list[Marks] = []
        for mark in self.marks():
            if mark[0] == "began":
                found.append([])
            found[-1].append(mark)
        return found

    def check_finished(self) -> None:
        """The release is whole, its spend is its run's, and every life saw the same answers."""
        release = understudy.load(self.out)
        lives = [[digest for kind, digest in life if kind == "saw"] for life in self.lives()]
        whole = max(lives, key=len)
        assert all(life == whole[: len(life)] for life in lives)
        assert len(whole) == len(release.spend)
        assert len(release.measurements) == sum(charge.purpose.startswith("measure") for charge in release.spend)
        assert release.private
        assert Fraction(RHO) * (1 - Fraction(1, 10**9)) < release.spent <= Fraction(RHO)
        run = self.run()
        if self.own and run is None:
            assert not self.ledger.path.exists()
            return
        assert run is not None  # a run's own ledger is still there when the kill came just before its removal
        assert (run.name, run.state) == (release.manifest.run, "finished")
        assert [(c.purpose, c.rho) for c in run.charges] == [(c.purpose, c.rho) for c in release.spend]
        assert run.counts == run.charged == release.spent
        if self.own:
            assert self.over()
            assert release.manifest.ledger is None
            return
        assert release.manifest.ledger is not None
        assert self.ledger.verify(release.manifest.ledger.head).sound


@pytest.mark.promise(23)
def test_two_race_a_hundred_times_and_one_wins(tmp_path: Path, context: ForkServerContext) -> None:
    turns = 100
    ledger = Ledger.create(tmp_path / "budget.ledger")
    for turn in range(turns):
        ledger.declare(f"d{turn}", Budget.of(rho=Fraction(3, 2)))
    barrier = context.Barrier(2)
    results = [tmp_path / f"{who}.json" for who in (0, 1)]
    racers = [context.Process(target=race, args=(str(ledger.path), turns, barrier, str(result))) for result in results]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join(PATIENCE)
        assert racer.exitcode == 0
    one, two = (json.loads(result.read_text()) for result in results)
    assert [a + b for a, b in zip(one, two, strict=True)] == [1] * turns
    assert all(len(dataset.runs) == 1 for dataset in ledger.state().datasets)
    assert ledger.verify().sound
