"""The door between private counts and public numbers: unit of privacy, budget, filter, noise and private
selection.

The only room that draws noise, and the only one that turns exact counts into anything that may be shown.
"""

from understudy.privacy.budget import Budget, Charge, Filter
from understudy.privacy.conversion import epsilon_of, rho_of
from understudy.privacy.cost import (
    distances_cost,
    distances_sigma_for,
    gaussian_cost,
    laplace_cost,
    laplace_scale_for,
    selection_cost,
    selection_epsilon_for,
    sigma_for,
)
from understudy.privacy.door import Door
from understudy.privacy.journal import Inquiry, Journal, NoJournal
from understudy.privacy.maps import Centred, Groups, LinearMap, Matrix, PrefixSums, Product, stored_map
from understudy.privacy.noise import Noise
from understudy.privacy.questions import (
    WHOLE,
    Choices,
    Distances,
    DistancesTo,
    Linear,
    Marginal,
    Mask,
    Measurement,
    Question,
    Receipt,
    Rest,
    RestTexts,
    Selection,
    Selections,
    Shared,
    SharedTexts,
    linear_scale_for,
)
from understudy.privacy.research import ResearchNoise
from understudy.privacy.scoring import Candidate
from understudy.privacy.secure import SecureNoise
from understudy.privacy.unit import UNITS, Unit

__all__ = [
    "UNITS",
    "WHOLE",
    "Budget",
    "Candidate",
    "Centred",
    "Charge",
    "Choices",
    "Distances",
    "DistancesTo",
    "Door",
    "Filter",
    "Groups",
    "Inquiry",
    "Journal",
    "Linear",
    "LinearMap",
    "Marginal",
    "Mask",
    "Matrix",
    "Measurement",
    "NoJournal",
    "Noise",
    "PrefixSums",
    "Product",
    "Question",
    "Receipt",
    "ResearchNoise",
    "Rest",
    "RestTexts",
    "SecureNoise",
    "Selection",
    "Selections",
    "Shared",
    "SharedTexts",
    "Unit",
    "distances_cost",
    "distances_sigma_for",
    "epsilon_of",
    "gaussian_cost",
    "laplace_cost",
    "laplace_scale_for",
    "linear_scale_for",
    "rho_of",
    "selection_cost",
    "selection_epsilon_for",
    "sigma_for",
    "stored_map",
]
