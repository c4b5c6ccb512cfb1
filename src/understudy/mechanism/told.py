"""Attributes that others tell: derived columns, and columns with a single code, which nothing is spent on.

Public: it follows from the schema and the workload.
"""

from __future__ import annotations

from collections.abc import Sequence

from understudy.domain import Clique
from understudy.mechanism.running import Run


def told(run: Run) -> dict[str, frozenset[str]]:
    """Return the attributes that others tell, and these others, where the workload has them all."""
    known = {*run.workload.attributes}
    found: dict[str, frozenset[str]] = {z.told: frozenset(z.clique) - {z.told} for z in run.zeros if z.told is not None}
    found |= {name: frozenset() for name, size in zip(run.domain, run.domain.sizes, strict=True) if size == 1}
    return {name: others for name, others in found.items() if name in known and others <= known}


def constant(run: Run) -> set[str]:
    """Return the attributes with a single code.

    Derived columns are measured alone like others: a sum of two is clearer than its parts, and to leave it out raised the
    error of two tables by 5 and 6 % (docs/schema.md).
    """
    return {name for name, others in told(run).items() if not others}


def without_told(run: Run, cliques: Sequence[Clique]) -> Sequence[Clique]:
    """Leave out the marginals that a smaller one tells all of, unless all do."""
    known = told(run)
    if not known:
        return cliques
    return [r for r in cliques if not any(a in known and known[a] <= {*r} for a in r)] or cliques


def free(run: Run) -> int:
    """Return how many attributes nothing tells; one at least."""
    return max(1, len(run.domain) - len(told(run)))
