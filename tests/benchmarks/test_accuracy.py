"""The page on accuracy: worse is meant as the paper states its figures, and what was compared is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import aim_page
from benchmarks.conftest import BENCHMARKS  # noqa: F401  (puts the benchmarks on the path)


def cell(**figures: Any) -> dict[str, Any]:
    return {"when": "2027-01-01", "cores": 2, "python": "3.11", "model_error": 0.05, "generated_forbidden": 0, **figures}


@pytest.mark.parametrize(("error", "said"), [(0.0524, False), (0.0526, True), (0.0545, True), (0.055, True)])
def test_what_is_worse_than_the_paper_is_said_where_rounding_does_not_make_it_equal(
    tmp_path: Path, error: float, said: bool
) -> None:
    missed = aim_page.summarise({"error fire 1 0": cell(error=error)}, tmp_path / "page.md")
    text = (tmp_path / "page.md").read_text()
    assert text.count("the paper has 0.052") == said
    assert missed == (error > 1.05 * 0.052)


def test_zeros_are_held_to_the_same() -> None:
    found = aim_page.worse_than_paper({f"zeros fire {e} 0": cell(error=x) for e, x in (("0.1", 0.1532), ("10", 0.0326))})
    assert found == ["fire with structural zeros, ε = 10: error 0.0326, the paper has 0.032 with pairs of its own"]


def test_the_rounds_beside_mbi_are_counted_and_the_cores_are_named() -> None:
    speed = cell(seconds=8.0, rounds=35, peak_mb=377.0)
    text = aim_page.speed({"speed adult": speed, "peer adult": cell(times=1243.5, mbi=[{}], cores=1)}, [])
    assert "| 1,244× (1 round, 1 core) |" in text
    assert aim_page.compared(cell(mbi=[{}, {}])) == "2 rounds, 2 cores"
