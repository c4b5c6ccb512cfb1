"""Records from a model, by randomised rounding or by plain sampling. Public numbers only; post-processing.

Attributes are generated in the reverse of the order in which inference eliminated them. When attribute a was eliminated,
two tables were multiplied and a summed out; that product, in the row of an already generated combination of the other
attributes (the parents of a), is p(a | parents) up to scale. No clique table is ever made.

**Rounding.** The rows that share their parents' values form a group. Inside a group of n rows every value v gets
⌊n·p(v | parents)⌋ or ⌈n·p(v | parents)⌉ rows (systematic rounding: unbiased, with the exact total), handed to the rows of
the group in random order. So the count of each cell of a family (a and its parents) is within 1 of its expectation
given the parents' counts. For a clique of the model the rounding errors of the families on the way from its own to the
first one add up, at worst; ``understudy.model.distance`` states that bound, and a bound on the mean, in L1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from understudy.errors import InternalError, UserError
from understudy.model.contraction import Family, families
from understudy.model.engine import Calibrated, Factors
from understudy.model.network import Network

Method = Literal["round", "sample"]
Column = NDArray[np.int32]
Index = NDArray[np.signedinteger]

CHUNK = 1 << 18
"""Cells worked on at a time: few enough to stay in cache, many enough to hide the cost of a call."""
SHUFFLED = 1 << 16
"""Rows put in random order at a time, for the same reason; their groups must be numbered in 16 bits."""


def generate(
    network: Network, calibrated: Calibrated, rows: int, rng: np.random.Generator, *, method: Method = "round"
) -> Column:
    """Return ``rows`` records as codes: rows × attributes in domain order, each column contiguous."""
    if method not in ("round", "sample"):
        raise UserError(f'There is no method "{method}"; use "round" or "sample".')
    if rows < 0:
        raise UserError(f"{rows} rows cannot be generated; ask for 0 or more.")
    sizes = network.domain.sizes
    out = np.zeros((rows, len(sizes)), dtype=np.int32, order="F")
    for family in families(network.plan):
        if rows and sizes[family.attribute] > 1:
            _generate_one(_Conditional(sizes, family, calibrated.factors(family)), out, rng, method)
    return out


def _generate_one(conditional: _Conditional, out: Column, rng: np.random.Generator, method: Method) -> None:
    """Fill in one column of ``out``, given the columns of its parents."""
    order, starts = _grouped(conditional, out)
    sizes = np.diff(starts)
    values = np.empty(order.size, dtype=np.int32)
    for some in _chunks(sizes.size, conditional.size):
        first = order[starts[some]]
        cumulative = np.cumsum(conditional.weights(out, first), axis=1)
        if not np.all(cumulative[:, -1] > 0):
            raise InternalError("A combination was generated that the model holds impossible.")
        rows = slice(starts[some.start], starts[some.stop])
        draw = rounded if method == "round" else sampled
        values[rows] = draw(cumulative, sizes[some], rng)
    if method == "round":
        shuffle_inside(values, starts, rng)
    out[order, conditional.family.attribute] = values


def rounded(cumulative: NDArray[np.float64], sizes: Index, rng: np.random.Generator) -> Column:
    """Return each group's values, ascending, every count rounded up or down.

    The expected counts are laid end to end; a cell gets the integers that fall into it after a random shift. Cells of
    probability 0 have no length, the ones at the end included, so no rounding error of arithmetic ever reaches them.
    """
    last = cumulative[:, -1:]
    wanted = sizes[:, None]
    cuts = cumulative * (wanted / last)
    cuts += rng.random((sizes.size, 1))
    whole = np.minimum(cuts.astype(np.int64), wanted)
    np.copyto(whole, wanted, where=cumulative == last)
    counts = np.diff(whole, axis=1, prepend=0)
    codes = np.broadcast_to(np.arange(counts.shape[1], dtype=np.int32), counts.shape)
    return np.repeat(codes.ravel(), counts.ravel())


def sampled(cumulative: NDArray[np.float64], sizes: Index, rng: np.random.Generator) -> Column:
    """Return an independent draw for each row of each group, by bisection of its group's cumulative weights."""
    group = np.repeat(np.arange(sizes.size), sizes)
    last = cumulative[:, -1]
    points = np.minimum(rng.random(group.size) * last[group], np.nextafter(last, 0.0)[group])
    flat, width = cumulative.ravel(), cumulative.shape[1]
    low = group * width
    found = low.copy()
    step = 1 << (width - 1).bit_length() >> 1
    while step:  # ``found`` ends at the first cell whose cumulative weight is above the point
        ahead = found + step
        inside = ahead - low < width
        found = np.where(inside & (flat[np.where(inside, ahead, low) - 1] <= points), ahead, found)
        step >>= 1
    return np.asarray(found - low, dtype=np.int32)


