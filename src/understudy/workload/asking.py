"""What a workload asks of a marginal: its cells, or sums of them that follow from a map of each attribute.

Public: a map is written down by the user. Prefixes of an ordered attribute, its ranges, or weights of its values; attributes
without a map are asked for value by value, so that prefixes of income with region are prefixes by region.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import isfinite, prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique, Domain
from understudy.errors import WorkloadError, did_you_mean
from understudy.privacy import Product, Unit

WHOLE = 2**12
"""The largest weight of a value as a whole number; the others are in proportion, and rounded."""
MOST_RANGES = 128
"""An attribute with more values than this has too many ranges."""
MOST_ANSWERS = 2**24
"""A query has at most so many sums."""
KEYS = ("attributes", "weight", "prefixes", "ranges", "totals", "weights")

Values = Callable[[str], Sequence[float]]
"""What each value of an attribute counts as in a total."""


@dataclass(frozen=True)
class Axis:
    """A map of one attribute: ``answers`` sums of its values, with whole weights. Equal maps are equal."""

    kind: str
    answers: int
    values: int
    stored: bytes

    @classmethod
    def of(cls, kind: str, weights: NDArray[np.int64]) -> Axis:
        """Keep a matrix of whole numbers, answers × values."""
        return cls(kind, len(weights), weights.shape[1], weights.astype("<i8").tobytes())

    @cached_property
    def matrix(self) -> NDArray[np.int64]:
        """The weights, answers × values."""
        return np.frombuffer(self.stored, dtype="<i8").reshape(self.answers, self.values).astype(np.int64)


Asked = Mapping[str, Axis]
"""The maps of some attributes of a marginal; the others are asked for value by value."""


class Listed(NamedTuple):
    """One query of a workload, as it was listed."""

    attributes: Iterable[str]
    weight: object
    asked: Asked


def listed(domain: Domain, entry: Mapping[str, object], values: Values | None = None) -> Listed:
    """Read a query that is given by names: attributes, weight, prefixes, ranges, totals and weights."""
    for key in entry:
        if key not in KEYS:
            hint = did_you_mean(str(key), KEYS)
            raise WorkloadError(f'A query has {", ".join(KEYS[:-1])} and {KEYS[-1]}, not "{key}".{hint}')
    attributes = entry.get("attributes")
    if not isinstance(attributes, list | tuple) or not all(isinstance(a, str) for a in attributes):
        raise WorkloadError(f"The attributes of a query must be a list of names, not {attributes!r}.")
    clique = domain.clique(attributes)
    found: dict[str, Axis] = {}
    for key in ("prefixes", "ranges"):
        for name in _names(entry.get(key, ()), key):
            _require_new(found, clique, name)
            found[name] = (prefixes if key == "prefixes" else ranges)(domain[name])
    for name in _names(entry.get("totals", ()), "totals"):
        if values is None:
            raise WorkloadError(f'What the values of "{name}" count as is not known here: give weights instead of totals.')
        _require_new(found, clique, name)
        found[name] = weighted(name, list(values(name)), domain[name])
    weights = entry.get("weights", {})
    if not isinstance(weights, Mapping):
        raise WorkloadError(f"weights are a table: for each attribute a list with a number for each value, not {weights!r}.")
    for name, given in weights.items():
        _require_new(found, clique, name)
        found[name] = weighted(name, given, domain[name])
    return Listed(attributes, entry.get("weight", 1.0), found)


def described(asked: Asked) -> dict[str, object]:
    """Return maps as plain data, in the form that ``listed`` reads."""
    found: dict[str, object] = {}
    for key in ("prefixes", "ranges"):
        names = [name for name, axis in asked.items() if axis.kind == key]
        found |= {key: names} if names else {}
    weights = {name: axis.matrix.tolist() for name, axis in asked.items() if axis.kind == "weights"}
    return found | ({"weights": weights} if weights else {})


@lru_cache(maxsize=64)
def prefixes(values: int) -> Axis:
    """Return how many have each value or a lower one."""
    return Axis.of("prefixes", np.tril(np.ones((values, values), np.int64)))


@lru_cache(maxsize=64)
def ranges(values: int) -> Axis:
    """Return how many lie in each range of values, single values and all of them included."""
    if values > MOST_RANGES:
        raise WorkloadError(
            f"An attribute of {values:,} values has too many ranges: ask for prefixes, or declare coarser bins."
        )
    ends = [(low, high) for low in range(values) for high in range(low, values)]
    at = np.arange(values)
    return Axis.of("ranges", np.array([(low <= at) & (at <= high) for low, high in ends], dtype=np.int64))


def weighted(name: str, given: object, values: int) -> Axis:
    """Return sums with a weight for each value: one list, or several. Weights become whole numbers of at most 2^12."""
    rows = given if isinstance(given, list | tuple) and given and isinstance(given[0], list | tuple) else [given]
    good = [
        isinstance(row, list | tuple) and len(row) == values and all(_is_number(number) for number in row) for row in rows
    ]
    if not all(good):
        raise WorkloadError(
            f'The weights of "{name}" must be a list of {values} numbers, one for each value, or several such lists.'
        )
    real = np.array(rows, dtype=np.float64)
    if not real.any():
        raise WorkloadError(f'The weights of "{name}" are all 0: nothing is asked.')
    return Axis.of("weights", np.rint(real / np.abs(real).max() * WHOLE).astype(np.int64))


def query_of(domain: Domain, clique: Clique, maps: Mapping[str, Sequence[Axis | None]]) -> Product | None:
    """Return the query of a marginal: of each attribute all that is asked of it (None: its values); None for the cells."""
    if not any(any(maps.get(a, ())) for a in clique):
        return None
    axes = [_together(domain[a], maps.get(a, ())) for a in clique]
    answers = prod(one if isinstance(one, int) else len(one) for one in axes)
    if answers > MOST_ANSWERS:
        raise WorkloadError(
            f"The query of {', '.join(clique)} has {answers:,} answers, more than {MOST_ANSWERS:,}: ask for prefixes "
            "instead of ranges, for fewer attributes, or declare coarser bins."
        )
    try:
        return Product(axes)
    except WorkloadError:
        raise WorkloadError(
            f"The weights of {', '.join(clique)} are too large together: give weights or totals of fewer attributes."
        ) from None


def norm(query: Product | None) -> int:
    """Return how far one record moves the answers in L1 at most: 1 for cells. Errors of queries are divided by it."""
    return 1 if query is None else query.l1(Unit.ADD_REMOVE)


def _together(values: int, maps: Sequence[Axis | None]) -> NDArray[np.int64] | int:
    distinct = list(dict.fromkeys(maps))
    if not any(distinct):
        return values
    return np.vstack([np.eye(values, dtype=np.int64) if one is None else one.matrix for one in distinct])


def _require_new(found: Asked, clique: Clique, name: str) -> None:
    if name not in clique:
        raise WorkloadError(f'"{name}" is not among the attributes of its query: {", ".join(clique)}.')
    if name in found:
        raise WorkloadError(f'"{name}" is asked for in two ways in one query: choose one.')


def _names(given: object, key: str) -> Sequence[str]:
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise WorkloadError(f"{key} names one attribute of the query, or a list of them, not {given!r}.")
    return names


def _is_number(value: object) -> bool:
    try:
        return isinstance(value, int | float | np.number) and not isinstance(value, bool) and isfinite(float(value))
    except (OverflowError, TypeError):  # a whole number beyond all floats; a complex one
        return False
