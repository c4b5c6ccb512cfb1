"""``understudy synthesize``: from a private table to a release folder. What it prints is public."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import click

from understudy.cli.ending import BEGUN, after_release
from understudy.cli.options import FILE, FOLDER, as_json, budget, print_json, spark, table, table_of, warn, warnings_told
from understudy.errors import Spent
from understudy.mechanism import DEFAULT, MECHANISMS
from understudy.model import Device
from understudy.release import Release
from understudy.request import Output
from understudy.synthesize import synthesize as run


@click.command(
    epilog="""\b
Examples:
  understudy synthesize visits.csv --schema visits.toml --epsilon 1 --out release
  understudy synthesize "visits/*.parquet" -s visits.toml -e 2 --delta 1e-10 -w target:outcome -o release
  understudy synthesize visits.csv --separator ";" --encoding latin-1 -s visits.toml -e 1 -o release
  understudy synthesize --sql "SELECT * FROM visits" --database hospital.duckdb -s visits.toml -e 1 -o release
  understudy synthesize visits.csv -s visits.toml -e 1 -o release --ledger budget.ledger --dataset visits
  understudy synthesize --spark hospital.visits -s visits.toml -e 1 -o release

\b
The folder is written all or not at all. Before anything is read the budget is reserved: in the ledger, or else
in OUT.ledger, which is removed when the release is there, and stays when the run fails. Then --resume goes on.
Exit status: 0 done; 2 wrong usage or input, no memory or no room; 3 a fault of this software; 128 and a signal's number
when stopped by it (Ctrl-C: 130). What was spent is always said. A reader that goes away (| head -1) does not matter."""
)
@table
@spark
@click.option("-s", "--schema", "schema_path", required=True, help="The reviewed schema file of the table.")
@click.option("-o", "--out", type=FOLDER, required=True, help="The release folder to make.")
@budget
@click.option(
    "--rows",
    type=click.IntRange(min=0),
    help="Synthetic rows.  [default: by noisy counts, at most 10 million; 1,000 if these do not tell]",
)
@click.option(
    "--time-limit", metavar="TIME", help="Of the whole run, less reading the table, such as 10m; plan says the least."
)
@click.option(
    "--device",
    type=click.Choice(get_args(Device)),
    default="auto",
    show_default=True,
    help="Where models are fitted; auto: on a GPU if they are large and there is one.",
)
@click.option(
    "--mechanism",
    type=click.Choice([DEFAULT, *(name for name, kind in MECHANISMS.items() if kind.modelled)]),
    default=DEFAULT,
    show_default=True,
    help="How the table is measured; auto: the one with the least error forecast.",
)
@click.option("--public", metavar="FILE", help="A public table with the same columns to start from; not protected.")
@click.option("--format", "format_", type=click.Choice(["csv", "parquet"]), help="Of the table.  [default: as DATA]")
@click.option("--confidence", type=float, default=0.95, show_default=True, help="Of each bound.")
@click.option("--no-report", is_flag=True, help="Leave report.html out.")
@click.option("--overwrite", is_flag=True, help="Replace the release that is in the folder.")
@click.option("--ledger", type=FILE, help="The ledger that the budget is taken from, and that may refuse it.")
@click.option("--dataset", metavar="NAME", help="The table's name in the ledger.")
@click.option("--resume", is_flag=True, help="Go on with the run that was stopped or killed; nothing is spent twice.")
@click.option("--seed", type=click.IntRange(min=0), help="Repeatable, for research: the release is NOT PRIVATE.")
@click.option("--quiet", is_flag=True, help="No progress, even on a terminal.")
@as_json
def synthesize(
    *,
    schema_path: str,
    out: Path,
    format_: str | None,
    no_report: bool,
    overwrite: bool,
    quiet: bool,
    json_: bool,
    **settings: Any,
) -> None:
    """Make a differentially private synthetic table from DATA (CSV or Parquet, or a glob of them).

    Spends the privacy budget epsilon (or rho): other releases from the same table add to it.
    """
    kind: Any = format_ or ("parquet" if str(settings["data"]).lower().endswith((".parquet", ".pq")) else "csv")
    private = table_of(settings)
    target = Output(out, kind, report=not no_report, overwrite=overwrite)
    if settings["seed"] is not None:
        warn("NOT PRIVATE: --seed is for research. The release will be marked so everywhere.")
    click.get_current_context().meta[BEGUN] = True
    with warnings_told():
        release = run(private, schema_path, out=target, progress=False if quiet else None, **settings)
    with after_release(Spent(release.spent, release.rho, release.spent, finished=True)):
        if json_:
            print_json(summary(release, out))
        else:
            click.echo(release)
            click.echo(contents(out))


def summary(release: Release, folder: Path) -> dict[str, Any]:
    """Return what a machine needs to know of a new release."""
    manifest = release.manifest
    return {
        "folder": str(folder),
        "files": sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()),
        "private": manifest.private,
        "notice": manifest.notice,
        "run": manifest.run,
        "privacy": manifest.privacy.model_dump(mode="json"),
        "mechanism": manifest.mechanism.name,
        "forecasts": manifest.mechanism.forecasts,
        "rows": manifest.table.rows,
        "rounds": len(manifest.rounds),
        "model_size": manifest.model.size,
    }


WORDS = {
    "synthetic.csv": "the synthetic table",
    "synthetic.parquet": "the synthetic table",
    "synthetic.NOT-PRIVATE.csv": "the synthetic table of a seeded run",
    "synthetic.NOT-PRIVATE.parquet": "the synthetic table of a seeded run",
    "report.html": "the report, for a browser",
    "privacy-card.md": "what was promised, in words",
    "release.json": "everything about the release, for machines",
    "schema.toml": "what the table may contain, as declared",
    "model": "the model: understudy sample, understudy query",
    "measurements": "the noisy marginals themselves",
    "inside": "noisy counts of where values lie inside their bins",
}


def contents(folder: Path) -> str:
    """List what is in a release folder."""
    found = [(name, words) for name, words in WORDS.items() if (folder / name).exists()]
    width = max(len(name) for name, _ in found) + len(str(folder)) + 1
    return "\n".join(f"  {folder / name!s:<{width}}  {words}" for name, words in found)
