"""What a report shows, as plain values read off a release; the pages depend on nothing else.

Public: a release is, and nothing else is looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique
from understudy.manifest import RoundEntry
from understudy.manifest.promise import (
    assumptions,
    chosen_words,
    counted_words,
    opened_words,
    sentences,
    total_range,
    unit_words,
)
from understudy.mechanism.outcome import is_told
from understudy.privacy import Measurement
from understudy.report.dependence import dependence
from understudy.report.figures import Expected, Figure, figures_of
from understudy.report.numbers import plural
from understudy.report.reported import Reported
from understudy.report.spending import Spending
from understudy.schema import Column, Schema
from understudy.schema.binned import Binned
from understudy.schema.bins import RealBins
from understudy.uncertainty.supported import reading

Floats = NDArray[np.float64]

MOST_BARS, FEWEST_BARS, ALL_BARS = 128, 12, 6000
"""A column with more values than this is drawn in groups of neighbouring values, or by its largest alone.

With very many columns each has fewer, so that a page stays one that a browser can show.
"""


@dataclass(frozen=True)
class Value:
    """One value (or bin) of a column: how many synthetic records have it, and how many real ones may."""

    label: str
    synthetic: float
    lower: float | None
    upper: float | None
    ordinary: bool = True
    """False for null, and for a catch-all with a code of its own."""
    width: float = 1.0
    """How much of its column's scale it covers: 10 for the years 20 to 29."""
    start: float | None = None
    """Where a bin of numbers begins on that scale; None elsewhere."""

    @property
    def outside(self) -> bool:
        """Whether the synthetic count lies outside of the range of the real one, by a record or more."""
        return self.lower is not None and self.upper is not None and not self.lower - 1 < self.synthetic < self.upper + 1


@dataclass(frozen=True)
class ColumnView:
    """One column's distribution. ``ordered`` values are drawn in their own order, others by size."""

    name: str
    kind: str
    description: str
    ordered: bool
    values: tuple[Value, ...]
    left_out: int
    """Values too many to draw, the smallest; 0 nearly always."""
    grouped: int
    """How many neighbouring values each drawn one stands for; 1 nearly always."""
    radius: float | None
    """Half the width of the band before it is cut off at 0; None where nothing proves one."""
    figures: tuple[Figure, ...] = ()
    """Mean, total and quantiles of the synthetic table, where the column has numbers."""
    codes: str = ""
    """What the column is told apart by, in words: 4 values, 23 bins."""
    measured: bool = False
    """Whether any measurement has it: of residuals, too, which prove no band."""


@dataclass(frozen=True)
class BoundView:
    """How far off one marginal may be: in records, and as a share of all records."""

    clique: Clique
    records: float
    share: float
    measured: bool
    checked: bool


@dataclass(frozen=True)
class SumsView:
    """How far off the sums of a query may be on average, in records: by their measurements, by the bound on the cells."""

    clique: Clique
    asked: str
    sums: int
    measured: float | None
    by_cells: float | None


@dataclass(frozen=True)
class Edge:
    """Two columns that some measurement holds together; ``strength`` is how much one says of the other (0 to 1)."""

    pair: tuple[str, str]
    measurements: int
    strength: float


@dataclass(frozen=True)
class ReportData:
    """Everything on the page."""

    title: str
    description: str
    private: bool
    notice: str
    version: str
    mechanism: str
    chosen: str
    """Why this one, where nobody named it."""
    options: tuple[tuple[str, str], ...]
    ended: str
    unit: str
    counted: str
    """Which rows the counts are of, where that is not all of them."""
    derived: tuple[str, ...]
    """Columns that follow from others, each with its rule; they have no codes of their own."""
    epsilon: float
    delta: float
    rho: float
    promise: tuple[str, ...]
    """The promise in paragraphs."""
    assumptions: tuple[str, ...]
    spent: float
    spending: Spending
    rows: int
    total: float
    total_stddev: float | None
    """Of the noise on it; None in releases that were made before that was kept."""
    weight: float
    confidence: float
    workload: str
    queries: int
    columns: tuple[ColumnView, ...]
    rounds: tuple[RoundEntry, ...]
    measured: tuple[tuple[Clique, float, bool], ...]
    """Each measured marginal with the standard deviation of its noise, in records, and whether it was measured by sums."""
    edges: tuple[Edge, ...]
    model_size: int
    pairs: tuple[BoundView, ...]
    bounds: tuple[BoundView, ...]
    """The workload's own marginals, from the least bound (as a share) to the largest."""
    sums: tuple[SumsView, ...]
    """Of the queries of the workload that ask for sums of records."""
    zeros: int
    """Rules that forbid combinations."""
    origin: str
    """Where the schema comes from."""
    binned: bool
    """Whether a bin of some column holds several values."""
    in_order: tuple[str, ...] = ()
    """Columns that are in a declared order, which is kept row by row."""

    @property
    def total_range(self) -> str:
        """How far off the number of real records may be, as a text."""
        return total_range(self.total_stddev, self.confidence)

    @property
    def told(self) -> bool:
        """Whether it is told at all: its noise is not as large."""
        return is_told(self.total, self.total_stddev)

    @property
    def without_bound(self) -> int:
        """Marginals of the workload that have no bound."""
        return self.queries - len(self.bounds)


