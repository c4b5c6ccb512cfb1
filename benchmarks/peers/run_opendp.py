"""OpenDP's AIM and MST (``dp.mbi``) on one cell; run with the Python of .venv-opendp (see cell.py for arguments).

A public benchmark table goes in, through the library's own Context, and its synthetic table comes out.
"""

from __future__ import annotations

import sys
from fractions import Fraction
from typing import Any

import jax  # noqa: F401 - before the clock of compilations starts
import numpy as np
import opendp.prelude as dp
import polars as pl
from cell import MAX_SIZE_MB, Cell, Made, Progress, main

dp.enable_features("contrib")

NOTES = [
    "unit of privacy: one contribution, add or remove; rows generated: the model's estimate of the total",
    "given as zCDP: the ρ that ε and δ allow, by the harness's conversion; noise cannot be seeded",
    "pandas installed beside it: generating records needs it, and the library's mbi extra does not bring it",
    "attributes given as cut points between codes, so that the domain is exact (given as keys, each would gain a null)",
    "half the budget goes to the one-way marginals first: its default",
]
MST_NOTE = (
    "MST refuses a budget whose equal shares add up, rounded upwards, to more than it: the next ρ below for which they do "
    "not is given, 1e-13 of it less at most; with nine attributes there is none, and it refuses"
)


def algorithm(cell: Cell, progress: Progress) -> Any:
    """Return the library's algorithm with its defaults; its estimator is wrapped only to count the fits."""
    fits = 0

    def estimator(*given: Any, **more: Any) -> Any:
        nonlocal fits
        model = dp.mbi.mirror_descent(*given, **more)
        fits += 1
        if fits > 1 and cell.mechanism == "aim":  # the first fit is to the one-way marginals
            progress.round_done(f"fit {fits}")
        return model

    if cell.mechanism == "mst":
        return dp.mbi.MST(estimator=estimator)
    return dp.mbi.AIM(queries=cell.degree, max_size=MAX_SIZE_MB, estimator=estimator)


def affordable(rho: float, attributes: int) -> float:
    """The largest budget up to ``rho`` that MST can divide: half for pairs, a tenth of that in shares to choose them."""

    def below(value: float, steps: int = 1) -> float:
        for _ in range(steps):
            value = float(np.nextafter(value, -np.inf))
        return value

    def divides(budget: float) -> bool:
        pairs = below(budget - budget * 0.5, 2)
        choosing = below(pairs - pairs * 0.9, 2)
        share, total = below(choosing / (attributes - 1)), 0.0
        for _ in range(attributes - 1):
            exact, total = Fraction(total) + Fraction(share), total + share
            total = total if total >= exact else float(np.nextafter(total, np.inf))
        return total <= choosing

    return next((lower for steps in range(200) if divides(lower := below(rho, steps))), rho)


def synthesise(cell: Cell, progress: Progress) -> Made:
    np.random.seed(cell.seed)  # noqa: NPY002 - the library generates from NumPy's global state
    frame = pl.LazyFrame(cell.columns())
    mst = cell.mechanism == "mst"
    rho = affordable(cell.rho, len(cell.domain)) if mst else cell.rho
    context = dp.Context.compositor(data=frame, privacy_unit=dp.unit_of(contributions=1), privacy_loss=dp.loss_of(rho=rho))
    cuts = {name: list(range(size - 1)) for name, size in cell.domain.items() if size > 1}
    keys = {name: [0] for name, size in cell.domain.items() if size == 1}
    query = context.query(rho=rho).contingency_table(keys=keys, cuts=cuts, algorithm=algorithm(cell, progress))
    table = query.release().synthesize()
    codes = table.select(list(cell.domain)).fill_null(0).to_numpy().astype(np.int64)
    return Made(codes, [*NOTES, MST_NOTE] if mst else NOTES)


if __name__ == "__main__":
    sys.exit(main("opendp", ["aim", "mst"], synthesise))
