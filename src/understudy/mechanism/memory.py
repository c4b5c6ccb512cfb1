"""How much memory a run takes at its peak, from public facts alone, and what this process may still use.

Public: sizes of the schema, the workload, settings. The rows of the table are not in it: a frame is there already, and its
codes take a byte or two a value; files and queries are read some rows at a time.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from pathlib import Path

from understudy.addresses import most_addresses
from understudy.domain import Clique, Combinations
from understudy.errors import CapacityError
from understudy.mechanism.config import MEGABYTE
from understudy.mechanism.outcome import ASKED_AGAIN, MOST_ROWS
from understudy.privacy.door import HELD_BYTES
from understudy.quantities import show_size
from understudy.workload import Workload

PROCESS = 192 * MEGABYTE
"""The interpreter with its libraries, before a run."""
FIXED = 64 * MEGABYTE
"""Whatever the table: libraries that are loaded on the way, their buffers, the ledger, the report."""
COMPARED = 1 << 24
"""Cells of the model's marginals that are held at a time, at most, to be compared with counts or rows …"""
CELL_BYTES = 16
"""… each as an 8-byte number, and as parts of others on the way."""
EACH = 2 * 2**10
"""For a marginal of any size: what is kept about it."""
MOST_EACH = 1 << 15
"""Marginals that a round or a later step looks at, at most."""
MODELS = 8
"""Of the largest model: what it shares among its answers, a fit, the tables of the next."""
RESTING = 3
"""Of the same, while rows are drawn and written, where all that is asked for then was asked for, and kept, …"""
FEW = 1_000
"""… by the check: of so few marginals it asks for all."""
VALUE_BYTES, ROW_BYTES = 6, 32
"""A value of the synthetic table while rows are drawn: its code, and that of a row that moves; an order of the rows."""
CODE_BYTES, DECODED_BYTES = 4, 12
"""The same once they are drawn: as narrow codes, twice, and as a value among those that are written at a time …"""
DECODED = 1 << 20
"""… so many rows."""
DRAWN_BYTES = 8
"""A value that was drawn inside its bin."""
ADDRESSES = 256 * MEGABYTE
"""Address space that threads reserve and do not use; a limit on it (``ulimit -v``) counts it all the same."""
LIBRARIES = 512 * MEGABYTE
"""Address space of libraries beyond what they use, such as code that is never called."""
FREE_SHARE = 0.9
"""Of what the system has free: others use it too."""

MACHINE_SHARE = 0.5
"""Of all that the machine has, for a run whose model grows as far as it may and to which no limit was given."""
GIVEN_SHARE = 0.75
"""The same of a limit that was given: what the process holds already, such as the table, has a place beside it."""

CONTROL = Path("/sys/fs/cgroup")


def peak_memory(
    workload: Workload, counted: Sequence[Clique], model: int, rows: int | None = None, drawn: int | None = None
) -> int:
    """Return how many bytes a run adds to its process at the peak, with a model whose tree grows to ``model`` bytes.

    ``counted`` are the marginals that are counted in the first pass, and held. In ``drawn`` columns of the synthetic table
    values are drawn inside bins; None: in all.
    """
    cells = counted.cells if isinstance(counted, Combinations) else sum(map(workload.domain.cells, counted))
    held = max(8 * cells, min(8 * workload.cells, HELD_BYTES)) + CELL_BYTES * min(workload.cells, COMPARED)
    held += 8 * min(workload.cells, ASKED_AGAIN)
    listed = EACH * min(len(workload.closure), MOST_EACH)
    largest = min(model, 8 * workload.domain.cells())
    few = len(workload.closure) <= FEW and workload.cells <= ASKED_AGAIN
    table = rows_memory(rows or 0, len(workload.domain), drawn)
    return FIXED + held + listed + max(MODELS * largest, (RESTING if few else MODELS) * largest + table)


def rows_memory(rows: int, columns: int, drawn: int | None = None) -> int:
    """Return what a synthetic table takes while it is made, in bytes; values are drawn inside bins in ``drawn`` columns."""
    inside = DRAWN_BYTES * (columns if drawn is None else drawn)
    written = rows * (CODE_BYTES * columns + inside) + DECODED_BYTES * min(rows, DECODED) * columns
    return max(rows * (VALUE_BYTES * columns + ROW_BYTES), written)


def capacity_within(
    memory: int, workload: Workload, counted: Sequence[Clique], rows: int | None = None, drawn: int | None = None
) -> int:
    """Return the largest tree, in bytes, with which a whole process stays within ``memory``; 0 where none does."""
    return max(0, memory - PROCESS - peak_memory(workload, counted, 0, rows, drawn)) // MODELS


