"""From parameters to answers: the part of a fit that runs at every step. Public numbers only."""

from __future__ import annotations

from typing import cast

from understudy.model.engine.on_numpy.calibrated import NumpyCalibrated
from understudy.model.engine.on_numpy.inference import Inference
from understudy.model.engine.on_numpy.semirings import Scratch
from understudy.model.engine.protocol import Vector
from understudy.model.network import Flat
from understudy.model.observation import Layout


class NumpyObjective:
    """Answers and log Z at any parameters, in memory that is used again at each step."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._inference = Inference(layout.network)
        self._scratch = Scratch()

    def evaluate(self, parameters: Vector) -> tuple[Flat, float]:
        """Return the answers to all observations, of a table of mass 1, and log Z."""
        beliefs = self._inference.infer(self._layout.potentials(cast(Flat, parameters)), self._scratch)
        return self._layout.answers(beliefs.marginals), beliefs.log_z

    def calibrate(self, parameters: Vector) -> NumpyCalibrated:
        """Run inference at ``parameters``, and keep all of it."""
        return NumpyCalibrated(self._layout.network, self._inference.infer(self._layout.potentials(cast(Flat, parameters))))
