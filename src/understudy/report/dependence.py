"""How strongly two columns go together, by a table of counts. Public, where the counts are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def dependence(counts: Floats) -> float:
    """Return the mutual information of a two-way table over the smaller of its two entropies: 0 (none) to 1."""
    p = np.maximum(counts, 0.0) / max(float(counts.sum()), 1e-300)
    rows, columns = p.sum(axis=1), p.sum(axis=0)
    least = min(_entropy(rows), _entropy(columns))
    shared = _entropy(rows) + _entropy(columns) - _entropy(p.reshape(-1))
    return float(np.clip(shared / least, 0.0, 1.0)) if least > 1e-9 else 0.0


def _entropy(p: Floats) -> float:
    kept = p[p > 0]
    return float(-(kept * np.log(kept)).sum())
