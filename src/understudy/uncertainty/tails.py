"""How large integer noise gets: upper tails of its L1 norm over many cells, and of a single cell.

Public: functions of noise levels and sizes alone. The lemmas are proved in docs/bounds.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import erf, exp, inf, log, log1p, pi, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from understudy.privacy.noise import NoiseKind

Floats = NDArray[np.float64]

LARGEST_LATTICE = 20_000
"""Scales above this are not summed over the integers: bounds that need no sum are as good there."""

_NORMAL = NormalDist()
_REACH = 14
"""Sums over the integers stop at this many scales (Gaussian), where less than 1e-42 is left."""
_LAPLACE_REACH = 60
"""The same for Laplace noise, where less than 1e-26 is left."""

_U = np.logspace(-4, 1.2, 160)
"""Chernoff parameters in units of one over the deviation: any gives a valid bound, and the least is taken."""


@dataclass(frozen=True)
class Term:
    """``repeats`` independent draws of one integer noise, each multiplied by ``factor`` > 0."""

    factor: float
    noise: NoiseKind
    scale: float
    repeats: int

    @property
    def variance(self) -> float:
        """At most this: the discrete Gaussian's lies below scale², the discrete Laplace's below 2 scale²."""
        one = self.scale**2 if self.noise == "gaussian" else 2 * self.scale**2
        return self.factor**2 * one * self.repeats


def deviation(terms: Sequence[Term]) -> float:
    """Return the standard deviation of a sum of ``terms``, rounded up."""
    return sqrt(sum(term.variance for term in terms))


@lru_cache(maxsize=4096)
def l1_radius(cells: tuple[tuple[Term, int], ...], beta: float) -> float:
    """Return R with P(Σ |x_i| > R) ≤ ``beta``, for independent x_i: so many of each term (Lemma 2).

    Chernoff's bound, from the least of several bounds on E exp(t |x|).
    """
    count = sum(number for _, number in cells)
    if count == 0:
        return 0.0
    unit = sqrt(sum(number * term.variance for term, number in cells) / count)
    exponent = sum((number * _log_absolute_moment(term, unit) for term, number in cells), np.zeros(len(_U)))
    return float(np.min((exponent - log(beta)) * unit / _U))


@lru_cache(maxsize=4096)
def cell_radius(terms: tuple[Term, ...], beta: float) -> float:
    """Return h with P(|x| > h) ≤ ``beta``, for one sum x of ``terms`` (Lemma 3)."""
    t = _U / deviation(terms)
    found = [float(np.min((_log_two_sided(terms, t) - log(beta)) / t))]
    if _single(terms):
        found.append(terms[0].factor * _lattice_quantile(terms[0], beta))
    if _gaussian(terms):
        found += [_smoothed_quantile(terms, extra, beta) for extra in _smoothings(terms)]
    return min(found)


def half(noise: NoiseKind, scale: float) -> tuple[Floats, Floats]:
    """Return k = 0, 1, 2, … and P(|z| = k), to where the tail no longer counts."""
    if noise == "gaussian":
        k = np.arange(int(_REACH * scale) + 12, dtype=np.float64)
        p = np.exp(-0.5 * (k / scale) ** 2)
    else:
        k = np.arange(int(_LAPLACE_REACH * scale) + 12, dtype=np.float64)
        p = np.exp(-k / scale)
    p[1:] *= 2
    seen = p > 0  # of small scales, nearly all is at 0; what cannot be told from 0 would be multiplied with infinity
    return k[seen], p[seen] / p.sum()


def log_mgf(noise: NoiseKind, scale: float, t: Floats) -> Floats:
    """Return log E exp(t z), t ≥ 0: for the discrete Gaussian its bound scale² t²/2."""
    if noise == "gaussian":
        return np.asarray(0.5 * (scale * t) ** 2)
    rate = 1 / scale
    safe = np.minimum(t, 0.999 * rate)  # E exp(tz) = (1-q)² / ((1 - q e^t) (1 - q e^-t)), q = exp(-1/scale)
    value = 2 * log(-np.expm1(-rate)) - np.log(-np.expm1(safe - rate)) - np.log(-np.expm1(-safe - rate))
    return np.where(t <= safe, value, inf)


@lru_cache(maxsize=256)
def _log_absolute_moment(term: Term, unit: float) -> Floats:
    """Return a bound on log E exp(t |x|) for each t of ``_U`` / ``unit``: the least of the forms (a) to (c) of Lemma 2."""
    t = _U / unit
    found = [_log_two_sided((term,), t)]
    if _single((term,)):
        found.append(_log_absolute(term, t))
    if term.noise == "gaussian":
        for extra in _smoothings((term,)):
            found.append(_log_half_normal(t * sqrt(term.variance + extra)) + _log_price((term,), extra))
    return np.asarray(np.min(found, axis=0))


def _log_half_normal(u: Floats) -> Floats:
    """log E exp(u |x|) for x ~ N(0, 1), which is log(2 Φ(u)) + u²/2."""
    return np.array([log1p(erf(v / sqrt(2))) for v in u]) + u * u / 2


def _log_two_sided(terms: Sequence[Term], t: Floats) -> Floats:
    """log E exp(t |x|) ≤ log 2 + Σ log E exp(t x), since x is symmetric."""
    total = np.full(len(t), log(2.0))
    for term in terms:
        total += term.repeats * log_mgf(term.noise, term.scale, term.factor * t)
    return total


def _log_absolute(term: Term, t: Floats) -> Floats:
    """log E exp(t |x|) of a single draw, summed over the integers; infinite where the sum is not safe."""
    k, p = half(term.noise, term.scale)
    reach = 4 / term.scale if term.noise == "gaussian" else 0.5 / term.scale  # beyond, the cut tail would count
    safe = np.minimum(term.factor * t, reach)
    value = np.array([log(float(p @ np.exp(s * k))) for s in safe])
    return np.where(term.factor * t <= reach, value, inf)


def _smoothings(terms: Sequence[Term]) -> list[float]:
    """Return variances to add (Lemma 1): more of it costs width, less of it costs probability."""
    finest = min(term.factor for term in terms) ** 2
    return [finest * c for c in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.5)]


def _log_price(terms: Sequence[Term], extra: float) -> float:
    """Return Σ log(1 + δ_j) of Lemma 1, adding terms to a Gaussian of variance ``extra``, finest first."""
    variance, total = extra, 0.0
    for term in sorted(terms, key=lambda term: term.factor):
        total += log1p(_theta(term, variance))
        variance += (term.factor * term.scale) ** 2
        if term.repeats > 1:  # the price falls as the variance grows: the second draw's stands for the later ones
            total += (term.repeats - 1) * log1p(_theta(term, variance))
            variance += (term.repeats - 1) * (term.factor * term.scale) ** 2
    return total


def _theta(term: Term, variance: float) -> float:
    """δ = 2 Σ_m exp(-2π² m² τ²), τ² = σ² v / (σ² + v) in units of the term's lattice; a geometric bound."""
    own, other = term.scale**2, variance / term.factor**2
    q = exp(-2 * pi**2 * own * other / (own + other))
    return 2 * q / (1 - q**3) if q < 1 else inf


