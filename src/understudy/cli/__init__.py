"""The command line: parse, call one library function, print. Every command lives in a module of its own.

Owns no data; what a command may see is said by the room it calls.
"""

from __future__ import annotations

import click

from understudy.cli.demo import demo
from understudy.cli.ending import Commands
from understudy.cli.evaluate import evaluate
from understudy.cli.ledger import ledger
from understudy.cli.plan import plan
from understudy.cli.query import query
from understudy.cli.report import report
from understudy.cli.sample import sample
from understudy.cli.schema import schema
from understudy.cli.synthesize import synthesize


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="understudy")
def main() -> None:
    """Differentially private synthetic tables: a public stand-in for a private table.

    \b
    Start here:
      understudy demo                                         see it work on a made-up table
      understudy schema draft visits.csv -o visits.toml       then review every line of it
      understudy plan --schema visits.toml --rows 50000 --epsilon 1
      understudy synthesize visits.csv --schema visits.toml --epsilon 1 --out release

    \b
    Exit status: 0 done; 1 an error measured by evaluate is above --max-error, or a ledger does not verify;
    2 wrong usage or input; 3 a fault of this software; 128 and a signal's number when stopped by it (Ctrl-C: 130).
    """


for command in (schema, plan, synthesize, ledger, sample, query, report, evaluate, demo):
    main.add_command(command)
