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
from understudy.release import Answer, Release, load
from understudy.uncertainty import Intervals


@click.command(
    epilog="""\b
Examples:
  understudy query release age
  understudy query release age sex --all
  understudy query release region outcome --json

\b
Exit status: 0 done; 2 wrong usage or input; 3 a fault of this software."""
)
@click.argument("folder", metavar="DIR", type=FOLDER)
@click.argument("columns", nargs=-1, required=True)
@click.option("--all", "all_", is_flag=True, help="All cells, not only the 40 largest.")
@as_json
def query(folder: Path, columns: tuple[str, ...], all_: bool, json_: bool) -> None:
    """Show how many rows have which values of COLUMNS, by the model of the release in DIR, and how far off that may be.

    Intervals are for the private table's own counts, each by itself; they exist where a noisy marginal contains the columns.
    Where persons are protected, counts are of the rows that were used.
    """
    release = load(folder)
    answer, intervals = release.marginal(*columns), intervals_of(release, columns)
    if json_:
        print_json(_described(answer, intervals))
        return
    if not release.private:
        warn(release.notice)
    Console().print(_table(answer, intervals, None if all_ else 40))
    click.echo(answer.promise())
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
