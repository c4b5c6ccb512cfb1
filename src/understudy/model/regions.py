"""A model of regions: marginals that agree wherever they overlap, and need not come from one table. Public numbers only.

It is what AP-PGM makes (McKenna, Pradhan, Sheldon and Miklau, 2021) where the junction tree of all that was measured would
be too large. A marginal inside a region is read off. For all else there is the *core*, a graphical model of as many
regions as one small junction tree holds, the most dependent ones:

- Another marginal is that of the core, changed as little as can be (in divergence, by iterative proportional fitting) until
  it agrees with every region on the attributes that they share.
- Records are drawn from the core, then changed one value at a time until their counts come near to the regions'
  (``understudy.model.refinement``).

If one tree holds all regions, the core is the exact model, and all of this changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique, Domain, Zeros
from understudy.errors import UserError
from understudy.model.engine import Precision
from understudy.model.estimation import fit
from understudy.model.evidence import evidence
from understudy.model.generation import Method
from understudy.model.graphical import GraphicalModel
from understudy.model.kept import Kept
from understudy.model.model import Model, impossible
from understudy.model.observation import Observation
from understudy.model.refinement import refine
from understudy.model.solvers import Dual
from understudy.model.threads import one_thread
from understudy.model.tree import CELL_BYTES, tree_size

Table = NDArray[np.float64]

CORE = 1 << 20
"""Bytes of the core's junction tree, unless the structural zeros need more."""
MOST_TRIED = 500
"""Regions that are tried for the core, the most dependent first."""
MASS, DEVIATION = 1e6, 30.0
"""The core is fitted to regions of this mass, as if each cell had so much noise: next to none."""
SWEEPS, AGREED = 40, 1e-4
"""How often a marginal is fitted to the regions that it meets, at most; and when it agrees, as a share of the mass."""
MOST_JOINED = 1 << 18
"""Cells of a region together with given attributes, at most; else the core alone says what is given."""
LEAST = 1e-200
"""A share of the mass that is next to none: divided by one that is smaller, a number may be too large to be one."""


