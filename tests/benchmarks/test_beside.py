"""The comparison with another checkout pairs the same seeds, takes the last of several results, and puts the worst first."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import beside


def line(cell: str, side: str, error: float, seed: int = 1, seconds: float = 2.0) -> beside.Line:
    return {"cell": cell, "seed": seed, "side": side, "error": error, "cpu_seconds": seconds, "commit": "c"}


def test_pairs_have_the_same_cell_and_seed() -> None:
    adult = "adult all-3way aim 1 0"
    lines = [line(adult, "old", 0.2), line(adult, "new", 0.1), line(adult, "new", 0.4, seed=2)]
    ((setting, pairs),) = beside.paired(lines)
    assert setting == ("adult", "all-3way", "aim", "1")
    assert [(old["error"], new["error"]) for old, new in pairs] == [(0.2, 0.1)]


def test_the_last_result_of_a_cell_counts() -> None:
    adult = "adult all-3way aim 1 0"
    lines = [line(adult, "old", 0.2), line(adult, "new", 0.1), line(adult, "new", 0.3)]
    ((_, pairs),) = beside.paired(lines)
    assert pairs[0][1]["error"] == 0.3


def test_the_worst_comes_first_and_the_mean_is_geometric() -> None:
    lines = []
    for name, ratio in (("titanic", 0.5), ("adult", 2.0), ("salary", 1.0)):
        for trial in range(2):
            cell = f"{name} all-3way aim 1 {trial}"
            lines += [line(cell, "old", 0.1, seed=trial), line(cell, "new", 0.1 * ratio, seed=trial)]
    found = beside.table(lines)
    assert [row.split(" ")[1] for row in found[2:5]] == ["adult", "salary", "titanic"]
    assert found[-1] == "Geometric mean of new/old over 3 settings: 1.0000."


def test_stored_cells_are_known_by_their_seed(tmp_path: Path) -> None:
    done = {"error": {"l1": 0.3}, "cpu_seconds": 1.0, "seconds": 1.0}
    stored = {"cell": "adult all-3way aim 1 0", "seed": 5, "status": "done", "versions": {"commit": "a"}, "result": done}
    failed = {**stored, "seed": 6, "status": "failed"}
    file = tmp_path / "grid.jsonl"
    file.write_text("\n".join(map(json.dumps, (stored, failed))))
    assert list(beside.stored(file)) == [("adult all-3way aim 1 0", 5)]
    assert beside.stored(None) == {}


def test_a_cell_that_fails_stops_the_comparison(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(beside, "RESULTS", tmp_path / "beside.jsonl")
    with pytest.raises(SystemExit, match="FileNotFoundError"):
        beside.run_cell(Path(beside.__file__).parents[1], beside.Cell.parse("nothing all-3way aim 1 0"), 1)
