"""Ours beside the peers' implementations of the same name, on the results page: error, time, and which is the better."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from grid.plans import SAME
from grid.results import Evidence, Results, Setting
from grid.summary import ending

SETTING: Setting = ("adult", "all-3way", 1.0)
NOTE = (
    "`make bench-grid PLAN=same`: adult, all-3way, ε = 1. Mean errors, with the number of trials; CPU seconds of a run, the "
    "peers' with their imports. Over ours: above 1, ours is the better. Peers that ran out of time have no error; what they "
    "had spent by then is the least that they take. What each was asked for is under Peers below."
)


def same_section(evidence: Evidence) -> str:
    """The table; empty where nothing was run."""
    results = Results([*evidence.peers.lines, *evidence.same.lines])
    rows = [row for ours, theirs in SAME.items() for row in _rows(results, evidence.same, ours, theirs)]
    if not rows:
        return ""
    head = ["| ours | error | CPU, s | peer | error | CPU, s | error over ours | time over ours |"]
    head.append("|---|---:|---:|---|---:|---:|---:|---:|")
    none = ", ".join(f"`{ours}`" for ours, theirs in SAME.items() if not theirs)
    alone = f"Of {none} no implementation was found that can be installed from a package index."
    return "## Ours beside the peers of the same name\n\n" + "\n".join([NOTE, "", alone, "", *head, *rows])


def _rows(results: Results, own: Results, ours: str, theirs: list[str]) -> Iterator[str]:
    errors, seconds = own.trials(SETTING, ours), own.trials(SETTING, ours, "cpu_seconds")
    if not errors:
        return
    start = f"| `{ours}` | {_error(errors)} | {np.mean(seconds):.1f} |"
    if not any(results.groups.get((*SETTING[:2], peer, SETTING[2])) for peer in theirs):
        yield f"{start} {'not run' if theirs else 'none'} | | | | |"
    for peer in theirs:
        found = results.groups.get((*SETTING[:2], peer, SETTING[2]), [])
        known, spent = results.trials(SETTING, peer), results.trials(SETTING, peer, "cpu_seconds")
        if known:
            ratios = f"{np.mean(known) / np.mean(errors):.2f} | {np.mean(spent) / np.mean(seconds):.0f}"
            yield f"{start} {peer} | {_error(known)} | {np.mean(spent):.0f} | {ratios} |"
        elif found:
            least = max((line.get("progress") or {}).get("seconds", 0.0) for line in found)
            yield f"{start} {peer} | {ending(found[0])} | > {least:.0f} | | > {least / np.mean(seconds):.0f} |"


def _error(trials: list[float]) -> str:
    return f"{np.mean(trials):.4f} ({len(trials)})"
