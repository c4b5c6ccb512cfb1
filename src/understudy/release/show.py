"""A release in a few lines: for a console, and for a notebook. Public."""

from __future__ import annotations

from html import escape

import pyarrow as pa

from understudy.manifest.manifest import Manifest
from understudy.manifest.promise import (
    FARTHEST,
    chosen_words,
    confidence,
    learning,
    opened_words,
    parameters,
    public_words,
    total_words,
    unit_words,
)
from understudy.quantities import percent, show_size

STYLE = "border:2px solid #b00020;color:#b00020;padding:.4em;font-weight:bold"


def as_text(manifest: Manifest) -> str:
    """Return a few lines for a console."""
    lines = [f"Release: {manifest.table.rows:,} synthetic row{'s' * (manifest.table.rows != 1)}"]
    lines += [f"  {name:<9} {value}" for name, value in _facts(manifest)]
    return "\n".join(lines if manifest.private else [f"*** {manifest.notice} ***", *lines])


def as_html(manifest: Manifest, head: pa.Table) -> str:
    """Return a small page for a notebook: the facts, and the first synthetic rows."""
    warning = "" if manifest.private else f'<p style="{STYLE}">{escape(manifest.notice)}</p>'
    facts = "".join(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in _facts(manifest))
    names = "".join(f"<th>{escape(name)}</th>" for name in head.column_names)
    rows = "".join(
        "<tr>" + "".join(f"<td>{escape('' if value is None else str(value))}</td>" for value in row.values()) + "</tr>"
        for row in head.to_pylist()
    )
    return (
        f"{warning}<p><b>Release</b>: {manifest.table.rows:,} synthetic rows</p><table>{facts}</table>"
        f"<table><tr>{names}</tr>{rows}</table>"
    )


ALONE = "no two columns were measured together: each is made by itself"
_SMALL = "no two columns were measured together, for the budget is too small for so few rows: each is made by itself"


def _alone(manifest: Manifest) -> list[tuple[str, str]]:
    """Say that each column is made by itself, where pairs were asked for; and why, where that was nobody's choice."""
    cliques, workload = manifest.model.cliques, manifest.workload
    sizes = [len(one.attributes) for one in workload.marginals or ()] + ([workload.rule.size] if workload.rule else [])
    if not cliques or max(map(len, cliques)) > 1 or max(sizes) < 2:
        return []
    how = manifest.mechanism
    named = how.name == "independent" and not how.forecasts
    return [("alone", ALONE if named or how.ended == "time" else _SMALL)]


def _facts(manifest: Manifest) -> list[tuple[str, str]]:
    privacy, model = manifest.privacy, manifest.model
    promise = parameters(privacy)
    what = model.kind if model.components or model.regions else f"{len(model.cliques)} cliques"
    rounds = len(manifest.rounds)
    in_rounds = f", {rounds} round{'s' * (rounds != 1)}" if rounds else ""
    how = f"{manifest.mechanism.name}{in_rounds}, {len(manifest.charges)} charges"
    shares = sorted(b.table / max(manifest.table.total, 1.0) for b in manifest.workload_bounds())
    middle, worst = (percent(shares[len(shares) // 2]), percent(shares[-1])) if shares else ("", "")
    asked = manifest.workload_marginals()
    whose = "of the workload's" if len(shares) == asked else f"of {len(shares):,} of the workload's {asked:,}"
    spread = f"; {whose}, the middle one {middle} and the worst {worst} of the rows" if shares else ""
    spread += "; a bound above 200% says nothing" if shares and shares[-1] > FARTHEST else ""
    return [
        ("privacy", promise if manifest.private else f"none promised; spent as if {promise}"),
        *([("schema", learnt)] if (learnt := learning(manifest)) is not None else []),
        *([("open", opened)] if (opened := opened_words(manifest)) else []),
        ("unit", unit_words(privacy)),
        ("made by", how),
        *([("chosen", words)] if (words := chosen_words(manifest.mechanism)) else []),
        *([] if manifest.public is None else [("public", public_words(manifest.public))]),
        ("model", f"{what}, {show_size(model.size)}, {model.measured} noisy answers"),
        *([] if manifest.table.told else [("rows", f"of the private table: {total_words(manifest)}")]),
        *_alone(manifest),
        ("bounds", f"{len(manifest.bounds):,} marginals at {confidence(manifest.confidence)}{spread}"),
    ]
