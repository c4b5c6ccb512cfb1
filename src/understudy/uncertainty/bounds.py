"""Upper bounds on ‖M_r(D) - M_r(D̂)‖₁ for every marginal of a workload's closure, from what was released
alone.

Public. Statements, assumptions and proofs are in docs/bounds.md: Theorem 1 (supported), Theorem 2
(unsupported), Theorem 4 (checked).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique
from understudy.errors import UserError
from understudy.mechanism import Round
from understudy.mechanism.running import LATEST
from understudy.uncertainty.estimator import seen
from understudy.uncertainty.evidence import Evidence
from understudy.uncertainty.rounds import Centre, round_distances, round_share
from understudy.uncertainty.supported import distance, rows_bound
from understudy.uncertainty.tails import Floats, Term, cell_radius
from understudy.uncertainty.zeros import Possible

TOTAL_SHARE = 0.04
"""Share of the failure probability that goes to a bound on the rows: no error exceeds both tables."""

CHECK_SHARE = 0.5
"""Share of the rest that goes to the check of the finished model, where the marginal was to be checked."""

SUPPORTED_SHARE = 0.5
"""Share of what is then left that goes to the measurements that contain the marginal; the rounds have the other part.

All shares are fixed before anything is drawn: which of the three serves a marginal depends on the run's randomness."""


AT_ONCE = 1 << 22
"""Cells of marginals that are held at a time."""


class Marginals(Protocol):
    """Anything with marginals: a model, or ``TableMarginals`` of a synthetic table."""

    def marginals(self, cliques: Sequence[Clique]) -> Sequence[NDArray[np.floating] | NDArray[np.integer]]:
        """Return one array per clique, shaped as the marginal."""
        ...


@dataclass(frozen=True)
class Bound:
    """With probability ``confidence``, ‖M_r(D) - M_r(D̂)‖₁ ≤ ``value`` (in records) for this one marginal.

    Where the schema declares zeros, this is for a table without rows that are declared impossible; k of them may add 2k.
    """

    clique: Clique
    kind: Literal["supported", "unsupported"]
    """Whether a measurement contains the marginal."""
    value: float
    confidence: float
    round: int | None
    """The round whose selection the bound rests on, if it does."""
    checked: bool = False
    """Whether it rests on the check of the finished model instead."""


@dataclass(frozen=True, eq=False)
class _Way:
    """One way to bound a marginal: by the distance of ``clique`` from ``target``, plus ``left``, at ``beta``."""

    of: Clique
    clique: Clique
    target: Floats
    left: float
    beta: float


@dataclass(frozen=True)
class _Found:
    value: float
    measured: bool
    round: int | None = None
    checked: bool = False


def bounds(
    evidence: Evidence,
    synthetic: Marginals | None = None,
    *,
    confidence: float = 0.95,
    cliques: Iterable[Clique] | None = None,
) -> dict[Clique, Bound]:
    """Bound the error of ``synthetic`` (of the model itself by default) on each of ``cliques`` (all of W_+).

    Each bound holds by itself with probability ``confidence``. It is the least of what the measurements, the check and the
    rounds say; each has a share of the failure probability, whether it is used or not. A marginal that was neither measured
    nor checked nor ever a candidate has none, and is left out.
    """
    if not 0 < confidence < 1:
        raise UserError(f"confidence must lie strictly between 0 and 1 (say 0.95), not {confidence}.")
    wanted = evidence.workload.closure if cliques is None else cliques
    other, most = _other(evidence, synthetic), rows_bound(evidence.measurements, TOTAL_SHARE * (1 - confidence))
    return {
        b.clique: b
        for block in evidence.workload.domain.blocks(wanted, AT_ONCE)
        for b in _bounded(evidence, other, block, confidence, most)
    }


def _bounded(
    evidence: Evidence, other: Marginals, cliques: Sequence[Clique], confidence: float, most: float
) -> Iterator[Bound]:
    """Yield the bounds of ``cliques``; the table has ``most`` rows at most."""
    theirs = {r: np.asarray(m, np.float64) for r, m in zip(cliques, other.marginals(cliques), strict=True)}
    found = _every(evidence, theirs, (1 - TOTAL_SHARE) * (1 - confidence))
    held = {way.of for way, one in found if one.measured and way.clique == way.of}
    best: dict[Clique, _Found] = {}
    for way, one in sorted(found, key=lambda pair: pair[1].value):
        best.setdefault(way.of, one)
    for r in [r for r in cliques if r in best]:
        yield Bound(
            clique=r,
            kind="supported" if r in held else "unsupported",
            value=min(best[r].value, most + float(np.abs(theirs[r]).sum())),
            confidence=confidence,
            round=best[r].round,
            checked=best[r].checked,
        )


