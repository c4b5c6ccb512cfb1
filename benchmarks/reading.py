"""The CSV reader beside DuckDB's, on one thread each: a made-up table, plain and with every field quoted.

Run by ``make bench-reading``. DuckDB reads as it would have to if one bad line may not stop a run; it still lets a
stray quote swallow other lines, so this compares speed alone. CPU time, since a busy machine disturbs it least.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import duckdb
import numpy as np

from understudy.source.files import FilesReader

COLUMNS, ROWS, REPEATS = 15, 500_000, 3
WORDS = np.array(["private", "self-employed", "government", "none"])
NAMES = [f"c{i}" for i in range(COLUMNS)]


def write(path: Path, quote: str) -> None:
    rng = np.random.default_rng(0)
    columns = [rng.choice(WORDS, ROWS) if i % 2 else rng.integers(0, 100, ROWS).astype(str) for i in range(COLUMNS)]
    with path.open("w", encoding="utf-8") as file:
        file.write(",".join(NAMES) + "\n")
        file.writelines(",".join(f"{quote}{value}{quote}" for value in row) + "\n" for row in zip(*columns, strict=True))


def ours(path: Path, wanted: Sequence[str]) -> int:
    return sum(batch.num_rows for batch in FilesReader(path, wanted).batches(wanted))


def theirs(path: Path, wanted: Sequence[str]) -> int:
    columns = ", ".join(f"'{name}': 'VARCHAR'" for name in NAMES)
    how = f"header = true, columns = {{{columns}}}, null_padding = true, strict_mode = false, parallel = false"
    with duckdb.connect(config={"preserve_insertion_order": "false"}) as connection:
        read = connection.sql(f"FROM read_csv('{path}', auto_detect = false, quote = '\"', escape = '\"', {how})")
        return sum(batch.num_rows for batch in read.project(", ".join(wanted)).to_arrow_reader(2**16))


def best(action: Callable[[Path, Sequence[str]], int], path: Path, wanted: Sequence[str]) -> float:
    """Return the shortest CPU time of several."""
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        if action(path, wanted) != ROWS:
            sys.exit("a reader lost rows")
        times.append(time.process_time() - start)
    return min(times)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for kind, quote in (("plain", ""), ("quoted", '"')):
            path = Path(folder, f"{kind}.csv")
            write(path, quote)
            size = path.stat().st_size / 1e6
            for wanted in (NAMES, NAMES[1:8:3]):
                own, other = best(ours, path, wanted), best(theirs, path, wanted)
                speeds = f"{size / own:4.0f} MB/s, DuckDB {size / other:4.0f} MB/s, ratio {other / own:.2f}"
                print(f"{kind:6}  {len(wanted):2} of {COLUMNS} columns  {speeds}", flush=True)


if __name__ == "__main__":
    main()
