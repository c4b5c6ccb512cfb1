"""Engines: exact inference on the arrays of one library, behind one protocol. Public numbers only."""

from understudy.model.engine.protocol import Calibrated, Engine, Factors, Folding, Goal, Objective, Pair, Precision, Refiner, Vector
from understudy.model.engine.recursion import two_loop
from understudy.model.engine.registry import ENGINES, NUMPY, make_engine

__all__ = [
    "ENGINES",
    "NUMPY",
    "Calibrated",
    "Engine",
    "Factors",
    "Folding",
    "Goal",
    "Objective",
    "Pair",
    "Precision",
    "Refiner",
    "Vector",
    "make_engine",
    "two_loop",
]
