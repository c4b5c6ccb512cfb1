"""Runs cells, each in a process of its own, a few at a time, and keeps every result the moment it is there.

Sees no table itself: it starts processes, watches the clock, and writes lines.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import IO, Any, Literal

from grid import provenance, store
from grid.cells import Cell
from peers import environments
from reference_sets import ROOT

SCRIPT = ROOT / "benchmarks" / "run_cell.py"
GRACE = 120.0
"""Seconds past its limit that a peer's cell gets for the comparison, after its own process was stopped."""
Heard = Callable[[store.Line], None]
Retry = Literal["none", "failed", "all"]


@dataclass(frozen=True)
class Settings:
    """How to run: ``minutes`` is when to begin no further cell, ``limit`` the most seconds of one."""

    seed: int = 0
    jobs: int = 1
    limit: float = 1800.0
    minutes: float | None = None
    retry: Retry = "none"
    """Which cells that have a result already are run again."""
    give_up: bool = False
    """Whether what ran out of time in one trial is left alone in the others."""


class Stopped(Exception):
    """Someone asked the run to end; what was in flight is lost, all else is kept."""


def run(cells: Sequence[Cell], path: Path, settings: Settings, heard: Heard) -> int:
    """Run the cells that ``path`` has no result of; return how many are still missing."""
    with store.appending(path) as file:
        lines = store.read(path)
        waiting = deque(missing(cells, lines, settings.seed, settings.retry))
        with tempfile.TemporaryDirectory(prefix="grid-") as folder, _stoppable():
            _work(waiting, _Desk(Path(folder), file, settings, heard, hopeless=lines if settings.retry == "none" else ()))
    return len(missing(cells, store.read(path), settings.seed))


def refuse(cells: Sequence[Cell], path: Path, settings: Settings, message: str) -> None:
    """Book cells that cannot be run at all, such as those of a peer that does not install."""
    with store.appending(path) as file:
        for cell in missing(cells, store.read(path), settings.seed, settings.retry):
            started = datetime.now(UTC).isoformat(timespec="seconds")
            ended = {"seconds": 0.0, "status": "failed", "message": message, "result": {}, "progress": None}
            store.append(file, _stamp(cell, started, versions(cell), settings) | ended)


def missing(cells: Sequence[Cell], lines: list[store.Line], seed: int, retry: Retry = "none") -> list[Cell]:
    """The cells whose last result is not of this seed; with ``retry``, also those that did not end well, or all."""
    if retry == "all":
        return list(cells)
    known = {key: line for key, line in store.latest(lines).items() if line["base_seed"] == seed}
    settled = {key for key, line in known.items() if retry == "none" or line["status"] == "done"}
    return [cell for cell in cells if cell.key not in settled]


def versions(cell: Cell) -> dict[str, str]:
    """Versions of what a cell runs on; of a peer's also the library itself, however the cell ends."""
    peer = environments.PEERS.get(cell.mechanism.partition("/")[0]) if cell.is_peer else None
    return provenance.versions() | ({"peer": f"{peer.distribution} {peer.version}"} if peer else {})


@dataclass
class _Flight:
    """A cell that is running."""

    cell: Cell
    process: subprocess.Popen[bytes]
    scratch: Path
    slot: int
    started: str
    began: float
    versions: dict[str, str]
    """Asked when it starts: the code may change while a long plan runs."""


