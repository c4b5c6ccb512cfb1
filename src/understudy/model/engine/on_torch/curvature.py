"""The two-loop recursion of L-BFGS in a few launches: each loop runs on inner products. Public numbers only."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch

from understudy.model.engine.on_torch.rings import Table
from understudy.model.engine.protocol import Pair, Vector


def two_loop(gradient: Table, memory: Sequence[Pair], first: Callable[[Vector], Vector]) -> Table:
    """Return the inverse curvature that ``memory`` (oldest first) tells, times ``gradient``; ``first`` guesses it."""
    if not memory:
        return first(gradient)
    steps, changes, rhos = zip(*memory, strict=True)
    s, y = torch.stack(steps), torch.stack((*changes, gradient))
    products = (s @ y.T).cpu().numpy()  # of each step with each change, and with the gradient
    weights = np.zeros(len(rhos))
    for i in reversed(range(len(rhos))):
        weights[i] = rhos[i] * (products[i, -1] - products[i, :-1] @ weights)
    q = first(torch.tensor([*-weights, 1.0], device=s.device, dtype=torch.float64) @ y)
    ahead = (y[:-1] @ q).cpu().numpy()
    turns = np.zeros(len(rhos))
    for i, rho in enumerate(rhos):
        turns[i] = weights[i] - rho * (ahead[i] + products[:, i] @ turns)
    return torch.addmv(q, s.T, torch.from_numpy(turns).to(s.device))
