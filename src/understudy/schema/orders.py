"""Order between columns: what is never above what. It makes impossible combinations of codes, and holds inside bins too.

Public. A missing value, or a catch-all with a code of its own, breaks no order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from understudy.errors import did_you_mean
from understudy.schema.binned import Binned
from understudy.schema.column import Column, Held
from understudy.schema.distances import Apart, Distances
from understudy.schema.gaps import Gap, gap_between
from understudy.schema.measures import Floats, Measure, measure_of
from understudy.schema.placing import Place
from understudy.schema.problems import Wrong
from understudy.schema.reading import Bools
from understudy.schema.rules import RuleError, parse_order
from understudy.schema.zeros import MAX_CELLS, DeclaredZeros

Codes = Mapping[str, NDArray[np.integer]]
Draw = Callable[[str, NDArray[np.integer]], pa.Array]
_DRAWS = 25
"""How often values are drawn again, before the smallest that are in order are taken."""


@dataclass(frozen=True, eq=False)
class Order:
    """``low`` is never above ``high``, or always below it."""

    low: Measure
    high: Measure
    below: bool

    @property
    def rule(self) -> str:
        """The order as a rule spells it."""
        return f"{self.low.column.name} {'<' if self.below else '<='} {self.high.column.name}"

    def broken(self, low: Floats, high: Floats) -> Bools:
        """Say where the order does not hold; it does where a value is unknown."""
        return np.asarray(low >= high if self.below else low > high)


@dataclass(frozen=True, eq=False)
class Orders:
    """All declared orders of a schema."""

    orders: tuple[Order, ...] = ()
    taken: frozenset[str] = frozenset()
    """Names of attributes, which no gap may have: it is not counted then."""

    @cached_property
    def measures(self) -> dict[str, Measure]:
        """The columns in an order, each after those that it is never below."""
        found = {m.column.name: m for order in self.orders for m in (order.low, order.high)}
        sorted_: dict[str, Measure] = {}
        while found:
            free = [n for n in found if not any(o.high.column.name == n and o.low.column.name in found for o in self.orders)]
            if not free:
                raise Wrong(f"the orders of {', '.join(found)} go round in a circle.", "always")
            sorted_ |= {name: found.pop(name) for name in free}
        return sorted_

    def least(self, starts: Mapping[str, Floats]) -> dict[str, Floats]:
        """Return the smallest value that each column may have, given the smallest by itself; -inf where there is none."""
        found: dict[str, Floats] = {}
        for name, measure in self.measures.items():
            below = [(found[o.low.column.name], o.below) for o in self.orders if o.high.column.name == name]
            found[name] = starts[name]
            for values, strictly in below:
                at_least = np.full_like(values, -np.inf)
                known = np.isfinite(values)
                at_least[known] = measure.least(values[known], above=strictly)
                found[name] = np.maximum(found[name], at_least)
        return found

    def count_broken(self, table: Mapping[str, Held]) -> dict[str, int]:
        """Return in how many rows each declared order does not hold. Not private: for the owner's eyes."""
        values = {name: measure.of(table[name]) for name, measure in self.measures.items()}
        return {o.rule: int(o.broken(values[o.low.column.name], values[o.high.column.name]).sum()) for o in self.orders}

    def zeros(self, domain: Sequence[str]) -> list[DeclaredZeros]:
        """Return the combinations of codes that no values in order have: of each pair in order, also through others."""
        found = []
        for name, measure in self.measures.items():
            codes = np.nan_to_num(measure.low, nan=-np.inf)
            alone = {other: np.full(len(codes), -np.inf) for other in self.measures}
            reached = self.least(alone | {name: codes})
            for other, least in reached.items():
                if other != name and np.isfinite(least).any():
                    found.append(_forbidden(measure, self.measures[other], least, domain))
        return [zeros for zeros in found if len(zeros.cells)]

    def settle(
        self,
        table: dict[str, pa.Array],
        codes: Codes,
        rng: np.random.Generator,
        inside: Mapping[str, Floats],
        given: Sequence[str] = (),
    ) -> None:
        """Draw values again, inside their bins, in rows where they are out of order; columns that are ``given`` stay.

        ``inside`` has the weights of the fine bins of some columns, and of the cells of some gaps: their columns' values are
        then drawn once more, as far apart as these say.
        """
        if not self.orders:
            return
        self._put_in_order(table, codes, rng, inside, given)
        self._set_apart(table, codes, rng, inside, given)

    def _set_apart(
        self,
        table: dict[str, pa.Array],
        codes: Codes,
        rng: np.random.Generator,
        inside: Mapping[str, Floats],
        given: Sequence[str],
    ) -> None:
        def place(measure: Measure) -> Place:
            fixed = not (isinstance(measure.column, Binned) and measure.column.drawn) or measure.column.name in given
            return Place(measure, inside.get(measure.column.name), fixed)

        apart = [Apart(g, inside[g.name], place(g.low), place(g.high)) for g in self.gaps if g.name in inside]
        if not apart:
            return
        before = {name: measure.of(table[name]) for name, measure in self.measures.items()}
        values = {name: found.copy() for name, found in before.items()}
        Distances(apart, self._are_broken).settle(values, codes, rng)
        for name, found in values.items():
            rows = np.flatnonzero(found != before[name])
            rows = rows[np.isfinite(found[rows])]
            if len(rows):
                table[name] = _placed(table[name], self.measures[name].write(found[rows]), rows)

    def _are_broken(self, values: Mapping[str, Floats]) -> Bools:
        """Say where values are out of order, also through others."""
        broken = [order.broken(values[order.low.column.name], values[order.high.column.name]) for order in self.pairs]
        return np.asarray(reduce(np.logical_or, broken), np.bool_)

    @cached_property
    def gaps(self) -> tuple[Gap, ...]:
        """How far apart the columns of each declared order lie, where their codes do not tell it."""
        found = {gap.name: gap for o in self.orders if (gap := gap_between(o.low, o.high)) is not None}
        return tuple(gap for name, gap in found.items() if name not in self.taken)

    def _put_in_order(
        self,
        table: dict[str, pa.Array],
        codes: Codes,
        rng: np.random.Generator,
        inside: Mapping[str, Floats],
        given: Sequence[str],
    ) -> None:
        rows = np.flatnonzero(self._out_of_order(table))
        if not len(rows):
            return
        part = {name: table[name].take(pa.array(rows)) for name in self.measures}
        free = {n: m.column for n, m in self.measures.items() if isinstance(m.column, Binned) and n not in given}

        def draw(name: str, some: NDArray[np.integer]) -> pa.Array:
            return free[name].decode(some, rng, inside.get(name))

        self._draw_again(part, {name: codes[name][rows] for name in self.measures}, draw, list(free))
        for name, values in part.items():
            table[name] = _placed(table[name], values, rows)

    def _draw_again(self, table: dict[str, pa.Array], codes: Codes, draw: Draw, free: Sequence[str]) -> None:
        """Draw values in all rows until they are in order; the smallest that are, where that takes too long."""
        rows = np.arange(len(next(iter(table.values()))))
        for _ in range(_DRAWS):
            for name in free:
                table[name] = _placed(table[name], draw(name, codes[name][rows]), rows)
            rows = rows[self._out_of_order({name: table[name].take(pa.array(rows)) for name in self.measures})]
            if not len(rows):
                return
        held = {name: table[name].take(pa.array(rows)) for name in self.measures}
        least = self._in_order({name: codes[name][rows] for name in free}, held)
        for name in free:
            written = pa.compute.if_else(
                pa.array(np.isnan(least[name])),
                held[name],
                self.measures[name].write(np.nan_to_num(least[name], nan=self.measures[name].low[0])),
            )
            table[name] = _placed(table[name], written, rows)

    def _in_order(self, codes: Codes, table: Mapping[str, pa.Array]) -> dict[str, Floats]:
        """Return the smallest values in order that lie in the bins of ``codes``, beside other columns; NaN where unknown.

        A value leaves its bin only where a value that is given leaves it no other place.
        """
        values = {n: m.low[codes[n]] if n in codes else m.of(table[n]) for n, m in self.measures.items()}
        unknown = {name: np.isnan(found) for name, found in values.items()}
        least = self.least({name: np.nan_to_num(found, nan=-np.inf) for name, found in values.items()})
        found = {name: least[name] if name in codes else np.nan_to_num(values[name], nan=np.inf) for name in values}
        for name in [name for name in reversed(self.measures) if name in codes]:
            for order in self.pairs:
                if order.low.column.name == name and order.high.column.name not in codes:
                    above = found[order.high.column.name]
                    over = order.broken(found[name], above)
                    found[name][over] = self.measures[name].most(above[over], below=order.below)
        return {name: np.where(unknown[name], np.nan, values) for name, values in found.items()}

    def _out_of_order(self, table: Mapping[str, Held]) -> Bools:
        """Say in which rows a pair is out of order, also one that is in order through others."""
        return self._are_broken({name: measure.of(table[name]) for name, measure in self.measures.items()})

    @cached_property
    def pairs(self) -> tuple[Order, ...]:
        """The declared orders, and what follows from them."""
        known = {(o.low.column.name, o.high.column.name): o for o in self.orders}
        for middle in self.measures:
            into = [o for (_, high), o in known.items() if high == middle]
            out = [o for (low, _), o in known.items() if low == middle]
            for first in into:
                for second in out:
                    key = first.low.column.name, second.high.column.name
                    below = first.below or second.below or (key in known and known[key].below)
                    known[key] = Order(first.low, second.high, below)
        return tuple(known.values())


