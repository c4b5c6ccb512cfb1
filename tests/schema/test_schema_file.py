"""Schema files: what they may say, and errors that name the column, the line and the fix."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

from understudy.errors import SchemaError
from understudy.schema import SchemaFileError, json_schema, load_schema, parse_schema, require_reviewed
from understudy.schema.declaration import SchemaDeclaration
from understudy.schema.lines import find_line, toml_lines

GOOD = '[columns.a]\nkind = "integer"\nmin = 0\nmax = 9\nnullable = true\n'


def problem(text: str) -> tuple[str | None, int | None, str]:
    """Return the only problem of a schema: its column, line and message."""
    with pytest.raises(SchemaFileError) as caught:
        parse_schema(text, source="s.toml")
    [only] = caught.value.problems
    assert str(caught.value).startswith("s.toml has 1 problem:")
    return only.column, only.line, only.message


@pytest.mark.parametrize(
    ("change", "line", "words"),
    [
        (("max = 9", "mxa = 9"), 4, '"mxa" is not a setting.*Did you mean "max"'),
        (('"integer"', '"integr"'), 1, '"integr" is not a kind.*Did you mean "integer"'),
        (('kind = "integer"\n', ""), 1, "kind is missing.*categorical, ordinal"),
        (("max = 9", ""), 1, "max is missing"),
        (("max = 9", 'max = "9"'), 4, "max does not fit.*integer"),
        (("max = 9", 'max = "9"'), 4, '"9" is a text; a whole number.* without quotes'),
        (("max = 9", "max = -9"), 3, "min = 0 is not below max = -9"),
        (("max = 9", f"max = {2**60}"), 4, "too large to be kept exactly"),
        (("max = 9", "max = 300\ntype = 'int8'"), 5, "holds -128 to 127"),
        (("max = 9", "max = 9\nbins = 0"), 5, r"bins does not fit.*\(0 was given\)"),
        (("nullable = true", ""), 1, "nothing says where a missing.*nullable = true.*other"),
        (("nullable = true", 'other = 3\ninvalid = "null"'), 6, 'invalid = "null" needs nullable'),
        (("nullable = true", 'nullable = true\ninvalid = "other"'), 6, 'invalid = "other" needs other'),
        (("nullable = true", 'nullable = true\ninvalid = "clmap"'), 6, '"clmap".*Did you mean "clamp"'),
        (("min = 0", "edges = [0, 3, 9]"), 4, "drop max"),
        (("min = 0\nmax = 9", "edges = [0, 9, 3]"), 3, "must rise"),
        (("min = 0\nmax = 9", "edges = [0]"), 3, "at least two"),
    ],
)
def test_errors_of_a_column(change: tuple[str, str], line: int, words: str) -> None:
    column, found, message = problem(GOOD.replace(*change))
    assert (column, found) == ("a", line)
    assert re.search(words, message), message


@pytest.mark.parametrize(
    ("body", "line", "words"),
    [
        ('kind = "categorical"\nvalues = ["x", "x"]\nnullable = true', 3, "listed twice"),
        ('kind = "categorical"\nvalues = []\nnullable = true', 3, "empty"),
        ('kind = "time"\nother = "12:00:00"', 3, '"12:00:00" is a text; a time (08:30:00) is written without quotes'),
        (
            'kind = "time"\nedges = ["08:00", 09:00:00]\nnullable = true',
            3,
            '"08:00" is a text; a time (08:30:00) is written without',
        ),
        ('kind = "categorical"\nvalues = ["x"]\nother = 3', 4, "as the values are"),
        ('kind = "categorical"\nvalues = ["x"]\ntype = "int8"\nnullable = true', 4, "does not go with"),
        ('kind = "categorical"\nnullable = true', 1, "values is missing"),
        ('kind = "ordinal"\nvalues = ["x"]', 1, "nothing says where"),
        ('kind = "boolean"', 1, "nothing says where"),
        (
            'kind = "real"\nmin = 0.001\nmax = 1\ndecimals = 2\nnullable = true',
            3,
            "finer than the column's decimals",
        ),
        ('kind = "real"\nmin = 0\nmax = 1\ntype = "decimal(20, 2)"\nnullable = true', 5, "at most 15 digits"),
        ('kind = "real"\nmin = 1.0\nmax = 1.0000000000000002\nnullable = true', 1, "finer"),
        (
            'kind = "date"\nmin = 2020-01-01\nmax = 2021-01-01\nwidth = "fortnight"\nnullable = true',
            5,
            "7 days",
        ),
        (
            'kind = "date"\nmin = 2020-01-01\nmax = 2021-01-01\nformat = "%d.%m"\nnullable = true',
            5,
            "needs %Y",
        ),
        ('kind = "date"\nmin = 2020-01-01\nmax = 2021-01-01\nformat = "%d %j %Y"\nnullable = true', 5, "%j"),
        (
            'kind = "datetime"\nmin = 2020-01-01T00:00:00\nmax = 2021-01-01T00:00:00\n'
            'timezone = "Europe/Pairs"\nnullable = true',
            5,
            "not a known time zone",
        ),
        (
            'kind = "datetime"\nmin = 2020-01-01T00:00:00\nmax = 2031-01-01T00:00:00\nwidth = "1 minute"\nnullable = true',
            5,
            "more than 100,000 bins",
        ),
    ],
)
def test_errors_of_other_kinds(body: str, line: int, words: str) -> None:
    column, found, message = problem(f"[columns.c]\n{body}\n")
    assert (column, found) == ("c", line)
    assert words in message


def test_all_problems_are_reported_at_once() -> None:
    text = GOOD.replace("min", "mim") + '[columns.b]\nkind = "bolean"\n[tabel]\n'
    with pytest.raises(SchemaFileError) as caught:
        parse_schema(text)
    lines = {problem.line for problem in caught.value.problems}
    assert lines == {3, 6, 8}


def test_a_misspelled_required_key_is_one_problem() -> None:
    _, line, message = problem('[columns.c]\nkind = "categorical"\nvaleus = ["a"]\nnullable = true\n')
    assert line == 3
    assert 'Did you mean "values"?' in message


def test_syntax_errors_have_a_line() -> None:
    column, line, message = problem("[columns.a]\nkind = integer\n")
    assert (column, line) == (None, 2)
    assert "not valid TOML" in message


TRICKY = """# [columns.no]
title = \'\'\'
[columns.fake]
kind = "x"
\'\'\'   # after
[columns."native ] country"]   # a comment with = and [x]
values = [
  "a", # [columns.b]
  "b = 1",
]
"kind" = 'it"s'

