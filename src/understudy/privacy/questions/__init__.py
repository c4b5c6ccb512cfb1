"""The questions that may be put to a door, a file for each kind. May see private counts on their way to the noise."""

from understudy.privacy.questions.base import Asked, Mask, Question, Receipt
from understudy.privacy.questions.choice import Choices, Selection, Selections
from understudy.privacy.questions.distances import Distances, DistancesTo
from understudy.privacy.questions.linear import Linear, linear_scale_for
from understudy.privacy.questions.marginal import Marginal, Measurement
from understudy.privacy.questions.rest import WHOLE, Rest, RestTexts
from understudy.privacy.questions.shared import Shared, SharedTexts

__all__ = [
    "WHOLE",
    "Asked",
    "Choices",
    "Distances",
    "DistancesTo",
    "Linear",
    "Marginal",
    "Mask",
    "Measurement",
    "Question",
    "Receipt",
    "Rest",
    "RestTexts",
    "Selection",
    "Selections",
    "Shared",
    "SharedTexts",
    "linear_scale_for",
]
