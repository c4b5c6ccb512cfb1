"""What shrinkage hides of a column that was measured alone. Public: from released measurements.

Where the noise on the cells of a one-way marginal exceeds what they differ by, the last fit draws them towards their mean.
For single cells that is better than the noise. But it takes away what they have in common too: that counts fall with age,
say. How much of a rise or fall along the codes there is, the measurement itself tells, with a deviation of σ √cells / rows
in units of the logarithm; draws are tilted accordingly, as far as the fit shrinks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique
from understudy.mechanism.looking import LEAST_DEVIATION
from understudy.model import Model, Observation, shrinkage_of
from understudy.privacy import Measurement
from understudy.uncertainty.departures import STEEPEST as FARTHEST
from understudy.uncertainty.departures import scores
from understudy.uncertainty.estimator import Estimate, averaged, seen

Floats = NDArray[np.float64]

STEEPEST = 0.7
"""The deviation of tilts that real columns have: where the noise tells less, this is believed."""


@dataclass(frozen=True)
class Tilt:
    """How much a column is tilted, in units of the logarithm: what is expected, and the deviation about that."""

    mean: float
    deviation: float


def tilts(model: Model, measurements: Sequence[Measurement]) -> dict[str, Tilt]:
    """Return the tilt of each column that only a one-way marginal tells of, as far as the fit shrinks it."""
    told = Counter(a for clique in {m.clique for m in measurements} for a in clique)
    alone = {a: seen(measurements, (a,)) for a, number in told.items() if number == 1}
    found = {a: _tilt(averaged((a,), views), model.marginal((a,))) for a, views in alone.items() if views}
    return {a: tilt for a, tilt in found.items() if tilt is not None}


def tilted(table: Floats, clique: Clique, found: Mapping[str, Tilt], rng: np.random.Generator) -> Floats:
    """Return ``table`` with each of its columns that may be tilted tilted at random; its sum stays."""
    total = float(table.sum())
    for axis, a in enumerate(clique):
        if a in found:
            slope = rng.normal(found[a].mean, found[a].deviation)
            table = table * np.exp(np.clip(slope * scores(table, axis), -FARTHEST, FARTHEST))
            table = table * (total / max(float(table.sum()), 1e-300))
    return table


def _tilt(told: Estimate, counts: Floats) -> Tilt | None:
    """Return how a measurement is tilted against the model's ``counts``; None where the fit does not shrink the column."""
    pull = shrinkage_of(Observation(told.clique, told.values, max(told.sigma, LEAST_DEVIATION)))
    alike = pull > 0
    if not alike.any() or counts.sum() <= 0:
        return None
    ratio = float(pull[alike][0] / told.values[alike].mean())  # noise over signal, as the fit takes it
    hidden, score, rows = ratio / (1 + ratio), scores(counts, 0), float(counts.sum())
    noise = told.sigma**2 * float(score @ score) / rows**2
    believed = STEEPEST**2 / (STEEPEST**2 + noise)
    mean = float(score @ (told.values - counts)) / rows
    return Tilt(hidden * believed * mean, (hidden * believed * noise) ** 0.5)
