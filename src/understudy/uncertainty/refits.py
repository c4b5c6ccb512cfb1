"""The noise once more: models as they might have come out, had the noise been another one. A parametric bootstrap.

Public: a model takes the table's place, is measured as the table was, with noise of the same scales, and a new model is
fitted to that. No private count is needed, and no budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique
from understudy.mechanism.anchors import LOOSE, anchored
from understudy.mechanism.estimators import LAST_STEPS
from understudy.mechanism.hdmm import Residuals, is_residual, subsets
from understudy.mechanism.looking import LEAST_DEVIATION
from understudy.mechanism.residuals import centred
from understudy.model import CLOSER, Dual, GraphicalModel, Observation, estimate_total, fit
from understudy.privacy import Centred, Measurement

Floats = NDArray[np.float64]

ROUGH = Dual(smoothing=0.05)
"""Half the smoothing of the last fit of a run, and no shrinkage."""


@dataclass(frozen=True)
class Held:
    """The columns that the last fit of a run was held to."""

    firmly: tuple[str, ...] = ()
    loosely: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Refit:
    """A model that stood for the table, and the model that was fitted to noisy answers about it."""

    base: GraphicalModel
    model: GraphicalModel

    def around(self, centre: Floats, clique: Clique) -> Floats:
        """Return ``centre``, the release's marginal on ``clique``, off by what the refit is off; at least 0."""
        off = self.model.marginals([clique])[0] - self.base.marginals([clique])[0]
        return np.asarray(np.maximum(centre + off, 0.0))


def refits(
    model: GraphicalModel,
    measurements: Sequence[Measurement],
    held: Held,
    number: int,
    rng: np.random.Generator,
    *,
    sums: Sequence[Observation] = (),
) -> list[Refit]:
    """Return so many refits, ``held`` to columns as the last fit of the run was; ``sums`` are what was told of these beside
    the measurements.

    Every other one has a rougher base. The released model is smoother than the table: where its fit shrank what did not
    stand out from the noise, its own refits err less than it does. The model without shrinkage is rougher than the table,
    and its refits err more.
    """
    told = [*(_observation(m, m.values.astype(np.float64)) for m in measurements), *sums]
    bases = (model, _fitted(model, told, held, ROUGH))
    return [Refit(bases[i % 2], _again(bases[i % 2], measurements, held, sums, rng)) for i in range(number)]


def with_noise(values: Floats, measurement: Measurement, rng: np.random.Generator) -> Floats:
    """Return ``values`` with the noise of ``measurement``, to float accuracy: for a simulation, never for a release."""
    scale, shape = measurement.scale, values.shape
    if measurement.noise == "gaussian":
        return np.asarray(values + np.rint(rng.normal(0.0, scale, shape)))
    success = -np.expm1(-1 / scale)
    return np.asarray(values + rng.geometric(success, shape) - rng.geometric(success, shape))


def _again(
    base: GraphicalModel,
    measurements: Sequence[Measurement],
    held: Held,
    sums: Sequence[Observation],
    rng: np.random.Generator,
) -> GraphicalModel:
    """Measure ``base`` as the table was measured, and fit a model to the answers."""
    cliques = list(dict.fromkeys([*(m.clique for m in measurements), *(s.clique for s in sums)]))
    exact = dict(zip(cliques, base.marginals(cliques), strict=True))
    answers = [exact[m.clique] if m.query is None else m.query.forward(exact[m.clique]) for m in measurements]
    told = [_observation(m, with_noise(a, m, rng)) for m, a in zip(measurements, answers, strict=True)]
    return _fitted(base, [*told, *(_told_again(s, exact[s.clique], rng) for s in sums)], held, CLOSER)


def _told_again(told: Observation, marginal: Floats, rng: np.random.Generator) -> Observation:
    assert told.query is not None
    return replace(told, values=told.query.forward(marginal) + rng.normal(0.0, told.sigma, told.values.shape))


def _observation(measurement: Measurement, values: Floats) -> Observation:
    return Observation(measurement.clique, values, max(measurement.sigma, LEAST_DEVIATION), measurement.query)


def _as_marginals(told: Sequence[Observation], start: GraphicalModel) -> Sequence[Observation]:
    """Return residuals as the marginals that a run fits its model to; what was not asked of one is as ``start`` has it."""
    if not any(isinstance(o.query, Centred) for o in told):
        return told
    asked = Residuals.of(start.domain, told)
    missing = sorted({part for b in asked.values for part in subsets(b)} - set(asked.values))
    values = {**asked.values, **dict(zip(missing, map(centred, start.marginals(missing)), strict=True))}
    found = Residuals(start.domain, values, asked.precisions).marginals()
    return [*found, *(o for o in told if not is_residual(o))]


def _fitted(start: GraphicalModel, told: Sequence[Observation], held: Held, solver: Dual) -> GraphicalModel:
    """Fit as the last fit of a run does, but with ``solver``. The number of rows is what the answers say of it."""
    told_of_rows = any(o.query is None for o in told)  # of sums, some say nothing of it
    total = estimate_total(told) if told_of_rows else start.total  # with the anchors it would be ``start``'s in any case
    whole = anchored(anchored(_as_marginals(told, start), held.firmly, total), held.loosely, total, LOOSE)
    steps, engine = LAST_STEPS, start.engine
    made = fit(
        start.domain, whole, zeros=start.zeros, total=total, start=start, solver=solver, max_iterations=steps, engine=engine
    )
    return made.model