def _smoothed_quantile(terms: Sequence[Term], extra: float, beta: float) -> float:
    """P(|x| > h) ≤ (1+δ) P(|N(0, v+c)| > h - g) / P(|N(0, c)| ≤ g), for any g: Lemma 3."""
    sigma, small = sqrt(deviation(terms) ** 2 + extra), sqrt(extra)
    price, best = _log_price(terms, extra), inf
    for steps in (1.5, 2.0, 2.5, 3.0, 3.5, 4.0):
        kept = 1 - 2 * _NORMAL.cdf(-steps)
        tail = 0.5 * beta * kept * exp(-price) if price < 700 else 0.0
        if tail > 1e-300:
            best = min(best, steps * small - sigma * _NORMAL.inv_cdf(tail))
    return best


def _lattice_quantile(term: Term, beta: float) -> float:
    """Return the least integer h with P(|z| > h) ≤ ``beta``, where the sum over the integers can tell."""
    k, p = half(term.noise, term.scale)
    tail = np.concatenate([np.cumsum(p[::-1])[::-1][1:], [0.0]])
    return float(k[np.argmax(tail <= beta)]) if beta > 1e-12 else inf


def _single(terms: Sequence[Term]) -> bool:
    return len(terms) == 1 and terms[0].repeats == 1 and terms[0].scale <= LARGEST_LATTICE


def _gaussian(terms: Sequence[Term]) -> bool:
    return all(term.noise == "gaussian" for term in terms)
