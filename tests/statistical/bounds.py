"""Lower bounds on the privacy loss from counted outcomes: how an auditor shows that a claim is false.

Each bound holds with probability ``1 - alarm`` over the draws, by exact binomial (Clopper-Pearson) limits on both error
rates of an attacker who guesses the table from one answer. Two ways on from there:

- ``range_bound`` needs no assumption: for a mechanism of bounded range η (the exponential mechanism) no event's log odds
  differ by more than η between neighbours.
- ``gaussian_bound`` reads the two error rates as those of a pair of normal distributions μ apart, and returns μ. For noise
  that is Gaussian this is tight; the discrete Gaussian is one up to steps that the statistics here make small.
"""

from __future__ import annotations

from math import exp, log

from scipy import optimize, stats

ALARM = 1e-6
"""The probability that one bound lies above the truth."""


def at_least(hits: int, runs: int, alarm: float) -> float:
    """Return the lower Clopper-Pearson limit of a probability."""
    return 0.0 if hits == 0 else float(stats.beta.ppf(alarm, hits, runs - hits + 1))


def at_most(hits: int, runs: int, alarm: float) -> float:
    """Return the upper Clopper-Pearson limit of a probability."""
    return 1.0 if hits == runs else float(stats.beta.isf(alarm, hits + 1, runs - hits))


def range_bound(hits: int, other_hits: int, runs: int, alarm: float = ALARM) -> float:
    """Return a lower bound on η: the log odds of an event on one table, less those on its neighbour."""
    high, low = at_least(hits, runs, alarm / 2), at_most(other_hits, runs, alarm / 2)
    if high <= 0 or low >= 1:
        return 0.0
    return max(0.0, log(high / (1 - high)) - log(low / (1 - low)))


def gaussian_bound(false_alarms: int, misses: int, runs: int, alarm: float = ALARM) -> float:
    """Return a lower bound on μ: how many standard deviations apart the attacker sees the two tables."""
    a, b = at_most(false_alarms, runs, alarm / 2), at_most(misses, runs, alarm / 2)
    return max(0.0, float(-stats.norm.ppf(a) - stats.norm.ppf(b)))


def gaussian_epsilon(mu: float, delta: float) -> float:
    """Return the exact epsilon of two unit normals ``mu`` apart (Balle and Wang 2018, Theorem 8)."""

    def excess(epsilon: float) -> float:
        near = stats.norm.cdf(mu / 2 - epsilon / mu)
        return float(near - exp(epsilon + stats.norm.logcdf(-mu / 2 - epsilon / mu)) - delta)

    if mu <= 0 or excess(0.0) <= 0:
        return 0.0
    return float(optimize.brentq(excess, 0.0, mu * mu + 50 * mu))


def event_bound(hits: int, other_hits: int, runs: int, delta: float, alarm: float = ALARM) -> float:
    """Return a lower bound on epsilon from one event, without any assumption: P(S) ≤ e^ε P'(S) + δ."""
    high, low = at_least(hits, runs, alarm / 2), at_most(other_hits, runs, alarm / 2)
    return 0.0 if high <= delta else max(0.0, log((high - delta) / low))
