"""A generator network: a small network maps fixed noise to a mixture of products, and is fitted instead of it. Public.

Liu, Vietri and Wu, 2021 (GEM). The network is written out, with its slope, so that it needs no other library. What is moved
are its weights; the loss, the steps and the mixture that comes out are those of relaxed projection.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from understudy.domain import Domain, Zeros
from understudy.model import relaxation
from understudy.model.estimation import Fit
from understudy.model.mixture import Mixture
from understudy.model.model import Model
from understudy.model.observation import Observation
from understudy.model.relaxation import Floats, Parameters, Problem, descend

INPUTS = 64
"""Numbers of noise that a component comes from."""
HIDDEN = (128, 128)
"""Units of each layer between."""
RATE = 3e-3
"""How far Adam moves a weight in the first step."""
STEPS, FIRST_STEPS = 30, 200
"""Steps of a fit that goes on from an earlier one, and of one that starts afresh."""


def train(
    domain: Domain,
    observations: Sequence[Observation],
    *,
    zeros: Sequence[Zeros] = (),
    start: Model | None = None,
    longer: int = 1,
) -> Fit[Mixture]:
    """Fit a network to ``observations``: minimise the sum of ``(answer - value)² / (2 sigma²)``, from ``start`` on.

    The noise that goes in, and the first weights, are drawn from a generator seeded by the first observations.
    """
    problem = Problem(domain, observations)
    warm = isinstance(start, Mixture) and start.state
    inputs, *weights = start.state if isinstance(start, Mixture) and start.state else _first(problem)
    steps = longer * (STEPS if warm else FIRST_STEPS)
    return descend(problem, [w.copy() for w in weights], Network(inputs), steps, RATE)


class Network(Parameters):
    """Layers of weights and shifts, each but the last followed by what is above zero of it, and what went in (residual)."""

    def __init__(self, inputs: Floats) -> None:
        self.inputs = inputs

    def forward(self, values: Sequence[Floats]) -> tuple[Floats, Callable[[Floats], list[Floats]]]:
        """Return the log-probabilities, and what takes their slope back to the weights."""
        layers = list(zip(values[::2], values[1::2], strict=True))
        into, above = [self.inputs], []
        for weights, shift in layers[:-1]:
            raised = into[-1] @ weights + shift
            above.append(raised > 0)
            into.append(np.hstack([np.where(above[-1], raised, 0), self.inputs]).astype(np.float32))
        weights, shift = layers[-1]

        def back(slope: Floats) -> list[Floats]:
            found: list[Floats] = []
            for depth in range(len(layers) - 1, -1, -1):
                found = [into[depth].T @ slope, slope.sum(axis=0), *found]
                if depth:
                    slope = np.where(above[depth - 1], (slope @ layers[depth][0].T)[:, : above[depth - 1].shape[1]], 0)
            return [part.astype(np.float32) for part in found]

        return into[-1] @ weights + shift, back

    def kept(self, values: Sequence[Floats]) -> tuple[Floats, ...]:
        """Return what went in, and the weights."""
        return (self.inputs, *values)


def _first(problem: Problem) -> list[Floats]:
    """Return noise to put in, and first weights: of variance 2 over the number of inputs (He et al., 2015)."""
    rng = problem.generator()
    found = [rng.standard_normal((relaxation.COMPONENTS, INPUTS))]
    width = INPUTS
    for out in HIDDEN:
        found += [rng.standard_normal((width, out)) * (2 / width) ** 0.5, np.zeros(out)]
        width = out + INPUTS
    codes = sum(problem.domain.sizes)
    found += [rng.standard_normal((width, codes)) * width**-0.5, relaxation.alone(problem)]
    return [part.astype(np.float32) for part in found]
