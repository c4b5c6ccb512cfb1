"""Where inside their bins the values of columns lie: weights of finer bins, from noisy counts and the model.

Public: post-processing of what was released. Values are drawn by these weights, and means and quantiles computed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.mechanism.anchors import falling
from understudy.model import Model
from understudy.privacy import Measurement
from understudy.schema import Schema
from understudy.schema.binned import Binned
from understudy.schema.column import fine_name
from understudy.schema.weights import fine_weights

Floats = NDArray[np.float64]
Weights = Mapping[str, Floats]
"""For a column, a weight for each of its finer bins: what share of the bin's rows lies there, times those rows. For a gap
between columns in order, the rows of each of its cells."""


def inside_weights(schema: Schema, model: Model, measured: Sequence[Measurement]) -> dict[str, Floats]:
    """Return the weights of each column that was measured, and those of each gap."""
    counts = {m.clique: m for m in measured}
    found = {}
    for column in schema.columns:
        noisy = counts.get((fine_name(column.name),))
        if noisy is not None and isinstance(column, Binned) and column.fine is not None:
            found[column.name] = fine_weights(column, model.marginal((column.name,)), noisy.values, noisy.sigma**2)
    for gap in schema.gaps:
        if (noisy := counts.get((gap.name,))) is not None:
            found[gap.name] = falling(noisy.values.astype(np.float64)[:-1], noisy.sigma)
    return found