def rows_within(workload: Workload, memory: int | None, model: int = 0, drawn: int | None = None) -> int | None:
    """Return how many synthetic rows fit into a process of ``memory`` bytes, or into the address space that it is limited
    to, beside a model with a tree of ``model`` bytes; None where neither is set.

    Never by what is free: that depends on the private table, which may be in memory, and the number of rows is released.
    """
    limits = [memory, None if (most := most_addresses()) is None else most - ADDRESSES - LIBRARIES]
    room = min((limit for limit in limits if limit is not None), default=None)
    if room is None:
        return None
    room -= PROCESS + FIXED + CELL_BYTES * min(workload.cells, COMPARED) + MODELS * model
    columns = len(workload.domain)
    return max(bisect_right(range(MOST_ROWS + 1), room, key=lambda rows: rows_memory(rows, columns, drawn)) - 1, 0)


def require_memory(needed: int, memory: int | None = None) -> None:
    """Refuse, before any spend, a run that would not fit: into ``memory`` for the whole process, or into what is free."""
    left = memory_left(memory)
    if left is not None and needed > left:
        raise CapacityError(
            f"The run may take {show_size(needed)} of memory, and this process may use {show_size(left)} more. "
            "Free some; or set a limit (--memory), and the model grows no larger than fits; or ask for a smaller workload "
            "(all-2way, all-1way), a smaller model (--max-size), or fewer bins. Nothing was spent."
        )


def growing_memory(memory: int | None) -> int | None:
    """Return what a run may plan with whose model grows as far as it may: a part of ``memory``, or of this machine's.

    None where it cannot be told. Never of what is free: that depends on the private table, which may be in memory, and the
    size of the model is released.
    """
    if memory is not None:
        return int(GIVEN_SHARE * memory)
    lines = _text(Path("/proc/meminfo")).splitlines()
    found = [1024 * int(line.split()[1]) for line in lines if line.startswith("MemTotal:")]
    found += [int(text) for group, most_in, _ in _groups() if (text := _text(group / most_in).strip()).isdigit()]
    if (most := most_addresses()) is not None:
        found.append(most - ADDRESSES)
    return int(MACHINE_SHARE * max(min(found), 0)) if found else None


def memory_left(memory: int | None = None) -> int | None:
    """Return what this process may still use, in bytes, of ``memory`` for all of it, or of what is free.

    None where no limit can be found.
    """
    found = [*_left()]
    if memory is not None:
        found.append(memory - resident())
    return max(min(found), 0) if found else None


def resident() -> int:
    """Return the memory that this process has now; where that cannot be told, what one has before a run."""
    words = _text(Path("/proc/self/statm")).split()
    return int(words[1]) * os.sysconf("SC_PAGE_SIZE") if words else PROCESS


def _left() -> Iterator[int]:
    """Yield what each limit that can be found leaves to this process, in bytes."""
    if (most := most_addresses()) is not None:
        yield most - _taken() - ADDRESSES
    for line in _text(Path("/proc/meminfo")).splitlines():
        if line.startswith("MemAvailable:"):
            yield int(FREE_SHARE * 1024 * int(line.split()[1]))
    for group, most_in, used_in in _groups():
        limit, used = _text(group / most_in).strip(), _text(group / used_in).strip()
        if limit.isdigit() and used.isdigit():
            yield int(limit) - int(used) + _reclaimable(group)


def _taken() -> int:
    """Return the address space that this process has taken."""
    return int(_text(Path("/proc/self/statm")).split()[0]) * os.sysconf("SC_PAGE_SIZE")


def _groups() -> Iterator[tuple[Path, str, str]]:
    """Yield the control groups of this process and those around them, each with its files of limit and use."""
    for line in _text(Path("/proc/self/cgroup")).splitlines():
        _, kinds, own = line.split(":", 2)
        if kinds not in ("", "memory"):
            continue
        root = CONTROL / kinds
        files = ("memory.limit_in_bytes", "memory.usage_in_bytes") if kinds else ("memory.max", "memory.current")
        inner = root / own.strip("/")
        for place in (inner, *inner.parents):
            if place.is_relative_to(root):
                yield place, *files


def _reclaimable(group: Path) -> int:
    """Return what the group holds of files only, which the system gives up when it needs memory."""
    found = [line.split() for line in _text(group / "memory.stat").splitlines()]
    return sum(int(words[1]) for words in found if words and words[0] == "inactive_file")


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
