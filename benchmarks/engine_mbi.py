"""One estimation by mbi 2.0, timed, in its own environment: prints a JSON line. Run by ``benchmarks/engine.py``."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import jax

jax.config.update("jax_enable_x64", True)

import mbi  # noqa: E402
import numpy as np  # noqa: E402

import reference_sets  # noqa: E402


def main(name: str, steps: list[int]) -> None:
    sizes, measurements = reference_sets.read(name)
    merged = reference_sets.combined(measurements)
    mass = reference_sets.total(measurements)
    domain = mbi.Domain(tuple(sizes), tuple(sizes.values()))
    given = [mbi.LinearMeasurement(values.ravel(), clique, stddev=sigma) for clique, values, sigma in merged]

    def run(count: int) -> tuple[float, Any]:
        start = time.perf_counter()
        model = mbi.estimation.MirrorDescent().estimate(domain, given, known_total=mass, iters=count)
        jax.block_until_ready(model.potentials)
        return time.perf_counter() - start, model

    def loss(model: Any) -> float:
        gaps = [(np.asarray(model.project(c).datavector()) - v.ravel()) / s for c, v, s in merged]
        return float(sum((gap**2).sum() for gap in gaps) / 2)

    first, _ = run(50)
    again, _ = run(50)
    runs = []
    for count in steps:
        seconds, model = run(count)
        runs.append({"steps": count, "seconds": seconds, "loss": loss(model)})
    print(json.dumps({"compile": first - again, "runs": runs, "peak_mb": reference_sets.peak_mb()}))


if __name__ == "__main__":
    main(sys.argv[1], [int(count) for count in sys.argv[2:]])
