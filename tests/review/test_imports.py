"""Schemas from what people have: Frictionless, SDV and code books; what these do not tell is marked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from understudy.cli import main
from understudy.errors import UserError
from understudy.review.imports import import_into, import_schema
from understudy.review.marks import marks_of
from understudy.schema import Schema, parse_schema

FRICTIONLESS = {
    "missingValues": ["", "NA"],
    "fields": [
        {"name": "age", "type": "integer", "title": "Age", "constraints": {"minimum": 0, "maximum": 99}},
        {"name": "paid", "type": "number", "constraints": {"minimum": 0.5, "maximum": 9}},
        {"name": "sex", "type": "string", "constraints": {"enum": ["f", "m"]}},
        {"name": "told", "type": "boolean"},
        {
            "name": "on",
            "type": "date",
            "format": "%d.%m.%Y",
            "constraints": {"minimum": "2020-01-01", "maximum": "2020-12-31"},
        },
        {"name": "at", "type": "datetime", "constraints": {"minimum": "2020-01-01T00:00:00Z", "maximum": "2020-12-31"}},
        {"name": "clock", "type": "time"},
        {"name": "town", "type": "string"},
        {"name": "weight", "type": "number", "constraints": {"minimum": 1}},
    ],
}
SDV = {
    "columns": {
        "id": {"sdtype": "id"},
        "sex": {"sdtype": "categorical"},
        "told": {"sdtype": "boolean"},
        "age": {"sdtype": "numerical"},
        "mail": {"sdtype": "email", "pii": True},
    }
}
BOOK = "column,value,label\nsex,1,Male\nsex,2,Female\ntown,01,North\ntown,02,\n"


def written(folder: Path, content: object, name: str = "a.json") -> Path:
    (folder / name).write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return folder / name


def kinds(schema: Schema) -> dict[str, str]:
    return {column.name: column.kind for column in schema.columns}


@pytest.mark.parametrize("package", [False, True])
def test_frictionless(tmp_path: Path, package: bool) -> None:
    text = import_schema(written(tmp_path, {"resources": [{"schema": FRICTIONLESS}]} if package else FRICTIONLESS))
    schema = parse_schema(text)
    assert schema.draft
    expected = {"age": "integer", "paid": "real", "sex": "categorical", "told": "boolean", "on": "date", "at": "datetime"}
    assert kinds(schema) == {**expected, "clock": "time"}
    assert schema["age"].description == "Age"
    assert schema.table.nulls == ["NA"]
    assert [mark.column for mark in marks_of(text)] == ["town", "weight"]


def test_sdv_metadata_names_kinds_alone(tmp_path: Path) -> None:
    for content in (SDV, {"tables": {"t": SDV}}):
        text = import_schema(written(tmp_path, content))
        assert kinds(parse_schema(text)) == {"told": "boolean"}
        assert [mark.column for mark in marks_of(text)] == ["sex", "age"]
        assert "# Left out: its sdtype is email: an identifier, or personal data." in text


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_code_book(tmp_path: Path, separator: str) -> None:
    text = import_schema(written(tmp_path, BOOK.replace(",", separator), "book.csv"))
    schema = parse_schema(text)
    assert not schema.draft
    assert schema["sex"].labels == ("1 (Male)", "2 (Female)", "null")
    assert schema["town"].labels == ("01 (North)", "02", "null")


def test_a_code_book_takes_decisions_of_a_draft(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("sex,town,age\n" + "".join(f"{1 + i % 2},{1 + i % 3:02},{i % 70}\n" for i in range(300)))
    draft = tmp_path / "t.toml"
    assert CliRunner().invoke(main, ["schema", "draft", str(tmp_path / "t.csv"), "-o", str(draft)]).exit_code == 0
    assert [mark.column for mark in marks_of(draft.read_text())] == ["sex", "town"]
    book = written(tmp_path, BOOK, "book.csv")
    done = CliRunner().invoke(main, ["schema", "import", str(book), "--into", str(draft)])
    assert done.exit_code == 0, done.output
    assert "sex, town" in done.stderr
    schema = parse_schema(draft.read_text())
    assert schema["sex"].labels == ("1 (Male)", "2 (Female)")
    assert marks_of(draft.read_text()) == []
    without, changed = import_into(written(tmp_path, {"columns": {"town": {"sdtype": "city"}}}), draft.read_text())
    assert changed == ["town"]
    assert list(parse_schema(without).domain) == ["sex", "age"]


def test_missing_codes_stay_where_they_were(tmp_path: Path) -> None:
    text = (
        '[table]\ndraft = true\n\n# REVIEW: seen\n[columns.sex]\nkind = "integer"\n'
        'min = 1\nmax = 2\nnulls = ["N", -9]\nnullable = true\n'
    )
    new, changed = import_into(written(tmp_path, BOOK, "book.csv"), text)
    assert changed == ["sex"]
    assert parse_schema(new)["sex"].own_nulls == ("N", "-9")
    assert [(mark.column, mark.message[:25]) for mark in marks_of(new)] == [("sex", "nulls were seen in the ta")]
    reviewed = text.replace("# REVIEW: seen\n", "")
    assert marks_of(import_into(written(tmp_path, BOOK, "book.csv"), reviewed)[0]) == []


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.json", "{", "not valid JSON"),
        ("a.json", '{"columns": {"a": {"sdtype": "categorical"}}}', "import this file --into"),
        ("a.json", "[1]", "neither a Frictionless"),
        ("a.json", '{"tables": {"a": {}, "b": {}}}', "neither a Frictionless"),
        ("a.csv", "x,y\n1,2\n", "must name the columns"),
        ("a.csv", "", "must name the columns"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, name: str, content: str, words: str) -> None:
    with pytest.raises(UserError, match=words):
        import_schema(written(tmp_path, content, name))


def test_the_command_writes_a_file_and_replaces_none(tmp_path: Path) -> None:
    book, out = written(tmp_path, BOOK, "book.csv"), tmp_path / "s.toml"
    assert "[columns.sex]" in CliRunner().invoke(main, ["schema", "import", str(book)]).stdout
    assert CliRunner().invoke(main, ["schema", "import", str(book), "-o", str(out)]).exit_code == 0
    assert "exists" in CliRunner().invoke(main, ["schema", "import", str(book), "-o", str(out)]).stderr
