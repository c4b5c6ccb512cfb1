"""The kept mutants, put to work: a change is made while the module is loaded, so that the file stays as it is.

A piece that is no longer in its file is an error: whoever changes the code brings its mutants along. The mutants of the
ledger patch what is loaded instead, and live beside its tests.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType
from typing import Any

from .kept import PRODUCT
from .marks import ROOT
from .mutant import Mutant

LEDGER = "tests/ledger/test_promises.py::"


def _ledger() -> list[Mutant]:
    """Return the mutants that live beside the tests of the ledger, each with the checks that its owner names."""
    kept = importlib.import_module("ledger.mutants").MUTANTS
    return [
        Mutant(
            patch.__name__.replace("_", "-"),
            (24,) if any(check.__name__ == "a_changed_line_is_found" for check in checks) else (23,),
            (patch.__doc__ or "").strip().splitlines()[0].rstrip("."),
            (),
            tuple(dict.fromkeys(_of_check(check.__name__) for check in checks)),
            patch.__name__,
        )
        for patch, checks in kept.items()
    ]


def _of_check(name: str) -> str:
    if name == "a_changed_line_is_found":
        return f"{LEDGER}test_a_changed_line_is_found"
    return f"{LEDGER}test_a_promise_holds[{name}]"


class _Changed(SourceFileLoader):
    """Loads a module with some pieces of its source replaced."""

    edits: Sequence[tuple[str, str, str]] = ()

    def get_code(self, fullname: str) -> CodeType:
        text = self.get_data(self.path).decode()
        for file, before, after in self.edits:
            if self.path.endswith(f"understudy/{file}"):
                text = changed(text, file, before, after)
        return compile(text, self.path, "exec", dont_inherit=True)


def changed(text: str, file: str, before: str, after: str) -> str:
    """Return ``text`` with the piece replaced; it must be there, and once."""
    if text.count(before) != 1:
        raise LookupError(f"{file} has {text.count(before)} times, not once: {before!r}. Bring the mutant along.")
    return text.replace(before, after)


class _Finder(MetaPathFinder):
    def __init__(self, edits: Sequence[tuple[str, str, str]]) -> None:
        self._edits, self._files = edits, {edit[0] for edit in edits}

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        if fullname.partition(".")[0] != "understudy":
            return None
        spec = PathFinder.find_spec(fullname, path)
        if (
            spec is not None
            and spec.origin is not None
            and any(spec.origin.endswith(f"understudy/{f}") for f in self._files)
        ):
            loader = _Changed(fullname, spec.origin)
            loader.edits = self._edits
            spec.loader = loader
        return spec


def install(mutant: Mutant) -> Callable[[], None]:
    """Change modules that are not loaded yet; return what patches those that are."""
    if mutant.edits:
        sys.meta_path.insert(0, _Finder(mutant.edits))
        return lambda: None
    import pytest

    return lambda: getattr(importlib.import_module("ledger.mutants"), mutant.patch)(pytest.MonkeyPatch())


def mutants() -> list[Mutant]:
    """Return every kept mutant, those of the ledger last."""
    return [*PRODUCT, *_ledger()]


def by_name(name: str) -> Mutant:
    """Return a mutant."""
    for mutant in PRODUCT:
        if mutant.name == name:
            return mutant
    for mutant in _ledger():
        if mutant.name == name:
            return mutant
    raise SystemExit(f"There is no mutant {name!r}; python -m audit mutants lists them.")


def misplaced() -> list[str]:
    """List the pieces that are no longer in their files, once each."""
    found = []
    for mutant in PRODUCT:
        texts: dict[str, str] = {}
        for file, before, after in mutant.edits:
            text = texts.setdefault(file, (ROOT / "src" / "understudy" / file).read_text(encoding="utf-8"))
            try:
                texts[file] = changed(text, file, before, after)
            except LookupError as error:
                found.append(f"{mutant.name}: {error}")
    return found
