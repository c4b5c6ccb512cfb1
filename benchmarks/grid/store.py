"""Results as JSON lines: appended and flushed one by one, read back whole, whatever stopped the last write.

Holds errors of public research tables; nothing private.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

Line = dict[str, Any]


class StoreError(Exception):
    """A results file that cannot be used, and why."""


def read(path: Path) -> list[Line]:
    """Return all lines; a last one that was cut short is left out. One that is broken elsewhere is an error."""
    if not path.exists():
        return []
    rows = path.read_bytes().split(b"\n")
    found = []
    for number, row in enumerate(rows, start=1):
        if not row.strip():
            continue
        try:
            found.append(json.loads(row))
        except ValueError:
            if number == len(rows):  # no newline follows: the write was cut short
                break
            raise StoreError(f"{path.name}, line {number} is not JSON; results are never edited by hand.") from None
    return found


def latest(lines: list[Line]) -> dict[str, Line]:
    """The last line of each cell: a cell that was tried again counts as it ended then."""
    return {line["cell"]: line for line in lines}


def append(file: IO[bytes], line: Line) -> None:
    """Write one line and push it to the disk."""
    file.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")
    file.flush()
    os.fsync(file.fileno())


@contextmanager
def appending(path: Path) -> Iterator[IO[bytes]]:
    """Open for appending, alone; a torn last line is cut off first, so that the next does not run into it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StoreError(f"{path.name} is in use by another run; let it end, or stop it.") from None
        _mend(file)
        yield file


def _mend(file: IO[bytes]) -> None:
    file.seek(0)
    data = file.read()
    if not data or data.endswith(b"\n"):
        return
    start = data.rfind(b"\n") + 1
    try:
        json.loads(data[start:])
    except ValueError:
        file.truncate(start)
    else:  # whole but for its newline
        file.write(b"\n")
    file.seek(0, os.SEEK_END)
