"""What a model is fitted to: noisy linear answers about marginals, laid out in one flat vector. Public numbers only.

Repeated answers about one marginal are combined by inverse variance first, which loses nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique, Domain
from understudy.errors import InternalError
from understudy.model.correlated import Spread
from understudy.model.network import Flat, Network

Tables = Mapping[Clique, NDArray[np.float64]]
"""Log-potentials by clique."""


class Query(Protocol):
    """A linear map of a marginal, with its adjoint."""

    @property
    def answers(self) -> int:
        """How many numbers the query answers with."""

    @property
    def reach(self) -> float:
        """How far one record moves the answers, in L2, at most."""

    def forward(self, marginal: NDArray[np.float64]) -> Flat:
        """Return the answers (flat) about a marginal (shaped)."""

    def adjoint(self, answers: Flat) -> NDArray[np.float64]:
        """Return what ``answers`` weigh in each cell (shaped): the transpose of ``forward``."""


@dataclass(frozen=True)
class MatrixQuery:
    """A query given by its matrix: answers × cells, the cells in the order of the clique's table."""

    matrix: NDArray[np.float64]
    shape: tuple[int, ...]

    @property
    def answers(self) -> int:
        """How many numbers the query answers with."""
        return int(self.matrix.shape[0])

    @property
    def reach(self) -> float:
        """The largest L2 norm of a column; 1 where all are 0."""
        return float(np.sqrt((self.matrix**2).sum(axis=0).max())) or 1.0

    def forward(self, marginal: NDArray[np.float64]) -> Flat:
        """Multiply the matrix by the flattened marginal."""
        return np.asarray(self.matrix @ marginal.ravel())

    def adjoint(self, answers: Flat) -> NDArray[np.float64]:
        """Multiply the transposed matrix by the answers."""
        return np.asarray(self.matrix.T @ answers).reshape(self.shape)


@dataclass(frozen=True)
class Observation:
    """Noisy answers about the marginal on ``clique``: its cells by default, else a linear ``query`` of them.

    ``values`` has the shape of the clique (or one number an answer); each carries noise of standard deviation ``sigma``.
    """

    clique: Clique
    values: NDArray[np.float64]
    sigma: float
    query: Query | None = None
    spread: Spread | None = None
    """Where the noise is shared by cells: its covariance over ``sigma`` squared. ``query`` is None then."""

    def __post_init__(self) -> None:
        """Refuse what no fit could use."""
        if not (self.sigma > 0 and np.isfinite(self.sigma)):
            raise InternalError(f"An observation of {self.clique} has sigma {self.sigma}; it must be positive.")
        if not np.all(np.isfinite(self.values)):
            raise InternalError(f"An observation of {self.clique} is not finite.")

    @property
    def deviations(self) -> Flat:
        """The standard deviation of the noise on each answer (flat)."""
        even = np.full(self.values.size, self.sigma)
        return even if self.spread is None else even * np.sqrt(self.spread.diagonal.ravel())


def combine(observations: Sequence[Observation]) -> list[Observation]:
    """Merge repeated observations of one marginal, or of one query of it, by inverse variance: marginals, then queries."""
    merged: dict[tuple[Clique, int], Observation] = {}
    for new in observations:
        key = (new.clique, id(new.query))
        old = merged.get(key)
        if old is None:
            merged[key] = Observation(new.clique, np.asarray(new.values, dtype=np.float64), new.sigma, new.query)
        else:
            a, b = old.sigma**-2, new.sigma**-2
            values = (a * old.values + b * new.values) / (a + b)
            merged[key] = Observation(new.clique, values, (a + b) ** -0.5, new.query)
    plain = [o for o in merged.values() if o.query is None]
    return [*plain, *(_scaled(o) for o in merged.values() if o.query is not None)]


@dataclass(frozen=True)
class ScaledQuery:
    """A query whose answers are divided by ``scale``."""

    query: Query
    scale: float

    @property
    def answers(self) -> int:
        """How many numbers the query answers with."""
        return self.query.answers

    @property
    def reach(self) -> float:
        """How far one record moves the answers, in L2, at most."""
        return self.query.reach / self.scale

    def forward(self, marginal: NDArray[np.float64]) -> Flat:
        """Ask, and divide."""
        return self.query.forward(marginal) / self.scale

    def adjoint(self, answers: Flat) -> NDArray[np.float64]:
        """Return what ``answers`` weigh in each cell."""
        return self.query.adjoint(answers) / self.scale


def _scaled(observation: Observation) -> Observation:
    """Return the same with answers that a record moves by 1: a solver takes all answers for counts."""
    query = observation.query
    if query is None or query.reach == 1:
        return observation
    by = query.reach
    return Observation(observation.clique, observation.values / by, observation.sigma / by, ScaledQuery(query, by))


def by_cells(observation: Observation, total: float) -> Observation:
    """Return sums as what they say of cells, of which there are ``total``; where they do not tell all cells, as they are."""
    asked, by = _unscaled(observation.query)
    spread = Spread.of(asked)
    if spread is None:
        return observation
    cells = spread.cells(by * np.ravel(observation.values))
    sums = spread.covered(np.ones(cells.size)).reshape(cells.shape)
    cells = cells + (total - cells.sum()) / sums.sum() * sums
    return Observation(observation.clique, cells, by * observation.sigma, spread=spread)


def estimate_total(observations: Sequence[Observation]) -> float:
    """Return the inverse-variance mean of what the observed marginals add up to, at least 1 (a model needs a mass).

    Sums that tell every cell say it, too.
    """
    told = [known for known in map(_told_of_rows, observations) if known is not None]
    if not told:
        return 1.0
    total = sum(value / variance for value, variance in told) / sum(1.0 / variance for _, variance in told)
    return max(1.0, total)


