"""Schemas learnt under a budget: the error of a release with one, beside that with a schema made by hand.

Not private: compares with the tables themselves. ``python benchmarks/learnt.py TABLE.csv HAND.toml [share of epsilon ...]``
"""

from __future__ import annotations

import sys
import time
from fractions import Fraction

import pyarrow.csv

from structure import error
from understudy import load_schema, synthesize
from understudy.learning import learn_schema
from understudy.privacy import Budget

WAYS = 2
SEEDS = (0, 1)


def main(path: str, hand: str, shares: list[float]) -> None:
    """Print the errors, on the bins of the schema made by hand; epsilon is 1 in all."""
    judge, table = load_schema(hand), pyarrow.csv.read_csv(path)
    for share in [0.0, *shares]:
        for seed in SEEDS:
            began = time.process_time()
            learnt = learn_schema(path, epsilon=share, seed=seed) if share else None
            cost = None if learnt is None else learnt.table.learnt
            rho, texts = (0.0, 0.0) if cost is None else (cost.rho or 0.0, cost.texts)
            left = Budget.of(epsilon=1, delta=1e-9 - texts).rho - Fraction(rho)
            schema = judge if learnt is None else learnt
            made = synthesize(path, schema, rho=left, workload=f"all-{WAYS}way", seed=seed, progress=False).table
            for name in judge.domain:
                if name not in made.column_names:
                    made = made.append_column(name, pyarrow.nulls(len(made), judge[name].type))
            words = "by hand" if learnt is None else f"learnt at {share:g}"
            print(f"{words}, seed {seed}: error {error(table, made, judge, WAYS):.4f}, ", end="")
            print(f"{time.process_time() - began:.0f} s of CPU", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], [float(share) for share in sys.argv[3:]] or [0.1, 0.3])
