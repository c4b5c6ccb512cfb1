"""How far off the answers may be: bounds on the error of every marginal, and intervals for single counts.

Public: computed from what was released alone, at no further cost in privacy.
"""

from understudy.uncertainty.bootstrap import Bootstrap
from understudy.uncertainty.bounds import Bound, Marginals, bounds
from understudy.uncertainty.cells import Intervals, cell_intervals
from understudy.uncertainty.estimator import Estimate, weighted_average
from understudy.uncertainty.evidence import Evidence
from understudy.uncertainty.intervals import BootstrapIntervals, bootstrap_intervals
from understudy.uncertainty.listed import bounded
from understudy.uncertainty.sums import SumBound, sum_bounds
from understudy.uncertainty.tables import TableMarginals

__all__ = [
    "Bootstrap",
    "BootstrapIntervals",
    "Bound",
    "Estimate",
    "Evidence",
    "Intervals",
    "Marginals",
    "SumBound",
    "TableMarginals",
    "bootstrap_intervals",
    "bounded",
    "bounds",
    "cell_intervals",
    "sum_bounds",
    "weighted_average",
]
