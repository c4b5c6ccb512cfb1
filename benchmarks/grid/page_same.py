"""Ours beside the peers' implementations of the same name, on the results page: error, time, and which is the better."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from grid.plans import SAME
from grid.results import Evidence, Results, Setting
from grid.summary import ending

MEASURES = {"error (L1)": ("error", "l1"), "CPU seconds": ("cpu_seconds",)}
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


def worse_than_same(evidence: Evidence) -> Iterator[str]:
    """Where a peer's error or time is below that of ours of the same name."""
    results = Results([*evidence.peers.lines, *evidence.same.lines])
    for ours, theirs in SAME.items():
        for peer, (what, path) in product(theirs, MEASURES.items()):
            mine, other = evidence.same.trials(SETTING, ours, *path), results.trials(SETTING, peer, *path)
            if mine and other and np.mean(other) < np.mean(mine):
                against = f"{np.mean(other):.4g} against {np.mean(mine):.4g}"
                yield f"{what} of {peer} is below that of our {ours}: adult, all-3way, ε = 1: {against}"


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
