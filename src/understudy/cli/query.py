"""``understudy query``: a marginal of the model, or a figure, with bound and intervals. Public, at no cost in privacy."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from understudy.cli.options import FOLDER, as_json, print_json, warn
from understudy.errors import UserError
from understudy.manifest import NOT_PRIVATE
from understudy.manifest.promise import confidence, counted_words
from understudy.release import Answer, Figures, Release, load
from understudy.release.asked import FUNCTIONS
from understudy.uncertainty import BootstrapIntervals, Intervals

_Ends = tuple[int | None, int | None]
"""Of an interval; None where there is none."""


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
@click.option(
    "--bootstrap/--no-bootstrap",
    default=None,
    help="With bootstrap intervals, or without; by default with, for models to 16 MB.",
)
@as_json
def query(folder: Path, columns: tuple[str, ...], *, all_: bool, least: float, bootstrap: bool | None, json_: bool) -> None:
    """Show how many rows have which values of COLUMNS, by the model of the release in DIR, and how far off that may be.

    Or a figure by groups: mean(age) by region. There are mean, total, median, quantile(age, 0.9), count and share; share(sex
    = F) is that of a value.

    Bootstrap intervals say where the private table's own numbers are expected, each by itself; how often they hold was
    measured, not proved. Proved intervals are wider, and exist where a noisy marginal contains the columns. Where
    persons are protected, counts are of the rows that were used.
    """
    release = load(folder)
    level = release.manifest.confidence if bootstrap or (bootstrap is None and release.bootstrap.quick) else None
    if len(columns) == 1 and columns[0] not in release.domain and _is_figure(columns[0]):
        _show_figures(release.answer(columns[0], least=least, confidence=level), release, json_)
        return
    cells = _Cells.of(release, columns, level)
    if json_:
        print_json(_described(cells))
        return
    if not release.private:
        warn(release.notice)
    Console().print(_table(cells, None if all_ else 40))
    said = [cells.answer.promise(), *([] if cells.expected is None else [_expectation(cells.expected)])]
    said += sums_words(release, columns)
    _say("\n".join([*said, *map(never_measured, release.bootstrap.unmeasured(columns))]), release)


def sums_words(release: Release, columns: tuple[str, ...]) -> list[str]:
    """Say how far off the sums are that the workload asks of these columns; each sentence holds by itself."""
    clique = release.domain.clique(columns)
    found = release.model_sum_bounds.get(clique)
    if found is None or any(axis.kind == "weights" for axis in release.workload.asked[clique].values()):
        return []  # weighted sums are not in rows
    ways = (found.measured, "by their own measurements"), (found.by_cells, "by the bound on the counts")
    level = f"with probability {confidence(found.confidence)}"
    return [
        f"The {found.sums:,} sums that the workload asks of these columns are off by at most {value / found.sums:,.0f} "
        f"rows on average, {level}: {how}."
        for value, how in ways
        if value is not None
    ]


def never_measured(column: str) -> str:
    """Say what the counts of a column are worth that the workload leaves out."""
    return f'Column "{column}" was never measured, since the workload leaves it out: its counts are no more than a guess.'


def _is_figure(text: str) -> bool:
    """Whether a figure is asked for; without its brackets the error says how it is written."""
    return "(" in text or text.split()[:1] in [[name] for name in FUNCTIONS]


def _show_figures(found: Figures, release: Release, json_: bool) -> None:
    if json_:
        print_json(_listed(found))
        return
    if not release.private:
        warn(release.notice)
    table = Table()
    for place, name in enumerate(found.head()):
        table.add_column(escape(name), overflow="fold", justify="left" if place < len(found.by) else "right")
    for line in found.lines():
        table.add_row(*map(escape, line))
    Console().print(table)
    _say("\n".join([found.promise(), *map(never_measured, found.unmeasured)]), release)


def _listed(found: Figures) -> dict[str, Any]:
    """Return figures as JSON has them."""
    none = [None] * len(found.groups)
    ends = [
        none if part is None else [v if isinstance(v, float) or v is None else str(v) for v in part.to_pylist()]
        for part in (found.values, found.lower, found.upper)
    ]
    figures = [
        {"group": dict(zip(found.by, group, strict=True)), "value": value, "lower": low, "upper": high, "rows": rows}
        for group, value, low, high, rows in zip(found.groups, *ends, found.rows.tolist(), strict=True)
    ]
    return {
        "private": found.private,
        "notice": "" if found.private else NOT_PRIVATE,
        "query": found.query,
        "bound": None,
        "bootstrap": None if found.confidence is None else {"confidence": found.confidence},
        "figures": figures,
    }


def _say(promise: str, release: Release) -> None:
    click.echo(promise)
    if not release.bootstrap.possible:
        click.echo("There are no bootstrap intervals: this model is not a graphical one, and they are for those alone.")
    if counted := counted_words(release.manifest.privacy):
        click.echo(counted)


@dataclass(frozen=True, eq=False)
class _Cells:
    """A marginal with both kinds of intervals, each an array for the lower and one for the upper ends, cell by cell."""

    answer: Answer
    expected: BootstrapIntervals | None
    proved: Intervals | None
    sums: dict[str, Any] | None
    """The proved bounds on the sums that the workload asks of the columns."""

    @classmethod
    def of(cls, release: Release, columns: tuple[str, ...], level: float | None) -> _Cells:
        answer = release.marginal(*columns)
        without = level is None or release.bootstrap.unmeasured(columns)
        expected = None if without else release.bootstrap_intervals(*columns, confidence=release.manifest.confidence)
        sums = release.model_sum_bounds.get(release.domain.clique(columns))
        told = None if sums is None else {k: v for k, v in asdict(sums).items() if k != "clique"}
        return cls(answer, expected, intervals_of(release, columns), told)

    def rows(self) -> list[_Row]:
        found = zip(self.answer.cells(), self._flat(self.expected), self._flat(self.proved), strict=True)
        return [_Row(labels, count, expected, proved) for (labels, count), expected, proved in found]

    def _flat(self, found: Intervals | BootstrapIntervals | None) -> list[_Ends]:
        if found is None:
            return [(None, None)] * self.answer.counts.size
        axes = [found.clique.index(name) for name in self.answer.columns]
        low, high = (bound.transpose(axes).reshape(-1).tolist() for bound in (found.lower, found.upper))
        return list(zip(low, high, strict=True))


class _Row(NamedTuple):
    labels: tuple[str, ...]
    rows: float
    expected: _Ends
    proved: _Ends


def intervals_of(release: Release, columns: tuple[str, ...]) -> Intervals | None:
    """Return the cells' proved intervals, where a measurement contains the columns."""
    try:
        return release.intervals(*columns, confidence=release.manifest.confidence)
    except UserError:
        return None