def shuffle_inside(values: Column, starts: Index, rng: np.random.Generator) -> None:
    """Put each group's values in random order: a large group by itself, runs of small groups together.

    The runs fit in cache: shuffling all rows at once would cost several times more when there are millions of them.
    """
    first, groups = 0, starts.size - 1
    while first < groups:
        start = int(starts[first])
        end = max(first + 1, int(np.searchsorted(starts, start + SHUFFLED, side="right")) - 1)
        part = values[start : starts[end]]
        if end == first + 1:
            _shuffle(part, rng)
        else:
            group = np.repeat(np.arange(end - first, dtype=np.uint16), np.diff(starts[first : end + 1]))
            mixed = rng.permutation(part.size)
            part[:] = part[mixed[np.argsort(group[mixed], kind="stable")]]
        first = end


def _shuffle(values: Column, rng: np.random.Generator) -> None:
    """Put ``values`` in random order; many are first dealt into 256 piles at random, each of which fits in cache."""
    if values.size <= SHUFFLED:
        rng.shuffle(values)
        return
    piles = rng.integers(0, 256, size=values.size, dtype=np.uint8)
    values[:] = values[np.argsort(piles, kind="stable")]
    end = 0
    for size in np.bincount(piles, minlength=256):
        rng.shuffle(values[end : end + size])
        end += size


def _grouped(conditional: _Conditional, out: Column) -> tuple[Index, Index]:
    """Return the rows ordered by their parents' values, and where each group starts, and the end."""
    rows = out.shape[0]
    if not conditional.family.parents:
        return np.arange(rows), np.array([0, rows])
    codes = conditional.groups(out)
    # Radix sort by 16 bits a pass: numpy's stable sort of short integers is a counting sort.
    order: Index = np.argsort(codes.astype(np.uint16), kind="stable")
    for shift in range(16, (conditional.group_count - 1).bit_length(), 16):
        order = order[np.argsort((codes >> shift).astype(np.uint16)[order], kind="stable")]
    if conditional.group_count <= rows:
        sizes = np.bincount(codes)
        return order, np.concatenate([[0], np.cumsum(sizes[sizes > 0])])
    ordered = codes[order]
    return order, np.concatenate([[0], np.flatnonzero(ordered[1:] != ordered[:-1]) + 1, [rows]])


def _chunks(groups: int, width: int) -> Iterator[slice]:
    step = max(1, CHUNK // width)
    for start in range(0, groups, step):
        yield slice(start, min(start + step, groups))


def _integers(below: int) -> type[np.signedinteger]:
    """Return the shorter type that holds 0 … ``below``: half the memory to move."""
    return np.int32 if below < 1 << 31 else np.int64


class _Conditional:
    """p(attribute | parents) up to scale, looked up for the groups that occur."""

    def __init__(self, sizes: Sequence[int], family: Family, factors: Factors) -> None:
        self.family = family
        self.size = sizes[family.attribute]
        self.group_count = prod(sizes[p] for p in family.parents)
        self._sizes = sizes
        self._logarithmic = factors.logarithmic
        self._tables = list(zip(factors.scopes, map(np.ascontiguousarray, factors.tables), strict=True))

    def groups(self, out: Column) -> Index:
        """Number the combinations of the parents' values in ``out``'s rows."""
        codes: Index = np.zeros(out.shape[0], dtype=_integers(self.group_count))
        for parent in self.family.parents:
            np.multiply(codes, self._sizes[parent], out=codes)
            np.add(codes, out[:, parent], out=codes)
        return codes

    def weights(self, out: Column, rows: Index) -> NDArray[np.float64]:
        """Return a row of weights over the attribute's values for each of ``rows`` (whose parents' values count)."""
        total = None
        for scope, table in self._tables:
            part = self._lookup(scope, table, out, rows)
            total = part if total is None else total + part if self._logarithmic else total * part
        assert total is not None
        if self._logarithmic:
            total = np.exp(total - total.max(axis=1, keepdims=True))
        return total

    def _lookup(self, scope: tuple[int, ...], table: NDArray[np.float64], out: Column, rows: Index) -> NDArray[np.float64]:
        strides = dict(zip(scope, (stride // table.itemsize for stride in table.strides), strict=True))
        start: Index = np.zeros(rows.size, dtype=np.int64)
        for parent in self.family.parents:
            if parent in strides:
                start += out[rows, parent].astype(np.int64) * strides[parent]
        step = strides.get(self.family.attribute, 0)
        return table.ravel().take(start[:, None] + np.arange(self.size) * step)
