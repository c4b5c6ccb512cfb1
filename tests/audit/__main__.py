"""``python -m audit``: all of it. ``python -m audit mutants [NAME …]``: the mutants. ``python -m audit page``: the page."""

from __future__ import annotations

import sys

from . import page, running


def main(arguments: list[str]) -> int:
    """Run a part, or all; return the exit status."""
    match arguments:
        case []:
            return running.audit()
        case ["mutants", *names]:
            return running.mutants(names)
        case ["page"]:
            page.write()
            print(f"Wrote {page.PAGE.relative_to(page.ROOT)}.")
            return 0
        case _:
            print(__doc__)
            return 2


sys.exit(main(sys.argv[1:]))
