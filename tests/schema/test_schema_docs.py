"""The schema reference is true: its Python runs, its schemas load, and it names every setting."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from understudy.schema import parse_schema
from understudy.schema.problems import FIELDS, SECTIONS

TEXT = (Path(__file__).parents[2] / "docs" / "schema.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("block", blocks("python"))
def test_python_runs(block: str) -> None:
    exec(compile(block, "docs/schema.md", "exec"), {})


@pytest.mark.parametrize("block", blocks("toml"))
def test_schemas_load(block: str) -> None:
    parse_schema(block)


def test_domain_files_load() -> None:
    [block] = blocks("json")
    assert parse_schema(block, form="json").domain.sizes == (32, 2)


def test_every_setting_is_named() -> None:
    for key in {key for keys in (*FIELDS.values(), *SECTIONS.values()) for key in keys}:
        assert re.search(rf"\b{key}\b", TEXT), key


def test_there_are_blocks_to_test() -> None:
    assert len(blocks("toml")) >= 5
    assert len(blocks("python")) >= 1
