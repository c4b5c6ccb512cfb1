"""What a model is for the rest of the house: a distribution with a mass that answers marginals and makes records.

Graphical models, mixtures of products and models of regions are the kinds. Public numbers only.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique, Domain, Zeros
from understudy.errors import SchemaError
from understudy.model.engine import Precision
from understudy.model.generation import Method


class Model(ABC):
    """A distribution over ``domain`` with mass ``total``, 0 on ``zeros``."""

    domain: Domain
    total: float
    zeros: tuple[Zeros, ...]

    @property
    @abstractmethod
    def cliques(self) -> tuple[Clique, ...]:
        """The maximal sets of columns that depend on each other directly; none where no graph says so."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Bytes that it takes to answer with."""

    @abstractmethod
    def told(self) -> Iterator[bytes]:
        """Yield what the model is made of: it differs where models differ."""

    @abstractmethod
    def marginals(self, cliques: Sequence[Clique], *, precision: Precision = "double") -> list[NDArray[np.float64]]:
        """Return the marginals on ``cliques`` (each in domain order), sharing the work among them.

        Single precision is right to about a millionth of the total, in half the time and memory: enough to rank by.
        """

    def keep_answers(self, cells: int) -> None:
        """Keep the next marginals in double precision, so many cells at most; nothing where answers take no time."""
        return None

    def forget_answers(self) -> None:
        """Let go of them again."""
        return None

    def forget_work(self) -> None:
        """Let go of what answers share; it is worked out again where it is needed."""
        return None

    @abstractmethod
    def given(self, fixed: Mapping[str, int]) -> Model:
        """Return the model of the records with these codes (``{"sex": 1}``), exactly; its mass is theirs."""

    @abstractmethod
    def generate(
        self,
        rows: int,
        rng: np.random.Generator,
        given: Mapping[str, int] | None = None,
        method: Method = "round",
        near: Mapping[Clique, float] | None = None,
    ) -> NDArray[np.int32]:
        """Return ``rows`` records as codes, rows × attributes in domain order; all of them with the ``given`` codes.

        ``"round"`` keeps the counts near the model's; ``"sample"`` draws rows independently. ``near``, weights by clique,
        changes them afterwards to come nearer to the model on these marginals (see ``understudy.model.refinement``):
        better there, but no longer an unbiased draw.
        """

    def marginal(self, attributes: Iterable[str]) -> NDArray[np.float64]:
        """Return the marginal on ``attributes``, with an axis each in the order given, summing to ``total``."""
        names = tuple(attributes)
        clique = self.domain.clique(names)
        if len(clique) != len(names):
            raise SchemaError("A marginal names an attribute twice; name each once.")
        return self.marginals([clique])[0].transpose([clique.index(a) for a in names])


def impossible(fixed: Mapping[str, int]) -> SchemaError:
    """Return the refusal of values that no record can have."""
    values = ", ".join(f"{attribute} = {code}" for attribute, code in fixed.items())
    return SchemaError(f"No record can have {values}: the impossible combinations forbid it.")
