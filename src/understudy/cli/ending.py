"""How a command ends: mistakes as at most three lines without a traceback, and what was spent wherever something may be.

Owns no data. Errors that nobody foresaw may quote the table, so their text is withheld unless asked for.
"""

from __future__ import annotations

import os
from typing import Any

import click

from understudy.errors import InternalError, UserError
from understudy.schema import SchemaFileError

DEBUG = "UNDERSTUDY_DEBUG"
SPENDING = ("synthesize",)
"""Commands that spend, and so always say what they spent."""


class Ended(click.ClickException):
    """The end of a command that failed: a few lines, and an exit status. The user can put it right."""

    exit_code = 2

    def show(self, file: Any = None) -> None:
        """Print the lines."""
        click.echo(self.message, err=True, file=file)


class Faulty(Ended):
    """A fault of this software."""

    exit_code = 3


class Interrupted(Ended):
    """Stopped by the user."""

    exit_code = 130


class Commands(click.Group):
    """A group whose users see their own mistakes in a few lines."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, and translate however it fails."""
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            if not error.format_message() or isinstance(error, getattr(click.exceptions, "NoArgsIsHelpError", ())):
                raise
            raise Ended(_usage(ctx, error)) from error
        except UserError as error:
            raise Ended(_lines(ctx, f"Error: {error}", error)) from error
        except KeyboardInterrupt as error:
            raise Interrupted(_lines(ctx, "Interrupted.", error)) from error
        except OSError as error:
            raise Ended(_lines(ctx, f"Error: {_system(error)}", error)) from error
        except Exception as error:
            if isinstance(error, click.ClickException | click.exceptions.Exit | click.Abort) or os.environ.get(DEBUG):
                raise
            raise Faulty(_lines(ctx, _bug(error), error)) from error


def _more(error: BaseException, more: int) -> str:
    return f"(and {more} more{': see understudy schema show' if isinstance(error, SchemaFileError) else ''})"


def _usage(ctx: click.Context, error: click.UsageError) -> str:
    where = ctx.command_path if error.ctx is None else error.ctx.command_path
    return _lines(ctx, f"Error: {error.format_message()} See {where} --help.", error)


def _system(error: OSError) -> str:
    return f"{error.filename or 'The system'}: {error.strerror or type(error).__name__}."


def _bug(error: Exception) -> str:
    said = str(error) if isinstance(error, InternalError) else "its text is withheld, since it may quote the table"
    return f"A fault of this software ({type(error).__name__}: {said}). Set {DEBUG}=1 to see all of it; please report it."


def _lines(ctx: click.Context, message: str, error: BaseException) -> str:
    """Return at most three lines: the message, cut short, and what was spent. Schema commands list every problem."""
    if ctx.invoked_subcommand == "schema":
        return message
    lines = [line for line in message.splitlines() if line.strip()]
    notes = list(getattr(error, "__notes__", []))
    if not notes and ctx.invoked_subcommand in SPENDING and "othing was spent" not in message:
        notes = ["Nothing was spent."]
    room = 3 - len(notes[:1])
    if len(lines) > room:
        lines = [*lines[: room - 1], f"{lines[room - 1]} {_more(error, len(lines) - room)}"]
    return "\n".join([*lines, *notes[:1]])
