"""The page about GPUs holds what was measured there, and the table of it says what ran on which device."""

from __future__ import annotations

from pathlib import Path

import gpu

PAGE = Path(__file__).parents[2] / "docs" / "gpu.md"


def test_the_page_has_the_table_of_the_stored_runs() -> None:
    assert gpu.summary(gpu.stored()) in PAGE.read_text()


def test_a_run_on_the_processor_gets_columns_of_its_own_and_one_given_up_says_so() -> None:
    run = {"mechanism": "aim", "cell": "fire all-3way 1 80", "seed": 0}
    lines = [
        run | {"device": "cuda", "seconds": 14.8, "error": 0.05, "gpu_gb": 4.0},
        run | {"device": "cuda", "seconds": 18.2, "error": 0.06, "gpu_gb": 4.0},
        run | {"device": "cpu", "given_up_after": 900.0},
    ]
    head, _, row = gpu.summary(lines).splitlines()
    assert (
        head == "| mechanism | table, workload, ε, largest model | GPU, s | error | GPU memory, GB | processor, s | error |"
    )
    assert row == "| `aim` | fire all-3way 1, 80 MB | 15–18 | 0.050–0.060 | 4.0 | given up after 900 |  |"


def test_a_run_that_is_on_file_is_not_run_again(tmp_path: Path) -> None:
    asked = gpu.argparse.Namespace(
        cells=["no-such-table all-3way 1 80"],
        mechanisms=["aim"],
        seeds=[0],
        devices=["cpu"],
        limit=60.0,
        results=tmp_path / "runs",
    )
    line = {"cell": asked.cells[0], "mechanism": "aim", "seed": 0, "device": "cpu", "seconds": 1.0, "error": 0.1}
    asked.results.write_text(gpu.json.dumps(line) + "\n")
    gpu.run_missing(asked)
    assert gpu.stored(asked.results) == [line]
