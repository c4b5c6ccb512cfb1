"""``understudy schema draft --epsilon``: learn a schema under a budget. Prints what the door told, and no more."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.console import Console

from understudy.cli.ending import after_release
from understudy.cli.options import FILE
from understudy.learning import learnt_schema
from understudy.manifest.promise import rounded_up
from understudy.release.toml import schema_toml
from understudy.schema import Schema
from understudy.source.opening import columns_of

F = TypeVar("F", bound=Callable[..., Any])
LEARNING = ("epsilon", "delta", "columns", "person", "rows_per_person", "ledger", "dataset")


def learning(function: F) -> F:
    """Add the options of a schema that is learnt."""
    for option in reversed(
        [
            click.option("-e", "--epsilon", type=float, help="Learn the schema under this budget, privately."),
            click.option("--delta", type=float, help="The chance that the promise fails.  [default: 1e-9]"),
            click.option("--columns", metavar="A,B,C", help="Columns to learn.  [default: all]"),
            click.option("--person", metavar="COLUMN", help="Who a person is, where one may have several rows."),
            click.option("--rows-per-person", type=int, help="How many rows of each person are used at most."),
            click.option("--ledger", type=FILE, help="The ledger to take the budget from, with --dataset."),
            click.option("--dataset", help="The table's name in the ledger."),
        ]
    ):
        function = option(function)
    return function


def learn_and_write(data: Any, output: Path | None, options: Mapping[str, Any]) -> None:
    """Learn a schema, and write it to a file or to the screen."""
    given = {name: value for name, value in options.items() if value is not None}
    if "columns" in given:
        given["columns"] = [name.strip() for name in given["columns"].split(",")]
    with Console(stderr=True).status("Learning the schema …"):  # on a terminal alone
        found, spent = learnt_schema(data, **given)
    with after_release(spent):
        fault = _write(schema_toml(found.declaration), output)
    with after_release(replace(spent, finished=True)):
        if fault is not None:
            raise fault
        _tell(data, found, output, given)


def _tell(data: Any, found: Schema, output: Path | None, given: Mapping[str, Any]) -> None:
    """Say what was learnt, and of which columns nothing was."""
    click.echo(_learnt(found, output), err=True)
    known = (*found.domain, given.get("person"))
    if left := [name for name in given.get("columns") or columns_of(data, None) if name not in known]:
        click.echo(f"Left out, since nothing could be learnt of them for this budget: {', '.join(left)}.", err=True)


def _write(text: str, output: Path | None) -> OSError | None:
    """Write the schema, or show it; where it cannot be written it is shown, since it was paid for, and why is returned."""
    fault = None
    if output is not None:
        try:
            output.write_text(text, encoding="utf-8")
            return None
        except OSError as error:
            fault = error
    click.echo(text)
    sys.stdout.flush()
    return fault


def _learnt(schema: Schema, output: Path | None) -> str:
    learnt = schema.table.learnt
    assert learnt is not None
    where = "The schema above" if output is None else f"{output}"
    return (
        f"{where} has {len(schema.columns)} columns, learnt under epsilon = {learnt.epsilon:g}, "
        f"delta = {rounded_up(learnt.delta)}. "
        "It needs no review. Its budget adds to that of every release that is made with it."
    )
