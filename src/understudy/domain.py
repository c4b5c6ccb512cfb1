"""Attributes and their sizes, cliques (sets of attributes) one by one and by a rule, and structural zeros: combinations that
cannot occur.

Public: a domain and its zeros are declared by a schema, never looked up in a table.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from math import comb, prod
from typing import overload

import numpy as np
from numpy.typing import NDArray

from understudy.errors import SchemaError, did_you_mean

Clique = tuple[str, ...]
"""Attributes in the order of their domain, each at most once. ``Domain.clique`` makes one."""


@dataclass(frozen=True)
class Domain:
    """An ordered set of attributes, each with its number of codes (0 … size-1)."""

    attributes: tuple[str, ...]
    sizes: tuple[int, ...]
    _position: dict[str, int] = field(init=False, repr=False, compare=False)
    _size: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check the sizes and index the attributes."""
        if len(self.attributes) != len(self.sizes):
            raise SchemaError(f"{len(self.attributes)} attributes but {len(self.sizes)} sizes: give one size each.")
        for attribute, size in zip(self.attributes, self.sizes, strict=True):
            if size < 1:
                raise SchemaError(f'Attribute "{attribute}" has size {size}; it needs at least one code.')
        position = {attribute: i for i, attribute in enumerate(self.attributes)}
        if len(position) != len(self.attributes):
            twice = next(a for i, a in enumerate(self.attributes) if position[a] != i)
            raise SchemaError(f'Attribute "{twice}" appears twice; names must differ.')
        object.__setattr__(self, "_position", position)
        object.__setattr__(self, "_size", dict(zip(self.attributes, self.sizes, strict=True)))

    @classmethod
    def of(cls, sizes: Mapping[str, int]) -> Domain:
        """Make a domain from ``{"age": 32, "sex": 2}``."""
        return cls(tuple(sizes), tuple(int(size) for size in sizes.values()))

    def __len__(self) -> int:
        return len(self.attributes)

    def __iter__(self) -> Iterator[str]:
        return iter(self.attributes)

    def __contains__(self, attribute: object) -> bool:
        return attribute in self._position

    def index(self, attribute: str) -> int:
        """Return the position of ``attribute``; a clear error when there is none."""
        try:
            return self._position[attribute]
        except KeyError:
            hint = did_you_mean(attribute, self.attributes)
            raise SchemaError(f'There is no column "{attribute}" in the schema.{hint}') from None

    def __getitem__(self, attribute: str) -> int:
        return self.sizes[self.index(attribute)]

    def clique(self, attributes: Iterable[str]) -> Clique:
        """Return ``attributes`` in the domain's order, without repeats."""
        return tuple(self.attributes[i] for i in sorted({self.index(a) for a in attributes}))

    def blocks(self, cliques: Iterable[Clique], cells: int) -> Iterator[list[Clique]]:
        """Yield ``cliques`` in their order, some at a time: together at most so many cells, or one that has more."""
        block: list[Clique] = []
        held = 0
        for clique in cliques:
            more = self.cells(clique)
            if block and held + more > cells:
                yield block
                block, held = [], 0
            block.append(clique)
            held += more
        if block:
            yield block

    def shape(self, attributes: Iterable[str]) -> tuple[int, ...]:
        """Return the sizes of ``attributes``, in the order given."""
        names, sizes = tuple(attributes), self._size
        try:
            return tuple([sizes[a] for a in names])
        except KeyError:
            return tuple(self[a] for a in names)  # says which there is not

    def cells(self, attributes: Iterable[str] | None = None) -> int:
        """Return the number of cells of the marginal on ``attributes`` (of the whole domain by default); exact."""
        return prod(self.sizes if attributes is None else self.shape(attributes))

    def project(self, attributes: Iterable[str]) -> Domain:
        """Return the domain of ``attributes`` alone, in the order given."""
        names = tuple(attributes)
        return Domain(names, self.shape(names))


NOTHING = Domain((), ())
"""No attributes."""


