"""Which mechanism to use, by a forecast of the error of each: ``mechanism="auto"``, the default. Public: no table is opened.

A forecast knows the schema, the workload, the budget and about how many rows there are, and nothing of how columns depend
on each other. Where it needs that, it takes what tables have on average (``need.py``). So it is rough; what it should tell
is which mechanism comes out first. A few marginals that one model holds: measure what they say in passes (``residuals``).
Everything else, and all where the noise on a count is as large as the table: choose round by round (``aim2``), which
measures those again that matter.
Very wide tables: ``aim``, or columns alone (``independent``) where they drown.

Errors are the paper's: the mean over the workload of the L1 distance of a marginal, as a share of the rows (2 at most).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import combinations
from math import sqrt

import numpy as np

from understudy.domain import Clique
from understudy.mechanism.hdmm import moved, variances
from understudy.mechanism.need import dependence
from understudy.mechanism.penalty import fitted_errors
from understudy.mechanism.schedule import allocate
from understudy.model import tree_size
from understudy.privacy import Unit, sigma_for
from understudy.workload import Workload

GUESSED_ROWS = 10_000
"""Rows that a table is taken to have where nobody says."""
CHOOSING = 0.8
"""The share of the budget that AIM's measurements get, after choices, the check, and rounds that learn nothing."""
SPREAD = (0.2, 0.6, 1.0, 2.2)
"""Marginals of a table depend by these times the average, each as often: choosing pays where some depend little."""
COLUMNS = 0.95
"""How noisy AIM2's columns are beside those of a run that measures nothing else: what it chooses tells of them too."""
PASSES = 0.86
"""The error of residuals in passes, over that of AIM2: less with little noise, and as much where nearly all is noise."""
ONCE = 0.95
"""The most that it is over the error of residuals measured once."""
DROWNED = 1.11
"""The error of residuals over that of AIM2 where the noise on a count is as large as the table: AIM2 then measures less, and
that again."""
CHOSEN = 1.5
"""AIM measures about so many marginals for each attribute, or all that there are of a small workload."""
FALLING = 1.5
"""The i-th largest count of a marginal is taken to be in proportion to i to the power of minus this."""
MOST_CELLS = 1 << 20
"""Larger marginals are taken to have so many cells: they drown in any case."""
MOST_MARGINALS = 500
"""Of more marginals of a workload, a forecast looks at so many."""
MOST_MODELLED = 2_000
"""A workload of more marginals is taken not to fit into one model."""
WIDE = 110
"""Tables with more columns are left to ``aim``: with so many, ``aim2`` was still better for 0.9 to 1.3 of its time."""


