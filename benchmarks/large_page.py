"""Writes docs/large.md from what benchmarks/capacity.py, benchmarks/rows_out.py and benchmarks/spark.py have stored."""

from __future__ import annotations

import json
from typing import Any

import capacity
import rows_out
from reference_sets import ROOT

PAGE = ROOT / "docs" / "large.md"
SPARK = ROOT / "benchmarks" / "results" / "spark.json"
BILLION = 1_000_000_000
Line = dict[str, Any]


def table(head: list[str], rows: list[list[str]]) -> str:
    """A table whose first column is words."""
    marks = ["---"] + ["---:"] * (len(head) - 1)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, marks, *rows])


def fixed(lines: list[Line]) -> str:
    """Each size, table by table."""
    last = {(r["table"], r["epsilon"], r["seed"], r["size"]): r for r in lines if r["size"] != "auto" and "error" in r}
    order = sorted(last.values(), key=lambda r: (r["table"], r["epsilon"], r["seed"], capacity.megabytes(r["size"])))
    rows = [
        [
            f"{r['table']}, {r['epsilon']:g}, {r['seed']}",
            r["size"],
            f"{r['tree_mb']:.3g}",
            f"{r['seconds']:.0f}",
            f"{r['error']:.4f}",
            f"{r['peak_mb']:,}",
        ]
        for r in order
    ]
    return table(["table, ε, seed", "largest", "model, MB", "s", "error", "peak, MB"], rows)


def out(lines: list[Line]) -> str:
    """Rows out; the last run of each size counts."""
    last = {(r["release"], r["rows"]): r for r in lines}
    rows = [
        [
            f"{name}, {r['columns']} columns",
            f"{r['rows']:,}",
            f"{r['seconds']:.0f}",
            f"{r['rows_a_second']:,}",
            f"{r['cpu_seconds']:.0f}",
            f"{r['peak_mb']:,}",
        ]
        for (name, _), r in sorted(last.items())
    ]
    return table(["release", "rows", "s", "rows a second", "CPU s", "largest process, MB"], rows)


def spark(found: Line) -> str:
    """Counting on Spark."""
    rows = [
        [
            r["table"],
            f"{r['rows']:,}",
            f"{r['cpu_s']:.1f}",
            f"{r['s']:.0f}",
            f"{r['python_mb']}",
            f"{r['java_mb']}",
            "yes" if r["as_duckdb"] else "no",
        ]
        for r in found["runs"]
    ]
    head = ["table", "rows", "CPU s", "s", "a Python process, MB", "Java, MB", "as DuckDB"]
    return table(head, rows)


def busy(lines: list[Line]) -> str:
    """The runs beside which something else ran, in words."""
    found = [r for r in lines if r["beside"] and r["limit"] and "error" in r]
    words = [f"{r['table']}, {r['limit']:.0f} s: {r['seconds']:.0f} s ({r['beside']})" for r in found]
    return "; ".join(words) + "."


def page(sizes: list[Line], drawn: list[Line], counted: Line) -> str:
    """The whole page."""
    most = max(drawn, key=lambda r: int(r["rows"]))
    minutes, gigabytes = BILLION / most["rows_a_second"] / 60, BILLION / most["rows"] * most["written_mb"] / 1024
    return f"""# Larger models, more rows

What a run does with more time, and how many rows come out in a second. Two cores, shared with other work unless it says
otherwise; written by `benchmarks/large_page.py` from stored figures.

## A model as large as time allows

```
understudy synthesize visits.parquet -s visits.toml -e 1 -o release --max-size auto --time-limit 5m
```

The model grows as far as the time and half of the machine's memory allow. How much a larger one costs is measured on the
machine when the run begins, and corrected by how the run itself goes. What it decides depends on the clock, so two runs with
one seed may differ; a run that is resumed decides the same again. The clock stands still while the table is read and while a
choice is drawn, so what it shows tells nothing of the rows; reading comes on top of the limit.

The limit is kept by forecast: a model cannot be made smaller again, and what comes after the last round (a closer fit, the
check, the rows, bounds, the report) takes as long as it takes. On a machine that gets busier then, it may be missed.

All 3-way marginals, δ = 1e-9, seeded noise, one core; the whole command, from a Parquet file to the saved release. Beside
the best of the fixed sizes that were run and ended within the limit, the worst first.

{chr(10).join(capacity.compared(sizes))}

Rule 1 took the rounds to come for fewer than they were, so that on *msnbc* the model grew too early, and nothing was left
for the last rounds. Rule 2 forecasts them as `plan` does. It missed the limit on *fire*. A traced run with
another seed took 294 s, of which 137 to ask a finished model of 660 MB for all triples: 13 times as long as one of 150 MB.
Rule 3, which is in use, counts with that. Limits that were missed: {capacity.missed(sizes)}

On a busy machine: {busy(sizes)}

One seed each. With another seed the error at 80 MB on *fire* was 6 % larger, so that ratios near 1 say little.

The fixed sizes:

{fixed(sizes)}

A larger model is better on *fire*, *msnbc* and *adult* at ε = 10. On *titanic* and *salary*, and on *adult* at ε = 1, noise
stops it long before any limit does.

## Rows out

```
understudy sample release --rows 1_000_000_000 --out folder/
```

Two processes on two cores, the whole command with Parquet files written.

{out(drawn)}

Each process holds one part of a million rows at a time, so its memory does not grow with the rows. A billion rows of the
same release would take {minutes:.0f} minutes at this rate, and {gigabytes:.0f} GB of files: computed, not run.

## Counting on Spark

All 455 triples of 15 columns, `local[2]`. Compared with DuckDB on 26 marginals a run. Nothing else ran on the
machine.

{spark(counted)}

A worker process that is killed in the middle changes nothing but the time; a test does that.
"""


def main() -> None:
    stored = [[json.loads(line) for line in path.read_text().splitlines()] for path in (capacity.RESULTS, rows_out.RESULTS)]
    PAGE.write_text(page(*stored, json.loads(SPARK.read_text())), encoding="utf-8")


if __name__ == "__main__":
    main()
