"""A release in a few lines: for a console, and for a notebook. Public."""

from __future__ import annotations

from html import escape

import pyarrow as pa

from understudy.quantities import percent, show_size
from understudy.release.promise import UNITS, confidence, parameters
from understudy.release.record import Record

STYLE = "border:2px solid #b00020;color:#b00020;padding:.4em;font-weight:bold"


def as_text(record: Record) -> str:
    """Return a few lines for a console."""
    lines = [f"Release: {record.table.rows:,} synthetic rows"]
    lines += [f"  {name:<9} {value}" for name, value in _facts(record)]
    return "\n".join(lines if record.private else [f"*** {record.notice} ***", *lines])


def as_html(record: Record, head: pa.Table) -> str:
    """Return a small page for a notebook: the facts, and the first synthetic rows."""
    warning = "" if record.private else f'<p style="{STYLE}">{escape(record.notice)}</p>'
    facts = "".join(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in _facts(record))
    names = "".join(f"<th>{escape(name)}</th>" for name in head.column_names)
    rows = "".join(
        "<tr>" + "".join(f"<td>{escape('' if value is None else str(value))}</td>" for value in row.values()) + "</tr>"
        for row in head.to_pylist()
    )
    return (
        f"{warning}<p><b>Release</b>: {record.table.rows:,} synthetic rows</p><table>{facts}</table>"
        f"<table><tr>{names}</tr>{rows}</table>"
    )


def _facts(record: Record) -> list[tuple[str, str]]:
    privacy, model = record.privacy, record.model
    promise = parameters(privacy)
    rounds = len(record.rounds)
    how = f"{record.mechanism.name}, {rounds} round{'s' * (rounds != 1)}, {len(record.charges)} charges"
    asked = {tuple(query.attributes) for query in record.workload.marginals}
    shares = sorted(b.table / max(record.table.total, 1.0) for b in record.bounds if tuple(b.columns) in asked)
    middle, worst = (percent(shares[len(shares) // 2]), percent(shares[-1])) if shares else ("", "")
    spread = f"; of the workload's, the middle one {middle} and the worst {worst} of the rows" if shares else ""
    return [
        ("privacy", promise if record.private else f"none promised; spent as if {promise}"),
        ("unit", UNITS[privacy.unit]),
        ("made by", how),
        ("model", f"{len(model.cliques)} cliques, {show_size(model.size)}, {model.measured} noisy marginals"),
        ("bounds", f"{len(record.bounds):,} marginals at {confidence(record.confidence)}{spread}"),
    ]
