"""Linear maps of a marginal with whole-number weights: what they are, their adjoints, and how far a neighbour moves them.

A map is public; applied to exact counts, its numbers are private. Weights are whole so that counts stay whole numbers on
their way to the noise.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from math import prod, sqrt
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from understudy.errors import FormatError, WorkloadError
from understudy.privacy.noise import INT64, Counts
from understudy.privacy.unit import Unit

N = TypeVar("N", np.int64, np.float64)

TOP_WEIGHT = 2**20
REACH = 2**31
"""The weights of one answer add up to less than this, so that the two halves of ``exact`` cannot overflow."""
EXACT = 2**62
"""Sums below this are exact in int64."""
PAIRS = 512
"""With more cells than this, the distance of two columns is bounded by the largest norms instead of computed."""
_HALF = 31


class LinearMap(ABC):
    """From the cells of a marginal to ``answers`` numbers. A map given by functions states its sensitivity; tests compare
    it with what the map does to single cells.
    """

    kind: ClassVar[str]
    """Under which a release stores it."""
    shape: tuple[int, ...]
    """Of the marginal."""
    answers: int

    @property
    def stored(self) -> Counts | None:
        """The whole numbers (flat) that make it this map, beside its kind and its shape; None where these say all."""
        return None

    @abstractmethod
    def apply(self, cells: NDArray[N]) -> NDArray[N]:
        """Return the answers (flat) about a marginal, in its own type of number."""

    @abstractmethod
    def adjoint(self, answers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what ``answers`` weigh in each cell (shaped): the transpose of ``apply``."""

    @abstractmethod
    def l1(self, unit: Unit) -> int:
        """How far the answers may move between neighbours, in L1."""

    @abstractmethod
    def l2_squared(self, unit: Unit) -> int:
        """How far the answers may move between neighbours, in squared L2."""

    @property
    def described(self) -> Mapping[str, Any]:
        """What makes it this map and no other, as plain data; of what is stored, its SHA-256."""
        stored = {} if self.stored is None else {"weights": hashlib.sha256(self.stored.astype("<i8").tobytes()).hexdigest()}
        return {"kind": self.kind, "shape": list(self.shape), "answers": self.answers, **stored}

    @cached_property
    def reach(self) -> float:
        """How far one record moves the answers, in L2, at most."""
        return sqrt(self.l2_squared(Unit.ADD_REMOVE))

    def forward(self, marginal: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the answers (flat) about a model's marginal: what a fit compares with the noisy ones."""
        return self.apply(marginal)

    def exact(self, counts: Counts) -> Counts:
        """Return the answers about exact counts; one beyond int64 stops at its end instead of wrapping round.

        Each half of a count is mapped by itself, so that no sum can overflow. Stopping at an end brings no two answers
        farther apart, so the sensitivity holds for all counts.
        """
        low = self.apply(counts & (2**_HALF - 1))
        high = self.apply(counts >> _HALF) + (low >> _HALF)
        joined = (np.clip(high, -(2**32), 2**32 - 1) << _HALF) | (low & (2**_HALF - 1))
        return np.where(high >= 2**32, INT64.max, np.where(high < -(2**32), INT64.min, joined))


class Matrix(LinearMap):
    """A map given by its matrix: answers × cells, the cells in the order of the marginal."""

    kind = "matrix"

    def __init__(self, weights: NDArray[np.int64], shape: tuple[int, ...]) -> None:
        weights = np.array(weights)
        if weights.dtype.kind not in "iu" or weights.ndim != 2 or weights.shape[1] != prod(shape) or not weights.any():
            raise WorkloadError("A linear query is a matrix of whole numbers, answers × cells, and not all of them 0.")
        bounded = abs(int(weights.max())) <= TOP_WEIGHT and abs(int(weights.min())) <= TOP_WEIGHT
        if not bounded or len(weights) > TOP_WEIGHT or int(np.abs(weights.astype(np.int64)).sum(axis=1).max()) >= REACH:
            raise WorkloadError(
                "The weights of a linear query must be at most 2^20 each, and those of an answer below 2^31."
            )
        self.weights: Counts = weights.astype(np.int64)
        self.weights.setflags(write=False)
        self.shape, self.answers = tuple(shape), len(weights)

    @property
    def stored(self) -> Counts:
        """Its weights, answer by answer."""
        return self.weights.reshape(-1)

    @cached_property
    def _floats(self) -> NDArray[np.float64]:
        return self.weights.astype(np.float64)

    def apply(self, cells: NDArray[N]) -> NDArray[N]:
        """Multiply the matrix by the flattened marginal."""
        weights: NDArray[Any] = self.weights if cells.dtype == np.int64 else self._floats
        return np.asarray(weights @ cells.reshape(-1))

    def adjoint(self, answers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Multiply the transposed matrix by the answers."""
        return np.asarray(self._floats.T @ answers).reshape(self.shape)

    def l1(self, unit: Unit) -> int:
        """Return the most that ``unit.rows`` records move it: the largest column, or the farthest two."""
        return unit.rows * self._moves(unit)[0]

    def l2_squared(self, unit: Unit) -> int:
        """Return the most that ``unit.rows`` records move it, squared."""
        return unit.rows**2 * self._moves(unit)[1]

    def _moves(self, unit: Unit) -> tuple[int, int]:
        added, replaced = self._columns
        return added if unit.kind == "add-remove" else replaced

    @cached_property
    def _columns(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """L1 and squared L2 of one record added, and of one replaced; at least 1, since an answer is never free."""
        norms = np.abs(self.weights).sum(axis=0), (self.weights**2).sum(axis=0)
        added = int(norms[0].max()), int(norms[1].max())
        if self.weights.shape[1] > PAIRS:
            return added, (2 * added[0], 4 * added[1])
        gaps = (np.abs(self.weights - column[:, None]) for column in self.weights.T)
        farthest = [(int(gap.sum(axis=0).max()), int((gap**2).sum(axis=0).max())) for gap in gaps]
        return added, (max(1, *(a for a, _ in farthest)), max(1, *(b for _, b in farthest)))


class PrefixSums(LinearMap):
    """How many records have each value of the last attribute or a lower one: a map given by functions."""

    kind = "prefix-sums"

    def __init__(self, shape: tuple[int, ...]) -> None:
        if not shape or prod(shape) <= 0 or shape[-1] >= TOP_WEIGHT:
            raise WorkloadError("Prefix sums need an attribute to sum along, with fewer than 2^20 values.")
        self.shape, self.answers = tuple(shape), prod(shape)

    def apply(self, cells: NDArray[N]) -> NDArray[N]:
        """Add up along the last attribute."""
        return np.cumsum(cells.reshape(self.shape), axis=-1).reshape(-1)

    def adjoint(self, answers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Add up along the last attribute, from its end."""
        return np.asarray(np.cumsum(answers.reshape(self.shape)[..., ::-1], axis=-1)[..., ::-1])

    def l1(self, unit: Unit) -> int:
        """Return it: a record of the lowest value is in every sum; one replaced leaves the sums between the two values."""
        return unit.rows * self._moved(unit)

    def l2_squared(self, unit: Unit) -> int:
        """Return it: every sum that a record moves, it moves by one."""
        return unit.rows**2 * self._moved(unit)

    def _moved(self, unit: Unit) -> int:
        values = self.shape[-1]
        if unit.kind == "add-remove":
            return values
        return 2 * values if self.answers > values else max(values - 1, 1)


class Groups(LinearMap):
    """A coarser marginal: values of an attribute that share a number count as one. Every record is in one group.

    ``groups`` numbers the values of each attribute from 0, without a gap.
    """

    kind = "groups"

    def __init__(self, groups: Sequence[Sequence[int] | Counts]) -> None:
        self.groups = tuple(np.asarray(one, dtype=np.int64) for one in groups)
        if not self.groups or not all(
            one.size and np.array_equal(np.unique(one), range(one.max() + 1)) for one in self.groups
        ):
            raise WorkloadError("Groups number the values of each attribute 0, 1, 2 and so on, without a gap.")
        self.shape = tuple(one.size for one in self.groups)
        self.coarse = tuple(int(one.max()) + 1 for one in self.groups)
        """The shape of the answers."""
        self.answers = prod(self.coarse)

    @property
    def stored(self) -> Counts:
        """The number of each value, attribute by attribute."""
        return np.concatenate(self.groups)

    @cached_property
    def _places(self) -> NDArray[np.intp]:
        """The group of each cell."""
        return np.ravel_multi_index(np.ix_(*self.groups), self.coarse).reshape(-1)

    def apply(self, cells: NDArray[N]) -> NDArray[N]:
        """Add up each group."""
        found = np.zeros(self.answers, cells.dtype)
        np.add.at(found, self._places, cells.reshape(-1))
        return found

    def adjoint(self, answers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give each cell its group's."""
        return np.asarray(answers.reshape(-1)[self._places].reshape(self.shape))

    def l1(self, unit: Unit) -> int:
        """Return it: a record is in one group, one replaced leaves it for another."""
        return unit.rows * self._moved(unit)

    def l2_squared(self, unit: Unit) -> int:
        """Return it: all records of a unit may be in one group."""
        return unit.rows**2 * self._moved(unit)

    def _moved(self, unit: Unit) -> int:
        return 1 if unit.kind == "add-remove" or self.answers == 1 else 2


class Centred(LinearMap):
    """What a marginal says that no smaller one does: each axis less its mean, times ``whole`` so that weights are whole.

    One axis of n values is n I - J (J: all ones), a marginal the product of its axes. The residual of a marginal is the
    answer divided by ``whole``.
    """

    kind = "centred"

    def __init__(self, shape: tuple[int, ...]) -> None:
        if not shape or min(shape) < 2 or self._l1(shape) >= REACH:
            raise WorkloadError(
                "A residual needs attributes of two values or more each, and below 2^31 as a sum of weights."
            )
        self.shape, self.answers, self.whole = tuple(shape), prod(shape), prod(shape)

    def apply(self, cells: NDArray[N]) -> NDArray[N]:
        """Take the sum along each axis off as many times the cells as it has values."""
        found = cells.reshape(self.shape)
        for axis, size in enumerate(self.shape):
            found = size * found - found.sum(axis=axis, keepdims=True)
        return found.reshape(-1)

    def adjoint(self, answers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Do the same: the matrix is symmetric."""
        return self.apply(answers).reshape(self.shape)

    def l1(self, unit: Unit) -> int:
        """Return it: a column of one axis is n - 1 once and -1 else. Of two columns, at most the sum."""
        return unit.rows * self._l1(self.shape) * (1 if unit.kind == "add-remove" else 2)

    def l2_squared(self, unit: Unit) -> int:
        """Return it: n (n - 1) for each axis.

        Two columns of an axis have the product -n. So those two are farthest apart that differ in one attribute, the
        smallest, of m values: their product is that of the norms over -(m - 1), and the square is m / (m - 1) times 2 norms.
        """
        norm, least = prod(size * (size - 1) for size in self.shape), min(self.shape)
        return unit.rows**2 * (norm if unit.kind == "add-remove" else 2 * norm // (least - 1) * least)

    @staticmethod
    def _l1(shape: tuple[int, ...]) -> int:
        return prod(2 * (size - 1) for size in shape)


class Product(LinearMap):
    """A map of each attribute by itself, and their product: prefixes of one by the values of another.

    ``axes`` has, for each attribute, a matrix of whole numbers (answers × values), or the number of its values where these
    stay as they are.
    """

    kind = "product"

    def __init__(self, axes: Sequence[Counts | int]) -> None:
        self.axes = tuple(one if isinstance(one, int) else Matrix(one, (np.shape(one)[-1],)).weights for one in axes)
        self.shape = tuple(one if isinstance(one, int) else one.shape[1] for one in self.axes)
        self.parts = tuple(one if isinstance(one, int) else one.shape[0] for one in self.axes)
        """The shape of the answers."""
        self.answers = prod(self.parts)
        if not self.axes or self._most(lambda m: np.abs(m).sum(axis=1)) >= REACH or self.answers < 1:
            raise WorkloadError("A product of maps needs attributes, and below 2^31 as the sum of the weights of an answer.")

    @property
    def stored(self) -> Counts:
        """The answers of each attribute (0: its values as they are), then the matrices."""
        matrices = [one.reshape(-1) for one in self.axes if not isinstance(one, int)]
        return np.concatenate([[0 if isinstance(one, int) else len(one) for one in self.axes], *matrices]).astype(np.int64)

    @classmethod
    def of_stored(cls, shape: tuple[int, ...], stored: Counts) -> Product:
        """Return the map that has ``stored`` on record."""
        axes: list[Counts | int] = []
        at = len(shape)
        for size, answers in zip(shape, stored[: len(shape)].tolist(), strict=True):
            axes.append(stored[at : at + answers * size].reshape(answers, size) if answers else size)
            at += answers * size
        return cls(axes)

    def apply(self, cells: NDArray[N]) -> NDArray[N]:
        """Multiply along each axis in turn."""
        return self._along(cells.reshape(self.shape), [None if isinstance(m, int) else m for m in self.axes]).reshape(-1)

    def adjoint(self, answers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Multiply by the transpose along each axis."""
        return self._along(answers.reshape(self.parts), [None if isinstance(m, int) else m.T for m in self.axes])

    @staticmethod
    def _along(table: NDArray[N], matrices: Sequence[Counts | None]) -> NDArray[N]:
        for axis, matrix in enumerate(matrices):
            if matrix is not None:
                table = np.moveaxis(np.tensordot(matrix.astype(table.dtype), table, (1, axis)), 0, axis)
        return table

    def l1(self, unit: Unit) -> int:
        """Return it: a column is the product of the attributes' columns. Of two columns, at most the sum."""
        return unit.rows * self._most(lambda m: np.abs(m).sum(axis=0)) * (1 if unit.kind == "add-remove" else 2)

    def l2_squared(self, unit: Unit) -> int:
        """Return it. Two columns are ‖a‖² + ‖b‖² - 2 a·b apart: at most twice the largest where no weight is below 0, and
        four times else.
        """
        most = self._most(lambda m: (m**2).sum(axis=0))
        if unit.kind == "add-remove":
            return unit.rows**2 * most
        if prod(self.shape) <= PAIRS and 4 * most < EXACT:  # beyond, the products of columns may wrap round
            return unit.rows**2 * self._farthest
        signed = any(not isinstance(m, int) and bool((m < 0).any()) for m in self.axes)
        return unit.rows**2 * most * (4 if signed else 2)

    @cached_property
    def _farthest(self) -> int:
        """The squared L2 of the two columns that are farthest apart; at least 1, since an answer is never free."""
        products = np.ones((1, 1), np.int64)
        for one in self.axes:
            products = np.kron(products, np.eye(one, dtype=np.int64) if isinstance(one, int) else one.T @ one)
        norms = np.diag(products)
        return max(1, int((norms[:, None] + norms - 2 * products).max()))

    def _most(self, norms: Callable[[Counts], Counts]) -> int:
        """Return the product of the largest of each attribute's ``norms``."""
        return prod(1 if isinstance(one, int) else int(norms(one).max()) for one in self.axes)


def stored_map(kind: str, shape: tuple[int, ...], weights: Counts | None) -> LinearMap:
    """Return the map that a release has on record; ``weights`` are flat."""
    if kind == Groups.kind and weights is not None and weights.size == sum(shape):
        return Groups(np.split(weights, np.cumsum(shape)[:-1]))
    if kind in (PrefixSums.kind, Centred.kind) and weights is None:
        return PrefixSums(shape) if kind == PrefixSums.kind else Centred(shape)
    if kind == Product.kind and weights is not None:
        return Product.of_stored(shape, weights)
    if kind == Matrix.kind and weights is not None:
        return Matrix(weights.reshape(-1, prod(shape)), shape)
    raise FormatError(f'There is no linear query called "{kind}" in this version of the software: upgrade it.')
