"""Broken files: draft, check and synthesize agree on what they read, and say which option to set."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from understudy.cli import main

SCHEMA = """
[columns.name]
kind = "categorical"
values = ["Zoë", "Ann", "Bob", "Cem"]
other = "Other"

[columns.age]
kind = "integer"
min = 0
max = 120
nullable = true

[columns.day]
kind = "date"
min = 2021-01-01
max = 2021-12-31
nullable = true
"""
NAMES = ["Zoë", "Ann", "Bob", "Cem"] * 10
RECORDS = [(name, str(20 + i), f"2021-05-{1 + i % 28:02}") for i, name in enumerate(NAMES)]


def written(separator: str = ",", header: Sequence[str] = ("name", "age", "day")) -> str:
    lines = [separator.join(fields) for fields in ([header] if header else []) + RECORDS]
    return "\n".join(lines) + "\n"


GOOD = written()
COMMAS = "name,age,day\n" + "".join(f'{name},"{age},5",{day}\n' for name, age, day in RECORDS)
SEPARATOR = "Declare the separator under [table.csv] in the schema, or with --separator"
HEADER = "give them with --header"
CONVERT = "iconv -f UTF-16 -t UTF-8"
SPREADSHEET = "is a spreadsheet or an archive, and no CSV file. Save it as CSV or Parquet first"
EMPTY = "is empty: not even a first line"
RELEASED = "Release:"
TABLE: dict[str, tuple[bytes, tuple[str, str, str]]] = {
    # what is in the file: what draft, check and synthesize say of it
    "semicolons": (written(";").encode(), ('separator = ";"', SEPARATOR, SEPARATOR)),
    "tabs": (written("\t").encode(), ('separator = "\\t"', SEPARATOR, SEPARATOR)),
    "latin-1": (
        GOOD.encode("latin-1"),
        ('encoding = "cp1252"', "is the encoding the right one (--encoding latin-1", RELEASED),
    ),
    "utf-16": (GOOD.encode("utf-16"), (CONVERT, CONVERT, CONVERT)),
    "short lines": (
        (GOOD + "Ann,33\n").encode(),
        ("a line with too few fields", "Lines with too few fields: is the separator", RELEASED),
    ),
    "long lines": (
        (GOOD + "Ann,3,4,5\n").encode(),
        ("a line with too many fields", "Lines with too many fields: are the separator", RELEASED),
    ),
    "no header": (written(header=()).encode(), ("draft again with --header", HEADER, HEADER)),
    "wrong header": (GOOD.replace("age", "agee", 1).encode(), ("[columns.agee]", 'Did you mean "agee"?', HEADER)),
    "header twice": (GOOD.replace("name", "age", 1).encode(), (HEADER, "no such column", HEADER)),
    "empty": (b"", (EMPTY, EMPTY, EMPTY)),
    "header alone": (b"name,age,day\n", ("has no rows", "it has no rows", RELEASED)),
    "line breaks": (GOOD.replace("Ann", '"An\nn"').encode(), ("to_parquet", "a record is one line here", RELEASED)),
    "a name with a line break": (GOOD.replace("age", '"age\nin years"', 1).encode(), ("to_parquet",) * 3),
    "spreadsheet": (b"PK\x03\x04\x14\x00\x06" + bytes(range(256)), (SPREADSHEET, SPREADSHEET, SPREADSHEET)),
    "cut short": (gzip.compress(GOOD.encode())[:60], ("Is it a whole file?",) * 3),
    "decimal commas": (COMMAS.encode(), ('decimal = ","', "Has a CSV file decimal commas", RELEASED)),
    "byte order mark": (b"\xef\xbb\xbf" + GOOD.encode(), ("[columns.name]", "Every value fits.", RELEASED)),
}
"""A run over the private rows says less than draft and check: what is wrong with single records stays with the owner."""
PAGE = Path(__file__).parents[2] / "docs" / "schema.md"


@pytest.mark.parametrize("broken", TABLE)
def test_three_commands_on_a_broken_file(broken: str, tmp_path: Path) -> None:
    content, expected = TABLE[broken]
    path = tmp_path / ("a.csv.gz" if broken == "cut short" else "a.csv")
    path.write_bytes(content)
    (tmp_path / "s.toml").write_text(SCHEMA, encoding="utf-8")
    quick = ["-e", "1", "-w", "all-1way", "--mechanism", "independent", "--no-report", "--quiet", "-o", str(tmp_path / "r")]
    commands = [
        ["schema", "draft", str(path)],
        ["schema", "check", str(path), "-s", str(tmp_path / "s.toml")],
        ["synthesize", str(path), "-s", str(tmp_path / "s.toml"), *quick],
    ]
    for command, words in zip(commands, expected, strict=True):
        result = CliRunner().invoke(main, command)
        said = " ".join((result.stdout + result.stderr).split())
        assert words in said, command[:2]
        assert result.exit_code in (0, 2)
        assert ("Nothing was spent" in said) == (command[0] == "synthesize" and result.exit_code == 2)
        if command[0] == "synthesize":
            assert not any(name in result.stderr for name in NAMES)


@pytest.mark.parametrize("broken", TABLE)
def test_the_page_shows_what_each_command_says(broken: str) -> None:
    [row] = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith(f"| {broken} |")]
    _, _, *said = (cell.strip(" `") for cell in row.split("|")[:-1])
    assert said == ["a release" if words == RELEASED else words for words in TABLE[broken][1]]


def test_the_page_shows_no_other_file() -> None:
    part = PAGE.read_text(encoding="utf-8").split("### Broken files")[1].split("\n#")[0]
    rows = [line.split("|")[1].strip() for line in part.splitlines() if line.startswith("|")]
    assert rows[2:] == list(TABLE)
