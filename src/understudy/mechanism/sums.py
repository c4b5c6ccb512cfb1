"""Sums of numeric columns that are asked for at the end of a run: which, and for how much each. Public numbers only.

What a mechanism measures says how many rows each value has, and its noise on few rows of large values moves the mean and
the total of a column most; so does what is not known of where values lie inside bins. One noisy sum of the column, over its
finer bins, tells these directly. It is the sum of clipped values, less a middle: the larger the largest weight, the more
noise it takes. Where to clip, and how much each column gets, follows from what is known of its rows by then (``Finer``): the
expected relative errors of all means together fall fastest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from understudy.mechanism.anchors import EXACT, Known
from understudy.model import MatrixQuery, Observation
from understudy.privacy import Groups, Measurement
from understudy.schema.binned import Binned
from understudy.schema.column import fine_name
from understudy.schema.looks import Look, Looks
from understudy.schema.within import Within

FINE = 2**16
"""The largest weight of a sum: weights are whole numbers."""
ENDS = 24
"""So many values are tried as ends to clip at."""
MIDDLES = (0.0, 0.5, 1.0)
"""What is taken off lies so far on the way from the mean to halfway between both ends."""
PARTS = 40
"""What there is to spend is given out in so many parts."""
AROUND_ZERO = 0.25
"""A mean nearer to 0 than this part of the mean size of values is as large as that: errors are relative to it."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Finer:
    """What is known of the rows of a column's finer codes: how many its codes have, and how they lie inside."""

    known: Known
    within: Within

    def covariance(self, one: Floats, other: Floats) -> Floats:
        """Return that of two sums, by their weights in the last axis."""
        codes = self.known.covariance(self.within.per_row(one), self.within.per_row(other))
        return np.asarray(codes + self.within.covariance(one, other))

    def of_rows(self, weights: Floats) -> Floats:
        """Return the variance that a sum has since the number of rows is not known exactly."""
        return self.known.of_rows(self.within.per_row(weights))


@dataclass(frozen=True, eq=False)
class Clips:
    """Sums of values between two ends, less a middle; the largest weight is 1."""

    values: Floats
    counted: NDArray[np.bool_]
    ends: Floats
    """Of each sum: the lower end, the upper one, and the middle."""

    def weights(self) -> Floats:
        """Return the weights of each sum."""
        low, high, middle = self.ends.T[:, :, None]
        sizes = np.maximum(high - middle, middle - low)
        return np.asarray(np.where(self.counted, (np.clip(self.values, low, high) - middle) / sizes, 0.0))


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums of one column that may be asked for, with what each would tell of the mean."""

    clips: Clips
    variance: float
    """Of the total about its mean, as it is known now; errors are relative, so it is that of a share."""
    explained: Floats
    own: Floats
    """Of each sum: its squared covariance with the total, and its own variance, without the noise."""
    noise: float
    """The variance of the noise on a sum that costs 1."""

    @classmethod
    def of(cls, finer: Finer, values: Floats, counted: NDArray[np.bool_], noise: float) -> Sums | None:
        """Return the sums of a column whose finer codes have these values; those not ``counted`` have none (missing)."""
        rows = np.where(counted, finer.within.rows, 0.0)
        largest = float(np.abs(values[counted]).max(initial=0.0))
        if rows.sum() <= 0 or largest <= 0:
            return None
        values = values / largest  # errors are relative, and squares of declared numbers may be beyond floats
        mean = float(rows @ values) / float(rows.sum())
        size = max(abs(mean), AROUND_ZERO * float(rows @ np.abs(values)) / float(rows.sum())) * float(rows.sum())
        target = np.where(counted, values - mean, 0.0)
        blocks = list(_clips(values, rows, counted))
        if size <= 0 or not blocks:
            return None
        told = [_told(finer, target, some.weights()) for some in blocks]  # block by block: weights take much memory
        explained, own = (np.concatenate(part) for part in zip(*told, strict=True))
        clips = Clips(values, counted, np.concatenate([some.ends for some in blocks]))
        return cls(clips, float(finer.covariance(target, target)) / size**2, explained / size**2, own, noise)

    def left(self, rho: float) -> tuple[float, int]:
        """Return the relative deviation of the mean once the best sum is told for ``rho``, and which sum that is."""
        if rho <= 0:
            return self.variance**0.5, 0
        told = self.explained / (self.own + self.noise / rho)
        best = int(np.argmax(told))
        return max(self.variance - float(told[best]), 0.0) ** 0.5, best

    def best(self, rho: float) -> Floats:
        """Return the weights of the best sum for ``rho``."""
        place = self.left(rho)[1]
        return np.asarray(replace(self.clips, ends=self.clips.ends[place : place + 1]).weights()[0])


def _clips(values: Floats, rows: Floats, counted: NDArray[np.bool_]) -> Iterator[Clips]:
    """Yield the sums that are tried, those with the same lower end together."""
    levels = np.unique(values[counted])
    levels = levels[np.unique(np.linspace(0, len(levels) - 1, ENDS).round().astype(int))]
    for i, low in enumerate(levels[:-1]):
        ends = []
        for high in levels[i + 1 :]:
            mean = float(rows @ np.clip(values, low, high)) / float(rows.sum())
            ends += [(low, high, mean + part * ((low + high) / 2 - mean)) for part in MIDDLES]
        yield Clips(values, counted, np.array(ends))


def _told(finer: Finer, target: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return the squared covariance of sums with the total, and their own variance."""
    return finer.covariance(target, weights) ** 2, finer.covariance(weights, weights) + finer.of_rows(weights)


