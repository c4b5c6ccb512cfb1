"""A small table, a run on it, and ways to stop it: what the tests of the ledger share. The table is made up."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique
from understudy.ledger import Ledger, RunJournal
from understudy.mechanism import MECHANISMS, Event, Measured, Outcome, Selected, mechanism
from understudy.model import fit
from understudy.privacy import Budget, Door
from understudy.schema import Schema
from understudy.source import Source, open_source
from understudy.workload import Workload

SCHEMA = Schema.from_domain({"a": 3, "b": 4, "c": 2})
WORKLOAD = Workload.all_kway(SCHEMA.domain, 2)
BUDGET = Budget.of(rho=1)
FACTS = {"mechanism": "aim", "rounds": 6}
QUICK = partial(fit, max_iterations=15)


def source() -> Source:
    rng = np.random.default_rng(3)
    first = rng.integers(0, 2, 300)
    codes = np.column_stack([first, first + rng.integers(0, 2, 300), rng.integers(0, 2, 300)])
    return open_source(codes.astype(np.int32), SCHEMA)


def fresh(folder: Path, cap: Budget | None = None, dataset: str = "people") -> Ledger:
    ledger = Ledger.create(folder / "budget.ledger")
    ledger.declare(dataset, cap or Budget.of(rho=2))
    return ledger


class Stop(Exception):
    pass


def stopping_after(answers: int) -> Callable[[Event], None]:
    """A listener that fails once it has seen so many answers."""
    seen = 0

    def listen(event: Event) -> None:
        nonlocal seen
        seen += isinstance(event, Measured | Selected)
        if seen == answers:
            raise Stop

    return listen


def play(log: RunJournal, on_event: Callable[[Event], None] | None = None, *, data: Any = None, **options: Any) -> Outcome:
    """Run AIM through a door that writes to ``log``: as many rounds as are asked for, unless it is to adapt to the noise."""
    noise = options.pop("noise", None)
    door = Door(source() if data is None else data, BUDGET, journal=log, noise=noise)
    name, asked = options.pop("name", "aim"), {"rounds": 6, "adaptive": False, **options}
    how = mechanism(name, **{option: value for option, value in asked.items() if option in MECHANISMS[name].takes})
    return how.run(door, WORKLOAD, on_event=on_event, estimator=QUICK)


def stopped(ledger: Ledger, answers: int, *, settle: bool = True, **options: Any) -> str:
    """Leave a run behind that saw so many answers, settled or as if killed; return its name."""
    log = ledger.begin("people", BUDGET, FACTS)
    try:
        play(log, stopping_after(answers), **options)
    except Stop:
        if settle:
            log.stop(log.charged)
        return log.run
    raise AssertionError("the run was over before it could be stopped")


class Watched:
    """A source that calls ``look`` whenever it is about to count."""

    def __init__(self, look: Callable[[], None]) -> None:
        self._source, self._look = source(), look
        self.domain = self._source.domain

    def count(self, cliques: list[Clique]) -> list[NDArray[np.int64]]:
        self._look()
        return self._source.count(cliques)
