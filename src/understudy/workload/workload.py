"""Workloads: the weighted marginals that a synthetic table should preserve, their closure, and how much each
matters.

Public: a workload is chosen from the schema, never from the table.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from math import comb, fsum, inf, isfinite
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique, Combinations, Domain
from understudy.errors import WorkloadError, did_you_mean
from understudy.privacy import Product
from understudy.workload.asking import Asked, Axis, Listed, Values, described, listed, norm, query_of
from understudy.workload.rules import Ruled, Same

MAX_QUERIES = 10**9
"""More marginals than this are refused: it is a slip of k."""
MAX_DRAWN_FROM = 2_000_000
"""A skewed workload lists what it is drawn from, and that must fit in memory."""

Query = tuple[Iterable[str], float] | Sequence[str] | Mapping[str, object]
"""The attributes of a marginal, and its weight if it is not 1; or these by name, with what is asked of the marginal."""

_NAMED = re.compile(r"all-(\d+)way|target:(.+)|skewed(?::(\d+))?")


@dataclass(frozen=True)
class Workload:
    """Distinct marginals (``cliques``) with weights c > 0 (``query_weights``). Make one with a class method.

    ``queries`` is k of the paper's Definition "Workload Error": how many queries were listed, repeats and
    weights of zero included. Listing a query twice is listing it once at twice the weight for every mechanism
    and bound; it differs only in k, the number that an error is averaged over, because the definition says
    so.

    A named workload is a rule: its marginals are worked out when they are asked for, and never listed.
    """

    domain: Domain
    cliques: Sequence[Clique]
    query_weights: Sequence[float]
    queries: int
    asked: Mapping[Clique, Asked] = field(default_factory=dict)
    """Of those of ``cliques`` that are asked for more than their cells: the maps of their attributes."""

    @classmethod
    def of(cls, domain: Domain, queries: Iterable[Query], values: Values | None = None) -> Workload:
        """Make a workload from ``[(attributes, weight), ...]``, or lists of attributes, of weight 1 each; or from
        mappings, as in a file: ``{"attributes": ["income", "region"], "prefixes": "income"}``.

        Repeats add up, zero weight asks nothing. Totals need ``values``: what each value of an attribute counts as.
        """
        if not isinstance(queries, Iterable) or isinstance(queries, str | Mapping):
            raise WorkloadError(f"A workload is a list of queries, or the name of one such as all-2way, not {queries!r}.")
        entries = [_entry(domain, query, values) for query in queries]
        found = [(_clique(domain, one.attributes), _weight(one.weight), one.asked) for one in entries]
        if not found:
            raise WorkloadError("The workload is empty: list at least one set of attributes.")
        weights: dict[Clique, list[float]] = {}
        asked: dict[Clique, Asked] = {}
        for clique, weight, how in found:
            if weight > 0:
                weights.setdefault(clique, []).append(weight)
                _require_one_way(clique, asked.setdefault(clique, how), how)
        if not weights:
            raise WorkloadError("Every weight in the workload is zero: give at least one query a weight above 0.")
        costs = tuple(_sum(each) for each in weights.values())
        made = cls(domain, tuple(weights), costs, len(found), {clique: how for clique, how in asked.items() if how})
        _ = made.queried, _sum([c for r, c in zip(weights, costs, strict=True) for _ in r])  # refused here, if at all
        return made

    @classmethod
    def all_kway(cls, domain: Domain, k: int) -> Workload:
        """Make the workload of all k-way marginals; with fewer than k attributes, of the full table."""
        return cls._ruled(domain, _degree(k, len(domain)), None)

    @classmethod
    def target(cls, domain: Domain, attribute: str, k: int = 3) -> Workload:
        """Make the workload of all k-way marginals that contain ``attribute``."""
        domain.index(attribute)
        return cls._ruled(domain, _degree(k, len(domain)), attribute)

    @classmethod
    def _ruled(cls, domain: Domain, size: int, held: str | None) -> Workload:
        _refuse_too_many(comb(len(domain) - (held is not None), size - (held is not None)), MAX_QUERIES)
        cliques = Combinations(domain, ((size, held),))
        return cls(domain, cliques, Same(1.0, len(cliques)), len(cliques))

    def on(self, domain: Domain) -> Workload:
        """Return the same marginals of a domain with the same attributes, some of which have other values now."""
        moved = [name for asked in self.asked.values() for name in asked if domain[name] != self.domain[name]]
        if domain.attributes != self.domain.attributes or moved:
            raise WorkloadError("A workload asks for sums of an attribute whose values have changed: make it anew.")
        if isinstance(self.cliques, Combinations):
            return replace(self, domain=domain, cliques=Combinations(domain, self.cliques.layers))
        return replace(self, domain=domain)

    @classmethod
    def skewed(cls, domain: Domain, seed: int = 0, n: int = 256, k: int = 3) -> Workload:
        """Draw ``n`` k-way marginals, with repeats, in proportion to the product of squared-exponential
        weights.

        The paper's third workload. The seed is public and fixed: the same domain size gives the same
        workload.
        """
        if n < 1:
            raise WorkloadError(f"A skewed workload needs at least one query, not {n}.")
        size = _degree(k, len(domain))
        _refuse_too_many(comb(len(domain), size), MAX_DRAWN_FROM)
        rng = np.random.default_rng(seed)
        popularity = rng.exponential(size=len(domain)) ** 2
        groups = np.array(list(combinations(range(len(domain)), size)))
        chance = popularity[groups].prod(axis=1)
        drawn = rng.choice(len(groups), size=n, p=chance / chance.sum())
        return cls.of(domain, [([domain.attributes[i] for i in groups[j]], 1.0) for j in drawn])

    @classmethod
    def parse(cls, text: str, domain: Domain, values: Values | None = None) -> Workload:
        """Read ``all-3way``, ``target:COLUMN``, ``skewed``, ``skewed:SEED``, or a TOML or JSON file."""
        found = _NAMED.fullmatch(text)
        if found is None:
            return cls.load(text, domain, values)
        degree, attribute, seed = found.groups()
        if degree is not None:
            return cls.all_kway(domain, int(degree))
        return cls.target(domain, attribute) if attribute is not None else cls.skewed(domain, int(seed or 0))

    @classmethod
    def load(cls, path: str | Path, domain: Domain, values: Values | None = None) -> Workload:
        """Read a file of queries: ``[[query]]`` tables in TOML, or a list in JSON; attributes and weight each, and the sums
        that are asked for.
        """
        file = Path(path)
        if not file.is_file():
            hint = did_you_mean(str(path), ("all-2way", "all-3way", "skewed"))
            raise WorkloadError(f'"{path}" is no workload (all-3way, all-2way, target:COLUMN, skewed) and no file.{hint}')
        try:
            text = file.read_text(encoding="utf-8")
            data = json.loads(text) if file.suffix == ".json" else tomllib.loads(text)
        except (OSError, UnicodeDecodeError, json.JSONDecodeError, tomllib.TOMLDecodeError) as error:
            raise WorkloadError(f'The workload "{path}" cannot be read: {error}.') from None
        return cls.of(domain, [_query(entry) for entry in _queries(data)], values)

    def query(self, clique: Clique) -> Product | None:
        """Return what is asked of one of ``cliques``; None where it is its cells."""
        asked = self.asked.get(clique, {})
        return query_of(self.domain, clique, {a: (axis,) for a, axis in asked.items()})

    @cached_property
    def queried(self) -> Mapping[Clique, Product]:
        """For each r of the closure of which more is asked than its cells: of each attribute, all that a query asks of it
        that r is part of.
        """
        if not self.asked:
            return {}
        found: dict[Clique, dict[str, list[Axis | None]]] = {}
        for clique in self.cliques:
            asked = self.asked.get(clique, {})
            for size in range(1, len(clique) + 1):
                for r in combinations(clique, size):
                    maps = found.setdefault(r, {a: [] for a in r})
                    for a in r:
                        maps[a].append(asked.get(a))
        queries = ((r, query_of(self.domain, r, maps)) for r, maps in found.items())
        return {r: query for r, query in queries if query is not None}

    def errors(self, clique: Clique, gap: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how far off each answer about one of ``cliques`` is when its cells are off by ``gap``.

        Divided by how many answers one record counts in at most, so that an error means the same for cells and for sums.
        """
        query = self.query(clique)
        return gap if query is None else query.forward(gap) / norm(query)

    @cached_property
    def closure(self) -> Sequence[Clique]:
        """W_+ of the paper: every non-empty subset of a query, smallest first, then in the domain's order."""
        if isinstance(self.cliques, Combinations):
            ((size, held),) = self.cliques.layers
            return Combinations(self.domain, (*((k, None) for k in range(1, size)), (size, held)))
        position = {attribute: i for i, attribute in enumerate(self.domain)}
        subsets = {
            subset for clique in self.cliques for size in range(1, len(clique) + 1) for subset in combinations(clique, size)
        }
        return tuple(sorted(subsets, key=lambda r: (len(r), [position[a] for a in r])))

    def closure_of(self, size: int) -> Sequence[Clique]:
        """Return the marginals of W_+ that have ``size`` attributes."""
        found = self.closure
        return found.of_size(size) if isinstance(found, Combinations) else tuple(r for r in found if len(r) == size)

    @cached_property
    def cells(self) -> int:
        """The cells of all of W_+ together."""
        return self.closure.cells if isinstance(self.closure, Combinations) else sum(map(self.domain.cells, self.closure))

    @cached_property
    def attributes(self) -> tuple[str, ...]:
        """The attributes that some query names, in the domain's order."""
        return tuple(a for (a,) in self.closure_of(1))

    @cached_property
    def weights(self) -> Mapping[Clique, float]:
        """w_r = Σ_s c_s |r ∩ s| for each r of the closure.

        The sum over queries may be taken attribute by attribute: w_r = Σ_{a ∈ r} Σ_{s ∋ a} c_s.
        """
        if isinstance(self.cliques, Combinations):
            held = {a: float(self.cliques.holding(a)) for a in self.attributes}
            return Ruled(self.closure, lambda r: _sum([held[a] for a in r]))
        found: dict[str, list[float]] = {a: [] for a in self.attributes}
        for clique, cost in zip(self.cliques, self.query_weights, strict=True):
            for attribute in clique:
                found[attribute].append(cost)
        share = {attribute: _sum(costs) for attribute, costs in found.items()}
        return {r: _sum([share[a] for a in r]) for r in self.closure}

    @cached_property
    def importance(self) -> Mapping[Clique, float]:
        """For each r of the closure, the largest c_s of a query that r is part of: how much a table should care for it."""
        if isinstance(self.cliques, Combinations):
            return Ruled(self.closure, lambda r: 1.0)
        found: dict[Clique, float] = {}
        for clique, cost in zip(self.cliques, self.query_weights, strict=True):
            for size in range(1, len(clique) + 1):
                for r in combinations(clique, size):
                    found[r] = max(cost, found.get(r, 0.0))
        return {r: found[r] for r in self.closure}

    @cached_property
    def held(self) -> Mapping[Clique, float]:
        """For each r of the closure, Σ c_s of the queries s that r is part of: what a unit of error in r adds to theirs."""
        if isinstance(self.cliques, Combinations):
            holding = self.cliques.holding
            return Ruled(self.closure, lambda r: float(holding(*r)))
        found: dict[Clique, list[float]] = {}
        for clique, cost in zip(self.cliques, self.query_weights, strict=True):
            for size in range(1, len(clique) + 1):
                for r in combinations(clique, size):
                    found.setdefault(r, []).append(cost)
        return {r: _sum(found[r]) for r in self.closure}

    @property
    def shares(self) -> Sequence[float]:
        """c_i / k for each clique: what a unit of its error adds to the workload error."""
        if isinstance(self.query_weights, Same):
            return Same(self.query_weights.value / self.queries, len(self.query_weights))
        return tuple(c / self.queries for c in self.query_weights)

    @property
    def told(self) -> list[object]:
        """All that makes it this workload and no other, as plain data: its rule, or the list of its queries."""
        if isinstance(self.cliques, Combinations):
            return ["rule", self.domain.attributes, self.cliques.layers]
        asked = [[r, sorted((a, m.kind, m.stored.hex()) for a, m in how.items())] for r, how in self.asked.items()]
        return [self.cliques, self.query_weights, *([asked] if asked else [])]

    def describe(self) -> list[dict[str, object]]:
        """Return the queries as plain data, in the form that ``load`` reads."""
        listed = zip(self.cliques, self.query_weights, strict=True)
        return [{"attributes": list(r), "weight": c, **described(self.asked.get(r, {}))} for r, c in listed]


