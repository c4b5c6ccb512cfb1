"""What is measured once more at the end: the marginals that the model rests on, each by its need. Public numbers only.

The rounds measure a marginal for what is wrong with it then. Later rounds have less noise, but what was found early is
chosen again only if it stands out once more; its noise stays, and so does that of the columns, which every query has.
Here the structure is settled, so nothing has to be chosen: what is kept for the end is split over all that was measured and
its parts. For each marginal t of these, let Q be the precision with which its cells are known, k its error per deviation
after a fit (``penalty.py``), and W the weight of all queries that hold t. Measuring r with precision p adds p n_t / n_r to
that of each of its parts t. The split makes

    Σ_t W_t k_t (Q_t + Σ_{r ⊇ t} p_r n_t / n_r)^(-1/2)   least, for a given Σ p.

That is convex; each step multiplies p by its slope to the power of 2/3, which solves it at once where nothing overlaps.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique, Domain
from understudy.mechanism.again_sums import AGAIN_SUMS, needs_of, parts_of, strategies_of
from understudy.mechanism.candidates import RANKING
from understudy.mechanism.config import AimConfig
from understudy.mechanism.looking import LEAST_DEVIATION
from understudy.mechanism.penalty import fitted_errors
from understudy.mechanism.running import Run
from understudy.mechanism.schedule import allocate
from understudy.model import Model
from understudy.privacy import Measurement, linear_scale_for
from understudy.workload import Workload

AGAIN = Fraction(1, 4)
"""The share of the budget that is kept for it."""
LEAST = 2e-3
"""What would get a smaller part of it is left out."""
MOST = 1_000
"""Of more marginals, the smallest are looked at."""
STEPS = 60

Floats = NDArray[np.float64]


def kept_for_the_end(workload: Workload) -> Fraction:
    """Return the share of the budget that is kept: more where sums are asked for, of which noise is most of the error."""
    return AGAIN_SUMS if workload.asked else AGAIN


def measure_by_need(run: Run, config: AimConfig, model: Model) -> None:
    """Measure parts of what was measured once more; sums, where sums are asked for. Costs all that is left."""
    if any(m.query is not None for m in run.measurements):
        _measure_sums(run, config)
        return
    listed = parts(run.domain, run.measurements)
    if not listed:
        return
    shares = run.note_array("shares of what is measured again", len(listed), lambda: split(run, config, model, listed))
    some = [(r, share) for r, share in zip(listed, shares.tolist(), strict=True) if share > 0]
    costs = allocate(run.remaining, [share for _, share in some])
    for (clique, _), cost in zip(some, costs, strict=True):
        run.measure(clique, scale=config.scale_for(cost, run.door.unit), noise=config.noise, round_index=len(run.rounds))


def _measure_sums(run: Run, config: AimConfig) -> None:
    """Measure parts of what was measured once more, as sums where sums are asked for, by need (``again_sums.py``)."""
    workload, unit = run.workload, run.door.unit
    ways = strategies_of(workload, run.measurements, parts_of(run.domain, run.measurements))

    def shares() -> Floats:
        return needs_of(workload, run.measurements, ways, unit, config.noise).split(float(run.remaining))

    found = run.note_array("shares of what is measured again", len(ways), shares)
    some = [(r, how, share) for (r, how), share in zip(ways.items(), found.tolist(), strict=True) if share > 0]
    costs = allocate(run.remaining, [share for _, _, share in some])
    for (clique, how, _), cost in zip(some, costs, strict=True):
        scale = config.scale_for(cost, unit) if how is None else linear_scale_for(cost, how, config.noise, unit)
        run.measure(clique, scale=scale, noise=config.noise, round_index=len(run.rounds), query=how)


def parts(domain: Domain, measurements: Sequence[Measurement]) -> list[Clique]:
    """Return the marginals that were measured cell by cell, and what they hold: the smallest, where they are many."""
    whole = dict.fromkeys(m.clique for m in measurements if m.query is None)
    found = {t for r in whole for size in range(1, len(r) + 1) for t in combinations(r, size)}
    return sorted(found, key=lambda t: (len(t), domain.cells(t), t))[:MOST]


def split(run: Run, config: AimConfig, model: Model, listed: Sequence[Clique]) -> Floats:
    """Return the share of each of ``listed``; 0 where it would be too small."""
    cells = np.array([run.domain.cells(t) for t in listed], dtype=np.float64)
    known = precisions(run.domain, run.measurements, listed)
    marginals = model.marginals(listed, precision=RANKING)
    left = [fitted_errors([m], q**-0.5, "gaussian")[0] * q**0.5 for m, q in zip(marginals, known, strict=True)]
    held = run.workload.held
    worth = np.array([held[t] for t in listed]) * np.array(left)
    sets = [frozenset(t) for t in listed]
    tells = np.array([[s <= r for r in sets] for s in sets]) * cells[:, None] / cells
    scale = config.scale_for(run.remaining, run.door.unit)
    whole = scale**-2 if config.noise == "gaussian" else scale**-2 / 2
    found = spread(worth, known, tells, whole) / whole
    found[found < LEAST] = 0.0
    return found if found.any() else np.ones(len(listed))


def precisions(domain: Domain, measurements: Sequence[Measurement], listed: Sequence[Clique]) -> Floats:
    """Return 1/σ² for the cells of each marginal, by all that was measured of it."""
    found = np.zeros(len(listed))
    whole = [
        (frozenset(m.clique), 1 / (domain.cells(m.clique) * max(m.sigma, LEAST_DEVIATION) ** 2))
        for m in measurements
        if m.query is None
    ]
    for k, t in enumerate(listed):
        found[k] = domain.cells(t) * sum(each for r, each in whole if r.issuperset(t))
    return found


def spread(worth: Floats, known: Floats, tells: Floats, whole: float) -> Floats:
    """Return the p that make Σ worth (known + tells p)^(-1/2) least, with the sum ``whole``; worth nothing, evenly."""
    found = np.full(len(worth), whole / len(worth))
    for _ in range(STEPS):
        slopes = tells.T @ (worth * (known + tells @ found) ** -1.5)
        found = found * slopes ** (2 / 3)
        if not found.sum() > 0:
            return np.full(len(worth), whole / len(worth))
        found *= whole / found.sum()
    return found
