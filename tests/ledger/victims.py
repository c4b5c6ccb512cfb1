"""Children of the tests: runs that are killed, and racers. A run marks what it is about to do, and what it saw."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from hashlib import sha256
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

from understudy import Output, Release, synthesize
from understudy.errors import BudgetExceeded
from understudy.ledger import Ledger
from understudy.mechanism import base, estimators, running
from understudy.model import fit
from understudy.privacy import Budget, SecureNoise

from .small import SCHEMA

RHO = 1.0
PAUSE = 0.004
"""Seconds that every fit takes longer, so that kills fall into fits as well as between them."""


def marked_run(folder: str, ledger: str, out: str, resume: bool) -> None:
    """Run, or go on, leaving a line in ``OUT.marks`` before each draw and after each answer that somebody saw."""
    marks = Path(f"{out}.marks").open("a", buffering=1, encoding="utf-8")  # noqa: SIM115
    _mark_draws(marks)
    _mark_answers(marks)
    _slow_fits()
    marks.write(json.dumps(["began", None]) + "\n")
    run(folder, ledger, out, resume=resume)
    marks.write(json.dumps(["done", None]) + "\n")


def run(folder: str, ledger: str, out: str, *, resume: bool) -> Release:
    data = json.loads(Path(folder, "table.json").read_text())
    target = Output(Path(out), report=False)
    where: dict[str, Any] = {"ledger": ledger, "dataset": "people"} if ledger else {}
    settings: dict[str, Any] = {"workload": "all-2way", "rho": RHO, "rounds": 8, "resume": resume, "progress": False}
    return synthesize(data, SCHEMA, out=target, **where, **settings)


def _mark_draws(marks: Any) -> None:
    for name in ("gaussian", "select"):
        draw = getattr(SecureNoise, name)

        def marked(self: Any, *arguments: Any, draw: Any = draw) -> Any:
            marks.write(json.dumps(["draws", None]) + "\n")
            return draw(self, *arguments)

        setattr(SecureNoise, name, marked)


def _mark_answers(marks: Any) -> None:
    measure, select, check = running.Run.measure, running.Run.select_some, running.Run.distances

    def measured(self: Any, *arguments: Any, **options: Any) -> Any:
        found = measure(self, *arguments, **options)
        marks.write(json.dumps(["saw", sha256(found.values.astype("<i8").tobytes()).hexdigest()]) + "\n")
        return found

    def selected(self: Any, *arguments: Any, **options: Any) -> Any:
        (found,) = select(self, *arguments, **options)
        marks.write(json.dumps(["saw", sha256(found.index.to_bytes(8, "little")).hexdigest()]) + "\n")
        return (found,)

    def checked(self: Any, *arguments: Any, **options: Any) -> Any:
        found = check(self, *arguments, **options)
        marks.write(json.dumps(["saw", sha256(found.values.astype("<i8").tobytes()).hexdigest()]) + "\n")
        return found

    running.Run.measure = measured  # type: ignore[method-assign]
    running.Run.distances = checked  # type: ignore[method-assign]
    running.Run.select_some = selected  # type: ignore[method-assign]


def _slow_fits() -> None:
    def slow(*arguments: Any, **options: Any) -> Any:
        time.sleep(PAUSE)
        return fit(*arguments, **{**options, "max_iterations": 10})

    estimators.ESTIMATORS["pgm"] = base.PGM = replace(estimators.PGM, in_rounds=slow)  # type: ignore[attr-defined]


def race(path: str, turns: int, barrier: Barrier, result: str) -> None:
    """Try to have the last of each dataset's budget, at the same moment as the other."""
    ledger, wins = Ledger(path), []
    for turn in range(turns):
        barrier.wait(600)
        try:
            ledger.begin(f"d{turn}", Budget.of(rho=1), {})
            wins.append(1)
        except BudgetExceeded:
            wins.append(0)
    Path(result).write_text(json.dumps(wins))
