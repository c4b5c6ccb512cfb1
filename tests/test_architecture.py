"""Imports point one way: a room may use those above it (the order of docs/architecture.md)."""

import ast
from pathlib import Path

import pytest

import understudy

ROOMS = [
    "errors",
    "domain",
    "quantities",
    "schema",
    "example",
    "source",
    "review",
    "privacy",
    "ledger",
    "model",
    "workload",
    "metrics",
    "mechanism",
    "uncertainty",
    "release",
    "report",
    "progress",
    "request",
    "synthesize",
    "planning",
    "evaluate",
    "cli",
]
ROOT = Path(understudy.__file__).parent
MAY_SKIP = {"model": {"schema", "example", "source", "review", "privacy", "ledger"}}
"""Rooms above that a room may not use all the same: the model is public, pure numerics."""


def room_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported(path: Path) -> set[str]:
    """Rooms that a file imports when it is loaded (not inside functions, not for type checking alone)."""
    found = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("understudy"):
            parts = node.module.split(".")
            found |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names if alias.name in ROOMS}
    return found


FILES = sorted(path for path in ROOT.rglob("*.py") if room_of(path) not in ("__init__", "__main__"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_room_uses_only_those_above_it(path: Path) -> None:
    room = room_of(path)
    assert room in ROOMS, f"{room} has no place in the order: add it to the plan"
    allowed = set(ROOMS[: ROOMS.index(room) + 1]) - MAY_SKIP.get(room, set())
    assert imported(path) <= allowed, f"{room} reaches down to {sorted(imported(path) - allowed)}"


def test_every_room_is_there() -> None:
    assert {room_of(path) for path in FILES} == set(ROOMS)
