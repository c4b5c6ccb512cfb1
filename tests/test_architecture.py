"""Imports point one way, in no circles; arrays of a device stay behind the engine; files and functions stay short.

The order of rooms and the seam are those of docs/architecture.md.
"""

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import understudy

ROOMS = [
    "addresses",
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
    "sampling",
    "metrics",
    "measures",
    "mechanism",
    "uncertainty",
    "manifest",
    "report",
    "release",
    "progress",
    "request",
    "learning",
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


# Modules, and what they import.

MODULES = {
    ".".join(("understudy", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__"): path
    for path in ROOT.rglob("*.py")
}


@cache
def imports(module: str) -> frozenset[str]:
    """All that a module imports, anywhere in it: other modules of ours in full, of other packages the name as written."""
    found = set()
    for node in ast.walk(ast.parse(MODULES[module].read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{module} imports relatively; the house does not"
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in MODULES else node.module for name in names}
    return frozenset(found - {module})


def circle() -> str:
    """Name a circle of imports; empty where there is none."""
    graph = {m: {i for i in imports(m) if i in MODULES} for m in MODULES}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return " imports ".join(reversed(error.args[1]))
    return ""


def test_no_imports_go_in_circles() -> None:
    """Imports inside functions and for types alone count, too."""
    assert circle() == ""


# The engine: the seam for arrays.

DEVICES = {"torch", "jax", "jaxlib", "cupy", "tensorflow", "mlx", "numba", "triton", "pycuda", "dpnp"}
"""Array libraries with memory of their own. Plain NumPy is what the house speaks at the edge of every room."""
ENGINE = "understudy.model.engine"
USES_ENGINE = {
    f"understudy.model.{name}"
    for name in (
        "consistency",
        "estimation",
        "generation",
        "graphical",
        "mixture",
        "model",
        "preconditioner",
        "problem",
        "refinement",
        "regions",
        "solvers",
    )
} | {"understudy.model"}
"""What calls the engine through its protocol. The rest of ``model/`` decides trees and plans, or works on rows and files."""
WITHOUT_ARRAYS = {f"understudy.model.{name}" for name in ("tree", "contraction", "routes")}
"""Graph theory: no arrays at all."""


def inside(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def test_only_an_engine_imports_the_arrays_of_a_device() -> None:
    users = {m for m in MODULES if {name.split(".")[0] for name in imports(m)} & DEVICES}
    assert {m for m in users if not m.startswith(f"{ENGINE}.on_")} == set()


def test_an_engine_is_reached_through_its_protocol_alone() -> None:
    for module in MODULES:
        used = {name for name in imports(module) if inside(name, ENGINE)}
        if inside(module, ENGINE):
            continue
        assert used <= {ENGINE}, f"{module} reaches behind the protocol of engines"
        assert not used or module in USES_ENGINE, f"{module} uses the engine; should it?"


def test_engines_know_nothing_of_each_other_and_only_the_registry_knows_them() -> None:
    for module in (m for m in MODULES if inside(m, ENGINE)):
        own = ".".join(module.split(".")[:4])
        others = {name for name in imports(module) if name.startswith(f"{ENGINE}.on_") and not inside(name, own)}
        assert not others or module == f"{ENGINE}.registry"


def test_an_engine_knows_the_network_and_nothing_above_it() -> None:
    below = {f"understudy.model.{name}" for name in ("contraction", "network", "observation", "routes", "sums", "threads")}
    for module in (m for m in MODULES if inside(m, ENGINE)):
        ours = {name for name in imports(module) if name in MODULES and inside(name, "understudy.model")}
        assert {name for name in ours if not inside(name, ENGINE)} <= below


def test_other_rooms_use_what_the_model_exports() -> None:
    """Which modules ``model/`` has is its own affair."""
    for module in (m for m in MODULES if not inside(m, "understudy.model")):
        assert not {name for name in imports(module) if name.startswith("understudy.model.")}, module


def test_trees_and_plans_need_no_arrays() -> None:
    assert {m for m in WITHOUT_ARRAYS if "numpy" in imports(m)} == set()


# Size.

LONGEST_FILE, LONGEST_FUNCTION = 400, 40


def functions(module: str) -> Iterator[tuple[str, int]]:
    """Each function with the number of its lines: from its head to its end, without its docstring."""
    for node in ast.walk(ast.parse(MODULES[module].read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            described = node.body[0] if ast.get_docstring(node) else None
            words = (described.end_lineno or 0) - described.lineno + 1 if described else 0
            yield f"{module.removeprefix('understudy.')}.{node.name}", (node.end_lineno or 0) - node.lineno + 1 - words


@pytest.mark.parametrize("module", sorted(MODULES))
def test_files_and_functions_are_short(module: str) -> None:
    assert len(MODULES[module].read_text().splitlines()) <= LONGEST_FILE
    long = {name for name, lines in functions(module) if lines > LONGEST_FUNCTION}
    assert long == set()
