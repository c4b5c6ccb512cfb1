"""What the page of an evaluation shows, as plain values. NOT PRIVATE: it holds true counts of the real table.

What an evaluation must have is stated here as protocols, because evaluations are made further down the house.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique, Combinations
from understudy.measures.columns import ColumnMeasures
from understudy.measures.combinations import CombinationMeasures
from understudy.measures.distinction import Distinction
from understudy.measures.groups import Grouping
from understudy.measures.nearest import Membership, Nearest
from understudy.measures.pairs import PairMeasures
from understudy.measures.prediction import Prediction
from understudy.measures.rows import Tables
from understudy.report.data import ColumnView, Value, bars_for, groups_of, label_of, start_of, width_of
from understudy.report.reported import Reported
from understudy.schema import Column, Schema
from understudy.uncertainty import Bound


class Comparison(Protocol):
    """One marginal, real and synthetic."""

    @property
    def clique(self) -> Clique:
        """Its columns."""
        ...

    @property
    def real(self) -> NDArray[np.int64] | None:
        """The real counts of a single column."""
        ...

    @property
    def synthetic(self) -> NDArray[np.float64] | None:
        """The synthetic counts of a single column, each row counted as many times as it stands for records."""
        ...

    @property
    def bound(self) -> Bound | None:
        """The bound of the release, if it has one."""
        ...

    @property
    def error(self) -> float:
        """The summed distance between the two, in records."""
        ...


class Evaluation(Protocol):
    """A release beside the table it stands for."""

    @property
    def release(self) -> Reported:
        """The release."""
        ...

    @property
    def rows(self) -> int:
        """Records of the real table."""
        ...

    @property
    def marginals(self) -> Sequence[Comparison]:
        """Every marginal that was compared."""
        ...

    @property
    def error(self) -> float:
        """The workload error, as a share of the records."""
        ...

    @property
    def columns(self) -> tuple[ColumnMeasures, ...]:
        """Every column."""
        ...

    @property
    def pairs(self) -> tuple[PairMeasures, ...]:
        """Pairs of columns."""
        ...

    @property
    def groups(self) -> tuple[Grouping, ...]:
        """The columns within chosen groups."""
        ...

    @property
    def combinations(self) -> CombinationMeasures:
        """Combinations that no real record has, and those declared impossible."""
        ...

    @property
    def distinction(self) -> Distinction | None:
        """How well real records can be told from synthetic ones."""
        ...

    @property
    def prediction(self) -> Prediction | None:
        """What a classifier learns from each table."""
        ...

    @property
    def nearest(self) -> Nearest | None:
        """How near synthetic records come to real ones."""
        ...

    @property
    def membership(self) -> Membership | None:
        """An attack on who was in the table."""
        ...

    @property
    def scores(self) -> dict[str, float | None]:
        """The scores that people know."""
        ...

    @property
    def tables(self) -> Tables:
        """The samples that some measures are of."""
        ...


@dataclass(frozen=True)
class ErrorView:
    """One marginal's true error, and its bound, as shares of the records."""

    clique: Clique
    share: float
    bound: float | None
    records: float

    @property
    def within(self) -> bool | None:
        """Whether the bound held; None where there is none."""
        return None if self.bound is None else self.share <= self.bound


@dataclass(frozen=True)
class EvaluationData:
    """Everything on the page."""

    title: str
    rows: int
    synthetic_rows: int
    error: float
    epsilon: float
    private: bool
    confidence: float
    workload: str
    version: str
    attributes: tuple[str, ...]
    columns: tuple[ColumnView, ...]
    pairs: tuple[ErrorView, ...]
    marginals: tuple[ErrorView, ...]
    """The workload's own, from the closest to the furthest off."""
    compared: int
    bounded: int
    within: int
    measured: Evaluation
    """The measures themselves."""
    sampled: tuple[int, int]
    """Records of the samples, real and synthetic."""
    schema: Schema


def evaluation_data(evaluation: Evaluation) -> EvaluationData:
    """Read off an evaluation what its page shows."""
    release, most = evaluation.release, bars_for(len(evaluation.release.schema.columns))
    found = {m.clique: m for m in evaluation.marginals}
    errors = {clique: _error(m, max(evaluation.rows, 1)) for clique, m in found.items()}
    own = _quick(release.workload.cliques)
    asked = [e for e in errors.values() if e.clique in own]
    return EvaluationData(
        title=release.schema.table.name or "Synthetic table",
        rows=evaluation.rows,
        synthetic_rows=release.manifest.table.rows,
        error=evaluation.error,
        epsilon=release.manifest.privacy.epsilon,
        private=release.manifest.private,
        confidence=release.manifest.confidence,
        workload=release.manifest.workload.name,
        version=release.manifest.understudy,
        attributes=release.schema.domain.attributes,
        columns=tuple(_column(found[c.name,], c, most) for c in release.schema.columns if (c.name,) in found),
        pairs=tuple(e for e in errors.values() if len(e.clique) == 2),
        marginals=tuple(sorted(asked, key=lambda e: (e.share, e.clique))),
        compared=len(errors),
        bounded=sum(e.bound is not None for e in errors.values()),
        within=sum(e.within is True for e in errors.values()),
        measured=evaluation,
        sampled=(evaluation.tables.real.sampled, evaluation.tables.made.sampled),
        schema=release.schema,
    )


def _quick(cliques: Sequence[Clique]) -> Container[Clique]:
    return cliques if isinstance(cliques, Combinations) else frozenset(cliques)


def _error(m: Comparison, rows: int) -> ErrorView:
    return ErrorView(m.clique, m.error / rows, None if m.bound is None else m.bound.value / rows, m.error)


def _column(m: Comparison, column: Column, most: int) -> ColumnView:
    """Return both distributions: the real count is drawn as a range without width."""
    ordered = column.kind not in ("categorical", "boolean")
    width = -(-column.size // most) if ordered else 1
    assert m.real is not None  # of a single column they are kept
    assert m.synthetic is not None
    groups = groups_of(column, width)
    starts = [group[0] for group in groups]
    real, synthetic = (np.add.reduceat(np.asarray(counts, np.float64), starts) for counts in (m.real, m.synthetic))
    drawn = [
        Value(
            label_of(column, g),
            float(s),
            float(r),
            float(r),
            g[0] < column.places.ordinary,
            width_of(column, g),
            start_of(column, g),
        )
        for g, r, s in zip(groups, real, synthetic, strict=True)
    ]
    if not ordered:
        drawn.sort(key=lambda v: (not v.ordinary, -max(v.synthetic, v.upper or 0.0)))
    shown = drawn if ordered else drawn[:most]
    return ColumnView(
        column.name, column.kind, column.description or "", ordered, tuple(shown), len(drawn) - len(shown), width, 0.0
    )
