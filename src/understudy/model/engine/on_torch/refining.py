"""Refinement of rows on a device: the algorithm of ``understudy.model.refinement`` in larger batches. Public numbers only.

For the attribute that is offered new values, every table that holds it is laid out with that attribute last, one below
another: a row is in one line of each table. Nothing is looked at on the way, so that the device is never waited for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import prod

import numpy as np
import torch
from numpy.typing import NDArray

from understudy.model.engine.on_torch.recording import Recording
from understudy.model.engine.on_torch.rings import Table
from understudy.model.engine.protocol import Goal

PARTS = 256
"""Rows are moved in so many batches, so that the later ones see what the earlier ones did …"""
FEWEST = 16
"""… but in batches of at least so many rows."""
NUMBERED = 1 << 25
"""Lines looked for at a time, over rows and tables."""
FORBIDDEN = 1e12
FIRST_SHARE, LEAST_SHARE, MOST_SHARE = 0.05, 0.01, 0.5
MEMORY = 0.8
"""The weight of an earlier batch in the estimate of the best share, one batch later."""


def refine(
    codes: NDArray[np.int32], goals: Sequence[Goal], attributes: Sequence[int], device: torch.device, seed: int
) -> None:
    """Change ``codes`` in place, one attribute after another, so that their counts come nearer to the goals."""
    chance = torch.Generator(device).manual_seed(seed)
    rows = torch.from_numpy(np.ascontiguousarray(codes.T)).to(device)
    for attribute in attributes:
        _Pass(attribute, [goal for goal in goals if attribute in goal.positions], rows, chance).run()
    codes[:] = rows.cpu().numpy().T


@dataclass(frozen=True)
class _Batch:
    """Rows that are offered new values together: their lines in the tables, their values, and who is lucky."""

    lines: Table
    now: Table
    luck: Table

    def take(self, other: _Batch) -> _Batch:
        """Copy another batch into the memory of this one."""
        for mine, its in ((self.lines, other.lines), (self.now, other.now), (self.luck, other.luck)):
            mine.copy_(its)
        return self


class _Pass:
    """One attribute offered new values.

    ``slope`` is what F gains when a row is added to a cell, (2 (n - e) + 1) · price; a row more raises it by ``step``.
    """

    def __init__(self, attribute: int, goals: list[Goal], codes: Table, chance: torch.Generator) -> None:
        self.attribute, self.codes, self.chance, self.device = attribute, codes, chance, codes.device
        wanted = [_last(goal, attribute, goal.expected) for goal in goals]
        self.size = wanted[0].shape[1]
        lengths = [len(lines) for lines in wanted]
        self.starts = self._tensor(np.cumsum([0, *lengths[:-1]]))
        self.strides = self._tensor(np.array([_strides(goal, attribute, len(codes)) for goal in goals], dtype=np.float64))
        expected = self._tensor(np.concatenate(wanted))
        price = self._tensor(np.repeat([goal.weight for goal in goals], lengths))[:, None] / (expected + 1.0)
        self.slope = ((2 * (self._counts(len(expected)) - expected) + 1) * price).float()
        self.step = (2 * price).float()
        self.slope[self._tensor(np.concatenate([_last(goal, attribute, _barred(goal)) for goal in goals]))] = FORBIDDEN
        self.share = torch.full((), FIRST_SHARE, dtype=torch.float64, device=self.device)
        self.gain, self.crossing = torch.zeros((2,), dtype=torch.float64, device=self.device)

    def _tensor(self, array: NDArray[np.generic]) -> Table:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device)

    def _lines(self, rows: Table) -> Table:
        """Return the line of each of ``rows`` in each table, rows × tables."""
        return (self.codes[:, rows].T.double() @ self.strides.T).long() + self.starts

    def _counts(self, lines: int) -> Table:
        """Count the rows in each cell."""
        total = torch.zeros(lines * self.size, dtype=torch.int64, device=self.device)
        for rows in torch.arange(self.codes.shape[1], device=self.device).split(self._at_once):
            cells = self._lines(rows) * self.size + self.codes[self.attribute, rows, None]
            total += torch.bincount(cells.reshape(-1), minlength=len(total))
        return total.view(lines, self.size)

    @property
    def _at_once(self) -> int:
        return max(1, NUMBERED // len(self.strides))

    def run(self) -> None:
        """Offer new values to all rows, in random order: batches of the same size, recorded, and what is left over."""
        order = torch.randperm(self.codes.shape[1], generator=self.chance, device=self.device)
        together = min(max(FEWEST, len(order) // PARTS), self._at_once)
        luck = torch.rand(len(order), generator=self.chance, device=self.device, dtype=torch.float64)
        batch = _Batch(*(torch.empty_like(t[:together]) for t in (self._lines(order[:together]), order, luck)))
        recording: Recording[Table] = Recording(self.device)
        for rows, lucky in zip(order.split(together), luck.split(together), strict=True):
            found = _Batch(self._lines(rows), self.codes[self.attribute, rows].long(), lucky)
            if len(rows) == together:
                best = recording(partial(self._offer_recorded, batch.take(found)))
            else:
                best = self._offer(found)
            self.codes[self.attribute, rows] = best.int()

    def _offer_recorded(self, batch: _Batch, recorded: bool) -> Table:
        return self._offer(batch)

    def _offer(self, batch: _Batch) -> Table:
        """Offer these rows their best value, let a share of those that would gain move, and return all their values."""
        slope, step, lines, now = self.slope.view(-1), self.step.view(-1), batch.lines, batch.now
        cost = torch.nn.functional.embedding_bag(lines, self.slope, mode="sum")
        here = lines * self.size + now[:, None]
        out = step[here]
        staying = cost.gather(1, now[:, None]).squeeze(1) - out.sum(1)  # without itself
        least, best = cost.scatter(1, now[:, None], staying[:, None]).min(1)
        gains = (staying - least).double()
        moving = (gains > 0) & (batch.luck < self.share)
        there = lines * self.size + best[:, None]
        out, into = out * moving[:, None], step[there] * moving[:, None]
        ahead = self._between(here, there, moving)
        slope.index_add_(0, here.view(-1), -out.view(-1))  # all that is added to one cell is the same: in any order
        slope.index_add_(0, there.view(-1), into.view(-1))
        crossing = self._between(here, there, moving) - ahead - out.sum(dtype=torch.float64) - into.sum(dtype=torch.float64)
        self._learn((gains * moving).sum() / self.share, crossing / 2 / self.share**2, moving.any())
        return torch.where(moving, best, now)

    def _between(self, here: Table, there: Table, moving: Table) -> Table:
        slope = self.slope.view(-1)
        return ((slope[there] - slope[here]).sum(1, dtype=torch.float64) * moving).sum()

    def _learn(self, gain: Table, crossing: Table, moved: Table) -> None:
        """If a share s of those who would gain moves, F falls by s · gain - s² · crossing: take the best s."""
        self.gain.copy_(torch.where(moved, MEMORY * self.gain + gain, self.gain))
        self.crossing.copy_(torch.where(moved, MEMORY * self.crossing + crossing, self.crossing))
        best = torch.where(self.crossing > 0, self.gain / (2 * self.crossing), MOST_SHARE)
        share = torch.minimum(best.clamp(LEAST_SHARE, MOST_SHARE), 2 * self.share)
        self.share.copy_(torch.where(moved, share, self.share))


def _last(goal: Goal, attribute: int, table: NDArray[np.generic]) -> NDArray[np.generic]:
    moved = np.moveaxis(table, goal.positions.index(attribute), -1)
    return moved.reshape(-1, moved.shape[-1])


def _barred(goal: Goal) -> NDArray[np.bool_]:
    return np.zeros(goal.expected.shape, dtype=np.bool_) if goal.barred is None else goal.barred


def _strides(goal: Goal, attribute: int, columns: int) -> list[int]:
    """Return by how many lines each column's code moves a row on."""
    strides = [0] * columns
    others = [(p, size) for p, size in zip(goal.positions, goal.expected.shape, strict=True) if p != attribute]
    for k, (position, _) in enumerate(others):
        strides[position] = prod(size for _, size in others[k + 1 :])
    return strides
