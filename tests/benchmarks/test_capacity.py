"""What was run under a limit is compared with the best fixed size that ends within it, and missed limits are told."""

from __future__ import annotations

import json
from typing import Any

import capacity
import large_page
import rows_out


def line(size: str, seconds: float, error: float, limit: float | None = None, table: str = "fire") -> dict[str, Any]:
    found = {"table": table, "epsilon": 1.0, "seed": 0, "size": size, "limit": limit, "seconds": seconds, "error": error}
    return found | {"tree_mb": 1.0, "peak_mb": 100} | ({"rule": 3} if limit else {})


def test_the_best_size_that_ends_within_the_limit_and_the_worst_first() -> None:
    lines = [line("80MB", 50, 0.2), line("20MB", 20, 0.3), line("320MB", 70, 0.1), line("auto", 55, 0.22, 60)]
    lines += [line("auto", 30, 0.2, 40, "adult"), line("80MB", 10, 0.1, table="adult"), line("auto", 5, 0.1, 9, "salary")]
    rows = capacity.compared(lines)[2:]
    assert [row.split(" | ")[0] for row in rows] == ["| adult, 1, 0", "| fire, 1, 0"]  # nothing fits in salary's limit
    assert rows[1].endswith("| 80MB | 50 | 0.2000 | 1.100 |")


def test_the_last_line_of_a_cell_counts_and_one_that_failed_does_not() -> None:
    lines = [line("auto", 70, 0.2, 60), line("80MB", 10, 0.1)]
    assert capacity.missed(lines) == "fire, ε = 1, 60 s: 70 s, rule 3."
    failed = {key: value for key, value in line("80MB", 10, 0.1).items() if key != "error"}
    lines += [line("auto", 50, 0.1, 60), failed]
    assert capacity.missed(lines) == "none."
    assert capacity.compared(lines)[-1].endswith("| 1.000 |")


def test_the_page_has_what_is_stored() -> None:
    stored = [[json.loads(one) for one in path.read_text().splitlines()] for path in (capacity.RESULTS, rows_out.RESULTS)]
    assert large_page.PAGE.read_text(encoding="utf-8") == large_page.page(*stored, json.loads(large_page.SPARK.read_text()))
