"""Relaxed projection: fit a mixture of products to noisy marginals, by Adam on the squared error. Public numbers only.

Aydore et al., 2021: a table of some rows, each value of it relaxed to probabilities, is moved until its marginals are near
the noisy ones. The problem is not convex: what is found depends on the start, which is drawn from a generator seeded by the
observations themselves. So the fit follows from public answers alone, and a resumed run finds the same.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Domain, Zeros
from understudy.errors import InternalError
from understudy.model.estimation import Fit
from understudy.model.mixture import Mixture, mixture_size, product
from understudy.model.model import Model
from understudy.model.observation import Observation, combine, estimate_total
from understudy.model.threads import one_thread

Floats = NDArray[np.floating]
"""In single precision, while a fit lasts."""

COMPONENTS = 1000
"""Rows of the relaxed table."""
STEPS = 80
"""Steps of a fit that starts from an earlier one …"""
FIRST_STEPS = 160
"""… and of one that starts afresh."""
RATE, FADING = 0.1, 0.1
"""How far Adam moves a log-probability in a step: at first, and which part of that at the end."""
FIRST, SECOND, TINY = 0.9, 0.99, 1e-12
"""Adam's own: how long it remembers slopes and their squares, and what it adds to a root."""
AT_A_STEP = 1 << 15
"""Cells of observed marginals that a step looks at: of more, some in one step and others in the next."""
SPREAD = 1.0
"""How far the first components differ, in log-probabilities."""


def relax(
    domain: Domain,
    observations: Sequence[Observation],
    *,
    zeros: Sequence[Zeros] = (),
    start: Model | None = None,
    longer: int = 1,
) -> Fit[Mixture]:
    """Fit a mixture to ``observations``: minimise the sum of ``(answer - value)² / (2 sigma²)``, from ``start`` on.

    ``longer`` is how many times as many steps are taken.
    """
    problem = Problem(domain, observations)
    if isinstance(start, Mixture):
        logits = np.hstack([np.log(np.maximum(table, np.finfo(np.float32).tiny)) for table in start.tables])
    else:
        logits = _first(problem)
    steps = longer * (FIRST_STEPS if start is None else STEPS)
    return descend(problem, [logits.astype(np.float32)], _Logits(), steps, RATE)


def relaxed_size(domain: Domain) -> int:
    """Return the bytes of a mixture that is fitted."""
    return mixture_size(domain, COMPONENTS)


class Problem:
    """The squared error of a mixture's answers, in units of the noise, and its slope by the mixture's tables."""

    def __init__(self, domain: Domain, observations: Sequence[Observation]) -> None:
        self.domain, self.observations = domain, combine(observations)
        if not self.observations:
            raise InternalError("A model needs at least one observation to be fitted to.")
        self.total = float(estimate_total(self.observations))
        self.cuts = np.cumsum(domain.sizes)[:-1]
        clearest = min(o.sigma for o in self.observations)
        self._terms = [_Term.of(domain, o, self.total, clearest) for o in self.observations]

    @property
    def noise_level(self) -> float:
        """The loss that the truth itself would have, about: half the number of answers."""
        return sum(o.values.size for o in self.observations) / 2

    def evaluate(self, logits: Floats, some: Sequence[int] | None = None) -> tuple[float, Floats]:
        """Return the loss, and its slope by the log-probabilities (components × the codes of all attributes).

        The slope is in units of its own, the same for all: it never grows too large, whatever the counts are. Both are of
        ``some`` observations, where these are given.
        """
        tables = self.tables(logits)
        slopes = [np.zeros_like(table) for table in tables]
        chosen = self._terms if some is None else [self._terms[i] for i in some]
        loss = sum(term.add(tables, slopes) for term in chosen)
        back = [p * (s - (p * s).sum(axis=1, keepdims=True)) for p, s in zip(tables, slopes, strict=True)]
        return loss, np.hstack(back)

    def deal(self, rng: np.random.Generator) -> Iterator[list[int] | None]:
        """Yield which observations a step looks at: all of them; of very many some after others, in random order."""
        cells = [self.domain.cells(o.clique) for o in self.observations]
        while sum(cells) <= AT_A_STEP:
            yield None
        while True:
            some: list[int] = []
            for i in rng.permutation(len(cells)).tolist():
                if some and sum(cells[j] for j in some) + cells[i] > AT_A_STEP:
                    yield some
                    some = []
                some.append(i)
            yield some

    def tables(self, logits: Floats) -> list[Floats]:
        """Return the probabilities: attribute by attribute, components × codes."""
        return [softmax(part) for part in np.split(logits, self.cuts, axis=1)]

    def generator(self) -> np.random.Generator:
        """Return a generator that is the same for the same observations: public, and the same in a resumed run."""
        found = hashlib.sha256()
        for o in self.observations:
            found.update(repr((o.clique, o.sigma)).encode() + np.ascontiguousarray(o.values).tobytes())
        return np.random.default_rng(int.from_bytes(found.digest()[:16], "big"))


