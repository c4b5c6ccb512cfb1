"""Progress of a run on a terminal: rounds, budget used, size of the model, time left. Silent where there is no terminal.

Sees events only, which are public; how long things take is shown to whoever runs the software, and never stored.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn

from understudy.mechanism import Checked, Estimated, Event, Finished, Measured, OnEvent, RoundEnded, RunStarted, Selected
from understudy.quantities import show_size, show_time

Choice = bool | OnEvent | None
"""True or False; None for a terminal only; or what should be told of every event."""


@contextmanager
def shown(progress: Choice, console: Console | None = None, *, limit: float | None = None) -> Iterator[OnEvent]:
    """Yield what to tell events to; ``limit`` is the time limit of the run, in seconds."""
    if callable(progress):
        yield progress
    elif progress or (progress is None and sys.stderr.isatty()):
        with Display(console or Console(stderr=True), limit=limit) as display:
            yield display
    else:
        yield lambda event: None


class Display:
    """One line that follows a run; call it with each event."""

    def __init__(self, console: Console, clock: Callable[[], float] = monotonic, *, limit: float | None = None) -> None:
        self._clock, self._began, self._limit = clock, clock(), limit
        self._name, self._rho, self._spent, self._rounds, self._size = "", 0.0, 0.0, 0, 0
        self._bar = Progress(
            SpinnerColumn(), BarColumn(bar_width=24), TextColumn("{task.description}"), console=console, transient=True
        )
        self._task: TaskID = self._bar.add_task("reading the table", total=1.0)

    def __enter__(self) -> Display:
        self._bar.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self._bar.stop()

    def __call__(self, event: Event) -> None:
        """Show where the run stands after ``event``."""
        if isinstance(event, RunStarted):
            self._name, self._rho = event.mechanism, event.rho
        elif isinstance(event, Measured | Selected | Checked):
            self._spent += event.rho
        elif isinstance(event, RoundEnded):
            self._rounds = event.round
        elif isinstance(event, Estimated):
            self._size = event.size
        elif isinstance(event, Finished):
            self._bar.update(self._task, completed=1.0, description="drawing the table")
            return
        self._bar.update(self._task, completed=self.share, description=self.line())

    @property
    def share(self) -> float:
        """How much of the budget is used."""
        return min(self._spent / self._rho, 1.0) if self._rho else 0.0

    def line(self) -> str:
        """Say where the run stands."""
        parts = [self._name, f"budget {self.share:.0%}"]
        parts[1:1] = [f"round {self._rounds}"] if self._rounds else []  # some mechanisms have none
        parts += [f"model {show_size(self._size)}"] if self._size else []
        left = self.left()
        return " · ".join(parts if left is None else [*parts, f"about {show_time(left)} left"])

    def left(self) -> float | None:
        """Return about how many seconds the run still takes, no more than its limit leaves; None if nobody knows."""
        passed = self._clock() - self._began
        found = [] if self._limit is None else [max(self._limit - passed, 0.0)]
        if 0.05 < self.share < 1:  # too little is known before that
            found.append(passed * (1 - self.share) / self.share)
        return min(found, default=None)
