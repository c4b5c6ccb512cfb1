"""The paper's evaluation, cell by cell: ``make bench-quick``, ``make bench-grid``, ``make bench-peers``.

A cell is a table, a workload, an ε, a trial and a mechanism. Each runs in a process of its own; its result is appended to
a file in benchmarks/results at once and is not run again, so a run can be stopped (Ctrl-C, kill) and started again at any
time. ``--plans`` lists the plans. Runs are seeded, so that they can be repeated: their noise is NOT PRIVATE.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from grid import store, summary
from grid.cells import Cell
from grid.plans import PLANS, Plan
from grid.runner import Retry, Settings, Stopped, missing, refuse, run
from peers import environments
from reference_sets import ROOT
from tables import available

RESULTS = ROOT / "benchmarks" / "results"


def selected(plan: Plan, only: str) -> list[Cell]:
    """The plan's cells that have every word of ``only``, on tables that are here."""
    chosen = [cell for cell in plan.cells if set(only.split()) <= words(cell)]
    absent = sorted({cell.dataset for cell in chosen if not available(cell.dataset)})
    if absent:
        print(f"skipped, because these tables are not at ../shared/datasets: {', '.join(absent)}")
    return [cell for cell in chosen if cell.dataset not in absent]


def words(cell: Cell) -> set[str]:
    """What ``--only`` may name of a cell."""
    return {cell.dataset, cell.workload, cell.mechanism, f"epsilon={cell.epsilon:g}", f"trial={cell.trial}"}


def done_beside(plan: Plan, folder: Path, seed: int) -> set[str]:
    """The cells that another plan's file has with the same seed."""
    lines = store.latest(store.read(folder / plan.beside)) if plan.beside else {}
    return {key for key, line in lines.items() if line["status"] == "done" and line["base_seed"] == seed}


def set_aside(path: Path, cells: list[Cell]) -> Path | None:
    """When these are all the cells of the file, begin again and keep its results beside, to compare with.

    A file that has other cells too stays where it is, and what lies beside already is not replaced by a part of it.
    """
    before = path.with_suffix(".before.jsonl")
    known, kept = (store.latest(store.read(file)).keys() for file in (path, before))
    if path.exists() and {cell.key for cell in cells} == known and kept <= known:
        path.replace(before)
    return before if before.exists() else None


def set_up_peers(cells: list[Cell], path: Path, settings: Settings) -> None:
    """Make the environments that the missing cells need; a peer that does not install is shown so, with the reason."""
    wanted = missing(cells, store.read(path), settings.seed, settings.retry)
    for peer in dict.fromkeys(cell.mechanism.split("/")[0] for cell in wanted if cell.is_peer):
        environment = environments.ensure(peer)
        print(f"{peer}: {environment.message or 'installed'}", flush=True)
        if environment.python is None:
            refuse([cell for cell in cells if cell.mechanism.startswith(f"{peer}/")], path, settings, environment.message)


def say(line: dict[str, Any]) -> None:
    print(summary.one_line(line), flush=True)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plan", choices=PLANS, default="quick")
    parser.add_argument("--plans", action="store_true", help="list the plans and end")
    parser.add_argument("--only", default="", metavar="WORDS", help='only cells with these, such as "adult aim epsilon=10"')
    parser.add_argument("--minutes", type=float, help="begin no cell after so long")
    parser.add_argument("--limit", type=float, metavar="SECONDS", help="the most that one cell may take")
    parser.add_argument("--jobs", type=int, choices=(1, 2), default=1, help="cells at a time (2: half the cores each)")
    parser.add_argument("--seed", type=int, default=0, help="every cell's own seed is made from it")
    parser.add_argument("--retry", action="store_true", help="run cells again that failed or took too long")
    parser.add_argument("--fresh", action="store_true", help="run all of them again; a later result counts")
    parser.add_argument("--give-up", action="store_true", help="leave alone what ran out of time in another trial")
    parser.add_argument(
        "--again", action="store_true", help="when all cells of the file are asked for, run them again and compare"
    )
    parser.add_argument("--file", type=Path, help="keep results here instead of in benchmarks/results")
    parser.add_argument("--dry", action="store_true", help="list the cells that would be run")
    return parser.parse_args()


def main() -> int:
    arguments = parsed()
    if arguments.plans:
        for one in PLANS.values():
            print(f"{one.name:10} {len(one.cells):5} cells  {one.file:12} {one.about}")
        return 0
    plan: Plan = PLANS[arguments.plan]
    path = arguments.file or RESULTS / plan.file
    cells = selected(plan, arguments.only)
    if not arguments.fresh and not arguments.file:
        beside = done_beside(plan, RESULTS, arguments.seed)
        cells = [cell for cell in cells if cell.key not in beside]
    if arguments.dry:
        waiting = set(missing(cells, store.read(path), arguments.seed))
        print("\n".join(f"{'to do' if cell in waiting else 'done':6} {cell.key}" for cell in cells))
        return 0
    before = set_aside(path, cells) if arguments.again else None
    limit = arguments.limit or plan.limit
    retry: Retry = "all" if arguments.fresh else "failed" if arguments.retry else "none"
    settings = Settings(arguments.seed, arguments.jobs, limit, arguments.minutes, retry, arguments.give_up)
    try:
        set_up_peers(cells, path, settings)
        left = run(cells, path, settings, say)
    except Stopped as stop:
        print(f"stopped by {stop}: results so far are in {path.name}; start again to go on")
        return 130
    except store.StoreError as error:
        print(error)
        return 2
    lines = store.latest(store.read(path))
    here = [lines[cell.key] for cell in cells if cell.key in lines]
    print(f"\n{summary.table(here)}\n\n{len(cells) - left} of {len(cells)} cells have a result, in {path.name}.")
    if before is not None and not left:
        print(summary.compared(here, store.latest(store.read(before))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
