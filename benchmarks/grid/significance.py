"""How sure a difference is: ratios by geometric mean, one-sided t-tests combined by Stouffer's method, as in the paper.

Pure functions on errors. SciPy comes with scikit-learn (bench) and is in the test group.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, fsum, log, sqrt

LEAST_P = 1e-300
"""A p-value below this, on either side, counts as this: its Z-score would be infinite, and one would decide all."""


def geometric_mean(ratios: Sequence[float]) -> float:
    """The number whose power of n is their product."""
    return exp(fsum(log(r) for r in ratios) / len(ratios))


def larger(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Z-score of Welch's one-sided t-test that ``first`` has the larger mean; None with fewer than two of either."""
    from scipy.stats import ttest_ind

    if min(len(first), len(second)) < 2 or len({*first, *second}) == 1:
        return None
    if len(set(first)) == len(set(second)) == 1:  # no spread at all: the test is not defined, the order is plain
        return score(0.0, 1.0) if first[0] > second[0] else score(1.0, 0.0)
    greater, less = (float(ttest_ind(first, second, equal_var=False, alternative=a).pvalue) for a in ("greater", "less"))
    return score(greater, less)


def score(greater: float, less: float) -> float:
    """The Z-score of a one-sided p-value and of its other side: taken from the smaller, so that neither end is cut short."""
    from scipy.stats import norm

    z = float(norm.isf(max(min(greater, less), LEAST_P)))
    return z if greater < less else -z


def stouffer(scores: Sequence[float]) -> float:
    """Combine Z-scores: the base-10 logarithm of P(Z > Σ z_i / √k), which may be far below the least float."""
    from scipy.stats import norm

    return float(norm.logsf(fsum(scores) / sqrt(len(scores)))) / log(10)