def _pair(query: tuple[Iterable[str], float] | Sequence[str]) -> tuple[Iterable[str], object]:
    """Return the attributes and the weight of a query; a list of names has weight 1."""
    wrong = isinstance(query, str) or not isinstance(query, Iterable)
    parts = () if wrong else tuple(query)
    if parts and all(isinstance(part, str) for part in parts):
        return cast(tuple[str, ...], parts), 1.0
    if len(parts) != 2 or not isinstance(parts[0], Iterable):
        raise WorkloadError(f"A query is a list of attributes, or a pair of such a list and a weight, not {query!r}.")
    return parts[0], parts[1]


def _clique(domain: Domain, attributes: Iterable[str]) -> Clique:
    if isinstance(attributes, str):
        raise WorkloadError(f'Write a query as a list of attributes: ["{attributes}"], not "{attributes}".')
    clique = domain.clique(attributes)
    if not clique:
        raise WorkloadError("A query names no attribute; list at least one.")
    return clique


def _weight(weight: object) -> float:
    if isinstance(weight, bool) or not isinstance(weight, int | float | np.number):
        raise WorkloadError(f"The weight of a query must be a number, not {weight!r}.")
    try:
        value = float(weight)
    except OverflowError:
        value = inf
    if not isfinite(value) or value < 0:
        raise WorkloadError(f"The weight of a query must be a finite number of at least 0, not {value}.")
    return value