class Parameters:
    """What is moved, and the log-probabilities that follow from it."""

    def forward(self, values: Sequence[Floats]) -> tuple[Floats, Callable[[Floats], list[Floats]]]:
        """Return the log-probabilities, and what takes their slope back to the values."""
        raise NotImplementedError

    def kept(self, values: Sequence[Floats]) -> tuple[Floats, ...]:
        """Return what the next fit goes on from, where that is more than the tables."""
        return ()


class _Logits(Parameters):
    """The log-probabilities themselves."""

    def forward(self, values: Sequence[Floats]) -> tuple[Floats, Callable[[Floats], list[Floats]]]:
        return values[0], lambda slope: [slope]


def descend(problem: Problem, values: list[Floats], parameters: Parameters, steps: int, rate: float) -> Fit[Mixture]:
    """Take so many steps of Adam, each shorter than the last, and return the mixture that comes of it."""
    began = time.perf_counter()
    adam = _Adam([np.zeros_like(v) for v in values], [np.zeros_like(v) for v in values])
    with one_thread(), np.errstate(invalid="ignore"):  # BLAS raises it for lanes that it drops; the loss is looked at below
        dealt = problem.deal(problem.generator())
        for step in range(steps):
            logits, back = parameters.forward(values)
            _, slope = problem.evaluate(logits, next(dealt))
            adam.move(values, back(slope), rate * FADING ** (step / steps))
        logits, _ = parameters.forward(values)
        loss, _ = problem.evaluate(logits)
        tables = tuple(np.asarray(t, np.float64) for t in problem.tables(logits.astype(np.float64)))
    if not np.isfinite(loss):
        raise InternalError(f"The fit ended with a loss of {loss} after {steps} steps.")
    weights = np.full(len(logits), 1 / len(logits))
    model = Mixture(problem.domain, tables, weights, problem.total, state=parameters.kept(values))
    return Fit(model, steps, loss, loss / problem.noise_level, "steps taken", time.perf_counter() - began)


@dataclass
class _Adam:
    """Kingma and Ba, 2015: a step by the mean of recent slopes over the root of their mean square."""

    mean: list[Floats]
    square: list[Floats]
    steps: int = 0

    def move(self, values: list[Floats], slopes: Sequence[Floats], rate: float) -> None:
        self.steps += 1
        rate *= (1 - SECOND**self.steps) ** 0.5 / (1 - FIRST**self.steps)
        for value, slope, mean, square in zip(values, slopes, self.mean, self.square, strict=True):
            np.add(FIRST * mean, (1 - FIRST) * slope, out=mean)
            np.add(SECOND * square, (1 - SECOND) * slope * slope, out=square)
            np.subtract(value, np.float32(rate) * mean / (np.sqrt(square) + np.float32(TINY)), out=value)


