"""A line of the ledger: what happened, what it cost, and a hash over it and all lines before. Public: costs and purposes.

Lines are only ever added. What a dataset has left, and where a run stands, is read off the lines and kept nowhere else.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any, Literal, get_args

from understudy.errors import FormatError
from understudy.privacy.amounts import parse_amount

Kind = Literal[
    "opened", "declared", "capped", "reserved", "resumed", "bound", "charged", "noted", "kept", "stopped", "finished"
]
"""opened: the ledger. declared, capped: a dataset, and a new cap of it. reserved, resumed: a run begins, and goes on.
bound: to a table, which is told by its fingerprint. charged: an answer. noted: a public value that answers do not determine.
kept: a fitted model, which may be dropped.
stopped, finished: a run ends, and only what it spent goes on counting.
"""
KINDS: tuple[str, ...] = get_args(Kind)
BEFORE_ALL = "0" * 64
"""Stands in for the hash before the first line."""


@dataclass(frozen=True)
class Entry:
    """One line. ``digest`` is the SHA-256 of what was answered or noted; ``detail`` is compact JSON, or empty."""

    seq: int
    dataset: str
    run: str
    kind: str
    rho: str
    purpose: str
    at: str
    digest: str
    detail: str
    hash: str = ""

    @property
    def amount(self) -> Fraction:
        """``rho`` as the fraction that it is."""
        return parse_amount(self.rho)

    @property
    def details(self) -> dict[str, Any]:
        """``detail`` as plain data."""
        try:
            found = json.loads(self.detail) if self.detail else {}
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise FormatError(f"Line {self.seq} of the ledger has details that are not JSON.")
        return found

    def hash_after(self, before: str) -> str:
        """Return the hash of this line when the line before it has the hash ``before``."""
        text = json.dumps([before, *astuple(self)[:-1]], ensure_ascii=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


def compact(detail: Mapping[str, Any]) -> str:
    """Write details as JSON that is the same every time."""
    return json.dumps(detail, sort_keys=True, separators=(",", ":"), allow_nan=False) if detail else ""


def digest_of(content: bytes) -> str:
    """Return the SHA-256 of a content."""
    return hashlib.sha256(content).hexdigest()


def now() -> str:
    """Return the time of day in UTC, as lines have it."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
