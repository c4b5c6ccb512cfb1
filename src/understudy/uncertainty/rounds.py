"""Bounds for marginals that were candidates of a round and were not chosen: Theorem 2 of docs/bounds.md.

Public: from what the round released, and the model that it scored its candidates by.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log, sqrt

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique
from understudy.mechanism import Round
from understudy.mechanism.candidates import RANKING
from understudy.model import GraphicalModel, Model
from understudy.privacy.scoring import rounded
from understudy.uncertainty.distance import distance_bound
from understudy.uncertainty.evidence import Evidence
from understudy.uncertainty.tails import Floats

FINAL_SHARE = 0.5
"""Share of the failure probability that goes to the final round; earlier rounds share the rest by what they cost."""


@dataclass(frozen=True, eq=False)
class Centre:
    """A model's marginal as the door rounded it. ``doubt`` counts cells so near a half that a second
    computation of the same marginal, perhaps in single precision, may round them the other way.
    """

    counts: NDArray[np.int64]
    doubt: int

    @classmethod
    def of(cls, marginal: Floats) -> Centre:
        """Round as the door does."""
        apart = np.abs(marginal - np.floor(marginal) - 0.5)
        return cls(rounded(marginal), int((apart < 1e-6 + 1e-5 * marginal).sum()))

    def from_target(self, target: Floats) -> float:
        """Return how far the door's centre may be from ``target``."""
        return float(np.abs(target - self.counts).sum()) + self.doubt


def round_share(evidence: Evidence, r: Round) -> float:
    """Return the share of the failure probability that round ``r`` may use; they add up to at most 1.

    What a round costs is settled before its selection, and all costs together never exceed the budget.
    """
    return FINAL_SHARE if r.final else (1 - FINAL_SHARE) * float(r.rho / evidence.rho)


def round_distances(r: Round, targets: Sequence[tuple[Clique, Floats]], beta: float) -> list[float | None]:
    """Bound ‖M_r(D) - target‖₁ for each of ``targets``, all of them candidates; None where the weight is zero.

    w_r E_r ≤ w_{r_t} E_{r_t} + penalties + (2Δ/ε) (log|C_t| + log 1/β₂), then the triangle inequality. In the integers that
    the door used: weights, rounded estimates and rounded penalties are reproduced, not approximated.
    """
    if r.before is None:
        return [None] * len(targets)
    cliques = list(dict.fromkeys(clique for clique, _ in targets))
    *centres, chosen = [Centre.of(m) for m in _again(r.before).marginals([*cliques, r.clique], precision=RANKING)]
    centre = dict(zip(cliques, centres, strict=True))
    beta_measure, beta_select = _split(r, beta)
    weights = {c: int(w) for c, w in zip(r.candidates, r.selection.weights, strict=True)}
    penalties = {c: round(weights[c] * p) for c, p in zip(r.candidates, r.penalties, strict=True)}
    furthest = distance_bound(r.measurement, chosen.counts, beta_measure) + chosen.doubt
    top = weights[r.clique] * furthest - penalties[r.clique] + selection_margin(r, beta_select)
    return [
        max(0.0, (top + penalties[c]) / weights[c]) + centre[c].from_target(target) if weights[c] > 0 else None
        for c, target in targets
    ]


def _again(model: Model) -> Model:
    """Return the same model, so that what it calibrates is let go after use: the models of many rounds are asked in turn."""
    return replace(model, _known={}) if isinstance(model, GraphicalModel) else model


def selection_margin(r: Round, beta: float) -> float:
    """Return what a candidate's score may exceed the chosen one's by, except with probability ``beta`` (Lemma 5)."""
    return r.selection.scale * (log(len(r.candidates)) + log(1 / beta))


def _split(r: Round, beta: float) -> tuple[float, float]:
    """Share ``beta`` between the measurement and the selection so that the bound is about least.

    Decided by what was public before the selection (a typical candidate, ε and σ), never by what was chosen.
    """
    spread = r.measurement.scale * sqrt(float(np.median([abs(p) for p in r.penalties])) / r.measurement.scale)
    per_nat = r.selection.scale / max(int(r.selection.weights.max()), 1)
    shares = np.linspace(0.02, 0.98, 49)
    cost = spread * np.sqrt(2 * np.log(1 / (shares * beta))) + per_nat * np.log(1 / ((1 - shares) * beta))
    share = float(shares[np.argmin(cost)])
    return share * beta, (1 - share) * beta