def _placed(array: pa.Array, values: pa.Array, rows: NDArray[np.intp]) -> pa.Array:
    """Return ``array`` with ``values`` in ``rows``."""
    which = np.arange(len(array))
    which[rows] = len(which) + np.arange(len(rows))
    return pa.concat_arrays([array, values]).take(pa.array(which))


def _forbidden(low: Measure, high: Measure, least: Floats, domain: Sequence[str]) -> DeclaredZeros:
    """Return the pairs of codes in which all values of ``high`` are below the ``least`` that ``low`` allows."""
    if low.column.size * high.column.size > MAX_CELLS:
        raise Wrong(
            f"{low.column.name} and {high.column.name} have more than {MAX_CELLS:,} combinations; use fewer bins.", "always"
        )
    forbidden = least[:, None] > high.high[None, :]  # never where a value is unknown
    names = (low.column.name, high.column.name)
    clique = tuple(sorted(names, key=list(domain).index))
    cells = np.argwhere(forbidden if clique == names else forbidden.T).astype(np.int64)
    if len(cells) == forbidden.size:
        raise Wrong(f"{names[0]} is always above {names[1]}, so no table could exist; is it the wrong way round?", "always")
    return DeclaredZeros(clique, cells, f"{names[0]} above {names[1]}", of_order=True)


