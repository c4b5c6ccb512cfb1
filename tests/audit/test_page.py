"""The audit's own books: the page is up to date, every promise has tests, every mutant its place; the core stays small."""

from __future__ import annotations

import re
import tomllib

import pytest

from . import page
from .marks import ROOT, held
from .mutants import changed, misplaced, mutants
from .promises import NOT_MADE, PROMISES

CORE = {"click", "duckdb", "numpy", "opendp", "pyarrow", "pydantic", "rich", "threadpoolctl"}


def test_the_page_for_auditors_is_up_to_date() -> None:
    assert not page.stale(), "run PYTHONPATH=tests python -m audit page"


def test_every_promise_has_a_test_and_every_mark_a_promise() -> None:
    marked = {number for test in held() for number in test.promises}
    assert marked == set(PROMISES) - set(NOT_MADE)


@pytest.mark.promise(21)
def test_every_mutant_has_its_place_and_its_tests() -> None:
    assert misplaced() == []
    names = [mutant.name for mutant in mutants()]
    assert len(set(names)) == len(names)
    written = {path: path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py")}
    for mutant in mutants():
        assert mutant.caught_by, mutant.name
        assert set(mutant.breaks) <= set(PROMISES), mutant.name
        for test in mutant.caught_by:
            file, name = test.split("::")
            assert f"def {name.partition('[')[0]}(" in written[ROOT / file], test


@pytest.mark.promise(21)
def test_a_mutant_whose_piece_is_gone_is_an_error() -> None:
    assert changed("a b", "f", "b", "c") == "a c"
    for text in ("a", "b b"):
        with pytest.raises(LookupError, match="Bring the mutant along"):
            changed(text, "f", "b", "c")


def test_the_core_stays_small() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {_name(entry) for entry in project["dependencies"]} == CORE


def test_what_the_tests_run_with_is_pinned() -> None:
    """Every dependency of the core, of the tests and of the checks has one exact version in constraints.txt."""
    document = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[a-z0-9-]+==[0-9][\w.]*", line) for line in pins)
    assert pins == sorted(pins)
    groups = document["dependency-groups"]
    needed = {_name(e) for e in [*document["project"]["dependencies"], *groups["test"], *groups["check"]]}
    assert needed <= {line.partition("==")[0] for line in pins}


def _name(requirement: str) -> str:
    found = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert found is not None
    return re.sub(r"[-_.]+", "-", found[0]).lower()
