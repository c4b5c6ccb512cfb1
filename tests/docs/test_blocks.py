"""Every command and code block of the README, of the pages beside it and of docs/ runs, and prints what the page shows.

How it is done. A page is played from top to bottom in one temporary folder: ``sh`` blocks line by line with the installed
``understudy``, ``python`` blocks in one namespace. A line must end with status 0; a block that shows an error on purpose
says so in its first line, as in ``sh exit=2``. A ``text`` block right after one of these is compared with what was printed:
each line that has neither a digit nor an ellipsis (…) must appear in it, table borders and blanks aside. Lines with digits
are not compared, because noise, time and sizes differ from run to run.

Not run: the lines in UNRUN, for the reason given there. The blocks of docs/schema.md have a test of their own,
tests/schema/test_schema_docs.py.
Blocks marked ``needs=adult`` run where the public adult table is at ../shared/datasets/raw/adult.csv, and skip elsewhere.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from pyarrow import csv

from docs.blocks import Block, Player, missing_lines, read_blocks
from test_architecture import ROOMS
from understudy import example

ROOT = Path(__file__).parents[2]
ADULT = ROOT.parent / "shared" / "datasets" / "raw" / "adult.csv"
OWN_TEST = {"docs/schema.md": "tests/schema/test_schema_docs.py"}
AT_THE_ROOT = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"]
PAGES = [*AT_THE_ROOT, *sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))]
UNRUN = {
    "make demo": "would install the package into .venv; the page's `understudy demo` is what it runs",
    "make test": "would run this test",
    "make quick": "would run the tests",
    "make check": "runs by itself before a change lands",
    "make bench-": "takes minutes to hours, and needs tables that are not part of this repository",
    "pip install": "would change the environment that the tests run in",
}


def blocks_of(page: str) -> list[Block]:
    return list(read_blocks((ROOT / page).read_text(encoding="utf-8")))


def write_visits(folder: Path) -> None:
    """The README's own table: the example by another name, small."""
    csv.write_csv(example.people(rows=2_000), folder / "visits.csv")


def review_visits(folder: Path) -> None:
    """The README's reader reviews the draft: what remains is the schema of the example."""
    assert "draft = true" in (folder / "visits.toml").read_text(encoding="utf-8")
    (folder / "visits.toml").write_text(example.schema_text(), encoding="utf-8")


@pytest.mark.parametrize("page", [page for page in PAGES if page not in OWN_TEST])
def test_a_page_runs(page: str, tmp_path: Path) -> None:
    blocks = [block for block in blocks_of(page) if block.words.get("needs") is None]
    write_visits(tmp_path)
    player = Player(tmp_path, UNRUN, after={"understudy schema draft visits.csv": review_visits})
    assert player.play(blocks) == sum(block.language in ("sh", "python") for block in blocks)


@pytest.mark.skipif(not ADULT.exists(), reason="the adult table is not at ../shared/datasets/raw/adult.csv")
def test_the_adult_section_runs(tmp_path: Path) -> None:
    shutil.copy(ADULT, tmp_path / "adult.csv")
    blocks = [block for block in blocks_of("docs/tutorial.md") if block.words.get("needs") == "adult"]
    [changes] = [block.text for block in blocks if block.language == "toml"]

    def review(folder: Path) -> None:
        path = folder / "adult.toml"
        path.write_text(reviewed(path.read_text(encoding="utf-8"), changes), encoding="utf-8")

    assert Player(tmp_path, after={"understudy schema draft adult.csv": review}).play(blocks) >= 3


def reviewed(draft: str, changes: str) -> str:
    """Return the draft with the columns in ``changes`` replaced where they stand, and draft = false."""
    for section in re.split(r"^(?=\[)", changes, flags=re.MULTILINE)[1:]:
        heading = section.partition("\n")[0]
        found = re.search(rf"^{re.escape(heading)}\n.*?(?=^\[|\Z)", draft, flags=re.DOTALL | re.MULTILINE)
        assert found, f"the draft has no {heading}"
        draft = f"{draft[: found.start()]}{section.strip()}\n\n{draft[found.end() :]}"
    return draft.replace("draft = true", "draft = false")


def test_there_are_blocks_to_run() -> None:
    for page, at_least in {"README.md": 4, "docs/tutorial.md": 10, "docs/howto/researcher.md": 5}.items():
        assert sum(block.language in ("sh", "python") for block in blocks_of(page)) >= at_least


def test_what_is_not_run_is_there() -> None:
    """Make targets that pages name exist, so that a line which is not run is not wrong either."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for page in PAGES:
        named = set(re.findall(r"(?:`|^)make ([a-z-]+)", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE))
        assert named <= targets, f"{page} names {sorted(named - targets)}, which the Makefile does not have"


@pytest.mark.parametrize("page", PAGES)
def test_links_and_named_files_are_there(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!https?:)([^)#\s]+)", text)
    files = re.findall(r"`((?:src|tests|benchmarks|docs)/[\w./-]+)`", text)
    gone = [link for link in links if not ((ROOT / page).parent / link).exists()]
    gone += [file for file in files if not (ROOT / file).exists()]
    assert not gone


def test_a_page_that_tells_something_untrue_is_found(tmp_path: Path) -> None:
    """The player itself can fail: at a wrong line, at a wrong status, at code that does not run."""
    assert missing_lines("as shown\n┃ a ┃ b ┃\n12 rows\nand so on …\n", "┃ a   ┃   b ┃\nas\n  shown") == []
    assert missing_lines("not printed\n", "printed") == ["not printed"]
    for page in (
        "```sh\necho this\n```\n\n```text\nthat\n```\n",
        "```sh\nunderstudy query nowhere age\n```\n",
        "```sh exit=2\ntrue\n```\n",
        "```python\nassert False\n```\n",
    ):
        with pytest.raises(AssertionError):
            Player(tmp_path).play(list(read_blocks(page)))


def test_the_house_plan_names_every_room() -> None:
    """In the order in which rooms may use each other, which is the order of the package's own test."""
    table = re.findall(r"^\| ((?:`[\w./]+`(?:, )?)+) \|", (ROOT / "docs/architecture.md").read_text("utf-8"), re.MULTILINE)
    named = [name.removesuffix("/").removesuffix(".py") for cell in table for name in re.findall(r"`([\w./]+)`", cell)]
    assert named == ROOMS
