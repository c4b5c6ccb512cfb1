"""Which marginals may be measured next, and how they are scored: line 12 and line 13 of Algorithm 1, with
MWEM's variants.

Public: sizes, weights and penalties follow from the schema, the workload and the noise level.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import accumulate
from math import pi, sqrt
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique, Domain
from understudy.errors import CapacityError
from understudy.mechanism.config import AimConfig, NoiseConfig, NoiseName
from understudy.mechanism.memory import COMPARED
from understudy.mechanism.strategy import strategy_for
from understudy.model import Model, candidates_within, tree_size, tree_sizes_with
from understudy.privacy import Candidate, Unit
from understudy.quantities import show_size
from understudy.workload import Workload, norm

Precision = Literal["single", "double"]
RANKING: Precision = "single"
"""The precision of the marginals that candidates are scored by; bounds compute them again in the same."""

UNIT_CELLS = 1 << 12
"""A marginal takes as long to be worked out and compared as so many cells of it do."""


def require_capacity(domain: Domain, cliques: Sequence[Clique], candidates: Sequence[Clique], limit: int) -> None:
    """Refuse, before any spend, a capacity that the smallest useful model exceeds.

    The model always holds all one-way marginals and the cliques of structural zeros; the first choice must
    fit too.
    """
    least = min(tree_sizes_with(domain, cliques, candidates))
    if least > limit:
        zeros = " with the declared structural zeros" if cliques else ""
        raise CapacityError(
            f"The smallest model{zeros} takes {show_size(least)}, but max_size is {show_size(limit)}: "
            "allow more, or declare coarser columns. Nothing was spent."
        )


def allowed(domain: Domain, cliques: Sequence[Clique], candidates: Sequence[Clique], limit: int) -> list[Clique]:
    """C_t: the candidates with which the junction tree stays within ``limit`` bytes.

    One that lies inside a clique of the tree is always allowed, because it costs no size (the paper does not
    say so). That keeps C_t from being empty once something was measured; before that, the smallest candidates
    stand in. Nor does it say that the largest are left out where the model's answers on all would take too much memory.
    """
    fits = candidates_within(domain, cliques, candidates, limit)
    found = [r for r, fit in zip(candidates, fits, strict=True) if fit]
    if found:
        return held_at_once(domain, found)
    sizes = dict(zip(candidates, tree_sizes_with(domain, cliques, candidates), strict=True))
    least = min(sizes.values())
    return [r for r in candidates if sizes[r] == least]


def held_at_once(domain: Domain, candidates: list[Clique], most: int = COMPARED) -> list[Clique]:
    """Return ``candidates`` without the largest, where they have more than ``most`` cells together; the smallest stays."""
    sizes = [domain.cells(r) for r in candidates]
    if sum(sizes) <= most:
        return candidates
    order = sorted(range(len(sizes)), key=sizes.__getitem__)
    totals = accumulate(sizes[i] for i in order)
    kept = {i for i, total in zip(order, totals, strict=True) if total <= most} | {order[0]}
    return [r for i, r in enumerate(candidates) if i in kept]


def as_candidates(
    model: Model,
    cliques: Sequence[Clique],
    workload: Workload,
    config: AimConfig,
    scale: float,
    *,
    unit: Unit = Unit.ADD_REMOVE,
) -> list[Candidate]:
    """Line 13: q_r = w_r (‖M_r(D) - M_r(p)‖₁ - √(2/π) σ n_r), or MWEM's q_r = ‖M_r(D) - M_r(p)‖₁ - n_r.

    Where sums of r are asked for, both terms are those of the sums, for each of the sums that a record is in at most.
    """
    later = estimates(model, cliques, RANKING)
    if config.criterion == "mwem":
        return [Candidate(r, 1.0, float(workload.domain.cells(r)), e) for r, e in zip(cliques, later, strict=True)]
    noise, queried, found = expected_noise(config, scale), workload.queried, []
    for r, estimate in zip(cliques, later, strict=True):
        weight, query = workload.weights[r], queried.get(r)
        if query is not None:
            weight /= norm(query)
        found.append(Candidate(r, weight, noise * errors_of(workload, r, unit, config.noise), estimate, query))
    return found


def errors_of(workload: Workload, clique: Clique, unit: Unit, noise: NoiseName) -> float:
    """Return how many errors of a cell's noise the answers about a marginal err by in all: its cells, or by its strategy."""
    query = workload.queried.get(clique)
    if query is None:
        return workload.domain.cells(clique)
    how = strategy_for(query)
    return how.error * how.scale(unit, noise)


def estimates(model: Model, cliques: Sequence[Clique], precision: Precision) -> list[Callable[[], NDArray[np.float64]]]:
    """Return a function for each marginal of the model; all are worked out at once, when the first is asked for."""
    found = cache(lambda: model.marginals(cliques, precision=precision))
    return [partial(lambda i: found()[i], i) for i in range(len(cliques))]


def expected_noise(config: NoiseConfig, scale: float) -> float:
    """E|x| of the noise on one cell: √(2/π) σ, or b for Laplace noise."""
    return sqrt(2 / pi) * scale if config.noise == "gaussian" else scale


def require_tree(domain: Domain, cliques: Sequence[Clique], limit: int) -> None:
    """Refuse, before any spend, to model ``cliques`` together when their junction tree is too large."""
    size = tree_size(domain, cliques)
    if size > limit:
        raise CapacityError(
            f"A model of these marginals takes {show_size(size)}, but max_size is {show_size(limit)}: "
            "allow more, choose fewer marginals, or use aim. Nothing was spent."
        )


def units(marginals: float, cells: float) -> float:
    """Return how much work it is to look at so many marginals with so many cells in all."""
    return marginals + cells / UNIT_CELLS
