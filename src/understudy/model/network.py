"""The structure of a graphical model: its tables side by side in one flat vector, and the plan that contracts them.

Public numbers only. Says what is to be worked out; an engine (``understudy.model.engine``) does it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique, Domain, Zeros
from understudy.errors import SchemaError
from understudy.model.contraction import Plan, Scope, plan
from understudy.model.tree import JunctionTree, junction_tree

Flat = NDArray[np.float64]
"""A number for each cell of all tables of a network, or for each answer of a fit."""


class Network:
    """The tables of a model, and the plan that contracts them.

    ``cliques`` are the maximal ones of those given (the zeros' among them), with an attribute that no clique mentions as a
    clique of its own. Table i lies at ``starts[i]`` in the flat vector, ``lengths[i]`` cells long, in C order.
    """

    def __init__(self, domain: Domain, cliques: Sequence[Clique], zeros: Sequence[Zeros] = ()) -> None:
        if not len(domain):
            raise SchemaError("A model needs at least one attribute; the schema declares none.")
        self.domain = domain
        self.cliques = _cover(domain, [*cliques, *(zero.clique for zero in zeros)])
        self.scopes: list[Scope] = [tuple(domain.index(a) for a in clique) for clique in self.cliques]
        self.shapes = [domain.shape(clique) for clique in self.cliques]
        self.lengths: NDArray[np.int64] = np.array([prod(shape) for shape in self.shapes], dtype=np.int64)
        self.starts: NDArray[np.int64] = np.cumsum(self.lengths) - self.lengths
        self.cells = int(self.lengths.sum())
        allowed = self._allowed(zeros)
        self.allowed: NDArray[np.bool_] | None = None if allowed.all() else allowed
        """Which cells of the flat vector no structural zero forbids; None where none is forbidden."""
        self.floor: Flat = np.where(allowed, 0.0, -np.inf)
        """The log-potentials of nothing but the zeros: 0, and minus infinity in forbidden cells."""

    @cached_property
    def tree(self) -> JunctionTree:
        """The junction tree of the tables; made when it is asked for, since a model of regions has no use for it."""
        return junction_tree(self.domain, self.cliques)

    @cached_property
    def plan(self) -> Plan:
        """How the tables are contracted; made when it is asked for."""
        return plan(self.domain.sizes, self.scopes, [self.domain.index(a) for a in self.tree.order])

    def add(self, flat: Flat, clique: Clique, table: NDArray[np.float64], *, everywhere: bool = False) -> None:
        """Add a table over ``clique`` (in domain order) to the first of the network's tables that holds it, or to all."""
        for leaf, start, length in zip(self.cliques, self.starts, self.lengths, strict=True):
            if set(clique) <= set(leaf):
                shape = [self.domain[a] if a in clique else 1 for a in leaf]
                flat[start : start + length] += np.broadcast_to(table.reshape(shape), self.domain.shape(leaf)).ravel()
                if not everywhere:
                    return

    def _allowed(self, zeros: Sequence[Zeros]) -> NDArray[np.bool_]:
        flat = np.zeros(self.cells)
        for zero in zeros:
            self.add(flat, zero.clique, zero.table(self.domain).astype(np.float64), everywhere=True)
        return np.asarray(flat == 0.0)


def _cover(domain: Domain, cliques: Sequence[Clique]) -> tuple[Clique, ...]:
    """Return the maximal cliques, and a clique of its own for each attribute that none mentions."""
    found: list[frozenset[str]] = []
    for clique in sorted({frozenset(clique) for clique in cliques}, key=len, reverse=True):
        if not any(clique <= other for other in found):
            found.append(clique)
    mentioned = frozenset().union(*found)
    found += [frozenset([a]) for a in domain if a not in mentioned]
    return tuple(sorted(domain.clique(clique) for clique in found if clique))
