"""``understudy query``: a marginal of the model with its bound. Public, at no cost in privacy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from understudy.cli.options import FOLDER, as_json, print_json, warn
from understudy.errors import UserError
from understudy.manifest import NOT_PRIVATE
from understudy.manifest.promise import confidence, counted_words
from understudy.release import Answer, Figures, Release, load
from understudy.uncertainty import Intervals


@click.command(
    epilog="""\b
Examples:
  understudy query release age
  understudy query release age sex --all
  understudy query release region outcome --json
  understudy query release "mean(age) by region"
  understudy query release "quantile(age, 0.9) by sex" --least 100

\b
Exit status: 0 done; 2 wrong usage or input; 3 a fault of this software."""
)
@click.argument("folder", metavar="DIR", type=FOLDER)
@click.argument("columns", nargs=-1, required=True)
@click.option("--all", "all_", is_flag=True, help="All cells, not only the 40 largest.")
@click.option("--least", type=click.FloatRange(min=0), default=0, help="Leave out groups of fewer rows, of a figure.")
@as_json
def query(folder: Path, columns: tuple[str, ...], all_: bool, least: float, json_: bool) -> None:
    """Show how many rows have which values of COLUMNS, by the model of the release in DIR, and how far off that may be.

    Or a figure by groups: mean(age) by region. There are mean, total, median, quantile(age, 0.9), count and share; share(sex
    = F) is that of a value. Figures come without a bound.

    Intervals are for the private table's own counts, each by itself; they exist where a noisy marginal contains the columns.
    Where persons are protected, counts are of the rows that were used.
    """
    release = load(folder)
    if len(columns) == 1 and columns[0] not in release.domain and "(" in columns[0]:
        _show_figures(release.answer(columns[0], least=least), release, json_)
        return
    answer, intervals = release.marginal(*columns), intervals_of(release, columns)
    if json_:
        print_json(_described(answer, intervals))
        return
    if not release.private:
        warn(release.notice)
    Console().print(_table(answer, intervals, None if all_ else 40))
    _say(answer.promise(), release)


def _show_figures(found: Figures, release: Release, json_: bool) -> None:
    if json_:
        labels = [dict(zip(found.by, group, strict=True)) for group in found.groups]
        values = [value if isinstance(value, float) or value is None else str(value) for value in found.values.to_pylist()]
        cells = zip(labels, values, found.rows.tolist(), strict=True)
        listed = [{"group": group, "value": value, "rows": rows} for group, value, rows in cells]
        notice = "" if found.private else NOT_PRIVATE
        print_json({"private": found.private, "notice": notice, "query": found.query, "bound": None, "figures": listed})
        return
    if not release.private:
        warn(release.notice)
    table = Table()
    for name in found.by:
        table.add_column(escape(name), overflow="fold")
    table.add_column(escape(found.query), justify="right", overflow="fold")
    table.add_column("rows", justify="right")
    for line in found.lines():
        table.add_row(*map(escape, line))
    Console().print(table)
    _say(found.promise(), release)


def _say(promise: str, release: Release) -> None:
    click.echo(promise)
    if counted := counted_words(release.manifest.privacy):
        click.echo(counted)


def intervals_of(release: Release, columns: tuple[str, ...]) -> Intervals | None:
    """Return the cells' intervals, where a measurement contains the columns."""
    try:
        return release.intervals(*columns, confidence=release.manifest.confidence)
    except UserError:
        return None


def _rows(answer: Answer, intervals: Intervals | None) -> list[tuple[tuple[str, ...], float, int | None, int | None]]:
    cells = list(answer.cells())
    if intervals is None:
        return [(labels, count, None, None) for labels, count in cells]
    axes = [intervals.clique.index(name) for name in answer.columns]
    low, high = (bound.transpose(axes).reshape(-1).tolist() for bound in (intervals.lower, intervals.upper))
    return [(labels, count, a, b) for (labels, count), a, b in zip(cells, low, high, strict=True)]


def _described(answer: Answer, intervals: Intervals | None) -> dict[str, Any]:
    bound = answer.bound
    return {
        "private": answer.private,
        "notice": "" if answer.private else NOT_PRIVATE,
        "columns": list(answer.columns),
        "bound": None
        if bound is None
        else {"rows": bound.value, "confidence": bound.confidence, "kind": bound.kind, "round": bound.round},
        "cells": [
            {"values": list(labels), "count": count, "lower": low, "upper": high}
            for labels, count, low, high in _rows(answer, intervals)
        ],
    }


def _table(answer: Answer, intervals: Intervals | None, most: int | None) -> Table:
    rows = _rows(answer, intervals)
    if most is not None and len(rows) > most:
        kept = set(sorted(range(len(rows)), key=lambda i: -rows[i][1])[:most])
        rows = [row for i, row in enumerate(rows) if i in kept]
    cut = f"the {len(rows)} largest of {answer.counts.size:,} cells" if len(rows) < answer.counts.size else None
    table = Table(caption=cut)
    for name in answer.columns:
        table.add_column(escape(name), overflow="fold")
    table.add_column("rows", justify="right")
    if intervals is not None:
        table.add_column(f"{confidence(intervals.confidence)} interval", justify="right")
    for labels, count, low, high in rows:
        between = [] if intervals is None else [f"{low:,} to {high:,}"]
        table.add_row(*(escape(label) for label in labels), f"{count:,.1f}", *between)
    return table
