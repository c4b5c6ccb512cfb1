"""Where a share of a bin's rows lies, when each fine bin has a weight. Public: weights are released, bins are declared."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def place_inside(
    weights: NDArray[np.float64], bins: NDArray[np.integer], codes: NDArray[np.integer], parts: NDArray[np.float64]
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return the fine bin, and how far up in it, below which a part of each bin's rows lies.

    ``weights`` has a number for each fine bin, ``bins`` the bin that it is in; ``codes`` are bins, ``parts`` from 0 to 1.
    """
    total = np.bincount(bins, weights)
    ends = np.cumsum(weights / total[bins])  # each bin takes a length of 1
    starts = np.searchsorted(bins, np.arange(len(total)))
    base = np.append(0.0, ends)[starts]
    points = base[codes] + np.minimum(parts, np.nextafter(1.0, 0.0))
    last = np.append(starts[1:], len(bins))[codes] - 1
    cells = np.clip(np.searchsorted(ends, points, side="right"), starts[codes], last)
    cells = np.where(weights[cells] > 0, cells, _nearest(weights, bins)[cells])
    before = np.append(0.0, ends)[cells]
    length = np.maximum(ends[cells] - before, np.finfo(float).tiny)
    return cells, np.clip((points - before) / length, 0.0, np.nextafter(1.0, 0.0))


def _nearest(weights: NDArray[np.float64], bins: NDArray[np.integer]) -> NDArray[np.intp]:
    """Return, for each fine bin, the last one of its bin that has a weight: rounding must not reach an empty one."""
    places = np.where(weights > 0, np.arange(len(weights)), -1)
    highest = np.full(int(bins[-1]) + 1, -1)
    np.maximum.at(highest, bins, places)
    return np.asarray(highest[bins], dtype=np.intp)
