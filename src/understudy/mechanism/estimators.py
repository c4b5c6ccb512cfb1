"""What models a mechanism fits, and how: graphical models, relaxed tables, or what a generator network puts out. Public.

A mechanism's estimator is a choice of its own, apart from what it measures and how it chooses that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from understudy.domain import Domain, Zeros
from understudy.errors import CapacityError, UserError
from understudy.mechanism.config import MEGABYTE, EstimatorName
from understudy.model import CLOSER, Fit, Model, fit, relax, relaxed_size, train

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

    def require(self, domain: Domain, zeros: Sequence[Zeros], max_size: int) -> None:
        """Refuse, before any spend, what its models cannot be."""
        if self.graphical:
            return
        if zeros:
            raise UserError(
                f'Models of the estimator "{self.name}" cannot keep combinations impossible, and the schema declares some. '
                "Use a mechanism with graphical models, such as aim; or do without, by zeros = False. Nothing was spent."
            )
        size = relaxed_size(domain)
        if size > max_size:
            raise CapacityError(
                f"A mixture takes {size / MEGABYTE:,.3g} MB, but max_size is "
                f"{max_size / MEGABYTE:,.3g} MB: allow more, or declare coarser columns. Nothing was spent."
            )


def instead(estimator: Callable[..., Fit[Model]]) -> Estimation:
    """Return another estimator of graphical models."""
    return Estimation("pgm", estimator, estimator, engine=False)


PGM = Estimation("pgm", fit, partial(fit, solver=CLOSER, max_iterations=LAST_STEPS))
ESTIMATORS: dict[EstimatorName, Estimation] = {
    "pgm": PGM,
    "relaxed": Estimation("relaxed", relax, partial(relax, longer=LONGER), engine=False),
    "generator": Estimation("generator", train, partial(train, longer=LONGER), engine=False),
}
