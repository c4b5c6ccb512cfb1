"""Reads a table once: sums over all of its rows, and a random sample of them as codes and numbers.

PRIVATE where the table is. Memory is bounded, however long the table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.measures.values import Floats, has_numbers, numbers_of, numbers_of_codes
from understudy.schema import Schema
from understudy.source.codes import Codes, pack
from understudy.source.tables import Rows as UsedRows

MOST_ROWS, MOST_VALUES = 100_000, 6_000_000
"""A sample has at most so many rows, and so many values in all columns together."""
SEED = 0
"""The same rows are drawn each time."""
AT_ONCE = 1 << 16


@dataclass(frozen=True, eq=False)
class Sums:
    """How many numbers there are, their mean, and the sum of their squared distances from it; in each group."""

    number: NDArray[np.float64]
    mean: Floats
    squares: Floats

    @classmethod
    def none(cls, size: int) -> Sums:
        """Sums of no rows, in so many groups."""
        return cls(np.zeros(size), np.zeros(size), np.zeros(size))

    @classmethod
    def of(cls, numbers: Floats, groups: NDArray[np.integer], size: int) -> Sums:
        """Sum up numbers, each in its group; those missing (NaN) are left out."""
        there = ~np.isnan(numbers)
        numbers, groups = numbers[there], groups[there]
        number = np.bincount(groups, minlength=size).astype(np.float64)
        mean = np.bincount(groups, numbers, size) / np.maximum(number, 1)
        return cls(number, mean, np.bincount(groups, (numbers - mean[groups]) ** 2, size).astype(np.float64))

    def __add__(self, other: Sums) -> Sums:
        number = self.number + other.number
        share = other.number / np.maximum(number, 1)
        apart = other.mean - self.mean
        squares = self.squares + other.squares + apart**2 * self.number * share
        return Sums(number, self.mean + apart * share, squares)

    @property
    def stddev(self) -> Floats:
        """The standard deviation of a sample (n - 1)."""
        return np.asarray(np.sqrt(self.squares / np.maximum(self.number - 1, 1)))


@dataclass(frozen=True, eq=False)
class Rows:
    """A table as far as measures need it: exact sums, and a sample of its rows."""

    schema: Schema
    total: int
    """Rows of the whole table."""
    codes: NDArray[np.int32]
    """The sample, rows × columns."""
    numbers: dict[str, Floats]
    """The sample's numbers, of every column that has some; NaN where missing."""
    sums: dict[str, Sums]
    """Of all rows, of every column that has numbers."""
    by: dict[str, dict[str, Sums]]
    """The same within each code of some columns."""

    @property
    def sampled(self) -> int:
        """Rows of the sample."""
        return len(self.codes)

    def some(self, most: int, rng: np.random.Generator) -> NDArray[np.int32]:
        """Return the codes of ``most`` rows of the sample at random, or of all."""
        if self.sampled <= most:
            return self.codes
        return self.codes[np.sort(rng.choice(self.sampled, most, replace=False))]


@dataclass(frozen=True, eq=False)
class Tables:
    """The rows of the real table, of the synthetic one, and of what was held out."""

    real: Rows
    made: Rows
    held: Rows | None
    weight: float
    """How many real rows one synthetic row stands for."""


Part = tuple[Codes, dict[str, Floats]]


def read_rows(rows: UsedRows, schema: Schema, by: Sequence[str] = ()) -> Rows:
    """Read a table once; of persons with many rows, those that are used."""
    return _gathered(_parts(rows, schema), schema, by)


def rows_of_codes(codes: NDArray[Any], schema: Schema, by: Sequence[str] = ()) -> Rows:
    """Read a table of which only codes are known: a bin of several numbers has none."""
    codes = schema.follow(np.asarray(codes))
    blocks = (pack(codes[i : i + AT_ONCE], schema.domain.sizes) for i in range(0, len(codes), AT_ONCE))
    return _gathered(((b, _known(b, schema)) for b in blocks), schema, by)


def _known(codes: Codes, schema: Schema) -> dict[str, Floats]:
    columns = zip(schema.columns, codes.columns, strict=True)
    return {c.name: numbers_of_codes(c, held.astype(np.intp)) for c, held in columns if has_numbers(c)}


