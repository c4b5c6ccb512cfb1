"""Rows out: ``understudy sample RELEASE --rows N --out folder/``, the whole command.

    python benchmarks/rows_out.py RELEASE ROWS…       by two processes, one run after the other

Appends wall and CPU seconds, rows a second and the memory of the largest process to benchmarks/results/rows_out.jsonl. The
files are written beside the release, and removed again. ``benchmarks/large_page.py`` writes docs/large.md.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

import understudy
from grid import provenance
from reference_sets import ROOT

RESULTS = ROOT / "benchmarks" / "results" / "rows_out.jsonl"


def drawn(release: Path, rows: int) -> dict[str, object]:
    """Draw so many rows into a folder."""
    with tempfile.TemporaryDirectory(dir=release.parent) as folder:
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        command = [sys.executable, "-m", "understudy", "sample", str(release), "--rows", str(rows), "--seed", "1"]
        subprocess.run([*command, "--out", f"{folder}/rows/"], check=True, capture_output=True)
        seconds, used = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
        written = sum(path.stat().st_size for path in Path(folder, "rows").iterdir())
    cpu = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
    return {
        "rows": rows,
        "columns": len(understudy.load(release).schema.columns),
        "seconds": round(seconds, 1),
        "cpu_seconds": round(cpu, 1),
        "rows_a_second": round(rows / seconds),
        "peak_mb": used.ru_maxrss // 1024,
        "written_mb": written >> 20,
        "load": round(os.getloadavg()[0], 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("release", type=Path)
    parser.add_argument("rows", type=int, nargs="+")
    parser.add_argument("--name", default="", help="what the release is of")
    asked = parser.parse_args()
    for rows in asked.rows:
        line = {"release": asked.name or asked.release.name, **drawn(asked.release, rows)}
        line |= {"when": datetime.now(UTC).isoformat(timespec="minutes"), "commit": provenance.commit()}
        with RESULTS.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
