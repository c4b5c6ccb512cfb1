"""Why a table loses: the error of a run split into noise, structure and generation.

The run is played as it is. Then a model is fitted to exact answers on the marginals that it measured: what that one errs by
is the fault of what was measured (structure), whatever the noise. The model's own error beyond that is noise, the synthetic
table's beyond the model's is generation. A cell is that of ``aim2.py``:

    python benchmarks/split.py adult all-3way 1 201 aim2

Not private: reads exact counts of public research tables.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np

from aim2 import DELTA, options_of
from tables import Table
from understudy.mechanism import Outcome, mechanism
from understudy.mechanism.estimators import PGM
from understudy.metrics import workload_error
from understudy.model import Model, Observation
from understudy.privacy import Budget, Door, ResearchNoise
from understudy.source import MemorySource
from understudy.workload import Workload


def split(table: Table, workload: Workload, outcome: Outcome, seed: int) -> dict[str, float]:
    """Return the errors of the synthetic table, of the model, and of a model without noise on the same marginals."""
    assert outcome.model is not None
    cliques = list(dict.fromkeys(m.clique for m in outcome.measurements))
    real, counted = table.source.count(workload.cliques), table.source.count(cliques)
    exact = [Observation(r, counts.astype(np.float64), 1.0) for r, counts in zip(cliques, counted, strict=True)]
    made = MemorySource.of_codes(outcome.draw(np.random.default_rng(seed)), table.domain)

    def off(model: Model) -> float:
        return workload_error(workload, real, model.marginals(workload.cliques))

    return {
        "table": workload_error(workload, real, made.count(workload.cliques)),
        "model": off(outcome.model),
        "structure": off(PGM.at_the_end(table.domain, exact, start=outcome.model).model),
    }


def run_cell(name: str, workload_name: str, epsilon: str, seed: str, how: str) -> dict[str, Any]:
    """Play one cell and split its error."""
    table = Table.load(name)
    workload = table.workload(workload_name)
    used_name, options = options_of(how)
    used = mechanism(used_name, **options)
    noise, budget = ResearchNoise(int(seed)), Budget.of(epsilon=float(epsilon), delta=DELTA)
    cpu = time.process_time()
    outcome = used.run(Door(table.source, budget, noise=noise, expect=used.expects(workload)), workload)
    cpu = time.process_time() - cpu
    assert outcome.model is not None
    about = {"rounds": len(outcome.rounds), "tree_mb": outcome.model.size / 2**20, "cpu_seconds": cpu}
    return split(table, workload, outcome, int(seed)) | about


if __name__ == "__main__":
    print(json.dumps(run_cell(*sys.argv[1:6])))
