"""What bounds rest on: not on choices that compared sums of cells."""

from __future__ import annotations

import numpy as np
import pytest

from understudy.domain import Domain
from understudy.mechanism import Aim
from understudy.privacy import Budget, Door, ResearchNoise
from understudy.source import MemorySource
from understudy.uncertainty import bounds
from understudy.uncertainty.evidence import Evidence
from understudy.workload import Workload


@pytest.mark.promise(37)
def test_no_bound_rests_on_a_choice_by_sums() -> None:
    """Theorem 2 compares scores of cells; of sums it says nothing."""
    domain, rng = Domain.of({"group": 4, "age": 16}), np.random.default_rng(1)
    source = MemorySource.of_codes(np.stack([rng.integers(0, 4, 500), rng.integers(0, 16, 500)], axis=1), domain)
    plain, asked = ["group", "age"], {"attributes": ["group", "age"], "prefixes": "age"}
    for query, some in ((plain, True), (asked, False)):
        done = Aim().run(Door(source, Budget.of(rho=0.02), noise=ResearchNoise(0)), Workload.of(domain, [query]))
        assert bool(Evidence.of(done).rounds) is some
        assert some or all(b.round is None for b in bounds(Evidence.of(done)).values())
