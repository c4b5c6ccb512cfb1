"""smartnoise-synth's AIM and MST on one cell; run with the Python of .venv-smartnoise (see cell.py for arguments).

A public benchmark table goes in, through the library's synthesizers, and its synthetic table comes out.
"""

from __future__ import annotations

import contextlib
import sys
from typing import Any

import jax  # noqa: F401 - before the clock of compilations starts
import numpy as np
import pandas as pd
from cell import MAX_SIZE_MB, NO_CELL_LIMIT, Cell, Lines, Made, Progress, main
from snsynth import Synthesizer
from snsynth.transform import LabelTransformer, TableTransformer

NOTES = [
    "unit of privacy: add or remove a record; rows generated: exactly those of the table (its default)",
    "the domain is given through fitted label transformers: left to itself it would read the values off the table",
    "noise cannot be seeded, selection and generation can",
]
AIM_NOTES = [
    "degree given (its default is 2); its limit of 10,000 cells a marginal lifted, so that the workload is the same",
    "80 MB given, but its measure of size adds up the marginals measured rather than the junction tree",
]
MST_NOTES = ["MST is given the exact number of rows as the total: its default"]


def transformer(cell: Cell) -> Any:
    """Return a transformer that knows the domain: code k of an attribute is label k."""
    columns = []
    for size in cell.domain.values():
        labels = LabelTransformer(nullable=False)
        labels.fit(list(range(size)))
        columns.append(labels)
    return TableTransformer(columns)


def synthesiser(cell: Cell) -> Any:
    """Return the library's synthesizer, telling its progress."""
    shared = {"epsilon": cell.epsilon, "delta": cell.delta, "verbose": True}
    if cell.mechanism == "mst":
        return Synthesizer.create("mst", **shared)
    sizes = {"max_model_size": MAX_SIZE_MB, "degree": cell.degree, "max_cells": NO_CELL_LIMIT}
    return Synthesizer.create("aim", **shared, **sizes)


def synthesise(cell: Cell, progress: Progress) -> Made:
    np.random.seed(cell.seed)  # noqa: NPY002 - the library draws from NumPy's global state

    def on_line(line: str) -> None:
        if line.startswith("Selected"):
            progress.round_done()

    made = synthesiser(cell)
    with contextlib.redirect_stdout(Lines(progress, on_line)):
        made.fit(pd.DataFrame(cell.columns()), transformer=transformer(cell))
        table = made.sample()
    codes = np.asarray(pd.DataFrame(table)).astype(np.int64)
    return Made(codes, NOTES + (AIM_NOTES if cell.mechanism == "aim" else MST_NOTES))


if __name__ == "__main__":
    sys.exit(main("smartnoise-synth", ["aim", "mst"], synthesise))
