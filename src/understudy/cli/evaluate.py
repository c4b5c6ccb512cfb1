"""``understudy evaluate``: real against synthetic. NOT PRIVATE: reads the table itself, and says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from understudy.cli.options import FILE, as_json, print_json, query, table_of, warn
from understudy.evaluate import NOT_PRIVATE, Evaluation
from understudy.evaluate import evaluate as compare
from understudy.manifest.promise import confidence
from understudy.release import load
from understudy.report.evaluation_words import summary

ABOVE = 1


@click.command(
    epilog="""\b
Examples:
  understudy evaluate visits.csv release
  understudy evaluate visits.parquet release --max-error 0.1 --json
  understudy evaluate visits.csv release --report internal.html --by region
  understudy evaluate visits.csv release --holdout kept-back.csv --target readmitted
  understudy evaluate --sql "SELECT * FROM visits" --database hospital.duckdb release

\b
Exit status: 0 done; 1 the workload error is above --max-error; 2 wrong usage or input; 3 a fault of this software."""
)
@click.argument("paths", metavar="[DATA] DIR", nargs=-1, required=True)
@click.option("--max-error", type=click.FloatRange(min=0), help="Exit with status 1 when the workload error is above this.")
@click.option("--report", "page", type=FILE, help="Write an internal page (not private) with everything side by side.")
@click.option(
    "--by", metavar="COLUMN", multiple=True, help="Compare within the groups of this column, too; may be repeated."
)
@click.option("--holdout", metavar="FILE", help="Real rows that the release never saw: for --target, and for attacks.")
@click.option("--target", metavar="COLUMN", help="Train on synthetic, test on --holdout: predict this column.")
@query
@as_json
@click.pass_context
def evaluate(
    ctx: click.Context,
    /,
    *,
    paths: tuple[str, ...],
    max_error: float | None,
    page: Path | None,
    by: tuple[str, ...],
    holdout: str | None,
    target: str | None,
    json_: bool,
    **data: Any,
) -> None:
    """Compare the release in DIR with the private table DATA (or --sql). NOT PRIVATE: for the owner's eyes only."""
    warn(NOT_PRIVATE)
    *given, folder = paths
    if len(given) > 1:
        raise click.UsageError("Give DATA (unless there is --sql), then DIR, and nothing else.")
    held = None if holdout is None else table_of({**data, "data": holdout, "sql": None, "database": None})
    table = table_of({"data": given[0] if given else None, **data})
    found = compare(table, load(Path(folder)), holdout=held, target=target, by=by)
    if page is not None:
        from understudy.report import write_evaluation

        write_evaluation(found, page)
    above = max_error is not None and found.error > max_error
    if json_:
        print_json({**found.describe(), "max_error": max_error, "above": above})
    else:
        _show(found)
    if above:
        click.echo(f"The workload error {found.error:.4f} is above {max_error}.", err=True)
        ctx.exit(ABOVE)


def _show(found: Evaluation) -> None:
    click.echo(f"Workload error (L1)  {found.error:.4f} of the table's rows, averaged over {_over(found)}")
    click.echo(f"               (L2)  {found.error_l2:.4f}")
    click.echo(f"              (max)  {found.error_max:.4f}, the worst single cell")
    if found.subsample is not None:
        share = found.subsample.fraction
        said = f"as good as {share:.1%} of the real rows" if share <= 1 else "better than a fresh sample of the same size"
        click.echo(f"Subsampling fraction {share:.3f}: {said}")
    click.echo(f"Within their bound   {found.within} of {found.bounded} marginals (expected: {_expected(found)})")
    for name, said in summary(found):
        click.echo(f"{name:<20} {said}")
    Console().print(_table(found))


def _over(found: Evaluation) -> str:
    every = len(found.release.workload.cliques)
    return "the workload" if found.compared == every else f"{found.compared:,} of {every:,} marginals, drawn at random"


def _expected(found: Evaluation) -> str:
    return f"at least {confidence(found.release.manifest.confidence)} on average, over runs"


def _table(found: Evaluation) -> Table:
    table = Table(title="The marginals that are furthest off (shares of the rows; not private)")
    for heading in ("marginal", "error", "bound"):
        table.add_column(heading, justify="left" if heading == "marginal" else "right", overflow="fold")
    rows = max(found.rows, 1)
    for m in found.worst():
        bound = "none" if m.bound is None else f"{m.bound.value / rows:.4f}"
        table.add_row(escape(", ".join(m.clique)), f"{m.error / rows:.4f}", bound)
    return table
