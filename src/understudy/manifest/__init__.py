"""What a release says of itself: its manifest (``release.json``), the promise in words, the privacy card.

Public: written from what was declared, asked for and released.
"""

from understudy.manifest.card import privacy_card
from understudy.manifest.manifest import NOT_PRIVATE, BoundEntry, ChargeEntry, Manifest, RoundEntry, json_schema

__all__ = [
    "NOT_PRIVATE",
    "BoundEntry",
    "ChargeEntry",
    "Manifest",
    "RoundEntry",
    "json_schema",
    "privacy_card",
]
