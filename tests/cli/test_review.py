"""``schema review``: single keys, in a terminal; every decision is in the file at once."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import time
from datetime import date, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from understudy import check_schema, draft_schema
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


@pytest.mark.parametrize(("accept", "before"), [("a", ""), ("t", "o")])
def test_nothing_is_accepted_for_several_columns_that_was_not_on_the_screen(
    accept: str, before: str, tmp_path: Path
) -> None:
    names = [f"a town with a long name, number {i}" for i in range(20)]
    (tmp_path / "a.csv").write_text("a;b\n" + "".join(f"{names[i % 20]};{names[-1 - i % 20]}\n" for i in range(2000)))
    CliRunner().invoke(main, ["schema", "draft", str(tmp_path / "a.csv"), "-o", str(tmp_path / "a.toml")])
    path, drafted = tmp_path / "a.toml", (tmp_path / "a.toml").read_text()
    path.write_text(re.sub(r" In all rows it follows from.*", "", drafted))
    shown_once = review(path, before + accept + "q").output
    assert len(marks_of(path.read_text())) == 2
    assert all(shown_once.count(name) >= 2 for name in names)
    assert "is reviewed" in review(path, before + accept + accept + "y").output


def test_a_column_of_texts_is_declared_open_by_a_key(tmp_path: Path) -> None:
    rows = "".join(f"{'abcd'[i % 4] if i % 40 else f'rare{i}'},{'NA' if i % 9 else 'x'},c{i % 300}\n" for i in range(1000))
    (tmp_path / "a.csv").write_text("town,ward,code\n" + rows)
    path = tmp_path / "a.toml"
    drafted = CliRunner().invoke(main, ["schema", "draft", str(tmp_path / "a.csv"), "-o", str(path)])
    assert "decisions are left" in drafted.stderr
    marks = {mark.column: mark.about_texts for mark in marks_of(path.read_text())}
    assert marks == {"town": True, "ward": False, "code": True}
    result = review(path, "uuauy")  # no list of the wards is rare, so the second u is no key there
    assert result.exit_code == 0, result.output
    schema = load_schema(path)
    assert {column.name: column.kind for column in schema.columns} == {"town": "open", "ward": "categorical", "code": "open"}
    assert (schema["town"].nullable, schema["code"].nullable) == (False, True)
    assert "rare" not in path.read_text()
    release = CliRunner().invoke(
        main, ["synthesize", str(tmp_path / "a.csv"), "-s", str(path), "-e", "9", "-o", str(tmp_path / "r"), "--quiet"]
    )
    assert release.exit_code == 0, release.output
    assert 'the values of "town", "code" were learnt by this run' in release.output
    assert load_schema(tmp_path / "r" / "schema.toml")["town"].labels == ("a", "b", "c", "d", "(other)")


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


@pytest.mark.parametrize("keys", ["aaaay", "a\na\n\n a a\ny\n"])
def test_answers_can_be_piped(drafted: Path, keys: str) -> None:
    """Also in a session without a terminal, and with blanks or ends of lines between the keys."""
    command = [sys.executable, "-m", "understudy", "schema", "review", str(drafted)]
    ended = subprocess.run(command, input=keys, capture_output=True, text=True, start_new_session=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert not load_schema(drafted).draft


def test_answers_that_end_too_early_keep_what_was_decided(drafted: Path) -> None:
    command = [sys.executable, "-m", "understudy", "schema", "review", str(drafted)]
    ended = subprocess.run(command, input="aa", capture_output=True, text=True, start_new_session=True, check=False)
    assert ended.returncode == 2
    assert "The answers ended before the review did" in ended.stderr
    assert [mark.column for mark in marks_of(drafted.read_text())] == ["wage", "code"]


@pytest.fixture
def alike(tmp_path: Path) -> Path:
    """A draft with three columns that are asked the same, and one that is not."""
    lines = "".join(f"{'xyz'[i % 3]},{'pqrs'[i % 4]},{'kl'[i % 2]},{i % 90}\n" for i in range(400))
    (tmp_path / "a.csv").write_text("town,ward,wing,wage\n" + lines)
    result = CliRunner().invoke(main, ["schema", "draft", str(tmp_path / "a.csv"), "-o", str(tmp_path / "a.toml")])
    assert "2 decisions are left to you, about 4 columns, marked REVIEW." in result.stderr
    return tmp_path / "a.toml"


def left(path: Path) -> list[str | None]:
    return [mark.column for mark in marks_of(path.read_text())]


def test_columns_of_which_the_same_is_asked_are_one_decision(alike: Path) -> None:
    result = review(alike, "aay")
    assert "3 columns: the values that were seen are listed" in result.output
    for said in ('town: 3 values: "x", "y", "z"', 'ward: 4 values: "p", "q", "r", "s"', 'wing: 2 values: "k", "l"'):
        assert said in result.output
    assert list(load_schema(alike).domain) == ["town", "ward", "wing", "wage"]
    assert not load_schema(alike).draft


def test_such_columns_can_be_gone_through_one_by_one(alike: Path) -> None:
    result = review(alike, "oalq")
    assert "4 left." in result.output
    assert left(alike) == ["wing", "wage"]
    assert "2 left. Go on with" in result.output
    assert list(load_schema(alike).domain) == ["town", "wing", "wage"]
    assert "[t]his" not in review(alike, "q").output  # nothing else is like it
    assert review(alike, "aay").exit_code == 0
    assert not load_schema(alike).draft


def test_going_one_by_one_begins_with_the_columns_that_were_opened(drafted: Path, tmp_path: Path) -> None:
    lines = "".join(f"{'xyz'[i % 3]},{i % 90},{i * 7 % 50},{'pqrs'[i % 4]}\n" for i in range(400))
    (tmp_path / "b.csv").write_text("town,wage,dose,ward\n" + lines)
    path = tmp_path / "b.toml"
    path.write_text(draft_schema(tmp_path / "b.csv"))
    asked = re.findall(r'left. (Column "\w+"|\d columns)', review(path, "osaoaaq").output)
    assert asked == ["2 columns", 'Column "town"', 'Column "ward"', "2 columns", 'Column "wage"', 'Column "dose"']


def test_a_key_that_does_nothing_is_told_which_do(alike: Path) -> None:
    result = review(alike, "xq")
    assert '"x" does nothing here. Press one of these: [a]ccept all, [o]ne by one,' in result.output
    assert left(alike) == ["town", "ward", "wing", "wage"]


def test_what_was_skipped_is_not_accepted_with_the_rest(alike: Path) -> None:
    result = review(alike, "ostq")
    assert "Accepted for ward, wing." in result.output
    assert left(alike) == ["town", "wage"]


def test_such_columns_can_be_shown_in_full_left_out_or_skipped(alike: Path) -> None:
    result = review(alike, "fsq")
    assert 'values = ["p", "q", "r", "s"]' in result.output
    assert left(alike) == ["town", "ward", "wing", "wage"]
    review(alike, "lq")
    assert list(load_schema(alike).domain) == left(alike) == ["wage"]


def test_identifiers_are_left_out_together_or_one_is_the_person(tmp_path: Path) -> None:
    lines = "".join(f"n{i % 600},m{i % 700},{'xyz'[i % 3]}\n" for i in range(8000))
    (tmp_path / "a.csv").write_text("patient_id,bed_id,town\n" + lines)
    CliRunner().invoke(main, ["schema", "draft", str(tmp_path / "a.csv"), "-o", str(tmp_path / "a.toml")])
    result = review(tmp_path / "a.toml", "op3\naay")
    assert "2 columns: they are left out, since their names say" in result.output
    assert "[l]eave" not in result.output.split("2 columns")[1].split("?")[0]
    schema = load_schema(tmp_path / "a.toml")
    assert schema.person is not None
    assert (schema.person.column, schema.draft, list(schema.domain)) == ("patient_id", False, ["town"])


def test_a_column_is_declared_to_be_the_person(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("patient_id,town\n" + "".join(f"n{i % 600},{'xyz'[i % 3]}\n" for i in range(3000)))
    CliRunner().invoke(main, ["schema", "draft", str(tmp_path / "a.csv"), "-o", str(tmp_path / "a.toml")])
    result = review(tmp_path / "a.toml", "po\n0\n3\nay")
    assert result.output.count("Write a whole number from 1, such as 5.") == 2
    assert result.exit_code == 0, result.output
    schema = load_schema(tmp_path / "a.toml")
    assert schema.person is not None
    assert (schema.person.column, schema.person.rows, schema.draft) == ("patient_id", 3, False)


def test_a_person_is_declared_once(tmp_path: Path) -> None:
    """Who a person is, is decided: of another identifier it is not asked again."""
    path = tmp_path / "draft.toml"
    lines = "".join(f"P{i % 500:05},Q{(i * 7) % 600:05},{i % 40}\n" for i in range(3000))
    (tmp_path / "t.csv").write_text("patient_id,doctor_id,age\n" + lines)
    path.write_text(draft_schema(tmp_path / "t.csv"))
    shown = review(path, "op5\nq").output
    first, second = shown.split("rows of each person")
    assert "[p]erson" in first
    assert "[p]erson" not in second


@pytest.fixture
def stays(tmp_path: Path) -> Path:
    def row(i: int) -> str:
        begin, nights = date(2023, 1, 1) + timedelta(i * 37 % 360), 1 + i * 13 % 9
        return f"{begin},{nights},{begin + timedelta(nights)},{i * 7 % 50},{i * 7 % 50 + i % 31}\n"

    (tmp_path / "a.csv").write_text("in,nights spent,out,few,many\n" + "".join(map(row, range(2000))))
    CliRunner().invoke(main, ["schema", "draft", str(tmp_path / "a.csv"), "-o", str(tmp_path / "a.toml")])
    return tmp_path / "a.toml"


def test_what_holds_between_columns_is_declared_by_keys(stays: Path) -> None:
    result = review(stays, "dyyaaaay")
    assert "out = `in` + days(`nights spent`), always" in result.output, result.output
    assert "`in` <= out, always" not in result.output  # it follows, and no order has a derived column
    assert "few <= many, always" in result.output
    schema = load_schema(stays)
    assert not schema.draft
    assert [column.name for column in schema.derived] == ["out"]
    assert [zero.always for zero in schema.declaration.zeros] == ["few <= many"]
    assert check_schema(stays.with_suffix(".csv"), schema) == []


def test_only_what_is_meant_is_declared(stays: Path) -> None:
    review(stays, "dnynq")
    assert [zero.always for zero in load_schema(stays).declaration.zeros] == ["`in` <= out"]
    assert load_schema(stays).derived == ()
    assert not any(mark.message.startswith("in all rows") for mark in marks_of(stays.read_text()))


@pytest.mark.parametrize("number", [True, False])
def test_a_lookup_that_all_rows_keep_is_declared_by_a_key(number: bool, tmp_path: Path) -> None:
    schools = ['""x"" }', "y\\", "z. a", "u", "v", "w", "ü", "1"]
    years = [3, 5, 5, 7, 9, 9, 11, 13] if number else [*"abbcddef"]
    rows = "".join(f'"{schools[i % 8]}",{years[i % 8]}\n' for i in range(4000))
    (tmp_path / "a.csv").write_text("school,years\n" + rows)
    path = tmp_path / "a.toml"
    CliRunner().invoke(main, ["schema", "draft", str(tmp_path / "a.csv"), "-o", str(path)])
    result = review(path, "ady")
    assert result.exit_code == 0, result.output
    schema = load_schema(path)
    assert [column.name for column in schema.derived] == ["years"]
    assert check_schema(tmp_path / "a.csv", schema) == []
    assert marks_of(path.read_text()) == []


def test_a_draft_without_a_decision_says_so_and_a_review_of_it_is_one_key(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("age,sex\n" + "".join(f"{20 + i % 50},{'fm'[i % 2]}\n" for i in range(400)))
    path = tmp_path / "a.toml"
    result = CliRunner().invoke(main, ["schema", "draft", str(tmp_path / "a.csv"), "-o", str(path)])
    assert "REVIEW" not in result.stderr
    assert "no decision is left" in result.stderr
    refused = CliRunner().invoke(
        main, ["synthesize", str(tmp_path / "a.csv"), "-s", str(path), "-e", "1", "-o", str(tmp_path / "r")]
    )
    assert "REVIEW" not in refused.stderr
    assert "Run understudy schema review" in refused.stderr
    assert review(path, "y").exit_code == 0
    assert not load_schema(path).draft


def test_the_head_of_a_reviewed_file_says_what_is_true_then(drafted: Path) -> None:
    assert drafted.read_text().startswith("# DRAFT. This schema was written by looking at the data itself.")
    review(drafted, "aaaay")
    head, _, rest = drafted.read_text().partition("[table]")
    assert head.startswith(
        "# REVIEWED. A draft of this schema was written by looking at the data. A person has gone through"
    )
    assert "REVIEW:" not in head
    assert rest.startswith("\ndraft = false")
