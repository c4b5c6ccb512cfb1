"""``understudy demo``: from the bundled table to a release with its report. The table is made up: nothing is private."""

from __future__ import annotations

from pathlib import Path
from time import monotonic

import click
import pyarrow.parquet as pq
from pyarrow import csv

from understudy import example
from understudy.cli.ending import after_release
from understudy.cli.options import FOLDER, as_json, print_json
from understudy.cli.synthesize import contents, summary
from understudy.errors import Spent, UserError
from understudy.evaluate import evaluate
from understudy.quantities import show_time
from understudy.request import Output
from understudy.synthesize import synthesize


@click.command(
    epilog="""\b
Examples:
  understudy demo
  understudy demo --folder try --rows 2000 --workload all-2way

\b
Exit status: 0 done; 2 wrong usage or input; 3 a fault of this software; 130 interrupted."""
)
@click.option("--folder", type=FOLDER, default=Path("understudy-demo"), show_default=True, help="Where everything goes.")
@click.option("--rows", type=click.IntRange(min=1), default=example.ROWS, show_default=True, help="Made-up people.")
@click.option("-e", "--epsilon", type=float, default=1.0, show_default=True, help="How much may be disclosed.")
@click.option("-w", "--workload", default="all-3way", show_default=True, help="What to preserve.")
@as_json
def demo(folder: Path, rows: int, epsilon: float, workload: str, json_: bool) -> None:
    """Go from a made-up table of hospital admissions to a release with its report, and say where everything is."""
    began = monotonic()
    target = Output(folder / "release", overwrite=True)
    require_own(folder, target)
    table = write_example(folder, rows)
    target.ledger.unlink(missing_ok=True)  # of a demo that was stopped: nobody's budget is in it
    with after_release(Spent()):
        release = synthesize(table, folder / "people.toml", epsilon=epsilon, workload=workload, out=target)
    found = evaluate(table, release)
    if json_:
        print_json({**summary(release, target.folder), "table": str(table), "workload_error": found.error})
        return
    click.echo(f"{rows:,} made-up people are in {table}, their schema in {folder}/people.toml.")
    click.echo(release)
    click.echo(contents(target.folder))
    click.echo(
        f"Compared with the made-up table itself (which for a real table would not be private): workload error "
        f"{found.error:.3f}, {found.within} of {found.bounded} marginals within their bound."
    )
    click.echo(f"Done in {show_time(monotonic() - began)}. Open {target.folder}/report.html in a browser, or try:")
    click.echo(f"  understudy query {target.folder} age sex")
    click.echo(f"  understudy sample {target.folder} --rows 5 --given sex=Female")


def require_own(folder: Path, target: Output) -> None:
    """Refuse a folder with a release, or the ledger of a run, that may be of another table: both would be lost."""
    schema = folder / "people.toml"
    own = schema.is_file() and schema.read_bytes() == example.schema_text().encode()
    for path in (target.ledger, target.folder):
        if path.exists() and not own:
            raise UserError(f"{path} is there already, and of no demo. Name another folder, with --folder.")


def write_example(folder: Path, rows: int = example.ROWS) -> Path:
    """Write the made-up table and its schema; return the table's path."""
    folder.mkdir(parents=True, exist_ok=True)
    people = example.people(rows)
    pq.write_table(people, folder / "people.parquet")
    csv.write_csv(people, folder / "people.csv")
    (folder / "people.toml").write_text(example.schema_text(), encoding="utf-8")
    return folder / "people.csv"
