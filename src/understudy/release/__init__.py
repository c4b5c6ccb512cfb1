"""The finished thing: table, model, measurements, bounds, privacy card; saved and loaded in open formats.

Public: nothing here has seen the private table except through the door.
"""

from understudy.release.answer import Answer
from understudy.release.making import make_release
from understudy.release.manifest import NOT_PRIVATE, BoundEntry, ChargeEntry, Manifest, RoundEntry, json_schema
from understudy.release.release import Release
from understudy.release.storage import load

__all__ = [
    "NOT_PRIVATE",
    "Answer",
    "BoundEntry",
    "ChargeEntry",
    "Manifest",
    "Release",
    "RoundEntry",
    "json_schema",
    "load",
    "make_release",
]
