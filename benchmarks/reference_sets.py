"""The fixed measurement sets that the engine is timed on: noisy marginals of real tables, read from outside the project.

Plain NumPy, so that a peer's environment can read them too.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = ROOT.parent / "shared" / "reference"
DATASETS = ROOT.parent / "shared" / "datasets"


def read(name: str) -> tuple[dict[str, int], list[tuple[tuple[str, ...], Any, float]]]:
    """Return the domain and the measurements (attributes in domain order, values, sigma) of a set such as ``adult``."""
    described = json.loads((REFERENCE / f"{name}-eps1.json").read_text())
    arrays = np.load(REFERENCE / f"{name}-eps1.npz")
    order = list(described["domain"])
    found = []
    for one in described["measurements"]:
        attributes = one["attributes"]
        clique = tuple(sorted(attributes, key=order.index))
        values = arrays[one["array"]].transpose([attributes.index(a) for a in clique]).astype(np.float64)
        found.append((clique, values, float(one["sigma"])))
    return described["domain"], found


def combined(measurements: list[tuple[tuple[str, ...], Any, float]]) -> list[tuple[tuple[str, ...], Any, float]]:
    """Combine repeated marginals by inverse variance, as the loss of the reference figures does."""
    sums: dict[tuple[str, ...], tuple[Any, float]] = {}
    for clique, values, sigma in measurements:
        value, weight = sums.get(clique, (0.0, 0.0))
        sums[clique] = (value + values / sigma**2, weight + sigma**-2)
    return [(clique, value / weight, weight**-0.5) for clique, (value, weight) in sums.items()]


def total(measurements: list[tuple[tuple[str, ...], Any, float]]) -> float:
    """Return the inverse-variance mean of the sums."""
    weights = [1 / (values.size * sigma**2) for _, values, sigma in measurements]
    sums = [float(values.sum()) for _, values, _ in measurements]
    return sum(w * s for w, s in zip(weights, sums, strict=True)) / sum(weights)


def peak_mb() -> float:
    """Return the largest resident size of this process so far."""
    line = next(x for x in Path("/proc/self/status").read_text().splitlines() if x.startswith("VmHWM"))
    return int(line.split()[1]) / 1024
