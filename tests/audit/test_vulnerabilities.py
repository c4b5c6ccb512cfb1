"""The check for known vulnerabilities says what it found, and says so when it could not look."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .vulnerabilities import NONE, REQUIRE, SOME, UNCHECKED, check


def stand_in(folder: Path, body: str) -> str:
    """Write a program that stands in for pip-audit; its last argument is where the answer goes."""
    path = folder / "pip-audit"
    path.write_text(f'#!/bin/sh\nfor last in "$@"; do :; done\n{body}\n')
    path.chmod(0o755)
    return str(path)


def answering(folder: Path, vulnerable: bool) -> str:
    bad = [{"id": "ADVISORY-1", "fix_versions": ["2.0"]}] if vulnerable else []
    document = {
        "dependencies": [{"name": "numpy", "version": "1.0", "vulns": bad}, {"name": "ours", "skip_reason": "unknown"}]
    }
    return stand_in(folder, f"echo '{json.dumps(document)}' > \"$last\"\nexit {int(vulnerable)}")


def test_no_answer_is_said_and_not_taken_for_a_good_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    program = stand_in(tmp_path, "echo 'no route to host' >&2; exit 1")
    monkeypatch.delenv(REQUIRE, raising=False)
    assert check(program) == NONE
    said = capsys.readouterr().out
    assert "NOT CHECKED" in said
    assert said.count("no route to host") == 2
    monkeypatch.setenv(REQUIRE, "1")
    assert check(program) == UNCHECKED


def test_a_database_that_looks_up_nothing_has_not_answered(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Unreachable, the index makes pip-audit skip every pin and end well, as if all were fine."""
    document = {"dependencies": [{"name": "numpy", "skip_reason": "not found on the index"}]}
    assert check(stand_in(tmp_path, f"echo '{json.dumps(document)}' > \"$last\"")) == NONE
    assert "NOT CHECKED" in capsys.readouterr().out


def test_an_answer_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(answering(tmp_path, vulnerable=False)) == NONE
    assert "No vulnerability is known; 1 of 2 pins were looked up" in capsys.readouterr().out
    assert check(answering(tmp_path, vulnerable=True)) == SOME
    assert "numpy 1.0: ADVISORY-1, fixed in 2.0" in capsys.readouterr().out
