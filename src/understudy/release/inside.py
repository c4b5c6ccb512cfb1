"""Where inside their bins the values of columns lie: weights of finer bins, from noisy answers and the model.

Public: post-processing of what was released. Values are drawn by these weights, and means and quantiles computed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.manifest.manifest import Manifest
from understudy.mechanism import mechanism
from understudy.mechanism.anchors import columns_held, distances
from understudy.mechanism.sums import is_count, looks_of, of_codes, weights_of
from understudy.model import GraphicalModel, Model, Observation
from understudy.privacy import Measurement
from understudy.schema import Schema
from understudy.schema.binned import Binned
from understudy.schema.column import fine_name
from understudy.schema.looks import Looks
from understudy.schema.weights import number_weights
from understudy.schema.within import Within
from understudy.uncertainty.refits import Held

Floats = NDArray[np.float64]
Weights = Mapping[str, Floats]
"""For a column, a weight for each of its finer bins: what share of the bin's rows lies there, times those rows. For a gap
between columns in order, the rows of each of its cells."""


def inside_weights(schema: Schema, model: Model, measured: Sequence[Measurement]) -> dict[str, Floats]:
    """Return the weights of each column that was looked inside of, by all answers about it; and of each gap."""
    sums = {m.clique: m for m in measured if not is_count(m)}
    counts = {m.clique: m for m in measured if is_count(m)}
    found = {}
    for column, looks, within in _counted(schema, model, measured):
        asked = sums.get((fine_name(column.name),))
        told = within if asked is None else within.told(weights_of(column, asked), float(asked.values[0]), asked.sigma**2)
        assert column.rounded is not None
        inside = told.rows[: len(column.rounded.bins.lowest)]
        found[column.name] = number_weights(column, inside, looks.of_numbers(column))
    for gap in schema.gaps:
        noisy = counts.get((gap.name,))
        apart = None if noisy is None else distances(noisy.values.astype(np.float64), noisy.sigma, model.total)
        if apart is not None:
            found[gap.name] = apart
    return found


def held_columns(schema: Schema, model: Model, measured: Sequence[Measurement], manifest: Manifest) -> Held:
    """Return the columns that the last fit was held to: those that were looked inside of, and maybe all the others."""
    numeric = [name for name in schema.domain if looks_of(measured, name) is not None]
    zeros = model.zeros if isinstance(model, GraphicalModel) else ()
    far = [z for z in zeros if not any(z.clique == d.clique and np.array_equal(z.cells, d.cells) for d in schema.zeros)]
    how, started = manifest.mechanism, manifest.public is not None and manifest.public.used
    every = mechanism(how.name, **how.options).every_column and not started
    firmly, loosely = columns_held(schema.domain, numeric, far, every=every)
    return Held(tuple(firmly), tuple(loosely))


def told_sums(schema: Schema, model: Model, measured: Sequence[Measurement]) -> tuple[Observation, ...]:
    """Return the sums over finer bins, as far as they tell of the codes of columns: the last fit was held to them."""
    sums = {m.clique: m for m in measured if not is_count(m)}
    counted = ((c, within, sums.get((fine_name(c.name),))) for c, _, within in _counted(schema, model, measured))
    return tuple(of_codes(c.name, within, weights_of(c, asked), asked) for c, within, asked in counted if asked is not None)


def _counted(schema: Schema, model: Model, measured: Sequence[Measurement]) -> Iterator[tuple[Binned, Looks, Within]]:
    """Yield each column that was looked inside of, with how its rows lie by the counts of its finer bins alone."""
    for column in schema.columns:
        looks = looks_of(measured, column.name)
        if looks is not None and isinstance(column, Binned) and column.fine is not None:
            yield column, looks, Within.of(column, model.marginal((column.name,)), looks)
