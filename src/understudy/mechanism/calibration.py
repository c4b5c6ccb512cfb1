"""How fast this machine fits, answers and draws: a second of small models like those of a run. Owns no data.

What it finds are seconds of processor time for one of each kind of work that ``forecast`` counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from time import process_time

import numpy as np

from understudy.domain import Clique, Domain
from understudy.model import Fit, GraphicalModel, Model, Observation, fit

Clock = Callable[[], float]
ROWS = 10_000
TIMES = 2
"""Each kind of work is done so often, and the quickest counts: the first one warms up."""
STEPS = 12


@dataclass(frozen=True)
class Rates:
    """Seconds for one of each."""

    clique: float
    """A clique of the model, in a step of a fit …"""
    byte: float
    """… and a byte of its junction tree."""
    marginal: float
    """A marginal of a small model."""
    look: float
    """A value of a row that refinement looks up in a marginal."""
    value: float
    """A value that is drawn."""


@cache
def calibrated() -> Rates:
    """Measure this machine, once a process, by the time of its processor."""
    return measured(process_time)


def measured(clock: Clock) -> Rates:
    """Measure this machine by ``clock``: one that everybody sees also tells how much of the machine others use."""
    chain = Domain.of({f"c{i}": 6 for i in range(12)})
    links = [(f"c{i}", f"c{i + 1}", f"c{i + 2}") for i in range(10)]
    dense = Domain.of({f"c{i}": 10 for i in range(6)})
    small, clique = _fitted(chain, links, clock)
    knot = list(combinations(dense.attributes, 2))
    large, step = _fitted(dense, knot, clock)
    near: dict[Clique, float] = dict.fromkeys(combinations(chain.attributes, 3), 1.0)
    marginal = _quickest(lambda: small.marginals(list(near), precision="single"), clock)
    drawn = _quickest(lambda: small.generate(ROWS, np.random.default_rng(0)), clock)
    refined = _quickest(lambda: small.generate(ROWS, np.random.default_rng(0), near=near), clock)
    return Rates(
        clique=clique / len(links),
        byte=max(step - clique * len(knot) / len(links), 0.2 * step) / large.size,
        marginal=marginal / len(near),
        look=max(refined - drawn, 0.2 * refined) / (ROWS * len(near) * 3),
        value=drawn / (ROWS * len(chain)),
    )


def _fitted(domain: Domain, cliques: Sequence[Clique], clock: Clock) -> tuple[Model, float]:
    """Return a model of made-up counts on ``cliques``, and how long a step of its fit takes."""
    rng = np.random.default_rng(0)
    made = [Observation(c, rng.gamma(0.5, 1e5 / domain.cells(c), domain.shape(c)), 1.0) for c in cliques]
    found: list[Fit[GraphicalModel]] = []
    seconds = _quickest(lambda: found.append(fit(domain, made, max_iterations=STEPS)), clock)
    return found[0].model, seconds / max(found[0].iterations, 1)


def _quickest(work: Callable[[], object], clock: Clock) -> float:
    took = []
    for _ in range(TIMES):
        began = clock()
        work()
        took.append(clock() - began)
    return min(took)