class _Desk:
    """Starts cells in numbered slots and books what comes back."""

    def __init__(
        self, folder: Path, file: IO[bytes], settings: Settings, heard: Heard, *, hopeless: Sequence[store.Line]
    ) -> None:
        self.folder, self.file, self.settings, self.heard = folder, file, settings, heard
        self.flights: list[_Flight] = []
        self._late = {Cell.parse(line["cell"]).setting for line in hopeless if line["status"] == "timeout"}
        self._count = 0
        self._until = None if settings.minutes is None else time.monotonic() + 60 * settings.minutes

    @property
    def open(self) -> bool:
        """Whether there is time to begin another cell."""
        return self._until is None or time.monotonic() < self._until

    def worth(self, cell: Cell) -> bool:
        """Whether to try it, after what its other trials did."""
        return not (self.settings.give_up and cell.setting in self._late)

    def start(self, cell: Cell) -> None:
        """Give it a process and a free slot."""
        slot = min(set(range(self.settings.jobs)) - {flight.slot for flight in self.flights})
        self._count += 1
        scratch = self.folder / str(self._count)
        scratch.mkdir()
        command = [sys.executable, str(SCRIPT), "--cell", cell.key, "--seed", str(cell.seed(self.settings.seed))]
        command += ["--limit", str(self.settings.limit), "--scratch", str(scratch)]
        with (scratch / "output.txt").open("wb") as output:
            process = subprocess.Popen(
                [*_pinned(slot, self.settings.jobs), *command],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, "PYTHONPATH": str(ROOT / "benchmarks")},
                start_new_session=True,
            )
        started = datetime.now(UTC).isoformat(timespec="seconds")
        self.flights.append(_Flight(cell, process, scratch, slot, started, time.monotonic(), versions(cell)))

    def look(self) -> None:
        """Book the flights that have ended, and stop those that are past their limit."""
        for flight in list(self.flights):
            seconds = time.monotonic() - flight.began
            late = seconds > self.settings.limit + (GRACE if flight.cell.is_peer else 0.0)
            if late:
                stop(flight.process)
            if late or flight.process.poll() is not None:
                self.flights.remove(flight)
                self._book(flight, seconds, late)

    def _book(self, flight: _Flight, seconds: float, late: bool) -> None:
        line = _stamp(flight.cell, flight.started, flight.versions, self.settings)
        line |= {"seconds": round(seconds, 3)} | _found(flight, late, self.settings.limit)
        store.append(self.file, line)
        if line["status"] == "timeout":
            self._late.add(flight.cell.setting)
        self.heard(line)

    def abandon(self) -> None:
        """Stop everything in flight; nothing of it is kept."""
        for flight in self.flights:
            stop(flight.process)


def _work(waiting: deque[Cell], desk: _Desk) -> None:
    try:
        while desk.flights or (waiting and desk.open):
            while waiting and desk.open and len(desk.flights) < desk.settings.jobs:
                cell = waiting.popleft()
                if desk.worth(cell):
                    desk.start(cell)
            time.sleep(0.02)
            desk.look()
    finally:
        desk.abandon()


def _stamp(cell: Cell, started: str, versions: dict[str, str], settings: Settings) -> store.Line:
    return {
        "cell": cell.key,
        **asdict(cell),
        "base_seed": settings.seed,
        "seed": cell.seed(settings.seed),
        "private": False,
        "started": started,
        "jobs": settings.jobs,
        "limit": settings.limit,
        "machine": provenance.machine(),
        "versions": versions,
    }


def _found(flight: _Flight, late: bool, limit: float) -> dict[str, Any]:
    """What the cell left behind; how far it got where it did not end well."""
    result = flight.scratch / "result.json"
    if result.exists():
        found: dict[str, Any] = json.loads(result.read_text())
    elif late:
        found = {"status": "timeout", "message": f"did not finish within {limit:g} s", "result": {}}
    else:
        code = flight.process.returncode
        found = {"status": "killed", "message": _ending(flight.scratch, code), "result": {}}
    if found["status"] != "done":
        found.setdefault("progress", _progress(flight.scratch))
    return found


def _ending(scratch: Path, code: int) -> str:
    lines = (scratch / "output.txt").read_text(errors="replace").strip().splitlines()
    said = f": {lines[-1]}" if lines else ""
    return f"its process ended with status {code}{said}"[:600]


def _progress(scratch: Path) -> Any:
    try:
        return json.loads((scratch / "progress.json").read_text())
    except (OSError, ValueError):
        return None


def stop(process: subprocess.Popen[bytes]) -> None:
    """End a cell and, through its closed input, whatever it started."""
    if process.stdin is not None:
        process.stdin.close()
    try:
        process.wait(timeout=2.0)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _pinned(slot: int, jobs: int) -> list[str]:
    """Give each of several jobs its own share of the cores, where the system can; a single job has them all."""
    if jobs == 1 or not hasattr(os, "sched_getaffinity"):
        return []
    cores = sorted(os.sched_getaffinity(0))
    mine = cores[slot::jobs] or cores
    pin = "import os, sys; os.sched_setaffinity(0, map(int, sys.argv[1].split(','))); os.execv(sys.argv[2], sys.argv[2:])"
    return [sys.executable, "-c", pin, ",".join(map(str, mine))]


@contextmanager
def _stoppable() -> Iterator[None]:
    """Let ``kill`` and a closed terminal stop a run as Ctrl-C does."""

    def end(signum: int, frame: FrameType | None) -> None:
        raise Stopped(signal.Signals(signum).name)

    kinds = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {kind: signal.signal(kind, end) for kind in kinds}
    try:
        yield
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)
