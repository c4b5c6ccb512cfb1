"""The engines that keep the contract: all that are registered, and two that exist for it alone."""

from __future__ import annotations

from collections.abc import Callable

from understudy.model import ENGINES, Engine

from .dense import DenseEngine
from .opaque import OpaqueEngine

UNDER_CONTRACT: dict[str, Callable[[], Engine]] = {
    **ENGINES,
    "dense": DenseEngine,
    "opaque": OpaqueEngine,
}
