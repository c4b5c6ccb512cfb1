"""From parameters to answers on a device: the part of a fit that runs at every step. Public numbers only.

The launches of one evaluation are recorded at the second step of a fit and replayed at the others (a CUDA graph): there are
hundreds of small ones, and starting them one by one takes longer than what they do.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch

from understudy.model.engine.on_torch.folding import TorchFolding
from understudy.model.engine.on_torch.inference import centres, impossible, in_range, telling
from understudy.model.engine.on_torch.lanes import Lanes, OneLane
from understudy.model.engine.on_torch.program import ONE_LANE, Program
from understudy.model.engine.on_torch.rings import LINEAR, LOGARITHMIC, Linear, Table
from understudy.model.observation import Layout

Work = Callable[[OneLane], tuple[Table, Table]]

TRIED = 3
"""After so many evaluations in a row that needed logarithms, nothing else is tried first."""


class Objective:
    """Answers and log Z at any parameters, in memory that is used again at each step."""

    def __init__(self, layout: Layout, device: torch.device) -> None:
        self._layout, self._device = layout, device
        self._program = program = Program(layout.network, device)
        self._folding = TorchFolding(layout.index[:, program.order], layout.cells, device)
        self._by_cell = torch.zeros(layout.cells, dtype=torch.float64, device=device)
        self._base, self._offset = program.floor.clone(), 0.0
        self._centred, self._failed = False, 0
        self._replays = {ring: _Replay(partial(self._work, ring), device) for ring in (LINEAR, LOGARITHMIC)}

    def evaluate(self, parameters: Table) -> tuple[Table, float]:
        """Return the answers to all observations, of a table of mass 1, and log Z."""
        self._take(parameters)
        if not self._centred:
            self._centre()
        for ring in (LINEAR, LOGARITHMIC) if self._failed < TRIED else (LOGARITHMIC,):
            answers, told = self._replays[ring]()
            numbers = told.tolist()
            if ring is LINEAR and not in_range(numbers, ring):
                self._centre()
                answers, told = self._replays[ring]()
                numbers = told.tolist()
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
        offsets = centres(self._program, self._potentials() + self._program.floor)
        torch.sub(self._program.floor, offsets[self._program.table_of_cell], out=self._base)
        self._offset, self._centred = float(offsets.sum()), True

    def _work(self, ring: Linear, lanes: OneLane) -> tuple[Table, Table]:
        """One evaluation, without a look at any number."""
        program = self._program
        swept = program.sweep(ring.leaves(self._potentials() + self._base), ring, lanes=lanes)
        beliefs = ring.times(swept.block[: program.cells], swept.block[program.cells : 2 * program.cells])
        return self._folding.fold(beliefs), telling(program, swept, ring)


class _Replay:
    """Does the same work again and again: launch by launch at first, on a GPU then as one recorded graph."""

    def __init__(self, work: Work, device: torch.device) -> None:
        self._work, self._device = work, device
        self._calls = 0
        self._graph: torch.cuda.CUDAGraph | None = None
        self._results: tuple[Table, Table] | None = None

    def __call__(self) -> tuple[Table, Table]:
        """Do the work; the results are written over by the next call."""
        self._calls += 1
        if self._device.type != "cuda" or self._calls == 1:
            return self._work(ONE_LANE)
        if self._graph is None or self._results is None:
            self._graph, self._results = self._recorded()
        self._graph.replay()
        return self._results

    def _recorded(self) -> tuple[torch.cuda.CUDAGraph, tuple[Table, Table]]:
        graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream(self._device)
        stream.wait_stream(torch.cuda.current_stream(self._device))
        with torch.cuda.stream(stream):
            graph.capture_begin()
            try:
                results = self._work(Lanes(self._device))
            finally:
                graph.capture_end()
        torch.cuda.current_stream(self._device).wait_stream(stream)
        return graph, results
