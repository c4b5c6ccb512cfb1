"""A clock that stands still while a door reads the table or draws a choice: that time depends on the rows. Public."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Stopwatch:
    """Shows the time of ``clock``, less the time that it stood still."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock, self._lost = clock, 0.0

    def __call__(self) -> float:
        """Return the time, in seconds."""
        return self._clock() - self._lost

    @contextmanager
    def still(self) -> Iterator[None]:
        """Stand still."""
        began = self._clock()
        try:
            yield
        finally:
            self._lost += self._clock() - began
