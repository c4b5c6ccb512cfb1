"""AIM and its family: what to measure next, how much to spend on it, and when to stop. Sees no counts.

Everything private is asked of a door; everything here may be released.
"""

from understudy.mechanism.aim import Aim
from understudy.mechanism.base import Mechanism
from understudy.mechanism.config import MEGABYTE, AimConfig, ModelConfig, NoiseConfig, RoundsConfig
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
from understudy.mechanism.gaussian import Gaussian, GaussianPgm
from understudy.mechanism.independent import Independent
from understudy.mechanism.mwem import Mwem
from understudy.mechanism.outcome import Estimator, Outcome, Round
from understudy.mechanism.registry import DEFAULT, MECHANISMS, kind_of, mechanism

__all__ = [
    "DEFAULT",
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
    "GaussianPgm",
    "Independent",
    "Measured",
    "Mechanism",
    "ModelConfig",
    "Mwem",
    "NoiseConfig",
    "OnEvent",
    "Outcome",
    "Round",
    "RoundEnded",
    "RoundStarted",
    "RoundsConfig",
    "RunStarted",
    "Selected",
    "kind_of",
    "mechanism",
]
