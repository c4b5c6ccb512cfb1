"""Where address space is limited (``ulimit -v``), Arrow takes it as it is needed. Owns no data.

Arrow's own allocator begins by reserving a gigabyte, whatever it is used for. It is chosen when Arrow is loaded, so this is
the first thing that is imported, and all that it does is done then.
"""

from __future__ import annotations

import os


def most_addresses() -> int | None:
    """Return the limit on address space, in bytes, if there is one."""
    try:
        import resource

        most, _ = resource.getrlimit(resource.RLIMIT_AS)
        return None if most == resource.RLIM_INFINITY else most
    except (ImportError, OSError, ValueError):  # not on this system
        return None


if most_addresses() is not None:
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