[columns]
plain.min = 3
inline = { kind = "integer", max = "9" }
[[zeros]]
when = "x"
[[zeros]]

then = \'\'\'
[columns.c]\'\'\'
after = "\\"#"
"""


def test_lines_are_found_in_awkward_files() -> None:
    tomllib.loads(TRICKY)
    lines = toml_lines(TRICKY)
    text = TRICKY.splitlines()
    for path, needle in {
        ("title",): "title =",
        ("columns", "native ] country"): '[columns."native',
        ("columns", "native ] country", "values"): "values = [",
        ("columns", "native ] country", "kind"): '"kind"',
        ("columns", "plain", "min"): "plain.min",
        ("columns", "inline", "max"): "inline =",
        ("zeros", 0, "when"): "when =",
        ("zeros", 1, "then"): "then =",
        ("zeros", 1, "after"): "after =",
    }.items():
        line = find_line(lines, path)
        assert line is not None
        assert text[line - 1].startswith(needle), (path, line)
    assert ("columns", "fake") not in lines
    assert ("columns", "b") not in lines
    assert ("columns", "c") not in lines


def test_a_draft_is_refused_until_a_person_confirms_it() -> None:
    draft = parse_schema("[table]\ndraft = true\n" + GOOD)
    with pytest.raises(SchemaError, match="draft = false"):
        require_reviewed(draft)
    require_reviewed(parse_schema("[table]\ndraft = false\n" + GOOD))


def test_json_schemas_and_domains_load(tmp_path: Path) -> None:
    schema = parse_schema(GOOD + '[columns.d]\nkind = "date"\nmin = 2020-01-01\nmax = 2021-01-01\nnullable = true\n')
    file = tmp_path / "schema.json"
    file.write_text(schema.declaration.model_dump_json(exclude_unset=True))
    assert load_schema(file).domain == schema.domain
    file.write_text('{"age": 32, "sex": 2}')
    assert load_schema(file).domain.sizes == (32, 2)
    file.write_text('{"age": 0}')
    with pytest.raises(SchemaError, match='"age" needs a whole number of codes'):
        load_schema(file)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="no schema file"):
        load_schema(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b"a = '\xe9'")
    with pytest.raises(SchemaError, match="UTF-8"):
        load_schema(tmp_path / "latin.toml")
    with pytest.raises(SchemaError, match="folder"):
        load_schema(tmp_path)


def test_windows_line_ends_and_a_byte_order_mark_are_fine() -> None:
    assert parse_schema("\ufeff" + GOOD.replace("\n", "\r\n")).domain.sizes == (11,)


def test_the_published_json_schema_is_up_to_date() -> None:
    import understudy.schema

    published = Path(understudy.schema.__file__).with_name("schema.schema.json")
    assert json.loads(published.read_text()) == json.loads(json.dumps(json_schema())), (
        "run: understudy schema json-schema > src/understudy/schema/schema.schema.json"
    )


def test_every_setting_is_described_for_editors() -> None:
    for name, part in json_schema()["$defs"].items():
        for key, value in part["properties"].items():
            assert key in ("kind", "null") or "description" in value, (name, key)
    assert set(SchemaDeclaration.model_fields) == {"person", "rows_per_person", "table", "columns", "zeros"}
