"""The two-loop recursion of L-BFGS in a few launches: it runs on inner products, all of them made at once. Public numbers only."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from understudy.model.engine.on_torch.rings import Table
from understudy.model.engine.protocol import Pair
from understudy.model.engine.recursion import FIRST_STEP


def two_loop(gradient: Table, first: Table, memory: Sequence[Pair]) -> Table:
    """Return the inverse curvature that ``memory`` tells times ``gradient``, from the diagonal ``first``.

    Every vector on the way is a combination of the steps s, of ``first`` × the changes y, and of ``first`` × the gradient.
    """
    if not memory:
        return first * gradient * FIRST_STEP
    steps, changes, rhos = zip(*memory, strict=True)
    y = torch.stack(changes)
    basis = torch.cat([torch.stack(steps), y * first])
    products = basis @ torch.cat([y, gradient[None]]).T
    scale, weights = _weights(products.cpu().numpy(), np.array(rhos))
    return torch.addcmul(torch.from_numpy(weights).to(basis.device) @ basis, first, gradient, value=scale)


def _weights(products: NDArray[np.float64], rhos: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
    """Return the scale of the first guess, and the weight of each step and each change in the result."""
    count = rhos.size
    s_y, s_g = products[:count, :count], products[:count, count]
    y_y, y_g = products[count:, :count], products[count:, count]  # with ``first`` between the two
    alpha = np.zeros(count)
    for i in reversed(range(count)):
        alpha[i] = rhos[i] * (s_g[i] - s_y[i] @ alpha)
    scale = 1.0 / (rhos[-1] * y_y[-1, -1])
    ahead = scale * (y_g - y_y @ alpha)
    beta = np.zeros(count)
    for i in range(count):
        beta[i] = alpha[i] - rhos[i] * (ahead[i] + s_y[:, i] @ beta)
    return float(scale), np.concatenate([beta, -scale * alpha])
