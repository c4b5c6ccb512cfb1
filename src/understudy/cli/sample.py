"""``understudy sample``: more rows from a release, at no cost in privacy. Public."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import click
import pyarrow as pa
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from understudy.cli.options import FOLDER, as_json, given_values, print_json, warn
from understudy.errors import UserError
from understudy.release import Release, load
from understudy.release.marks import marked_path
from understudy.release.parts import draw
from understudy.release.tables import write_csv, write_tables
from understudy.source import spark_session


@click.command(
    epilog="""\b
Examples:
  understudy sample release --rows 1000 > more.csv
  understudy sample release --rows 500 --given sex=F --given region=North -o women.parquet
  understudy sample release --rows 1_000_000_000 --out more/

\b
A folder gets Parquet files, within a memory that does not grow with the rows. The same command again goes on with what was
stopped. With --seed the rows are the same, whatever the number of workers.
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
@click.option(
    "-o",
    "--out",
    "--output",
    "output",
    metavar="FILE|DIR",
    help="A .csv or .parquet file, or a folder for Parquet files.  [default: CSV to standard output]",
)
@click.option(
    "--workers", type=click.IntRange(min=1), default=2, show_default=True, help="Processes that draw rows for a folder."
)
@click.option("--refined", is_flag=True, help="Bring the counts of each file of a folder nearer to the model's; slower.")
@click.option("--engine", type=click.Choice(["spark"]), help="What draws the files of a folder, instead of processes here.")
@click.option("--seed", type=click.IntRange(min=0), help="Repeatable rows. As private as the release itself.")
@as_json
def sample(
    *,
    folder: Path,
    rows: int,
    given: tuple[str, ...],
    output: str | None,
    refined: bool,
    workers: int,
    engine: str | None,
    seed: int | None,
    json_: bool,
) -> None:
    """Draw ROWS new rows from the model of the release in DIR. Costs no privacy."""
    release = load(folder)
    if not release.private:
        warn(release.notice)
    if output is not None and is_folder(output):
        session = None if engine is None else spark_session()
        with _progress(rows) as told:
            how: dict[str, Any] = {
                "seed": seed,
                "refined": refined,
                "workers": workers,
                "session": session,
                "progress": told,
            }
            release.sample_to(output, rows, given_values(given), **how)
        click.echo(f"{_counted(rows)} in {output}.", err=True)
        return
    if engine is not None or refined:
        given_up = "--refined" if engine is None else "--engine spark"
        raise click.UsageError(f"{given_up} is for the Parquet files of a folder: name one with --out folder/.")
    tables = draw(release, rows, given_values(given), seed)
    if output is not None:
        written = write(tables, Path(output), release)
        click.echo(f"{_counted(rows)} in {written}.", err=True)
    elif json_:
        texts = [{name: _plain(value) for name, value in row.items()} for table in tables for row in table.to_pylist()]
        print_json({"private": release.private, "notice": release.notice, "rows": texts})
    else:
        write_csv(tables, sys.stdout.buffer, release.schema)


def is_folder(output: str) -> bool:
    """Say whether a folder is named: one that is there, or a name that has no ending or ends in a slash."""
    return Path(output).is_dir() or output.endswith(("/", os.sep)) or not Path(output).suffix


@contextmanager
def _progress(rows: int) -> Iterator[Callable[[int], None]]:
    """Show on a terminal how many rows there are; elsewhere, nothing."""
    console = Console(stderr=True)
    columns = (BarColumn(bar_width=24), TextColumn("{task.completed:,.0f} rows"), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=rows)
        yield lambda there: bar.update(task, completed=there)


def write(tables: Iterator[pa.Table], path: Path, release: Release) -> Path:
    """Write tables by the ending of the file's name; return the path, which says so where the table is not private."""
    if path.suffix.lower() not in (".csv", ".parquet"):
        raise UserError(f"{path} must end in .csv or .parquet; the name of a folder ends in a slash.")
    target = marked_path(path, release.private)
    with _whole(target) as file:
        write_tables(tables, file, release.schema)
    return target


@contextmanager
def _whole(path: Path) -> Iterator[Path]:
    """Yield another name to write to, which becomes ``path`` when all went well: a table that was cut short looks whole."""
    if path.exists() and not path.is_file():  # a pipe keeps its name
        yield path
        return
    real = path.resolve()
    hidden = real.with_name(f".{real.stem}.{uuid4().hex[:12]}.part{real.suffix}")
    try:
        yield hidden
        hidden.replace(real)
    finally:
        hidden.unlink(missing_ok=True)


def _plain(value: object) -> object:
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _counted(rows: int) -> str:
    return f"{rows:,} rows are" if rows != 1 else "1 row is"
