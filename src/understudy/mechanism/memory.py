"""How much memory a run takes at its peak, from public facts alone, and what this process may still use.

Public: sizes of the schema, marginals that may be asked for, settings. The rows of the table are not in it: a frame is there
already, and its codes take a byte or two a value; files and queries are read some rows at a time.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from understudy.domain import Clique, Domain
from understudy.errors import CapacityError
from understudy.mechanism.config import MEGABYTE
from understudy.quantities import show_size

FIXED = 64 * MEGABYTE
"""Whatever the table: buffers of the libraries, the ledger, the report."""
COPIES = 3
"""Of all marginals at once, as 8-byte numbers: counted ones, the model's, and what compares them. Measured: 2.6."""
EACH = 16 * 2**10
"""For a marginal of any size: what is kept about it."""
MODELS = 20
"""Of the largest model: several are kept with their messages, for bounds to choose from. Measured: 19 of 30 MB."""
VALUE_BYTES = 64
"""A value of the synthetic table: codes, counts to refine it by, columns."""
ADDRESSES = 256 * MEGABYTE
"""Address space that threads reserve and do not use; a limit on it (``ulimit -v``) counts it all the same."""

CONTROL = Path("/sys/fs/cgroup")


def peak_memory(domain: Domain, expected: Sequence[Clique], max_size: int, rows: int | None = None) -> int:
    """Return how many bytes a run may take at its peak: an upper estimate, with a model that grows to ``max_size``.

    All marginals that may be asked for are counted at once, and held.
    """
    marginals = 8 * sum(domain.cells(clique) for clique in expected)
    largest = min(max_size, 8 * domain.cells(tuple(domain)))
    counted = COPIES * marginals + EACH * len(expected)
    return FIXED + counted + MODELS * largest + VALUE_BYTES * (rows or 0) * len(domain)


def require_memory(needed: int) -> None:
    """Refuse, before any spend, a run that would not fit."""
    left = min(_left(), default=needed)
    if needed > left:
        raise CapacityError(
            f"The run may take {show_size(needed)} of memory, and this process may use {show_size(max(left, 0))}. "
            "Ask for a smaller workload (all-2way), declare fewer bins, set a smaller max_size, or allow more memory. "
            "Nothing was spent."
        )


def _left() -> Iterator[int]:
    """Yield what each limit that can be found leaves to this process, in bytes."""
    try:
        import resource

        most, _ = resource.getrlimit(resource.RLIMIT_AS)
        if most != resource.RLIM_INFINITY:
            yield most - _taken() - ADDRESSES
    except (ImportError, OSError, ValueError):  # not on this system
        pass
    for line in _text(Path("/proc/meminfo")).splitlines():
        if line.startswith("MemAvailable:"):
            yield 1024 * int(line.split()[1])
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