def _own(release: Reported, known: list[BoundView]) -> list[BoundView]:
    """Return the bounds on the workload's own marginals."""
    own = {release.schema.domain.clique(b.columns) for b in release.manifest.workload_bounds()}
    return [b for b in known if b.clique in own]


def report_data(release: Reported, *, intervals: bool = False) -> ReportData:
    """Read off a release what its report shows; with bootstrap ``intervals``, which take some seconds."""
    manifest, table, known = release.manifest, release.schema.table, [_bound(release, clique) for clique in release.bounds]
    return ReportData(
        title=table.name or "Synthetic table",
        description=table.description or "",
        private=manifest.private,
        notice=release.notice,
        version=manifest.understudy,
        mechanism=manifest.mechanism.name,
        chosen=chosen_words(manifest.mechanism),
        options=tuple((name, str(value)) for name, value in sorted(manifest.mechanism.options.items())),
        ended=manifest.mechanism.ended,
        unit=unit_words(manifest.privacy),
        counted=counted_words(manifest.privacy),
        derived=derived_words(release.schema),
        epsilon=manifest.privacy.epsilon,
        delta=manifest.privacy.delta,
        rho=manifest.privacy.rho.value,
        promise=tuple(sentences(manifest)),
        assumptions=tuple(assumptions(manifest)),
        spent=manifest.privacy.spent.value,
        spending=Spending.of(manifest),
        **manifest.table.model_dump(),
        confidence=manifest.confidence,
        workload=manifest.workload.name,
        queries=len(release.workload.cliques),
        columns=tuple(column_view(release, column, intervals=intervals) for column in release.schema.columns),
        rounds=tuple(manifest.rounds),
        measured=tuple(_noise(m) for m in release.measurements),
        edges=tuple(_edges(release)),
        model_size=manifest.model.size,
        pairs=tuple(b for b in known if len(b.clique) == 2),
        bounds=tuple(sorted(_own(release, known), key=lambda b: (b.share, b.clique))),
        sums=tuple(_sums(release)),
        zeros=len(release.schema.zeros),
        origin=_origin(release),
        binned=any(_several(column) for column in release.schema.columns),
        in_order=tuple(release.schema.orders.measures),
    )


def derived_words(schema: Schema) -> tuple[str, ...]:
    """Name the columns that follow from others and have no codes, each with its rule."""
    return tuple(f'"{c.name}" ({c.rule})' for c in schema.derived if c.name not in schema.domain)


def _noise(measurement: Measurement) -> tuple[Clique, float, bool]:
    """Return what was measured, with its noise; that of a sum as if a record counted as 1 in it at most."""
    query = measurement.query
    return measurement.clique, measurement.sigma / (1.0 if query is None else query.reach), query is not None


def _origin(release: Reported) -> str:
    """Say where the schema comes from."""
    learnt = release.schema.table.learnt is not None
    declared = "written or reviewed without disclosing anything about the rows"  # as the card has it: a draft is not written
    origin = "learnt from the rows, under a budget of its own," if learnt else declared
    words = opened_words(release.manifest)
    return f"{origin} ({words})" if words else origin


def _bound(release: Reported, clique: Clique) -> BoundView:
    bound = release.bounds[clique]
    return BoundView(
        clique, bound.value, bound.value / max(release.manifest.table.total, 1.0), bound.kind == "supported", bound.checked
    )


def _sums(release: Reported) -> Iterable[SumsView]:
    """Return what is asked in records; weighted sums are not."""
    for clique, found in release.sum_bounds.items():
        axes = release.workload.asked[clique]
        if any(axis.kind == "weights" for axis in axes.values()):
            continue
        asked = ", ".join(f"{axis.kind} of {name}" for name, axis in axes.items())
        off = (None if one is None else one / found.sums for one in (found.measured, found.by_cells))
        yield SumsView(clique, asked, found.sums, *off)


