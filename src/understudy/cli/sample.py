"""``understudy sample``: more rows from a release, at no cost in privacy. Public."""

from __future__ import annotations

import sys
from pathlib import Path

import click
import numpy as np
import pyarrow as pa
import pyarrow.csv

from understudy.cli.options import FILE, FOLDER, as_json, given_values, print_json, warn
from understudy.errors import UserError
from understudy.release import load
from understudy.release.marks import marked_path
from understudy.release.tables import write_table


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
        written = write(table, output, release.private)
        click.echo(f"{rows:,} rows are in {written}.", err=True)
    elif json_:
        texts = [{name: _plain(value) for name, value in row.items()} for row in table.to_pylist()]
        print_json({"private": release.private, "notice": release.notice, "rows": texts})
    else:
        _to_screen(table)


def write(table: pa.Table, path: Path, private: bool) -> Path:
    """Write a table by the ending of the file's name; return the path, which says so where the table is not private."""
    if path.suffix.lower() not in (".csv", ".parquet"):
        raise UserError(f"{path} must end in .csv or .parquet.")
    target = marked_path(path, private)
    write_table(table, target)
    return target


def _plain(value: object) -> object:
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _to_screen(table: pa.Table) -> None:
    plain = pa.table({n: _decoded(table.column(n)) for n in table.column_names})
    sink = pa.BufferOutputStream()
    pa.csv.write_csv(plain, sink)
    sys.stdout.write(sink.getvalue().to_pybytes().decode("utf-8"))


def _decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
