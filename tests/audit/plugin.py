"""A pytest plugin for the audit: makes a mutant's changes before anything is imported, and writes down how tests ended.

``AUDIT_MUTANT`` names the mutant; ``AUDIT_RESULT`` the file to write.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from .mutants import by_name, install

RESULT, MUTANT = "AUDIT_RESULT", "AUDIT_MUTANT"

_outcomes: dict[str, str] = {}
_promises: dict[str, list[int]] = {}


def pytest_configure(config: pytest.Config) -> None:
    """Change the product before the tests import it."""
    if name := os.environ.get(MUTANT):
        loaded = [module for module in sys.modules if module.partition(".")[0] == "understudy"]
        assert not loaded, f"too late for a mutant: {loaded} are imported already"
        install(by_name(name))()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Note what each test holds."""
    for item in items:
        numbers = {number for mark in item.iter_markers("promise") for number in mark.args}
        _promises[item.nodeid] = sorted(numbers)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note how each test ended; the worst of its three phases counts."""
    if report.when == "call" or report.outcome != "passed":
        worst = _outcomes.get(report.nodeid)
        _outcomes[report.nodeid] = report.outcome if worst in (None, "passed") else worst


def pytest_sessionfinish(session: Any, exitstatus: int) -> None:
    """Write it down."""
    if target := os.environ.get(RESULT):
        tests = {test: {"outcome": outcome, "promises": _promises.get(test, [])} for test, outcome in _outcomes.items()}
        Path(target).write_text(json.dumps({"status": int(exitstatus), "tests": tests}), encoding="utf-8")
