"""How much columns depend on each other, and which marginals the noise leaves readable: for mechanisms that choose by that.

Sees no counts: what needs the table goes through the door, and says what it costs.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

from understudy.domain import Clique
from understudy.mechanism.candidates import RANKING, estimates, expected_noise
from understudy.mechanism.config import NoiseConfig
from understudy.mechanism.running import Run
from understudy.model import Model
from understudy.privacy import Candidate
from understudy.workload import Workload

MOST_EXPECTED = 2**24
"""Marginals with so many cells in all are counted in the first pass; of more, each when it is first asked for."""


def measure_columns(run: Run, config: NoiseConfig, rho: Fraction) -> Model:
    """Measure every column, with equal shares of ``rho``, and fit a model in which they are independent. Costs ``rho``."""
    for attribute in run.domain:
        scale = config.scale_for(rho / len(run.domain), run.door.unit)
        run.measure((attribute,), scale=scale, noise=config.noise, round_index=0)
    return run.estimate(0)


def pair_distances(run: Run, model: Model, rho: Fraction) -> dict[Clique, float]:
    """Return ‖M_ab(D) - M_ab(p)‖₁ of every pair, with noise: p the model of the columns. Costs ``rho``.

    The papers compare with the product of the exact columns. That of noisy ones is public, so a record moves each
    distance by one, and not by four. No distance exceeds twice the rows, whatever the noise says.
    """
    most = 2 * run.note("estimated rows of the columns", lambda: model.total)
    pairs = list(combinations(run.domain, 2))
    later = estimates(model, pairs, RANKING)
    found = run.compare([Candidate(r, 1.0, 0.0, e) for r, e in zip(pairs, later, strict=True)], rho)
    return {pair: min(float(value), most) for pair, value in zip(found.cliques, found.values, strict=True)}


def useful_cells(run: Run, config: NoiseConfig, model: Model, rho: Fraction, theta: float) -> float:
    """Return how many cells a marginal may have, measured with ``rho``, so that it is θ-useful.

    That is: the count of a cell is, on average, at least ``theta`` times the noise on it.
    """
    rows = run.note(f"estimated rows after {len(run.measurements)} measurements", lambda: model.total)
    return rows / (theta * expected_noise(config, config.scale_for(rho, run.door.unit)))


def counted_first(workload: Workload, size: int) -> Sequence[Clique]:
    """Return the marginals of up to ``size`` columns, or as many sizes as are few enough to count in one pass."""
    domain, found, cells = workload.domain, [(a,) for a in workload.domain], 0
    listed: list[Clique] = list(found)
    for k in range(2, size + 1):
        layer = list(combinations(domain, k))
        cells += sum(map(domain.cells, layer))
        if cells > MOST_EXPECTED:
            break
        listed += layer
    return listed


def spend_the_rest(run: Run, config: NoiseConfig, model: Model) -> Model:
    """Measure the chosen marginals once more, or the columns where there is none, with what is left over, and fit."""
    again = [m.clique for m in run.measurements if len(m.clique) > 1] or [(a,) for a in run.domain]
    if run.remaining <= run.rho / 2**50:  # the last scale was rounded
        return model
    for left, clique in zip(range(len(again), 0, -1), again, strict=True):
        scale = config.scale_for(run.remaining / left, run.door.unit)
        run.measure(clique, scale=scale, noise=config.noise, round_index=0)
    return run.estimate(0)