def _sum(values: Sequence[float]) -> float:
    """Add weights without rounding on the way, so that the order of the queries does not matter."""
    try:
        return fsum(values)
    except OverflowError:
        raise WorkloadError("The weights of the workload add up to infinity; scale them down.") from None


def _degree(k: object, attributes: int) -> int:
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise WorkloadError(f"A k-way workload needs a whole k of at least 1, not {k!r}.")
    if attributes == 0:
        raise WorkloadError("The schema has no attributes, so there is no marginal to ask for.")
    return min(k, attributes)


def _refuse_too_many(queries: int, most: int) -> None:
    if queries > most:
        raise WorkloadError(
            f"The workload would have {queries:,} queries, more than {most:,}: choose a smaller k, a target, or a list."
        )


def _queries(data: object) -> list[object]:
    found = data.get("query", data.get("queries")) if isinstance(data, dict) else data
    if not isinstance(found, list):
        raise WorkloadError("A workload file lists its queries under [[query]] (TOML) or as a list (JSON).")
    return found


def _query(entry: object) -> Query:
    if isinstance(entry, list):
        return {"attributes": entry}
    if not isinstance(entry, dict):
        raise WorkloadError(f"A query must be a table with attributes and weight, not {entry!r}.")
    return entry


def _entry(domain: Domain, query: Query, values: Values | None) -> Listed:
    return listed(domain, query, values) if isinstance(query, Mapping) else Listed(*_pair(query), {})


def _require_one_way(clique: Clique, first: Asked, again: Asked) -> None:
    if first != again:
        raise WorkloadError(
            f"The marginal on {', '.join(clique)} is asked for in two ways: list each marginal with one way of asking."
        )
