"""How large a model typically grows, and how long a run of AIM takes: from public facts, before anything is run.

Public: the schema, the workload, the settings, a guess at the rows. How fast the machine is, is measured (``calibration``).
How much work a run of rounds is, was fitted to five research tables of 9 to 110 columns at three budgets each. Most runs
took between half and twice as long as this says: how many rounds there are, and how dense the model becomes, depends on the
table.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log, pi, sqrt

import numpy as np

from understudy.domain import Domain
from understudy.mechanism.calibration import Rates
from understudy.mechanism.outcome import MOST_REFINED
from understudy.mechanism.pool import take_turns
from understudy.sampling import some_of
from understudy.workload import Workload

JUDGED = 2_000
"""Marginals of the workload, drawn once, by which the share is judged that stands out of the noise."""
BETWEEN = 2.0
"""Rounds from one annealing to the next, for each column, where every marginal stands out of the first noise."""
NARROW = 16
"""Beyond so many columns there are more with their fourth root only."""
DEARER = 4
"""Times that a round costs more after it."""
WIDTH, WIDER = 1.0, 1.1
"""Columns of a clique of the junction tree: so many, and so many more for each round a column."""
STEPS, LAST_STEPS = 15, 150
"""Steps of the fit of a round where every marginal stands out, and of the last fit."""
PASSES = 5
"""Times that residuals in passes are fitted anew."""
GROWN = 3
"""A model is this many times smaller in the middle of a run than at its end."""
LOOKED_AT = 6_000
"""Candidates that a round looks at, at most."""
ACROSS = 1.2
"""To answer a marginal that lies across the junction tree takes as long for each byte as so many steps of a fit."""
NEAR = 0.2
"""The same for a candidate, in single precision: most lie near to what the model holds."""
WEIGHED = 3
"""To tell whether a candidate fits into the model, and to score it, takes so many times as long as to answer it."""
CHECKED = 20_000
"""Marginals that the finished model is asked for, at most."""
CELLS, MANY_ROWS = 30, 0.65
"""Cells that refinement looks up in the time that finding their place takes, and how long that takes of many rows."""
MOST_LOOKS = 1 << 32
"""Cells that it looks up, at most."""
WRITTEN = 10
"""To decode and to write a value takes so many times as long as to draw it."""
SHOWN = 8
"""To bound a marginal and to show it takes so many times as long as to answer it."""
REST = 0.2
"""Seconds for what depends on nothing."""


@dataclass(frozen=True)
class Forecast:
    """What a run is expected to come to."""

    rounds: float
    tree: int
    """Bytes of the junction tree at the end."""
    share: float
    """Of the workload's marginals that stand out of the first noise."""

    @classmethod
    def of(cls, workload: Workload, rows: int, noise: float, affordable: float, max_size: int) -> Forecast:
        """Forecast for a table of so many rows: ``noise`` is the sigma of the first measurements, ``affordable`` how many
        rounds with it the budget has left after them.
        """
        domain, share = workload.domain, standing_out(workload, rows, noise)
        rounds = rounds_to_come(affordable, rounds_between(domain, share))
        return cls(rounds, typical_tree(domain, rounds, max_size), share)

    def seconds(self, workload: Workload, rows: int, rates: Rates) -> float:
        """Return about how long a run takes on one core, without reading the table."""
        steps = float(STEPS / max(self.share, 0.1) ** 0.7)
        looked = min(len(workload.closure), LOOKED_AT) * max(self.share, 0.2)
        middle = self.tree / GROWN
        weighed = 1 if take_turns(workload.closure) else 1 + WEIGHED  # of turns, few candidates are new in a round
        each = steps * self._step(workload, middle, rates) + looked * (weighed * rates.marginal + NEAR * rates.byte * middle)
        last = (LAST_STEPS + 3 * steps) * self._step(workload, self.tree, rates)
        asked = min(len(workload.closure), CHECKED) * (rates.marginal + ACROSS * rates.byte * self.tree)
        return self.rounds * each + last + asked + table_seconds(workload, rows, rates) + REST

    def _step(self, workload: Workload, size: float, rates: Rates) -> float:
        return rates.clique * (len(workload.domain) / 2 + self.rounds / 4) + rates.byte * size


def one_model_seconds(workload: Workload, rows: int, tree: int, layers: int, rates: Rates) -> float:
    """Return about how long a run takes that fits one model of ``tree`` bytes: ``layers`` times after each pass."""
    steps, columns = PASSES * layers * STEPS + LAST_STEPS, len(workload.domain)
    return steps * (rates.clique * columns / 2 + rates.byte * tree) + table_seconds(workload, rows, rates) + REST


def table_seconds(workload: Workload, rows: float, rates: Rates) -> float:
    """Return how long it takes to draw, refine, bound and write a table."""
    domain, refined = workload.domain, min(len(workload.closure), MOST_REFINED)
    held = 2.5 * refined  # columns of all these marginals together
    cells = sum(domain.sizes) * held / len(domain)
    changed = min(rows, MOST_LOOKS / cells)
    looks = MANY_ROWS * rates.look * changed * (held + cells / CELLS)
    return looks + WRITTEN * rates.value * rows * len(domain) + SHOWN * rates.marginal * refined


def standing_out(workload: Workload, rows: float, noise: float) -> float:
    """Return the share of W_+ on which noise of √(2/π) σ n is less than twice the rows, which no error exceeds."""
    some = some_of(workload.closure, JUDGED, np.random.default_rng(0))
    most = 2 * rows / (sqrt(2 / pi) * noise)
    return sum(workload.domain.cells(clique) < most for clique in some) / len(some)


def rounds_between(domain: Domain, share: float) -> float:
    """Return about how many rounds there are from one annealing to the next where such a share stands out."""
    columns: float = min(len(domain), NARROW * (len(domain) / NARROW) ** 0.25)
    return max(BETWEEN * columns * share, 1.0)


def rounds_to_come(affordable: float, between: float) -> float:
    """Return how many rounds come where ``affordable`` like the next could be paid; after ``between`` they are dearer."""
    if affordable <= between:
        return affordable
    return between + rounds_to_come((affordable - between) / DEARER, between)


def typical_tree(domain: Domain, rounds: float, max_size: int) -> int:
    """Return about how many bytes the junction tree grows to: a clique for each column, the wider the more rounds."""
    width = min(WIDTH + WIDER * rounds / len(domain), len(domain))
    largest = log(min(max_size, 8 * domain.cells()))
    return int(exp(min(log(8 * len(domain)) + width * sum(map(log, domain.sizes)) / len(domain), largest)))
