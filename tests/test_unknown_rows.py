"""How many rows a table has is told with its range, or as unknown; where it is unknown, a small table is made."""

from __future__ import annotations

import re
from html import unescape
from math import sqrt
from typing import Any

import numpy as np
import pytest

from release_tables import quick, table
from understudy import Release, Schema
from understudy.manifest.promise import total_range
from understudy.mechanism.outcome import UNKNOWN_ROWS, is_told
from understudy.model import Observation, estimate_total, total_stddev
from understudy.release import load
from understudy.report import render_report


def shown(release: Release) -> list[str]:
    page = " ".join(unescape(re.sub(r"<[^>]*>", " ", render_report(release))).split())
    return [" ".join(release.card.split()), page]


def range_of(release: Release) -> str:
    return total_range(release.manifest.table.total_stddev, release.manifest.confidence)


@pytest.mark.promise(14)
@pytest.mark.parametrize("mechanism", ["aim2", "residuals", "independent"])
def test_where_noise_is_as_large_as_the_count_the_number_is_unknown_and_few_rows_are_drawn(mechanism: str) -> None:
    release = quick(table(80), epsilon=1e-6, mechanism=mechanism, workload="all-1way")
    assert release.manifest.table.rows == len(release.codes) == UNKNOWN_ROWS
    assert "unknown, for the noise is as large as the counts" in repr(release)
    card, page = shown(release)
    assert "unknown, for the noise is as large as the counts" in card
    assert "about unknown noise is as large as the counts" in page
    assert "How many records there are is not known" in page
    assert quick(table(80), epsilon=1e-6, mechanism=mechanism, rows=30).manifest.table.rows == 30


def test_a_number_that_is_told_has_its_range(tmp_path: Any) -> None:
    release = quick(table(400))
    assert release.manifest.table.rows == round(release.manifest.table.total)
    assert "unknown" not in repr(release)
    for text in shown(release):
        assert range_of(release) in text
    assert re.fullmatch(r"± [\d,]+ at 95%", range_of(release))
    assert load(release.save(tmp_path / "r")).manifest.table.total_stddev == release.manifest.table.total_stddev


def test_the_deviation_is_that_of_the_estimate() -> None:
    """False-alarm rate: the sample deviation of 4,000 estimates is off by 8% with probability below 1e-12."""
    rng = np.random.default_rng(3)
    made = [
        [
            Observation(("a",), 100 + 30 * rng.standard_normal(4), 30.0),
            Observation(("b",), 200 + 9 * rng.standard_normal(2), 9.0),
        ]
        for _ in range(4_000)
    ]
    said = total_stddev(made[0])
    assert said == pytest.approx(1 / sqrt(1 / (4 * 900) + 1 / (2 * 81)))
    assert np.std([estimate_total(one) for one in made]) == pytest.approx(said, rel=0.08)
    assert total_stddev([]) is None


def test_half_a_number_of_noise_leaves_it_told() -> None:
    assert is_told(101.0, 50.0)
    assert not is_told(100.0, 50.0)
    assert not is_told(1.0, 3.0)
    assert is_told(1.0, None)


def test_ranges_hold_as_often_as_they_say() -> None:
    """False-alarm rate: of 150 ranges at 95%, 125 or fewer hold with probability below 1e-7."""
    held, codes = 0, np.zeros((500, 1), np.int64)
    for seed in range(150):
        found = quick_codes(codes, seed)
        held += abs(found.manifest.table.total - 500) <= int(re.findall(r"[\d,]+", range_of(found))[0].replace(",", ""))
    assert held > 125


def quick_codes(codes: Any, seed: int) -> Release:
    from understudy import synthesize

    settings: dict[str, Any] = {"workload": "all-1way", "mechanism": "independent", "progress": False, "rows": 1}
    return synthesize(codes, Schema.from_domain({"a": 5}), epsilon=1.0, seed=seed, **settings)


def test_the_range_is_that_of_a_normal_distribution() -> None:
    assert total_range(10, 0.95) == "± 20 at 95%"
