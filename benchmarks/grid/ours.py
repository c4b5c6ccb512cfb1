"""Runs one cell of ours: mechanism, records, then how far off they are and how far off they were said to be at most.

Sees exact counts of public research tables and seeded noise: not private, and marked so in every result.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grid.cells import CONFIGURATIONS, DELTA, Cell, Configuration
from reference_sets import peak_mb
from tables import Codes, Table, errors
from understudy.mechanism import Event, Outcome, RoundEnded
from understudy.metrics import subsampling_fraction
from understudy.privacy import Budget, Door, ResearchNoise
from understudy.source import MemorySource
from understudy.uncertainty import Evidence, TableMarginals, bounds
from understudy.workload import Workload

Result = dict[str, Any]
CONFIDENCE = 0.95


def run(cell: Cell, seed: int, scratch: Path) -> Result:
    """Run it; time and memory are those of the mechanism with generation, not of the comparison after it."""
    configuration = CONFIGURATIONS[cell.mechanism]
    table = Table.load(cell.dataset)
    workload = table.workload(cell.workload)
    zeros = table.empty_pairs() if configuration.zeros else []
    before, rounds = peak_mb(), Rounds(scratch)
    wall, cpu = time.perf_counter(), time.process_time()
    budget = Budget.of(epsilon=cell.epsilon, delta=DELTA)
    door = _door(table, workload, configuration, budget, seed)
    outcome = configuration.make().run(door, workload, zeros=zeros, on_event=rounds)
    records = _records(outcome, seed)
    spent = {"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}
    spent |= {"peak_mb": peak_mb(), "start_mb": before}
    return spent | rounds.described(outcome) | compared(table, workload, outcome, records, zeros, pairs=_shown(cell))


def _door(table: Table, workload: Workload, configuration: Configuration, budget: Budget, seed: int) -> Door:
    expected = configuration.make().expects(workload)
    return Door(table.source, budget, unit=configuration.unit, noise=ResearchNoise(seed), expect=expected)


def _records(outcome: Outcome, seed: int) -> Codes | None:
    return None if outcome.model is None else outcome.draw(np.random.default_rng(seed))


def compared(
    table: Table, workload: Workload, outcome: Outcome, records: Codes | None, zeros: list[Any], *, pairs: bool
) -> Result:
    """Errors of the records and of the model (of the answers, for a mechanism without one), fraction, bounds."""
    real = table.source.count(workload.cliques)
    if records is None or outcome.model is None:
        error = errors(workload, real, [outcome.answers[clique] for clique in workload.cliques])
        return {"error": error, "answers_only": True, "subsampling": fraction(workload, real, error["l1"])}
    made = MemorySource.of_codes(records, table.domain)
    error = errors(workload, real, made.count(workload.cliques))
    found: Result = {"error": error, "rows": len(records)}
    found["model_error"] = errors(workload, real, outcome.model.marginals(workload.cliques))
    found["subsampling"] = fraction(workload, real, error["l1"])
    if zeros:
        found["forbidden"] = sum(len(z.cells) for z in zeros)
        counts = made.count([z.clique for z in zeros])
        found["forbidden_made"] = sum(int(c[tuple(z.cells.T)].sum()) for z, c in zip(zeros, counts, strict=True))
    if outcome.rounds:
        found["bounds"] = _bounds(table, workload, outcome, records, pairs)
    return found


def fraction(workload: Workload, real: list[NDArray[np.int64]], error: float) -> float | None:
    """Share of the real rows that would do as well; None when no sample, however large, would."""
    share = subsampling_fraction(workload, real, error).fraction
    return share if np.isfinite(share) else None


def _bounds(table: Table, workload: Workload, outcome: Outcome, records: Codes, pairs: bool) -> Result:
    """Bound over true error for every marginal of the closure, by kind; the medians, as in the paper."""
    began = time.perf_counter()
    cliques = list(workload.closure)
    made = TableMarginals(table.domain, records)
    found = bounds(Evidence.of(outcome), made, confidence=CONFIDENCE)
    real = dict(zip(cliques, table.source.count(cliques), strict=True))
    each: dict[str, list[tuple[float, float]]] = {"supported": [], "unsupported": []}
    for clique, bound in found.items():
        each[bound.kind].append((bound.value, float(np.abs(real[clique] - made.marginal(clique)).sum())))
    ratios = {kind: [b / max(e, 1.0) for b, e in values] for kind, values in each.items() if values}
    rows = max(len(table.codes), 1)
    result: Result = {
        "medians": {kind: float(np.median(values)) for kind, values in ratios.items()},
        "counts": {kind: len(values) for kind, values in each.items()},
        "exceeded": sum(e > b for values in each.values() for b, e in values),
        "unbounded": len(cliques) - len(found),
        "seconds": time.perf_counter() - began,
    }
    if pairs:
        rounded = {k: [[float(f"{x / rows:.4g}") for x in pair] for pair in values] for k, values in each.items()}
        result["pairs"] = rounded
    return result


def _shown(cell: Cell) -> bool:
    """Whether every marginal's bound and error are kept, for a figure; elsewhere the medians are enough."""
    return cell.mechanism == "aim" and cell.trial == 0 and cell.workload == "all-3way" and cell.epsilon in (1.0, 10.0)


class Rounds:
    """Listens to a run: counts its rounds, and leaves word of how far it is in case it does not end."""

    def __init__(self, scratch: Path) -> None:
        self._file, self._began = scratch / "progress.json", time.perf_counter()
        self._told = 0.0
        self.seconds: list[float] = []

    def __call__(self, event: Event) -> None:
        """Hear of an event."""
        if not isinstance(event, RoundEnded):
            return
        self.seconds.append(event.seconds)
        now = time.perf_counter() - self._began
        if now - self._told > 1.0:
            self._told = now
            self._file.write_text(json.dumps({"round": event.round, "seconds": now, "spent_rho": event.spent}))

    def described(self, outcome: Outcome) -> Result:
        """The rounds, and the model that they led to."""
        found: Result = {"rounds": len(outcome.rounds), "measurements": len(outcome.measurements)}
        if self.seconds:
            found["round_seconds"] = float(np.mean(self.seconds))
        if outcome.model is not None:
            found["tree_mb"] = outcome.model.size / 2**20
        return found
