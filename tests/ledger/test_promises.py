"""What the ledger promises holds, and a ledger that breaks a promise is found out."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from pathlib import Path

import pytest

from understudy.errors import UnderstudyError

from . import checks
from .mutants import MUTANTS, Apply

CHECKS: list[Callable[..., None]] = [
    checks.reserved_before_the_first_read,
    checks.a_killed_run_counts_in_full,
    checks.a_stopped_run_counts_what_it_spent,
    checks.answers_are_on_record_before_anybody_sees_them,
    checks.nothing_is_drawn_or_charged_twice,
    checks.resumed_answers_are_the_old_ones,
    checks.only_the_last_to_resume_goes_on,
    checks.another_question_is_refused,
    checks.a_lost_ledger_stops_the_run,
    checks.the_cap_holds_when_another_comes_in_between,
]


def call(check: Callable[..., None], folder: Path, patch: pytest.MonkeyPatch) -> None:
    more = {"monkeypatch": patch} if "monkeypatch" in signature(check).parameters else {}
    check(folder, **more)


@pytest.mark.promise(23)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_a_promise_holds(check: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    call(check, tmp_path, monkeypatch)


@pytest.mark.promise(24)
def test_a_changed_line_is_found(tmp_path: Path) -> None:
    checks.a_changed_line_is_found(tmp_path)


@pytest.mark.promise(21)
@pytest.mark.parametrize(
    ("mutant", "check"),
    [(mutant, check) for mutant, catching in MUTANTS.items() for check in catching],
    ids=lambda it: it.__name__,
)
def test_a_mutant_is_found_out(
    mutant: Apply, check: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mutant(monkeypatch)
    with pytest.raises((AssertionError, pytest.fail.Exception, UnderstudyError)):
        call(check, tmp_path, monkeypatch)
