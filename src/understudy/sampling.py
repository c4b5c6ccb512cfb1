"""A part of a workload where all of it would take too long: drawn at random, or the smaller marginals first.

Public: what is taken depends on the workload and on a generator alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from understudy.domain import Clique
from understudy.workload import Workload


def some_of(cliques: Sequence[Clique], most: int, rng: np.random.Generator) -> list[Clique]:
    """Return all of ``cliques``, or ``most`` of them, each as likely as any other, in their own order."""
    if len(cliques) <= most:
        return list(cliques)
    return [cliques[i] for i in np.sort(rng.choice(len(cliques), most, replace=False, shuffle=False)).tolist()]


def some_of_closure(workload: Workload, most: int, rng: np.random.Generator) -> list[Clique]:
    """Return all of W_+, or ``most`` of it: every column, then pairs, and so on; at random among those of one size."""
    found: list[Clique] = []
    size = 1
    while len(found) < most and (layer := workload.closure_of(size)):
        found += some_of(layer, most - len(found), rng)
        size += 1
    return found