def shared(columns: Mapping[str, Sums], rho: float) -> dict[str, float]:
    """Return what each column's sum may cost, ``rho`` in all: part by part to where the relative error falls most."""
    found = dict.fromkeys(columns, 0.0)
    part = rho / PARTS
    now = {name: sums.left(0.0)[0] for name, sums in columns.items()}
    then = {name: sums.left(part)[0] for name, sums in columns.items()}
    for _ in range(PARTS if columns else 0):
        name = max(columns, key=lambda one: now[one] - then[one])
        found[name] += part
        now[name], then[name] = then[name], columns[name].left(found[name] + part)[0]
    return {name: cost for name, cost in found.items() if cost > 0}


def of_codes(name: str, within: Within, weights: Floats, asked: Measurement) -> Observation:
    """Return the sum that was asked of a column's finer codes as one of its codes, as far as it tells of these."""
    sigma = (asked.sigma**2 + max(float(within.covariance(weights, weights)), 0.0)) ** 0.5
    per_row = within.per_row(weights)
    return Observation((name,), asked.values.astype(np.float64), sigma, MatrixQuery(per_row[None], per_row.shape))


def weights_of(column: Binned, asked: Measurement) -> Floats:
    """Return the weight of each finer code in a sum that was asked for."""
    assert asked.query is not None
    weights = np.asarray(asked.query.adjoint(np.ones(1)).ravel())
    return weights[np.flatnonzero(np.diff(column.rounds, prepend=-1))]


def is_count(measured: Measurement) -> bool:
    """Whether it is a look at where values lie, and not a sum of them."""
    return measured.query is None or isinstance(measured.query, Groups)


def looks_of(measured: Sequence[Measurement], name: str) -> Looks | None:
    """Return the looks at a column that were measured; None where there were none."""
    mine = [m for m in measured if m.clique == (fine_name(name),) and is_count(m)]
    return Looks([_look(m) for m in mine]) if mine else None


def _look(measured: Measurement) -> Look:
    groups = measured.query.groups[0] if isinstance(measured.query, Groups) else np.arange(measured.values.size)
    return Look(groups, measured.values.astype(np.float64), max(measured.sigma, EXACT) ** 2)
