"""Streams for launches that do not wait for each other, so that a recorded graph can run them at the same time."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager

import torch

LANES = 4


class OneLane:
    """Everything in order on the current stream."""

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Make launches that need not wait for each other; at the end wait for all of them, also where one failed."""
        yield

    @contextmanager
    def launch(self, made: Hashable, needs: Sequence[Hashable]) -> Iterator[None]:
        """Launch what makes ``made`` out of ``needs``."""
        yield


class Lanes(OneLane):
    """Several streams beside the current one: a launch waits for what it needs, and goes on where its last need was made."""

    def __init__(self, device: torch.device) -> None:
        self._main = torch.cuda.current_stream(device)
        self._streams = [torch.cuda.Stream(device) for _ in range(LANES)]

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Have the lanes wait for the current stream, and then it for all of them."""
        self._made: dict[Hashable, tuple[int, torch.cuda.Event]] = {}
        self._last: list[Hashable] = [None] * LANES
        self._turn = 0
        for stream in self._streams:
            stream.wait_stream(self._main)
        try:
            yield
        finally:
            for stream in self._streams:
                self._main.wait_stream(stream)

    @contextmanager
    def launch(self, made: Hashable, needs: Sequence[Hashable]) -> Iterator[None]:
        """Launch what makes ``made`` out of ``needs``; what nobody made here was there before."""
        known = [(need, *self._made[need]) for need in needs if need in self._made]
        lane = next((lane for need, lane, _ in known if self._last[lane] == need), self._turn)
        if lane == self._turn:
            self._turn = (self._turn + 1) % LANES
        stream = self._streams[lane]
        for _, other, event in known:
            if other != lane:
                stream.wait_event(event)
        with torch.cuda.stream(stream):
            yield
            event = torch.cuda.Event()
            event.record(stream)
        self._made[made], self._last[lane] = (lane, event), made
