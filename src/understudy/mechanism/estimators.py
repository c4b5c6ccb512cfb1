"""What models a mechanism fits, and how: graphical models, relaxed tables, generator networks, or regions. Public.

A mechanism's estimator is a choice of its own, apart from what it measures and how it chooses that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from understudy.domain import Clique, Combinations, Domain, Zeros
from understudy.errors import CapacityError, UserError
from understudy.mechanism.config import MEGABYTE, EstimatorName
from understudy.model import (
    CELL_BYTES,
    CLOSER,
    CLOSER_REGIONS,
    Fit,
    Model,
    fit,
    fit_regions,
    regions_size,
    relax,
    relaxed_size,
    train,
    tree_size,
)

LAST_STEPS = 1200
"""The last fit of a run starts from a good one; what it has not gained after so many steps is not worth the wait."""
LONGER = 4
"""The last fit of a mixture takes so many times as many steps as that of a round."""


@dataclass(frozen=True)
class Estimation:
    """How the models of a run are fitted."""

    name: EstimatorName
    in_rounds: Callable[..., Fit[Model]]
    """Fits a model to all that was measured so far, from the last one on."""
    at_the_end: Callable[..., Fit[Model]]
    """The same, closer: fits the model that is handed out."""
    engine: bool = True
    """Whether it is told which engine to use."""

    @property
    def graphical(self) -> bool:
        """Whether models are graphical: they keep to structural zeros, and their junction tree must not grow too large."""
        return self.name == "pgm"

    @property
    def keeps_zeros(self) -> bool:
        """Whether models can hold combinations impossible."""
        return self.name in ("pgm", "regions")

    def require(self, domain: Domain, zeros: Sequence[Zeros], max_size: int) -> None:
        """Refuse, before any spend, what its models cannot be."""
        if self.graphical:
            return
        if zeros and not self.keeps_zeros:
            raise UserError(
                f'Models of the estimator "{self.name}" cannot keep combinations impossible, and the schema declares some. '
                "Use a mechanism with graphical models, such as aim; or do without, by zeros = False. Nothing was spent."
            )
        if self.name != "regions":
            _require("A mixture", relaxed_size(domain), max_size)
        elif zeros:  # records come from a graphical model that holds them
            _require("The model of the declared structural zeros", tree_size(domain, [z.clique for z in zeros]), max_size)

    def within(self, domain: Domain, known: Sequence[Clique], candidates: list[Clique], limit: int) -> list[Clique]:
        """Return the candidates that a model has room for beside those ``known``, within ``limit`` bytes; else the smallest.

        For models without a junction tree. A mixture has room for any.
        """
        if self.name != "regions":
            return candidates
        left = limit - regions_size(domain, known)
        found = [r for r in candidates if regions_size(domain, [r]) <= left or any(set(r) <= set(k) for k in known)]
        return found or [min(candidates, key=domain.cells)]

    def room_for(self, domain: Domain, known: Sequence[Clique], more: Sequence[Clique], limit: int) -> bool:
        """Whether a model of those ``known`` and ``more``, all together, has at most ``limit`` bytes; a mixture always."""
        if self.graphical:
            return tree_size(domain, [*known, *more]) <= limit
        new = [r for r in more if not any(set(r) <= set(k) for k in known)]
        return self.name != "regions" or regions_size(domain, [*known, *new]) <= limit


def require_regions(domain: Domain, cliques: Sequence[Clique], zeros: Sequence[Zeros], limit: int) -> None:
    """Refuse, before any spend, marginals that are too large to be kept side by side."""
    cells = cliques.cells if isinstance(cliques, Combinations) else sum(map(domain.cells, cliques))
    size = CELL_BYTES * cells + regions_size(domain, [zero.clique for zero in zeros])
    _require("A table for each of these marginals", size, limit)


def _require(what: str, size: int, limit: int) -> None:
    if size > limit:
        raise CapacityError(
            f"{what} takes {size / MEGABYTE:,.3g} MB, but max_size is "
            f"{limit / MEGABYTE:,.3g} MB: allow more, or declare coarser columns. Nothing was spent."
        )


def instead(estimator: Callable[..., Fit[Model]]) -> Estimation:
    """Return another estimator of graphical models."""
    return Estimation("pgm", estimator, estimator, engine=False)


PGM = Estimation("pgm", fit, partial(fit, solver=CLOSER, max_iterations=LAST_STEPS))
ESTIMATORS: dict[EstimatorName, Estimation] = {
    "pgm": PGM,
    "relaxed": Estimation("relaxed", relax, partial(relax, longer=LONGER), engine=False),
    "generator": Estimation("generator", train, partial(train, longer=LONGER), engine=False),
    "regions": Estimation("regions", fit_regions, partial(fit_regions, solver=CLOSER_REGIONS), engine=False),
}
