"""``understudy sample``: more rows from a release, at no cost in privacy. Public."""

from __future__ import annotations

import sys
from pathlib import Path

import click
import numpy as np
import pyarrow as pa

from understudy.cli.options import FILE, FOLDER, as_json, given_values, print_json, warn
from understudy.errors import UserError
from understudy.release import Release, load
from understudy.release.marks import marked_path
from understudy.release.tables import write_csv, write_table


@click.command(
    epilog="""\b
Examples:
  understudy sample release --rows 1000 > more.csv
  understudy sample release --rows 500 --given sex=F --given region=North -o women.parquet

\b
Exit status: 0 done; 2 wrong usage or input; 3 a fault of this software."""
)
@click.argument("folder", metavar="DIR", type=FOLDER)
@click.option("-n", "--rows", type=click.IntRange(min=0), required=True, help="How many rows.")
@click.option(
    "--given",
    multiple=True,
    metavar="COLUMN=VALUE",
    help="Only rows with this value, or null; may be repeated.",
)
@click.option("-o", "--output", type=FILE, help="A .csv or .parquet file.  [default: CSV to standard output]")
@click.option("--seed", type=click.IntRange(min=0), help="Repeatable rows. As private as the release itself.")
@as_json
def sample(*, folder: Path, rows: int, given: tuple[str, ...], output: Path | None, seed: int | None, json_: bool) -> None:
    """Draw ROWS new rows from the model of the release in DIR. Costs no privacy."""
    release = load(folder)
    if not release.private:
        warn(release.notice)
    table = release.sample(rows, given_values(given), rng=None if seed is None else np.random.default_rng(seed))
    if output is not None:
        written = write(table, output, release)
        click.echo(f"{rows:,} rows are in {written}.", err=True)
    elif json_:
        texts = [{name: _plain(value) for name, value in row.items()} for row in table.to_pylist()]
        print_json({"private": release.private, "notice": release.notice, "rows": texts})
    else:
        write_csv(table, sys.stdout.buffer, release.schema)


def write(table: pa.Table, path: Path, release: Release) -> Path:
    """Write a table by the ending of the file's name; return the path, which says so where the table is not private."""
    if path.suffix.lower() not in (".csv", ".parquet"):
        raise UserError(f"{path} must end in .csv or .parquet.")
    target = marked_path(path, release.private)
    write_table(table, target, release.schema)
    return target


def _plain(value: object) -> object:
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
