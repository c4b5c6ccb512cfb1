"""Options that several commands share, and how given values are read. Owns no data."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from understudy.source import Sql

F = TypeVar("F", bound=Callable[..., Any])
FOLDER = click.Path(file_okay=False, path_type=Path)
FILE = click.Path(dir_okay=False, path_type=Path)


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
                help="What one row may change: its presence, or its content only.",
            ),
            click.option("--max-size", metavar="SIZE", default="80MB", show_default=True, help="Of the model, such as 1GB."),
        ]
    ):
        function = option(function)
    return function


def table_of(data: str | None, sql: str | None, database: Path | None) -> str | Sql:
    """Return what to open: a file, or a query."""
    if (data is None) == (sql is None):
        raise click.UsageError("Give either DATA (a CSV or Parquet file) or --sql.")
    if sql is not None:
        return Sql(sql, database)
    if database is not None:
        raise click.UsageError("--database goes with --sql.")
    return data or ""


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


def warn(text: str) -> None:
    """Print a warning that cannot be missed, to standard error."""
    click.secho(text, err=True, fg="red", bold=True)
