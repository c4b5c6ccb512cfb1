"""Whether a run starts from public data: one question to the table, for a small share of the budget. Sees no counts.

The question is how far two public estimates of some marginals of the workload are from the table: the public model's, and
those of the noisy columns as unrelated. Each distance has noise of its own, which their mean averages out again. So it is as
good as one question about the whole workload, and a neighbour moves each distance as it does in every such question.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from understudy.domain import Clique
from understudy.mechanism.candidates import estimates
from understudy.mechanism.config import AimConfig
from understudy.mechanism.public import Prior
from understudy.mechanism.running import Run
from understudy.model import GraphicalModel, Model
from understudy.privacy import Candidate

PURPOSE = "public data"
ASIDE = Fraction(2, 100)
"""The share of the budget for the question, at most …"""
SURE = 0.02
"""… and no more than it takes to know the difference of the two mean distances to this share of the rows."""
MOST_ASKED = 200
"""About so many marginals of the workload are asked about …"""
MOST_CELLS = 2**22
"""… and they have no more cells than this, all together."""


def prepare(run: Run) -> None:
    """Set the price of the question aside, where there is public data; before anything is spent."""
    if run.public is not None:
        run.set_aside(ASIDE, PURPOSE)


def started(run: Run, config: AimConfig, model: Model) -> Model:
    """Return the model to go on with: ``model``, of the noisy columns, or the public one corrected by these.

    Costs at most what was set aside, and nothing where there is no public data.
    """
    if run.public is None:
        return model
    prior = Prior(run.public_model(run.public, config.max_size), run.public.rows)
    return run.adopt(prior) if nearer(run, prior.model, model) else model


def nearer(run: Run, public: GraphicalModel, model: Model) -> bool:
    """Ask whether the public model is nearer to the table than ``model`` is. Costs at most what was set aside."""
    cliques = asked(run)
    theirs, ours = estimates(_scaled(public, model.total), cliques, "double"), estimates(model, cliques, "double")
    both = [Candidate(r, 1.0, 0.0, e) for later in (theirs, ours) for r, e in zip(cliques, later, strict=True)]
    rho = min(run.take(PURPOSE), enough(run, model))  # what is left over, the rounds have
    found = run.compare(both, rho).values.astype(np.float64).reshape(2, len(cliques))
    weights = np.array([run.workload.importance[r] for r in cliques])
    return bool(weights @ (found[0] - found[1]) < 0)


def enough(run: Run, model: Model) -> Fraction:
    """Return the cost at which the noise on the difference of the means is a small share of the rows.

    2k distances with noise σ cost 2k s²/(2σ²); the means of k of them differ by noise of √(2/k) σ.
    """
    rows = max(run.note("estimated rows at the start", lambda: model.total), 1.0)
    return Fraction(2 * run.door.unit.score**2 / (SURE * rows) ** 2)


def asked(run: Run) -> list[Clique]:
    """Return the marginals that are compared: some of the workload's, the smallest of them where they are large."""
    cells = run.domain.cells
    cliques = run.workload.cliques
    some = sorted((cliques[i] for i in range(0, len(cliques), -(-len(cliques) // MOST_ASKED))), key=cells)
    within = np.cumsum([cells(r) for r in some]) <= MOST_CELLS
    return [r for r, fits in zip(some, within, strict=True) if fits] or some[:1]


def _scaled(model: GraphicalModel, total: float) -> GraphicalModel:
    return GraphicalModel(model.domain, model.parameters, total, model.zeros, engine=model.engine)
