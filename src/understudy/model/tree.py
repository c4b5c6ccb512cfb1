"""Junction trees: which tables a set of cliques forces a model to hold, and how large they are. Public numbers only.

A set of attributes is a bit mask here (bit i is the domain's i-th attribute), so that trying one more clique costs
microseconds: AIM asks what the tree would weigh with each of hundreds of candidates, every round.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from heapq import heapify, heappop, heappush

from understudy.domain import Clique, Domain

CELL_BYTES = 8
SIZED = 3_000
"""More candidates than this are not sized one by one …"""
SIZING = 50 * SIZED
"""… and fewer, where more than 50 attributes hang together: so many attributes are looked at for all of them."""


@dataclass(frozen=True)
class JunctionTree:
    """Maximal cliques of a triangulated model, joined so that each attribute's cliques are connected.

    ``parents[i]`` is the clique that clique i hangs from (-1 for the root of a component); parents come before children.
    ``order`` eliminates the attributes without ever making a table larger than the tree's own cliques.
    """

    domain: Domain
    cliques: tuple[Clique, ...]
    parents: tuple[int, ...]
    order: tuple[str, ...]

    @cached_property
    def cells(self) -> int:
        """Total cells of the maximal cliques."""
        return sum(self.domain.cells(clique) for clique in self.cliques)

    @property
    def size(self) -> int:
        """JT-SIZE of the paper, in bytes."""
        return CELL_BYTES * self.cells

    def separator(self, i: int) -> Clique:
        """Return what clique ``i`` shares with its parent (nothing for a root)."""
        if self.parents[i] < 0:
            return ()
        above = set(self.cliques[self.parents[i]])
        return tuple(a for a in self.cliques[i] if a in above)


def junction_tree(domain: Domain, cliques: Iterable[Iterable[str]]) -> JunctionTree:
    """Build a junction tree in which every attribute of ``domain`` and each of ``cliques`` has a home."""
    graph = _Graph(domain, cliques)
    order, made = graph.triangulate()
    maximal = _maximal(order, made)
    masks, parents = _join(maximal)
    names = domain.attributes
    return JunctionTree(
        domain,
        tuple(tuple(names[i] for i in bits_of(mask)) for mask in masks),
        tuple(parents),
        tuple(names[i] for i in order),
    )


def tree_size(domain: Domain, cliques: Iterable[Iterable[str]]) -> int:
    """JT-SIZE(cliques): bytes of the maximal cliques of the junction tree, attributes without a clique included."""
    return CELL_BYTES * _Graph(domain, cliques).cells()


def tree_sizes_with(domain: Domain, cliques: Iterable[Iterable[str]], candidates: Sequence[Clique]) -> list[int]:
    """Return JT-SIZE with each of ``candidates`` added alone, sharing the work that they have in common."""
    graph = _remembered(domain, tuple(_Graph(domain, cliques).adjacent))
    return [CELL_BYTES * graph.cells_with(candidate) for candidate in candidates]


def candidates_within(
    domain: Domain, cliques: Iterable[Iterable[str]], candidates: Sequence[Clique], limit: int
) -> list[bool]:
    """Say of each candidate whether it lies inside a clique of the tree, or the tree with it added stays within ``limit``.

    Up to ``SIZED`` candidates are sized exactly (fewer in a large tree). Of more, one that adds so little that even an
    upper bound is below half the limit is taken by its bound; of the others those with the smallest bounds are sized, and
    the rest left out. Half, because a new tree is made by heuristics, and may be larger than the bound.
    """
    graph = _remembered(domain, tuple(_Graph(domain, cliques).adjacent))
    bounds = _Bounds(graph)
    found = [bounds.of(tuple(map(domain.index, candidate))) for candidate in candidates]
    most = min(SIZED, SIZING // max(component.bit_count() for component in graph.components))
    sure = 0 if len(candidates) <= most else limit // (2 * CELL_BYTES)
    unsure = sorted((k for k, bound in enumerate(found) if bound > sure), key=found.__getitem__)
    fits = [bound <= sure for bound in found]
    for k in unsure[:most]:
        fits[k] = found[k] < 0 or CELL_BYTES * graph.cells_with(candidates[k]) <= limit
    return fits


@lru_cache(maxsize=4)
def _remembered(domain: Domain, adjacent: tuple[int, ...]) -> _Graph:
    """Return a graph that may know sizes already: most rounds of AIM add no edge, and ask the same again."""
    graph = _Graph(domain, ())
    graph.adjacent = list(adjacent)
    graph.components = _components(adjacent)
    return graph


class _Graph:
    """Which attributes share a clique: an adjacency mask for each attribute, split into connected components."""

    def __init__(self, domain: Domain, cliques: Iterable[Iterable[str]]) -> None:
        self.domain = domain
        self.adjacent = [0] * len(domain)
        for clique in cliques:
            self._connect(self.adjacent, self._mask(clique))
        self._cells: dict[int, int] = {0: 1}
        self._totals: dict[int, int] = {}
        self._with: dict[int, int] = {}
        self.components = _components(self.adjacent)

    def _mask(self, clique: Iterable[str]) -> int:
        mask = 0
        for attribute in clique:
            mask |= 1 << self.domain.index(attribute)
        return mask

    @staticmethod
    def _connect(adjacent: list[int], mask: int) -> None:
        for i in bits_of(mask):
            adjacent[i] |= mask & ~(1 << i)

    def triangulate(self) -> tuple[list[int], list[int]]:
        """Return an elimination order, and the clique that each elimination makes."""
        order: list[int] = []
        made: list[int] = []
        for component in self.components:
            some_order, some_made = self._eliminate({i: self.adjacent[i] for i in bits_of(component)})
            order += some_order
            made += some_made
        return order, made

    def cells(self) -> int:
        """Return the total cells of the maximal cliques."""
        return sum(self._component_cells(component) for component in self.components)

    def cells_with(self, candidate: Iterable[str]) -> int:
        """Return the total cells if ``candidate`` were a clique too."""
        mask = self._mask(candidate)
        if mask not in self._with:
            self._with[mask] = self._cells_with(mask)
        return self._with[mask]

    def _cells_with(self, mask: int) -> int:
        """Only the components that ``mask`` touches are looked at, and of those only what lies between its attributes.

        An attribute whose neighbours are all joined already can go first, in any order: the rest of the tree is the
        same without it. More edges among its neighbours change nothing about that.
        """
        touched = 0
        rest = 0
        for component in self.components:
            if component & mask:
                touched |= component
            else:
                rest += self._component_cells(component)
        if all(mask & ~(1 << i) & ~self.adjacent[i] == 0 for i in bits_of(mask)):
            return rest + self._component_cells(touched)
        order, made, left = self._peel(touched, mask)
        adjacent = {i: self.adjacent[i] & left for i in bits_of(left)}
        for i in bits_of(mask):
            adjacent[i] |= mask & ~(1 << i)
        last_order, last_made = self._eliminate(adjacent)
        return rest + sum(self._size(clique) for clique in _maximal(order + last_order, made + last_made))

    def _peel(self, component: int, keep: int) -> tuple[list[int], list[int], int]:
        """Eliminate what needs no new edge although ``keep`` stays: the order, the cliques made, and what is left."""
        order: list[int] = []
        made: list[int] = []
        stay, gone = keep, 0
        for i, around in self._simplicial:
            if component >> i & 1:
                if stay >> i & 1 or self.adjacent[i] & ~gone & ~around:
                    stay |= 1 << i
                else:
                    order.append(i)
                    made.append(around | 1 << i)
                    gone |= 1 << i
        return order, made, component & ~gone

    @cached_property
    def _simplicial(self) -> list[tuple[int, int]]:
        """The attributes that can go one after another without a new edge, and what is around each when it goes."""
        found: list[tuple[int, int]] = []
        left = (1 << len(self.domain)) - 1
        waiting = list(range(len(self.domain)))
        while waiting:
            i = waiting.pop()
            around = self.adjacent[i] & left
            if left >> i & 1 and all(around & ~self.adjacent[j] & ~(1 << j) == 0 for j in bits_of(around)):
                found.append((i, around))
                left &= ~(1 << i)
                waiting += bits_of(around)
        return found

    def _component_cells(self, component: int) -> int:
        total = self._totals.get(component)
        if total is None:
            order, made = self._eliminate({i: self.adjacent[i] for i in bits_of(component)})
            total = self._totals[component] = sum(self._size(mask) for mask in _maximal(order, made))
        return total

    def _eliminate(self, neighbours: dict[int, int]) -> tuple[list[int], list[int]]:
        """Eliminate greedily, emptying ``neighbours``: attributes that need no new edge first, then the smallest table.

        Attributes that need no new edge may go in any order without changing the tree; the largest goes first,
        because what is left behind is then smallest.
        """
        costs = {i: self._cost(neighbours, i) for i in neighbours}
        waiting = [(cost, i) for i, cost in costs.items()]
        heapify(waiting)
        order: list[int] = []
        made: list[int] = []
        while neighbours:
            cost, chosen = heappop(waiting)
            if costs.get(chosen) != cost:
                continue  # its cost has changed since, and it waits again elsewhere
            del costs[chosen]
            around = neighbours.pop(chosen)
            order.append(chosen)
            made.append(around | 1 << chosen)
            dirty = around
            for i in bits_of(around):
                grown = (neighbours[i] | around) & ~(1 << i) & ~(1 << chosen)
                if cost[0] and grown & ~neighbours[i]:
                    dirty |= grown
                neighbours[i] = grown
            for i in bits_of(dirty):
                changed = self._cost(neighbours, i)
                if changed != costs[i]:
                    costs[i] = changed
                    heappush(waiting, (changed, i))
        return order, made

    def _cost(self, neighbours: dict[int, int], i: int) -> tuple[bool, int]:
        around = neighbours[i]
        for j in bits_of(around):
            if around & ~neighbours[j] & ~(1 << j):
                return True, self._size(around | 1 << i)
        return False, -self.domain.sizes[i]

    def _size(self, mask: int) -> int:
        cells = self._cells.get(mask)
        if cells is None:
            low = mask & -mask
            cells = self.domain.sizes[low.bit_length() - 1] * self._size(mask & ~low)
            self._cells[mask] = cells
        return cells


class _Bounds:
    """Upper bounds on the cells of a tree with one more clique, from the tree as it is."""

    def __init__(self, graph: _Graph) -> None:
        order, made = graph.triangulate()
        self._cliques, parents = _join(_maximal(order, made))
        self._sizes, self._size = graph.domain.sizes, graph._size
        self._base = sum(map(self._size, self._cliques))
        self._part = [0] * len(self._sizes)
        self._edges = [1 << i for i in range(len(self._sizes))]
        for mask in graph.components:
            for i in bits_of(mask):
                self._part[i] = mask
        self._around: list[list[tuple[int, int]]] = [[] for _ in self._cliques]
        self._homes: list[list[int]] = [[] for _ in self._sizes]
        for i, (mask, parent) in enumerate(zip(self._cliques, parents, strict=True)):
            for attribute in bits_of(mask):
                self._edges[attribute] |= mask
                self._homes[attribute].append(i)
            if parent >= 0:
                self._around[i].append((parent, mask & self._cliques[parent]))
                self._around[parent].append((i, mask & self._cliques[parent]))
        self._added: dict[int, dict[int, int]] = {}

    def of(self, candidate: tuple[int, ...]) -> int:
        """Return the bound; -1 for a candidate inside a clique, and a number beyond all where there is no bound."""
        lacking: list[tuple[int, int]] = []
        cells, apart = 1, 0
        for k, i in enumerate(candidate):
            cells *= self._sizes[i]
            for j in candidate[:k]:
                if not self._edges[i] >> j & 1:
                    if self._part[i] == self._part[j]:
                        lacking.append((i, j))
                    else:
                        apart += 1
        if not lacking:
            return self._base + cells if apart else -1
        if len(lacking) > 1 or apart:
            return 1 << 62
        return self._base + min(self._between(*lacking[0]), self._between(*reversed(lacking[0])))

    def _between(self, x: int, y: int) -> int:
        """Return the cells that an edge from ``x`` to ``y`` adds, with ``x`` in every clique on the way.

        What both are joined to already lies in every separator between them, so that this holds for three as well.
        """
        known = self._added.get(x)
        if known is None:
            known = self._added[x] = self._walk(x)
        return known[y]

    def _walk(self, x: int) -> dict[int, int]:
        found: dict[int, int] = {}
        seen = set(self._homes[x])
        waiting = [(k, shared, 0) for i in self._homes[x] for k, shared in self._around[i] if k not in seen]
        while waiting:
            i, shared, cells = waiting.pop()
            seen.add(i)
            for y in bits_of(self._cliques[i] & ~shared):
                found[y] = cells + self._sizes[x] * self._sizes[y] * self._size(shared)
            for k, further in self._around[i]:
                if k not in seen:
                    waiting.append((k, further, cells + self._sizes[x] * self._size(shared | further)))
        return found


@lru_cache(maxsize=1 << 17)
def bits_of(mask: int) -> tuple[int, ...]:
    """Return the positions of the bits of ``mask``, ascending."""
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return tuple(found)


def _components(adjacent: Sequence[int]) -> list[int]:
    """Return the connected components as masks, in the order of their first attribute."""
    left = (1 << len(adjacent)) - 1
    found = []
    while left:
        component = frontier = left & -left
        while frontier:
            low = frontier & -frontier
            new = adjacent[low.bit_length() - 1] & ~component
            component |= new
            frontier = (frontier ^ low) | new
        found.append(component)
        left &= ~component
    return found


def _maximal(order: Sequence[int], made: Sequence[int]) -> list[int]:
    """Drop the cliques that lie inside another.

    The attributes around one that was eliminated lie inside the clique of the first of them to go next; if they are all
    of it, that clique is not maximal, and this is the only way in which a clique is not.
    """
    position = {attribute: k for k, attribute in enumerate(order)}
    inside = set()
    for attribute, mask in zip(order, made, strict=True):
        around = mask & ~(1 << attribute)
        if around:
            first = min(map(position.__getitem__, bits_of(around)))
            if made[first] == around:
                inside.add(first)
    return [mask for k, mask in enumerate(made) if k not in inside]


def _join(cliques: Sequence[int]) -> tuple[list[int], list[int]]:
    """Join the maximal cliques by a maximum spanning tree on what they share (Prim); parents come first."""
    left = list(cliques)
    masks: list[int] = []
    parents: list[int] = []
    best: dict[int, tuple[int, int]] = {}
    while left:
        position = max(range(len(left)), key=lambda k: best.get(left[k], (0, -1))[0])
        mask = left.pop(position)
        parents.append(best.get(mask, (0, -1))[1])
        masks.append(mask)
        for other in left:
            shared = (other & mask).bit_count()
            if shared > best.get(other, (0, -1))[0]:
                best[other] = (shared, len(masks) - 1)
    return masks, parents
