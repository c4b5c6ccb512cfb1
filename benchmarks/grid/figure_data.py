"""What each figure shows, taken from the results: a figure exists when its data do. Needs no drawing library."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from grid.cells import ABLATIONS, CAPACITIES, ROUNDS
from grid.paper import STATED, TRIPLES, combined_p, ratios, scientific
from grid.plans import COMPARED
from grid.results import Results
from grid.significance import geometric_mean

METRICS = {"l1": "L1", "l2": "L2", "max": "largest"}


@dataclass(frozen=True)
class Figure:
    """Its kind says how it is drawn; ``data`` is plain."""

    kind: str
    title: str
    caption: str
    data: Any

    @property
    def digest(self) -> str:
        """What its data are, in short: kept in the drawing, so that an old one can be told."""
        return hashlib.sha256(json.dumps([self.kind, self.title, self.data]).encode()).hexdigest()[:16]


def available(results: Results) -> dict[str, Figure]:
    """Figures by file name."""
    found: dict[str, Figure | None] = {}
    for workload in ("all-3way", "target", "skewed", "all-2way"):
        for metric in METRICS:
            found[f"error-{workload}-{metric}"] = _errors(results, workload, metric)
    found |= {"ablations": _ablations(results), "rounds": _rounds(results), "capacity": _capacity(results)}
    found |= {"runtime": _runtime(results), "bounds": _bounds(results), "subsampling": _subsampling(results)}
    return {name: figure for name, figure in found.items() if figure is not None}


def _curve(results: Results, dataset: str, workload: str, mechanism: str, *path: str) -> list[list[float]]:
    """[ε, mean, least, most] by ε."""
    settings = [s for s in results.settings(mechanism) if s[:2] == (dataset, workload)]
    known = [(s[2], results.trials(s, mechanism, *path)) for s in settings]
    return _spread([(epsilon, trials) for epsilon, trials in known if trials])


def _spread(points: list[tuple[float, list[float]]]) -> list[list[float]]:
    return sorted([x, float(np.mean(trials)), min(trials), max(trials)] for x, trials in points)


def _panels(results: Results, workload: str, mechanisms: tuple[str, ...], *path: str) -> dict[str, Any]:
    """Curves by table and mechanism; a curve needs two ε."""
    panels: dict[str, Any] = {}
    for dataset in dict.fromkeys(d for d, w, _, _ in results.groups if w == workload):
        curves = {m: _curve(results, dataset, workload, m, *path) for m in mechanisms}
        long = {m: curve for m, curve in curves.items() if len(curve) > 1}
        if long:
            panels[dataset] = long
    return panels


def _errors(results: Results, workload: str, metric: str) -> Figure | None:
    panels = _panels(results, workload, COMPARED, "error", metric)
    title = f"Workload error ({METRICS[metric]}) against ε, {workload}"
    caption = f"{title}. Mean, least and most of the trials."
    return (
        Figure("curves", title, caption, {"panels": panels, "y": f"workload error, {METRICS[metric]}"}) if panels else None
    )


def _runtime(results: Results) -> Figure | None:
    panels = _panels(results, "all-3way", ("aim",), "seconds")
    together = {"all-3way": {d: curves["aim"] for d, curves in panels.items()}}
    title = "Time of AIM against ε, all-3way"
    return Figure("curves", title, f"{title}, by table.", {"panels": together, "y": "seconds"}) if panels else None


def _subsampling(results: Results) -> Figure | None:
    panels: dict[str, Any] = {}
    for workload in TRIPLES:
        tables = dict.fromkeys(s[0] for s in results.settings("aim") if s[1] == workload)
        curves = {dataset: _fractions(results, dataset, workload) for dataset in tables}
        long = {dataset: curve for dataset, curve in curves.items() if len(curve) > 1}
        if long:
            panels[workload] = long
    title = "Share of the real rows that would do as well as AIM, against ε"
    caption = f"{title}. A trial that did better than any sample would is drawn at the top of its curve, at 1 or above."
    return Figure("curves", title, caption, {"panels": panels, "y": "fraction of the rows"}) if panels else None


def _fractions(results: Results, dataset: str, workload: str) -> list[list[float]]:
    """As a curve, with the infinite ones at its top."""
    settings = [s for s in results.settings("aim") if s[:2] == (dataset, workload)]
    known = [(s[2], results.fractions(s, "aim")) for s in settings]
    top = max([1.0, *(f for _, trials in known for f in trials if np.isfinite(f))])
    return _spread([(epsilon, [min(f, top) for f in trials]) for epsilon, trials in known])


def _ablations(results: Results) -> Figure | None:
    boxes = []
    for name in STATED:
        found = list(ratios(results, name).values())
        if len(found) > 1:
            p = combined_p(results, name)
            words = f"{geometric_mean(found):.3g}" + (f"\np = {scientific(p[0])}" if p else "")
            boxes.append({"label": ABLATIONS[name][0], "ratios": found, "words": words, "paper": STATED[name][0]})
    title = "Error without an element of AIM over error with it"
    caption = (
        f"{title}: settings as boxes, geometric mean and Stouffer's combined p-value above, the paper's mean as a cross."
    )
    return Figure("boxes", title, caption, {"boxes": boxes, "y": "ratio of errors"}) if boxes else None


def _rounds(results: Results) -> Figure | None:
    boxes = []
    for name, label in [*((f"aim:T={t}", str(t)) for t in ROUNDS), ("aim:fixed", "d")]:
        found = list(ratios(results, name).values())
        if len(found) > 1:
            boxes.append({"label": label, "ratios": found, "words": f"{geometric_mean(found):.3g}", "paper": None})
    title = "Error with a fixed number of rounds over error with adaptive ones"
    return (
        Figure("boxes", title, f"{title}, with geometric means.", {"boxes": boxes, "y": "ratio of errors"})
        if boxes
        else None
    )


def _capacity(results: Results) -> Figure | None:
    panels: dict[str, Any] = {}
    for label, path in (("workload error", ("error", "l1")), ("seconds", ("seconds",))):
        curves: dict[str, list[list[float]]] = {}
        for size in CAPACITIES:
            name = "aim" if size == 80 else f"aim:{size:g}MB"
            for setting in results.settings(name):
                trials = results.trials(setting, name, *path)
                if setting[:2] == ("fire", "all-3way"):
                    row = [size, float(np.mean(trials)), min(trials), max(trials)]
                    curves.setdefault(f"ε = {setting[2]:g}", []).append(row)
        long = {name: rows for name, rows in curves.items() if len(rows) > 1}
        if long:
            panels[label] = long
    title = "Model capacity against error and time, fire, all-3way"
    return Figure("curves", title, f"{title}.", {"panels": panels, "y": "", "x": "capacity, MB"}) if panels else None


def _bounds(results: Results) -> Figure | None:
    panels = {}
    for line in results.lines:
        pairs = line["result"].get("bounds", {}).get("pairs") if line["status"] == "done" else None
        if pairs and line["epsilon"] == 10.0:
            panels[line["dataset"]] = pairs
    title = "Bound against true error of every marginal, all-3way, ε = 10"
    caption = f"{title}. As shares of the rows; points below the line would be errors beyond their 95 % bound."
    return Figure("scatter", title, caption, {"panels": panels}) if panels else None
