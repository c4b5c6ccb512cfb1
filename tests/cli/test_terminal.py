"""Names of columns may hold characters that command a terminal: these are spelled, and not sent."""

import io
import sys

import pytest

from understudy import draft_schema
from understudy.cli.terminal import escaped, wrapped
from understudy.schema import parse_schema


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_is_sent_no_command(monkeypatch: pytest.MonkeyPatch) -> None:
    screen, file = Terminal(), io.StringIO()
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setattr(sys, "stderr", file)
    with escaped():
        print("name \x9b2J é")
        print("name \x9b2J é", file=sys.stderr)
    assert screen.getvalue() == "name \\x9b2J é\n"
    assert file.getvalue() == "name \x9b2J é\n"  # what is kept is kept as it is
    assert sys.stdout is screen


def test_long_lines_are_broken_between_words_on_a_terminal_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    words = "the values that were seen, of-which-few  rows have some, and a-word-that-is-longer-than-all-of-the-terminal"
    assert wrapped(words) == words
    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setenv("COLUMNS", "50")
    lines = wrapped(f"  {words}", "    ").split("\n")
    assert len(lines) > 2
    assert max(map(len, lines)) <= 50
    assert {*" ".join(lines).split()} == {*words.split()}
    assert all(line.startswith("    ") for line in lines[1:])


def test_a_draft_spells_them() -> None:
    draft = draft_schema({"a\x9b2J": ["x", "y", "y"] * 20})
    assert "\x9b" not in draft
    assert [*parse_schema(draft).domain] == ["a\x9b2J"]
