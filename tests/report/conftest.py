"""Releases to report on, each made once."""

from __future__ import annotations

import pytest

from understudy import example
from understudy.evaluate import Evaluation, evaluate
from understudy.release import Release

from .releases_made import codes, make, nasty


@pytest.fixture(scope="session")
def people() -> Release:
    """The bundled example, as a real (secure) release."""
    return make(example.people(6000), example.schema(), way=3, secure=True, max_size=2**20)


@pytest.fixture(scope="session")
def seeded() -> Release:
    """A research run, with the same numbers each time."""
    return make(*codes({"alpha": 4, "beta": 6, "gamma": 3, "delta": 40}))


@pytest.fixture(scope="session")
def wrong_names() -> Release:
    """Names and values that would break a careless page."""
    return make(*nasty())


@pytest.fixture(scope="session")
def wide() -> Release:
    """Forty columns, with long names."""
    sizes = {f"a_rather_long_column_name_{i:02d}": 2 + i % 5 for i in range(40)}
    return make(*codes(sizes), name="mwem", rounds=30)


@pytest.fixture(scope="session")
def evaluation(people: Release) -> Evaluation:
    """The example beside its table."""
    return evaluate(example.people(6000), people)
