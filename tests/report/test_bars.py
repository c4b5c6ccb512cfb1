"""Bars of a histogram: as wide as their bins where that can be seen, heavy tails on a logarithmic scale, and named below."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from understudy.evaluate import evaluate
from understudy.report import render_evaluation, render_report
from understudy.report.charts.distribution import distribution
from understudy.report.charts.widths import DENSITY, FROM_ZERO, LOGARITHMIC, UNSCALED, bars, scaled_words, scaling
from understudy.report.data import ColumnView, Value, column_view
from understudy.schema import parse_schema

from .releases_made import make


def view(widths: list[float], counts: list[float] | None = None, ordered: bool = True) -> ColumnView:
    values = [
        Value(f"bin {i}", c, None, None, True, w) for i, (w, c) in enumerate(zip(widths, counts or widths, strict=True))
    ]
    return ColumnView("x", "real", "", ordered, tuple(values), 0, 1, None)


@pytest.mark.parametrize(
    ("widths", "said"),
    [
        ([1] * 20, ""),
        ([3, 4, 3, 4], ""),
        ([1, 1, 10], "density"),
        ([1, 2], ""),
        ([1, 1, 10_000], ""),
        ([*[1] * 13, 10_000], "unscaled"),
        ([0, 1, 1], ""),
        ([0, *[1] * 13], "unscaled"),
    ],
)
def test_how_unequal_bins_are_drawn(widths: list[float], said: str) -> None:
    assert scaling(view(widths)) == said
    assert scaling(view(widths, ordered=False)) == ""


def test_a_last_group_of_fewer_values_is_drawn_to_scale_without_a_word() -> None:
    short = replace(view([2, 2, 2, 1]), grouped=2)
    assert scaling(short) == "density"
    assert scaled_words(short) == []
    assert scaled_words(view([2, 2, 2, 1])) == [DENSITY]
    assert scaled_words(view([*[1] * 13, 10_000])) == [UNSCALED]
    assert scaled_words(view([1] * 20)) == []


def test_the_area_of_a_bar_is_its_share() -> None:
    widths, counts = [1.0, 1.0, 2.0, 6.0], [10.0, 40.0, 20.0, 30.0]
    drawn = distribution(view(widths, counts))
    sizes = re.findall(r'<rect x="[\d.]+" y="[\d.]+" width="([\d.]+)" height="([\d.]+)"', drawn)
    areas = np.array([float(w) * float(h) for w, h in sizes])
    np.testing.assert_allclose(areas / areas.sum(), np.array(counts) / 100, rtol=1e-3)
    assert "densest: bin 1, 40%" in drawn


@pytest.mark.parametrize(
    ("ends", "shown"),
    [
        (("0.00", "250000.00"), ["0", "250,000"]),
        (("-12000", "6250"), ["-12,000", "6,250"]),
        (("[0.00", "1990)"), ["0", "1,990"]),
        (("[1000", "3000]"), ["1,000", "3,000"]),
        (("1955", "2015"), ["1955", "2015"]),
        (("0.25", "2013-01-01"), ["0.25", "2013-01-01"]),
    ],
)
def test_numbers_below_a_histogram_are_written_as_figures_are(ends: tuple[str, str], shown: list[str]) -> None:
    column = view([1, 1, 10])
    labels = (f"{ends[0]} to 1", "2", f"3 to {ends[1]}")
    values = tuple(replace(v, label=label) for v, label in zip(column.values, labels, strict=True))
    found = re.search('<p class="axis">(.*?)</p>', distribution(replace(column, values=values)))
    assert found is not None
    assert re.findall("<span>(.*?)</span>", found[1]) == shown


def test_bins_have_the_widths_that_the_schema_declares() -> None:
    text = """
