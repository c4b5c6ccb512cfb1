"""How large a model typically grows, and how long a run takes: rough figures from public facts, before anything is run.

Public: the schema, the workload, the settings, a guess at the rows. The constants were measured on one core of one machine
(five research tables, a trial with 110 columns, made-up tables), and say about which step they are. A run may take a third
or three times as long: how many rounds it has depends on the table.
"""

from __future__ import annotations

from math import pi, prod, sqrt

from understudy.domain import Domain
from understudy.mechanism.outcome import MOST_REFINED
from understudy.workload import Workload

LAST_NOISE = 2.5
"""The noise of late rounds, beside that of one marginal measured with all of the budget."""
ROUNDS = 2.3
"""Rounds a column, up to …"""
MANY_ROUNDS = 60
"""… so many, where the one-way marginals of many columns take most of the budget."""
STEPS = 120
"""Steps of the fit of a round."""
STEP, STEP_COLUMN, STEP_BYTE = 3e-4, 4e-5, 4e-10
"""Seconds a step; for each column; for each byte of the tree."""
LOOKED_AT = 4_000
"""Candidates that a round looks at, at most."""
CANDIDATE, CELL = 2e-4, 2e-8
"""Seconds for a candidate, and for a cell of it."""
MARGINAL = 1e-3
"""Seconds for a marginal that is refined towards, bounded and shown."""
LOOK, MOST_LOOKS = 2e-9, 1 << 32
"""Seconds for a cell that refinement looks up, and how many it looks up at most."""
VALUE = 2e-6
"""Seconds to draw and to write a value."""
REST = 1.0
"""Seconds for what depends on nothing."""


def largest_chosen(rows: int, sigma: float) -> float:
    """Return about how many cells a marginal may have to be chosen; ``sigma`` is the noise that the whole budget buys.

    With more, the noise √(2/π) σ n on it is more than twice the rows.
    """
    return 2 * rows / (sqrt(2 / pi) * LAST_NOISE * sigma)


def typical_tree(domain: Domain, rows: int, sigma: float, max_size: int) -> int:
    """Return about how many bytes the junction tree grows to: about as many cliques as columns, none too noisy."""
    cells = min(largest_chosen(rows, sigma), float(prod(sorted(domain.sizes)[-3:])))
    grown = 8 * max(len(domain) * int(cells), sum(domain.sizes))
    return min(grown, max_size, 8 * domain.cells())


def seconds(workload: Workload, rows: int, sigma: float, tree: int, most_rounds: int) -> float:
    """Return about how long a run of AIM takes on one core, without reading the table."""
    domain, d = workload.domain, len(workload.domain)
    rounds = min(most_rounds, ROUNDS * d, MANY_ROUNDS + d / 8)
    fit = STEPS * (STEP + STEP_COLUMN * d + STEP_BYTE * tree)
    mean = min(workload.cells / len(workload.closure), largest_chosen(rows, sigma))
    scoring = min(len(workload.closure), LOOKED_AT) * (CANDIDATE + CELL * mean)
    refined = min(len(workload.closure), MOST_REFINED)
    looks = min(MOST_LOOKS, rows * sum(domain.sizes) * refined * 2.5 / d)  # a column is in so many of the marginals
    return rounds * (fit + scoring) + LOOK * looks + MARGINAL * refined + VALUE * rows * d + REST
