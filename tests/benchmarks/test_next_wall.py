"""The computed section of docs/scaling.md follows from the stored figures, and is what the page has."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest

import next_wall
from understudy.privacy.door import HELD_BYTES


@pytest.fixture
def stored() -> tuple[dict[str, Any], dict[str, Any]]:
    spark, scaling = (json.loads((next_wall.RESULTS / f"{name}.json").read_text()) for name in ("spark", "scaling"))
    return spark, scaling


def test_the_page_has_what_the_stored_figures_give(stored: tuple[dict[str, Any], dict[str, Any]]) -> None:
    page = next_wall.PAGE.read_text(encoding="utf-8")
    assert page.endswith(next_wall.section(*stored))


def test_each_figure_is_in_proportion_to_what_was_measured(stored: tuple[dict[str, Any], dict[str, Any]]) -> None:
    before = next_wall.walls(*stored)
    spark, scaling = deepcopy(stored)
    max(spark["runs"], key=lambda run: run["rows"])["cpu_s"] *= 2
    scaling["rows"][-1]["seconds"] *= 3
    after = next_wall.walls(spark, scaling)
    assert after.counting == pytest.approx(2 * before.counting)
    assert after.drawing == pytest.approx(3 * before.drawing)
    assert (after.codes, after.driver, after.files) == (before.codes, before.driver, before.files)


def test_the_parts_that_follow_from_constants() -> None:
    """10^10 rows of 200 values at a byte each; 2^24 counts of 8 bytes, twice, and those held; files of 2^25 values."""
    stored = [json.loads((next_wall.RESULTS / f"{name}.json").read_text()) for name in ("spark", "scaling")]
    found = next_wall.walls(*stored)
    assert found.codes == 2e12
    assert found.driver == 2**28 + HELD_BYTES
    assert found.files == -(-(10**10) // (2**25 // 200))
    assert found.shuffled == pytest.approx(2e12)  # as many bytes of counts as of codes: 128 MB for each 128 MB
