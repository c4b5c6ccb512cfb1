"""One cell of the grid, in a process of its own: started by ``benchmarks/run_grid.py``, which reads what it leaves behind.

Ends, with everything that it started, as soon as its standard input closes: that is, when the runner is gone.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from grid.cells import Cell
from reference_sets import ROOT


def watch_runner() -> None:
    """End the whole process group when the runner is gone, however it went."""

    def wait() -> None:
        while os.read(0, 1024):
            pass
        pid = adapter_group()
        if pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def adapter_group() -> int | None:
    """The group of the peer's process, if one is running."""
    try:
        children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    except OSError:
        return None
    return int(children[0]) if children else None


def outcome(cell: Cell, seed: int, scratch: Path, limit: float) -> dict[str, Any]:
    """Run the cell; an error is a result too."""
    from grid import ours, peer

    try:
        if cell.is_peer:
            return peer.run(cell, seed, limit)
        return {"status": "done", "message": "", "result": ours.run(cell, seed, scratch)}
    except Exception as error:
        message = f"{type(error).__name__}: {error}".replace(str(ROOT.parent), "..")
        return {"status": "failed", "message": message, "result": {}}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cell", required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--limit", type=float, required=True)
    parser.add_argument("--scratch", type=Path, required=True)
    arguments = parser.parse_args()
    watch_runner()
    found = outcome(Cell.parse(arguments.cell), arguments.seed, arguments.scratch, arguments.limit)
    part = arguments.scratch / "result.part"
    part.write_text(json.dumps(found))
    part.rename(arguments.scratch / "result.json")
    return 0


if __name__ == "__main__":
    sys.exit(main())
