"""``understudy report``: the page about a release. Public: made from released information alone."""

from __future__ import annotations

from pathlib import Path

import click

from understudy.cli.options import FILE, FOLDER, as_json, print_json, warn
from understudy.release import load


@click.command(
    epilog="""\b
Examples:
  understudy report release
  understudy report release -o for-the-board.html

\b
Exit status: 0 done; 2 wrong usage or input; 3 a fault of this software."""
)
@click.argument("folder", metavar="DIR", type=FOLDER)
@click.option("-o", "--output", type=FILE, help="The page to write.  [default: DIR/report.html]")
@as_json
def report(folder: Path, output: Path | None, json_: bool) -> None:
    """Write the report of the release in DIR: one page that needs no network.

    It also says where the private table's own means, totals and quantiles are expected, which takes some seconds.
    """
    from understudy.report import write_report

    release = load(folder)
    if not release.private:
        warn(release.notice)
    path = output or folder / "report.html"
    write_report(release, path, intervals=True)
    if json_:
        print_json({"report": str(path), "private": release.private})
    else:
        click.echo(f"The report is {path}. Open it in a browser.")
