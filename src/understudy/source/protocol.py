"""What a source is: something that counts marginals exactly, and says nothing else about its table.

PRIVATE: the counts are exact. Only the privacy room may call ``count``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique, Domain
from understudy.schema.column import Held
from understudy.schema.person import Person


class Source(Protocol):
    """A table behind a domain. Counting any number of cliques should cost one pass over the table.

    A distributed engine makes one ``Tally`` a partition, adds the partition's codes to it, and merges the
    tallies: partial counts add up, in any order.
    """

    @property
    def domain(self) -> Domain:
        """The declared attributes and their sizes."""
        ...

    def count(self, cliques: Sequence[Clique]) -> list[NDArray[np.int64]]:
        """Return the exact counts of each clique, shaped ``domain.shape(clique)``.

        Where rows come here, an attribute of the schema's ``fine`` may be counted too, by itself.
        """
        ...


class Batch(Protocol):
    """Some rows of a table, column by column: an Arrow batch, or whatever columns an encoder can read."""

    @property
    def num_rows(self) -> int:
        """The number of rows."""
        ...

    def column(self, position: int, /) -> Held:
        """Return one column."""
        ...


class Reader(Protocol):
    """A table that can be read in batches, again at every call."""

    def batches(self, names: Sequence[str]) -> Iterator[Batch]:
        """Yield all rows in batches that have exactly the columns ``names``, in that order."""
        ...


class Encoder(Protocol):
    """A declared column, as far as a source needs to know it."""

    @property
    def name(self) -> str:
        """The column's name in the table."""
        ...

    @property
    def fine(self) -> Encoder | None:
        """The same column with finer codes; None where it has none."""
        ...

    @property
    def coarse(self) -> NDArray[np.int32]:
        """The code of this column for each code of ``fine``."""
        ...

    @property
    def in_figures(self) -> bool:
        """Whether a text file spells its values as numbers, with the marks of its dialect."""
        ...

    @property
    def parents(self) -> tuple[str, ...]:
        """The columns that it follows from, by ``follow``: such a column is not read. Most follow from none."""
        ...

    def encode(self, values: Held) -> NDArray[np.int32]:
        """Return one code a row, each by its own value alone, whatever that is."""
        ...

    def follow(self, codes: Sequence[NDArray[np.integer]]) -> NDArray[np.int32]:
        """Return its codes for rows with these codes of ``parents``."""
        ...


class GapEncoder(Protocol):
    """How far apart two declared columns lie, as far as a source needs to know it."""

    @property
    def name(self) -> str:
        """The name of the attribute."""
        ...

    @property
    def columns(self) -> tuple[str, str]:
        """The columns that it is between; none of them follows from others."""
        ...

    def encode(self, low: Held, high: Held) -> NDArray[np.int32]:
        """Return one code a row, each by its own two values alone, whatever they are."""
        ...


class Declared(Protocol):
    """A schema, as far as a source needs to know it."""

    @property
    def domain(self) -> Domain:
        """The attributes and their sizes."""
        ...

    @property
    def fine(self) -> Domain:
        """The attributes that say where inside its bins a column's values lie (``fine_name``), and those of ``gaps``."""
        ...

    @property
    def gaps(self) -> Sequence[GapEncoder]:
        """How far apart columns in order lie."""
        ...

    @property
    def columns(self) -> Iterable[Encoder]:
        """The declared columns, in the order of the domain."""
        ...

    @property
    def person(self) -> Person | None:
        """Who a person is, where one may have several rows; None where each row is a person."""
        ...
