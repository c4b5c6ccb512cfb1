"""All prefixes of every numeric column by every categorical one: a mechanism asked for them, beside AIM asked for the cells.

    python benchmarks/numeric.py adult.csv [made-up] [grouped] [--seeds 3] [--first 0] [--epsilon 1] [--mechanism aim2]

A path of a CSV file is drafted and taken as reviewed. "made-up" is the table of inside.py, with one categorical column;
"grouped" has four numeric and four categorical ones, 50,000 rows. The error is that of the model (docs/workloads.md),
the mean over the seeds. NOT private: it looks at the real table, and seeds.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

from inside import _codes, schema_of, table_of
from understudy.domain import Domain
from understudy.mechanism.registry import mechanism
from understudy.metrics import workload_error
from understudy.privacy import Budget, Door, ResearchNoise
from understudy.source import MemorySource
from understudy.workload import Workload


def grouped(rows: int = 50_000) -> tuple[MemorySource, list[str]]:
    """Return a table whose numbers depend on its groups, as codes, and the names of its numeric columns."""
    rng = np.random.default_rng(77)
    region = rng.choice(12, rows, p=np.array([30, 20, 12, 9, 8, 6, 5, 4, 2, 2, 1, 1]) / 100)
    sex, job = rng.integers(0, 2, rows), rng.choice(8, rows, p=np.array([25, 20, 15, 12, 10, 8, 6, 4]) / 100)
    age = np.clip(rng.normal(16 - 2 * (job > 4) + 0.2 * region, 7, rows), 0, 31)
    pay = np.clip(np.exp(rng.normal(1.6 + 0.12 * job + 0.02 * age - 0.15 * sex, 0.5, rows)), 0, 39)
    hours = np.clip(np.where(rng.random(rows) < 0.4, 16, rng.normal(15 - 3 * sex + job * 0.5, 4, rows)), 0, 23)
    way = np.clip(rng.exponential(4 + 0.6 * region), 0, 19)
    school = np.clip(pay / 5 + rng.normal(2, 1.5, rows), 0, 6)
    domain = Domain.of({"region": 12, "sex": 2, "job": 8, "age": 32, "pay": 40, "hours": 24, "way": 20, "school": 7})
    codes = np.stack([region, sex, job, age, pay, hours, way, school], axis=1).astype(np.int64)
    return MemorySource.of_codes(codes, domain), ["age", "pay", "hours", "way"]


def source_of(name: str) -> tuple[MemorySource, list[str]]:
    """Return a table as codes, and the names of its numeric columns."""
    if name == "grouped":
        return grouped()
    table = table_of(name)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        table.to_csv(path, index=False)
        schema = schema_of(path)
    numeric = [c.name for c in schema.columns if c.kind in ("integer", "real")]
    return MemorySource.of_codes(_codes(table, schema), schema.domain), numeric


def main() -> None:
    """Print a line for each table and each way of asking."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="+")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--mechanism", default="aim")
    args = parser.parse_args()
    for name in args.tables:
        source, numeric = source_of(name)
        domain = source.domain
        pairs = [(n, c) for n in numeric for c in domain if c not in numeric]
        asked = Workload.of(domain, [{"attributes": pair, "prefixes": pair[0]} for pair in pairs])
        real, means = source.count(asked.cliques), {}
        for way, by, workload in (("cells", "aim", Workload.of(domain, pairs)), ("prefixes", args.mechanism, asked)):
            errors, began = [], time.process_time()
            for seed in range(args.first, args.first + args.seeds):
                door = Door(source, Budget.of(epsilon=args.epsilon, delta=1e-9), noise=ResearchNoise(seed))
                model = mechanism(by).run(door, workload).model
                assert model is not None
                errors.append(workload_error(asked, real, model.marginals(asked.cliques)))
            means[way] = float(np.mean(errors))
            seconds = (time.process_time() - began) / args.seeds
            spread = float(np.std(errors)) / args.seeds**0.5
            print(
                f"{Path(name).name}, asked for {way} ({by}): {means[way]:.5f} ± {spread:.5f}, {seconds:.1f} CPU s a run",
                flush=True,
            )
        print(f"{Path(name).name}: ratio {means['prefixes'] / means['cells']:.3f}", flush=True)


if __name__ == "__main__":
    main()
