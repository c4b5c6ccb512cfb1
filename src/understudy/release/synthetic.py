"""Synthetic rows in both of their forms: codes of the schema, and an Arrow table in its types. Public.

Codes are held as narrow as the schema allows. The table is made of them when it is asked for, or some rows at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from understudy.domain import Domain
from understudy.release.inside import Weights
from understudy.release.marks import marked
from understudy.schema import Schema

ROWS_TOGETHER = 1 << 20
"""Rows that are decoded to be written: a row group of Parquet."""

Codes = NDArray[np.unsignedinteger]


def narrowed(codes: NDArray[np.integer], domain: Domain) -> Codes:
    """Return ``codes`` in the narrowest type for the columns of ``domain``."""
    return codes.astype(np.min_scalar_type(max(domain.sizes) - 1), order="F", copy=False)


@dataclass(frozen=True, eq=False)
class Drawn:
    """Rows as codes, and what their values are drawn by: always the same, whenever they are asked for."""

    schema: Schema
    codes: Codes
    rng: np.random.Generator
    inside: Weights

    def table(self, start: int, stop: int) -> pa.Table:
        """Decode some rows."""
        rows = self.codes[start:stop]
        drawn = {name: values.slice(start, len(rows)) for name, values in self._values.items()}
        return self.schema.put_together(rows, drawn)

    def column(self, name: str) -> pa.ChunkedArray:
        """Decode one column of the schema."""
        column = self.schema[name]
        codes = self.codes[:, self.schema.domain.index(name)].astype(np.int32)
        values = self._values.get(name)
        return pa.chunked_array([column.decode(codes, deepcopy(self.rng)) if values is None else values])

    @cached_property
    def _values(self) -> dict[str, pa.Array]:
        """What cannot be decoded some rows at a time."""
        return self.schema.draw(self.codes, deepcopy(self.rng), self.inside)


@dataclass(frozen=True, eq=False)
class SyntheticTable:
    """Rows that a model drew: ``made``, an Arrow table, or ``drawn``, codes that become one."""

    schema: Schema
    made: pa.Table | None = None
    drawn: Drawn | None = field(default=None, repr=False)
    known: NDArray[np.integer] | None = field(default=None, repr=False)
    """The codes of ``made``, where they need not be read off the values."""
    notice: str | None = None
    """What the metadata of the Arrow table says, and all that it says; None: what ``made`` has."""

    @classmethod
    def of_codes(
        cls,
        schema: Schema,
        codes: NDArray[np.int32],
        rng: np.random.Generator,
        inside: Weights | None = None,
        given: Mapping[str, pa.Array] | None = None,
    ) -> SyntheticTable:
        """Decode ``codes``; ``rng`` picks a value in each bin, by the weights ``inside`` where there are some. Columns that
        are ``given`` are taken as they are.
        """
        return cls(schema, schema.decode(codes, rng, inside, given), known=codes)

    @classmethod
    def of_drawn(
        cls, schema: Schema, codes: NDArray[np.integer], rng: np.random.Generator, inside: Weights
    ) -> SyntheticTable:
        """Keep ``codes`` and the generator as it is now; they are decoded when the table is asked for."""
        return cls(schema, drawn=Drawn(schema, narrowed(codes, schema.domain), deepcopy(rng), inside))

    @cached_property
    def arrow(self) -> pa.Table:
        """The rows as a table."""
        return self._marked(self.made if self.drawn is None else self.drawn.table(0, len(self.drawn.codes)))

    def tables(self, rows: int = ROWS_TOGETHER) -> Iterator[pa.Table]:
        """Yield the table, so many rows at a time; one without rows once. What was not decoded before is not held."""
        if self.drawn is None or "arrow" in vars(self):
            whole = self.arrow
            yield from (whole.slice(start, rows) for start in range(0, max(len(whole), 1), rows))
            return
        for start in range(0, max(len(self.drawn.codes), 1), rows):
            yield self._marked(self.drawn.table(start, start + rows))

    def column(self, name: str) -> pa.ChunkedArray:
        """Return the values of one column of the schema."""
        if self.drawn is None or "arrow" in vars(self):
            return self.arrow.column(name)
        return self.drawn.column(name)

    @property
    def narrow(self) -> NDArray[np.integer]:
        """The rows as codes, in whatever type they are held."""
        return self.codes if self.drawn is None else self.drawn.codes

    @cached_property
    def codes(self) -> NDArray[np.int32]:
        """The rows as codes, rows × columns."""
        if self.drawn is not None:
            return self.drawn.codes.astype(np.int32)
        return self.schema.encode(self.arrow) if self.known is None else self.known.astype(np.int32, copy=False)

    def marked(self, notice: str) -> SyntheticTable:
        """Return the same rows with ``notice`` in the metadata of the Arrow table, and with nothing else there."""
        return self if notice == self.notice else replace(self, notice=notice)

    def _marked(self, table: pa.Table) -> pa.Table:
        return table if self.notice is None else marked(table, self.notice)
