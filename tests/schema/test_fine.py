"""Fine bins lie inside declared ones, follow from the declaration alone, and give each value the code that it had."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from understudy.schema import Schema, parse_schema
from understudy.schema.binned import Binned
from understudy.schema.bins import RealBins, WholeBins
from understudy.schema.fine import MOST_CELLS, refined
from understudy.schema.inside import place_inside

KINDS = {
    "whole": 'kind = "integer"\nedges = [-70000, -3, 0, 1, 500, 40000, 99999, 99999]\nother = 40',
    "beyond": 'kind = "integer"\nmin = 0\nmax = 200\nbins = 3\nother = 999\nnullable = true',
    "steps": 'kind = "integer"\nmin = 0\nmax = 100000\nstep = 5\nbins = 7\nother = 0',
    "decimals": 'kind = "real"\nmin = 0\nmax = 5000\nbins = 6\ndecimals = 2\nnullable = true\ninvalid = "null"',
    "real": 'kind = "real"\nedges = [-2.5, 0, 0.001, 7, 1e6]\nnullable = true',
    "single": 'kind = "real"\nmin = 0\nmax = 1\nbins = 4\ntype = "float32"\nother = 0.3',
}


def column(kind: str) -> Binned:
    found = parse_schema(f"[columns.c]\n{KINDS[kind]}\n")["c"]
    assert isinstance(found, Binned)
    return found


@pytest.mark.promise(12)
@pytest.mark.promise(27)
@pytest.mark.parametrize("kind", KINDS)
@given(values=st.lists(st.one_of(st.none(), st.floats(-1e5, 1.1e6), st.integers(-5, 1100).map(float)), max_size=30))
@settings(max_examples=30, deadline=None)
def test_the_code_of_a_value_is_that_of_its_fine_bin(kind: str, values: list[float | None]) -> None:
    """Whatever does not fit goes to the same place too."""
    one = column(kind)
    assert one.fine is not None
    held = pa.array(values, pa.float64())
    np.testing.assert_array_equal(one.coarse[one.fine.encode(held)], one.encode(held))


@pytest.mark.parametrize("kind", KINDS)
def test_values_are_drawn_by_the_weights_of_fine_bins(kind: str) -> None:
    """A weight in one fine bin alone gives values of that one alone; 1 row in n is in each n-th part."""
    one, rng = column(kind), np.random.default_rng(3)
    assert one.fine is not None
    number = len(one.fine.bins.lowest)
    bins = one.coarse[:number]
    chosen = np.array([rng.choice(np.flatnonzero(bins == code)) for code in range(one.places.ordinary)])
    weights = np.zeros(number)
    weights[chosen] = rng.random(len(chosen)) + 0.1
    codes = np.repeat(np.arange(one.places.ordinary), 3)
    drawn = one.decode(codes, rng, weights)
    np.testing.assert_array_equal(one.fine.encode(drawn), chosen[codes])
    codes = np.zeros(1000, np.int64)
    counts = np.bincount(one.fine.encode(one.decode(codes, rng, np.ones(number))), minlength=number)[bins == 0]
    assert np.abs(counts - 1000 / len(counts)).max() < 2  # even, where a sample would be off by 5 and more


@given(
    edges=st.lists(st.floats(-1e12, 1e12), min_size=2, max_size=6, unique=True).map(sorted),
    single=st.booleans(),
    seconds=st.sampled_from([None, 1, 60, 86_400]),
)
@settings(max_examples=150, deadline=None)
def test_fine_bins_rise_and_keep_the_declared_edges(edges: list[float], single: bool, seconds: int | None) -> None:
    real = RealBins.between(edges, single)
    whole = WholeBins.starting(sorted({int(edge) for edge in edges}), int(edges[-1]) + 5)
    for bins, finer in ((real, refined(real)), (whole, refined(whole, seconds))):
        if finer is None or not (np.diff(bins.lowest) > 0).all():
            continue
        assert (np.diff(finer.lowest) > 0).all()
        assert {*bins.lowest.tolist()} <= {*finer.lowest.tolist()}
        assert finer.bounds == bins.bounds


@given(edges=st.lists(st.floats(-1e300, 1e300), min_size=2, max_size=4, unique=True).map(sorted))
@example(edges=[1e-200, 1e200])
@example(edges=[-1e200, -1e-200])
@example(edges=[1e-310, 1e-305])
@example(edges=[0.0, 5e-324])
@settings(max_examples=100, deadline=None)
def test_every_bin_that_can_be_declared_has_fine_ones(edges: list[float]) -> None:
    finer = refined(RealBins.between(edges, False))
    assert finer is None or (np.diff(finer.lowest) > 0).all()


def test_a_bin_of_one_value_has_nothing_inside() -> None:
    assert refined(WholeBins.equal(0, 9, 10)) is None
    assert Schema.from_domain({"a": 5, "b": 2}).fine.attributes == ()


def test_round_numbers_have_fine_bins_of_their_own() -> None:
    bins = refined(WholeBins.starting([0, 50_000], 100_000))
    assert bins is not None
    alone = bins.lowest[bins.lowest == bins.highest].tolist()
    assert {0, 5_000, 50_000, 95_000} <= {*alone}
    real = refined(RealBins.equal(0.0, 1.0, 2))
    assert real is not None
    assert real.find(np.array([0.55, 0.5501])).tolist() == [c := int(real.find(np.array([0.55]))[0]), c + 1]


def test_a_bin_whose_ends_are_far_apart_is_cut_at_ratios() -> None:
    bins = refined(WholeBins.starting([1_000], 1_000_000))
    assert bins is not None
    wide = bins.sizes()[bins.sizes() > 1]
    assert (bins.lowest < 50_000).sum() > len(bins.lowest) / 3
    assert wide.max() < 400_000


def test_there_are_no_more_fine_bins_than_a_limit() -> None:
    bins = refined(WholeBins.equal(0, 10**9, 1000))
    assert bins is not None
    assert 1000 < len(bins.lowest) <= MOST_CELLS
    assert refined(WholeBins.equal(0, 10**9, MOST_CELLS)) is None


def test_a_fine_bin_without_weight_is_never_reached() -> None:
    weights, bins = np.array([0.0, 1.0, 0.0, 0.0, 2.0, 0.0]), np.array([0, 0, 0, 1, 1, 1])
    parts = np.array([0.0, 0.5, 1.0, 0.0, 1.0 - 1e-17])
    cells, within = place_inside(weights, bins, np.array([0, 0, 0, 1, 1]), parts)
    assert cells.tolist() == [1, 1, 1, 4, 4]
    assert within[:2].tolist() == [0.0, 0.5]
    assert (within < 1).all()
