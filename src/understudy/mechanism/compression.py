"""Compression of rare values, as in MST: a marginal is measured with the rare values of each column as one.

Public: what is rare follows from the noisy columns. Nothing needs to be undone: the model holds every value, and spreads a
group over its values as their own noisy counts do.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique
from understudy.mechanism.config import NoiseConfig
from understudy.mechanism.running import Run
from understudy.privacy import Groups, linear_scale_for

FREQUENT = 3.0
"""Values with a noisy count of fewer standard deviations are rare."""


def measure_compressed(run: Run, config: NoiseConfig, clique: Clique, rho: Fraction) -> None:
    """Measure a marginal with ``rho``; rare values of a column, which was measured before, as one."""
    groups = Groups([frequent(run, a) for a in clique])
    if groups.coarse == groups.shape:
        run.measure(clique, scale=config.scale_for(rho, run.door.unit), noise=config.noise, round_index=0)
    else:
        scale = linear_scale_for(rho, groups, config.noise, run.door.unit)
        run.measure(clique, scale=scale, noise=config.noise, round_index=0, query=groups)


def frequent(run: Run, attribute: str) -> NDArray[np.int64]:
    """Return the group of each value: one of its own if it stands out of the noise, the first for all others."""
    measured = next(m for m in run.measurements if m.clique == (attribute,))
    stands_out = measured.values >= FREQUENT * measured.sigma
    if stands_out.all() or not stands_out.any():
        return np.arange(measured.values.size) if stands_out.all() else np.zeros(measured.values.size, np.int64)
    return np.where(stands_out, np.cumsum(stands_out), 0)
