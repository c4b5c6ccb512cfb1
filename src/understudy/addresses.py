"""Memory that libraries take from the system: no more than they need, and given back. Owns no data.

Where address space is limited (``ulimit -v``), Arrow takes it as it is needed. Arrow's own allocator begins by reserving a
gigabyte, whatever it is used for. It is chosen when Arrow is loaded, so this is the first thing that is imported.
"""

from __future__ import annotations

import os
from contextlib import suppress


def most_addresses() -> int | None:
    """Return the limit on address space, in bytes, if there is one."""
    try:
        import resource

        most, _ = resource.getrlimit(resource.RLIMIT_AS)
        return None if most == resource.RLIM_INFINITY else most
    except (ImportError, OSError, ValueError):  # not on this system
        return None


def give_back() -> None:
    """Give memory that is free again back to the system: between two steps of a run, the C library would keep it."""
    import ctypes

    with suppress(AttributeError, OSError, TypeError):  # another C library than GNU's
        ctypes.CDLL(None).malloc_trim(0)


if most_addresses() is not None:
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
