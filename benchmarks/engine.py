"""The estimation engine beside mbi 2.0, on fixed measurements: ``make bench-engine``. Exits with 1 when a bar is missed.

Every timing runs in a process of its own, in turn; mbi in a virtual environment of its own (.venv-mbi, made here when
absent). Results go to benchmarks/results/engine.json.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import numpy as np

import reference_sets
from reference_sets import ROOT
from understudy.domain import Domain
from understudy.model import Dual, Fit, Observation, fit

PEER = ROOT / ".venv-mbi"
RESULTS = ROOT / "benchmarks" / "results" / "engine.json"
STEPS = {"adult": [1_000, 10_000], "salary": [1_000, 5_000], "fire": [1_000]}
FIRE_LOSS = 9_400.0
REACHING = Dual(smoothing=0.05, tolerance=1e-3)
"""Close enough to the optimum for every target below; a fit stops as soon as its target is reached."""
ABOUT = 1.2
"""What "about" allows in a bar stated in seconds."""


def observations(name: str) -> tuple[Domain, list[Observation]]:
    sizes, measurements = reference_sets.read(name)
    domain = Domain.of(sizes)
    return domain, [Observation(clique, values, sigma) for clique, values, sigma in measurements]


def fitted(name: str, target: float = 0.0) -> Fit:
    """Fit as usual; where that ends above the target, go on from there with less smoothing."""
    domain, given = observations(name)
    done = fit(domain, given, target_loss=target)
    if done.loss <= target or not target:
        return done
    more = fit(domain, given, target_loss=target, start=done.model, solver=REACHING)
    return replace(more, seconds=done.seconds + more.seconds, iterations=done.iterations + more.iterations)


def job_reach(name: str, target: str) -> dict[str, Any]:
    """Time to a loss, from nothing (infinite when it is not reached): the best of three, and the peak memory."""
    fits = [fitted(name, float(target)) for _ in range(3)]
    best = min(fits, key=lambda f: f.seconds)
    return {
        "seconds": best.seconds if best.loss <= float(target) else float("inf"),
        "loss": best.loss,
        "iterations": best.iterations,
        "reason": best.reason,
        "peak_mb": reference_sets.peak_mb(),
    }


def job_score(name: str, precision: str) -> dict[str, Any]:
    """Time to answer all marginals of the all-3way closure from a fitted model, nothing worked out beforehand."""
    done = fitted(name)
    domain, model = done.model.domain, done.model
    cliques = [domain.clique(c) for k in (1, 2, 3) for c in itertools.combinations(domain.attributes, k)]
    times = []
    for _ in range(3):
        fresh = type(model)(domain, model.parameters, model.total)
        assert fresh.log_z  # calibrated, as after a fit
        start = time.perf_counter()
        fresh.marginals(cliques, precision=precision)  # type: ignore[arg-type]
        times.append(time.perf_counter() - start)
        del fresh
    return {"seconds": min(times), "first": times[0], "marginals": len(cliques), "peak_mb": reference_sets.peak_mb()}


def job_generate(name: str, rows: str) -> dict[str, Any]:
    """Time to generate rows from a fitted model."""
    model = fitted(name).model
    times = []
    for seed in range(3):
        start = time.perf_counter()
        model.generate(int(rows), np.random.default_rng(seed))
        times.append(time.perf_counter() - start)
    return {"seconds": min(times), "rows": int(rows), "peak_mb": reference_sets.peak_mb()}


JOBS: dict[str, Callable[..., dict[str, Any]]] = {"reach": job_reach, "score": job_score, "generate": job_generate}


def ours(*job: object) -> dict[str, Any]:
    """Run a job of ours in a process of its own."""
    return _json([sys.executable, __file__, "--job", *map(str, job)])


def theirs(name: str) -> dict[str, Any]:
    """Run mbi on a set, in its own environment."""
    return _json([str(PEER / "bin" / "python"), str(ROOT / "benchmarks" / "engine_mbi.py"), name, *map(str, STEPS[name])])


def _json(command: list[str]) -> dict[str, Any]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "benchmarks")}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    result: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return result


def ensure_peer() -> None:
    if not (PEER / "bin" / "python").exists():
        subprocess.run([sys.executable, "-m", "venv", str(PEER)], check=True)
        subprocess.run([str(PEER / "bin" / "pip"), "install", "--quiet", "mbi==2.0.0", "pyarrow"], check=True)


class Bars:
    """Bars kept and missed."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []

    def check(self, what: str, value: float, most: float, unit: str) -> None:
        """Note a value and what it may be at most."""
        self.rows.append({"bar": what, "value": value, "most": most, "unit": unit, "kept": value <= most})
        mark = "kept  " if value <= most else "MISSED"
        print(f"  {mark} {what}: {value:.3g} {unit} (at most {most:.3g})", flush=True)

    @property
    def kept(self) -> bool:
        """Whether all bars were kept."""
        return all(row["kept"] for row in self.rows)


