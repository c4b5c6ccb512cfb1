"""What a terminal is shown: names of columns are a table's own, and may hold characters that command a terminal. Public."""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

_COMMANDS = re.compile("[\x80-\x9f]")
"""The C1 characters: some terminals take one for the start of a command, as they take ESC [. No text needs them."""


class Escaped:
    """A stream to a terminal that spells such characters instead of sending them."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write text, in which nothing commands the terminal but what this software sends."""
        return self._stream.write(_COMMANDS.sub(lambda found: f"\\x{ord(found[0]):02x}", text))


@contextmanager
def escaped() -> Iterator[None]:
    """Have what goes to a terminal spelled; files and pipes get what is written."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (Escaped(one) if one is not None and one.isatty() else one for one in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def wrapped(text: str, further: str = "") -> str:
    """Return a line for people, broken between words where the terminal is narrower; ``further`` lines begin so."""
    if not sys.stdout.isatty():
        return text
    width = max(40, shutil.get_terminal_size().columns)
    lines = textwrap.wrap(
        text,
        width,
        subsequent_indent=further,
        expand_tabs=False,
        replace_whitespace=False,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(lines) or text
