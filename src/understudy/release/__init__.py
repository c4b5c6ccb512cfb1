"""The finished thing: table, model, measurements, bounds, privacy card; saved and loaded in open formats.

Public: nothing here has seen the private table except through the door.
"""

from understudy.release.answer import Answer
from understudy.release.figures import Figures
from understudy.release.making import make_release
from understudy.release.release import Release, load

__all__ = [
    "Answer",
    "Figures",
    "Release",
    "load",
    "make_release",
]