@dataclass(frozen=True, eq=False)
class _Term:
    """One observation: the attributes of its clique in two halves, so that its marginal is one matrix product."""

    observation: Observation
    left: tuple[int, ...]
    right: tuple[int, ...]
    shape: tuple[int, ...]
    axes: tuple[int, ...]
    """Where the halves' attributes are among the clique's."""
    total: float
    clearest: float
    """The least noise of all observations."""

    @classmethod
    def of(cls, domain: Domain, observation: Observation, total: float, clearest: float) -> _Term:
        """Cut the clique where the halves have fewest cells, smallest attributes first."""
        shape = domain.shape(observation.clique)
        axes = sorted(range(len(shape)), key=lambda i: shape[i])
        cut = min(range(len(axes)), key=lambda c: _cells(shape, axes[:c]) + _cells(shape, axes[c:]), default=0)
        places = [domain.index(observation.clique[i]) for i in axes]
        return cls(observation, tuple(places[:cut]), tuple(places[cut:]), shape, tuple(axes), total, clearest)

    def add(self, tables: Sequence[Floats], slopes: Sequence[Floats]) -> float:
        """Add the slope of this observation's part of the loss to ``slopes``, and return that part."""
        one = np.ones((len(tables[0]), 1), np.float32)
        left, right = product([one, *(tables[a] for a in self.left)]), product([one, *(tables[a] for a in self.right)])
        loss, weight = self._weighed(left.T @ right / len(one))
        _spread(right @ weight.T, [tables[a] for a in self.left], [slopes[a] for a in self.left])
        _spread(left @ weight, [tables[a] for a in self.right], [slopes[a] for a in self.right])
        return loss

    def _weighed(self, halves: Floats) -> tuple[float, Floats]:
        """Return the loss of a marginal (shares of left × right cells), and its slope by each cell."""
        o, back = self.observation, np.argsort(self.axes)
        marginal = self.total * halves.reshape([self.shape[i] for i in self.axes]).transpose(back).astype(np.float64)
        answers = marginal if o.query is None else o.query.forward(marginal)
        errors = (answers - o.values) / o.sigma
        by_cell = errors if o.query is None else o.query.adjoint(errors)
        slope = (
            np.asarray(by_cell * (self.clearest / o.sigma) * (self.clearest / self.total))
            .transpose(self.axes)
            .reshape(halves.shape)
        )
        return float(np.vdot(errors, errors)) / 2, slope.astype(np.float32)


def _spread(slope: Floats, tables: Sequence[Floats], slopes: Sequence[Floats]) -> None:
    """Take the slope by the product of some columns back to each of them."""
    while len(tables) > 1:
        *others, last = tables
        joint, cube = product(others), slope.reshape(len(last), -1, last.shape[1])
        slopes[-1][...] += np.matmul(joint[:, None, :], cube)[:, 0]
        slope, tables, slopes = np.matmul(cube, last[:, :, None])[:, :, 0], others, slopes[:-1]
    if tables:
        slopes[0][...] += slope


def softmax(logits: Floats) -> Floats:
    """Return probabilities, row by row."""
    raised: Floats = np.exp(logits - logits.max(axis=1, keepdims=True))
    raised /= raised.sum(axis=1, keepdims=True)
    return raised


def _first(problem: Problem) -> Floats:
    """Return the first log-probabilities: what is observed of each attribute alone, varied at random in each component."""
    varied = problem.generator().standard_normal((COMPONENTS, sum(problem.domain.sizes)))
    return np.asarray(alone(problem) + SPREAD * varied)


def alone(problem: Problem) -> NDArray[np.float64]:
    """Return the log-probabilities that are observed of each attribute alone; where none are, even ones."""
    known = {o.clique[0]: o.values for o in problem.observations if len(o.clique) == 1 and o.query is None}
    found = []
    for attribute, size in zip(problem.domain, problem.domain.sizes, strict=True):
        shares = np.maximum(known.get(attribute, np.ones(size)), 0.0) + problem.total * 1e-3 / size
        found.append(np.log(shares / shares.sum()))
    return np.concatenate(found)


def _cells(shape: Sequence[int], axes: Sequence[int]) -> int:
    return prod(shape[i] for i in axes)
