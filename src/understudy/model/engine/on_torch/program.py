"""A network's plan on a device: one block of memory for all tables, and the launches that fill it. Public numbers only.

The cells of each of the network's tables are kept in the order in which the step that uses it wants them, so that only
what is made on the way is ever rearranged. Sweeping up and then down gives, for every node of the plan, what lies inside
it and what lies outside of it; their product is the probability of its cells.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np
import torch

from understudy.model.contraction import Step
from understudy.model.engine.on_torch.lanes import OneLane
from understudy.model.engine.on_torch.rings import POSSIBLE, Linear, Table
from understudy.model.network import Network

ONE_LANE = OneLane()


@dataclass(frozen=True)
class _Use:
    """How the step that uses a node sees its table: as a stack of matrices, by ``axes``; back by ``dims`` and ``back``."""

    axes: tuple[int, ...]
    dims: tuple[int, ...]
    back: tuple[int, ...]
    stack: tuple[int, int, int]

    def arranged(self, table: Table) -> Table:
        """View (or copy) a table as a stack of matrices."""
        return table.permute(self.axes).reshape(self.stack)

    def table(self, stack: Table) -> Table:
        """View a stack of matrices as the table again."""
        return stack.reshape(self.dims).permute(self.back)


@dataclass(frozen=True)
class Swept:
    """The tables of one sweep: one for each node of the plan, with the axes of its scope."""

    block: Table
    inside: list[Table]
    outside: list[Table]
    log_z: Table
    """A number on the device."""


class Program:
    """Runs the plan of one network on one device, as often as wanted."""

    def __init__(self, network: Network, device: torch.device) -> None:
        self.network, self.plan, self.device = network, network.plan, device
        self.cells = network.cells
        self.uses = [_Use((), (), (), (1, 1, 1))] * len(self.plan.scopes)
        for step in self.plan.steps:
            self.uses[step.left] = _use(step, left=True)
            if step.right >= 0:
                self.uses[step.right] = _use(step, left=False)
        made = [step.batch * step.m * step.n for step in self.plan.steps]
        # leaves, what lies outside of them, results, what lies outside of these
        sizes = [*network.lengths.tolist(), *network.lengths.tolist(), *made, *made]
        self._ends = list(accumulate(sizes))

    @cached_property
    def order(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """The cells of the network's flat vector, in the order that they have here."""
        cells = zip(self.network.starts, self.network.shapes, self.uses, strict=False)
        arranged = [(s + np.arange(np.prod(shape)).reshape(shape).transpose(use.axes)).ravel() for s, shape, use in cells]
        return np.concatenate(arranged).astype(np.int64)

    @cached_property
    def table_of_cell(self) -> Table:
        """The number of the table that each cell belongs to."""
        lengths = torch.from_numpy(self.network.lengths).to(self.device)
        return torch.repeat_interleave(torch.arange(len(lengths), device=self.device), lengths, output_size=self.cells)

    @cached_property
    def floor(self) -> Table:
        """The log-potentials of nothing but the zeros."""
        return torch.from_numpy(self.network.floor[self.order]).to(self.device)

    @cached_property
    def possible(self) -> Table | None:
        """Which numbers of a block can be positive; None where all can."""
        if self.network.allowed is None:
            return None
        return self.sweep(self.floor.exp(), POSSIBLE, inverse=False).block > 0

    def extremes(self, block: Table) -> Table:
        """Return the smallest and the largest number of a block, impossible cells left out."""
        numbers = block if self.possible is None else torch.where(self.possible, block, 1.0)
        return torch.stack(torch.aminmax(numbers))

    def sweep(self, leaves: Table, ring: Linear, *, inverse: bool = True, lanes: OneLane = ONE_LANE) -> Swept:
        """Fill a block; the outside of a root is one over it, so that all beliefs are probabilities."""
        block = torch.empty(self._ends[-1], dtype=torch.float64, device=self.device)
        block[: self.cells] = leaves
        slots = block.tensor_split(self._ends[:-1])
        with lanes.apart():
            stacks, inside = self._up(slots, ring, lanes)
        roots = torch.stack([inside[root].reshape(()) for root in self.plan.roots])
        above = ring.inverse(roots) if inverse else roots
        for root, value in zip(self.plan.roots, above, strict=True):
            self._outer(slots, root).copy_(value)
        with lanes.apart():
            outside = self._down(slots, stacks, ring, lanes)
        return Swept(block, inside, outside, ring.log(roots).sum())

    def _outer(self, slots: tuple[Table, ...], node: int) -> Table:
        """The place for what lies outside of a node, as the user of the node sees it."""
        leaves = self.plan.leaves
        place = leaves + node if node < leaves else node + leaves + len(self.plan.steps)
        return slots[place].view(self.uses[node].stack)

    def _up(self, slots: tuple[Table, ...], ring: Linear, lanes: OneLane) -> tuple[list[Table], list[Table]]:
        """Contract step by step; return all tables as their users see them, and by their scopes."""
        leaves = self.plan.leaves
        stacks = [slots[leaf].view(self.uses[leaf].stack) for leaf in range(leaves)]
        inside = [use.table(stack) for use, stack in zip(self.uses, stacks, strict=False)]
        for i, step in enumerate(self.plan.steps):
            with lanes.launch(step.out, (step.left, step.right)):
                out = slots[2 * leaves + i].view(step.batch, step.m, step.n)
                if step.right < 0:
                    ring.sum(stacks[step.left], out)
                else:
                    ring.product(stacks[step.left], stacks[step.right], out)
                inside.append(out.view(self.plan.shape(step.out)))
                use = self.uses[step.out]
                stacks.append(use.arranged(inside[-1]) if use.axes else out)
        return stacks, inside

    def _down(self, slots: tuple[Table, ...], stacks: list[Table], ring: Linear, lanes: OneLane) -> list[Table]:
        """Run the steps backwards: what lies outside of each table is what it is multiplied by in the whole."""
        outer = [self._outer(slots, node) for node in range(len(self.plan.scopes))]
        outside = [use.table(stack) for use, stack in zip(self.uses, outer, strict=True)]
        above: dict[int, Table] = {}
        for step in reversed(self.plan.steps):
            with lanes.launch(("above", step.out), (step.out,)):
                above[step.out] = outside[step.out].reshape(step.batch, step.m, step.n)
                if step.right < 0:
                    outer[step.left].copy_(above[step.out].expand_as(outer[step.left]))
            needs = (("above", step.out),)
            with lanes.launch(step.left, needs):
                if step.right >= 0:
                    ring.product(above[step.out], stacks[step.right].transpose(1, 2), outer[step.left])
            if step.right >= 0:
                with lanes.launch(step.right, needs):
                    ring.product(stacks[step.left].transpose(1, 2), above[step.out], outer[step.right])
        return outside


def _use(step: Step, *, left: bool) -> _Use:
    if left:
        return _Use(step.left_axes, step.left_dims, step.left_back, (step.batch, step.m, step.k))
    return _Use(step.right_axes, step.right_dims, step.right_back, (step.batch, step.k, step.n))
