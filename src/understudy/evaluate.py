"""Real against synthetic: how far off a release is from the table it stands for. NOT PRIVATE, and marked so.

Reads exact counts and rows of the private table; nothing that it returns may be released.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique, Combinations, Domain
from understudy.errors import UserError
from understudy.measures import describing
from understudy.measures.columns import ColumnMeasures, measure_column
from understudy.measures.combinations import (
    Broken,
    CombinationMeasures,
    TripleMeasures,
    broken,
    measure_combinations,
    measure_triple,
)
from understudy.measures.distinction import Distinction, distinguish
from understudy.measures.groups import Grouping, measure_groups, require_groups
from understudy.measures.nearest import Membership, Nearest, attack, nearest_records
from understudy.measures.pairs import PairMeasures, both_correlations, measure_pair
from understudy.measures.prediction import Prediction, predict, require_target
from understudy.measures.rows import Tables
from understudy.measures.tables import open_table, read_tables
from understudy.metrics import RunningErrors, Subsample
from understudy.release import Release
from understudy.sampling import some_of
from understudy.source import Source
from understudy.uncertainty import Bound
from understudy.workload import Same, Workload

NOT_PRIVATE = "NOT PRIVATE: compares with the table itself. Keep what it says with the table."


MOST_COMPARED, MOST_PAIRS, MOST_TRIPLES, MOST_CELLS = 20_000, 6_000, 500, 1 << 30
"""Marginals of a workload, and cells, that are compared; of more, so many are drawn. Pairs and triples besides."""
LARGEST = 1 << 20
"""Cells of a pair or triple that is compared besides."""
AT_ONCE = 1 << 24
"""Cells of marginals that are held at a time."""
DRAWN_WITH = 0
"""The seed of the draw: the same marginals are compared each time."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """One marginal, real and synthetic. ``error`` and ``bound`` are in rows, summed over cells."""

    clique: Clique
    error: float
    """‖M(D) - M(D̂)‖₁."""
    bound: Bound | None
    real: NDArray[np.int64] | None = field(default=None, repr=False)
    """The counts of a single column; of several they are not kept."""
    synthetic: NDArray[np.float64] | None = field(default=None, repr=False)
    """As ``real``, each synthetic row counted as many times as it stands for rows."""

    @property
    def within(self) -> bool | None:
        """Whether the error is within its bound; None where there is no bound."""
        return None if self.bound is None else self.error <= self.bound.value


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """A release beside the table it stands for. NOT PRIVATE."""

    release: Release
    rows: int
    """Of the private table, exactly."""
    marginals: tuple[Comparison, ...]
    """Every marginal of the workload's closure, smallest first; of very many a part, drawn at random."""
    compared: int
    """How many marginals of the workload the errors are averages over: all, or a part drawn at random."""
    error: float
    """The workload error (L1), as a share of the rows: 0 is perfect, 2 is nothing right."""
    error_l2: float
    error_max: float
    subsample: Subsample | None
    """How many of the real rows would do as well; None for a table without rows."""
    columns: tuple[ColumnMeasures, ...]
    """Every column: means, totals, quantiles, missing share, distances."""
    pairs: tuple[PairMeasures, ...]
    """Pairs of columns: association and similarity. Of very many a part, drawn at random."""
    triples: tuple[TripleMeasures, ...]
    """Some sets of three columns, drawn at random: how alike the tables are on them."""
    groups: tuple[Grouping, ...]
    """The columns again, within the groups of each column that was asked for."""
    combinations: CombinationMeasures
    """Combinations of values that no real row has, and those declared impossible."""
    tables: Tables = field(repr=False)
    """Samples of the rows of both tables, and of those held out."""
    target: str | None = None

    @property
    def bounded(self) -> int:
        """How many marginals have a bound."""
        return sum(m.bound is not None for m in self.marginals)

    @property
    def within(self) -> int:
        """How many marginals are within their bound."""
        return sum(m.within is True for m in self.marginals)

    def worst(self, count: int = 10) -> list[Comparison]:
        """Return the marginals with the largest errors."""
        return sorted(self.marginals, key=lambda m: -m.error)[:count]

    @cached_property
    def distinction(self) -> Distinction | None:
        """How well a classifier tells real rows from synthetic ones: pMSE and AUC; None where there are too few rows."""
        return distinguish(self.tables.real, self.tables.made)

    @cached_property
    def prediction(self) -> Prediction | None:
        """Train on synthetic, test on the held-out rows; None unless ``holdout`` and ``target`` were given."""
        held = self.tables.held
        if self.target is None or held is None:
            return None
        return predict(self.target, self.tables.real, self.tables.made, held)

    @cached_property
    def nearest(self) -> Nearest | None:
        """How near synthetic rows come to real ones; None where there are too few rows."""
        return nearest_records(self.tables.real, self.tables.made, self.tables.held)

    @cached_property
    def membership(self) -> Membership | None:
        """An attack that guesses who was in the table; None unless ``holdout`` was given."""
        held, privacy = self.tables.held, self.release.manifest.privacy
        return None if held is None else attack(self.tables.real, self.tables.made, held, privacy.epsilon, privacy.delta)

    @cached_property
    def scores(self) -> dict[str, float | None]:
        """The scores that people know (SDMetrics, NIST, pMSE), by name."""
        return describing.scores(self.columns, self.pairs, self.triples, self.distinction)

    def describe(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        sample, tables, plain = self.subsample, self.tables, describing.plain
        return {
            "private": False,
            "notice": NOT_PRIVATE,
            "rows": self.rows,
            "synthetic_rows": self.release.manifest.table.rows,
            "workload": self.release.manifest.workload.name,
            "compared": self.compared,
            "workload_error": self.error,
            "workload_error_l2": self.error_l2,
            "workload_error_max": self.error_max,
            "subsample_rows": None if sample is None or np.isinf(sample.rows) else sample.rows,
            "subsample_fraction": None if sample is None or np.isinf(sample.fraction) else sample.fraction,
            "bounded": self.bounded,
            "within_bound": self.within,
            "confidence": self.release.manifest.confidence,
            "sampled": {"real": tables.real.sampled, "synthetic": tables.made.sampled},
            "held_out_rows": None if tables.held is None else tables.held.total,
            "scores": self.scores,
            "columns": [describing.column(m, self.release.schema) for m in self.columns],
            "pairs": [plain(m) for m in self.pairs],
            "groups": plain(self.groups),
            "combinations": plain(self.combinations),
            "prediction": plain(self.prediction),
            "distinction": plain(self.distinction),
            "nearest": plain(self.nearest),
            "membership": plain(self.membership),
            "marginals": [_described(m, max(self.rows, 1)) for m in self.marginals],
        }

    def __repr__(self) -> str:
        return (
            f"*** {NOT_PRIVATE} ***\nEvaluation: workload error {self.error:.4f} "
            f"({self.within} of {self.bounded} marginals within their bound)"
        )


def _described(m: Comparison, rows: int) -> dict[str, Any]:
    return {
        "columns": list(m.clique),
        "error": m.error / rows,
        "bound": None if m.bound is None else m.bound.value / rows,
        "kind": None if m.bound is None else m.bound.kind,
    }


def evaluate(
    data: Any, release: Release, *, holdout: Any = None, target: str | None = None, by: Sequence[str] = ()
) -> Evaluation:
    """Compare ``release`` with the private table ``data``: its workload, columns, pairs and rows. NOT PRIVATE.

    Errors are those of the synthetic table, each of its rows counted as many times as it stands for rows. Of very many
    marginals a part is compared, and of very many rows a sample, both drawn at random with a fixed seed. ``by`` names
    columns whose groups are compared, too. ``holdout`` has real rows that the release never saw: for attacks, and for
    predicting ``target``.
    """
    by = (by,) if isinstance(by, str) else tuple(by)
    release.schema.require_counted([*by, *([] if target is None else [target])])
    _require(release.domain, holdout, target, by)
    source, reader = open_table(data, release.schema)
    found = _Counted(release, source, by)
    tables = read_tables(data, reader, release, holdout, by)
    correlated = both_correlations(tables.real, tables.made)
    return Evaluation(
        release=release,
        rows=found.errors.total,
        marginals=tuple(sorted(found.marginals.values(), key=lambda m: len(m.clique))),
        compared=found.compared,
        error=found.errors.l1,
        error_l2=found.errors.l2,
        error_max=found.errors.worst,
        subsample=found.errors.subsample,
        columns=tuple(measure_column(c, found.singles[c.name], tables) for c in release.schema.columns),
        pairs=(pairs := tuple(m.correlated(correlated.get(m.clique)) for m in found.pairs)),
        triples=tuple(found.triples),
        groups=tuple(measure_groups(release.schema[n], found.grouped[n], tables) for n in by),
        combinations=measure_combinations(pairs, found.triples, list(_broken(release, source))),
        tables=tables,
        target=target,
    )


def _require(domain: Domain, holdout: Any, target: str | None, by: Sequence[str]) -> None:
    """Refuse what cannot be measured, before anything is read."""
    for name in by:
        require_groups(domain, name)
    if target is not None:
        require_target(domain, target)
        if holdout is None:
            raise UserError(
                "A target needs rows that the release never saw (--holdout). Keep some back before you make the release."
            )


class _Counted:
    """What follows from counts of both tables, marginal by marginal, some at a time."""

    def __init__(self, release: Release, source: Source, by: Sequence[str]) -> None:
        workload, domain = release.workload, release.domain
        own, others = _compared(workload)
        self.compared = len(own)
        self.errors = RunningErrors(workload, int(source.count([()])[0]))
        self.marginals: dict[Clique, Comparison] = {}
        self.singles: dict[str, tuple[NDArray[Any], NDArray[Any]]] = {}
        self.pairs: list[PairMeasures] = []
        self.triples: list[TripleMeasures] = []
        self.grouped: dict[str, dict[str, tuple[NDArray[Any], NDArray[Any]]]] = {name: {} for name in by}
        self._costs = dict(zip(own, _costs(workload, own), strict=True))
        self._scale = len(workload.cliques) / len(own) / workload.queries
        self._listed = {*own, *others}
        beside = [*_beside(domain, by)]
        self._triples = {r for r in beside if len(r) == 3}
        for block in domain.blocks(dict.fromkeys([*others, *own, *beside]), AT_ONCE):
            real, made = source.count(block), release.table_marginals(block)
            self._add_errors(block, real, made)
            for clique, r, m in zip(block, real, made, strict=True):
                if clique in self._listed:
                    self.marginals[clique] = _comparison(clique, r, m, release.bounds.get(clique))
                self._add(clique, r, m)

    def _add_errors(self, block: Sequence[Clique], real: Sequence[Any], made: Sequence[Any]) -> None:
        mine = [i for i, clique in enumerate(block) if clique in self._costs]
        weights = {block[i]: self._costs[block[i]] for i in mine}
        self.errors.add(weights, self._scale, [real[i] for i in mine], [made[i] for i in mine])

    def _add(self, clique: Clique, real: NDArray[Any], made: NDArray[Any]) -> None:
        if len(clique) == 1:
            self.singles[clique[0]] = real, made
        if len(clique) == 2:
            self.pairs.append(measure_pair(clique, real, made))
            for first, other, axes in ((*clique, (0, 1)), (*clique[::-1], (1, 0))):
                if first in self.grouped:
                    self.grouped[first][other] = real.transpose(axes), made.transpose(axes)
        if clique in self._triples:
            self.triples.append(measure_triple(clique, real, made))


def _compared(workload: Workload) -> tuple[list[Clique], list[Clique]]:
    """Return the workload's own marginals to compare, and the smaller ones of its closure beside them."""
    mean = max(1, workload.cells // len(workload.closure))
    most = max(1, min(MOST_COMPARED, MOST_CELLS // mean))
    rng = np.random.default_rng(DRAWN_WITH)
    own = some_of(workload.cliques, most, rng)
    if len(workload.closure) <= most:
        others = list(workload.closure)
    else:
        others = [*workload.closure_of(1), *some_of(workload.closure_of(2), min(most, MOST_PAIRS), rng)]
    taken = frozenset(own)
    return own, [r for r in others if r not in taken]


def _beside(domain: Domain, by: Sequence[str]) -> Iterator[Clique]:
    """Yield what is compared whatever the workload is: columns, pairs with those to group by, other pairs, some triples."""
    rng = np.random.default_rng(DRAWN_WITH)
    yield from Combinations(domain, ((1, None),))
    for name in by:
        yield from Combinations(domain, ((2, name),)) if len(domain) > 1 else ()
    for size, most in ((2, MOST_PAIRS), (3, MOST_TRIPLES)):
        if len(domain) >= size:
            drawn = some_of(Combinations(domain, ((size, None),)), most, rng)
            yield from (r for r in drawn if domain.cells(r) <= LARGEST)


def _broken(release: Release, source: Source) -> Iterator[Broken]:
    zeros = release.schema.zeros
    if not zeros:
        return
    cliques = [z.clique for z in zeros]
    for rule, real, made in zip(zeros, source.count(cliques), release.table_marginals(cliques), strict=True):
        yield broken(rule, release.domain, real, made)


def _costs(workload: Workload, own: Sequence[Clique]) -> Sequence[float]:
    """Return the weights of ``own``."""
    if isinstance(workload.query_weights, Same):
        return [workload.query_weights.value] * len(own)
    weights = dict(zip(workload.cliques, workload.query_weights, strict=True))
    return [weights[clique] for clique in own]


def _comparison(clique: Clique, real: NDArray[np.int64], made: NDArray[np.float64], bound: Bound | None) -> Comparison:
    error = float(np.abs(real - made).sum())
    return Comparison(clique, error, bound, *((real, made) if len(clique) == 1 else ()))
