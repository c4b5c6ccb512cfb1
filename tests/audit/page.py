"""``docs/auditors.md``, written from the marks of the tests and from the kept mutants."""

from __future__ import annotations

from .marks import ROOT, Held, held
from .mutant import Mutant
from .mutants import mutants
from .promises import NOT_MADE, PROMISES

PAGE = ROOT / "docs" / "auditors.md"

HEAD = """# For auditors: each promise, and the tests that hold it

This page is written by `python -m audit page` (with `PYTHONPATH=tests`) from the marks of the tests; do not edit it. A test
fails when it is out of date.

```text
make audit
```

runs all of these tests and every mutant below, on two cores in at most 15 minutes, and prints a verdict for each promise.
Tests marked † run in the audit alone; the others run with `make test` too. What is promised, to whom, and what is not, is in
[the threat model](threat-model.md); how the door works is in [privacy](privacy.md).

## Promises
"""

MIDDLE = """
## Mutants

Each is a change to the code that breaks a promise, kept on purpose. `python -m audit mutants` makes each change in a
process of its own, runs the tests beside it, and fails unless one of them fails.

| mutant | breaks | the change | caught by |
|---|---|---|---|
"""


def text() -> str:
    """Return the page."""
    lines = [HEAD]
    found = held()
    for number, words in PROMISES.items():
        lines.append(f"**{number}. {words}**\n")
        tests = [test for test in found if number in test.promises]
        if number == 21:
            lines.append(f"- the {len(mutants())} mutants below, with `python -m audit mutants`")
        lines += [f"- {_link(test)}" for test in tests]
        if not tests and number in NOT_MADE:
            lines.append(f"- {NOT_MADE[number]}")
        lines.append("")
    return "\n".join(lines) + MIDDLE + "\n".join(_row(mutant) for mutant in mutants()) + "\n"


def _link(test: Held) -> str:
    words = test.name.removeprefix("test_").replace("_", " ")
    return f"[{words}](../{test.file}){' †' if test.audit else ''}"


def _row(mutant: Mutant) -> str:
    caught = "<br>".join(f"`{test.partition('::')[2]}`" for test in mutant.caught_by)
    return f"| {mutant.name} | {', '.join(map(str, mutant.breaks))} | {mutant.what} | {caught} |"


def write() -> None:
    """Write the page."""
    PAGE.write_text(text(), encoding="utf-8")


def stale() -> bool:
    """Say whether the page is out of date."""
    return not PAGE.is_file() or PAGE.read_text(encoding="utf-8") != text()
