"""What no mechanism can do: the bounds hold for mechanisms that can be computed, and the page has the code's figures."""

from __future__ import annotations

from math import pi, sqrt
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import floors

ROOT = Path(__file__).parents[2]
FILE = ROOT.parent / "shared" / "datasets" / "raw" / "adult.csv"
COLUMNS = [*floors.ADULT, floors.wealth()]


@pytest.mark.parametrize("kappa", [1e-3, 0.1, 1.0, 5.0])
def test_no_pair_overlaps_less_and_one_overlaps_as_little(kappa: float) -> None:
    """That is randomized response, whose Rényi divergences are at most alpha kappa, and all but that near alpha = 1."""
    t = 1 - float(floors.overlap(np.array([kappa]))[0])
    p = np.array([(1 + t) / 2, (1 - t) / 2])
    alphas = np.concatenate([1 + np.logspace(-4, 1.5, 200), [100.0]])
    renyi = np.array([np.log((p**a * p[::-1] ** (1 - a)).sum()) / (a - 1) for a in alphas])
    assert (renyi <= 1.0001 * alphas * kappa).all()
    assert (renyi / (alphas * kappa)).max() > 0.999


@pytest.mark.parametrize("column", COLUMNS, ids=lambda one: one.name)
@pytest.mark.parametrize("rho", [0.03 * floors.RHO, floors.RHO])
def test_the_gaussian_mechanism_errs_by_more(column: floors.Column, rho: float) -> None:
    deviation = column.largest / sqrt(2 * rho)
    for half in floors.WIDTHS:
        relative = deviation / column.totals(half)
        assert floors.mean_absolute(column, rho, half) < sqrt(2 / pi) * relative.mean()
        assert floors.root_mean_square(column, rho, half) < sqrt((relative**2).mean())
    assert floors.best(floors.mean_absolute, column, rho)[0] > 0.3 * sqrt(2 / pi) * deviation / column.total


@pytest.mark.parametrize("half", [10, 40, 160])
def test_so_does_the_best_estimate_from_its_answer_however_biased(half: int) -> None:
    """The mean of the posterior under the same prior, of relative errors: nothing computed from the answer errs less."""
    column, rho = floors.ADULT[0], floors.RHO
    totals = column.totals(half)
    prior = np.cos(pi * np.arange(-half, half + 1) / (2 * half + 2)) ** 2
    prior /= prior.sum()
    deviation = column.largest / sqrt(2 * rho)
    answers = np.linspace(totals[0] - 6 * deviation, totals[-1] + 6 * deviation, 4001)
    likely = np.exp(-0.5 * ((answers[:, None] - totals) / deviation) ** 2) / (deviation * sqrt(2 * pi))
    joint = likely * prior / totals**2
    guess = (joint * totals).sum(axis=1) / np.maximum(joint.sum(axis=1), 1e-300)
    error = ((guess[:, None] - totals) ** 2 * joint).sum() * (answers[1] - answers[0])
    bound = floors.root_mean_square(column, rho, half)
    assert 0.85 * sqrt(error) < bound < sqrt(error)


def test_a_bound_asks_for_the_share_at_which_it_is_the_goal() -> None:
    column = floors.ADULT[0]
    part = floors.share(floors.mean_absolute, column)
    assert part is not None
    assert floors.best(floors.mean_absolute, column, part * floors.RHO)[0] == pytest.approx(0.01, rel=0.01)
    assert floors.share(floors.root_mean_square, column) is None


def test_the_page_has_what_the_code_says() -> None:
    assert floors.page(COLUMNS) in (ROOT / "docs" / "numbers.md").read_text(encoding="utf-8")


@pytest.mark.skipif(not FILE.exists(), reason="the shared datasets are not here")
def test_adult_is_as_it_is_stored_here() -> None:
    table = pd.read_csv(FILE)
    assert tuple(floors.Column.of(one.name, table[one.name]) for one in floors.ADULT) == floors.ADULT
