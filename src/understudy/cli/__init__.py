"""The command line: parse, call one library function, print. Every command lives in a module of its own.

Owns no data; what a command may see is said by the room it calls.
"""

from __future__ import annotations

from typing import Any

import click

from understudy.cli.demo import demo
from understudy.cli.schema import schema
from understudy.errors import UserError


class Commands(click.Group):
    """A group whose users see their own mistakes as one message, without a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; a mistake of the user ends it with exit status 1."""
        try:
            return super().invoke(ctx)
        except UserError as error:
            raise click.ClickException(str(error)) from error


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="understudy")
def main() -> None:
    """Differentially private synthetic tables: a public stand-in for a private table."""


main.add_command(schema)
main.add_command(demo)