def _described(cells: _Cells) -> dict[str, Any]:
    answer, bound = cells.answer, cells.answer.bound
    return {
        "private": answer.private,
        "notice": "" if answer.private else NOT_PRIVATE,
        "columns": list(answer.columns),
        "bound": None
        if bound is None
        else {"rows": bound.value, "confidence": bound.confidence, "kind": bound.kind, "round": bound.round},
        "sums": cells.sums,
        "bootstrap": None
        if cells.expected is None
        else {"rows": cells.expected.summed, "confidence": cells.expected.confidence},
        "cells": [
            {
                "values": list(row.labels),
                "count": row.rows,
                "lower": row.proved[0],
                "upper": row.proved[1],
                "bootstrap": {"lower": row.expected[0], "upper": row.expected[1]},
            }
            for row in cells.rows()
        ],
    }


def _table(cells: _Cells, most: int | None) -> Table:
    answer, rows = cells.answer, cells.rows()
    if most is not None and len(rows) > most:
        kept = set(sorted(range(len(rows)), key=lambda i: -rows[i].rows)[:most])
        rows = [row for i, row in enumerate(rows) if i in kept]
    cut = f"the {len(rows)} largest of {answer.counts.size:,} cells" if len(rows) < answer.counts.size else None
    table = Table(caption=cut)
    for name in answer.columns:
        table.add_column(escape(name), overflow="fold")
    table.add_column("rows", justify="right")
    for found, how in ((cells.expected, "bootstrap"), (cells.proved, "proved")):
        if found is not None:
            table.add_column(f"{confidence(found.confidence)} {how}", justify="right")
    for row in rows:
        between = [f"{low:,} to {high:,}" for low, high in (row.expected, row.proved) if low is not None]
        table.add_row(*(escape(label) for label in row.labels), f"{row.rows:,.1f}", *between)
    return table


def _expectation(expected: BootstrapIntervals) -> str:
    return (
        f"The summed error is expected to be at most {expected.summed:,.0f} rows, and each count in its bootstrap interval "
        f"({confidence(expected.confidence)} each; measured, not proved: docs/intervals.md)."
    )
