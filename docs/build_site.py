"""Makes the documentation site: ``make docs`` runs this file, which writes to build/site; a warning is an error.

Pages are written to be read in the repository. Here they are copied to build/pages, with those that live outside docs/, with
the notebooks as pages, and with links to files that are no page as plain text; Sphinx makes the site of that. Public: it
sees only pages.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path
from posixpath import join, normpath, relpath
from typing import Any

ROOT = Path(__file__).parents[1]
DOCS, STAGED, SITE = ROOT / "docs", ROOT / "build" / "pages", ROOT / "build" / "site"
PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
}
"""Files at the root of the repository that are pages of the site, with their names there."""
CONTENTS = {
    "Start": ["tutorial", "notebooks/first-release", "notebooks/trust"],
    "How to": ["howto/data-owner", "howto/data-scientist", "howto/researcher", "howto/data-engineer"],
    "Reference": ["api", "schema", "workloads", "numbers", "ledger", "stability", "changelog"],
    "Privacy": ["privacy", "threat-model", "auditors", "security", "bounds", "intervals", "evaluation"],
    "Mechanisms": ["mechanisms", "aim2"],
    "Results": ["accuracy", "results", "scaling", "large", "gpu"],
    "Contributing": ["contributing", "architecture"],
}
"""The parts of the site, and their pages in order."""
FENCE = re.compile(r"^```(\w+) [^\n]*$", re.MULTILINE)
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|#)([^)#\s]+)(#[^)\s]*)?\)")


def site_pages() -> dict[str, str]:
    """Return the text of every page of the site, by its name there."""
    sources = {path.relative_to(ROOT).as_posix(): path for path in sorted(DOCS.rglob("*.md"))}
    pages = {name.removeprefix("docs/"): (name, path.read_text(encoding="utf-8")) for name, path in sources.items()}
    pages |= {target: (name, (ROOT / name).read_text(encoding="utf-8")) for name, target in PAGES.items()}
    for path in sorted(DOCS.glob("notebooks/*.ipynb")):
        text = notebook_page(json.loads(path.read_text(encoding="utf-8")), path.name)
        pages[f"notebooks/{path.stem}.md"] = (f"docs/notebooks/{path.name}", text)
    made = {target: relinked(plain_fences(text), source, target) for target, (source, text) in pages.items()}
    return made | {"index.md": made["index.md"] + contents()}


def plain_fences(text: str) -> str:
    """Drop the words after the language of a fenced block: they are for the tests that run it."""
    return FENCE.sub(r"```\1", text)


def relinked(text: str, source: str, target: str) -> str:
    """Return ``text``, written for the repository at ``source``, with its links as they are on the site at ``target``."""

    def link(found: re.Match[str]) -> str:
        bang, words, where, anchor = found[1], found[2], found[3], found[4] or ""
        file = normpath(join(source.rpartition("/")[0], where))
        page = PAGES.get(file) or (file.removeprefix("docs/") if file.startswith("docs/") else None)
        if page is None:
            return words if file.rpartition("/")[2] in words else f"{words} (`{file}`)"
        page = page.replace(".ipynb", ".md")
        return f"{bang}[{words}]({relpath(page, target.rpartition('/')[0] or '.')}{anchor})"

    return LINK.sub(link, text)


def notebook_page(notebook: dict[str, Any], name: str) -> str:
    """Return a notebook as Markdown: its text, its code, and what the code printed when it was last run."""
    parts = []
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] != "code":
            parts.append(text)
            continue
        parts.append(f"```python\n{text}\n```")
        if shown := "".join("".join(output["text"]) for output in cell["outputs"]):
            parts.append(f"```text\n{shown.rstrip()}\n```")
    title, _, rest = parts[0].partition("\n")
    note = f"*This page is the notebook `docs/notebooks/{name}` of the repository. The tests run it.*"
    return "\n\n".join([title, note, rest, *parts[1:]]) + "\n"


def contents() -> str:
    """Return the table of contents, as Sphinx wants it at the end of the first page."""
    parts = [
        "\n".join(["", "```{toctree}", ":hidden:", f":caption: {part}", "", *pages, "```", ""])
        for part, pages in CONTENTS.items()
    ]
    return "\n".join(parts)


def main() -> int:
    """Copy the pages, and let Sphinx make the site of them."""
    from sphinx.cmd.build import build_main

    shutil.rmtree(STAGED, ignore_errors=True)
    for name, text in site_pages().items():
        path = STAGED / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for path in [*DOCS.rglob("*.svg"), *DOCS.rglob("*.png"), DOCS / "conf.py"]:
        target = STAGED / path.relative_to(DOCS)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    return build_main(["-W", "--keep-going", "-q", "-E", "-b", "html", str(STAGED), str(SITE)])


if __name__ == "__main__":
    sys.exit(main())
