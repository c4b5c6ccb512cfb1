"""The contract of every registered mechanism: a run on a table and its replay on a neighbour are the same but for exact
numbers, and those move by no more than was paid for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from understudy.domain import Clique, Domain
from understudy.mechanism import Event, Mechanism, registry
from understudy.mechanism.public import Public
from understudy.model import fit
from understudy.privacy import Budget, Door, Unit
from understudy.schema import Schema
from understudy.source import Source, open_source, unopened
from understudy.workload import Workload

from .people import Row, arrow, schema
from .tape import Tape, differences, paid, timeless

RHO = Fraction(1, 2)
LINEAR = re.compile(r"measure \d+ sums? \(")
"""How the charge of a linear query begins."""
ESTIMATOR = partial(fit, max_iterations=25)
"""How well a model fits does not matter here, only that it fits in the same way."""


def registered() -> list[str]:
    """Name every mechanism that there is; a new one joins the contract by being registered."""
    return sorted(registry.MECHANISMS)


@dataclass
class Watched:
    """A source that remembers what it was asked for, in order."""

    source: Source
    asked: list[tuple[Clique, ...]] = field(default_factory=list)

    @property
    def domain(self) -> Domain:
        return self.source.domain

    def count(self, cliques: Sequence[Clique]) -> list[NDArray[np.int64]]:
        self.asked.append(tuple(cliques))
        return self.source.count(cliques)


@dataclass
class Seen:
    """All that a run shows to the world, exact numbers apart."""

    asked: list[tuple[Clique, ...]]
    events: list[Event]
    charges: list[tuple[Fraction, str]]
    error: str
    model: bytes

    def differs(self, other: Seen) -> list[str]:
        """Name the parts that differ."""
        return [name for name in self.__dataclass_fields__ if getattr(self, name) != getattr(other, name)]


def informed() -> list[str]:
    """Name every mechanism that can start from public data."""
    return [name for name in registered() if registry.mechanism(name).takes_public]


def play(
    data: Any,
    how: Mechanism,
    unit: Unit,
    tape: Tape,
    monkeypatch: pytest.MonkeyPatch,
    *,
    public: Any = None,
    declared: Schema | None = None,
) -> Seen:
    """Run a mechanism behind a door on which ``tape`` is the noise; an error is part of what is seen."""
    declared = declared or schema()
    known = None if public is None else Public(open_source(public, declared))
    fine = unopened(data, declared).fine
    source = Watched(open_source(data, declared))
    workload = Workload.all_kway(source.domain, 2)
    events: list[Event] = []
    error, model = "", b""
    with monkeypatch.context() as patch:
        tape.install(patch)
        door = Door(source, Budget.of(rho=RHO), unit=unit, expect=how.expects(workload), fine=fine)
        try:
            outcome = how.run(
                door,
                workload,
                on_event=lambda e: events.append(timeless(e)),
                estimator=ESTIMATOR,
                public=known,
                gaps=declared.gaps,
            )
        except AssertionError:
            raise
        except Exception as problem:
            error = f"{type(problem).__name__}: {problem}"
        else:
            model = b"" if outcome.model is None else _bytes(outcome.model.marginals(workload.cliques))
    return Seen(source.asked, events, [(c.rho, c.purpose) for c in door.filter.charges], error, model)


def _bytes(marginals: Sequence[NDArray[np.float64]]) -> bytes:
    return b"".join(m.tobytes() for m in marginals)


def violations(
    name: str,
    pair: Any,
    monkeypatch: pytest.MonkeyPatch,
    make: Any = arrow,
    *,
    public: Any = None,
    declared: Schema | None = None,
    **options: Any,
) -> list[str]:
    """Record on one table, replay on the other, and list what a stranger could tell them apart by."""
    how = registry.mechanism(name, **options)
    first = Tape(seed=7)
    recorded = play(make(pair.table), how, pair.unit, first, monkeypatch, public=public, declared=declared)
    again = Tape(seed=7, frozen=first.draws)
    replayed = play(make(pair.other), how, pair.unit, again, monkeypatch, public=public, declared=declared)
    amounts = [rho for rho, _ in recorded.charges]
    total = [] if sum(amounts) <= RHO else ["more was spent than the budget"]
    linear = [at for at, (_, purpose) in enumerate(recorded.charges, start=1) if LINEAR.match(purpose)]
    return [*total, *recorded.differs(replayed), *differences(first.draws, again.draws, amounts, pair.unit, linear)]


__all__ = ["Row", "Seen", "Watched", "informed", "paid", "play", "registered", "violations"]
