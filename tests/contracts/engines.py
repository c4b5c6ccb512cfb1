"""The engines that keep the contract: all that are registered, and two that exist for it alone."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec

import pytest

from understudy.model import ENGINES, Engine

from .dense import DenseEngine
from .opaque import OpaqueEngine

UNDER_CONTRACT: dict[str, Callable[[], Engine]] = {
    **ENGINES,
    "dense": DenseEngine,
    "opaque": OpaqueEngine,
}


def made(name: str) -> Engine:
    """Make the engine of that name; skip the test where its library is not installed."""
    if name == "torch" and find_spec("torch") is None:
        pytest.skip("PyTorch is not installed (make test-torch installs it): its engine is not tested here")
    return UNDER_CONTRACT[name]()
