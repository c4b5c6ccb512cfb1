"""Rows drawn from the model of a release, all with the same given values: in one piece, or part by part. Public."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from understudy.domain import Clique
from understudy.errors import SchemaError
from understudy.mechanism.outcome import ASKED_AGAIN, MOST_REFINED
from understudy.release.answer import given as given_value
from understudy.release.contents import Contents
from understudy.release.synthetic import SyntheticTable
from understudy.sampling import some_of_closure
from understudy.workload import Workload

ROWS_AT_A_TIME = 1 << 17
"""Rows that are decoded and written at a time: few enough to stay near the cache, enough for a row group of Parquet."""


class Drawing:
    """Draws rows of ``contents`` that all have the ``given`` values; what that takes is worked out once.

    ``refined`` rows are changed until their counts are nearer to the model's on the workload's marginals.
    """

    def __init__(self, contents: Contents, given: Mapping[str, Any] | None = None, *, refined: bool = False) -> None:
        self._contents, self.schema = contents, contents.schema
        contents.schema.require_counted(given or ())
        self._fixed = {name: given_value(contents.schema[name], value) for name, value in (given or {}).items()}
        try:
            codes = {name: one.code for name, one in self._fixed.items()}
            self._model = contents.model.given(codes) if codes else contents.model
        except SchemaError:
            values = ", ".join(f"{name} = {value}" for name, value in (given or {}).items())
            raise SchemaError(
                f"No row can have {values}: the schema declares that impossible, or columns in order are never so far apart."
            ) from None
        self._near = _refined_towards(contents.workload) if refined else None
        if refined:
            self._model.keep_answers(ASKED_AGAIN)  # each part is refined towards the same

    def table(self, rows: int, rng: np.random.Generator) -> SyntheticTable:
        """Return ``rows`` rows."""
        (table,) = self.tables(rows, rng, max(rows, 1))
        return table

    def tables(self, rows: int, rng: np.random.Generator, step: int = ROWS_AT_A_TIME) -> Iterator[SyntheticTable]:
        """Yield ``rows`` rows, ``step`` at a time. Counts are near the model's over all of them together."""
        codes = self._model.generate(rows, rng, near=self._near)
        for start in range(0, max(rows, 1), step):
            some = codes[start : start + step]
            known = {name: column for name, one in self._fixed.items() if (column := one.column(len(some))) is not None}
            table = SyntheticTable.of_codes(self.schema, some, rng, self._contents.inside, known)
            yield table.marked(self._contents.notice)


def _refined_towards(workload: Workload) -> dict[Clique, float]:
    """Return the marginals of W_+ with their weights; of very many a part, the same for every part of a sample."""
    importance = workload.importance
    return {r: importance[r] for r in some_of_closure(workload, MOST_REFINED, np.random.default_rng(0))}
