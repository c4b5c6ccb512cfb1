"""What a run on 10 billion rows of 200 columns would cost, computed from figures that were measured: no such table was run.

    python benchmarks/next_wall.py      writes the section of docs/scaling.md anew, from the stored figures

Each number below is a measured figure times how often that work is done, or follows from a constant of the code.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from math import comb
from pathlib import Path
from typing import Any

from understudy.domain import Domain
from understudy.mechanism import AimConfig
from understudy.mechanism.aim import wide_share
from understudy.mechanism.forecast import Forecast
from understudy.mechanism.pool import OTHERS, PAIRS
from understudy.mechanism.schedule import first_budget
from understudy.privacy import Budget, Unit, sigma_for
from understudy.privacy.door import HELD_BYTES
from understudy.release.parts import MOST_ROWS, MOST_VALUES
from understudy.source.spark import PASS_CELLS
from understudy.workload import Workload

RESULTS = Path(__file__).parent / "results"
PAGE = Path(__file__).parent.parent / "docs" / "scaling.md"
HEAD = "## Ten billion rows of 200 columns, computed"
ROWS, COLUMNS, VALUES = 10**10, 200, 10
PARTITION = 128 * 2**20
"""Bytes of a partition of Parquet files, as Spark reads them by default."""
CORES = 1_000


@dataclass(frozen=True)
class Walls:
    """Figures of such a run."""

    rounds: float
    marginals: float
    counting: float
    """Core seconds."""
    passes: float
    codes: float
    """Bytes of the rows as codes, which Spark keeps between passes."""
    shuffled: float
    """Bytes that a full pass sends to be added up, at most."""
    driver: float
    """Bytes of counts that the driver holds."""
    modelling: float
    """Seconds on the driver, which nothing else can share yet."""
    drawing: float
    files: int


def walls(spark: dict[str, Any], scaling: dict[str, Any]) -> Walls:
    """Compute them."""
    domain = Domain.of({f"c{i:03}": VALUES for i in range(COLUMNS)})
    config, workload = AimConfig(), Workload.all_kway(domain, 3)
    most = config.rounds_for(COLUMNS)
    noise = sigma_for(first_budget(Budget.of(epsilon=1, delta=1e-9).rho, most, config.share).measure, Unit.ADD_REMOVE)
    affordable = float((1 - wide_share(COLUMNS, config)) * most)
    rounds = Forecast.of(workload, ROWS, noise, affordable, config.max_size).rounds
    longest = max(spark["runs"], key=lambda run: run["rows"])
    each = longest["cpu_s"] / longest["rows"] / longest["marginals"]
    pairs, triples = min(comb(COLUMNS, 2), rounds * PAIRS), rounds * OTHERS  # some of them in turn, each round
    marginals = COLUMNS + pairs + triples
    cells = COLUMNS * VALUES + pairs * VALUES**2 + triples * VALUES**3
    wide = next(p for p in scaling["columns"] if p["columns"] >= COLUMNS)
    long = scaling["rows"][-1]
    codes = float(ROWS * COLUMNS)
    return Walls(
        rounds=rounds,
        marginals=marginals,
        counting=each * ROWS * marginals,
        passes=max(rounds, cells / PASS_CELLS),
        codes=codes,
        shuffled=8 * PASS_CELLS * codes / PARTITION,
        driver=2 * 8 * PASS_CELLS + HELD_BYTES,
        modelling=rounds * wide["round_seconds"] + wide["last_seconds"] + wide["making_seconds"],
        drawing=long["seconds"] / long["rows"] / 15 * ROWS * COLUMNS,
        files=-(-ROWS // min(MOST_ROWS, MOST_VALUES // COLUMNS)),
    )


def section(spark: dict[str, Any], scaling: dict[str, Any]) -> str:
    """Write the section of the page."""
    w = walls(spark, scaling)
    longest = max(spark["runs"], key=lambda run: run["rows"])
    wide = next(p for p in scaling["columns"] if p["columns"] >= COLUMNS)
    out, block = scaling["rows"][-1], 8 * PASS_CELLS >> 20
    return f"""{HEAD}

Nobody ran this. Each figure is a measured one times how often that work is done, or follows from a constant of the code;
`benchmarks/next_wall.py` computes them. All triples, ε = 1, {VALUES} values a column, {CORES:,} cores where executors work.

| what | from what was measured | computed |
|---|---|---:|
| rounds | the forecast of `plan` | {w.rounds:,.0f} |
| marginals that are counted | all columns and pairs, and triples in turn, {OTHERS:,} a round | {w.marginals:,.0f} |
| counting | {longest["cpu_s"]:,.0f} CPU s for {longest["marginals"]} marginals of {longest["rows"]:,} rows | \
{w.counting / 3600:,.0f} core hours, {w.counting / 3600 / CORES:,.1f} h on {CORES:,} cores |
| rows as codes, kept between passes | a byte a value | {w.codes / 1e12:,.1f} TB in memory and on disk of the executors |
| counts that a full pass sends | {block} MB a partition of {PARTITION >> 20} MB of codes, where no cell is empty | \
{w.shuffled / 1e12:,.1f} TB through the shuffle |
| counts that the driver holds | {block} MB a pass, twice while they are added, and {HELD_BYTES >> 20} MB of earlier ones | \
{w.driver / 2**20:,.0f} MB |
| rounds on the driver | {wide["round_seconds"]:,.1f} s a round at {wide["columns"]} columns | {w.modelling / 60:,.0f} min |
| as many rows out | {out["seconds"]:,.1f} s for {out["rows"]:,} rows of 15 columns, before they are \
written | {w.drawing / 3600:,.0f} core hours, {w.files:,} files |

**Where the next wall stands.** Not in the driver's memory, which is the same however many rows and marginals there are, nor
in the model. It is counting: {w.passes:,.0f} passes over {w.codes / 1e12:,.0f} TB of codes, one a round, each as long as
all executors need to read what they keep. Then the shuffle: each partition sends its own counts, so a pass with full blocks
sends as many copies of them as there are partitions; adding up on each executor first would divide that by the partitions of
an executor. The network to the driver carries {block} MB a pass and is no limit.
"""


def main() -> None:
    spark, scaling = (json.loads((RESULTS / f"{name}.json").read_text()) for name in ("spark", "scaling"))
    before = PAGE.read_text(encoding="utf-8").partition(HEAD)[0].rstrip("\n")
    PAGE.write_text(f"{before}\n\n{section(spark, scaling)}", encoding="utf-8")


if __name__ == "__main__":
    main()
