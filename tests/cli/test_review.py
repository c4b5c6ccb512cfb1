"""``schema review``: single keys, in a terminal; every decision is in the file at once."""

from __future__ import annotations

import contextlib
import os
import pty
import select
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from understudy.cli import main
from understudy.review.marks import marks_of
from understudy.schema import load_schema


@pytest.fixture
def drafted(tmp_path: Path) -> Path:
    (tmp_path / "a.csv").write_text(
        "age,town,wage,code\n" + "".join(f"{20 + i % 50},{'xyz'[i % 3]},{i % 80 or 'NA'},c{i % 500}\n" for i in range(5000))
    )
    result = CliRunner().invoke(main, ["schema", "draft", str(tmp_path / "a.csv"), "-o", str(tmp_path / "a.toml")])
    assert "4 decisions are left to you" in result.stderr, result.output
    return tmp_path / "a.toml"


def review(path: Path, keys: str) -> Result:
    return CliRunner().invoke(main, ["schema", "review", str(path)], input=keys)


def test_a_review_in_five_keys(drafted: Path) -> None:
    result = review(drafted, "aaaay")
    assert result.exit_code == 0, result.output
    schema = load_schema(drafted)
    assert not schema.draft
    assert list(schema.domain) == ["age", "town", "wage"]
    assert "is reviewed" in result.output


def test_a_review_can_be_stopped_and_gone_on_with(drafted: Path) -> None:
    assert "2 left. Go on with" in review(drafted, "aaq").output
    assert [mark.column for mark in marks_of(drafted.read_text())] == ["wage", "code"]
    assert load_schema(drafted).draft
    assert "2 left. Go on with" in review(drafted, "ss").output
    assert "1 left" in review(drafted, "sl?e\nq").output  # a column that is left out already has no key for that
    assert "draft = true" in drafted.read_text()
    assert "reviewed" in review(drafted, "aay").output
    assert "no draft" in review(drafted, "").output


def test_settings_can_be_edited_and_mistakes_are_told(drafted: Path) -> None:
    result = review(drafted, 'aevalues = ["x", "y"]\nother = "z"\n\nemin = 5\nmax = 3\n\nemax 3\n\nemax = 200\n\naq')
    assert "is not below" in result.output
    assert "key = value" in result.output
    schema = load_schema(drafted)
    assert schema["town"].labels == ("x", "y", "z")
    assert schema["wage"].ordinary_labels()[-1].endswith("200")
    assert marks_of(drafted.read_text()) == []


def test_a_column_is_brought_back_and_others_may_be_missing(drafted: Path) -> None:
    result = review(drafted, 'etown, nowhere\netown\nllekind = "categorical"\nvalues = ["c1"]\nprefix = 2\nother = "x"\n\nn')
    assert 'no column "nowhere"' in result.output
    schema = load_schema(drafted)
    assert schema.draft
    assert list(schema.domain) == ["age", "code"]


def test_no_key_is_an_end(drafted: Path) -> None:
    before = drafted.read_text()
    assert review(drafted, "").exit_code != 0
    assert drafted.read_text() == before
    assert "cannot be read" in review(drafted.parent, "").output + review(drafted.with_name("b.toml"), "").output


def test_keys_in_a_real_terminal(drafted: Path) -> None:
    """No line needs to be ended: each key is a decision."""
    child, terminal = pty.fork()
    if child == 0:
        os.execv(sys.executable, [sys.executable, "-m", "understudy", "schema", "review", str(drafted)])
    until = time.monotonic() + 60
    for key, prompt in zip(b"alaay", (b"[q]uit?",) * 4 + (b"[n]o?",), strict=True):
        wait_for(prompt, terminal, until)
        os.write(terminal, bytes([key]))
    ended = wait_for_end(child, terminal, until)
    os.close(terminal)
    assert ended == 0
    assert not load_schema(drafted).draft
    assert list(load_schema(drafted).domain) == ["age", "wage"]


def wait_for(prompt: bytes, terminal: int, until: float) -> None:
    """Wait until a prompt is shown and the terminal gives out single keys; those that came before would be lost."""
    shown = b""
    while time.monotonic() < until:
        if select.select([terminal], [], [], 0.05)[0]:
            shown += os.read(terminal, 65536)
        if prompt in shown and not termios.tcgetattr(terminal)[3] & termios.ICANON:
            return
    raise AssertionError(f"{prompt!r} was not shown")


def wait_for_end(child: int, terminal: int, until: float) -> int:
    while time.monotonic() < until:
        with contextlib.suppress(OSError):  # Linux says so when the other end is closed
            if select.select([terminal], [], [], 0.05)[0]:
                os.read(terminal, 65536)
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return -1


def test_a_review_without_a_terminal_says_so(drafted: Path) -> None:
    """Keys come from a terminal; a pipe in a session without one has none."""
    before = drafted.read_text()
    command = [sys.executable, "-m", "understudy", "schema", "review", str(drafted)]
    ended = subprocess.run(command, input="aaaay", capture_output=True, text=True, start_new_session=True, check=False)
    assert ended.returncode == 2
    assert "needs a terminal" in ended.stderr
    assert "/dev/tty" not in ended.stderr
    assert drafted.read_text() == before


def test_what_is_like_it_is_accepted_together(tmp_path: Path) -> None:
    lines = "".join(f"{'xyz'[i % 3]},{'pqrs'[i % 4]},{i % 90}\n" for i in range(400))
    (tmp_path / "a.csv").write_text("town,ward,wage\n" + lines)
    CliRunner().invoke(main, ["schema", "draft", str(tmp_path / "a.csv"), "-o", str(tmp_path / "a.toml")])
    assert [mark.column for mark in marks_of((tmp_path / "a.toml").read_text())] == ["town", "ward", "wage"]
    result = review(tmp_path / "a.toml", "tq")
    assert "Accepted for town and for ward." in result.output
    assert [mark.column for mark in marks_of((tmp_path / "a.toml").read_text())] == ["wage"]
    assert "[t]his" not in review(tmp_path / "a.toml", "q").output  # nothing else is like it


def test_a_column_is_declared_to_be_the_person(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("patient_id,town\n" + "".join(f"n{i % 600},{'xyz'[i % 3]}\n" for i in range(3000)))
    CliRunner().invoke(main, ["schema", "draft", str(tmp_path / "a.csv"), "-o", str(tmp_path / "a.toml")])
    result = review(tmp_path / "a.toml", "p3\nay")
    assert result.exit_code == 0, result.output
    schema = load_schema(tmp_path / "a.toml")
    assert schema.person is not None
    assert (schema.person.column, schema.person.rows, schema.draft) == ("patient_id", 3, False)