@dataclass(frozen=True)
class Combinations(Sequence[Clique]):
    """Sets of a domain's attributes by a rule, worked out when asked for: 20 million triples are never listed.

    ``layers`` has a size each, ascending, and an attribute that every set of this size has (None where any set will do).
    They come in the order of the layers, then of the domain.
    """

    domain: Domain
    layers: tuple[tuple[int, str | None], ...]

    def __len__(self) -> int:
        return sum(map(self._length, self.layers))

    def __iter__(self) -> Iterator[Clique]:
        for size, held in self.layers:
            others = [a for a in self.domain if a != held]
            for rest in combinations(others, size - (held is not None)):
                yield self._joined(rest, held)

    def __contains__(self, clique: object) -> bool:
        if (
            not isinstance(clique, tuple)
            or not all(a in self.domain for a in clique)
            or clique != self.domain.clique(clique)
        ):
            return False
        return any(len(clique) == size and (held is None or held in clique) for size, held in self.layers)

    @overload
    def __getitem__(self, place: int) -> Clique: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[Clique]: ...

    def __getitem__(self, place: int | slice) -> Clique | Sequence[Clique]:
        if isinstance(place, slice):
            return tuple(self.at(range(*place.indices(len(self)))))
        return self.at([place])[0]

    def at(self, places: Iterable[int]) -> list[Clique]:
        """Return those at ``places``."""
        layers = [(held, size - (held is not None), self._length((size, held))) for size, held in self.layers]
        others = {held: [a for a in self.domain if a != held] for _, held in self.layers}
        whole, found = len(self), []
        for place in places:
            left = place + whole if place < 0 else place
            for held, size, length in layers:
                if 0 <= left < length:
                    among = others[held]
                    found.append(self._joined((among[i] for i in _nth(len(among), size, left)), held))
                    break
                left -= length
            else:
                raise IndexError(place)
        return found

    def of_size(self, size: int) -> Combinations:
        """Return those of ``size`` attributes."""
        return Combinations(self.domain, tuple(layer for layer in self.layers if layer[0] == size))

    def holding(self, *attributes: str) -> int:
        """Return how many have all of ``attributes``."""
        found = 0
        for size, held in self.layers:
            fixed = {held, *attributes} - {None}
            found += comb(len(self.domain) - len(fixed), size - len(fixed)) if size >= len(fixed) else 0
        return found

    @cached_property
    def cells(self) -> int:
        """The cells of all of them together, exactly."""
        return sum(self._cells(size, held) for size, held in self.layers)

    def _cells(self, size: int, held: str | None) -> int:
        """Return the elementary symmetric polynomial of the sizes, which is the sum of their products."""
        sums = [1] + [0] * size
        for attribute in self.domain:
            if attribute != held:
                for k in range(size, 0, -1):
                    sums[k] += sums[k - 1] * self.domain[attribute]
        return sums[size] if held is None else sums[size - 1] * self.domain[held]

    def _length(self, layer: tuple[int, str | None]) -> int:
        fixed = layer[1] is not None
        return comb(len(self.domain) - fixed, layer[0] - fixed)

    def _joined(self, rest: Iterable[str], held: str | None) -> Clique:
        return tuple(rest) if held is None else self.domain.clique((*rest, held))


def _nth(n: int, size: int, place: int) -> list[int]:
    """Return the combination of ``size`` numbers below ``n`` that comes at ``place``, in lexicographic order."""
    found: list[int] = []
    begin = 0
    for left in range(size, 0, -1):
        among = n - begin
        # Those that begin with one of the first i of ``among`` are C(among, left) - C(among - i, left).
        skipped = bisect_right(range(among - left + 1), place, key=lambda i: comb(among, left) - comb(among - i, left)) - 1
        place -= comb(among, left) - comb(among - skipped, left)
        found.append(begin + skipped)
        begin += skipped + 1
    return found


@dataclass(frozen=True, eq=False)
class Zeros:
    """Combinations that cannot occur: ``cells`` is k × len(clique), a forbidden combination of codes a row."""

    clique: Clique
    cells: NDArray[np.int64]
    told: str | None = field(default=None, kw_only=True)
    """The attribute of which the others of the clique tell the code, if there is one: it need not be asked for."""

    def table(self, domain: Domain) -> NDArray[np.bool_]:
        """Return which cells of the marginal on ``clique`` are forbidden."""
        forbidden = np.zeros(domain.shape(self.clique), dtype=np.bool_)
        forbidden[tuple(np.asarray(self.cells, dtype=np.int64).reshape(-1, len(self.clique)).T)] = True
        return forbidden
