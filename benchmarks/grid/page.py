"""Writes docs/results.md from the stored results: what is worse first. Every figure comes from a file; none is typed in."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from grid import figure_data, provenance_page, store
from grid.page_peers import peer_sections, worse_than_peers
from grid.paper import Found, Row, rows
from grid.results import Evidence, Results
from grid.summary import ending, table

EXPLANATIONS = Path(__file__).with_name("explanations.toml")
HEAD = """# Results

Written by `make results` from the files in `benchmarks/results/`; nothing on this page is typed in by hand.
`make bench-quick` repeats the quick table, `make bench-grid` goes on with the whole plan, `make bench-peers` runs the peers,
`make bench-micro` says what got slower.

**Not private.** All runs here are seeded, so that they can be repeated, and compare with exact counts of public research
tables. Error is the paper's Definition "Workload Error", of the synthetic table unless said; δ = 1e-9.
"""


def page(evidence: Evidence) -> str:
    """The whole page."""
    parts = [HEAD, worse(evidence), paper_table(evidence.ours), grid_tables(evidence.ours), own_worse(evidence.ours)]
    parts += [quick(evidence.quick), *peer_sections(evidence), downstream(evidence), figures(evidence)]
    parts += [provenance_page.section(evidence)]
    return "\n".join(part.rstrip() + "\n" for part in parts if part)


def worse(evidence: Evidence) -> str:
    """Where ours is worse than the paper or a peer; the first thing to read."""
    ours = evidence.ours
    why = explanations()
    lines = [
        _worse_line(row, found, why.get(row.key, ""))
        for row in rows()
        if (found := row.ours(ours)) is not None and row.worse(found)
    ]
    lines += worse_than_peers(evidence)
    measured = sum(row.ours(ours) is not None for row in rows())
    told = f"Of the {len(rows())} figures that the paper states in its text, {measured} were measured here."
    if not lines:
        return f"## Where ours is worse\n\n{told} Nothing measured so far is worse than the paper or a peer."
    return f"## Where ours is worse\n\n{told}\n\n" + "\n".join(f"- {line}" for line in lines)


def _worse_line(row: Row, found: Found, why: str) -> str:
    return f"{row.what}: ours {found}, the paper {row.said or f'{row.paper:g}'} ({found.over}). {why}".rstrip()


def explanations() -> dict[str, str]:
    """By row; see the file itself."""
    return tomllib.loads(EXPLANATIONS.read_text(encoding="utf-8"))


def paper_table(results: Results) -> str:
    """Every stated figure beside ours."""
    why = explanations()
    lines = ["| figure | paper | ours | over | why it differs |", "|---|---:|---:|---|---|"]
    for row in rows():
        found = row.ours(results)
        shown = (str(found), found.over) if found else (row.absent, "")
        mark = " (worse)" if found and row.worse(found) else ""
        stated = row.said or f"{row.paper:g}"
        lines.append(f"| {row.what} | {stated} | {shown[0]}{mark} | {shown[1]} | {why.get(row.key, '')} |")
    note = (
        "Ratios are geometric means over settings, above 1 when the element helps. What is not measured yet is not claimed."
    )
    return f"## Figures that the paper states, beside ours\n\n{note}\n\n" + "\n".join(lines)


MAIN = ("aim", "mwem", "independent", "gaussian", "gaussian+pgm")


def grid_tables(results: Results) -> str:
    """Error by table, ε and mechanism, one table a workload; then time and memory of AIM."""
    parts = ["## The grid"]
    for workload in dict.fromkeys(w for _, w, _, _ in results.groups):
        parts.append(f"### {workload}\n\n{_errors(results, workload)}")
    parts.append(f"### Cost of AIM\n\n{_cost(results)}")
    refused = "\n".join(f"- {line}" for line in _refusals(results.lines))
    if refused:
        parts.append(f"### Cells without a result\n\n{refused}")
    return "\n\n".join(parts) if len(parts) > 2 else ""


def _errors(results: Results, workload: str) -> str:
    known = [m for m in MAIN if any(key[1:3] == (workload, m) for key in results.groups)]
    lines = ["| table | ε | " + " | ".join(known) + " | trials |", "|---|---:|" + "---:|" * (len(known) + 1)]
    settings = dict.fromkeys((d, w, e) for d, w, m, e in results.groups if w == workload and m in known)
    order = list(dict.fromkeys(s[0] for s in settings))
    for setting in sorted(settings, key=lambda s: (order.index(s[0]), s[2])):
        cells = [_error(results, setting, name) for name in known]
        counts = [len(results.trials(setting, name)) for name in known if results.trials(setting, name)]
        spread = f"{min(counts)}" if min(counts, default=0) == max(counts, default=0) else f"{min(counts)} to {max(counts)}"
        lines.append(f"| {setting[0]} | {setting[2]:g} | " + " | ".join(cells) + f" | {spread} |")
    return "Mean error, with the least and the most of the trials. Gaussian gives answers, no table.\n\n" + "\n".join(lines)


def _error(results: Results, setting: tuple[str, str, float], name: str) -> str:
    found = results.trials(setting, name)
    if found:
        return f"{np.mean(found):.4f} ({min(found):.4f} to {max(found):.4f})" if len(found) > 1 else f"{found[0]:.4f}"
    lines = results.groups.get((setting[0], setting[1], name, setting[2]))
    return ending(lines[0]) if lines else ""


def _cost(results: Results) -> str:
    lines = ["| table | workload | ε | s | CPU, s | peak, MB | rounds | tree, MB | subsampling fraction | at once |"]
    lines.append("|---|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    for (dataset, workload, mechanism, epsilon), found in results.groups.items():
        setting = (dataset, workload, epsilon)
        if mechanism != "aim" or not results.trials(setting, "aim"):
            continue
        mean = [results.mean(setting, "aim", key) for key in ("seconds", "cpu_seconds", "peak_mb", "rounds", "tree_mb")]
        shown = [f"{m:,.3g}" if m is not None and m < 1000 else f"{m or 0:,.0f}" for m in mean]
        fraction = results.fraction(setting, "aim")
        several = max(line["jobs"] for line in found)
        lines.append(f"| {dataset} | {workload} | {epsilon:g} | " + " | ".join(shown) + f" | {fraction:.3g} | {several} |")
    note = 'Means of the trials, from the open table to the records. "At once" is how many cells ran beside each other.'
    return note + "\n\n" + "\n".join(lines)


def _refusals(lines: Iterable[store.Line]) -> Iterator[str]:
    """Messages, each with the cells that ended so."""
    by_message: dict[str, list[str]] = {}
    for line in lines:
        if line["status"] != "done":
            where = f"{line['dataset']} {line['workload']} {line['mechanism']}"
            far = f" (got to {_progress(line)})" if line.get("progress") else ""
            by_message.setdefault(f"{line['message']}{far}", []).append(f"{where} ε = {line['epsilon']:g}")
    for message, cells in by_message.items():
        unique = list(dict.fromkeys(cells))
        shown = "; ".join(unique[:6]) + (f" and {len(unique) - 6} more" if len(unique) > 6 else "")
        yield f"{shown}: {message}"


def _progress(line: store.Line) -> str:
    return ", ".join(
        f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}" for key, value in line["progress"].items()
    )


def own_worse(results: Results) -> str:
    """Where a simpler mechanism of ours does better than AIM: not a comparison with anyone, but worth knowing."""
    lines = []
    for name in MAIN[1:]:
        for setting in results.settings("aim", name):
            ratio = results.ratio(setting, "aim", name)
            if ratio > 1:
                lines.append(
                    f"- {setting[0]}, {setting[1]}, ε = {setting[2]:g}: AIM has {ratio:.2f} times the error of {name}"
                )
    if not lines:
        return ""
    return "## Where AIM does worse than a simpler mechanism of ours\n\n" + "\n".join(lines)


def quick(results: Results) -> str:
    """The table that ``make bench-quick`` prints."""
    return f"## Quick run\n\n`make bench-quick`, three trials.\n\n{table(results.lines)}" if results.lines else ""


def downstream(evidence: Evidence) -> str:
    """Train on synthetic, test on real."""
    if evidence.downstream is None or "table" not in evidence.downstream:
        return ""
    found = evidence.downstream
    sources = list(dict.fromkeys(row["trained_on"] for row in found["table"]))
    lines = ["| learner | on real test rows | " + " | ".join(sources) + " |", "|---|---|" + "---:|" * len(sources)]
    values = {(row["learner"], row["measure"], row["trained_on"]): row["value"] for row in found["table"]}
    for learner, measure in dict.fromkeys((row["learner"], row["measure"]) for row in found["table"]):
        cells = [f"{values[learner, measure, source]:.4f}" for source in sources]
        lines.append(f"| {learner} | {measure} | " + " | ".join(cells) + " |")
    words = ", ".join(f"{name} {error:.4f}" for name, error in found["workload_error"].items())
    return (
        f"## Train on synthetic, test on real\n\n`make bench-downstream`, {found['when']}: the adult census table as it "
        f"comes, ε = 1. Workload error of the same synthetic tables: {words}.\n\n" + "\n".join(lines)
    )


def figures(evidence: Evidence) -> str:
    """Those whose data exist."""
    found = figure_data.available(evidence.ours)
    lines = [f"![{figure.title}](figures/{name}.svg)\n\n{figure.caption}" for name, figure in found.items()]
    return "## Figures\n\n" + "\n\n".join(lines) if lines else ""
