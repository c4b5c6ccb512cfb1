"""Synthetic rows in both of their forms: codes of the schema, and an Arrow table in its types. Public."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from understudy.release.inside import Weights
from understudy.release.marks import marked
from understudy.schema import Schema


@dataclass(frozen=True, eq=False)
class SyntheticTable:
    """Rows that a model drew. ``drawn`` are their codes, where they are known and need not be read off the values."""

    schema: Schema
    arrow: pa.Table
    drawn: NDArray[np.int32] | None = field(default=None, repr=False)

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
        return cls(schema, schema.decode(codes, rng, inside, given), codes)

    @cached_property
    def codes(self) -> NDArray[np.int32]:
        """The rows as codes, rows × columns."""
        return self.schema.encode(self.arrow) if self.drawn is None else self.drawn

    def marked(self, notice: str) -> SyntheticTable:
        """Return the same rows with ``notice`` in the metadata of the Arrow table, and with nothing else there."""
        return replace(self, arrow=marked(self.arrow, notice))
