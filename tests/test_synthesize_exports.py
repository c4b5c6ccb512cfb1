"""The public surface is what the package says it is."""

from __future__ import annotations

import ast
import inspect
import re
from functools import cached_property
from pathlib import Path
from types import ModuleType

import pytest

import understudy
from understudy import errors


def test_exports_match() -> None:
    own = {
        name
        for name, value in vars(understudy).items()
        if not name.startswith("_") and not isinstance(value, ModuleType) and name != "installed_version"
    }
    assert own == set(understudy.__all__)
    assert understudy.__all__ == sorted(understudy.__all__)


@pytest.mark.parametrize("name", understudy.__all__)
def test_every_export_is_documented(name: str) -> None:
    assert len(inspect.getdoc(getattr(understudy, name)) or "") > 20


def test_the_package_lists_its_names() -> None:
    """What help(understudy) lists by topic are the exports, each of them once."""
    _, _, listed = (understudy.__doc__ or "").partition("The public names:")
    assert sorted(re.findall(r"``(\w+)``", listed)) == sorted(understudy.__all__)


def test_every_error_is_exported() -> None:
    def below(kind: type) -> set[str]:
        return {kind.__name__}.union(
            *(below(child) for child in kind.__subclasses__() if child.__module__ == errors.__name__)
        )

    assert below(errors.UnderstudyError) <= set(understudy.__all__)


def test_every_public_member_of_an_export_is_documented() -> None:
    """Methods and properties that a user finds by completion say what they do."""
    bare = [
        f"{kind}.{name}"
        for kind in understudy.__all__
        if inspect.isclass(owner := getattr(understudy, kind))
        for name, member in vars(owner).items()
        if not name.startswith("_") and (callable(member) or isinstance(member, property | cached_property | classmethod))
        if not inspect.getdoc(member)
    ]
    assert bare == []


def test_privacy_arguments_are_keywords() -> None:
    kinds = {name: p.kind for name, p in inspect.signature(understudy.synthesize).parameters.items()}
    assert [n for n, kind in kinds.items() if kind is inspect.Parameter.POSITIONAL_OR_KEYWORD] == ["data", "schema"]
    for name in ("epsilon", "delta", "rho", "unit", "seed"):
        assert kinds[name] is inspect.Parameter.KEYWORD_ONLY


def test_every_module_says_what_it_owns() -> None:
    (folder,) = understudy.__path__
    for path in Path(folder).rglob("*.py"):  # read, not imported: some need a library that is not here
        assert path.name == "__main__.py" or ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), path


def test_neither_frame_library_is_imported_unless_the_user_did() -> None:
    import subprocess
    import sys

    # Polars is not looked for: OpenDP imports it by itself where it is installed.
    ours = ("pandas", "understudy.release.as_pandas", "understudy.release.as_polars")
    code = f"import sys, understudy.cli; sys.exit(any(name in sys.modules for name in {ours}))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