[columns.age]
kind = "integer"
edges = [0, 18, 65, 100]
nullable = true
"""
    import pyarrow as pa

    schema = parse_schema(text)
    release = make(pa.table({"age": pa.array([5, 20, 30, 70, None] * 40)}), schema, name="independent", way=1)
    found = column_view(release, schema["age"])
    assert [v.width for v in found.values if v.ordinary] == pytest.approx([18, 47, 36], abs=1)
    shown = render_report(release)
    assert DENSITY in shown
    assert UNSCALED not in shown
    assert "Detail inside a bin." in shown
    assert DENSITY in render_evaluation(evaluate(release.arrow, release))


def edged(edges: list[float], counts: list[float] | None = None) -> ColumnView:
    """Return a column whose bins have these ends."""
    found = view([b - a for a, b in pairwise(edges)], counts)
    values = [replace(v, start=a, label=f"{a:g} to {b:g}") for v, (a, b) in zip(found.values, pairwise(edges), strict=True)]
    return replace(found, values=tuple(values))


HEAVY = [a * 10.0**power for power in range(1, 6) for a in (1, 2, 5)]


@pytest.mark.parametrize(
    ("edges", "how", "said"),
    [
        (HEAVY, "logarithmic", LOGARITHMIC),
        ([0.0, *HEAVY], "logarithmic", FROM_ZERO),
        ([-1000.0, 0.0, *HEAVY], "logarithmic", FROM_ZERO),
        ([1.0, 1.0 + 1e-6, *HEAVY], "unscaled", UNSCALED),
    ],
)
def test_heavy_tails_are_drawn_on_a_logarithmic_scale(edges: list[float], how: str, said: str) -> None:
    assert scaling(edged(edges)) == how
    assert scaled_words(edged(edges)) == [said]
    unknown = replace(edged(edges), values=tuple(replace(v, start=None) for v in edged(edges).values))
    assert scaling(unknown) == "unscaled"


@pytest.mark.parametrize("edges", [HEAVY, [0.0, *HEAVY], [-1000.0, 0.0, *HEAVY]])
def test_the_area_of_a_bar_is_its_share_on_a_logarithmic_scale_too(edges: list[float]) -> None:
    counts = np.random.default_rng(8).integers(1, 100, len(edges) - 1).astype(float)
    drawn = bars(edged(edges, counts.tolist()).values, "logarithmic")
    areas = np.array([(bar.end - bar.start) * bar.height for bar in drawn])
    np.testing.assert_allclose(areas / areas.sum(), counts / counts.sum(), rtol=1e-9)
    assert [bar.end for bar in drawn[:-1]] == pytest.approx([bar.start for bar in drawn[1:]])


def test_equal_factors_are_equally_wide_on_a_logarithmic_scale() -> None:
    drawn = bars(edged([10.0**k for k in range(15)]).values, "logarithmic")
    assert [bar.end - bar.start for bar in drawn] == pytest.approx([100 / 14] * 14)


def test_a_logarithmic_scale_is_the_same_on_both_sides_of_zero() -> None:
    drawn = bars(edged([*(-e for e in reversed(HEAVY)), 0.0, *HEAVY]).values, "logarithmic")
    widths = [bar.end - bar.start for bar in drawn]
    assert widths == pytest.approx(widths[::-1])


def test_a_bar_near_the_middle_is_named_where_it_begins() -> None:
    drawn = distribution(edged([2.0**k for k in range(15)]))
    assert 'class="at" style="left:50.00%">128<' in drawn
    lopsided = distribution(edged([0.0, 1.0, 2.0, 100.0]))
    assert 'class="at"' not in lopsided


def test_values_of_an_order_are_named_whole_below_a_histogram() -> None:
    names = ["prefer not to say", *map(str, range(12)), "one to ten"]
    column = view([1] * 14)
    values = tuple(replace(v, label=name) for v, name in zip(column.values, names, strict=True))
    drawn = distribution(replace(column, kind="ordinal", values=values))
    assert "<span>prefer not to say</span>" in drawn
    assert "<span>one to ten</span>" in drawn
