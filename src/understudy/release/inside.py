"""Where inside their bins the values of columns lie: weights of finer bins, from noisy answers and the model.

Public: post-processing of what was released. Values are drawn by these weights, and means and quantiles computed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.mechanism.anchors import falling
from understudy.mechanism.sums import of_codes, weights_of
from understudy.model import Model, Observation
from understudy.privacy import Measurement
from understudy.schema import Schema
from understudy.schema.binned import Binned
from understudy.schema.column import fine_name
from understudy.schema.within import Within

Floats = NDArray[np.float64]
Weights = Mapping[str, Floats]
"""For a column, a weight for each of its finer bins: what share of the bin's rows lies there, times those rows. For a gap
between columns in order, the rows of each of its cells."""


def inside_weights(schema: Schema, model: Model, measured: Sequence[Measurement]) -> dict[str, Floats]:
    """Return the weights of each column that was looked inside of, by all answers about it; and of each gap."""
    sums = {m.clique: m for m in measured if m.query is not None}
    counts = {m.clique: m for m in measured if m.query is None}
    found = {}
    for column, within in _counted(schema, model, measured):
        asked = sums.get((fine_name(column.name),))
        told = within if asked is None else within.told(weights_of(asked), float(asked.values[0]), asked.sigma**2)
        assert column.fine is not None
        found[column.name] = told.rows[: len(column.fine.bins.lowest)]
    for gap in schema.gaps:
        if (noisy := counts.get((gap.name,))) is not None:
            found[gap.name] = falling(noisy.values.astype(np.float64)[:-1], noisy.sigma)
    return found


def told_sums(schema: Schema, model: Model, measured: Sequence[Measurement]) -> tuple[Observation, ...]:
    """Return the sums over finer bins, as far as they tell of the codes of columns: the last fit was held to them."""
    sums = {m.clique: m for m in measured if m.query is not None}
    counted = {column.name: within for column, within in _counted(schema, model, measured)}
    return tuple(of_codes(n, within, sums[fine_name(n),]) for n, within in counted.items() if (fine_name(n),) in sums)


def _counted(schema: Schema, model: Model, measured: Sequence[Measurement]) -> Iterator[tuple[Binned, Within]]:
    """Yield each column that was looked inside of, with how its rows lie by the counts of its finer bins alone."""
    counts = {m.clique: m for m in measured if m.query is None}
    for column in schema.columns:
        noisy = counts.get((fine_name(column.name),))
        if noisy is not None and isinstance(column, Binned) and column.fine is not None:
            yield column, Within.of(column, model.marginal((column.name,)), noisy.values, noisy.sigma**2)
