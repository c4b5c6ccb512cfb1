"""Writes docs/results.md and the figures in docs/figures from the files in benchmarks/results: ``make results``."""

from __future__ import annotations

import argparse
import sys

from grid import figure_data
from grid.page import page
from grid.results import Evidence
from reference_sets import ROOT

RESULTS = ROOT / "benchmarks" / "results"
PAGE = ROOT / "docs" / "results.md"
FIGURES = ROOT / "docs" / "figures"


def written(evidence: Evidence) -> str:
    return page(evidence)


def redraw(evidence: Evidence) -> None:
    """Draw what has data, and remove what has none any more; a figure whose data are the same is left alone."""
    from grid.figures import digest_of, draw

    wanted = figure_data.available(evidence.ours)
    for path in FIGURES.glob("*.svg"):
        if path.stem not in wanted:
            path.unlink()
    for name, figure in wanted.items():
        path = FIGURES / f"{name}.svg"
        if not path.exists() or digest_of(path) != figure.digest:
            draw(figure, path)
            print(f"drew {path.name}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--no-figures", action="store_true", help="write the page alone")
    arguments = parser.parse_args()
    evidence = Evidence.load(RESULTS)
    if not arguments.no_figures:
        redraw(evidence)
    PAGE.write_text(written(evidence), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
