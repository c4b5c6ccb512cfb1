"""How a command ends: mistakes as at most three lines without a traceback, and what was spent wherever something may be.

Owns no data. Errors that nobody foresaw may quote the table, so their text is withheld unless asked for.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

import click

from understudy.cli.terminal import escaped
from understudy.errors import InternalError, Spent, UserError
from understudy.ledger.keeping import in_words, mark
from understudy.schema import SchemaFileError

DEBUG = "UNDERSTUDY_DEBUG"
SPENDING = ("synthesize",)
"""Commands that spend, and so always say what they spent."""
BEGUN = "understudy.begun"
"""Set in a command's context once it has called what spends."""
USER, FAULT, SIGNAL = 2, 3, 128
"""Exit statuses: the user can put it right; a fault of this software; a signal, whose number is added."""


class Ended(click.ClickException):
    """The end of a command before its time: a few lines, and an exit status."""

    def __init__(self, message: str, status: int = USER) -> None:
        super().__init__(message)
        self.exit_code = status  # type: ignore[misc]

    def show(self, file: Any = None) -> None:
        """Print the lines, where anybody listens."""
        with suppress(OSError), escaped():
            click.echo(self.message, err=True, file=file)


class Stopped(BaseException):
    """A signal asks the process to end."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


@contextmanager
def stoppable() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into ``Stopped``, so that a run is settled first; what is ignored stays ignored."""
    names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    numbers = [getattr(signal, name) for name in names if threading.current_thread() is threading.main_thread()]
    before = {number: signal.signal(number, _stop) for number in numbers if signal.getsignal(number) == signal.SIG_DFL}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _stop(number: int, frame: FrameType | None) -> None:
    raise Stopped(number)


@contextmanager
def after_release(spent: Spent) -> Iterator[None]:
    """Have whatever goes wrong from here on say what the finished run has spent."""
    try:
        yield
    except BaseException as error:
        mark(error, spent)
        raise


class Commands(click.Group):
    """A group whose users see their own mistakes in a few lines."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, and translate however it fails."""
        try:
            with stoppable(), escaped():
                return super().invoke(ctx)
        except click.UsageError as error:
            if not error.format_message() or isinstance(error, getattr(click.exceptions, "NoArgsIsHelpError", ())):
                raise
            raise Ended(_usage(ctx, error)) from error
        except UserError as error:
            raise Ended(_lines(ctx, f"Error: {error}", error)) from error
        except KeyboardInterrupt as error:
            raise Ended(_lines(ctx, "Interrupted.", error), SIGNAL + signal.SIGINT) from error
        except Stopped as error:
            raise Ended(_lines(ctx, f"Stopped by {_signal(error)}.", error), SIGNAL + error.number) from error
        except BrokenPipeError as error:
            raise _unheard(ctx, error) from error
        except OSError as error:
            _hang_up()
            raise Ended(_lines(ctx, f"Error: {_system(error)}", error)) from error
        except MemoryError as error:
            raise Ended(_lines(ctx, _MEMORY, error)) from error
        except Exception as error:
            if isinstance(error, click.ClickException | click.exceptions.Exit | click.Abort) or os.environ.get(DEBUG):
                raise
            raise Ended(_lines(ctx, _bug(error), error), FAULT) from error


_MEMORY = "Error: There is not enough memory. Ask for a smaller workload, declare fewer bins, or set a smaller --max-size."


def _unheard(ctx: click.Context, error: OSError) -> Ended:
    """Whoever read our output has gone. A release is what was asked for, so when it is complete, all is well."""
    _hang_up()
    spent: Spent | None = getattr(error, "spent", None)
    if spent is not None and spent.finished:
        return Ended(_lines(ctx, "The output was closed, so the summary is not printed.", error), 0)
    return Ended(_lines(ctx, "The output was closed.", error), SIGNAL + getattr(signal, "SIGPIPE", 13))


def _hang_up() -> None:
    """Throw away what could not be printed, so that Python does not try it again when it exits."""
    with suppress(OSError, ValueError):
        try:
            sys.stdout.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _more(error: BaseException, more: int) -> str:
    return f"(and {more} more{': see understudy schema show' if isinstance(error, SchemaFileError) else ''})"


def _usage(ctx: click.Context, error: click.UsageError) -> str:
    where = ctx.command_path if error.ctx is None else error.ctx.command_path
    return _lines(ctx, f"Error: {error.format_message()} See {where} --help.", error)


def _signal(error: Stopped) -> str:
    return signal.Signals(error.number).name


def _system(error: OSError) -> str:
    return f"{error.filename or 'The system'}: {error.strerror or type(error).__name__}."


def _bug(error: Exception) -> str:
    said = str(error) if isinstance(error, InternalError) else "its text is withheld, since it may quote the table"
    return f"A fault of this software ({type(error).__name__}: {said}). Set {DEBUG}=1 to see all of it; please report it."


def _lines(ctx: click.Context, message: str, error: BaseException) -> str:
    """Return at most three lines: the message, cut short, and what was spent. Schema commands list every problem."""
    said = _what_was_spent(ctx, error)
    notes = [] if said.lower() in message.lower() else [said]
    if ctx.invoked_subcommand == "schema":
        return "\n".join([message, *notes])
    lines = [line for line in message.splitlines() if line.strip()]
    room = 3 - len(notes)
    if len(lines) > room:
        lines = [*lines[: room - 1], f"{lines[room - 1]} {_more(error, len(lines) - room)}"]
    return "\n".join([*lines, *notes])


def _what_was_spent(ctx: click.Context, error: BaseException) -> str:
    """Say what ``error`` knows was spent; nothing can be while what spends was not even called."""
    spent: Spent | None = getattr(error, "spent", None)
    if spent is not None:
        return in_words(spent)
    if ctx.invoked_subcommand not in SPENDING:
        return ""
    if BEGUN in ctx.meta:
        return "What was spent is in the ledger: understudy ledger show."
    return in_words(Spent())
