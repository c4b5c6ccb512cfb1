"""Upper bounds on ‖M_r(D) - M_r(D̂)‖₁ for every marginal of a workload's closure, from what was released
alone.

Public. Statements, assumptions and proofs are in docs/bounds.md: Theorem 1 (supported), Theorem 2
(unsupported), Theorem 4 (checked).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, log, sqrt
from typing import Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique
from understudy.errors import UserError
from understudy.mechanism import Outcome, Round
from understudy.mechanism.candidates import RANKING
from understudy.privacy.scoring import rounded
from understudy.uncertainty.distance import distance_bound
from understudy.uncertainty.estimator import weighted_average
from understudy.uncertainty.tails import Floats, Term, cell_radius, l1_radius

RoundChoice = Literal["paid", "any", "last"]

FINAL_SHARE = 0.5
"""Share of the failure probability that goes to the final round; earlier rounds share the rest by what they cost."""

CHECK_SHARE = 0.5
"""Share of the failure probability that goes to the check of the finished model, where there was one."""

TOTAL_SHARE = 0.04
"""Share of the failure probability that goes to a bound on the rows: no error exceeds both tables."""


class Marginals(Protocol):
    """Anything with marginals: a model, or ``TableMarginals`` of a synthetic table."""

    def marginals(self, cliques: Sequence[Clique]) -> Sequence[NDArray[np.floating] | NDArray[np.integer]]:
        """Return one array per clique, shaped as the marginal."""
        ...


@dataclass(frozen=True)
class Bound:
    """With probability ``confidence``, ‖M_r(D) - M_r(D̂)‖₁ ≤ ``value`` (in records) for this one marginal."""

    clique: Clique
    kind: Literal["supported", "unsupported"]
    value: float
    confidence: float
    round: int | None
    """Of an unsupported marginal: the round whose selection the bound rests on."""
    checked: bool = False
    """Whether it rests on the check of the finished model instead."""


def bounds(
    outcome: Outcome,
    synthetic: Marginals | None = None,
    *,
    confidence: float = 0.95,
    cliques: Iterable[Clique] | None = None,
    rounds: RoundChoice = "any",
) -> dict[Clique, Bound]:
    """Bound the error of ``synthetic`` (of the model itself by default) on each of ``cliques`` (all of W_+).

    Each bound holds by itself with probability ``confidence``. A marginal that was neither measured nor checked nor
    ever a candidate has none, and is left out. What was checked rests on that, or on what follows if that is less;
    the choice is paid for. An unsupported one rests on a round in which it was a candidate:
    on the best of those whose model was kept, or, quicker, with ``rounds="paid"`` on the latest; both pay for
    the choice by a union bound. ``"last"`` is the paper's rule, the latest without paying, which is not quite
    proved.
    """
    failure = _failure(confidence)
    if rounds not in get_args(RoundChoice):
        raise UserError(f'rounds must be one of {", ".join(get_args(RoundChoice))}, not "{rounds}".')
    beta = (1 - TOTAL_SHARE) * failure
    other = _other(outcome, synthetic)
    wanted = list(outcome.workload.closure if cliques is None else cliques)
    theirs = {r: np.asarray(m, np.float64) for r, m in zip(wanted, other.marginals(wanted), strict=True)}
    known = set(outcome.check.cliques) if outcome.check else set()
    share = {r: beta * (1 - CHECK_SHARE) if r in known else beta for r in wanted}
    found = {r: _supported(outcome, r, theirs[r], share[r]) for r in wanted}
    missing = [r for r in wanted if found[r] is None]
    for b in {share[r] for r in missing}:
        found.update(_unsupported(outcome, [r for r in missing if share[r] == b], theirs, b, rounds))
    found.update(_checked(outcome, found, theirs, beta * CHECK_SHARE))
    most = rows_bound(outcome, TOTAL_SHARE * failure)
    return {
        r: replace(bound, value=min(bound.value, most + float(np.abs(theirs[r]).sum())), confidence=confidence)
        for r in wanted
        if (bound := found[r]) is not None
    }


def rows_bound(outcome: Outcome, beta: float) -> float:
    """Return a number that the rows of the table exceed with probability at most ``beta``."""
    total = weighted_average(outcome.measurements, ())
    if total is None:
        return inf
    return max(0.0, float(total.values) + cell_radius(total.terms, beta))


def _supported(outcome: Outcome, clique: Clique, values: Floats, beta: float) -> Bound | None:
    """Theorem 1: ‖m̂ - y⁺‖₁ + R - ‖y⁻‖₁, since counts are not negative and ‖ȳ - M(D)‖₁ ≤ R."""
    estimate = weighted_average(outcome.measurements, clique)
    if estimate is None:
        return None
    radius = l1_radius(estimate.terms, estimate.values.size, beta)
    positive = np.maximum(estimate.values, 0.0)
    used_up = float((positive - estimate.values).sum())
    value = float(np.abs(values - positive).sum()) + max(0.0, radius - used_up)
    return Bound(clique, "supported", value, 1 - beta, None)


def _checked(
    outcome: Outcome, found: Mapping[Clique, Bound | None], theirs: Mapping[Clique, Floats], beta: float
) -> dict[Clique, Bound]:
    """Theorem 4: the noisy distance plus what its noise may hide, then the triangle inequality; where that is less."""
    if outcome.check is None or outcome.model is None:
        return {}
    noisy = {r: int(value) for r, value in zip(outcome.check.cliques, outcome.check.values, strict=True) if r in found}
    radius = cell_radius((Term(1.0, "gaussian", outcome.check.sigma, 1),), 2 * beta)  # one side of it
    better = {}
    for (r, value), marginal in zip(noisy.items(), outcome.model.marginals(list(noisy)), strict=True):
        centre, known = _Centre.of(marginal), found[r]
        apart = float(np.abs(theirs[r] - centre.counts).sum()) + centre.doubt
        bound = Bound(
            r, known.kind if known else "unsupported", max(value, 0) + radius + apart, 1 - beta, None, checked=True
        )
        if known is None or bound.value < known.value:
            better[r] = bound
    return better


def _unsupported(
    outcome: Outcome,
    cliques: Sequence[Clique],
    theirs: Mapping[Clique, Floats],
    beta: float,
    choice: RoundChoice,
) -> dict[Clique, Bound]:
    """Theorem 2, round by round; the least bound wins where several rounds were looked at."""
    found: dict[Clique, Bound] = {}
    for r, mine in _uses(outcome, cliques, every=choice == "any"):
        share = beta if choice == "last" else beta * _round_share(outcome, r)
        for clique, value in _round_bounds(r, mine, theirs, share).items():
            if clique not in found or value < found[clique].value:
                found[clique] = Bound(clique, "unsupported", value, 1 - beta, r.index)
    return found


def _uses(outcome: Outcome, cliques: Sequence[Clique], *, every: bool) -> Iterator[tuple[Round, list[Clique]]]:
    """Yield rounds, each with those of ``cliques`` to be bounded by it: all its candidates, or their latest."""
    last = {c: r.index for r in outcome.rounds for c in r.candidates}
    for r in outcome.rounds:
        candidates = set(r.candidates)
        mine = [c for c in cliques if c in candidates and (every or last[c] == r.index)]
        if mine and r.before is not None:
            yield r, mine


def _round_share(outcome: Outcome, r: Round) -> float:
    """Return the share of the failure probability that round ``r`` may use; they add up to at most 1.

    What a round costs is settled before its selection, and all costs together never exceed the budget.
    """
    return FINAL_SHARE if r.final else (1 - FINAL_SHARE) * float(r.rho / outcome.rho)


def _round_bounds(r: Round, cliques: Sequence[Clique], theirs: Mapping[Clique, Floats], beta: float) -> dict[Clique, float]:
    """w_r E_r ≤ w_{r_t} E_{r_t} + penalties + (2Δ/ε) (log|C_t| + log 1/β₂), then the triangle inequality.

    In the integers that the door used: weights, rounded estimates and rounded penalties are reproduced, not
    approximated.
    """
    if r.before is None:
        return {}
    *centres, chosen = [_Centre.of(m) for m in r.before.marginals([*cliques, r.clique], precision=RANKING)]
    beta_measure, beta_select = _split(r, beta)
    weights = {c: int(w) for c, w in zip(r.candidates, r.selection.weights, strict=True)}
    penalties = {c: round(weights[c] * p) for c, p in zip(r.candidates, r.penalties, strict=True)}
    furthest = distance_bound(r.measurement, chosen.counts, beta_measure) + chosen.doubt
    top = weights[r.clique] * furthest - penalties[r.clique]
    top += r.selection.scale * (log(len(r.candidates)) + log(1 / beta_select))
    found = {}
    for clique, centre in zip(cliques, centres, strict=True):
        if weights[clique] > 0:
            error = max(0.0, (top + penalties[clique]) / weights[clique])
            found[clique] = error + float(np.abs(theirs[clique] - centre.counts).sum()) + centre.doubt
    return found


@dataclass(frozen=True, eq=False)
class _Centre:
    """A model's marginal as the door rounded it. ``doubt`` counts cells so near a half that a second
    computation of the same marginal, perhaps in single precision, may round them the other way.
    """

    counts: NDArray[np.int64]
    doubt: int

    @classmethod
    def of(cls, marginal: Floats) -> _Centre:
        apart = np.abs(marginal - np.floor(marginal) - 0.5)
        return cls(rounded(marginal), int((apart < 1e-6 + 1e-5 * marginal).sum()))


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


def _other(outcome: Outcome, synthetic: Marginals | None) -> Marginals:
    if synthetic is not None:
        return synthetic
    if outcome.model is None:
        raise UserError(f"{outcome.mechanism} has no model; pass what should be compared with the table.")
    return outcome.model


def _failure(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise UserError(f"confidence must lie strictly between 0 and 1 (say 0.95), not {confidence}.")
    return 1 - confidence
