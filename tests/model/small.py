"""Random small models, and the answers that multiplying everything out gives."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import prod

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from understudy.domain import Clique, Domain, Zeros
from understudy.model import GraphicalModel

LARGEST = 20_000
"""Cells of the largest domain that is multiplied out."""


@st.composite
def domains(draw: st.DrawFn, attributes: int = 6) -> Domain:
    sizes = draw(st.lists(st.integers(1, 6), min_size=1, max_size=attributes))
    while prod(sizes) > LARGEST:
        sizes.pop()
    return Domain(tuple("abcdefgh"[: len(sizes)]), tuple(sizes))


@st.composite
def clique_sets(draw: st.DrawFn, domain: Domain) -> list[Clique]:
    """Draw any cliques: overlapping, nested, disconnected, or none at all."""
    subsets = st.lists(st.sampled_from(domain.attributes), min_size=1, max_size=4)
    drawn = draw(st.lists(subsets, max_size=6))
    return list(dict.fromkeys(domain.clique(names) for names in drawn))


@st.composite
def models(draw: st.DrawFn, attributes: int = 6, magnitude: float = 1e3) -> GraphicalModel:
    domain = draw(domains(attributes))
    cliques = draw(clique_sets(domain))
    scale = draw(st.sampled_from([0.0, 1.0, 30.0, magnitude]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    parameters = {clique: scale * rng.uniform(-1, 1, domain.shape(clique)) for clique in cliques}
    zeros = random_zeros(domain, draw(clique_sets(domain)), rng) if draw(st.booleans()) else ()
    return GraphicalModel(domain, parameters, float(rng.uniform(1, 1e5)), zeros)


def random_zeros(domain: Domain, cliques: Sequence[Clique], rng: np.random.Generator) -> tuple[Zeros, ...]:
    """Forbid about half of the combinations of each clique, but never one particular record."""
    witness = {a: int(rng.integers(domain[a])) for a in domain}
    zeros = []
    for clique in cliques:
        forbidden = rng.random(domain.shape(clique)) < rng.uniform(0, 0.8)
        forbidden[tuple(witness[a] for a in clique)] = False
        zeros.append(Zeros(clique, np.argwhere(forbidden)))
    return tuple(zeros)


def subsets(domain: Domain, largest: int = 3) -> list[Clique]:
    """Return all sets of up to ``largest`` attributes, and the set of all where that many do not exist."""
    return [c for k in range(1, largest + 1) for c in combinations(domain.attributes, k)]


class BruteForce:
    """The whole joint table, in logarithms."""

    def __init__(self, model: GraphicalModel) -> None:
        self.domain, self.total = model.domain, model.total
        self.joint = np.zeros(model.domain.sizes)
        for clique, table in model.parameters.items():
            self.joint = self.joint + self._spread(clique, table)
        for zero in model.zeros:
            mask = np.zeros(model.domain.shape(zero.clique))
            mask[tuple(np.asarray(zero.cells).reshape(-1, len(zero.clique)).T)] = -np.inf
            self.joint = self.joint + self._spread(zero.clique, mask)
        self.log_z = float(_log_sum(self.joint.reshape(1, -1))[0])

    def _spread(self, clique: Clique, table: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.reshape(table, [self.domain[a] if a in clique else 1 for a in self.domain])

    def log_marginal(self, clique: Clique) -> NDArray[np.float64]:
        """Return the logarithms of the marginal's probabilities."""
        first = [self.domain.index(a) for a in clique]
        rest = [i for i in range(len(self.domain)) if i not in first]
        cells = self.domain.cells(clique)
        logs = _log_sum(self.joint.transpose(first + rest).reshape(cells, -1)) - self.log_z
        return logs.reshape(self.domain.shape(clique))

    def marginal(self, clique: Clique) -> NDArray[np.float64]:
        return self.total * np.exp(self.log_marginal(clique))


def _log_sum(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    top = rows.max(axis=1)
    safe = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.exp(rows - safe[:, None]).sum(axis=1)) + safe)


def counts(domain: Domain, records: NDArray[np.int32], clique: Clique) -> NDArray[np.int64]:
    """Count records by the values of ``clique``."""
    codes = np.zeros(records.shape[0], dtype=np.int64)
    for a in clique:
        codes = codes * domain[a] + records[:, domain.index(a)]
    return np.bincount(codes, minlength=domain.cells(clique)).reshape(domain.shape(clique))
