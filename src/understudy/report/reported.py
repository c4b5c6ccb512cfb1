"""What a page needs of a release. Public."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from understudy.domain import Clique
from understudy.manifest import Manifest
from understudy.model import Model
from understudy.privacy import Measurement
from understudy.schema import Schema
from understudy.uncertainty import Bound, SumBound
from understudy.workload import Workload

Floats = NDArray[np.float64]


class Rows(Protocol):
    """The synthetic table, a column at a time."""

    @property
    def narrow(self) -> NDArray[np.integer]:
        """Its codes, rows × columns."""

    def column(self, name: str) -> pa.ChunkedArray:
        """Return the values of one column."""


class Reported(Protocol):
    """A release, as far as its page needs it: the release itself is further down the house, and saves its page with it."""

    @property
    def manifest(self) -> Manifest:
        """What ``release.json`` says."""

    @property
    def schema(self) -> Schema:
        """What the table may contain."""

    @property
    def model(self) -> Model:
        """The model behind the table."""

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        """What was measured."""

    @property
    def workload(self) -> Workload:
        """The marginals that the table should preserve."""

    @property
    def bounds(self) -> Mapping[Clique, Bound]:
        """How far off each marginal of the table may be."""

    @property
    def synthetic(self) -> Rows:
        """The synthetic table."""

    @property
    def notice(self) -> str:
        """Empty, or why this is not private."""

    @property
    def sum_bounds(self) -> Mapping[Clique, SumBound]:
        """How far off the sums may be that the workload asks for."""

    def expected(self, column: str) -> Mapping[str, str]:
        """Return where the private table's mean, total and quantiles of a column are expected."""

    def table_marginal(self, *columns: str) -> Floats:
        """Return the synthetic table's counts on ``columns``, each row counted as often as it stands for rows."""
