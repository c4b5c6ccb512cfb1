"""Ways through a junction tree: which clique has a marginal, and where one that no clique has is gathered.

A set of attributes is a bit mask, as in ``tree``; there are no arrays. Public numbers only.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from understudy.model.tree import JunctionTree, bits_of

__all__ = ["Mask", "Routes", "bits_of", "mask_of"]

Mask = int


class Routes:
    """The cliques with what neighbours share; the way from each clique to each attribute."""

    def __init__(self, tree: JunctionTree) -> None:
        index = tree.domain.index
        self.sizes = tree.domain.sizes
        self.cliques = [mask_of([index(a) for a in clique]) for clique in tree.cliques]
        self.separators = _connect(self.cliques, tree.parents)
        self._parts = _parts(self.cliques, tree.parents, len(self.sizes))
        self._tree_cells = tree.cells
        self._known_cells: dict[Mask, int] = {}
        self._directed: dict[int, list[int]] = {}
        self.homes: list[list[int]] = [[] for _ in self.sizes]
        """For each attribute the cliques that have it, the smallest first."""
        for i in sorted(range(len(self.cliques)), key=lambda i: self.cells(self.cliques[i])):
            for attribute in bits_of(self.cliques[i]):
                self.homes[attribute].append(i)

    def cells(self, mask: Mask) -> int:
        """Return how many cells a table of these attributes has."""
        cells = self._known_cells.get(mask)
        if cells is None:
            cells = self._known_cells[mask] = prod(self.sizes[a] for a in bits_of(mask))
        return cells

    def split(self, wanted: Mask) -> list[Mask]:
        """Return ``wanted`` by the parts of the tree that share nothing, in the order of their first attributes."""
        found = []
        while wanted:
            part = wanted & self._parts[(wanted & -wanted).bit_length() - 1]
            found.append(part)
            wanted ^= part
        return found or [0]

    def place(self, wanted: Mask) -> int:
        """Return the smallest clique that has all of ``wanted``, which is of one part, or the one to gather it at."""
        homes = self.homes[(wanted & -wanted).bit_length() - 1] if wanted else [0]
        home = next((i for i in homes if self.has(i, wanted)), -1)
        return self._root(wanted) if home < 0 else home

    def has(self, i: int, wanted: Mask) -> bool:
        """Say whether clique ``i`` has all of ``wanted``."""
        return wanted & ~self.cliques[i] == 0

    def arriving(self, i: int, wanted: Mask) -> dict[int, Mask]:
        """Return what of ``wanted`` clique ``i`` does not have, by the neighbour that it comes from."""
        found: dict[int, Mask] = {}
        for attribute in bits_of(wanted & ~self.cliques[i]):
            neighbour = self._towards(attribute)[i]
            found[neighbour] = found.get(neighbour, 0) | 1 << attribute
        return found

    def largest(self, i: int, wanted: Mask, held: Mask = 0) -> tuple[int, Mask]:
        """Return the cells of the largest message to clique ``i`` about ``wanted``, and what it tells besides ``held``."""
        found = (0, 0)
        for neighbour, those in self.arriving(i, wanted).items():
            told = those & ~held
            found = max(found, (self.cells(self.separators[i][neighbour] & ~held | told), told))
            found = max(found, self.largest(neighbour, those, held))
        return found

    def _root(self, wanted: Mask) -> int:
        """Choose where to gather: no message larger than all cliques, each with one attribute, then the least work."""
        root, least = 0, (True, len(self.sizes), 0)
        for i in self._between(wanted):
            arriving, needed, large, together = self.arriving(i, wanted), wanted, False, 0
            for neighbour, those in arriving.items():
                shared = self.separators[i][neighbour]
                large = large or self.cells(shared | those) > self._tree_cells
                together += those.bit_count() - 1
                needed |= shared
            rank = (large, together, self.cells(needed))
            if rank < least:
                root, least = i, rank
        return root

    def _between(self, wanted: Mask) -> list[int]:
        """Return the cliques on the ways between those that have an attribute of ``wanted``."""
        attributes = bits_of(wanted)
        found = set()
        for attribute in attributes:
            for i in self.homes[attribute]:
                found.add(i)
                for other in attributes:
                    towards, here = self._towards(other), i
                    while towards[here] != here and towards[here] not in found:
                        here = towards[here]
                        found.add(here)
        return sorted(found)

    def _towards(self, attribute: int) -> list[int]:
        """Return, for each clique, the neighbour towards ``attribute`` (the clique itself where it has it)."""
        known = self._directed.get(attribute)
        if known is None:
            known = self._directed[attribute] = self._directions(attribute)
        return known

    def _directions(self, attribute: int) -> list[int]:
        direction = [i if clique >> attribute & 1 else -1 for i, clique in enumerate(self.cliques)]
        frontier = [i for i, known in enumerate(direction) if known >= 0]
        while frontier:
            found = []
            for i in frontier:
                for neighbour, shared in self.separators[i].items():
                    if shared and direction[neighbour] < 0:
                        direction[neighbour] = i
                        found.append(neighbour)
            frontier = found
        return direction


def mask_of(attributes: Sequence[int]) -> Mask:
    """Return a set of attributes as bits."""
    mask = 0
    for attribute in attributes:
        mask |= 1 << attribute
    return mask


def _connect(cliques: Sequence[Mask], parents: Sequence[int]) -> list[dict[int, Mask]]:
    """Return each clique's neighbours with what they share; separate parts are joined by sharing nothing."""
    around: list[dict[int, Mask]] = [{} for _ in cliques]
    for i in range(1, len(cliques)):
        parent = max(parents[i], 0)
        shared = cliques[i] & cliques[parent]
        around[i][parent] = shared
        around[parent][i] = shared
    return around


def _parts(cliques: Sequence[Mask], parents: Sequence[int], attributes: int) -> list[Mask]:
    """Return, for each attribute, all attributes that hang together with it."""
    roots: list[int] = []
    masks: dict[int, Mask] = {}
    for i, clique in enumerate(cliques):
        parent = parents[i]
        roots.append(roots[parent] if parent >= 0 and clique & cliques[parent] else i)
        masks[roots[i]] = masks.get(roots[i], 0) | clique
    found = [0] * attributes
    for mask in masks.values():
        for attribute in bits_of(mask):
            found[attribute] = mask
    return found
