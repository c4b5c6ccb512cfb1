"""Private-PGM: fit a graphical model to noisy marginals. Public numbers only; one driver loop for any solver.

Of all distributions that explain the observations best, a model over the observed cliques is one; ``fit`` finds its
potentials, warm from an earlier model where one is given.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique, Domain, Zeros
from understudy.errors import InternalError
from understudy.model.engine import NUMPY, Engine
from understudy.model.graphical import GraphicalModel
from understudy.model.model import Model
from understudy.model.network import Flat
from understudy.model.observation import Observation, Tables
from understudy.model.problem import Problem
from understudy.model.solvers import Dual, Solver
from understudy.model.threads import one_thread

MAX_ITERATIONS = 2_000

Model_co = TypeVar("Model_co", bound=Model, covariant=True)


@dataclass(frozen=True)
class Fit(Generic[Model_co]):
    """A fitted model, and how the fit ended."""

    model: Model_co
    iterations: int
    loss: float
    """The sum of squared residuals over 2, in units of the noise."""
    residual: float
    """The loss over what the truth itself would have, about: below 1, a closer fit would be a fit to noise."""
    reason: str
    seconds: float


def fit(
    domain: Domain,
    observations: Sequence[Observation],
    *,
    zeros: Sequence[Zeros] = (),
    start: Model | None = None,
    prior: Tables | None = None,
    total: float | None = None,
    solver: Solver[Any] | None = None,
    max_iterations: int = MAX_ITERATIONS,
    target_loss: float = 0.0,
    engine: Engine = NUMPY,
) -> Fit[GraphicalModel]:
    """Fit a model to ``observations``: minimise the sum of ``(answer - value)² / (2 sigma²)``.

    ``start`` warms the fit: its potentials are kept wherever its cliques are observed again. ``prior`` are log-potentials
    that the model keeps: of all distributions that explain the observations, the one nearest to theirs is found, where it
    is the one nearest to uniform without them. A ``start`` must have been fitted with the same. ``total`` is estimated from
    the observations unless given. A ``target_loss`` ends the fit as soon as it is reached.
    """
    began = time.perf_counter()
    solver = solver or Dual()
    with one_thread():
        problem = Problem(domain, observations, zeros, total, engine, prior=prior)
        state = solver.init(problem, problem.evaluate(engine.vector(_warm(problem, start, prior or {}))))
        iterations, reason = 0, solver.done(problem, state)
        while reason is None:
            state = solver.step(problem, state)
            iterations += 1
            reason = solver.done(problem, state)
            if target_loss and problem.loss(state.point) <= target_loss:
                reason = "target loss reached"
            elif iterations >= max_iterations:
                reason = reason or "iteration limit"
        model = _model(problem, engine.numpy(state.point.parameters), zeros, prior or {})
        model = model.calibrated_as(problem.layout.network, problem.calibrate(state.point.parameters))
        loss = problem.loss(state.point)
    if not np.isfinite(loss):
        raise InternalError(f"The fit ended with a loss of {loss} after {iterations} iterations.")
    return Fit(model, iterations, loss, loss / problem.noise_level, reason, time.perf_counter() - began)


def _warm(problem: Problem, start: Model | None, prior: Tables) -> Flat:
    """Return parameters that add up to the potentials of ``start``, as far as its cliques lie inside observed ones."""
    known: Mapping[Clique, NDArray[np.float64]] = start.parameters if isinstance(start, GraphicalModel) else {}
    layout, domain = problem.layout, problem.layout.network.domain
    flat = np.zeros(layout.values.size)
    homes = [(o.clique, piece) for o, piece in zip(layout.observations, layout.split(flat), strict=True) if o.query is None]
    for clique, table in known.items():
        home = next(((h, piece) for h, piece in homes if set(clique) <= set(h)), None)
        if home:
            shape = [domain[a] if a in clique else 1 for a in home[0]]
            own = table - prior[clique] if clique in prior else table
            home[1].reshape(domain.shape(home[0]))[...] += own.reshape(shape)
    return flat


def _model(problem: Problem, parameters: Flat, zeros: Sequence[Zeros], prior: Tables) -> GraphicalModel:
    """Gather the parameters by clique; general queries act on their clique's cells through their adjoint."""
    domain, layout = problem.layout.network.domain, problem.layout
    tables: dict[Clique, NDArray[np.float64]] = dict(prior)
    for o, piece in zip(layout.observations, layout.split(parameters), strict=True):
        table = piece.reshape(domain.shape(o.clique)) if o.query is None else o.query.adjoint(piece)
        tables[o.clique] = tables[o.clique] + table if o.clique in tables else np.array(table)
    return GraphicalModel(domain, tables, problem.total, tuple(zeros), engine=problem.engine)
