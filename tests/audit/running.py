"""Runs the tests of the audit and the mutants, two processes at a time, and prints the verdicts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from . import page
from .marks import ROOT, TESTS, files
from .mutant import Mutant
from .mutants import by_name
from .mutants import mutants as kept
from .plugin import MUTANT, RESULT
from .promises import NOT_MADE, PROMISES

WORKERS = 2
EVERY = "(promise or audit) and not oracle and not browser"
FOUND = 1
"""The exit status of pytest when tests failed; others mean that they did not run."""


@dataclass(frozen=True)
class Ran:
    """What one process of pytest found."""

    status: int
    tests: dict[str, dict[str, Any]]
    output: str
    seconds: float

    @property
    def failed(self) -> list[str]:
        """The tests that did not pass."""
        return [test for test, found in self.tests.items() if found["outcome"] == "failed"]


def pytest_run(arguments: Sequence[str], mutant: str = "") -> Ran:
    """Run pytest in a process of its own, with the audit's plugin."""
    began = time.monotonic()
    with TemporaryDirectory(prefix="understudy-audit-") as folder:
        result = Path(folder, "result.json")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "audit.plugin", "-p", "no:cacheprovider", *arguments]
        environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{TESTS}", RESULT: str(result), MUTANT: mutant}
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, check=False)
        found = (
            json.loads(result.read_text(encoding="utf-8")) if result.is_file() else {"status": done.returncode, "tests": {}}
        )
    return Ran(done.returncode, found["tests"], done.stdout + done.stderr, time.monotonic() - began)


def audit() -> int:
    """Run every test that holds a promise, and every mutant; print promise → tests → verdict. 0 when all is well."""
    began = time.monotonic()
    jobs: list[Callable[[], Any]] = [_file_job(name) for name in _longest_first(files())]
    jobs += [_mutant_job(mutant) for mutant in kept()]
    with ThreadPoolExecutor(WORKERS) as pool:
        done = list(pool.map(lambda job: job(), jobs))
    ran = [result for result in done if isinstance(result, Ran)]
    caught = dict(result for result in done if isinstance(result, tuple))
    problems = [*_broken(ran), *print_mutants(caught), *print_promises(ran, all(caught.values()))]
    if page.stale():
        problems.append("docs/auditors.md is out of date: run python -m audit page")
    print(f"\n{time.monotonic() - began:.0f} s. ", end="")
    print("\n".join(["NOT AS PROMISED:", *problems]) if problems else "Every promise is held, and every mutant caught.")
    return 1 if problems else 0


def mutants(names: Iterable[str]) -> int:
    """Run some mutants, or all; list each with the tests that caught it."""
    chosen = [by_name(name) for name in names] or kept()
    with ThreadPoolExecutor(WORKERS) as pool:
        caught = dict(pool.map(lambda mutant: _mutant_job(mutant)(), chosen))
    return 1 if print_mutants(caught) else 0


def _file_job(name: str) -> Callable[[], Ran]:
    def job() -> Ran:
        found = pytest_run(["-m", EVERY, name])
        print(f"  {found.seconds:5.0f} s  {name}: {len(found.tests)} tests, {len(found.failed)} failed", flush=True)
        if found.status not in (0, 5):
            print(found.output, flush=True)
        return found

    return job


def _mutant_job(mutant: Mutant) -> Callable[[], tuple[str, list[str]]]:
    """Return what runs every test that is named beside the mutant, each by itself: every one of them must fail."""

    def job() -> tuple[str, list[str]]:
        failed = []
        for test in mutant.caught_by:
            found = pytest_run(["-m", "", "-x", test], mutant.name)
            if found.status != FOUND or not found.failed:
                print(f"{mutant.name} was not caught by {test} (status {found.status}):\n{found.output[-3000:]}", flush=True)
                return mutant.name, []
            failed += found.failed[:1]
        print(f"  mutant {mutant.name}: {len(failed)} caught it", flush=True)
        return mutant.name, failed

    return job


def _longest_first(names: Sequence[str]) -> list[str]:
    """Start with the files that take longest, so that both cores are busy to the end."""
    long = ("statistical/test_audit", "ledger", "contracts/test_mechanisms", "statistical", "contracts", "audit")
    return sorted(names, key=lambda name: next((i for i, part in enumerate(long) if part in name), len(long)))


def _broken(ran: Iterable[Ran]) -> list[str]:
    return [f"pytest ended with status {result.status}" for result in ran if result.status not in (0, 1, 5)]


def print_mutants(caught: dict[str, list[str]]) -> list[str]:
    """Print mutant → catching tests; return what is wrong."""
    print("\nMutants")
    for name, tests in caught.items():
        first = tests[0].partition("::")[2] if tests else "NOT CAUGHT"
        more = f" and {len(tests) - 1} more" if len(tests) > 1 else ""
        print(f"  {name:<34} {first}{more}")
    print(f"Mutants caught: {sum(map(bool, caught.values()))}/{len(caught)}")
    return [f"mutant not caught: {name}" for name, tests in caught.items() if not tests]


def print_promises(ran: Iterable[Ran], teeth: bool) -> list[str]:
    """Print promise → tests → verdict; return what is wrong."""
    tests = {test: found for result in ran for test, found in result.tests.items()}
    print("\nPromises")
    problems = [f"failed: {test}" for test, found in tests.items() if found["outcome"] == "failed"]
    for number, words in PROMISES.items():
        holding = [found["outcome"] for found in tests.values() if number in found["promises"]]
        verdict = _verdict(number, holding, teeth)
        print(f"  {number:>2}  {holding.count('passed'):>4} tests  {verdict:<9} {words}")
        if verdict not in ("held", "waits"):
            problems.append(f"promise {number} is {verdict}: {words}")
    return problems


def _verdict(number: int, outcomes: Sequence[str], teeth: bool) -> str:
    if number == 21 and not teeth:
        return "BROKEN"
    if "failed" in outcomes:
        return "BROKEN"
    if "passed" in outcomes:
        return "held"
    return "waits" if number in NOT_MADE else "UNTESTED"
