"""Runs a notebook cell by cell, without Jupyter. ``PYTHONPATH=tests python -m docs.notebooks`` writes what each cell prints.

A cell is Python alone (no magic), and shows what it prints. Public: made-up tables only.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docs.blocks import Block, Player

FOLDER = Path(__file__).parents[2] / "docs" / "notebooks"


def printed(notebook: dict[str, Any], folder: Path) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield each code cell with what it prints, run in order in one namespace, in ``folder``."""
    player = Player(folder)
    for number, cell in enumerate(notebook["cells"]):
        if cell["cell_type"] == "code":
            yield cell, player.run_python(Block("python", {}, "".join(cell["source"]), number))


def shown(cell: dict[str, Any]) -> str:
    """Return what the stored notebook shows below a cell."""
    return "".join("".join(output["text"]) for output in cell["outputs"])


def refresh(path: Path) -> None:
    """Run a notebook and store what its cells print."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        for number, (cell, text) in enumerate(printed(notebook, Path(folder)), start=1):
            lines = text.splitlines(keepends=True)
            cell["execution_count"] = number
            cell["outputs"] = [{"name": "stdout", "output_type": "stream", "text": lines}] if text else []
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    for path in sorted(FOLDER.glob("*.ipynb")):
        refresh(path)
        sys.stdout.write(f"{path.name}\n")
