"""Engines: exact inference on the arrays of one library, behind one protocol. Public numbers only."""

from understudy.model.engine.protocol import Calibrated, Engine, Factors, Folding, Objective, Precision, Vector
from understudy.model.engine.registry import ENGINES, NUMPY, make_engine

__all__ = [
    "ENGINES",
    "NUMPY",
    "Calibrated",
    "Engine",
    "Factors",
    "Folding",
    "Objective",
    "Precision",
    "Vector",
    "make_engine",
]
