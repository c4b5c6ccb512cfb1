"""``understudy demo``: the bundled example, from a made-up table to what is built so far.

The example table is made up, so nothing here is private.
"""

from __future__ import annotations

from pathlib import Path

import click
import pyarrow.parquet as pq
from pyarrow import csv
from rich.console import Console

from understudy import example
from understudy.cli.schema import show
from understudy.schema import check, load_schema


@click.command()
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("understudy-demo"),
    show_default=True,
    help="Where the example files go.",
)
def demo(folder: Path) -> None:
    """Write the made-up example table and its schema to a folder, and walk through them."""
    folder.mkdir(parents=True, exist_ok=True)
    people = example.people()
    pq.write_table(people, folder / "people.parquet")
    csv.write_csv(people, folder / "people.csv")
    (folder / "people.toml").write_text(example.schema_text(), encoding="utf-8")
    click.echo(f"{people.num_rows:,} made-up people are in {folder}/people.csv and .parquet.")
    schema = load_schema(folder / "people.toml")
    show(schema, Console())
    misfits = check(folder / "people.csv", schema)
    fits = "every value fits" if not misfits else f"{sum(m.rows for m in misfits):,} values do not fit"
    click.echo(f"Checked {folder}/people.csv against {folder}/people.toml: {fits}.")
    click.echo("The demo stops here: it makes no synthetic table yet.")
