"""How much memory a run takes at its peak, from public facts alone, and what this process may still use.

Public: sizes of the schema, the workload, settings. The rows of the table are not in it: a frame is there already, and its
codes take a byte or two a value; files and queries are read some rows at a time.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from understudy.addresses import most_addresses
from understudy.domain import Clique, Combinations
from understudy.errors import CapacityError
from understudy.mechanism.config import MEGABYTE
from understudy.mechanism.outcome import ASKED_AGAIN
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
VALUE_BYTES = 24
"""A value of the synthetic table: its code, the code in an order to refine it by, the value in a column."""
ADDRESSES = 256 * MEGABYTE
"""Address space that threads reserve and do not use; a limit on it (``ulimit -v``) counts it all the same."""
FREE_SHARE = 0.9
"""Of what the system has free: others use it too."""

MACHINE_SHARE = 0.5
"""Of all that the machine has, for a run whose model grows as far as it may and to which no limit was given."""
GIVEN_SHARE = 0.75
"""The same of a limit that was given: what the process holds already, such as the table, has a place beside it."""

CONTROL = Path("/sys/fs/cgroup")


def peak_memory(workload: Workload, counted: Sequence[Clique], model: int, rows: int | None = None) -> int:
    """Return how many bytes a run adds to its process at the peak, with a model whose tree grows to ``model`` bytes.

    ``counted`` are the marginals that are counted in the first pass, and held.
    """
    cells = counted.cells if isinstance(counted, Combinations) else sum(map(workload.domain.cells, counted))
    held = max(8 * cells, min(8 * workload.cells, HELD_BYTES)) + CELL_BYTES * min(workload.cells, COMPARED)
    held += 8 * min(workload.cells, ASKED_AGAIN)
    listed = EACH * min(len(workload.closure), MOST_EACH)
    largest = min(model, 8 * workload.domain.cells())
    return FIXED + held + listed + MODELS * largest + VALUE_BYTES * (rows or 0) * len(workload.domain)


def capacity_within(memory: int, workload: Workload, counted: Sequence[Clique], rows: int | None = None) -> int:
    """Return the largest tree, in bytes, with which a whole process stays within ``memory``; 0 where none does."""
    return max(0, memory - PROCESS - peak_memory(workload, counted, 0, rows)) // MODELS


def rows_within(columns: int, memory: int | None) -> int | None:
    """Return how many synthetic rows of so many columns fit into a process of ``memory`` bytes; None where none is set.

    Never by what is free: that depends on the private table, which may be in memory, and the number of rows is released.
    """
    return None if memory is None else max(0, memory - PROCESS - FIXED) // (VALUE_BYTES * columns)


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
