"""How the cost grows with the tree, the attributes and the rows, and each step with the columns: ``make bench-scaling``.

Every point runs in a process of its own on a made-up model or table. ``--only columns`` runs one part again, and leaves the
figure alone. Writes benchmarks/results/scaling.json, docs/scaling.md and its figure; exits with 1 when a cost grows faster
than it should.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import combinations
from math import comb
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

import next_wall
import wide
from reference_sets import ROOT, peak_mb
from understudy import Schema, evaluate, load, plan, synthesize
from understudy.domain import Domain
from understudy.mechanism import Event, Finished, RoundEnded, RoundStarted
from understudy.model import Fit, GraphicalModel, Observation, fit, tree_sizes_with

RESULTS = ROOT / "benchmarks" / "results" / "scaling.json"
PAGE = ROOT / "docs" / "scaling.md"
FIGURE = ROOT / "docs" / "scaling.svg"
ITERATIONS = 50
TREE_SIDES = (7, 10, 13, 16, 20, 26)
ATTRIBUTES = (10, 20, 50, 100, 200, 500)
ROWS = (10_000, 100_000, 1_000_000, 10_000_000)
COLUMNS = (10, 30, 100, 300, 500)
COLUMN_ROWS = 10_000
SIZES = (2, 3, 4, 6, 10, 20)
STEPS = {
    "plan": "plan",
    "first": "first measurements",
    "round": "a round",
    "last": "last fit and check",
    "making": "table and bounds",
    "saving": "saving with the report",
    "query": "loading and a query",
    "evaluate": "evaluating",
}


def band(attributes: int, side: int, width: int) -> tuple[Domain, list[tuple[str, ...]]]:
    """A domain of equal attributes in a row, and all pairs that lie within ``width`` of each other."""
    names = [f"a{i:03}" for i in range(attributes)]
    pairs = [(names[i], names[j]) for i in range(attributes) for j in range(i + 1, min(i + width, attributes))]
    return Domain(tuple(names), (side,) * attributes), pairs


def noisy(domain: Domain, pairs: list[tuple[str, ...]]) -> list[Observation]:
    """Noisy marginals of a random model with those pairs."""
    rng = np.random.default_rng(1)
    truth = GraphicalModel(domain, {pair: 0.5 * rng.normal(size=domain.shape(pair)) for pair in pairs}, 1e6)
    noise = 100.0
    answers = zip(pairs, truth.marginals(pairs), strict=True)
    return [Observation(pair, table + noise * rng.normal(size=table.shape), noise) for pair, table in answers]


def fitted(domain: Domain, observations: list[Observation]) -> Fit:
    return fit(domain, observations, max_iterations=ITERATIONS)


def job_tree(side: str) -> dict[str, Any]:
    domain, pairs = band(12, int(side), 5)
    observations = noisy(domain, pairs)
    before = peak_mb()
    done = fitted(domain, observations)
    after_fit = peak_mb()
    start = time.perf_counter()
    wanted = [domain.clique(c) for c in combinations(domain.attributes, 2)]
    done.model.marginals(wanted, precision="single")
    scoring = time.perf_counter() - start
    return {
        "tree_mb": done.model.size / 2**20,
        "seconds_a_step": done.seconds / done.iterations,
        "scoring_seconds": scoring,
        "before_mb": before,
        "fit_peak_mb": after_fit,
        "peak_mb": peak_mb(),
    }


def job_attributes(count: str) -> dict[str, Any]:
    domain, pairs = band(int(count), 10, 3)
    observations = noisy(domain, pairs)
    done = fitted(domain, observations)
    rng = np.random.default_rng(2)
    chosen = [tuple(sorted(rng.choice(len(domain), 2, replace=False))) for _ in range(300)]
    candidates = [tuple(domain.attributes[i] for i in pair) for pair in chosen]
    start = time.perf_counter()
    tree_sizes_with(domain, pairs, candidates)
    sizing = time.perf_counter() - start
    start = time.perf_counter()
    done.model.generate(10_000, rng)
    generating = time.perf_counter() - start
    return {
        "attributes": len(domain),
        "seconds_a_step": done.seconds / done.iterations,
        "sizing_seconds": sizing,
        "generating_seconds": generating,
        "peak_mb": peak_mb(),
    }


def job_rows(rows: str) -> dict[str, Any]:
    domain, pairs = band(15, 16, 3)
    model = fitted(domain, noisy(domain, pairs)).model
    start = time.perf_counter()
    model.generate(int(rows), np.random.default_rng(3))
    return {"rows": int(rows), "seconds": time.perf_counter() - start, "peak_mb": peak_mb()}


def dependent(columns: int) -> tuple[Schema, NDArray[np.int32]]:
    """A made-up table of mixed sizes: two of three columns follow the one before them in 6 of 10 rows."""
    rng = np.random.default_rng(4)
    sizes = [SIZES[i % len(SIZES)] for i in range(columns)]
    codes = np.empty((COLUMN_ROWS, columns), np.int32)
    for i, size in enumerate(sizes):
        codes[:, i] = rng.choice(size, COLUMN_ROWS, p=rng.dirichlet(np.ones(size)))
        if i % 3:
            same = rng.random(COLUMN_ROWS) < 0.6
            codes[same, i] = codes[same, i - 1] % size
    return Schema.from_domain({f"c{i:03}": size for i, size in enumerate(sizes)}), codes


class Laps:
    """Of each step: CPU seconds, since a run uses what cores there are, and the most memory that the process had."""

    def __init__(self) -> None:
        self.found: dict[str, float] = {}
        self._begin()

    def _begin(self) -> None:
        self._began = time.process_time()
        Path("/proc/self/clear_refs").write_text("5")  # the peak is counted anew

    def end(self, step: str) -> None:
        """Note what the step took, and begin the next."""
        self.found |= {f"{step}_seconds": time.process_time() - self._began, f"{step}_mb": peak_mb()}
        self._begin()


def job_columns(count: str) -> dict[str, Any]:
    """Each step of a run on all triples, with one round."""
    schema, codes = dependent(int(count))
    laps = Laps()

    def told(event: Event) -> None:
        names = {RoundStarted: "first", RoundEnded: "round", Finished: "last"}
        if type(event) in names:
            laps.end(names[type(event)])

    plan(schema, rows=COLUMN_ROWS, epsilon=1, rehearse=False)
    laps.end("plan")
    release = synthesize(codes, schema, epsilon=1, time_limit=0, seed=1, progress=told)
    laps.end("making")
    with TemporaryDirectory() as folder:
        release.save(Path(folder) / "release")
        laps.end("saving")
        page_mb = (Path(folder) / "release" / "report.html").stat().st_size / 2**20
        again = load(Path(folder) / "release")
        again.marginal(*schema.domain.attributes[:2])
        laps.end("query")
    evaluate(codes, release)
    laps.end("evaluate")
    return {"columns": int(count), "page_mb": page_mb, **laps.found}


JOBS: dict[str, tuple[Callable[[str], dict[str, Any]], tuple[int, ...]]] = {
    "tree": (job_tree, TREE_SIDES),
    "attributes": (job_attributes, ATTRIBUTES),
    "rows": (job_rows, ROWS),
    "columns": (job_columns, COLUMNS),
}


def point(job: str, value: int) -> dict[str, Any]:
    paths = [str(ROOT / "benchmarks"), str(ROOT / "src")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, __file__, "--job", job, str(value)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    result: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    print(job, {k: round(v, 4) for k, v in result.items()}, flush=True)
    return result


def growth(points: list[dict[str, Any]], x: str, y: str) -> float:
    """The exponent between the last two points: 1 is proportional."""
    a, b = points[-2], points[-1]
    return float(np.log(b[y] / a[y]) / np.log(b[x] / a[x]))


def table(points: list[dict[str, Any]], heads: dict[str, str]) -> str:
    lines = ["| " + " | ".join(heads.values()) + " |", "|" + "---:|" * len(heads)]
    lines += [
        "| " + " | ".join(f"{p[key]:,.3g}" if p[key] < 1000 else f"{p[key]:,.0f}" for key in heads) + " |" for p in points
    ]
    return "\n".join(lines)


def _listed(exponents: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.2f}" for name, value in exponents.items())


def page(results: dict[str, Any]) -> str:
    tree = {
        "tree_mb": "junction tree, MB",
        "seconds_a_step": "s a step",
        "scoring_seconds": "all pairs, s",
        "fit_peak_mb": "peak of the fit, MB",
        "peak_mb": "peak with the pairs, MB",
    }
    attributes = {
        "attributes": "attributes",
        "seconds_a_step": "s a step",
        "sizing_seconds": "300 candidate sizes, s",
        "generating_seconds": "10,000 rows, s",
        "peak_mb": "peak, MB",
    }
    rows = {"rows": "rows", "seconds": "s", "peak_mb": "peak, MB"}
    seconds = {"columns": "columns"} | {f"{step}_seconds": f"{words}, s" for step, words in STEPS.items()}
    memory = {"columns": "columns"} | {f"{step}_mb": f"{words}, MB" for step, words in STEPS.items()}
    memory["page_mb"] = "the report's file, MB"
    exponents = {k: f"{v:.2f}" for k, v in results["exponents"].items()}
    return f"""# How the cost grows