@dataclass(frozen=True)
class Case:
    """What is known before a run."""

    workload: Workload
    rho: Fraction
    unit: Unit
    max_size: int
    rows: int = GUESSED_ROWS
    zeros: Sequence[Clique] = ()
    """The attributes of each declared impossibility, which a model must hold together."""

    @cached_property
    def modelled(self) -> bool:
        """Whether one model within ``max_size`` holds all marginals of the workload, and whether it asks for cells."""
        domain, every = self.workload.domain, self.workload.cliques
        if self.workload.asked or len(every) > MOST_MODELLED:
            return False
        return tree_size(domain, [*every, *self.zeros]) <= self.max_size

    @cached_property
    def cliques(self) -> Sequence[Clique]:
        """The marginals of the workload, or some of them where they are very many."""
        every = self.workload.cliques
        return [every[i] for i in range(0, len(every), -(-len(every) // MOST_MARGINALS))]

    @cached_property
    def weights(self) -> list[float]:
        """The weight of each of these."""
        return [self.workload.importance[r] for r in self.cliques]

    def noise(self, cells: int, sigma: float) -> float:
        """Return the error that noise leaves on a marginal of so many cells after a fit, as a share of the rows."""
        return _fitted(min(cells, MOST_CELLS), sigma / self.rows)

    def error(self, of: Callable[[Clique], float]) -> float:
        """Return the weighted mean over the workload."""
        return float(np.average([of(r) for r in self.cliques], weights=self.weights))


def forecasts(case: Case, among: Iterable[str] | None = None) -> dict[str, float]:
    """Return the error that each mechanism is expected to have, the least first; one that would refuse is left out."""
    names = FORECASTS if among is None else [name for name in FORECASTS if name in set(among)]
    found = {name: FORECASTS[name](case) for name in names}
    known = {name: error for name, error in found.items() if error is not None}
    return dict(sorted(known.items(), key=lambda one: one[1]))


def independent(case: Case) -> float:
    """Forecast for columns alone: their noise, and all that they do not say of each other."""
    return case.error(lambda r: _least(len(r), [_columns(case, r)]))


def hdmm(case: Case) -> float | None:
    """Forecast for all residuals of the workload: their noise in each marginal. None where no model holds them, and where
    sums are asked for, which are not measured as such.
    """
    if not case.modelled:
        return None
    domain = case.workload.domain
    wanted = {b: v for b, v in variances(case.workload).items() if v > 0}
    steps = {b: moved(domain, b, case.unit) for b in wanted}
    parts = allocate(case.rho, [sqrt(v) * steps[b] for b, v in wanted.items()])
    squares = {b: steps[b] ** 2 / (2 * float(part)) for b, part in zip(wanted, parts, strict=True)}

    def of(r: Clique) -> float:
        own = variances(Workload.of(domain, [r]))
        cells = domain.cells(r)
        return case.noise(cells, sqrt(sum(v * squares[b] for b, v in own.items()) / cells))

    return case.error(of)


def residuals(case: Case) -> float | None:
    """Forecast for residuals in passes: less than for both others, unless each count drowns.

    None where no model holds the workload.
    """
    once = hdmm(case)
    if once is None:
        return None
    if sigma_for(case.rho / len(case.workload.domain), case.unit) >= case.rows:
        return DROWNED * _adaptive(case)
    return min(ONCE * once, PASSES * _adaptive(case))


def aim2(case: Case) -> float | None:
    """Forecast for AIM2: each marginal by its columns, or by parts of it of any size that the budget can measure."""
    return None if len(case.workload.domain) > WIDE else _adaptive(case)


def aim(case: Case) -> float:
    """Forecast for AIM, which is behind AIM2 by so much on average (docs/aim2.md)."""
    return 1.16 * _adaptive(case)


FORECASTS: Mapping[str, Callable[[Case], float | None]] = {
    "aim2": aim2,
    "aim": aim,
    "hdmm+pgm": hdmm,
    "residuals": residuals,
    "independent": independent,
}
"""The mechanisms that are chosen from."""


def _adaptive(case: Case) -> float:
    domain = case.workload.domain
    many = round(min(len(case.workload.cliques), CHOSEN * len(case.workload.attributes)))
    scale = sigma_for(case.rho * Fraction(CHOOSING) / many, case.unit)

    def of(r: Clique) -> float:
        noise = [COLUMNS * _columns(case, r)]
        for size in range(2, len(r) + 1):
            parts = sorted(domain.cells(s) for s in combinations(r, size))[: len(r) - size + 1]
            noise.append(_quadrature(*(case.noise(n, scale) for n in parts)))
        return _least(len(r), noise)

    return case.error(of)


def _least(size: int, noise: Sequence[float]) -> float:
    """Return the error of a marginal by its parts of 1, 2, … attributes with such noise: the best for each dependence."""
    found = [
        min(_quadrature(error, times * dependence(size, known)) for known, error in enumerate(noise, start=1))
        for times in SPREAD
    ]
    return sum(found) / len(found)


def _columns(case: Case, clique: Clique) -> float:
    """Return the error in the marginal on ``clique`` that comes from columns measured alike with the whole budget."""
    domain = case.workload.domain
    sigma = sigma_for(case.rho / len(domain), case.unit)
    return _quadrature(*(case.noise(domain[a], sigma) for a in clique))


@lru_cache(maxsize=1 << 14)
def _fitted(cells: int, sigma: float) -> float:
    """Return the error of a fit to a noisy marginal whose counts fall with their rank; all as shares of the rows."""
    falling = np.arange(1.0, cells + 1) ** -FALLING
    return float(fitted_errors([falling / falling.sum()], sigma, "gaussian")[0])


def _quadrature(*errors: float) -> float:
    """Add errors that have nothing to do with each other; no distance exceeds 2."""
    return min(2.0, sqrt(sum(e**2 for e in errors)))


__all__ = ["FORECASTS", "GUESSED_ROWS", "Case", "forecasts"]
