"""The dialect of CSV files on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from understudy.cli import main
from understudy.cli.demo import write_example

QUICK = ("-e", "1", "--workload", "all-1way", "--mechanism", "independent", "--no-report", "--quiet", "--json")


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's table, also with semicolons, in Latin-1, without a line of names."""
    home = tmp_path_factory.mktemp("home")
    write_example(home)
    head, _, rows = (home / "people.csv").read_text(encoding="utf-8").partition("\n")
    (home / "odd.txt").write_text(rows.replace(",", ";"), encoding="latin-1")
    (home / "names").write_text(head.replace(chr(34), ""))
    return home


def dialect(folder: Path) -> list[str]:
    return ["--separator", ";", "--encoding", "latin-1", "--header", (folder / "names").read_text()]


def test_flags_declare_the_dialect_for_synthesize_and_evaluate(folder: Path) -> None:
    given = dialect(folder)
    made = run("synthesize", folder / "odd.txt", *given, "-s", folder / "people.toml", *QUICK, "-o", folder / "release")
    assert made.exit_code == 0, made.stderr
    usual = run("evaluate", folder / "people.csv", folder / "release", "--json")
    odd = run("evaluate", folder / "odd.txt", folder / "release", "--json", *given)
    assert json.loads(odd.stdout) == json.loads(usual.stdout)


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--separator", ";;"], "one ASCII character"),
        (["--encoding", "utf-16"], "iconv"),
        (["--sql", "SELECT 1", "--separator", ";"], "either DATA"),
        (["--database", "a.duckdb"], "goes with --sql"),
    ],
)
def test_flags_that_make_no_sense(folder: Path, flags: list[str], words: str) -> None:
    result = run("synthesize", folder / "odd.txt", *flags, "-s", folder / "people.toml", *QUICK, "-o", folder / "none")
    assert result.exit_code == 2
    assert words in result.stderr
    assert "Nothing was spent" in result.stderr


def test_a_dialect_that_the_schema_declares_needs_no_flags_and_stays_with_the_release(folder: Path) -> None:
    names = json.dumps((folder / "names").read_text().split(","))
    declared = f'\n[table.csv]\nseparator = ";"\nencoding = "latin-1"\nheader = {names}\n'
    (folder / "odd.csv").write_bytes((folder / "odd.txt").read_bytes())
    (folder / "odd.toml").write_text((folder / "people.toml").read_text(encoding="utf-8") + declared, encoding="utf-8")
    assert "Every value fits." in run("schema", "check", folder / "odd.csv", "-s", folder / "odd.toml").stdout
    made = run("synthesize", folder / "odd.csv", "-s", folder / "odd.toml", *QUICK, "-o", folder / "declared")
    assert made.exit_code == 0, made.stderr
    found = run("evaluate", folder / "odd.csv", folder / "declared", "--json")
    assert json.loads(found.stdout)["rows"] == (folder / "odd.csv").read_bytes().count(b"\n")
