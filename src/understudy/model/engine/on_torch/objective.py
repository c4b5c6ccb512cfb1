"""From parameters to answers on a device: the part of a fit that runs at every step. Public numbers only.

The launches of one evaluation are recorded at the second step of a fit and replayed at the others.
"""

from __future__ import annotations

from functools import partial

import torch

from understudy.model.engine.on_torch.folding import TorchFolding
from understudy.model.engine.on_torch.inference import centres, impossible, in_range, telling
from understudy.model.engine.on_torch.lanes import Lanes
from understudy.model.engine.on_torch.program import ONE_LANE, Program
from understudy.model.engine.on_torch.recording import Recording
from understudy.model.engine.on_torch.rings import LINEAR, LOGARITHMIC, Linear, Table
from understudy.model.observation import Layout

TRIED = 3
"""After so many evaluations in a row that needed logarithms, nothing else is tried first."""


class Objective:
    """Answers and log Z at any parameters, in memory that is used again at each step."""

    def __init__(self, layout: Layout, device: torch.device) -> None:
        self._layout, self._device = layout, device
        self._program = program = Program(layout.network, device)
        self._folding = TorchFolding(layout.index[:, program.order], layout.cells, device)
        self._by_cell = torch.zeros(layout.cells, dtype=torch.float64, device=device)
        self._prior = torch.from_numpy(layout.base[program.order]).to(device)
        self._base, self._offset = self._prior.clone(), 0.0
        self._centred, self._failed = False, 0
        self._recordings: dict[Linear, Recording[tuple[Table, Table]]] = {}

    def evaluate(self, parameters: Table) -> tuple[Table, float]:
        """Return the answers to all observations, of a table of mass 1, and log Z."""
        self._take(parameters)
        if not self._centred:
            self._centre()
        for ring in (LINEAR, LOGARITHMIC) if self._failed < TRIED else (LOGARITHMIC,):
            answers, numbers = self._run(ring)
            if ring is LINEAR and not in_range(numbers, ring):
                self._centre()
                answers, numbers = self._run(ring)
            if in_range(numbers, ring):
                self._failed = 0 if ring is LINEAR else self._failed + 1
                return self._forward(answers), numbers[0] + self._offset
        raise impossible()

    def _take(self, parameters: Table) -> None:
        by_cell = parameters
        if not self._layout.plain:
            by_cell = torch.from_numpy(self._layout.adjoint(parameters.cpu().numpy()))
        self._by_cell.copy_(by_cell)

    def _forward(self, sums: Table) -> Table:
        if self._layout.plain:
            return sums.clone()  # the next step writes over it
        return torch.from_numpy(self._layout.forward(sums.cpu().numpy())).to(self._device)

    def _potentials(self) -> Table:
        return self._folding.unfold(self._by_cell)

    def _centre(self) -> None:
        """Centre each table anew; between steps potentials move little, so that this is seldom needed."""
        offsets = centres(self._program, self._potentials() + self._prior)
        torch.sub(self._prior, offsets[self._program.table_of_cell], out=self._base)
        self._offset, self._centred = float(offsets.sum()), True

    def _run(self, ring: Linear) -> tuple[Table, list[float]]:
        recording = self._recordings.setdefault(ring, Recording(self._device))
        answers, told = recording(partial(self._work, ring))
        return answers, told.tolist()

    def _work(self, ring: Linear, recorded: bool) -> tuple[Table, Table]:
        """One evaluation, without a look at any number."""
        program, lanes = self._program, Lanes(self._device) if recorded else ONE_LANE
        swept = program.sweep(ring.leaves(self._potentials() + self._base), ring, lanes=lanes)
        beliefs = ring.times(swept.block[: program.cells], swept.block[program.cells : 2 * program.cells])
        return self._folding.fold(beliefs), telling(program, swept, ring)
