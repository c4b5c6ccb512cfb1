"""What a run comes to before it begins: the noise of its first measurements, its rounds, its model and its time.

Public: it follows from the schema, the workload, the budget and a guess at the rows. Of the mechanisms that are chosen from
(``choosing.py``): those that go round by round, those that fit one model of the whole workload, and columns alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

from understudy.domain import Clique
from understudy.mechanism.again import kept_for_the_end
from understudy.mechanism.aim import wide_share
from understudy.mechanism.aim2 import Aim2Config
from understudy.mechanism.base import Mechanism
from understudy.mechanism.calibration import Rates
from understudy.mechanism.config import AimConfig, ModelConfig
from understudy.mechanism.forecast import Forecast, one_model_seconds
from understudy.mechanism.hdmm import moved, variances
from understudy.mechanism.pool import take_turns
from understudy.mechanism.residuals import COLUMNS, ByNeed
from understudy.mechanism.schedule import allocate, first_budget
from understudy.model import CELL_BYTES, tree_size
from understudy.privacy import Unit, sigma_for
from understudy.workload import Workload

Noise = Mapping[str, float]
"""The noise on each cell of the first measurement of each column, as a standard deviation in rows."""


@dataclass(frozen=True)
class Case:
    """A run that nobody has begun."""

    how: Mechanism
    workload: Workload
    rho: Fraction
    """What is left for the mechanism once the shares of the check and of what lies inside bins are taken off."""
    unit: Unit
    rows: int
    zeros: Sequence[Clique]
    free: int
    """Columns that are read and have several values: the others follow, at no cost."""


@dataclass(frozen=True)
class Expected:
    """What it comes to."""

    noise: Noise
    rounds: int
    """At most; 0 where there are none."""
    least: int
    most: int
    """Bytes of its model."""
    typical: int
    seconds: float


def expected(case: Case, rates: Rates) -> Expected:
    """Say what a run comes to on a machine of these ``rates``."""
    config = case.how.config
    if isinstance(config, AimConfig | Aim2Config):
        return _round_by_round(case, config, rates)
    assert isinstance(config, ModelConfig)  # what is chosen from makes models
    alone: list[Clique] = [(a,) for a in case.workload.domain]
    if case.how.name == "independent":
        sigma = sigma_for(case.rho / len(alone), case.unit)
        return _one_model(case, alone, dict.fromkeys(case.workload.domain, sigma), rates)
    return _one_model(case, case.workload.cliques, _residual_noise(case), rates)


def _round_by_round(case: Case, config: AimConfig | Aim2Config, rates: Rates) -> Expected:
    as_aim = config.as_aim if isinstance(config, Aim2Config) else config
    queries, domain = case.workload, case.workload.domain
    rounds = as_aim.rounds_for(case.free)
    again = kept_for_the_end(queries) if isinstance(config, Aim2Config) and not take_turns(queries.closure) else 0
    sigma = sigma_for(first_budget((1 - again) * case.rho, rounds, config.share).measure, case.unit)
    affordable = (1 - max(wide_share(case.free, as_aim), config.share * case.free / rounds)) * rounds
    forecast = Forecast.of(queries, case.rows, sigma, float(affordable), config.max_size)
    least = tree_size(domain, [*((a,) for a in domain), *case.zeros])
    most = max(least, min(config.max_size, CELL_BYTES * domain.cells()))
    seconds = forecast.seconds(queries, case.rows, rates)
    return Expected(dict.fromkeys(queries.attributes, sigma), rounds, least, most, forecast.tree, seconds)


def _one_model(case: Case, cliques: Sequence[Clique], noise: Noise, rates: Rates) -> Expected:
    """Its size is known before."""
    tree = tree_size(case.workload.domain, [*cliques, *case.zeros])
    largest = max(map(len, cliques), default=1)
    fits = largest if case.how.name == ByNeed().name else 1
    seconds = one_model_seconds(case.workload, case.rows, tree, fits, rates)
    return Expected(noise, 0, tree, tree, tree, seconds)


def _residual_noise(case: Case) -> Noise:
    """Return what the residuals of no column and of one put on each cell of a column that is measured through them."""
    domain, worth = case.workload.domain, {b: v for b, v in variances(case.workload).items() if v > 0}
    by_need = case.how.name == ByNeed().name
    asked = [b for b in worth if len(b) < 2 or not by_need]
    steps = {b: moved(domain, b, case.unit) for b in asked}
    parts = allocate(COLUMNS * case.rho if by_need else case.rho, [sqrt(worth[b]) * steps[b] for b in asked])
    squares = {b: steps[b] ** 2 / (2 * float(part)) for b, part in zip(asked, parts, strict=True)}
    rows = squares.get((), 0.0)
    return {a: sqrt((1 - 1 / domain[a]) * squares.get((a,), 0.0) + rows / domain[a] ** 2) for a in case.workload.attributes}


__all__ = ["Case", "Expected", "expected"]
