"""``understudy schema``: draft, review, import, check and show the declaration of a table.

Draft and check read the table and are not private; they say so on screen. Review and show read the schema file alone.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from understudy.cli.learning import LEARNING, learn_and_write, learning
from understudy.cli.options import FILE, table, table_of, warnings_told
from understudy.cli.review import read_text, review
from understudy.errors import UserError
from understudy.review import Misfit, check_schema, draft_schema
from understudy.review.faults import LONG, SHORT, UNCLOSED, UNDECODABLE
from understudy.review.groups import groups_of
from understudy.review.imports import import_into, import_schema
from understudy.review.marks import marks_of
from understudy.schema import Column, Schema, json_schema, load_schema, parse_schema

LINE_HINTS = {
    SHORT: "Lines with too few fields: is the separator the right one (--separator, or under [table.csv])?",
    LONG: "Lines with too many fields: are the separator and the quote the right ones (--separator, --quote)?",
    UNCLOSED: "Quotes that are not closed: a record is one line here. schema draft tells how to convert a file with others.",
    UNDECODABLE: "Unknown bytes: is the encoding the right one (--encoding latin-1, or encoding under [table.csv])?",
}
NOT_PRIVATE = "Not private: this reads the table itself. Keep what it prints and writes with the table."


@click.group()
def schema() -> None:
    """Declare what a table may contain: draft, review, check, show."""


@schema.command("draft")
@table
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="File to write; default: screen.")
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
@learning
def draft_command(output: Path | None, force: bool, **data: Any) -> None:
    """Write a first draft of a schema by LOOKING AT DATA (CSV or Parquet, or --sql). Not private.

    With --epsilon, learn the schema under differential privacy instead: then it needs no review.
    """
    if output is not None and output.exists() and not force:
        raise UserError(f"{output} exists, and may hold a review. Name another file, or add --force.")
    if output is not None and not output.parent.is_dir():
        raise UserError(f"There is no folder {output.parent}: make it first, or name another file.")
    options = {name: data.pop(name) for name in LEARNING}
    if options["epsilon"] is not None:
        learn_and_write(table_of(data), output, options)
        return
    if given := [name.replace("_", "-") for name, value in options.items() if value is not None]:
        raise click.UsageError(f"--{given[0]} goes with --epsilon.")
    with Console(stderr=True).status("Looking at the table …"):  # on a terminal alone
        text = draft_schema(table_of(data))
    if output is None:
        click.echo(text)
    else:
        output.write_text(text, encoding="utf-8")
    click.echo(_drafted(text, output), err=True)


def _drafted(text: str, output: Path | None) -> str:
    where = "The draft above" if output is None else f"{output}"
    command = f"understudy schema review {output or 'FILE'}"
    if not marks_of(text):
        return (
            f"{where} was written by looking at the data. What it declares follows from names, types and common words "
            f"alone: no decision is left.\nRead it, and say that it may be used: {command}"
        )
    return (
        f"{where} was written by looking at the data. Used unreviewed, it would disclose what it saw.\n"
        f"{_left(text)} Go through them: {command}"
    )


def _left(text: str) -> str:
    """Say how many decisions are left: columns of which the same is asked are one."""
    decisions, columns = len(groups_of(text)), len({mark.column for mark in marks_of(text)} - {None})
    if decisions == 0:
        return "No decision is left to you."
    are = "1 decision is" if decisions == 1 else f"{decisions} decisions are"
    about = "" if columns == 0 else ", about 1 column" if columns == 1 else f", about {columns} columns"
    return f"{are} left to you{about}, marked REVIEW."


@schema.command("review")
@click.argument("path", metavar="SCHEMA", type=FILE)
def review_command(path: Path) -> None:
    """Go through the decisions that a draft in SCHEMA leaves to you, by single keys. Can be stopped and gone on with."""
    review(path)


@schema.command("import")
@click.argument("path", metavar="FILE", type=FILE)
@click.option("--into", type=FILE, help="A schema file: replace those of its columns that FILE declares.")
@click.option("-o", "--output", type=FILE, help="File to write; default: screen, or the file named by --into.")
def import_command(path: Path, into: Path | None, output: Path | None) -> None:
    """Make a schema of FILE: a Frictionless Table Schema or SDV metadata (JSON), a code book (CSV: column, value, label)."""
    if output is not None and output.exists() and output != into:
        raise UserError(f"{output} exists. Name another file.")
    text, words = _imported(path, into)
    parse_schema(text, source=path.name)
    if target := output or into:
        target.write_text(text, encoding="utf-8")
    else:
        click.echo(text)
    click.echo(words, err=True)


def _imported(path: Path, into: Path | None) -> tuple[str, str]:
    if into is None:
        text = import_schema(path)
        return text, f"No table was read. {_left(text)}"
    text, changed = import_into(path, read_text(into))
    names = ", ".join(changed) or "none"
    return text, f"Columns that now are as {path.name} declares: {names}. {_left(text)}"


@schema.command("check")
@table
@click.option("-s", "--schema", "path", required=True, help="The schema file.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def check_command(path: str, as_json: bool, **data: Any) -> None:
    """Count what in DATA (CSV or Parquet, or --sql) does not fit the schema. Not private."""
    loaded = load_schema(path)
    with warnings_told(), Console(stderr=True).status("Reading the table …"):  # on a terminal alone
        misfits = check_schema(table_of(data), loaded)
    if as_json:
        click.echo(json.dumps({"private": False, "misfits": [asdict(misfit) for misfit in misfits]}, indent=2))
        return
    click.echo(NOT_PRIVATE, err=True)
    if not misfits:
        click.echo("Every value fits.")
        return
    Console().print(_misfit_table(misfits))
    click.echo("None of these stops a private run: each value goes where the last column says.")
    for hint in _hints(misfits, loaded):
        click.echo(hint)


_WORDS = " A boolean column reads true, false, yes, no, t, f, y, n, 1 and 0; list other words as categorical."
_FIGURES = " Has a CSV file decimal commas, or marks between thousands (--decimal, --thousands, or under [table.csv])?"


def _hints(misfits: list[Misfit], schema: Schema) -> list[str]:
    """Name the columns of which most values do not fit: their declaration can hardly be meant."""
    rows: Counter[str] = Counter()
    for misfit in misfits:
        rows[misfit.column] += misfit.rows
    most = [c for c in schema.columns if misfits and 2 * rows[c.name] > misfits[0].total]
    told = [hint for problem, hint in LINE_HINTS.items() if any(misfit.problem == problem for misfit in misfits)]
    return told + [
        f'Most values of "{column.name}" do not fit. Is it declared as the table spells it?'
        + (_WORDS if column.kind == "boolean" else _FIGURES if column.in_figures else "")
        for column in most
    ]


def _misfit_table(misfits: list[Misfit]) -> Table:
    found = Table(title="What does not fit (exact counts, not private)")
    for heading in ("column", "line", "what is wrong", "rows", "goes to"):
        found.add_column(heading, justify="right" if heading in ("line", "rows") else "left", overflow="fold")
    for m in misfits:
        rows = f"{m.rows:,} of {m.total:,}"
        found.add_row(escape(m.column), str(m.line or ""), escape(m.problem), rows, escape(m.goes_to))
    return found


@schema.command("show")
@click.argument("path", metavar="SCHEMA")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def show_command(path: str, as_json: bool) -> None:
    """Show the columns, codes and impossible combinations that SCHEMA declares."""
    loaded = load_schema(path)
    if as_json:
        click.echo(json.dumps(describe(loaded), indent=2))
    else:
        show(loaded, Console())


@schema.command("json-schema")
def json_schema_command() -> None:
    """Print the JSON Schema of schema files, for editors that complete and check TOML."""
    click.echo(json.dumps(json_schema(), indent=2))


def describe(schema: Schema) -> dict[str, Any]:
    """Return what a schema declares, ready for JSON."""
    return {
        "draft": schema.draft,
        "person": schema.declaration.person,
        "rows_per_person": schema.declaration.rows_per_person,
        "columns": [_column(column) for column in schema.columns],
        "derived": [{"name": c.name, "type": str(c.type), "rule": c.rule} for c in schema.derived],
        "orders": [order.rule for order in schema.orders.orders],
        "zeros": [
            {
                "columns": list(z.clique),
                "rule": z.rule,
                "forbidden": len(z.cells),
                "undecided": list(z.undecided),
            }
            for z in schema.zeros
        ],
        "cells": schema.domain.cells(),
    }


def _column(column: Column) -> dict[str, Any]:
    return {
        "name": column.name,
        "kind": column.kind,
        "type": str(column.type),
        "size": column.size,
        "nullable": column.nullable,
        "invalid": column.places.invalid,
        "labels": list(column.labels),
    }


def show(schema: Schema, console: Console) -> None:
    """Print a schema as tables."""
    title = escape(schema.table.name or schema.source) + (" (DRAFT, not reviewed)" if schema.draft else "")
    table = Table(title=title)
    for heading in ("column", "kind", "codes", "first … last", "missing", "does not fit"):
        table.add_column(heading, justify="right" if heading == "codes" else "left", overflow="fold")
    for column in schema.columns:
        table.add_row(escape(column.name), column.kind, str(column.size), escape(_span(column)), *_places(column))
    console.print(table)
    for derived in schema.derived:
        console.print(escape(f'Derived: "{derived.name}": {derived.rule}'), highlight=False)
    for order in schema.orders.orders:
        console.print(escape(f"Always: {order.rule}, inside bins too"), highlight=False)
    if person := schema.person:
        console.print(
            escape(f'Person: "{person.column}", with at most {person.rows} row{"s" * (person.rows != 1)} each'),
            highlight=False,
        )
    _show_zeros(schema, console)


def _span(column: Column) -> str:
    labels = column.ordinary_labels()
    if column.kind == "open":
        return "learnt by each run"
    return ", ".join(labels) if len(", ".join(labels)) <= 30 else f"{labels[0]} … {labels[-1]}"


def _places(column: Column) -> tuple[str, str]:
    counted = f"as {column.other_label}"
    missing = "null" if column.nullable else counted
    invalid = {"clamp": "nearest bin", "null": "null"}.get(column.places.invalid, counted)
    return escape(missing), escape(invalid)


def _show_zeros(schema: Schema, console: Console) -> None:
    for zero in schema.zeros:
        cells = schema.domain.cells(zero.clique)
        console.print(escape(f"Impossible: {zero.rule}: {len(zero.cells):,} of {cells:,} combinations"), highlight=False)
        for name in zero.undecided:
            console.print(escape(f'  but a bin of "{name}" lies on both sides and stays possible'), highlight=False)
