"""The site: every page has its place, notebooks run and print what they show, and the public API is all on one page."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
import re
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

import understudy
from docs.blocks import missing_lines
from docs.notebooks import FOLDER, printed, shown
from understudy import errors

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
BESIDE = {
    "understudy.ledger.State",
    "understudy.ledger.Dataset",
    "understudy.ledger.Run",
    "understudy.ledger.Verdict",
    "understudy.report.render_report",
    "understudy.report.render_evaluation",
}
"""What is public beside ``understudy.__all__``: what a ledger answers with, and reports as text."""


@pytest.fixture(scope="module")
def site() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_site", ROOT / "docs" / "build_site.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_prints_what_it_shows(path: Path, tmp_path: Path) -> None:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    cells = 0
    for cell, output in printed(notebook, tmp_path):
        cells += 1
        assert bool(output) == bool(cell["outputs"]), "".join(cell["source"])
        assert not missing_lines(shown(cell), output), f"the notebook shows {shown(cell)!r}, the cell printed {output!r}"
    assert cells >= 4


def test_there_are_two_notebooks() -> None:
    assert len(NOTEBOOKS) == 2


def test_every_page_has_its_place(site: ModuleType) -> None:
    placed = [f"{name}.md" for pages in site.CONTENTS.values() for name in pages]
    assert sorted([*placed, "index.md"]) == sorted(site.site_pages())


def test_links_of_the_site_lead_to_pages_and_pictures(site: ModuleType) -> None:
    pages = site.site_pages()
    for name, text in pages.items():
        for where in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", text):
            target = ((ROOT / "docs" / name).parent / where).resolve().relative_to(ROOT / "docs").as_posix()
            assert target in pages or (ROOT / "docs" / target).is_file(), f"{name} links to {where}"


def test_links_to_files_that_are_no_page_become_text(site: ModuleType) -> None:
    text = "[a test](../../tests/a.py), [b.py](../../tests/b.py), [policy](../../SECURITY.md#what), [zeros](../schema.md)"
    made = "a test (`tests/a.py`), b.py, [policy](../security.md#what), [zeros](../schema.md)"
    assert site.relinked(text, "docs/howto/x.md", "howto/x.md") == made


def documented() -> set[str]:
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    return set(re.findall(r"^\.\. auto(?:function|class|exception):: (\S+)$", text, re.MULTILINE))


def test_the_api_page_has_every_public_name_and_no_other() -> None:
    tree = {name for name, one in vars(errors).items() if inspect.isclass(one) and issubclass(one, errors.UnderstudyError)}
    assert tree <= set(understudy.__all__)
    assert documented() == {f"understudy.{name}" for name in understudy.__all__} | BESIDE


@pytest.mark.parametrize("name", sorted(documented()))
def test_a_public_name_is_there_and_documented(name: str) -> None:
    room, _, last = name.rpartition(".")
    found = getattr(importlib.import_module(room), last)
    assert inspect.getdoc(found), f"{name} has no docstring"
    if inspect.isclass(found):
        fields = getattr(found, "__annotations__", {})
        own = {n: part for n, part in vars(found).items() if n[0] != "_" and n not in fields}
        parts = {n: part for n, part in own.items() if inspect.isfunction(part) or isinstance(part, property)}
        assert [n for n, part in parts.items() if not part.__doc__] == []


def test_versions_agree_wherever_they_are_written() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"## {version}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_picture_is_small() -> None:
    picture = ROOT / "docs" / "figures" / "report.png"
    assert picture.read_bytes()[:4] == b"\x89PNG"
    assert picture.stat().st_size <= 150_000
