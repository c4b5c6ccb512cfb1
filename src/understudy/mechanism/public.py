"""Public data: a model of a public table, which a run may start from. Reads the public table, and no private counts.

The model is made before the run, at no cost: marginals of the public table are chosen as AIM would, where the model is off
by more than sampling. The run then asks, for a small share of its budget, which of two models is nearer to the private
table: this one, or that of the noisy columns (``starting.py``). If it is this one, every later fit starts from it: of all
distributions that explain the answers, the one nearest to the public model is found, and answers that noise can explain are
drawn towards it.

Nothing of the promise rests on the public table. It decides what is asked and what is made of the answers, as a schema does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import pi, sqrt

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique, Zeros
from understudy.model import (
    CELL_BYTES,
    EngineFor,
    Fit,
    GraphicalModel,
    Model,
    Observation,
    candidates_within,
    combine,
    estimate_total,
    fit,
    on_cpu,
)
from understudy.privacy.fingerprint import fingerprint, fingerprinted
from understudy.source import Source
from understudy.workload import Workload

Floats = NDArray[np.float64]

SHARE_OF_SIZE = 16
"""The public model may grow to the run's capacity divided by this: every later fit has to carry it."""
MOST_CHOSEN, PER_ROUND = 48, 4
"""The public model has so many marginals besides the columns, chosen so many at a time."""
CLEARLY = 1.2
"""A marginal that is off by less than so many times what sampling comes to is taken to be right."""
LISTED, MOST_CELLS = 3_000, 2**24
"""Of more marginals than this, pairs alone are looked at, the smallest first; all have no more cells than that."""
LEAST_COUNT = 0.05
"""Expected counts below this count as this."""
POWERS = (0.0, 0.5, 1.0)
"""How a departure from the public table grows with the count: not at all, as sampling does, in proportion."""
SPREADS = 4.0 ** np.arange(9)
"""The variance of a departure beside that of sampling."""
STEPS = 30
"""Of the EM algorithm."""


@dataclass(frozen=True, eq=False)
class Public:
    """A public table, counted."""

    source: Source = field(repr=False)

    @cached_property
    def rows(self) -> int:
        """How many rows it has."""
        return int(self.source.count([()])[0])

    @cached_property
    def digest(self) -> str:
        """A digest of its counts, by which a run that is resumed knows it."""
        cliques = fingerprinted(self.source.domain)
        return fingerprint(b"public", cliques, self.source.count(cliques)).hex()

    def model(
        self, workload: Workload, zeros: Sequence[Zeros], max_size: int, engine: EngineFor = on_cpu
    ) -> Fit[GraphicalModel]:
        """Fit a model to the marginals of the public table that matter to ``workload``, within a part of ``max_size``."""
        columns: list[Clique] = [(a,) for a in workload.domain]
        limit = max_size // SHARE_OF_SIZE
        pool = _pool(workload, limit)
        counts = dict(zip([*columns, *pool], self.source.count([*columns, *pool]), strict=True))
        chosen, size, found = columns, 0, None
        while True:
            seen = [self._observed(r, counts[r]) for r in chosen]
            start = None if found is None else found.model
            found = fit(workload.domain, seen, zeros=zeros, start=start, engine=engine(size))
            size = found.model.size
            if len(chosen) >= len(columns) + MOST_CHOSEN:
                return found
            open_ = {r: counts[r] for r in pool if r not in chosen}
            held = [*chosen, *(z.clique for z in zeros)]
            new = _worst(found.model, workload, open_, held, limit)
            if not new:
                return found
            chosen = chosen + new

    def _observed(self, clique: Clique, counts: NDArray[np.int64]) -> Observation:
        """Return a marginal, as far from the truth as a sample of so many rows is, on average."""
        return Observation(clique, counts.astype(np.float64), sqrt(max(self.rows, 1) / counts.size))


