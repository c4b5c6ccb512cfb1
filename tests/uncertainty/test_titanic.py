"""The whole way on a real table: door, AIM, synthetic rows, workload error and bounds."""

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from understudy.domain import Domain
from understudy.mechanism import mechanism
from understudy.metrics import subsampling_fraction, workload_error
from understudy.privacy import Budget, Door, ResearchNoise
from understudy.source import MemorySource
from understudy.uncertainty import Evidence, TableMarginals, bounds
from understudy.workload import Workload

DATA = Path(__file__).parents[3] / "shared" / "datasets"


@pytest.mark.statistical
@pytest.mark.skipif(not (DATA / "titanic.parquet").exists(), reason="the shared datasets are not here")
def test_titanic_from_door_to_bounds() -> None:
    """Seeded, so it repeats. The error is about 0.60 on average and below 0.75 in every run seen."""
    domain = Domain.of(json.loads((DATA / "titanic-domain.json").read_text()))
    table = pq.read_table(DATA / "titanic.parquet")
    source = MemorySource.of_codes(np.column_stack([table[a].to_numpy() for a in domain]), domain)
    workload = Workload.all_kway(domain, 3)
    aim = mechanism("aim")
    door = Door(source, Budget.of(epsilon=1, delta=1e-9), noise=ResearchNoise(0), expect=aim.expects(workload))
    outcome = aim.run(door, workload)
    assert outcome.model is not None
    rows = outcome.draw(np.random.default_rng(0))
    synthetic = TableMarginals(domain, rows)
    real = source.count(workload.cliques)
    error = workload_error(workload, real, synthetic.marginals(workload.cliques))
    assert error < 0.75
    assert 0.02 < subsampling_fraction(workload, real, error).fraction < 0.3
    truth = dict(zip(workload.closure, source.count(workload.closure), strict=True))
    made = bounds(Evidence.of(outcome), synthetic)
    assert set(made) == set(workload.closure)
    failed = [np.abs(truth[r] - synthetic.marginal(r)).sum() > bound.value for r, bound in made.items()]
    assert np.mean(failed) <= 0.05
