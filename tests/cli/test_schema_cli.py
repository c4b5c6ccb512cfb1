"""The schema commands and the demo: help for each, messages without tracebacks, and JSON for machines."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from understudy import example
from understudy.cli import main
from understudy.cli.demo import write_example
from understudy.schema import load_schema


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_example(tmp_path)
    return tmp_path


def commands(group: click.Group, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    found = []
    for name, command in group.commands.items():
        found.append((*path, name))
        if isinstance(command, click.Group):
            found += commands(command, (*path, name))
    return found


@pytest.mark.parametrize("path", commands(main), ids=" ".join)
def test_every_command_has_help(path: tuple[str, ...]) -> None:
    result = run(*path, "--help")
    assert result.exit_code == 0
    assert len(result.output.split("\n\n")[1].strip()) > 20


def test_draft_says_what_it_did_on_screen_and_keeps_a_review(folder: Path) -> None:
    draft = folder / "draft.toml"
    result = run("schema", "draft", folder / "people.csv", "-o", draft)
    assert result.exit_code == 0
    assert "looking at the data" in result.stderr
    assert "REVIEW" in result.stderr
    assert load_schema(draft).draft
    again = run("schema", "draft", folder / "people.csv", "-o", draft)
    assert again.exit_code == 2
    assert "--force" in again.stderr
    assert run("schema", "draft", folder / "people.csv", "-o", draft, "--force").exit_code == 0


def test_check_is_marked_not_private(folder: Path) -> None:
    result = run("schema", "check", folder / "people.csv", "-s", folder / "people.toml")
    assert result.exit_code == 0
    assert "Not private" in result.stderr
    assert "Every value fits." in result.stdout
    narrow = folder / "narrow.toml"
    narrow.write_text(
        (folder / "people.toml").read_text().replace("max = 99", "max = 59").replace("bins = 25 ", "bins = 15 ")
    )
    result = run("schema", "check", folder / "people.csv", "-s", narrow, "--json")
    answer = json.loads(result.stdout)
    assert answer["private"] is False
    assert [(m["column"], m["problem"]) for m in answer["misfits"]] == [("age", "above max")]
    assert "above max" in run("schema", "check", folder / "people.csv", "-s", narrow).stdout


def test_check_says_when_a_column_is_hardly_declared_as_it_is(folder: Path) -> None:
    (folder / "members.csv").write_text("member,kind\n" + "ja,x\n" * 8 + "nein,y\n" * 2)
    declared = '[columns.member]\nkind = "boolean"\nnullable = true\n'
    declared += '[columns.kind]\nkind = "categorical"\nvalues = ["x"]\nother = "z"\n'
    (folder / "members.toml").write_text(declared)
    shown = run("schema", "check", folder / "members.csv", "-s", folder / "members.toml").stdout
    assert 'Most values of "member" do not fit.' in shown
    assert "A boolean column reads true, false" in shown
    assert '"kind"' not in shown


def test_show(folder: Path) -> None:
    shown = run("schema", "show", folder / "people.toml").stdout
    assert "Abroad" in shown
    assert "Impossible: when age < 16" in shown
    answer = json.loads(run("schema", "show", folder / "people.toml", "--json").stdout)
    assert [column["size"] for column in answer["columns"]] == list(example.schema().domain.sizes)
    assert answer["zeros"][0]["forbidden"] == 12
    assert answer["draft"] is False


def test_show_names_the_person(folder: Path) -> None:
    path = folder / "persons.toml"
    path.write_text('person = "patient"\nrows_per_person = 4\n\n[columns.ill]\nkind = "boolean"\nnullable = true\n')
    assert 'Person: "patient", with at most 4 rows each' in run("schema", "show", path).stdout
    answer = json.loads(run("schema", "show", path, "--json").stdout)
    assert (answer["person"], answer["rows_per_person"]) == ("patient", 4)


def test_mistakes_are_messages(folder: Path) -> None:
    broken = folder / "broken.toml"
    broken.write_text('[columns.age]\nkind = "integer"\nmni = 3\nmax = 4\nnullable = true\n')
    result = run("schema", "show", broken)
    assert result.exit_code == 2
    assert 'line 3, column "age"' in result.stderr
    assert 'Did you mean "min"?' in result.stderr
    assert "Traceback" not in result.output
    assert "no file" in run("schema", "draft", folder / "none.csv").stderr


def test_json_schema_is_printed() -> None:
    assert json.loads(run("schema", "json-schema").stdout)["title"] == "Understudy schema"


def test_a_draft_with_a_budget_is_learnt_and_needs_no_review(folder: Path) -> None:
    result = run("schema", "draft", folder / "people.csv", "-e", "2", "--columns", "sex,age", "-o", folder / "learnt.toml")
    assert result.exit_code == 0, result.output
    assert "2 columns, learnt under epsilon = 2, delta = 1e-9. It needs no review." in result.output
    learnt = load_schema(folder / "learnt.toml")
    assert [column.name for column in learnt.columns] == ["sex", "age"]
    assert not learnt.draft
    assert "Female" in learnt["sex"].labels
    assert "Left out" not in result.output
    refused = run("schema", "draft", folder / "people.csv", "--delta", "1e-6")
    assert "--delta goes with --epsilon" in refused.output


@pytest.mark.promise(30)
def test_a_draft_that_could_not_be_learnt_says_what_was_spent(folder: Path) -> None:
    (folder / "few.csv").write_text("age\n1\n2\n")
    result = run("schema", "draft", folder / "few.csv", "-e", "0.1")
    assert result.exit_code == 2
    assert "Nothing could be learnt" in result.stderr
    assert "Spent, and stays spent: rho = " in result.stderr


def test_a_learnt_schema_that_cannot_be_written_is_shown(folder: Path) -> None:
    """It was paid for."""
    result = run("schema", "draft", folder / "people.csv", "-e", "2", "--columns", "sex", "--force", "-o", "/dev/full")
    assert result.exit_code == 2
    assert "[columns.sex]" in result.stdout
    assert "The schema is complete. Spent, and stays spent: rho = " in result.stderr


@pytest.mark.parametrize("more", [[], ["-e", "2"]])
def test_a_folder_that_is_not_there_is_told_before_anything_is_read(folder: Path, more: list[str]) -> None:
    result = run("schema", "draft", folder / "none.csv", *more, "-o", folder / "none" / "s.toml")
    assert "There is no folder" in result.stderr


def test_columns_of_which_nothing_is_learnt_are_named(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("who,sex,name\n" + "".join(f"{i},{'FM'[i % 2]},somebody {i}\n" for i in range(2000)))
    result = run("schema", "draft", path, "-e", "2", "--person", "who", "--rows-per-person", "1")
    assert "Left out, since nothing could be learnt of them for this budget: name.\n" in result.stderr


def test_show_names_derived_columns_and_orders(tmp_path: Path) -> None:
    column = '[columns.{}]\nkind = "integer"\nmin = 0\nmax = 9\nother = 0\n'
    more = '[columns.c]\nkind = "derived"\nexpression = "a + b"\n[[zeros]]\nalways = "a <= b"\n'
    (tmp_path / "s.toml").write_text(column.format("a") + column.format("b") + more)
    shown = run("schema", "show", tmp_path / "s.toml").output
    assert 'Derived: "c": a + b' in shown
    assert "Always: a <= b, inside bins too" in shown
    told = json.loads(run("schema", "show", tmp_path / "s.toml", "--json").output)
    assert (told["derived"], told["orders"]) == ([{"name": "c", "type": "int64", "rule": "a + b"}], ["a <= b"])
