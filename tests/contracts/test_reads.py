"""No registered mechanism reads a count but inside a question to the door, on a table where marginals drown in the noise."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from understudy.domain import Domain
from understudy.mechanism import mechanism
from understudy.mechanism.public import Public
from understudy.model import fit
from understudy.privacy import Budget, Door, ResearchNoise
from understudy.source import MemorySource
from understudy.workload import Workload

from .mechanisms import informed, registered

DOMAIN = Domain.of({"a": 12, "b": 10, "c": 8, "d": 3})
ROWS = 1_000


CASES = [*((name, False) for name in registered()), *((name, True) for name in informed())]


@pytest.mark.promise(10)
@pytest.mark.parametrize(("name", "beside"), CASES, ids=[name + " beside public data" * beside for name, beside in CASES])
def test_counts_are_read_inside_a_question_alone(name: str, beside: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    codes = np.random.default_rng(0).integers(0, 12, (ROWS, 1)) % np.array(
        DOMAIN.sizes
    )  # each column follows from the first
    public = Public(MemorySource.of_codes(codes[: ROWS // 2], DOMAIN)) if beside else None
    door = Door(MemorySource.of_codes(codes, DOMAIN), Budget.of(rho=0.05), noise=ResearchNoise(0))
    asking, ask, read = [False], Door.ask, door._read

    def asked(self: Door, question: Any) -> Any:
        asking[0] = True
        try:
            return ask(self, question)
        finally:
            asking[0] = False

    def watched(cliques: Any) -> Any:
        assert asking[0], "counts were read outside a question"
        return read(cliques)

    monkeypatch.setattr(Door, "ask", asked)
    door._read = watched
    mechanism(name).run(door, Workload.all_kway(DOMAIN, 3), estimator=partial(fit, max_iterations=25), public=public)