@dataclass(frozen=True, eq=False)
class RegionModel(Model):
    """Marginals on ``tables``' cliques, none inside another, each summing to ``total``; 0 on ``zeros``."""

    domain: Domain
    tables: Mapping[Clique, Table]
    total: float
    zeros: tuple[Zeros, ...] = ()
    _kept: Kept = field(default_factory=Kept, init=False, repr=False)

    @property
    def cliques(self) -> tuple[Clique, ...]:
        """The regions."""
        return tuple(self.tables)

    @property
    def size(self) -> int:
        """Bytes of the regions' tables."""
        return regions_size(self.domain, self.tables)

    def told(self) -> Iterator[bytes]:
        """Yield each region with its table."""
        for clique, table in self.tables.items():
            yield b"region" + json.dumps(clique).encode() + table.tobytes()

    def marginals(self, cliques: Sequence[Clique], *, precision: Precision = "double") -> list[Table]:
        """Return the marginals: read off a region, or the core's made to agree with the regions that it meets."""
        if precision == "double":
            return self._kept.answer(cliques, self._answer)
        return self._answer(cliques, precision)

    def _answer(self, cliques: Sequence[Clique], precision: Precision = "double") -> list[Table]:
        inside = {c: self._part(c) for c in cliques if not c or c in self._homes}
        outside = [c for c in dict.fromkeys(cliques) if c not in inside]
        with one_thread():
            first = self.core.marginals(outside, precision=precision) if outside else []
            inside |= {c: self._agreeing(c, table) for c, table in zip(outside, first, strict=True)}
        return [inside[c] for c in cliques]

    def _part(self, clique: Clique) -> Table:
        """Return a marginal that lies inside a region."""
        if not clique:
            return np.array(self.total)
        home = self._homes[clique]
        return np.asarray(self.tables[home].sum(axis=tuple(i for i, a in enumerate(home) if a not in clique)))

    def _agreeing(self, clique: Clique, first: Table) -> Table:
        """Return ``first``, scaled until it agrees with each region on what the region has of ``clique``."""
        met = [(tuple(i for i, a in enumerate(clique) if a not in part), self._part(part)) for part in self._meeting(clique)]
        found = np.array(first, dtype=np.float64)
        for _ in range(SWEEPS):
            apart = 0.0
            for axes, wanted in met:
                now = found.sum(axis=axes)
                apart = max(apart, float(np.abs(now - wanted).sum()))
                ratio = np.divide(wanted, now, out=np.zeros_like(now), where=now > LEAST * self.total)
                found *= np.expand_dims(ratio, axes)
            if apart <= AGREED * self.total or len(met) == 1:
                break
        mass = float(found.sum())
        return found * (self.total / mass) if mass > 0 else np.asarray(first, dtype=np.float64)

    def _meeting(self, clique: Clique) -> list[Clique]:
        """Return the largest parts of ``clique`` that lie inside a region."""
        found: list[Clique] = []
        for size in range(min(len(clique) - 1, max(map(len, self.tables), default=0)), 0, -1):
            for part in combinations(clique, size):
                if part in self._homes and not any(set(part) <= set(other) for other in found):
                    found.append(part)
        return found

    @cached_property
    def _homes(self) -> dict[Clique, Clique]:
        """For each set of attributes that lies inside a region, the smallest such region."""
        found: dict[Clique, Clique] = {}
        for region in sorted(self.tables, key=self.domain.cells):
            for size in range(1, len(region) + 1):
                for part in combinations(region, size):
                    found.setdefault(part, region)
        return found

    @cached_property
    def core(self) -> GraphicalModel:
        """A graphical model of the most dependent regions that one junction tree holds."""
        chosen = [*self._most_dependent(), *((a,) for a in self.domain if (a,) in self._homes)]
        scale = MASS / self.total if self.total > 0 else 0.0
        observations = [Observation(c, self._part(c) * scale, DEVIATION) for c in chosen]
        even = [Observation((a,), np.full(n, MASS / n), DEVIATION) for a, n in self._unknown]
        solver = Dual(tolerance=1e-2)
        found = fit(self.domain, [*observations, *even], zeros=self.zeros, total=MASS, solver=solver, max_iterations=300)
        return replace(found.model, total=self.total)

    @property
    def _unknown(self) -> list[tuple[str, int]]:
        return [(a, n) for a, n in zip(self.domain, self.domain.sizes, strict=True) if (a,) not in self._homes]

    def _most_dependent(self) -> list[Clique]:
        """Return regions for the core: first those that tie together what nothing has yet, then as many as fit."""
        must = [zero.clique for zero in self.zeros]
        limit = max(CORE, tree_size(self.domain, must)) if must else CORE
        order = sorted((c for c in self.tables if len(c) > 1), key=lambda c: (-information(self.tables[c]), c))[:MOST_TRIED]
        group = {a: a for a in self.domain}
        found: list[Clique] = []
        for tying in (True, False):
            for clique in order:
                ties = len({group[a] for a in clique}) == len(clique)
                if ties is tying and clique not in found and tree_size(self.domain, [*must, *found, clique]) <= limit:
                    found.append(clique)
                    joined = {group[a] for a in clique}
                    group = {a: clique[0] if g in joined else g for a, g in group.items()}
        return found

    def keep_answers(self, cells: int) -> None:
        """Keep the next marginals in double precision, so many cells at most."""
        self._kept.room = cells

    def forget_answers(self) -> None:
        """Let go of them again."""
        self._kept.forget()

    def given(self, fixed: Mapping[str, int]) -> RegionModel:
        """Return the model of the records with these codes: what this one says of each region together with them."""
        zeros = (*self.zeros, *evidence(self.domain, fixed))
        held = self.domain.clique(fixed)
        least = LEAST * self.total
        mass = max(float(self.marginals([held])[0][tuple(fixed[a] for a in held)]), least)
        if mass <= 0:
            raise impossible(fixed)
        wide = {r: self.domain.clique((*r, *held)) for r in self.tables}
        small = [c for c in dict.fromkeys(wide.values()) if self.domain.cells(c) <= MOST_JOINED]
        joint = dict(zip(small, self.marginals(small), strict=True))
        tables = {r: _held(joint[c], c, r, fixed) if c in joint else None for r, c in wide.items()}
        missing = [r for r, table in tables.items() if table is None or table.sum() <= least]
        if missing:
            core = replace(self.core.given(fixed), total=mass)
            tables |= dict(zip(missing, core.marginals(missing), strict=True))
        scaled = {r: table * (mass / table.sum()) for r, table in tables.items() if table is not None}
        return RegionModel(self.domain, scaled, mass, zeros)

    def generate(
        self,
        rows: int,
        rng: np.random.Generator,
        given: Mapping[str, int] | None = None,
        method: Method = "round",
        near: Mapping[Clique, float] | None = None,
    ) -> NDArray[np.int32]:
        """Return records of the core, changed to come near to the regions, or to ``near`` where that is given.

        ``"sample"`` draws rows of the core independently, and leaves them as they are.
        """
        if method not in ("round", "sample"):
            raise UserError(f'There is no method "{method}"; use "round" or "sample".')
        model = self.given(given) if given else self
        codes = model.core.generate(rows, rng, method=method)
        if method == "round":
            with one_thread():
                refine(model, codes, near or dict.fromkeys(model.tables, 1.0), rng)
        return codes

    def __repr__(self) -> str:
        return f"RegionModel({len(self.domain)} attributes, {len(self.tables)} regions, total {self.total:.0f})"


def regions_size(domain: Domain, cliques: Sequence[Clique] | Mapping[Clique, Table]) -> int:
    """Return the bytes of regions on ``cliques``."""
    return CELL_BYTES * sum(map(domain.cells, cliques))


def information(table: Table) -> float:
    """Return how far a marginal is from independence: the divergence from the product of its columns."""
    mass = float(table.sum())
    if mass <= 0:
        return 0.0
    shares, product = table / mass, np.ones((1,) * table.ndim)
    for axis in range(table.ndim):
        product = product * shares.sum(axis=tuple(i for i in range(table.ndim) if i != axis), keepdims=True)
    some = (shares > 0) & (product > 0)
    return float(np.sum(shares[some] * np.log(shares[some] / product[some])))


def _held(joint: Table, wide: Clique, region: Clique, fixed: Mapping[str, int]) -> Table:
    """Return the part of ``joint`` (over ``wide``) with the fixed codes, as a table over ``region`` that is 0 elsewhere."""
    there = tuple(fixed[a] if a in fixed else slice(None) for a in wide)
    sizes = dict(zip(wide, joint.shape, strict=True))
    found = np.zeros([sizes[a] for a in region])
    found[tuple(fixed[a] if a in fixed else slice(None) for a in region)] = joint[there]
    return found
