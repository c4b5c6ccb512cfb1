"""Exact counting of many marginals in one pass over batches of codes; partial counts add up.

PRIVATE: a tally holds exact counts of the table. Everything is an integer from the row to the count.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique, Domain
from understudy.errors import InternalError, WorkloadError
from understudy.source.codes import Codes, Counts
from understudy.source.compress import compress
from understudy.source.plan import Carrier, Positions, plan_carriers

_MOST_CARRIER_CELLS = 2**17
"""One megabyte of counts: a table that is only summed out again should stay in the cache of one core."""

_MOST_CELLS = 2**62

_PASSES_WORTH_FOLDING = 50
"""Folding equal rows costs about as much as this many passes (measured: 80 ns a row, against 1.5 to 2)."""


_ROWS_WORTH_PLANNING = 1_000
"""To look for larger tables takes about as long as a pass over this many rows, for each attribute of the table."""


class Tally:
    """Counts of ``cliques`` over whatever was added so far.

    An engine that counts in parts makes one tally a part and merges them; the order does not matter.
    """

    def __init__(self, domain: Domain, cliques: Sequence[Clique]) -> None:
        self.domain = domain
        self.cliques = tuple(tuple(clique) for clique in cliques)
        self._asked = [positions_of(domain, clique) for clique in self.cliques]
        self._counts = {p: np.zeros([domain.sizes[i] for i in p], np.int64) for p in self._asked}
        self._plans: dict[int, tuple[Carrier, ...]] = {}

    def add(self, codes: Codes, *, folded: bool = False) -> None:
        """Count one batch of rows; ``folded`` where equal ones were folded already, or are not worth it."""
        if not folded and len(self._plan(codes.rows)) >= _PASSES_WORTH_FOLDING:
            codes = compress(codes, self.domain.sizes)
        pass_ = _Pass(codes, self.domain.sizes)
        for carrier in self._plan(codes.rows):
            if carrier.targets == (carrier.positions,):
                pass_.count_into(self._counts[carrier.positions], carrier.positions)
                continue
            table = np.zeros([self.domain.sizes[i] for i in carrier.positions], np.int64)
            pass_.count_into(table, carrier.positions)
            for target, part in _sum_out(table, carrier):
                self._counts[target] += part

    def merge(self, other: Tally) -> None:
        """Add the counts of another part of the same table."""
        if (self.domain, self.cliques) != (other.domain, other.cliques):
            raise InternalError("Only tallies of the same domain and cliques can be merged.")
        for positions, part in other._counts.items():
            self._counts[positions] += part

    def counts(self) -> list[Counts]:
        """Return the counts of each clique, axes in the order in which it names them.

        To hold large counts only once these are the tally's own arrays: take them when all is added.
        """
        taken: set[Positions] = set()
        result = []
        for positions, clique in zip(self._asked, self.cliques, strict=True):
            own = self._counts[positions].copy() if positions in taken else self._counts[positions]
            taken.add(positions)
            axes = [positions.index(self.domain.index(name)) for name in clique]
            result.append(own if axes == sorted(axes) else own.transpose(axes).copy())
        return result

    def _plan(self, rows: int) -> tuple[Carrier, ...]:
        # A power of two, so that batches of nearly the same length share a plan.
        limit = min(_MOST_CARRIER_CELLS, 1 << max(rows, 1).bit_length() - 1)
        if rows < _ROWS_WORTH_PLANNING * len(self.domain):
            limit = 0
        if limit not in self._plans:
            self._plans[limit] = plan_carriers(self.domain.sizes, list(self._counts), limit)
        return self._plans[limit]


class _Pass:
    """Counts tables over one batch, keeping the cell numbers of the first attributes of the last.

    No threads: ``bincount`` holds the interpreter lock (measured: two threads, 1.03 times faster).
    """

    def __init__(self, codes: Codes, sizes: Sequence[int]) -> None:
        self._codes, self._sizes = codes, sizes
        self._index = np.empty(codes.rows, np.intp)
        self._prefixes: list[tuple[int, NDArray[np.integer]]] = []

    def count_into(self, table: Counts, positions: Positions) -> None:
        """Add the batch's counts of ``positions`` to ``table``."""
        weights, flat = self._codes.weights, table.reshape(-1)
        if not positions:
            flat += self._codes.rows if weights is None else weights.sum()
            return
        self._index[:] = self._mixed_radix(positions)
        if weights is not None:
            np.add.at(flat, self._index, weights)
        elif flat.size > self._codes.rows:
            # Touches only the cells that occur; bincount would make a second table as large as the first.
            np.add.at(flat, self._index, 1)
        else:
            flat += np.bincount(self._index, minlength=flat.size)

    def _mixed_radix(self, positions: Positions) -> NDArray[np.integer]:
        """Return the cell number of each row; carriers come sorted, so neighbours begin alike."""
        shared = 0
        while shared < min(len(self._prefixes), len(positions)) and self._prefixes[shared][0] == positions[shared]:
            shared += 1
        del self._prefixes[shared:]
        for depth in range(shared, len(positions)):
            column: NDArray[np.integer] = self._codes.columns[positions[depth]]
            if depth:
                cells = prod(self._sizes[i] for i in positions[: depth + 1])
                kind: type[np.integer] = np.uint32 if cells <= 2**32 else np.int64
                prefix = self._prefixes[-1][1].astype(kind, copy=False)
                column = prefix * kind(self._sizes[positions[depth]]) + column.astype(kind, copy=False)
            self._prefixes.append((positions[depth], column))
        return self._prefixes[-1][1]


def _sum_out(table: Counts, carrier: Carrier) -> list[tuple[Positions, Counts]]:
    """Sum ``table`` down to each of the carrier's targets, sharing the sums on the way."""
    known = {carrier.positions: table}
    result = []
    for target in carrier.targets:
        here = carrier.positions
        # Always dropping the first attribute that must go makes targets share what they pass through.
        for drop in [i for i in carrier.positions if i not in target]:
            axis = here.index(drop)
            there = here[:axis] + here[axis + 1 :]
            if there not in known:
                known[there] = known[here].sum(axis=axis)
            here = there
        result.append((target, known[here]))
    return result


def positions_of(domain: Domain, clique: Clique) -> Positions:
    """Return where the attributes of ``clique`` stand; one that cannot be counted is refused."""
    positions = tuple(sorted({domain.index(attribute) for attribute in clique}))
    if len(positions) != len(clique):
        raise WorkloadError(f"The marginal {', '.join(clique)} names an attribute twice; name each once.")
    if domain.cells(clique) > _MOST_CELLS:
        raise WorkloadError(f"The marginal {', '.join(clique)} has more cells than can be numbered; make it smaller.")
    return positions