def _every(evidence: Evidence, theirs: Mapping[Clique, Floats], beta: float) -> list[tuple[_Way, _Found]]:
    """Return what each way says; rounds are asked where no measurement speaks, since they would say less."""
    possible = Possible(evidence.workload.domain, evidence.zeros)
    ways = [way for r, values in theirs.items() for way in _ways(possible, r, values, beta)]
    found = [*_supported(evidence, possible, ways), *_checked(evidence, ways)]
    measured = {way.of for way, one in found if one.measured}
    return [*found, *_unsupported(evidence, [way for way in ways if way.of not in measured])]


def _ways(possible: Possible, clique: Clique, values: Floats, beta: float) -> list[_Way]:
    """Return the marginal itself, and the part that determines all of it where the zeros say so; half of ``beta`` each."""
    part, cells = possible.determining(clique), possible.cells(clique)
    if part is None or cells is None:
        return [_Way(clique, clique, values, 0.0, beta)]
    outside = tuple(axis for axis, a in enumerate(clique) if a not in part)
    target = np.asarray((values * cells).sum(axis=outside))
    left = float(np.abs(values * ~cells).sum())
    return [_Way(clique, clique, values, 0.0, beta / 2), _Way(clique, part, target, left, beta / 2)]


def _share(evidence: Evidence, way: _Way, kind: Literal["check", "supported", "rounds"]) -> float:
    """Return the part of the failure probability that one kind of event has; the three add up to at most ``way.beta``."""
    check = CHECK_SHARE if way.clique in evidence.checked else 0.0
    shares = {"check": check, "supported": (1 - check) * SUPPORTED_SHARE, "rounds": (1 - check) * (1 - SUPPORTED_SHARE)}
    return way.beta * shares[kind]


def _supported(evidence: Evidence, possible: Possible, ways: Sequence[_Way]) -> list[tuple[_Way, _Found]]:
    """Theorem 1: measurements that contain the marginal, by themselves and averaged."""
    found = []
    for way in ways:
        if views := seen(evidence.measurements, way.clique, possible):
            value = distance(way.clique, views, way.target, _share(evidence, way, "supported"))
            found.append((way, _Found(value + way.left, measured=True)))
    return found


def _checked(evidence: Evidence, ways: Sequence[_Way]) -> list[tuple[_Way, _Found]]:
    """Theorem 4: the noisy distance plus what its noise may hide, then the triangle inequality."""
    if evidence.distances is None or evidence.model is None:
        return []
    noisy = dict(zip(evidence.distances.cliques, evidence.distances.values, strict=True))
    mine = [way for way in ways if way.clique in noisy]
    cliques = list(dict.fromkeys(way.clique for way in mine))
    centres = {r: Centre.of(m) for r, m in zip(cliques, evidence.model.marginals(cliques), strict=True)}
    noise = (Term(1.0, "gaussian", evidence.distances.sigma, 1),)
    found = []
    for way in mine:
        radius = cell_radius(noise, 2 * _share(evidence, way, "check"))  # one side of it
        value = max(int(noisy[way.clique]), 0) + radius + centres[way.clique].from_target(way.target)
        found.append((way, _Found(value + way.left, measured=False, checked=True)))
    return found


def _unsupported(evidence: Evidence, ways: Sequence[_Way]) -> list[tuple[_Way, _Found]]:
    """Theorem 2: the latest rounds; an earlier one for a marginal that nothing else speaks of, the last that it was in."""
    found = [one for r in evidence.rounds[-LATEST:] for one in _through(evidence, r, ways)]
    known = evidence.checked | {way.clique for way, _ in found}
    left = [way for way in ways if way.clique not in known]
    for r in reversed(evidence.rounds[:-LATEST]):
        more = _through(evidence, r, left)
        found += more
        spoken = {id(way) for way, _ in more}
        left = [way for way in left if id(way) not in spoken]
    return found


def _through(evidence: Evidence, r: Round, ways: Sequence[_Way]) -> list[tuple[_Way, _Found]]:
    """Bound what was among the candidates of round ``r``, if its model was kept."""
    candidates = set(r.candidates)
    mine = [way for way in ways if way.clique in candidates] if r.before is not None else []
    found = []
    for beta in sorted({_share(evidence, way, "rounds") for way in mine}):
        same = [way for way in mine if _share(evidence, way, "rounds") == beta]
        values = round_distances(r, [(w.clique, w.target) for w in same], beta * round_share(evidence, r))
        for way, value in zip(same, values, strict=True):
            if value is not None:
                found.append((way, _Found(value + way.left, measured=False, round=r.index)))
    return found


def _other(evidence: Evidence, synthetic: Marginals | None) -> Marginals:
    if synthetic is not None:
        return synthetic
    if evidence.model is None:
        raise UserError("This mechanism makes no model; pass what should be compared with the table.")
    return evidence.model
