"""How sure a difference is: ratios by geometric mean, one-sided t-tests combined by Stouffer's method, as in the paper.

Pure functions on errors. SciPy comes with scikit-learn (bench) and is in the test group.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, fsum, log, sqrt

LEAST_P, MOST_P = 1e-300, 1 - 1e-12
"""A p-value outside of these counts as these: beyond them its Z-score is infinite, and one would decide all."""


def geometric_mean(ratios: Sequence[float]) -> float:
    """The number whose power of n is their product."""
    return exp(fsum(log(r) for r in ratios) / len(ratios))


def larger(first: Sequence[float], second: Sequence[float]) -> float | None:
    """P-value of Welch's one-sided t-test that ``first`` has the larger mean; None with fewer than two of either."""
    from scipy.stats import ttest_ind

    if min(len(first), len(second)) < 2 or len({*first, *second}) == 1:
        return None
    if len(set(first)) == len(set(second)) == 1:  # no spread at all: the test is not defined, the order is plain
        return LEAST_P if first[0] > second[0] else MOST_P
    return float(ttest_ind(first, second, equal_var=False, alternative="greater").pvalue)


def stouffer(p_values: Sequence[float]) -> float:
    """Combine one-sided p-values: the base-10 logarithm of P(Z > Σ z_i / √k), which may be far below the least float."""
    from scipy.stats import norm

    scores = [float(norm.isf(min(max(p, LEAST_P), MOST_P))) for p in p_values]
    return float(norm.logsf(fsum(scores) / sqrt(len(scores)))) / log(10)
