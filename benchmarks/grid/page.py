"""Writes docs/results.md from the stored results: what is worse first. Every figure comes from a file; none is typed in."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from grid import figure_data, provenance_page, store
from grid.cells import ESTIMATED, FAMILY, OURS
from grid.page_below import ERRORS, below
from grid.page_peers import peer_sections, worse_than_peers
from grid.page_ratios import ratio_section
from grid.page_same import same_section, worse_than_same
from grid.paper import Found, Row, rows
from grid.results import Evidence, Results, Setting
from grid.summary import ending, table

EXPLANATIONS = Path(__file__).with_name("explanations.toml")
HEAD = """# Results

Written by `make results` from the files in `benchmarks/results/`; nothing on this page is typed in by hand.
`make bench-quick` repeats the quick table, `make bench-grid` goes on with the whole plan, `make bench-peers` runs the peers,
`make bench-micro` says what got slower.

**Not private.** Our runs are seeded, so that they can be repeated; of the peers' noise, see the notes below. All compare
with exact counts of public research tables. Error is the paper's Definition "Workload Error", of the synthetic table unless
said; δ = 1e-9.
"""


def page(evidence: Evidence) -> str:
    """The whole page."""
    parts = [HEAD, worse(evidence), paper_table(evidence.everyone), grid_tables(evidence.ours), own_worse(evidence.ours)]
    parts += [
        ratio_section(evidence),
        quick(evidence.quick),
        same_section(evidence),
        *peer_sections(evidence),
        downstream(evidence),
        figures(evidence),
    ]
    parts += [provenance_page.section(evidence)]
    return "\n".join(part.rstrip() + "\n" for part in parts if part)


def worse(evidence: Evidence) -> str:
    """Where ours is worse than the paper or a peer; the first thing to read."""
    results = evidence.everyone
    known = [(row, found) for row in rows() if (found := row.ours(results)) is not None]
    lines = [_worse_line(row, found, explanation(row.key)) for row, found in known if row.worse(found)]
    lines += [*worse_than_peers(evidence), *worse_than_same(evidence)]
    told = f"{len(rows())} figures from the paper's text are in the table below; {len(known)} of them were measured here."
    if not lines:
        return f"## Where ours is worse\n\n{told} Nothing measured so far is worse than the paper or a peer."
    return f"## Where ours is worse\n\n{told}\n\n" + "\n".join(f"- {line}" for line in lines)


def _worse_line(row: Row, found: Found, why: str) -> str:
    return f"{row.what}: ours {found}, the paper {row.stated} ({found.over}). {why}".rstrip()


def explanations() -> dict[str, str]:
    """By row, or by what the keys of several rows begin with; see the file itself."""
    return tomllib.loads(EXPLANATIONS.read_text(encoding="utf-8"))


def explained_by(key: str) -> str | None:
    """Which explanation is a row's: that of its key, or else of the longest part that it begins with, up to a hyphen."""
    return max((known for known in explanations() if f"{key}-".startswith(f"{known}-")), key=len, default=None)


def explanation(key: str) -> str:
    """A row's; empty where there is none."""
    known = explained_by(key)
    return explanations()[known] if known else ""


def paper_table(results: Results) -> str:
    """Every stated figure beside ours."""
    lines = ["| figure | paper | ours | over | why it differs |", "|---|---:|---:|---|---|"]
    for row in rows():
        found = row.ours(results)
        shown = (str(found), found.over) if found else (row.absent, "")
        mark = " (worse)" if found and row.worse(found) else ""
        why = "" if found is None and row.absent == Row.absent else explanation(row.key)
        lines.append(f"| {row.what} | {row.stated} | {shown[0]}{mark} | {shown[1]} | {why} |")
    note = (
        "Ratios are geometric means over settings, above 1 when the element helps. What is not measured yet is not claimed."
    )
    return f"## Figures that the paper states, beside ours\n\n{note}\n\n" + "\n".join(lines)


def grid_tables(results: Results) -> str:
    """Error by table, ε and mechanism, one table a workload; then time and memory of AIM."""
    parts = ["## The grid"]
    for workload in dict.fromkeys(w for _, w, _, _ in results.groups):
        parts.append(f"### {workload}\n\n{_errors(results, workload)}")
    if others := _others(results):
        parts.append(f"### Other papers' mechanisms\n\n{others}")
    parts.append(f"### Cost of AIM\n\n{_cost(results)}")
    parts.append(f"### Bounds of AIM\n\n{_bounds(results)}")
    refused = "\n".join(f"- {line}" for line in _refusals(results.lines))
    if refused:
        parts.append(f"### Cells without a result\n\n{refused}")
    return "\n\n".join(parts) if len(parts) > 3 else ""


