"""What a mechanism tells the world while it runs: small frozen records for progress bars and logs.

Public: every field is a parameter, a spend, a size or an already released choice. Times are the one exception
to mind: how long a fit takes depends on released noise only, but how long a count takes may depend on the
table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from understudy.domain import Clique


@dataclass(frozen=True)
class RunStarted:
    """A mechanism begins; ``rho`` is what it may spend."""

    mechanism: str
    attributes: int
    queries: int
    rho: float


@dataclass(frozen=True)
class RoundStarted:
    """A round begins with ``allowed`` candidates; ``final`` when it will use up the budget."""

    round: int
    allowed: int
    epsilon: float
    scale: float
    size_limit: int
    final: bool


@dataclass(frozen=True)
class Selected:
    """A marginal was chosen privately."""

    round: int
    clique: Clique
    epsilon: float
    rho: float


@dataclass(frozen=True)
class Measured:
    """A marginal was measured; round 0 is everything before the first selection."""

    round: int
    clique: Clique
    cells: int
    scale: float
    rho: float


@dataclass(frozen=True)
class Estimated:
    """A model was fitted to all measurements so far."""

    round: int
    size: int
    iterations: int
    loss: float
    reason: str
    seconds: float


@dataclass(frozen=True)
class RoundEnded:
    """A round is over. ``change`` is how far its marginal moved, ``threshold`` what noise alone would do."""

    round: int
    clique: Clique
    change: float
    threshold: float
    annealed: bool
    spent: float
    size: int
    seconds: float


@dataclass(frozen=True)
class Checked:
    """A model was compared with the table: one noisy distance for each of ``marginals``."""

    marginals: int
    scale: float
    rho: float


@dataclass(frozen=True)
class Finished:
    """The mechanism is done; ``ended`` says whether the budget or the time ran out first."""

    mechanism: str
    rounds: int
    spent: float
    size: int
    ended: str
    seconds: float


@dataclass(frozen=True)
class Failed:
    """The mechanism stopped on an error; ``spent`` stays spent."""

    mechanism: str
    spent: float
    error: str


Event = RunStarted | RoundStarted | Selected | Measured | Estimated | RoundEnded | Checked | Finished | Failed
OnEvent = Callable[[Event], None]