def read_order(rule: str, columns: Sequence[Column]) -> list[Order]:
    """Read one order, such as "born <= admitted <= discharged"; raises Wrong."""
    known = {column.name: column for column in columns}
    try:
        names, operators = parse_order(rule)
    except RuleError as error:
        raise Wrong(f"the order cannot be read: {error}.", "always") from None
    for name in names:
        if name not in known:
            raise Wrong(f'no column that is not derived is called "{name}".{did_you_mean(name, known)}', "always")
    found = []
    for (left, right), operator in zip(pairwise(names), operators, strict=True):
        low, high = (right, left) if operator.startswith(">") else (left, right)
        found.append(_order(known[low], known[high], below="=" not in operator))
    return found


def _order(low: Column, high: Column, *, below: bool) -> Order:
    one, two = measure_of(low), measure_of(high)
    if one is None or two is None or one.space != two.space or low is high:
        raise Wrong(
            f'columns "{low.name}" and "{high.name}" cannot be compared: both must be numbers, dates, date-times or '
            "times of day, or ordinal with the same values.",
            "always",
        )
    if below and (one.times == 0 or (one.times, one.parts) != (two.times, two.parts)):
        raise Wrong(f'"<" needs columns that are counted in the same steps; write {low.name} <= {high.name}.', "always")
    return Order(one, two, below)
