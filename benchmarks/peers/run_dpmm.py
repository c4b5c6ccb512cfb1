"""dpmm's AIM, MST and PrivBayes on one cell; run with the Python of .venv-dpmm (see cell.py for arguments).

A public benchmark table goes in, through the library's pipelines, and its synthetic table comes out.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pandas as pd
from cell import MAX_SIZE_MB, NO_CELL_LIMIT, Cell, Made, Progress, main
from dpmm.models.base.mbi import FactoredInference
from dpmm.pipelines import AIMPipeline, MSTPipeline, PrivBayesPipeline

NOTES = [
    "unit of privacy: add or remove a record; rows generated: exactly those of the table (it asks for a number)",
    "rare values are merged after the one-way marginals (compress, its default); noise cannot be seeded, selection can",
    "its model size counts the junction tree; 80 MB given, its pipeline's default is no limit",
]
AIM_NOTES = [
    "degree given (its default is 2); its limit of 10,000 cells a marginal lifted, so that the workload is the same"
]

BAYES_NOTES = [
    "families of a network have as many attributes as the workload's marginals (privbayes), or two (-pairs, its default)",
    "choosing is by mutual information over the entropies, with the sensitivity of mutual information itself and the exact "
    "number of rows: it may cost more than is charged",
]


def count_fits(cell: Cell, progress: Progress) -> list[str]:
    """Note fits as they end, for the progress only: the library has no hook for that. Returns the list they go to."""
    estimate, fits = FactoredInference.estimate, []

    def counted(self: Any, *given: Any, **more: Any) -> Any:
        model = estimate(self, *given, **more)
        fits.append(f"fit {len(fits) + 1}")
        # The first fit is to the one-way marginals; then AIM has one a round. MST does not go by rounds.
        progress.note(rounds=len(fits) - 1 if cell.mechanism == "aim" else 0, message=fits[-1])
        return model

    FactoredInference.estimate = counted
    return fits


def pipeline(cell: Cell) -> Any:
    """Return the library's pipeline; the table is discrete already, so its binning is off."""
    shared = {"epsilon": cell.epsilon, "delta": cell.delta, "max_model_size": MAX_SIZE_MB, "disable_processing": True}
    if cell.mechanism == "mst":
        return MSTPipeline(**shared)
    if cell.mechanism != "aim":
        return PrivBayesPipeline(**shared, gen_kwargs={"degree": 2 if cell.mechanism.endswith("-pairs") else cell.degree})
    return AIMPipeline(**shared, gen_kwargs={"degree": cell.degree, "max_cells": NO_CELL_LIMIT})


def synthesise(cell: Cell, progress: Progress) -> Made:
    fits = count_fits(cell, progress)
    made = pipeline(cell)
    made.fit(pd.DataFrame(cell.columns()), domain=dict(cell.domain), random_state=cell.seed)
    if cell.mechanism == "aim":
        progress.note(rounds=len(fits) - 2)  # after the last round, it fits once more from nothing
    table = made.generate(n_records=len(cell.codes), random_state=cell.seed)
    codes = table[list(cell.domain)].to_numpy().astype(np.int64)
    own = AIM_NOTES if cell.mechanism == "aim" else [] if cell.mechanism == "mst" else BAYES_NOTES
    return Made(codes, NOTES + own, {"fits": len(fits)})


if __name__ == "__main__":
    sys.exit(main("dpmm", ["aim", "mst", "privbayes", "privbayes-pairs"], synthesise))
