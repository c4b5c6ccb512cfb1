"""Exact inference on a device: from log-potentials to the tables inside and outside of each node. Public numbers only.

Probabilities are tried first, each table centred so that products grow as far as they shrink; every number that was made is
looked at afterwards. Where one left the range, logarithms do it. A forbidden cell is exactly 0 either way.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

import torch

from understudy.errors import SchemaError
from understudy.model.engine.on_torch.program import Program, Swept
from understudy.model.engine.on_torch.rings import LINEAR, LOGARITHMIC, Linear, Table

SAFE_SMALLEST = 1e-290
"""Numbers between this and one over it have lost no term of a sum that could matter in 10 digits."""


@dataclass(frozen=True)
class Beliefs:
    """The outcome of one inference."""

    swept: Swept
    log_z: float
    ring: Linear


def infer(program: Program, potentials: Table) -> Beliefs:
    """Run inference on log-potentials in the program's order (``-inf`` exactly in the forbidden cells)."""
    offsets = centres(program, potentials)
    scaled, offset = potentials - offsets[program.table_of_cell], float(offsets.sum())
    for ring in (LINEAR, LOGARITHMIC):
        swept = program.sweep(ring.leaves(scaled), ring)
        if in_range(told := telling(program, swept, ring).tolist(), ring):
            return Beliefs(swept, told[0] + offset, ring)
    raise impossible()


def centres(program: Program, potentials: Table) -> Table:
    """Return the middle between the largest and the smallest possible log-potential of each table."""
    tables = len(program.network.lengths)
    possible = potentials if program.network.allowed is None else torch.where(program.floor == 0, potentials, torch.inf)
    extremes = torch.empty(2, tables, dtype=torch.float64, device=program.device)
    extremes[0].fill_(-torch.inf).scatter_reduce_(0, program.table_of_cell, potentials, "amax")
    extremes[1].fill_(torch.inf).scatter_reduce_(0, program.table_of_cell, possible, "amin")
    if not bool(torch.isfinite(extremes[0]).all()):
        raise SchemaError("The structural zeros forbid every combination of some attributes; allow at least one.")
    return extremes.mean(0)


def telling(program: Program, swept: Swept, ring: Linear) -> Table:
    """Return what decides whether a sweep is right: log Z, and the smallest and largest number made."""
    if ring.logarithmic:
        return torch.stack([swept.log_z, swept.log_z, swept.log_z])
    return torch.cat([swept.log_z[None], program.extremes(swept.block)])


def in_range(told: list[float], ring: Linear) -> bool:
    """Say whether nothing was lost in a sweep."""
    log_z, low, high = told
    return isfinite(log_z) and (ring.logarithmic or (low > SAFE_SMALLEST and high < 1 / SAFE_SMALLEST))


def impossible() -> SchemaError:
    """Return the error for zeros that leave no record."""
    return SchemaError("The structural zeros, taken together, forbid every record; allow at least one.")
