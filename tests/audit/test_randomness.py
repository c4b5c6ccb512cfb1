"""Where noise comes from: the secure generator alone, in a whole run, in threads, and by what the code says."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import understudy
from release_tables import schema, table
from understudy.privacy import ResearchNoise, SecureNoise

ORDINARY = ("random", "numpy.random")
ROOM = Path(understudy.__file__).parent / "privacy"


class Watch:
    """Knows whether noise is being drawn; ordinary generators refuse while it is."""

    def __init__(self) -> None:
        self.drawing, self.draws = False, 0

    @contextmanager
    def draw(self) -> Iterator[None]:
        self.drawing, self.draws = True, self.draws + 1
        try:
            yield
        finally:
            self.drawing = False


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    found = Watch()
    for kind in ("gaussian", "laplace", "select"):
        monkeypatch.setattr(SecureNoise, kind, _watched(getattr(SecureNoise, kind), found))
    for module in (random, np.random):
        for name in (n for n in dir(module) if not n.startswith("_")):
            thing = getattr(module, name)
            if callable(thing) and not isinstance(
                thing, type
            ):  # a generator made earlier would have been made by one of these
                monkeypatch.setattr(module, name, _refusing(thing, found))
    return found


def _watched(draw: Any, watch: Watch) -> Any:
    def drawn(*arguments: Any) -> Any:
        with watch.draw():
            return draw(*arguments)

    return drawn


def _refusing(thing: Any, watch: Watch) -> Any:
    def used(*arguments: Any, **options: Any) -> Any:
        assert not watch.drawing, "an ordinary generator was used while noise was drawn"
        return thing(*arguments, **options)

    return used


@pytest.mark.promise(18)
@pytest.mark.parametrize("mechanism", ["aim", "independent"])
def test_a_private_run_draws_no_noise_from_an_ordinary_generator(mechanism: str, watch: Watch) -> None:
    """A whole run: with ordinary generators refusing during draws it ends as always, and the release is private."""
    rounds = {"rounds": 20} if mechanism == "aim" else {}
    made = understudy.synthesize(
        table(60), schema(), epsilon=2, workload="all-1way", mechanism=mechanism, progress=False, **rounds
    )
    assert made.private
    assert watch.draws == len(made.manifest.charges) > 0


@pytest.mark.promise(18)
def test_the_watch_has_teeth(watch: Watch) -> None:
    with watch.draw(), pytest.raises(AssertionError, match="ordinary generator"):
        ResearchNoise(0)
    with watch.draw(), pytest.raises(AssertionError, match="ordinary generator"):
        random.randint(0, 1)
    ResearchNoise(0)


@pytest.mark.promise(18)
def test_synthetic_rows_are_drawn_from_fresh_entropy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are post-processing, so an ordinary generator may draw them; its seed is 128 bits from the system."""
    asked: list[int] = []
    monkeypatch.setattr("secrets.randbits", lambda bits: asked.append(bits) or 7)
    understudy.synthesize(table(30), schema(), epsilon=2, workload="all-1way", mechanism="independent", progress=False)
    assert 128 in asked


@pytest.mark.promise(18)
def test_of_the_door_only_the_research_noise_names_an_ordinary_generator() -> None:
    naming = {path.name for path in ROOM.glob("*.py") if _names_ordinary(path)}
    assert naming == {"research.py"}


def _names_ordinary(path: Path) -> bool:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import) and any(alias.name in ORDINARY for alias in node.names):
            return True
        if isinstance(node, ast.ImportFrom) and node.module in ORDINARY:
            return True
        if isinstance(node, ast.Attribute) and ast.unparse(node) in ("np.random", "numpy.random"):
            return True
    return False


@pytest.mark.promise(19)
def test_threads_never_share_noise() -> None:
    """False alarm: below 1e-100 (equal stretches of 64 draws at sigma 1000)."""

    def draw(_: int) -> bytes:
        return SecureNoise().gaussian(np.zeros(64, np.int64), 1000.0).tobytes()

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(draw, range(64)))) == 64
