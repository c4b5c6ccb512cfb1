"""What several looks at where values lie say together, and how rows are shared out by it."""

from __future__ import annotations

import numpy as np
import pytest

from understudy.schema import parse_schema
from understudy.schema.binned import Binned
from understudy.schema.bins import RealBins, WholeBins
from understudy.schema.fine import MOST_NUMBERS, by_number, refined
from understudy.schema.looks import Look, Looks
from understudy.schema.weights import fine_weights, number_weights


def column(high: int = 999, bins: int = 5) -> Binned:
    found = parse_schema(f'[columns.c]\nkind = "integer"\nmin = 0\nmax = {high}\nbins = {bins}\nnullable = true\n')["c"]
    assert isinstance(found, Binned)
    return found


def test_finer_bins_of_few_numbers_are_cut_and_others_are_not() -> None:
    one = column()
    assert one.fine is not None
    assert one.fine.size == 1001
    np.testing.assert_array_equal(one.fine.bins.lowest, np.arange(1000))
    wide = column(100_000)
    assert wide.fine is wide.rounded
    real = refined(RealBins.equal(0.0, 1.0, 2))
    assert real is not None
    assert by_number(real) is real
    large = by_number(WholeBins.equal(0, 20 * 1000 - 1, 1000))
    assert len(large.lowest) <= MOST_NUMBERS


def test_codes_of_finer_bins_are_those_of_their_numbers() -> None:
    one = column()
    assert one.rounded is not None
    assert one.fine is not None
    assert (np.diff(one.rounds) >= 0).all()
    np.testing.assert_array_equal(one.rounds[:-1], one.rounded.bins.find(np.arange(1000)))
    np.testing.assert_array_equal(one.coarse_of_rounded[one.rounds], one.coarse)


def looked(one: Binned, rows: np.ndarray[tuple[int], np.dtype[np.float64]], sigma: float, seed: int = 0) -> Looks:
    """Return two looks, of which the second counts the numbers of 131 to 139."""
    rng = np.random.default_rng(seed)
    again = one.rounds + np.clip(np.arange(len(one.rounds)) - 131, 0, 8)
    return Looks([Look(g, np.bincount(g, rows) + rng.normal(0, sigma, g[-1] + 1), sigma**2) for g in (one.rounds, again)])


def test_looks_are_averaged_by_how_certain_they_are() -> None:
    one = column()
    rows = np.random.default_rng(1).integers(0, 50, 1001).astype(float)
    true, cut = np.bincount(one.rounds, rows), one.rounds[135]
    off = np.array([looked(one, rows, 10.0, seed).rounded(one)[0] - true for seed in range(400)])
    variances = looked(one, rows, 10.0).rounded(one)[1]
    assert variances[cut] == pytest.approx(90.0)  # 100 and 900
    assert np.delete(variances, cut) == pytest.approx(50.0)
    np.testing.assert_allclose((off**2).mean(axis=0).mean(), variances.mean(), rtol=0.05)


def test_a_number_that_many_rows_share_keeps_them() -> None:
    one = column()
    rows = np.append(np.full(1000, 2.0), 0.0)
    rows[137] = 5000.0
    looks = looked(one, rows, 30.0)
    counts, variances = looks.rounded(one)
    inside = fine_weights(one, np.bincount(one.coarse, rows), counts, variances)
    found = number_weights(one, inside, looks.of_numbers(one))
    assert found[137] == pytest.approx(5000, rel=0.05)
    np.testing.assert_allclose(np.bincount(one.rounds[:-1], found), inside)
    evenly = number_weights(one, inside, None)
    np.testing.assert_allclose(evenly[131:140], inside[one.rounds[131]] / 9)


def test_round_numbers_that_do_not_stand_out_add_no_noise() -> None:
    """Half of the finer bins are single numbers with hardly any rows: where rows lie is told by the others."""
    one = column(99_999, 4)
    assert one.rounded is not None
    sizes = one.rounded.bins.sizes()
    true = np.append(40_000 * sizes / sizes.sum(), 0.0)
    bins = np.bincount(one.coarse_of_rounded, true)

    def error(seed: int) -> float:
        counts = true + np.random.default_rng(seed).normal(0, 80, len(true))
        return float(np.abs(np.cumsum(fine_weights(one, bins, counts, np.full(len(true), 6400.0)) - true[:-1])).max())

    assert np.mean([error(seed) for seed in range(100)]) < 235  # 273 when all count alike, 202 now


def test_round_numbers_that_many_rows_share_are_kept() -> None:
    one = column(99_999, 4)
    assert one.rounded is not None
    sizes = one.rounded.bins.sizes()
    single = np.append(sizes == 1, False)
    true = np.append(40_000 * sizes / sizes.sum(), 0.0)
    true[np.flatnonzero(single)[1:]] += 150.0  # none is clear by itself: the noise has a deviation of 80
    rng, bins = np.random.default_rng(0), np.bincount(one.coarse_of_rounded, true)
    found = [
        fine_weights(one, bins, true + rng.normal(0, 80, len(true)), np.full(len(true), 6400.0))[single[:-1]].sum()
        for _ in range(20)
    ]
    assert np.mean(found) > 0.45 * true[single].sum()
