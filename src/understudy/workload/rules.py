"""Numbers by a rule, worked out when they are asked for: a workload may have millions of marginals. Public."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import overload

from understudy.domain import Clique

MOST_REMEMBERED = 100_000
"""So many numbers are worked out only once."""


@dataclass(frozen=True)
class Same(Sequence[float]):
    """One number, many times."""

    value: float
    times: int

    def __len__(self) -> int:
        return self.times

    @overload
    def __getitem__(self, place: int) -> float: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[float]: ...

    def __getitem__(self, place: int | slice) -> float | Sequence[float]:
        found = range(self.times)[place]
        return Same(self.value, len(found)) if isinstance(found, range) else self.value


@dataclass(frozen=True, eq=False)
class Ruled(Mapping[Clique, float]):
    """A number for each of ``cliques``, worked out when it is first asked for."""

    cliques: Sequence[Clique]
    rule: Callable[[Clique], float]
    _known: dict[Clique, float] = field(default_factory=dict, init=False, repr=False)

    def __len__(self) -> int:
        return len(self.cliques)

    def __iter__(self) -> Iterator[Clique]:
        return iter(self.cliques)

    def __getitem__(self, clique: Clique) -> float:
        known = self._known.get(clique)
        if known is None:
            if clique not in self:
                raise KeyError(clique)
            known = self.rule(clique)
            if len(self._known) < MOST_REMEMBERED:
                self._known[clique] = known
        return known

    def __contains__(self, clique: object) -> bool:
        return clique in self.cliques
