"""Several processes that draw the parts of a sample at the same time. Public.

Threads would not do: drawing holds the interpreter lock most of the time. A process is ``understudy.release.worker``,
started afresh. It reads the release from a folder, reports each part that it has written by a line, and ends when nobody
listens.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from understudy.errors import UserError
from understudy.release.contents import Contents
from understudy.release.parts import Parts
from understudy.release.storage import write_into
from understudy.release.synthetic import SyntheticTable

Told = Callable[[int], None]
"""Is told how many rows there are, at the start and after each part."""
Draw = Callable[[Contents, Parts, Sequence[int]], Generator[int, None, None]]
"""Draws the parts that are missing, and yields each when it is there."""


def draw_parts(contents: Contents, parts: Parts, draw: Draw, told: Told) -> None:
    """Have the parts that are missing drawn."""
    missing = parts.missing()
    there = parts.sample.rows - sum(map(parts.sample.rows_of, missing))
    told(there)
    try:
        with closing(draw(contents, parts, missing)) as numbers:
            for part in numbers:
                there += parts.sample.rows_of(part)
                told(there)
    finally:
        parts.clear()


def by_processes(workers: int) -> Draw:
    """Return what draws parts by so many processes; a single one is this process."""

    def draw(contents: Contents, parts: Parts, missing: Sequence[int]) -> Generator[int, None, None]:
        return (_by_crew if min(workers, len(missing)) > 1 else _here)(contents, parts, missing, workers)

    return draw


def _here(contents: Contents, parts: Parts, missing: Sequence[int], workers: int) -> Generator[int, None, None]:
    drawing = parts.sample.drawing(contents)
    for part in missing:
        parts.write(part, drawing)
        yield part


def _by_crew(contents: Contents, parts: Parts, missing: Sequence[int], workers: int) -> Generator[int, None, None]:
    """Deal the parts out to processes, and yield each when it is there."""
    shares = [list(missing[first::workers]) for first in range(min(workers, len(missing)))]
    with TemporaryDirectory(prefix="understudy-") as name:
        write_without_rows(contents, Path(name))
        task = {"folder": str(parts.folder.absolute()), "sample": asdict(parts.sample), "mine": parts.mine, "shares": shares}
        (Path(name) / "task.json").write_text(json.dumps(task), encoding="utf-8")
        yield from _reports(name, len(shares))


def write_without_rows(contents: Contents, folder: Path) -> None:
    """Write what others need to draw rows: a release whose own table has none."""
    empty = SyntheticTable(contents.schema, contents.schema.arrow_schema.empty_table()).marked(contents.notice)
    write_into(replace(contents, synthetic=empty), folder, "parquet")


def _reports(folder: str, workers: int) -> Generator[int, None, None]:
    """Start the processes, and yield what they report. However this ends, none is left."""
    reading, writing = os.pipe()
    crew = [_start(folder, number, writing) for number in range(workers)]
    os.close(writing)
    try:
        with open(reading, encoding="utf-8") as lines:
            for line in lines:
                yield _part(json.loads(line))
        if any(process.wait() for process in crew):
            raise UserError("A process that drew rows was ended from outside. Was memory short? Run this again to go on.")
    finally:
        for process in crew:
            process.kill()
        for process in crew:
            process.wait()


def _start(folder: str, number: int, report: int) -> subprocess.Popen[bytes]:
    """Start one process; a Ctrl-C on the terminal does not reach it, since it is ours to end."""
    command = [sys.executable, "-m", "understudy.release.worker", folder, str(number)]
    paths = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=report, env=os.environ | paths, start_new_session=True)


def _part(report: dict[str, Any]) -> int:
    """Return the part that was written; what went wrong instead is raised here."""
    if "memory" in report:
        raise MemoryError
    if "system" in report:
        raise OSError(*report["system"])
    return int(report["part"])
