"""Which test holds which promise, read from the test files without running them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

TESTS = Path(__file__).parent.parent
ROOT = TESTS.parent


@dataclass(frozen=True, order=True)
class Held:
    """A test function, what it holds, and whether it runs in the audit alone."""

    file: str
    name: str
    promises: tuple[int, ...]
    audit: bool
    line: int


def held() -> list[Held]:
    """Return every test that is marked with a promise, in the order of files and lines."""
    return [test for path in sorted(TESTS.rglob("test_*.py")) for test in _tests(path) if test.promises or test.audit]


def files() -> list[str]:
    """Return the files that the audit runs."""
    return list(dict.fromkeys(test.file for test in held()))


def _tests(path: Path) -> Iterator[Held]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    common = [node.value for node in tree.body if isinstance(node, ast.Assign) and _names(node) == ["pytestmark"]]
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            marks = [*common, *node.decorator_list]
            promises = tuple(sorted({number for mark in marks for number in _promises(mark)}))
            yield Held(str(path.relative_to(ROOT)), node.name, promises, any(map(_audit, marks)), node.lineno)


def _names(node: ast.Assign) -> list[str]:
    return [target.id for target in node.targets if isinstance(target, ast.Name)]


def _promises(mark: ast.expr) -> Iterator[int]:
    """Find ``pytest.mark.promise(5)``, also in a list, and ``[pytest.mark.promise(n) for n in (5, 6)]``."""
    for node in ast.walk(mark):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.promise":
            yield from _numbers(node.args)
        if isinstance(node, ast.ListComp) and "pytest.mark.promise" in ast.unparse(node.elt):
            yield from _numbers([node.generators[0].iter])


def _numbers(nodes: Iterable[ast.expr]) -> Iterator[int]:
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            yield node.value
        elif isinstance(node, ast.Tuple):
            yield from _numbers(node.elts)


def _audit(mark: ast.expr) -> bool:
    return ast.unparse(mark) == "pytest.mark.audit"