def _parts(rows: UsedRows, schema: Schema) -> Iterator[Part]:
    for batch, codes, used in rows.used():
        numbers = {
            c.name: (
                numbers_of_codes(c, codes.columns[i].astype(np.intp))
                if c.parents
                else numbers_of(c, batch.column(i), codes.columns[i])
            )[used]
            for i, c in enumerate(schema.columns)
            if has_numbers(c)
        }
        declared = codes.columns[: len(schema.columns)]  # what lies inside bins may stand behind
        yield Codes(int(used.sum()), tuple(column[used] for column in declared)), numbers


def _gathered(parts: Iterable[Part], schema: Schema, by: Sequence[str]) -> Rows:
    most = max(1, min(MOST_ROWS, MOST_VALUES // len(schema.columns)))
    sample, total = _Sample(most), 0
    sums: dict[tuple[str, str], Sums] = {}
    for codes, numbers in _blocks(parts):
        total += codes.rows
        sample.add(codes, numbers)
        for name, values in numbers.items():
            for key, groups, size in _groupings(codes, schema, by):
                more = Sums.of(values, groups, size)
                sums[key, name] = sums[key, name] + more if (key, name) in sums else more
    names = [c.name for c in schema.columns if has_numbers(c)]
    held, numbers = sample.taken(len(schema.columns), names)
    of = {key: {name: sums.get((key, name), Sums.none(schema.domain[key])) for name in names} for key in by}
    return Rows(schema, total, held, numbers, {name: sums.get(("", name), Sums.none(1)) for name in names}, of)


def _blocks(parts: Iterable[Part]) -> Iterator[Part]:
    """Put parts together and take them apart again, so that sums do not depend on how a table was read."""
    waiting: list[Part] = []
    held = 0
    for part in parts:
        waiting.append(part)
        held += part[0].rows
        while held >= AT_ONCE:
            codes, numbers = _joined(waiting)
            yield codes.rows_between(0, AT_ONCE), {name: values[:AT_ONCE] for name, values in numbers.items()}
            rest = codes.rows_between(AT_ONCE, held), {name: values[AT_ONCE:] for name, values in numbers.items()}
            waiting, held = [rest], held - AT_ONCE
    if held:
        yield _joined(waiting)


def _joined(parts: Sequence[Part]) -> Part:
    if len(parts) == 1:
        return parts[0]
    columns = zip(*(codes.columns for codes, _ in parts), strict=True)
    codes = Codes(sum(codes.rows for codes, _ in parts), tuple(np.concatenate(column) for column in columns))
    return codes, {name: np.concatenate([numbers[name] for _, numbers in parts]) for name in parts[0][1]}


def _groupings(codes: Codes, schema: Schema, by: Sequence[str]) -> Iterator[tuple[str, NDArray[np.integer], int]]:
    """Yield all rows as one group, then the groups of each column."""
    yield "", np.zeros(codes.rows, np.intp), 1
    for name in by:
        yield name, codes.columns[schema.domain.index(name)].astype(np.intp), schema.domain[name]


class _Sample:
    """So many rows of all that were added, each set of rows as likely as any other: those with the smallest random keys."""

    def __init__(self, most: int) -> None:
        self._most, self._rng = most, np.random.default_rng(SEED)
        self._keys: list[Floats] = []
        self._parts: list[tuple[NDArray[np.int32], dict[str, Floats]]] = []

    def add(self, codes: Codes, numbers: dict[str, Floats]) -> None:
        """Offer some rows."""
        if not codes.rows:
            return
        self._keys.append(self._rng.random(codes.rows))
        self._parts.append((np.column_stack([c.astype(np.int32) for c in codes.columns]), numbers))
        if sum(map(len, self._keys)) > 2 * self._most:
            self._cut()

    def _cut(self) -> None:
        keys = np.concatenate(self._keys)
        limit = np.partition(keys, self._most - 1)[self._most - 1] if len(keys) > self._most else 1.0
        kept = [part <= limit for part in self._keys]
        self._keys = [part[k] for part, k in zip(self._keys, kept, strict=True)]
        self._parts = [
            (codes[k], {name: values[k] for name, values in numbers.items()})
            for (codes, numbers), k in zip(self._parts, kept, strict=True)
        ]

    def taken(self, columns: int, names: Sequence[str]) -> tuple[NDArray[np.int32], dict[str, Floats]]:
        """Return the sample, in the order of the table."""
        if self._keys:
            self._cut()
        codes = np.concatenate([np.zeros((0, columns), np.int32), *(c for c, _ in self._parts)])
        return codes, {n: np.concatenate([np.zeros(0), *(numbers[n] for _, numbers in self._parts)]) for n in names}
