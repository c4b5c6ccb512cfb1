"""The same seed gives the same digits, whatever the process; numbers that went wrong on the way are refused, not scaled."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from understudy.domain import Domain
from understudy.errors import InternalError
from understudy.model import GraphicalModel
from understudy.model.engine.on_numpy import answers
from understudy.model.engine.on_numpy.pieces import Piece

from .small import subsets

ROOT = Path(__file__).parents[2]

SEEDED = """
import hashlib, os, sys
import numpy as np, understudy
from understudy import example
from understudy.model.engine.on_numpy import answers
if sys.argv[1] == "one":
    os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
answers.THREADED_ABOVE = 0
made = understudy.synthesize(
    example.people(300), example.schema(), epsilon=5.0, workload="all-2way", seed=3, progress=False
)
found = [made.model.marginals(made.workload.closure), [m.values for m in made.measurements], [made.codes]]
print(*(hashlib.sha256(b"".join(np.ascontiguousarray(a).tobytes() for a in part)).hexdigest() for part in found))
"""


@pytest.mark.audit
def test_a_seeded_run_is_the_same_whatever_the_hashes_the_cores_and_the_threads() -> None:
    """Two processes: the order of sets, the cores that share the questions, and the threads of BLAS all differ."""
    ours = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    environments = {
        "one": {**ours, "PYTHONHASHSEED": "1", "OPENBLAS_NUM_THREADS": "1"},
        "all": {**ours, "PYTHONHASHSEED": "2", "OPENBLAS_NUM_THREADS": "2"},
    }
    found = {
        subprocess.run([sys.executable, "-c", SEEDED, cores], env=one, capture_output=True, text=True, check=True).stdout
        for cores, one in environments.items()
    }
    assert len(found) == 1


@pytest.mark.parametrize("wrong", [np.nan, np.inf, 0.0, 3.0])
@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("largest", [1 << 25, 9])
def test_a_product_that_came_out_wrong_is_refused(
    wrong: float, precision: Literal["single", "double"], largest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scaled to the total, it would pass for a marginal: on the way to an answer (a message) and in the answer itself, also
    where messages of more cells are made value by value.
    """
    monkeypatch.setattr(answers, "LARGEST", largest)
    domain = Domain.of({f"x{i}": 3 for i in range(5)})
    rng = np.random.default_rng(2)
    parameters = {pair: rng.standard_normal((3, 3)) for pair in pairwise(domain)}
    honest, made, spoilt = answers.Answers._gather, 0, 0

    def gather(self: answers.Answers, i: int, towards: int, wanted: int, held: answers.Held) -> Piece:
        nonlocal made
        piece = honest(self, i, towards, wanted, held)
        made += 1
        if made == spoilt:
            piece.table[0] = wrong
        return piece

    monkeypatch.setattr(answers.Answers, "_gather", gather)
    GraphicalModel(domain, parameters, 10.0).marginals(subsets(domain), precision=precision)
    for number in range(1, made + 1):
        made, spoilt = 0, number
        with pytest.raises(InternalError, match="instead of 1"):
            GraphicalModel(domain, parameters, 10.0).marginals(subsets(domain), precision=precision)
