"""MWEM+PGM, the paper's ("basic elements right"): AIM's loop with four switches turned. Sees no counts."""

from __future__ import annotations

from typing import Any

from understudy.mechanism.aim import Aim
from understudy.mechanism.config import AimConfig

SWITCHES: dict[str, Any] = {"initial": "uniform", "candidates": "workload", "criterion": "mwem", "adaptive": False}
"""What makes it MWEM; these are no options of it."""


def mwem(**options: Any) -> Aim:
    """Uniform start, candidates from the workload itself, distance less cells as the score, T = d equal
    rounds.

    Unlike the paper's it respects ``max_size``, and it measures the number of rows first, which the paper
    takes as known.
    """
    return Aim(AimConfig(**SWITCHES, **options), title="mwem")
