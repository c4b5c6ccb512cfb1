"""The last part of the results page: machines, versions, when, how long, and how far each plan got."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from grid.plans import PLANS
from grid.results import Evidence, Results
from grid.store import Line


def section(evidence: Evidence) -> str:
    """How it was measured."""
    files = {"grid.jsonl": evidence.grid, "quick.jsonl": evidence.quick, "peers.jsonl": evidence.peers}
    files |= {"family.jsonl": evidence.family, "same.jsonl": evidence.same, "binary.jsonl": evidence.binary}
    lines = [line for results in files.values() for line in results.lines]
    if not lines:
        return "## How it was measured\n\nNothing has been run yet."
    parts = ["## How it was measured", _runs(files), _machines(lines), _versions(lines), f"### How far\n\n{_plans(files)}"]
    return "\n\n".join(parts)


def _runs(files: dict[str, Results]) -> str:
    rows = [
        "| file | cells | first begun | last begun | compute, hours | at once | cores | seeds from |",
        "|---|---:|---|---|---:|---:|---:|---:|",
    ]
    for name, results in files.items():
        if results.lines:
            begun = sorted(line["started"] for line in results.lines)
            hours = sum(line["seconds"] for line in results.lines) / 3600
            jobs, seeds = (_several(line[key] for line in results.lines) for key in ("jobs", "base_seed"))
            cores = _several(sorted(line["machine"]["cores"] for line in results.lines))
            count = len(results.lines)
            rows.append(f"| {name} | {count} | {begun[0]} | {begun[-1]} | {hours:.2f} | {jobs} | {cores} | {seeds} |")
    return "\n".join(rows)


def _machines(lines: list[Line]) -> str:
    kinds = dict.fromkeys(machine(line["machine"]) for line in lines)
    return "Machine: " + "; ".join(kinds) + "."


def machine(m: dict[str, Any]) -> str:
    """A machine in words."""
    return f"{m['cores']} core{'s' * (m['cores'] != 1)}, {m['cpu']}, {m['memory_gb']:g} GB, {m['system']}"


def _versions(lines: list[Line]) -> str:
    names = dict.fromkeys(name for line in lines for name in line["versions"])
    words = [f"{name} {_several(line['versions'][name] for line in lines if name in line['versions'])}" for name in names]
    return "Versions: " + "; ".join(words) + ". A commit with + had changes in `src` that were not committed."


def _several(values: Iterable[object]) -> str:
    return ", ".join(dict.fromkeys(map(str, values)))


def _plans(files: dict[str, Results]) -> str:
    rows = ["| plan | what | cells | done | failed or refused | over time | not run |", "|---|---|---:|---:|---:|---:|---:|"]
    for plan in (one for one in PLANS.values() if one.file in files):  # other plans have pages of their own
        beside = files[plan.beside].lines if plan.beside else []
        known = {line["cell"]: line["status"] for line in [*beside, *files[plan.file].lines]}
        endings = [known.get(cell.key) for cell in plan.cells]
        done, late, absent = (endings.count(kind) for kind in ("done", "timeout", None))
        failed = len(endings) - done - late - absent
        rows.append(f"| {plan.name} | {plan.about} | {len(endings)} | {done} | {failed} | {late} | {absent} |")
    return "\n".join(rows)