def _others(results: Results) -> str:
    """The same of other papers' mechanisms and of AIM with other estimators, all-3way, with AIM beside them."""
    names = [*FAMILY, *(f"aim:{name}" for name in ESTIMATED)]
    run = {key[:2] + key[3:] for key in results.groups if key[2] in names}
    some = Results(line for line in results.lines if (line["dataset"], line["workload"], line["epsilon"]) in run)
    return _errors(some, "all-3way", ("aim", *names)) if run else ""


def _errors(results: Results, workload: str, names: Sequence[str] = OURS) -> str:
    known = [m for m in names if any(key[1:3] == (workload, m) for key in results.groups)]
    lines = ["| table | ε | " + " | ".join(known) + " | trials |", "|---|---:|" + "---:|" * (len(known) + 1)]
    settings = dict.fromkeys((d, w, e) for d, w, m, e in results.groups if w == workload and m in known)
    order = list(dict.fromkeys(s[0] for s in settings))
    for setting in sorted(settings, key=lambda s: (order.index(s[0]), s[2])):
        cells = [_error(results, setting, name) for name in known]
        counts = [len(results.trials(setting, name)) for name in known if results.trials(setting, name)] or [0]
        spread = f"{min(counts)}" if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
        lines.append(f"| {setting[0]} | {setting[2]:g} | " + " | ".join(cells) + f" | {spread} |")
    return "Mean error, with the least and the most of the trials. Gaussian gives answers, no table.\n\n" + "\n".join(lines)


def _error(results: Results, setting: tuple[str, str, float], name: str) -> str:
    found = results.trials(setting, name)
    if found:
        return f"{np.mean(found):.4f} ({min(found):.4f} to {max(found):.4f})" if len(found) > 1 else f"{found[0]:.4f}"
    lines = results.groups.get((setting[0], setting[1], name, setting[2]))
    return ending(lines[0]) if lines else ""


def _in_order(results: Results) -> list[Setting]:
    """Settings of AIM by table, workload and ε."""
    tables, workloads = (list(dict.fromkeys(key[k] for key in results.groups)) for k in (0, 1))
    return sorted(results.settings("aim"), key=lambda s: (tables.index(s[0]), workloads.index(s[1]), s[2]))


def _bounds(results: Results) -> str:
    lines = ["| table | workload | ε | supported | unsupported | bounds | exceeded | trials |"]
    lines.append("|---|---|---:|---:|---:|---:|---:|---:|")
    for setting in _in_order(results):
        exceeded = results.trials(setting, "aim", "bounds", "exceeded")
        kinds = ("supported", "unsupported")
        medians = [results.mean(setting, "aim", "bounds", "medians", kind) for kind in kinds]
        counts = sum(sum(results.trials(setting, "aim", "bounds", "counts", kind)) for kind in kinds)
        shown = " | ".join("" if median is None else f"{median:.2f}" for median in medians)
        where = f"{setting[0]} | {setting[1]} | {setting[2]:g}"
        lines.append(f"| {where} | {shown} | {counts:,.0f} | {sum(exceeded):.0f} | {len(exceeded)} |")
    note = (
        "The median over the marginals of the 95 % bound over the true error, averaged over the trials; then the bounds "
        "of all trials, and how many true errors are above theirs (5 % may be)."
    )
    return note + "\n\n" + "\n".join(lines)


def _cost(results: Results) -> str:
    lines = ["| table | workload | ε | s | CPU, s | peak, MB | rounds | tree, MB | subsampling fraction | at once |"]
    lines.append("|---|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    for setting in _in_order(results):
        dataset, workload, epsilon = setting
        found = results.groups[dataset, workload, "aim", epsilon]
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
    lines = "\n".join(f"- {line}" for line in below(results, OURS[1:], ERRORS))
    note = "The Gaussian mechanism (gaussian) gives answers and no table."
    return f"## Where AIM does worse than a simpler mechanism of ours\n\n{note}\n\n{lines}" if lines else ""


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
        f"## Train on synthetic, test on real\n\n`make bench-downstream`, {_run(found)}: the adult census table as it "
        f"comes, ε = 1. Workload error of the same synthetic tables: {words}.\n\n" + "\n".join(lines)
    )


def _run(found: dict[str, Any]) -> str:
    """When, for how long, on which code and machine: what of these is known."""
    parts = [found["when"]]
    if "seconds" in found:
        parts.append(f"{found['seconds']:.0f} s")
    if "commit" in found.get("versions", {}):
        parts.append(f"commit {found['versions']['commit']}")
    if "machine" in found:
        parts.append(provenance_page.machine(found["machine"]))
    return ", ".join(parts)


def figures(evidence: Evidence) -> str:
    """Those whose data exist."""
    found = figure_data.available(evidence.ours)
    lines = [f"![{figure.title}](figures/{name}.svg)\n\n{figure.caption}" for name, figure in found.items()]
    return "## Figures\n\n" + "\n\n".join(lines) if lines else ""