def compare(name: str, bars: Bars) -> dict[str, Any]:
    """Estimation on one set, side by side."""
    print(f"{name}: mbi 2.0, then ours", flush=True)
    peer = theirs(name)
    short, long = peer["runs"][0], peer["runs"][-1]
    mine = {"short": ours("reach", name, short["loss"]), "long": ours("reach", name, 1.01 * long["loss"])}
    for run, label in ((short, "1,000-step loss"), (long, "loss of its longest run, within 1 %")):
        print(
            f"  mbi {run['steps']} steps: {run['seconds']:.1f} s + {peer['compile']:.1f} s compiling -> {run['loss']:,.0f}"
        )
        print(f"  ours to its {label}: {mine['short' if run is short else 'long']['seconds']:.2f} s")
    bars.check(
        f"{name}: its 1,000-step loss",
        mine["short"]["seconds"] / (short["seconds"] + peer["compile"]),
        1 / 20,
        "of its time",
    )
    bars.check(
        f"{name}: the same, not counting compilation", mine["short"]["seconds"] / short["seconds"], 1 / 5, "of its time"
    )
    bars.check(
        f"{name}: the loss of its longest run",
        mine["long"]["seconds"] / (long["seconds"] + peer["compile"]),
        1 / 10,
        "of its time",
    )
    if name == "fire":
        mine["deep"] = ours("reach", name, FIRE_LOSS)
        bars.check(
            "fire: a loss of 9,400",
            mine["deep"]["seconds"] / short["seconds"],
            1 / 10,
            "of its time",
        )
        bars.check("fire: peak memory of the fit", mine["deep"]["peak_mb"], 1_000, "MB")
    return {"mbi": peer, "ours": mine}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--job", nargs="+", help=argparse.SUPPRESS)
    parser.add_argument("--skip-peer", action="store_true", help="only what needs no mbi")
    arguments = parser.parse_args()
    if arguments.job:
        print(json.dumps(JOBS[arguments.job[0]](*arguments.job[1:])))
        return 0
    if not reference_sets.REFERENCE.exists():
        print(f"skipped: {reference_sets.REFERENCE} is not there")
        return 0
    ensure_peer()
    bars = Bars()
    results: dict[str, Any] = {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in ("understudy", "numpy")} | {"mbi": "2.0.0"},
        "sets": {} if arguments.skip_peer else {name: compare(name, bars) for name in STEPS},
        "scoring": {
            "adult": ours("score", "adult", "double"),
            "fire": ours("score", "fire", "single"),
            "fire, double precision": ours("score", "fire", "double"),
        },
        "generation": ours("generate", "adult", 1_000_000),
    }
    bars.check("adult: all 575 marginals", results["scoring"]["adult"]["seconds"], ABOUT * 0.15, "s")
    bars.check("fire: all 575 marginals, single precision", results["scoring"]["fire"]["seconds"], ABOUT * 0.5, "s")
    print(f"  (fire in double precision: {results['scoring']['fire, double precision']['seconds']:.2f} s)")
    bars.check("adult: a million rows", results["generation"]["seconds"], 3.0, "s")
    results["bars"] = bars.rows
    if not arguments.skip_peer:
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    return 0 if bars.kept else 1


if __name__ == "__main__":
    sys.exit(main())
