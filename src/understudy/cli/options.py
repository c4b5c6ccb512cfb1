"""Options that several commands share, and how given values are read. Owns no data."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

from understudy.errors import UnderstudyWarning
from understudy.schema.dialect import KEYS
from understudy.source import Csv, Sql, spark_frame

F = TypeVar("F", bound=Callable[..., Any])
FOLDER = click.Path(file_okay=False, path_type=Path)
FILE = click.Path(dir_okay=False, path_type=Path)
_DATABASE = "What --sql asks: a DuckDB or SQLite file, or a URL such as postgresql://host/name.  [default: Parquet files]"


def as_json(function: F) -> F:
    """Add ``--json``."""
    return click.option("--json", "json_", is_flag=True, help="Print JSON, for machines.")(function)


def budget(function: F) -> F:
    """Add the options of the promise and of what should be preserved."""
    for option in reversed(
        [
            click.option("-e", "--epsilon", type=float, help="How much may be disclosed: 1 is usual, less is more private."),
            click.option("--delta", type=float, help="The chance that the promise fails.  [default: 1e-9]"),
            click.option("--rho", type=float, help="The budget in zCDP, instead of epsilon and delta."),
            click.option(
                "-w",
                "--workload",
                default="all-3way",
                show_default=True,
                help="What to preserve: all-3way, all-2way, target:COLUMN, skewed, or a TOML or JSON file.",
            ),
            click.option(
                "--unit",
                type=click.Choice(["add-remove", "replace"]),
                default="add-remove",
                show_default=True,
                help="What a row, or a person, may change: its presence, or its content only.",
            ),
            click.option(
                "--max-size",
                metavar="SIZE",
                default="80MB",
                show_default=True,
                help="Of the model, such as 1GB; auto: as time and memory allow.",
            ),
            click.option(
                "--memory", metavar="SIZE", help="Of the whole process, such as 4GB.  [default: most of what is free]"
            ),
        ]
    ):
        function = option(function)
    return function


def table(function: F) -> F:
    """Add DATA, and the options that say what it is; ``table_of`` reads them."""
    return click.argument("data", required=False)(query(function))


def query(function: F) -> F:
    """Add the options of a query and of CSV files; ``table_of`` reads them, and DATA."""
    function = click.option("--database", metavar="FILE|URL", help=_DATABASE)(dialect(function))
    return click.option("--sql", help="A SELECT that gives the table, instead of DATA.")(function)


def dialect(function: F) -> F:
    """Add the options of CSV files; ``table_of`` reads them."""
    for option in reversed(
        [
            click.option("--separator", help='Of the fields of a CSV file, or "tab".  [default: as the schema says, or ,]'),
            click.option("--quote", help='In a CSV file; "" for none.  [default: as the schema says, or "]'),
            click.option("--encoding", help="Of a CSV file, such as latin-1.  [default: as the schema says, or utf-8]"),
            click.option("--header", metavar="A,B,C", help="Names of the columns of a CSV file without a line of names."),
            click.option(
                "--decimal", help='Before decimals in a CSV file: "," in 12,5.  [default: as the schema says, or .]'
            ),
            click.option(
                "--thousands", help='Between thousands in a CSV file: "." in 1.234.  [default: as the schema says]'
            ),
        ]
    ):
        function = option(function)
    return function


def spark(function: F) -> F:
    """Add the options of tables that Spark counts; ``table_of`` reads them."""
    function = click.option(
        "--engine", type=click.Choice(["spark"]), help="What counts the Parquet files of DATA, instead of this process."
    )(function)
    return click.option("--spark", metavar="NAME", help="A table of Spark's catalog, instead of DATA.")(function)


def table_of(options: dict[str, Any]) -> Any:
    """Take the options of ``table`` out of ``options``, and return what to open: a file, a query, or a frame of Spark."""
    data, sql, database = (options.pop(name, None) for name in ("data", "sql", "database"))
    named, engine = (options.pop(name, None) for name in ("spark", "engine"))
    written = {name: options.pop(name) for name in KEYS}
    if named is not None or engine is not None:
        if sql is not None or (named is None) == (data is None):
            raise click.UsageError("Give either --spark NAME, or DATA (Parquet files) and --engine spark, and no --sql.")
        return spark_frame(named, data)
    if (data is None) == (sql is None):
        raise click.UsageError("Give either DATA (a CSV or Parquet file) or --sql.")
    if database is not None and sql is None:
        raise click.UsageError("--database goes with --sql.")
    if all(value is None for value in written.values()):
        return str(data) if sql is None else Sql(sql, database)
    if sql is not None:
        flags = ", ".join(f"--{name}" for name in KEYS)
        raise click.UsageError(f"{flags} are for CSV files, and not for --sql.")
    if written["header"] is not None:
        written["header"] = [name.strip() for name in written["header"].split(",")]
    if written["separator"] in ("tab", "\\t"):
        written["separator"] = "\t"
    return Csv(data, **written)


def given_values(pairs: tuple[str, ...]) -> dict[str, str | None]:
    """Read ``sex=F``; ``sex=`` is a missing value, and so is ``sex=null`` unless the column lists that as a value."""
    found: dict[str, str | None] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise click.UsageError(f'--given is COLUMN=VALUE, not "{pair}".')
        found[name] = value or None
    return found


def print_json(document: Any) -> None:
    """Print plain data as JSON."""
    click.echo(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False))


@contextmanager
def warnings_told() -> Iterator[None]:
    """Print the warnings of this package as they come, without the place in the code that Python would add."""
    with warnings.catch_warnings():
        others = warnings.showwarning
        warnings.simplefilter("always", UnderstudyWarning)

        def tell(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            if issubclass(category, UnderstudyWarning):
                warn(str(message))
            else:
                others(message, category, *where, **more)

        warnings.showwarning = tell
        yield


def warn(text: str) -> None:
    """Print a warning that cannot be missed, to standard error."""
    click.secho(text, err=True, fg="red", bold=True)
