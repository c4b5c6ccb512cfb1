"""A fingerprint of a table, by which a run that goes on knows the table that it began with.

PRIVATE: computed from exact counts. It is kept with its key in the owner's ledger, until the run has finished, and nowhere
else. Whoever has both can test a guess of the whole table, and learns nothing else from them.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Sequence
from itertools import pairwise

from understudy.domain import Clique, Domain
from understudy.privacy.noise import Counts

KEY_BYTES = TAG_BYTES = 32
MOST_CELLS = 2**16
"""Pairs of columns with more cells than this are left out: a fingerprint is no reason to count large tables."""


def fingerprinted(domain: Domain) -> list[Clique]:
    """Return what the fingerprint is of: each column, and each with the next."""
    pairs = [pair for pair in pairwise(domain) if domain.cells(pair) <= MOST_CELLS]
    return [*((name,) for name in domain), *pairs]


def fingerprint(
    key: bytes, cliques: Sequence[Clique], counts: Sequence[Counts], texts: Iterable[tuple[list[str], Counts]] = ()
) -> bytes:
    """Return the HMAC-SHA256 of the counts: the same for the same records, in whatever order and container they come.

    Texts of open columns have no codes yet, and count by themselves.
    """
    made = hmac.new(key, digestmod=hashlib.sha256)
    for clique, values in zip(cliques, counts, strict=True):
        made.update(repr((clique, values.shape)).encode())
        made.update(values.astype("<i8").tobytes())
    for spelled, values in texts:
        made.update(repr(spelled).encode())
        made.update(values.astype("<i8").tobytes())
    return made.digest()
