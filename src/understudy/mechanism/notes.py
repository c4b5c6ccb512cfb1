"""Public numbers that decide something in a run, noted in its journal: a run that is resumed decides by the same."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from understudy.errors import FormatError
from understudy.privacy import Journal


class Notes:
    """What keeps notes in a journal."""

    _journal: Journal

    def note(self, name: str, make: Callable[[], float]) -> float:
        """Return a public number that decides something; a run that is resumed decides by the same number."""
        content = self._journal.note(name, lambda: json.dumps(make()).encode())
        try:
            return float(json.loads(content or b""))
        except (ValueError, TypeError, RecursionError):
            raise FormatError(f"{name}: what is on record is not a number. Restore the ledger from a copy.") from None

    def note_array(self, name: str, size: int, make: Callable[[], NDArray[np.float64]]) -> NDArray[np.float64]:
        """The same for so many numbers at once."""
        content = self._journal.note(name, lambda: make().astype("<f8").tobytes()) or b""
        if len(content) != 8 * size:
            raise FormatError(f"{name}: on record are not {size} numbers. Restore the ledger from a copy.")
        return np.frombuffer(content, dtype="<f8").astype(np.float64)
