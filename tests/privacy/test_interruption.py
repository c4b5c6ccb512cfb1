"""Ctrl-C while noise is drawn: the draw ends, and then the interruption is heard."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from understudy.privacy import SecureNoise, secure


@pytest.fixture
def listening() -> Iterator[None]:
    """Whoever runs the tests may have told them to ignore Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("listening")
@pytest.mark.parametrize("cells", [10, 40_000])
def test_an_interruption_waits_for_the_end_of_a_draw_and_is_not_lost(cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Raised where OpenDP calls Python back it would vanish, and the run would go on; 40,000 cells are drawn in threads."""
    done = []

    def interrupted(chunk: NDArray[np.int64]) -> NDArray[np.int64]:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)
        done.append(chunk.size)
        return chunk

    monkeypatch.setattr(secure, "_gaussian", lambda sigma: interrupted)
    with pytest.raises(KeyboardInterrupt):
        SecureNoise().gaussian(np.zeros(cells, dtype=np.int64), 1.0)
    assert sum(done) == cells
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