def total_stddev(observations: Iterable[Observation]) -> float | None:
    """Return the standard deviation of the noise on ``estimate_total``; None where nothing was observed that tells it."""
    precision = sum(1.0 / told[1] for told in map(_told_of_rows, observations) if told is not None)
    return sqrt(1.0 / precision) if precision else None


def _told_of_rows(observation: Observation) -> tuple[float, float] | None:
    """Return what an observation says of the number of rows, with the variance of that; None where it says nothing."""
    if observation.query is None:
        return float(np.sum(observation.values)), observation.values.size * observation.sigma**2
    asked, by = _unscaled(observation.query)
    spread = Spread.of(asked)
    if spread is None:
        return None
    rows = float(spread.cells(by * np.ravel(observation.values)).sum())
    return rows, (by * observation.sigma) ** 2 * float(spread.covered(np.ones(spread.size)).sum())


def _unscaled(query: Query | None) -> tuple[Query | None, float]:
    """Return the query that was asked, and what its answers were divided by."""
    return (query.query, query.scale) if isinstance(query, ScaledQuery) else (query, 1.0)


class Layout:
    """Where each answer's parameter acts: from parameters (one an answer) to potentials, from marginals to answers.

    Every observed clique is read from, and its parameters act on, one maximal clique of the network that holds it. The
    cells of the observed cliques, one clique after another, are numbered 0 … ``cells`` - 1. ``index`` says, for each cell of
    the network's tables, which of them it belongs to (a column each, padded with ``cells``): potentials are gathered by
    it, and marginals summed.
    """

    def __init__(self, network: Network, observations: Sequence[Observation], prior: Tables | None = None) -> None:
        self.network = network
        self.base: Flat = network.floor.copy()
        """The log-potentials where all parameters are 0: those of ``prior``, minus infinity in forbidden cells."""
        for clique, table in (prior or {}).items():
            network.add(self.base, clique, table)
        self.observations = tuple(observations)
        self.values: Flat = np.concatenate([np.ravel(o.values) for o in observations]).astype(np.float64)
        self.sigma: Flat = np.concatenate([o.deviations for o in observations])
        self.bounds = np.cumsum([0, *(o.values.size for o in observations)])
        self._cell_bounds = np.cumsum([0, *(network.domain.cells(o.clique) for o in observations)])
        self.cells = int(self._cell_bounds[-1])
        self.index = _index(network, [o.clique for o in observations], self._cell_bounds)
        self.plain = all(o.query is None for o in observations)
        """Whether every answer is a cell's, so that ``adjoint`` and ``forward`` change nothing."""
        self.direct = self.plain and np.array_equal(self.index, np.arange(self.cells)[None])
        """Whether the answers are the cells of the network's tables, in their order."""

    def potentials(self, parameters: Flat) -> Flat:
        """Return the log-potentials of the network's tables at ``parameters``."""
        if self.direct:
            return parameters + self.base
        by_cell = np.append(self.adjoint(parameters), 0.0)
        return np.asarray(by_cell[self.index].sum(axis=0)) + self.base

    def answers(self, marginals: Flat) -> Flat:
        """Sum the network's marginals to the observed ones, and ask the queries."""
        if self.direct:
            return marginals
        weights = np.broadcast_to(marginals, self.index.shape).ravel()
        sums = np.bincount(self.index.ravel(), weights, minlength=self.cells + 1)[: self.cells]
        return self.forward(sums.astype(np.float64, copy=False))

    def split(self, flat: Flat) -> list[Flat]:
        """Cut a vector of answers into one piece an observation."""
        return [flat[a:b] for a, b in zip(self.bounds, self.bounds[1:], strict=False)]

    def adjoint(self, parameters: Flat) -> Flat:
        """Return what the parameters weigh in each cell of the observed cliques."""
        if self.plain:
            return parameters
        pieces = zip(self.observations, self.split(parameters), strict=True)
        return np.concatenate([piece if o.query is None else o.query.adjoint(piece).ravel() for o, piece in pieces])

    def forward(self, by_cell: Flat) -> Flat:
        """Return the answers about the observed cliques' cells."""
        if self.plain:
            return by_cell
        answers = []
        for o, a, b in zip(self.observations, self._cell_bounds, self._cell_bounds[1:], strict=False):
            piece = by_cell[a:b]
            shape = self.network.domain.shape(o.clique)
            answers.append(piece if o.query is None else o.query.forward(piece.reshape(shape)))
        return np.concatenate(answers)


def _index(network: Network, cliques: Sequence[Clique], bounds: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return, for each cell of the network's tables, the cells of ``cliques`` that it belongs to (a column each).

    Columns are padded with one cell past the end, which always holds 0.
    """
    owned: list[list[int]] = [[] for _ in network.cliques]
    for i, clique in enumerate(cliques):
        holds = next(k for k, leaf in enumerate(network.cliques) if set(clique) <= set(leaf))
        owned[holds].append(i)
    index = np.full((max(1, *map(len, owned)), network.cells), bounds[-1], dtype=np.int64)
    ends = network.starts + network.lengths
    for leaf, members, start, end in zip(network.cliques, owned, network.starts, ends, strict=True):
        for row, i in enumerate(members):
            index[row, start:end] = bounds[i] + spread(network.domain, cliques[i], leaf)
    return index


def spread(domain: Domain, clique: Clique, onto: Clique) -> NDArray[np.int64]:
    """Return, for each cell of ``onto``, the number of the cell of ``clique`` that it falls in."""
    shape = [domain[a] if a in clique else 1 for a in onto]
    numbers = np.arange(domain.cells(clique), dtype=np.int64).reshape(shape)
    return np.broadcast_to(numbers, domain.shape(onto)).ravel()
