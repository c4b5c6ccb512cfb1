"""Engines: exact inference on the arrays of one library, behind one protocol. Public numbers only."""

from understudy.model.engine.protocol import (
    Calibrated,
    Engine,
    Factors,
    Folding,
    Goal,
    Objective,
    Pair,
    Precision,
    Refiner,
    Vector,
)
from understudy.model.engine.recursion import two_loop
from understudy.model.engine.registry import ENGINES, NUMPY, Device, EngineFor, engine_on, make_engine, on_cpu

__all__ = [
    "ENGINES",
    "NUMPY",
    "Calibrated",
    "Device",
    "Engine",
    "EngineFor",
    "Factors",
    "Folding",
    "Goal",
    "Objective",
    "Pair",
    "Precision",
    "Refiner",
    "Vector",
    "engine_on",
    "make_engine",
    "on_cpu",
    "two_loop",
]
