"""A mixture of products: components in which columns are independent of each other. Public numbers only.

p(x) = Σ_k weights[k] Π_a tables[a][k, x_a]. It is what relaxed projection calls a relaxed table (a component is a row with
probabilities in the place of values), and what a generator network puts out. It has no junction tree, so that no set of
marginals is too much for it; nor can it hold combinations impossible.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique, Domain, Zeros
from understudy.errors import UserError
from understudy.model.engine import Precision
from understudy.model.evidence import evidence
from understudy.model.generation import Method, rounded, sampled, shuffle_inside
from understudy.model.model import Model, impossible
from understudy.model.refinement import refine
from understudy.model.threads import one_thread

Floats = NDArray[np.floating]

AT_ONCE = 1 << 22
"""Numbers of components' products that are held at a time."""


@dataclass(frozen=True, eq=False)
class Mixture(Model):
    """Components with weights that add up to 1, and mass ``total``."""

    domain: Domain
    tables: tuple[NDArray[np.float64], ...]
    """For each attribute its probabilities, components × codes."""
    weights: NDArray[np.float64]
    total: float
    zeros: tuple[Zeros, ...] = ()
    """Codes that no record has, where some are given."""
    state: tuple[NDArray[np.float32], ...] = field(default=(), repr=False)
    """What the next fit goes on from, where that is more than the tables. Not part of what is saved."""

    @property
    def cliques(self) -> tuple[Clique, ...]:
        """None: each column may depend on each other, through the components."""
        return ()

    @property
    def size(self) -> int:
        """Bytes of the components."""
        return mixture_size(self.domain, self.weights.size)

    def told(self) -> Iterator[bytes]:
        """Yield the weights, then each attribute's probabilities."""
        yield b"mixture" + self.weights.tobytes()
        for table in self.tables:
            yield table.tobytes()

    def marginals(self, cliques: Sequence[Clique], *, precision: Precision = "double") -> list[NDArray[np.float64]]:
        """Return the marginals; those that differ in their last attribute only are worked out together."""
        kind = np.dtype(np.float64 if precision == "double" else np.float32)
        tables = [table.astype(kind) for table in self.tables]
        places = [tuple(self.domain.index(a) for a in clique) for clique in cliques]
        found: dict[int, NDArray[np.float64]] = {}
        with one_thread():
            order = sorted(range(len(places)), key=lambda i: places[i][:-1])
            for first, group in groupby(order, key=lambda i: places[i][:-1]):
                some = list(group)
                lasts = [tables[places[i][-1]] if places[i] else np.ones((self.weights.size, 1), kind) for i in some]
                cells = self._together([tables[a] for a in first], np.hstack(lasts))
                cuts = np.cumsum([last.shape[1] for last in lasts])[:-1]
                for i, part in zip(some, np.hsplit(cells, cuts), strict=True):
                    found[i] = part.reshape(self.domain.shape(cliques[i]))
        return [found[i] for i in range(len(places))]

    def _together(self, first: Sequence[Floats], last: Floats) -> NDArray[np.float64]:
        """Return Σ_k total w_k (product of ``first``)_k ⊗ last_k, some components at a time."""
        cells = int(np.prod([table.shape[1] for table in first], dtype=np.int64))
        found = np.zeros((cells, last.shape[1]), np.float64)
        step = max(1, AT_ONCE // cells)
        mass = (self.total * self.weights).astype(last.dtype)
        for start in range(0, mass.size, step):
            some = slice(start, start + step)
            found += product([mass[some, None], *(table[some] for table in first)]).T @ last[some]
        return found

    def given(self, fixed: Mapping[str, int]) -> Mixture:
        """Return the mixture of the records with these codes: each component weighs what it gives them."""
        zeros = (*self.zeros, *evidence(self.domain, fixed))
        weights, tables = self.weights.copy(), list(self.tables)
        for attribute, code in fixed.items():
            at = self.domain.index(attribute)
            weights *= tables[at][:, code]
            tables[at] = np.broadcast_to(np.eye(self.domain[attribute])[code], tables[at].shape).copy()
        share = float(weights.sum())
        if share <= 0:
            raise impossible(fixed)
        return replace(self, tables=tuple(tables), weights=weights / share, total=self.total * share, zeros=zeros, state=())

    def generate(
        self,
        rows: int,
        rng: np.random.Generator,
        given: Mapping[str, int] | None = None,
        method: Method = "round",
        near: Mapping[Clique, float] | None = None,
    ) -> NDArray[np.int32]:
        """Return records; ``"round"`` keeps the rows of a component, and its counts of each code, within 1 of the mean."""
        if method not in ("round", "sample"):
            raise UserError(f'There is no method "{method}"; use "round" or "sample".')
        if rows < 0:
            raise UserError(f"{rows} rows cannot be generated; ask for 0 or more.")
        model = self.given(given) if given else self
        with one_thread():
            codes = model._drawn(rows, rng, method)
            if near:
                refine(model, codes, near, rng)
            return codes

    def _drawn(self, rows: int, rng: np.random.Generator, method: Method) -> NDArray[np.int32]:
        draw = rounded if method == "round" else sampled
        component = draw(np.cumsum(self.weights)[None], np.array([rows]), rng)
        sizes = np.bincount(component, minlength=self.weights.size)
        used = np.flatnonzero(sizes)
        starts = np.concatenate([[0], np.cumsum(sizes[used])])
        out, order = np.empty((rows, len(self.tables)), np.int32, order="F"), rng.permutation(rows)
        for column, table in enumerate(self.tables):
            values = draw(np.cumsum(table[used], axis=1), sizes[used], rng)
            if method == "round":
                shuffle_inside(values, starts, rng)
            out[order, column] = values
        return out

    def __repr__(self) -> str:
        return f"Mixture({len(self.domain)} attributes, {self.weights.size} components, total {self.total:.0f})"


def mixture_size(domain: Domain, components: int) -> int:
    """Return the bytes of so many components: a weight and a probability for each code."""
    return 8 * components * (1 + sum(domain.sizes))


def product(tables: Sequence[Floats]) -> Floats:
    """Return the product of independent columns in each component: components × cells, the last column's codes fastest."""
    found = tables[0]
    for table in tables[1:]:
        found = (found[:, :, None] * table[:, None, :]).reshape(len(table), -1)
    return found