Written by `make bench-scaling` on {results["when"]}, {results["cores"]} cores, Python {results["python"]},
NumPy {results["versions"]["numpy"]}; the figures are in `benchmarks/results/scaling.json`. Made-up models; one process a
point, memory as the operating system counts it for the whole process.

![Time and memory against the size of the tree, the number of attributes and the rows generated](scaling.svg)

## As the junction tree grows

Twelve attributes, all pairs within five places of each other measured. The tables of the tree are never made, so a step
costs less than a pass over them. Exponent of the time of a step between the two largest trees: {exponents["tree"]}.

{table(results["tree"], tree)}

## As attributes are added

Ten values an attribute, pairs within three places measured. Exponent of the time of a step between the last two:
{exponents["attributes"]}.

{table(results["attributes"], attributes)}

## As more rows are generated

Fifteen attributes of 16 values. Exponent between the last two: {exponents["rows"]}.

{table(results["rows"], rows)}

## As columns are added: each step of a run

A made-up table of {COLUMN_ROWS:,} rows, 2 to 20 values a column, ε = 1, one round; all triples, {comb(COLUMNS[-1], 3):,} of
{COLUMNS[-1]} columns. CPU seconds, on {results.get("columns_when", results["when"])}. What a step
looks at is limited by public numbers: the marginals that a table is refined towards, those that a release lists a bound for,
those that an evaluation compares. Exponents between the last two:
{_listed(results["column_exponents"])}.

