"""The marks of a draft: taken away one by one, until the file holds what a person decided."""

from __future__ import annotations

import pytest

from understudy.errors import UserError
from understudy.review.draft import draft_schema
from understudy.review.marks import accept, change, finish, leave_out, marks_of, shown
from understudy.schema import parse_schema

DRAFT = """\
# DRAFT. Each line that begins with "# REVIEW:" is a decision.

[table]
draft = true
# REVIEW: values were missing in "age", and in no other column.

# REVIEW: bounds were seen.
[columns.age]
kind = "integer"
edges = [
  0, 10, 20,
  30,
]
nullable = true

[columns.sex]
kind = "categorical"
values = ["f", "m"]
other = "f"

# REVIEW: left out, since it has about 4,000 different texts.
# [columns."tail num"]

# Left out: nearly every row has a text of its own.
# [columns.id]
"""


def test_marks_know_their_columns() -> None:
    found = [(mark.column, mark.left_out) for mark in marks_of(DRAFT)]
    assert found == [(None, False), ("age", False), ("tail num", True)]
    assert shown(DRAFT, marks_of(DRAFT)[1]).splitlines()[0] == "[columns.age]"
    assert shown(DRAFT, marks_of(DRAFT)[1]).splitlines()[-1] == "nullable = true"


def test_what_is_accepted_is_no_longer_marked() -> None:
    text = DRAFT
    for left in (2, 1, 0):
        text = accept(text, marks_of(text)[0])
        assert len(marks_of(text)) == left
    assert parse_schema(text).draft
    done = parse_schema(finish(text))
    assert not done.draft
    assert list(done.domain) == ["age", "sex"]
    assert '# Left out, as reviewed.\n# [columns."tail num"]\n' in text


def test_a_column_can_be_left_out() -> None:
    text = leave_out(DRAFT, marks_of(DRAFT)[1])
    assert list(parse_schema(text).domain) == ["sex"]
    assert len(marks_of(text)) == 2


def test_a_column_can_be_changed_and_brought_back() -> None:
    text = change(DRAFT, "age", ["edges = [0, 50, 120]", 'description = "in years"'])
    assert parse_schema(text)["age"].ordinary_labels() == ("0 to 49", "50 to 120")
    assert parse_schema(text)["age"].description == "in years"
    text = change(text, "tail num", ['kind = "categorical"', 'values = ["N1"]', "prefix = 2", 'other = "?"'])
    assert list(parse_schema(text).domain) == ["age", "sex", "tail num"]
    with pytest.raises(UserError, match="key = value"):
        change(text, "age", ["max 3"])
    with pytest.raises(UserError, match="no column"):
        change(text, "ages", ["max = 3"])


def test_another_kind_takes_away_what_it_does_not_know() -> None:
    """A mark proposes a derived column: the values that were seen have no place in one."""
    text = change(DRAFT, "sex", ['kind = "derived"', 'expression = "age > 20"'])
    assert "values = " not in text
    assert list(parse_schema(text).domain) == ["age"]
    text = change(DRAFT, "age", ['kind = "categorical"', "values = [1, 2]"])
    assert parse_schema(text)["age"].labels == ("1", "2", "null")
    with pytest.raises(UserError, match="is not a kind"):
        parse_schema(change(DRAFT, "age", ['kind = "ordinary"']))


def test_other_bins_take_the_place_of_those_that_were_seen() -> None:
    text = change(DRAFT, "age", ["min = 0", "max = 119", "width = 60"])
    assert parse_schema(text)["age"].ordinary_labels() == ("0 to 59", "60 to 119")
    text = change(text, "age", ["bins = 3"])
    assert parse_schema(text)["age"].ordinary_labels() == ("0 to 39", "40 to 79", "80 to 119")
    text = change(text, "age", ["edges = [0, 18, 120]"])
    assert parse_schema(text)["age"].ordinary_labels() == ("0 to 17", "18 to 120")


def test_a_file_with_marks_is_not_finished() -> None:
    with pytest.raises(UserError, match="left"):
        finish(DRAFT)


@pytest.mark.parametrize("apart", ["\u2028", "\u2029", "\x85"])
def test_a_value_that_was_seen_begins_no_line_of_the_file(apart: str) -> None:
    """Else the rest of it would be a setting once its mark is accepted."""
    seen = f"LOST{apart}nulls = ['x'] #"
    text = draft_schema({"age": [*(str(i % 90) for i in range(400)), *[seen] * 3], "b": ["y", f"n{apart}o"] * 201 + ["y"]})
    assert [mark.column for mark in marks_of(text)] == [None, "age", "b"]
    while marks := marks_of(text):
        text = accept(text, marks[0])
    declared = parse_schema(text)
    assert declared.table.nulls == []
    assert declared["age"].own_nulls == (seen,)
