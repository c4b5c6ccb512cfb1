"""Results survive whatever stops the writer, and are never lost or invented on the way back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.conftest import BENCHMARKS  # noqa: F401  (puts the benchmarks on the path)
from grid import store


def write(path: Path, *lines: dict[str, object]) -> None:
    with store.appending(path) as file:
        for line in lines:
            store.append(file, line)


@pytest.mark.parametrize("cut", range(1, 12))
def test_a_torn_last_line_is_left_out_and_the_next_does_not_run_into_it(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "results.jsonl"
    write(path, {"cell": "a"}, {"cell": "b"}, {"cell": "ç"})
    path.write_bytes(path.read_bytes()[:-cut])
    whole = ["a", "b"] if cut > 1 else ["a", "b", "ç"]  # only the newline of the last is gone: the line is whole
    assert [line["cell"] for line in store.read(path)] == whole
    write(path, {"cell": "d"})
    assert [line["cell"] for line in store.read(path)] == [*whole, "d"]
    assert all(json.loads(row) for row in path.read_text().splitlines())


def test_a_line_broken_elsewhere_is_an_error_and_named(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text('{"cell": "a"}\n{"cell": \n{"cell": "c"}\n')
    with pytest.raises(store.StoreError, match=r"results\.jsonl, line 2"):
        store.read(path)


def test_two_runs_do_not_share_a_file(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    with store.appending(path), pytest.raises(store.StoreError, match="in use"), store.appending(path):
        pass


def test_a_cell_that_was_tried_again_counts_as_it_ended_then() -> None:
    lines = [{"cell": "a", "status": "failed"}, {"cell": "b", "status": "done"}, {"cell": "a", "status": "done"}]
    assert {cell: line["status"] for cell, line in store.latest(lines).items()} == {"a": "done", "b": "done"}
