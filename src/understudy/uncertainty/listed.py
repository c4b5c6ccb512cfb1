"""Which marginals have something to bound them by, and which of these a release lists. Public."""

from __future__ import annotations

from collections.abc import Container, Iterable

import numpy as np

from understudy.domain import Clique, Combinations
from understudy.mechanism.running import LATEST
from understudy.uncertainty.evidence import Evidence


def bounded(evidence: Evidence, most: int, cells: int, rng: np.random.Generator) -> list[Clique]:
    """Return all of W_+ where it has at most ``most`` marginals and so many ``cells`` together.

    Of a larger one: the columns and what was measured, then some of what was checked or could be chosen in one of the latest
    rounds, drawn at random. Little else has a bound.
    """
    workload = evidence.workload
    if len(workload.closure) <= most and workload.cells <= cells:
        return list(workload.closure)
    own = _quick(evidence)
    first = [r for r in dict.fromkeys([*workload.closure_of(1), *(m.clique for m in evidence.measurements)]) if r in own]
    taken = set(first)
    others = [r for r in dict.fromkeys(_spoken_of(evidence)) if r not in taken and r in own]
    drawn = [others[i] for i in rng.permutation(len(others))[: max(0, most - len(first))]]
    place = {a: i for i, a in enumerate(workload.domain)}
    return sorted(_fitting(evidence, [*first, *drawn], cells), key=lambda r: (len(r), [place[a] for a in r]))


def _quick(evidence: Evidence) -> Container[Clique]:
    closure = evidence.workload.closure
    return closure if isinstance(closure, Combinations) else frozenset(closure)


def _spoken_of(evidence: Evidence) -> Iterable[Clique]:
    if evidence.distances is not None:
        yield from evidence.distances.cliques
    for r in evidence.rounds[-LATEST:]:
        if r.before is not None:
            yield from r.candidates


def _fitting(evidence: Evidence, cliques: Iterable[Clique], cells: int) -> Iterable[Clique]:
    """Yield, in their order, those that still fit."""
    for clique in cliques:
        more = evidence.workload.domain.cells(clique)
        if more <= cells:
            cells -= more
            yield clique
