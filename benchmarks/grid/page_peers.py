"""The peers on the results page: who did better than ours and where, and how each cell of theirs ended."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from grid.results import Evidence, Results, Setting
from grid.store import Line

MEASURES = {"error": ("error", "l1"), "time": ("seconds",), "memory": ("peak_mb",)}


def worse_than_peers(evidence: Evidence) -> list[str]:
    """Cells where a peer's error, time or memory is below that of our AIM in the same run."""
    results, lines = evidence.peers, []
    for name in peers(results):
        for setting in results.settings(name, "aim"):
            for measure, path in MEASURES.items():
                theirs, ours = results.mean(setting, name, *path), results.mean(setting, "aim", *path)
                if theirs is not None and ours is not None and theirs < ours:
                    lines.append(f"{_where(setting)}: {measure} of AIM {ours:.4g}, of {name} {theirs:.4g}{_unit(measure)}")
    return lines


def peers(results: Results) -> list[str]:
    """Other libraries' mechanisms with any line."""
    return [name for name in results.mechanisms() if "/" in name]


def peer_sections(evidence: Evidence) -> Iterator[str]:
    """One table: every cell of the plan, ours in the same run."""
    results = evidence.peers
    if not results.lines:
        return
    lines = ["| table | ε | mechanism | error | s | peak, MB | finished | ours, AIM: error; s; MB |"]
    lines.append("|---|---:|---|---:|---:|---:|---:|---|")
    for (dataset, workload, mechanism, epsilon), found in results.groups.items():
        if "/" in mechanism:
            setting = (dataset, workload, epsilon)
            lines.append(f"| {dataset} | {epsilon:g} | {mechanism} | {_cells(results, setting, mechanism, found)} |")
    yield (
        "## Peers\n\n`make bench-peers`: each library in an environment of its own, the same table, ε, δ and workload; its "
        "synthetic codes are compared by the same code as ours. Time and memory of a peer are those of its process.\n\n"
        + "\n".join(lines)
    )
    notes = "\n".join(f"- {line}" for line in _notes(results))
    if notes:
        yield f"### Where a peer was not asked quite the same\n\n{notes}"
    endings = list(
        dict.fromkeys(_ending(line) for line in results.lines if "/" in line["mechanism"] and line["status"] != "done")
    )
    if endings:
        yield "### Peers that failed or did not finish\n\n" + "\n".join(f"- {line}" for line in endings)


def _notes(results: Results) -> list[str]:
    """What the peers' scripts say of how they differ, each once."""
    done = [line for line in results.lines if "/" in line["mechanism"] and line["status"] == "done"]
    return list(dict.fromkeys(f"{line['mechanism']}: {note}" for line in done for note in line["result"].get("notes", [])))


def _cells(results: Results, setting: Setting, name: str, found: list[Line]) -> str:
    done = results.trials(setting, name)
    ours = [results.mean(setting, "aim", *path) for path in MEASURES.values()]
    beside = "; ".join(_short(value) for value in ours) if ours[0] is not None else "not run"
    if not done:
        return f"{found[0]['status']} | | | 0 of {len(found)} | {beside}"
    used = [_short(results.mean(setting, name, *MEASURES[m])) for m in ("time", "memory")]
    return f"{np.mean(done):.4f} | {' | '.join(used)} | {len(done)} of {len(found)} | {beside}"


def _short(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _ending(line: Line) -> str:
    progress: dict[str, Any] = line.get("progress") or {}
    known = {"rounds": "round {}", "seconds": "{} s", "peak_mb": "{} MB"}
    got = ", ".join(words.format(progress[key]) for key, words in known.items() if key in progress)
    far = f"; got to {got}" if got else ""
    where = f"{line['dataset']}, ε = {line['epsilon']:g}, trial {line['trial']}"
    return f"{line['mechanism']}, {where}: {line['message']}{far}"


def _where(setting: Setting) -> str:
    return f"{setting[0]}, {setting[1]}, ε = {setting[2]:g}"


def _unit(measure: str) -> str:
    return {"error": "", "time": " s", "memory": " MB"}[measure]
