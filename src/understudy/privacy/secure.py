"""The noise that may be released: OpenDP's exact samplers on integers, fed by the operating system's secure
generator.

May see private counts and scores. Nothing here takes a seed, and nothing here uses ``random`` or
``numpy.random``.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from itertools import pairwise
from types import FrameType
from typing import Any, ClassVar, Literal

import numpy as np
from opendp.core import as_array
from opendp.domains import atom_domain, vector_domain
from opendp.measurements import then_gaussian, then_laplace, then_noisy_max
from opendp.measures import zero_concentrated_divergence
from opendp.metrics import l1_distance, l2_distance, linf_distance
from opendp.mod import enable_features

from understudy.errors import BudgetError
from understudy.privacy.noise import Counts, require_int64

enable_features("contrib")

_CHUNK = 16_384
"""Cells per call once a vector is long enough to share between threads (OpenDP runs outside Python's lock).
"""


_SCALES = (1e-100, 1e100)
"""Scales whose squares, and the inverses of those, are far inside the range of floats."""


class SecureNoise:
    """Exact discrete noise and selection from OpenDP. Results beyond int64 saturate at its ends."""

    private: ClassVar[bool] = True

    def gaussian(self, counts: Counts, sigma: float) -> Counts:
        """Return ``counts`` plus discrete Gaussian noise of scale ``sigma`` on each cell."""
        return _drawn(_gaussian(sigma), require_int64(counts))

    def laplace(self, counts: Counts, scale: float) -> Counts:
        """Return ``counts`` plus discrete Laplace noise of ``scale`` on each cell."""
        return _drawn(_laplace(scale), require_int64(counts))

    def select(self, scores: Counts, scale: float) -> int:
        """Return an index drawn with P(i) ∝ exp(scores[i] / scale): the exponential mechanism."""
        with _undisturbed():
            return int(_noisy_max(scale)(require_int64(scores)))

    def __repr__(self) -> str:
        return "SecureNoise()"


def second_opinion(kind: Literal["gaussian", "laplace", "selection"], scale: float, sensitivity: int) -> float:
    """Return the rho that OpenDP itself states for the measurement that will be drawn from; rounded up by
    OpenDP.

    ``sensitivity`` is that of the scores for a selection, in L1 for Laplace noise, and in squared L2 for Gaussian noise.
    """
    if not _SCALES[0] <= scale <= _SCALES[1]:
        raise BudgetError(f"Noise of scale {scale:.6g} cannot be drawn; choose one from 1e-100 to 1e100.")
    if kind == "selection":
        return float(_noisy_max(scale).map(sensitivity))
    if kind == "gaussian":
        return float(_gaussian(scale).map(float(np.nextafter(sensitivity**0.5, np.inf))))
    return float(_laplace(scale).map(sensitivity)) ** 2 / 2


# The constructors take a fraction of a millisecond; kept ones let the check and the draw use the same object.


@lru_cache(maxsize=16)
def _gaussian(sigma: float) -> Any:
    space = vector_domain(atom_domain(T="i64")), l2_distance(T="f64")
    return space >> then_gaussian(scale=float(sigma)) >> as_array()


@lru_cache(maxsize=16)
def _laplace(scale: float) -> Any:
    space = vector_domain(atom_domain(T="i64")), l1_distance(T="i64")
    return space >> then_laplace(scale=float(scale)) >> as_array()


@lru_cache(maxsize=16)
def _noisy_max(scale: float) -> Any:
    space = vector_domain(atom_domain(T="i64")), linf_distance(T="i64")
    return space >> then_noisy_max(zero_concentrated_divergence(), scale=float(scale))


def _drawn(measurement: Callable[[Counts], Counts], counts: Counts) -> Counts:
    """Apply a vector measurement to ``counts`` of any shape, in threads when it is long. Keeps dtype and
    shape.
    """
    flat = np.ascontiguousarray(counts).reshape(-1)
    edges = [*range(0, flat.size, _CHUNK), flat.size]
    chunks = [flat[a:b] for a, b in pairwise(edges)]
    with _undisturbed():
        if len(chunks) <= 1:
            parts = [measurement(chunk) for chunk in chunks]
        else:
            with ThreadPoolExecutor(min(len(chunks), _cores())) as pool:
                parts = list(pool.map(measurement, chunks))
    noisy = np.concatenate(parts) if parts else flat.copy()
    return require_int64(noisy).reshape(counts.shape)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Hold Ctrl-C back until the block has ended: raised where OpenDP calls Python back, it would be lost."""
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler) or threading.current_thread() is not threading.main_thread():
        yield
        return
    held: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda number, frame: held.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if held:
            handler(*held[0])


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
