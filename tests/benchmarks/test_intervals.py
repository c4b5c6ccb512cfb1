"""How often bootstrap intervals held: the page shows what was measured, and nothing else."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import intervals

PAGE = (Path(__file__).parents[2] / "docs" / "intervals.md").read_text(encoding="utf-8")


def test_the_page_shows_the_stored_results() -> None:
    runs = [intervals.stored(mechanism) for mechanism in ("aim", "aim2")]
    for table in [write(some) for some in runs for write in (intervals.page, intervals.widths)]:
        assert table in PAGE


def test_every_run_counts_once() -> None:
    runs = [(run["table"], run["seed"]) for run in intervals.stored()]
    assert len(runs) == len(set(runs))


def test_a_table_adds_up_its_runs() -> None:
    kinds = {kind: {"held": 9, "intervals": 10, "bound": 0.1, "proved": 0.5} for kind in intervals.KINDS}
    more = {kind: {"held": 30, "intervals": 30, "bound": 0.3, "proved": 0.7} for kind in intervals.KINDS}
    runs = [{"table": "a", "kinds": kinds}, {"table": "a", "kinds": more}, {"table": "b", "kinds": kinds}]
    assert intervals.page(runs).splitlines()[2:] == [
        "| a | 2 | " + " | ".join(["97.5 %"] * 7) + " |",
        "| b | 1 | " + " | ".join(["90.0 %"] * 7) + " |",
    ]
    assert intervals.widths(runs).splitlines()[2] == "| a | 0.2 | 0.2 | 0.6 | 0.2 |"


def test_a_tally_counts_by_kind() -> None:
    tally = intervals.Tally()
    tally.add("cells", np.array([True, False]), bound=np.array([0.5, 0.1]))
    tally.add("cells", np.array([[True]]), bound=np.array([[0.3]]))
    assert tally.told() == {"cells": {"intervals": 3, "held": 2, "bound": 0.3}}
