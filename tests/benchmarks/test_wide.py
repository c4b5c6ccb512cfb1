"""The section on wide tables in docs/scaling.md is what the stored results say."""

from __future__ import annotations

import json

import wide


def test_the_page_has_the_stored_results() -> None:
    lines = [json.loads(line) for line in wide.RESULTS.read_text().splitlines()]
    assert wide.section(lines) in wide.PAGE.read_text()


def test_the_last_result_of_a_case_counts_and_a_refusal_has_no_figures() -> None:
    ran = {"exit": 0, "seconds": 10.0, "cpu_seconds": 9.0, "peak_mb": 500}
    case = {"table": "stroke", "workload": "all-3way", "epsilon": 1.0, "addresses_gb": None, "cores": 1, "plan": ran}
    first = case | {"run": ran, "error": 0.2, "found": "0 of 0"}
    again = case | {"run": ran | {"seconds": 20.0}, "error": 0.1, "found": "0 of 0"}
    refused = case | {"addresses_gb": 2.0, "run": ran | {"exit": 2}, "said": "Error: ..."}
    told = wide.section([first, again, refused])
    assert "| stroke | all-3way | 1 | free | 10 | 20 | 9 | 500 | 0.1 |  |" in told
    assert "| stroke | all-3way | 1 | 2 GB | 10 | refused | | | | |" in told
    assert "0.2" not in told
    assert "bound to 1 of two cores" in told
