"""Results in a few words for a terminal: a line a cell, a table a plan, and what a second run says of the first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from grid.store import Line

SAME = 1e-9
"""Errors of a repeated cell that differ by less than this, relatively, count as the same."""


def one_line(line: Line) -> str:
    """A cell that has just ended."""
    if line["status"] != "done":
        return f"{line['cell']}: {line['status'].upper()} after {line['seconds']:.0f} s: {line['message']}"
    result = line["result"]
    return f"{line['cell']}: error {result['error']['l1']:.4f}, {result['seconds']:.1f} s, {result['peak_mb']:.0f} MB"


def groups(lines: Iterable[Line]) -> dict[tuple[str, str, str, float], list[Line]]:
    """Lines by table, workload, mechanism and ε; their trials together."""
    found: dict[tuple[str, str, str, float], list[Line]] = defaultdict(list)
    for line in lines:
        found[line["dataset"], line["workload"], line["mechanism"], line["epsilon"]].append(line)
    return dict(found)


def values(lines: Iterable[Line], *path: str) -> list[float]:
    """A figure of every trial that has it."""
    found = []
    for line in lines:
        value: Any = line["result"] if line["status"] == "done" else None
        for word in path:
            value = value.get(word) if isinstance(value, Mapping) else None
        if value is not None:
            found.append(float(value))
    return found


def table(lines: Iterable[Line]) -> str:
    """Error, time and memory of each group: as Markdown, which reads well as plain text too."""
    rows = ["| table | workload | ε | mechanism | error, mean | least to most | L2 | max | s | peak, MB | rounds | trials |"]
    rows.append("|---|---|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    for (name, workload, mechanism, epsilon), found in groups(lines).items():
        done = values(found, "error", "l1")
        start = f"| {name} | {workload} | {epsilon:g} | {mechanism} |"
        if not done:
            rows.append(f"{start} {ending(found[0])} | | | | | | | 0 of {len(found)} |")
            continue
        figures = [np.mean(values(found, "error", kind)) for kind in ("l2", "max")]
        used = [np.mean(values(found, "seconds")), max(values(found, "peak_mb"))]
        rounds = values(found, "rounds")
        rows.append(
            f"{start} {np.mean(done):.4f} | {min(done):.4f} to {max(done):.4f} | {figures[0]:.4f} | {figures[1]:.4f} "
            f"| {used[0]:.1f} | {used[1]:.0f} | {f'{np.mean(rounds):.0f}' if rounds else ''} | {len(done)} of {len(found)} |"
        )
    return "\n".join(rows)


def ending(line: Line) -> str:
    """Why there is no figure, short enough for a table."""
    words = {"timeout": "not finished", "failed": "refused or failed", "killed": "ended by the system"}
    return words.get(line["status"], str(line["status"]))


def compared(lines: Iterable[Line], before: Mapping[str, Line]) -> str:
    """Whether a repeated run gave the same errors, and how its time compares."""
    done = [line for line in lines if line["status"] == "done"]
    both = [(line, before[line["cell"]]) for line in done if before.get(line["cell"], {}).get("status") == "done"]
    if not both:
        return "Nothing to compare with."
    pairs = [(now["result"], then["result"]) for now, then in both]
    same = sum(np.isclose(now["error"]["l1"], then["error"]["l1"], rtol=SAME, atol=0.0) for now, then in pairs)
    ratio = float(np.exp(np.mean([np.log(now["seconds"] / then["seconds"]) for now, then in pairs])))
    codes = sorted({str(line["versions"].get("commit")) for pair in both for line in pair})
    differ = f" The code differs between them: {', '.join(codes)}." if len(codes) > 1 else ""
    return (
        f"Beside the run before: {same} of {len(both)} cells have the same error; time is {ratio:.2f} times as long.{differ}"
    )
