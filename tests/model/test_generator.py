"""The generator network: its slope is that of the loss, it repeats, and it goes on from where it was."""

from __future__ import annotations

import numpy as np
import pytest

from understudy.domain import Domain
from understudy.model import Observation, generator, relaxation, train
from understudy.model.generator import Network
from understudy.model.relaxation import Problem

DOMAIN = Domain.of({"a": 3, "b": 4, "c": 2})
SIGMA = 2.0


def observations(seed: int = 0) -> list[Observation]:
    rng = np.random.default_rng(seed)
    joint = rng.dirichlet(np.full(24, 0.3)).reshape(3, 4, 2) * 400
    pairs = {("a", "b"): joint.sum(axis=2), ("b", "c"): joint.sum(axis=0), ("a",): joint.sum(axis=(1, 2))}
    return [Observation(c, table + rng.normal(0, SIGMA, table.shape), SIGMA) for c, table in pairs.items()]


def test_the_slope_is_that_of_the_loss() -> None:
    problem = Problem(DOMAIN, observations())
    inputs, *weights = generator._first(problem)
    network = Network(inputs.astype(np.float64))
    values = [w.astype(np.float64) for w in weights]
    logits, back = network.forward(values)
    slopes = back(problem.evaluate(logits)[1])
    units = (problem.total / SIGMA) ** 2 / len(inputs)  # the slope is by shares, for each component
    rng, step = np.random.default_rng(1), 1e-4
    for part, slope in zip(values, slopes, strict=True):
        at = tuple(rng.integers(0, part.shape))
        kept = part[at]
        part[at] = kept + step
        up = problem.evaluate(network.forward(values)[0])[0]
        part[at] = kept - step
        down = problem.evaluate(network.forward(values)[0])[0]
        part[at] = kept
        assert slope[at] * units == pytest.approx((up - down) / (2 * step), rel=2e-2, abs=0.5)


@pytest.mark.fitted
def test_a_fit_explains_what_was_observed() -> None:
    found = train(DOMAIN, observations(), longer=3)
    assert found.residual < 2.0
    assert found.model.total == pytest.approx(400, rel=0.05)


def test_a_fit_repeats() -> None:
    one, two, other = (train(DOMAIN, observations(seed)) for seed in (0, 0, 1))
    assert list(one.model.told()) == list(two.model.told())
    assert list(one.model.told()) != list(other.model.told())


def test_a_fit_goes_on_from_the_last_networks_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    first = train(DOMAIN, observations())
    monkeypatch.setattr(generator, "STEPS", 0)
    again = train(DOMAIN, observations(1), start=first.model)
    assert again.iterations == 0
    for table, other in zip(first.model.tables, again.model.tables, strict=True):
        np.testing.assert_array_equal(table, other)
    for part, other_part in zip(first.model.state, again.model.state, strict=True):
        np.testing.assert_array_equal(part, other_part)
    monkeypatch.setattr(generator, "STEPS", 4)
    moved = train(DOMAIN, observations(1), start=first.model)
    assert moved.iterations == 4
    assert any((a != b).any() for a, b in zip(first.model.state[1:], moved.model.state[1:], strict=True))
    assert (first.model.state[0] == moved.model.state[0]).all()  # what goes in stays


def test_a_start_without_a_network_is_no_start() -> None:
    relaxed = relaxation.relax(DOMAIN, observations()).model
    assert list(train(DOMAIN, observations(), start=relaxed).model.told()) == list(
        train(DOMAIN, observations()).model.told()
    )