def column_view(release: Reported, column: Column, *, intervals: bool = False) -> ColumnView:
    """Return one column's distribution with a band for all of its values at once."""
    ordered = column.kind not in ("categorical", "boolean")
    synthetic = release.table_marginal(column.name)
    most = bars_for(len(release.schema.columns))
    width = -(-column.size // most) if ordered else 1
    groups = groups_of(column, width)
    band = _band(release, column.name, groups)
    drawn = [
        Value(
            label_of(column, group),
            float(synthetic[group].sum()),
            low,
            high,
            group[0] < column.places.ordinary,
            width_of(column, group),
            start_of(column, group),
        )
        for group, (low, high) in zip(groups, band.limits, strict=True)
    ]
    if not ordered:
        drawn.sort(key=lambda v: (not v.ordinary, -v.synthetic))
    shown = drawn if ordered else drawn[:most]
    return ColumnView(
        name=column.name,
        kind=column.kind,
        description=column.description or "",
        ordered=ordered,
        values=tuple(shown),
        left_out=len(drawn) - len(shown),
        grouped=width,
        radius=band.radius,
        figures=_figures(release, column, release.expected if intervals else None),
        codes=plural(column.size, "value" if column.fine is None else "bin"),
        measured=any(column.name in measurement.clique for measurement in release.measurements),
    )


def _figures(release: Reported, column: Column, expected: Expected | None) -> tuple[Figure, ...]:
    codes: NDArray[np.integer] = release.synthetic.narrow[:, release.schema.domain.index(column.name)]
    values = release.synthetic.column(column.name)
    return figures_of(column, values, codes, release.manifest.table.weight, expected)


def bars_for(columns: int) -> int:
    """Return how many bars each of so many columns may have."""
    return max(FEWEST_BARS, min(MOST_BARS, ALL_BARS // columns))


def groups_of(column: Column, width: int) -> list[list[int]]:
    """Return codes, ``width`` neighbours at a time; null and the catch-all stand alone."""
    ordinary = column.places.ordinary
    together = [list(range(start, min(start + width, ordinary))) for start in range(0, ordinary, width)]
    return [*together, *([code] for code in range(ordinary, column.size))]


def label_of(column: Column, group: Sequence[int]) -> str:
    """Name neighbouring codes by the first and the last of them."""
    first, last = column.labels[group[0]], column.labels[group[-1]]
    return first if len(group) == 1 else f"{first} … {last}"


def width_of(column: Column, group: Sequence[int]) -> float:
    """Return how much of the column's scale some neighbouring bins cover; 1 for each value that is listed."""
    if not isinstance(column, Binned) or group[0] >= column.places.ordinary:
        return float(len(group))
    low, high = float(column.bins.lowest[group[0]]), float(column.bins.highest[group[-1]])
    return high - low + (0.0 if isinstance(column.bins, RealBins) else 1.0)


def start_of(column: Column, group: Sequence[int]) -> float | None:
    """Return where some neighbouring bins of numbers begin; None for what is no bin, and for dates and times."""
    if not isinstance(column, Binned) or column.kind not in ("integer", "real") or group[0] >= column.places.ordinary:
        return None
    return float(column.bins.lowest[group[0]])


def _several(column: Column) -> bool:
    """Say whether a bin of the column holds several values."""
    return isinstance(column, Binned) and bool((column.bins.lowest != column.bins.highest).any())


@dataclass(frozen=True)
class _Band:
    limits: Sequence[tuple[float | None, float | None]]
    radius: float | None


def _band(release: Reported, name: str, groups: Sequence[Sequence[int]]) -> _Band:
    """Return limits that hold for all groups of one column at once, in real records."""
    together = max(map(len, groups))  # for a shorter group the radius is too wide, never too narrow
    failure = 1 - release.manifest.confidence
    found = reading(release.measurements, (name,), failure, together=together, at_once=len(groups))
    if found is None:
        return _Band([(None, None)] * len(groups), None)
    middle = [float(found.values[group].sum()) for group in groups]
    limits = [_limits(m - found.radius, m + found.radius) for m in middle]
    return _Band(limits, found.radius)


def _limits(low: float, high: float) -> tuple[float, float]:
    """Cut to whole counts of at least 0, as ``cell_intervals`` does."""
    lower = max(float(np.ceil(low)), 0.0)
    return lower, max(float(np.floor(high)), lower)


def _edges(release: Reported) -> Iterable[Edge]:
    together: dict[tuple[str, str], int] = {}
    for measurement in release.measurements:
        for a, b in combinations(measurement.clique, 2):
            together[a, b] = together.get((a, b), 0) + 1
    pairs = list(together)
    for pair, counts in zip(pairs, release.model.marginals(pairs) if pairs else [], strict=True):
        yield Edge(pair, together[pair], dependence(counts))
