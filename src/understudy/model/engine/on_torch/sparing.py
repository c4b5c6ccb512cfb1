"""What to do where the device's memory is too small: another engine goes on from the same numbers, and a warning says so.

Nothing is lost: a fit's parameters are small and stay where they are, and a model's potentials are kept until its answers
are there. Public numbers only.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from understudy.domain import Clique
from understudy.model.contraction import Family
from understudy.model.engine.on_torch.calibrated import TorchCalibrated
from understudy.model.engine.on_torch.inference import infer
from understudy.model.engine.on_torch.objective import Objective
from understudy.model.engine.on_torch.program import Program
from understudy.model.engine.on_torch.rings import Table
from understudy.model.engine.protocol import Calibrated, Engine, Factors, Precision
from understudy.model.engine.protocol import Objective as AnyObjective
from understudy.model.network import Flat, Network
from understudy.model.observation import Layout

T = TypeVar("T")

TOO_LARGE = (
    "The model does not fit in the memory of the GPU: the processor goes on with it, and takes longer. Nothing is lost."
)


class TooLarge(Exception):
    """The device ran out of memory; it was said."""


def tried(work: Callable[[], T]) -> T:
    """Do some work on the device, unless its memory is too small for that."""
    try:
        return work()
    except torch.OutOfMemoryError:
        pass
    torch.cuda.empty_cache()
    warnings.warn(TOO_LARGE, stacklevel=4)
    raise TooLarge


class SparingObjective:
    """An objective on the device, or the other engine's once memory ran out."""

    def __init__(self, layout: Layout, device: torch.device, instead: Engine) -> None:
        self._layout, self._device, self._instead = layout, device, instead
        self._here: Objective | None = None
        self._there: AnyObjective | None = None

    def evaluate(self, parameters: Table) -> tuple[Table, float]:
        """Return the answers to all observations, of a table of mass 1, and log Z."""
        if self._there is None:
            try:
                return tried(lambda: self._on_device().evaluate(parameters))
            except TooLarge:
                self._give_up()
        assert self._there is not None
        answers, log_z = self._there.evaluate(self._instead.vector(parameters.cpu().numpy()))
        return torch.from_numpy(self._instead.numpy(answers)).to(self._device), log_z

    def calibrate(self, parameters: Table) -> SparingCalibrated:
        """Run inference at ``parameters``, and keep all of it."""
        potentials = self._potentials(parameters.cpu().numpy())
        if self._there is not None:
            return SparingCalibrated(self._layout.network, potentials, self._instead, None)
        self._here = None  # its memory is free for what is kept
        return SparingCalibrated.of(self._layout.network, potentials, self._device, self._instead)

    def _on_device(self) -> Objective:
        if self._here is None:
            self._here = Objective(self._layout, self._device)
        return self._here

    def _give_up(self) -> None:
        self._here, self._there = None, self._instead.objective(self._layout)

    def _potentials(self, parameters: Flat) -> Flat:
        by_cell = np.append(self._layout.adjoint(parameters), 0.0)
        return np.asarray(by_cell[self._layout.index].sum(axis=0)) + self._layout.base


class SparingCalibrated:
    """A calibrated network on the device, or the other engine's once memory ran out."""

    def __init__(self, network: Network, potentials: Flat, instead: Engine, here: TorchCalibrated | None) -> None:
        self._network, self._potentials, self._instead = network, potentials, instead
        self._here = here
        self._there: Calibrated | None = None

    @classmethod
    def of(cls, network: Network, potentials: Flat, device: torch.device, instead: Engine) -> SparingCalibrated:
        """Run inference on log-potentials."""

        def work() -> TorchCalibrated:
            program = Program(network, device)
            return TorchCalibrated(network, infer(program, torch.from_numpy(potentials[program.order]).to(device)))

        try:
            return cls(network, potentials, instead, tried(work))
        except TooLarge:
            return cls(network, potentials, instead, None)

    @property
    def log_z(self) -> float:
        """The logarithm of the partition function."""
        return self._wherever(lambda calibrated: calibrated.log_z)

    def marginals(self, cliques: Sequence[Clique], total: float, precision: Precision) -> list[NDArray[np.float64]]:
        """Return the marginals on ``cliques``, each summing to ``total``."""
        return self._wherever(lambda calibrated: calibrated.marginals(cliques, total, precision))

    def forget(self) -> None:
        """Let go of what answers share."""
        self._wherever(lambda calibrated: calibrated.forget())

    def factors(self, family: Family) -> Factors:
        """Return what an attribute is generated by, once its parents are."""
        return self._wherever(lambda calibrated: calibrated.factors(family))

    def _wherever(self, ask: Callable[[Calibrated], T]) -> T:
        if self._here is not None:
            try:
                return tried(partial(ask, self._here))
            except TooLarge:
                self._here = None
        if self._there is None:
            self._there = self._instead.calibrate(self._network, self._potentials)
        return ask(self._there)
