"""A process that draws some parts of a sample: ``python -m understudy.release.worker FOLDER NUMBER``. Public.

See ``crew``, which starts it.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from understudy.release.parts import Parts, Sample
from understudy.release.storage import read


def work(folder: Path, number: int) -> None:
    """Draw the parts that are this process's share, and report each."""
    task = json.loads((folder / "task.json").read_text(encoding="utf-8"))
    parts = Parts(Path(task["folder"]), Sample(**task["sample"]), task["mine"])
    try:
        drawing = parts.sample.drawing(read(folder))
        for part in task["shares"][number]:
            parts.write(part, drawing)
            report(part=part)
    except MemoryError:
        report(memory=True)
    except BrokenPipeError:
        pass  # whoever started this is gone
    except OSError as error:
        report(system=[error.errno, error.strerror, error.filename])


def report(**what: Any) -> None:
    """Write a line; it is short enough not to be mixed with those of others."""
    os.write(1, json.dumps(what).encode() + b"\n")


if __name__ == "__main__":
    work(Path(sys.argv[1]), int(sys.argv[2]))
