"""Rounds of AIM on mbi 2.0's inference, timed, in its own environment: prints a JSON line. Run by ``benchmarks/aim.py``.

Replays rounds that were recorded: for each, fit a model to everything measured so far (mirror descent, mbi's default
number of steps, warm from the round before), then ask the model for every candidate's marginal, as selection needs.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import jax

jax.config.update("jax_enable_x64", True)

import mbi  # noqa: E402
import numpy as np  # noqa: E402


def main(folder: str, limit: float) -> None:
    with open(f"{folder}/rounds.json") as file:
        recorded = json.load(file)
    arrays = np.load(f"{folder}/values.npz")
    domain = mbi.Domain(tuple(recorded["domain"]), tuple(recorded["domain"].values()))
    given: list[Any] = []
    for one in recorded["initial"]:
        given.append(mbi.LinearMeasurement(arrays[one["array"]].ravel(), tuple(one["clique"]), stddev=one["sigma"]))
    model, began, rounds = None, time.perf_counter(), []
    for one in recorded["rounds"]:
        start = time.perf_counter()
        model = mbi.estimation.MirrorDescent().estimate(domain, given, known_total=recorded["total"], warm_start=model)
        jax.block_until_ready(model.potentials)
        fitted = time.perf_counter()
        for clique in one["candidates"]:
            np.asarray(model.project(tuple(clique)).datavector())
        rounds.append({"fit": fitted - start, "score": time.perf_counter() - fitted, "candidates": len(one["candidates"])})
        given.append(mbi.LinearMeasurement(arrays[one["array"]].ravel(), tuple(one["clique"]), stddev=one["sigma"]))
        if time.perf_counter() - began > limit:
            break
    print(json.dumps({"rounds": rounds, "seconds": time.perf_counter() - began}))


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