{table(results["columns"], seconds)}

The most memory that the whole process had while the step ran; before the first it has what Python and its libraries take.
Exponents: {_listed(results["column_memory_exponents"])}.

{table(results["columns"], memory)}
"""


def draw(results: dict[str, Any]) -> None:
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": "understudy", "font.size": 9})
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
    panels = [
        ("tree", "tree_mb", "seconds_a_step", "junction tree, MB", "seconds a step"),
        ("attributes", "attributes", "seconds_a_step", "attributes", "seconds a step"),
        ("rows", "rows", "seconds", "rows generated", "seconds"),
    ]
    for axis, (name, x, y, across, up) in zip(axes, panels, strict=True):
        points = results[name]
        axis.loglog([p[x] for p in points], [p[y] for p in points], "o-", color="#1f4e79", label=up)
        axis.set(xlabel=across, ylabel=up)
        other = axis.twinx()
        other.loglog([p[x] for p in points], [p["peak_mb"] for p in points], "s--", color="#b35900", label="peak memory, MB")
        other.set_ylabel("peak memory, MB", color="#b35900")
        axis.grid(alpha=0.3)
    figure.savefig(FIGURE, metadata={"Date": None})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--job", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--only", choices=sorted(JOBS), help="run this part again, and keep the other figures")
    arguments = parser.parse_args()
    if arguments.job:
        print(json.dumps(JOBS[arguments.job[0]][0](arguments.job[1])))
        return 0
    results: dict[str, Any] = json.loads(RESULTS.read_text()) if arguments.only else {}
    results |= {
        f"{arguments.only}_when" if arguments.only else "when": datetime.now(UTC).isoformat(timespec="minutes"),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in ("understudy", "numpy")},
    }
    asked = {arguments.only: JOBS[arguments.only]} if arguments.only else JOBS
    results |= {job: [point(job, value) for value in values] for job, (_, values) in asked.items()}
    results["exponents"] = {
        "tree": growth(results["tree"], "tree_mb", "seconds_a_step"),
        "attributes": growth(results["attributes"], "attributes", "seconds_a_step"),
        "rows": growth(results["rows"], "rows", "seconds"),
    }
    timed = [step for step in STEPS if step != "plan"]  # which takes no time
    results["column_exponents"] = {step: growth(results["columns"], "columns", f"{step}_seconds") for step in timed}
    results["column_memory_exponents"] = {step: growth(results["columns"], "columns", f"{step}_mb") for step in STEPS}
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    PAGE.write_text(page(results))
    next_wall.main()
    wide.write_page()
    if not arguments.only:
        draw(results)
    slow = {name: value for name, value in results["exponents"].items() if value > 1.25}
    slow |= {name: value for name, value in results["column_exponents"].items() if value > 2.25}
    slow |= {f"memory of {name}": value for name, value in results["column_memory_exponents"].items() if value > 1.25}
    for name, value in slow.items():
        print(f"MISSED: {name} grows with exponent {value:.2f}; proportional is 1, to the pairs of columns 2")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
