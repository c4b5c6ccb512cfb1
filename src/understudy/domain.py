"""Attributes and their sizes, cliques (sets of attributes), and structural zeros: combinations that cannot occur.

Public: a domain and its zeros are declared by a schema, never looked up in a table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import prod

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
            raise SchemaError(f'There is no attribute "{attribute}" in the schema.{hint}') from None

    def __getitem__(self, attribute: str) -> int:
        return self.sizes[self.index(attribute)]

    def clique(self, attributes: Iterable[str]) -> Clique:
        """Return ``attributes`` in the domain's order, without repeats."""
        return tuple(self.attributes[i] for i in sorted({self.index(a) for a in attributes}))

    def shape(self, attributes: Iterable[str]) -> tuple[int, ...]:
        """Return the sizes of ``attributes``, in the order given."""
        return tuple(self[a] for a in attributes)

    def cells(self, attributes: Iterable[str] | None = None) -> int:
        """Return the number of cells of the marginal on ``attributes`` (of the whole domain by default); exact."""
        return prod(self.sizes if attributes is None else self.shape(attributes))

    def project(self, attributes: Iterable[str]) -> Domain:
        """Return the domain of ``attributes`` alone, in the order given."""
        names = tuple(attributes)
        return Domain(names, self.shape(names))


@dataclass(frozen=True, eq=False)
class Zeros:
    """Combinations that cannot occur: ``cells`` is k × len(clique), a forbidden combination of codes a row."""

    clique: Clique
    cells: NDArray[np.int64]

    def table(self, domain: Domain) -> NDArray[np.bool_]:
        """Return which cells of the marginal on ``clique`` are forbidden."""
        forbidden = np.zeros(domain.shape(self.clique), dtype=np.bool_)
        forbidden[tuple(np.asarray(self.cells, dtype=np.int64).reshape(-1, len(self.clique)).T)] = True
        return forbidden
