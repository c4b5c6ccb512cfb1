"""The same launches again and again: recorded once as a CUDA graph, then replayed as one. Public numbers only.

Hundreds of small launches take longer to start one by one than to run.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, TypeVar

import torch

T = TypeVar("T")


class Recording(Generic[T]):
    """Does some work launch by launch at the first call, records it at the second, and replays it from then on.

    The work must be the same at each call, in the same memory; its results are written over by the next call.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._calls = 0
        self._graph: torch.cuda.CUDAGraph | None = None
        self._result: T | None = None

    def __call__(self, work: Callable[[bool], T]) -> T:
        """Do the work, which is told whether it is recorded."""
        self._calls += 1
        if self._device.type != "cuda" or self._calls == 1:
            return work(False)
        if self._graph is None:
            self._graph, self._result = self._recorded(work)
        self._graph.replay()
        assert self._result is not None
        return self._result

    def _recorded(self, work: Callable[[bool], T]) -> tuple[torch.cuda.CUDAGraph, T]:
        graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream(self._device)
        stream.wait_stream(torch.cuda.current_stream(self._device))
        collecting = gc.isenabled()
        gc.disable()  # a graph that is let go of meanwhile would spoil the recording
        try:
            with torch.cuda.stream(stream):
                graph.capture_begin()
                try:
                    result = work(True)
                except BaseException:
                    with suppress(RuntimeError):  # what went wrong first is what is told: memory may have run out
                        graph.capture_end()
                    raise
                graph.capture_end()
        finally:
            if collecting:
                gc.enable()
        torch.cuda.current_stream(self._device).wait_stream(stream)
        return graph, result