@dataclass(frozen=True, eq=False)
class Prior:
    """A public model that fits start from, and the rows of the table that it was made of."""

    model: GraphicalModel
    rows: int

    def drawn(self, observations: Sequence[Observation]) -> list[Observation]:
        """Return the observations, each drawn towards the public model as far as it is credible there (empirical Bayes).

        R = y - m is a departure of the table from the public model m plus noise N(0, σ²). The departures of one marginal
        are taken to be N(0, s² m^2g) with a scale s and a power g of its own, out of a mixture that is fitted to all
        marginals together: where most agree with the public table, one that might agree does. The sum of y stays.
        """
        plain = [o for o in combine(observations) if o.query is None]
        others = [o for o in observations if o.query is not None]
        total = estimate_total(plain)
        shares = self.model.marginals([o.clique for o in plain])
        expected = [total * share / self.model.total for share in shares]
        sampled = 1 + total / max(self.rows, 1)
        signals = [sampled * _signal(m) for m in expected]
        kept = _kept(
            [(o.values - m).ravel() for o, m in zip(plain, expected, strict=True)], signals, [o.sigma for o in plain]
        )
        drawn = []
        for o, m, part in zip(plain, expected, kept, strict=True):
            off = (1 - part.reshape(m.shape)) * (o.values - m)
            drawn.append(Observation(o.clique, o.values - off + off.mean(), o.sigma))
        return [*drawn, *others]


def _pool(workload: Workload, limit: int) -> list[Clique]:
    """Return the marginals to choose from: those that could fit, and of very many cells the smallest."""
    every = workload.closure if len(workload.closure) <= LISTED else workload.closure_of(2)
    cells = workload.domain.cells
    some = sorted((r for r in every if len(r) > 1 and CELL_BYTES * cells(r) <= limit), key=cells)[:LISTED]
    within = np.cumsum([cells(r) for r in some]) <= MOST_CELLS
    return [r for r, fits in zip(some, within, strict=True) if fits]


def _worst(
    model: Model, workload: Workload, counts: Mapping[Clique, NDArray[np.int64]], held: list[Clique], limit: int
) -> list[Clique]:
    """Return the marginals that the model is off by most, beyond what sampling comes to, as many as fit with ``held``."""
    domain, names = workload.domain, list(counts)
    fitting = [r for r, fits in zip(names, candidates_within(domain, held, names, limit), strict=True) if fits]
    answers = model.marginals(fitting, precision="single")
    scores = {
        r: workload.weights[r] * (float(np.abs(counts[r] - m).sum()) - CLEARLY * _sampling(m))
        for r, m in zip(fitting, answers, strict=True)
    }
    found: list[Clique] = []
    for r in sorted(fitting, key=scores.__getitem__, reverse=True):
        if scores[r] <= 0 or len(found) == PER_ROUND:
            break
        if candidates_within(domain, [*held, *found], [r], limit)[0]:
            found.append(r)
    return found


def _sampling(expected: NDArray[np.floating]) -> float:
    """Return the L1 distance of a sample from the counts expected of it, on average."""
    return float(np.minimum(np.sqrt(2 / pi * expected), 2 * expected).sum())


def _signal(expected: Floats) -> Floats:
    """Return the variance of a departure, for each component of the mixture and each cell: of sampling, and more."""
    base = np.maximum(expected.ravel(), LEAST_COUNT)
    shapes = [base ** (2 * power) * (base.mean() / (base ** (2 * power)).mean()) for power in POWERS]
    return np.concatenate([SPREADS[:, None] * shape for shape in shapes])


def _kept(residuals: Sequence[Floats], signals: Sequence[Floats], sigmas: Sequence[float]) -> list[Floats]:
    """Return the part of each residual that the posterior mean keeps: EM for the weights that all marginals share."""
    totals = [signal + sigma**2 for signal, sigma in zip(signals, sigmas, strict=True)]
    logs = np.array([-0.5 * (np.log(t) + r**2 / t).sum(axis=1) for t, r in zip(totals, residuals, strict=True)])
    likely = np.exp(logs - logs.max(axis=1, keepdims=True))
    weights = np.full(likely.shape[1], 1 / likely.shape[1])
    for _ in range(STEPS):
        share = weights * likely
        share /= share.sum(axis=1, keepdims=True)
        weights = share.mean(axis=0) + 1e-12
        weights /= weights.sum()
    return [one @ (signal / total) for one, signal, total in zip(share, signals, totals, strict=True)]
