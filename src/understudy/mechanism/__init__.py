"""AIM and its family: what to measure next, how much to spend on it, and when to stop. Sees no counts.

Everything private is asked of a door; everything here may be released.
"""

from understudy.mechanism.aim import Aim
from understudy.mechanism.base import Mechanism
from understudy.mechanism.config import MEGABYTE, AimConfig
from understudy.mechanism.events import (
    Checked,
    Estimated,
    Event,
    Failed,
    Finished,
    Measured,
    OnEvent,
    RoundEnded,
    RoundStarted,
    RunStarted,
    Selected,
)
from understudy.mechanism.gaussian import Gaussian
from understudy.mechanism.independent import Independent
from understudy.mechanism.mwem import mwem
from understudy.mechanism.outcome import Estimator, Outcome, Round
from understudy.mechanism.registry import MECHANISMS, mechanism

__all__ = [
    "MECHANISMS",
    "MEGABYTE",
    "Aim",
    "AimConfig",
    "Checked",
    "Estimated",
    "Estimator",
    "Event",
    "Failed",
    "Finished",
    "Gaussian",
    "Independent",
    "Measured",
    "Mechanism",
    "OnEvent",
    "Outcome",
    "Round",
    "RoundEnded",
    "RoundStarted",
    "RunStarted",
    "Selected",
    "mechanism",
    "mwem",
]
