"""The peers on the results page: who did better than ours and where, and how each cell of theirs ended."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from grid.page_below import MEASURES, below, unfinished
from grid.results import LAUNCHER_MB, Evidence, Results, Setting
from grid.store import Line
from peers import environments


def worse_than_peers(evidence: Evidence) -> list[str]:
    """Where a peer's error, time or memory is below that of our AIM in the same run, or only the peer finished."""
    names = peers(evidence.peers)
    return [*below(evidence.peers, names, MEASURES), *unfinished(evidence.peers, names)]


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
    tables = list(dict.fromkeys(dataset for dataset, *_ in results.groups))
    for key in sorted(results.groups, key=lambda key: (tables.index(key[0]), key[3], key[2])):
        dataset, workload, mechanism, epsilon = key
        if "/" in mechanism:
            setting, found = (dataset, workload, epsilon), results.groups[key]
            lines.append(f"| {dataset} | {epsilon:g} | {mechanism} | {_cells(results, setting, mechanism, found)} |")
    yield (
        "## Peers\n\n`make bench-peers`: each library in an environment of its own, the same table, ε, δ and workload; its "
        "synthetic codes are compared by the same code as ours. Time counts from after its imports and the reading of the "
        f"table, as ours does; memory is the peak of its process. {_unknown(results)}Versions: {_pinned()}; all that they "
        "stand on is pinned in `benchmarks/peers/pins`.\n\n" + "\n".join(lines)
    )
    told = "\n".join(f"- {line}" for line in notes(Results([*results.lines, *evidence.same.lines])))
    if told:
        yield f"### Where a peer was not asked quite the same\n\n{told}"
    endings = list(
        dict.fromkeys(_ending(line) for line in results.lines if "/" in line["mechanism"] and line["status"] != "done")
    )
    if endings:
        yield "### Peers that failed or did not finish\n\n" + "\n".join(f"- {line}" for line in endings)


def _unknown(results: Results) -> str:
    """A sentence where the memory of a finished cell is not known exactly."""
    if not any(results.memory_at_most((d, w, e), m) for d, w, m, e in results.groups):
        return ""
    return (
        f"Where an older result says less than {LAUNCHER_MB:.0f} MB, that may be the peak of the process that started it: "
        "it is then marked ≤, and compared as it is. "
    )


def _pinned() -> str:
    return ", ".join(f"{peer.distribution} {peer.version}" for peer in environments.PEERS.values())


def notes(results: Results) -> list[str]:
    """What the peers' scripts say of how they differ, each once."""
    done = [line for line in results.lines if "/" in line["mechanism"] and line["status"] == "done"]
    return list(dict.fromkeys(f"{line['mechanism']}: {note}" for line in done for note in line["result"].get("notes", [])))


def _cells(results: Results, setting: Setting, name: str, found: list[Line]) -> str:
    done = results.trials(setting, name)
    ours = [_short(MEASURES[m](results, setting, "aim")) for m in ("error (L1)", "time", "memory")]
    beside = "; ".join(ours) if results.trials(setting, "aim") else "not run"
    if not done:
        return f"{found[0]['status']} | | | 0 of {len(found)} | {beside}"
    used = [_short(MEASURES[m](results, setting, name)) for m in ("time", "memory")]
    used[1] = f"≤ {used[1]}" if results.memory_at_most(setting, name) else used[1]
    return f"{np.mean(done):.4f} | {' | '.join(used)} | {len(done)} of {len(found)} | {beside}"


def _short(trials: list[float]) -> str:
    """Their mean; empty where there is none."""
    value = np.mean(trials) if trials else None
    return "" if value is None else f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _ending(line: Line) -> str:
    progress: dict[str, Any] = line.get("progress") or {}
    known = {"rounds": "round {}", "seconds": "{} s"}
    reached = [words.format(progress[key]) for key, words in known.items() if key in progress]
    got = ", ".join([*reached, *_peak(progress)])
    far = f"; got to {got}" if got else ""
    where = f"{line['dataset']}, ε = {line['epsilon']:g}, trial {line['trial']}"
    return f"{line['mechanism']}, {where}: {line['message']}{far}"


def _peak(progress: dict[str, Any]) -> list[str]:
    own, older = progress.get("own_peak_mb"), progress.get("peak_mb")
    if own is None and older is None:
        return []
    return [f"{own} MB" if own is not None else f"{'≤ ' * (older < LAUNCHER_MB)}{older} MB"]
