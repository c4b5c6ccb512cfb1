"""Structure that is declared: the error with derived columns and orders, beside listed zeros and nothing.

Not private: compares with the tables themselves. ``python benchmarks/structure.py [adult] [stays] [rows]``
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv

from reference_sets import DATASETS
from understudy import draft_schema, synthesize
from understudy.domain import Clique
from understudy.metrics import workload_error
from understudy.schema import Schema, parse_schema
from understudy.source import MemorySource
from understudy.workload import Workload

SEEDS = (0, 1)
DAYS = (np.datetime64("2022-01-01"), np.datetime64("2023-12-31"))


def error(real: pa.Table, made: pa.Table, schema: Schema, ways: int) -> float:
    """Return the mean error of all marginals of ``ways`` columns, on the bins of ``schema``."""
    workload = Workload.all_kway(schema.domain, ways)
    cliques: list[Clique] = [*workload.cliques]
    counts = [MemorySource.of_codes(schema.encode(table), schema.domain).count(cliques) for table in (real, made)]
    return workload_error(workload, *counts)


def adult() -> tuple[pa.Table, Schema, dict[str, Schema]]:
    """Return adult with its schema as drafted, and with what education tells of education-num declared in several ways."""
    table = pyarrow.csv.read_csv(DATASETS / "raw" / "adult.csv")
    plain = parse_schema(draft_schema(table))
    declared: dict[str, Any] = json.loads(plain.declaration.model_dump_json(exclude_defaults=True))
    declared["table"].pop("draft")
    pairs = dict(zip(table["education"].to_pylist(), table["education-num"].to_pylist(), strict=True))
    numbers = sorted(set(pairs.values()))
    impossible = [[name, n] for name, own in pairs.items() for n in numbers if n != own]
    zeros = [{"columns": ["education", "education-num"], "values": impossible}]
    derived = {"kind": "derived", "of": "education", "lookup": pairs}
    columns = {**declared["columns"], "education-num": derived}
    variants = {"none": declared, "zeros": {**declared, "zeros": zeros}, "derived": {**declared, "columns": columns}}
    return table, plain, {name: parse_schema(json.dumps(one), form="json") for name, one in variants.items()}


STAYS = """
[columns.admitted]
kind = "date"
min = 2022-01-01
max = 2023-12-31
width = "1 month"
other = 2022-01-01
[columns.discharged]
kind = "date"
min = 2022-01-01
max = 2023-12-31
width = "1 month"
other = 2023-12-31
[columns.ward]
kind = "categorical"
values = ["A", "B", "C", "D"]
other = "A"
"""
LENGTH = """
[columns.days]
kind = "integer"
edges = [-800, 0, 1, 2, 3, 5, 8, 13, 21, 34, 800]
other = 0
"""


def stays(rows: int = 20_000) -> tuple[pa.Table, Schema, dict[str, Schema]]:
    """Return a made-up table of stays in hospital, of which the length is looked at too."""
    rng = np.random.default_rng(0)
    span = int((DAYS[1] - DAYS[0]) / np.timedelta64(1, "D"))
    start = rng.integers(0, span - 60, rows)
    ward = rng.integers(0, 4, rows)
    days = np.minimum(rng.geometric(1 / (3 + 4 * ward)), 59)
    moments = {"admitted": DAYS[0] + start, "discharged": DAYS[0] + start + days}
    table = pa.table({**moments, "ward": pa.array(["A", "B", "C", "D"]).take(pa.array(ward)), "days": days})
    bare = parse_schema(STAYS)
    months = bare["admitted"].labels
    impossible = [[i, j] for i in range(len(months)) for j in range(i)]
    listed = "".join(
        f"[[zeros]]\nnever = 'admitted >= {months[i].split()[0]} and discharged < {months[i].split()[0]}'\n"
        for i in range(1, len(months))
    )
    assert impossible
    variants = {"none": STAYS, "zeros": STAYS + listed, "order": STAYS + '[[zeros]]\nalways = "admitted <= discharged"\n'}
    return table, parse_schema(STAYS + LENGTH), {name: parse_schema(text) for name, text in variants.items()}


def compare(name: str, ways: int) -> None:
    """Print the errors of one table."""
    table, judge, variants = adult() if name == "adult" else stays()
    for variant, schema in variants.items():
        for seed in SEEDS:
            began, cpu = time.perf_counter(), time.process_time()
            made = synthesize(table, schema, epsilon=1, workload=f"all-{ways}way", seed=seed, progress=False).table
            broken = None
            if name == "stays":
                days = (made["discharged"].to_numpy() - made["admitted"].to_numpy()) / np.timedelta64(1, "D")
                broken, made = int((days < 0).sum()), made.append_column("days", pa.array(days.astype(np.int64)))
            else:
                pairs = set(zip(table["education"].to_pylist(), table["education-num"].to_pylist(), strict=True))
                found = zip(made["education"].to_pylist(), made["education-num"].to_pylist(), strict=True)
                broken = sum(pair not in pairs for pair in found)
            took = f"{time.perf_counter() - began:.0f} s, {time.process_time() - cpu:.0f} s of CPU"
            print(
                f"{name} {variant} seed {seed}: error {error(table, made, judge, ways):.4f}, broken {broken}, {took}",
                flush=True,
            )


def million() -> None:
    """Print how many of a million rows break an order or a lookup."""
    table, _, variants = stays()
    release = synthesize(table, variants["order"], epsilon=1, workload="all-2way", seed=0, progress=False)
    made = release.sample(1_000_000, rng=np.random.default_rng(0))
    print(
        "order: broken rows of a million",
        int((made["discharged"].to_numpy() < made["admitted"].to_numpy()).sum()),
        flush=True,
    )
    table, _, variants = adult()
    release = synthesize(table, variants["derived"], epsilon=1, workload="all-2way", mechanism="independent", seed=0)
    made = release.sample(1_000_000, rng=np.random.default_rng(0)).group_by(["education", "education-num"]).aggregate([])
    known = set(zip(table["education"].to_pylist(), table["education-num"].to_pylist(), strict=True))
    found = zip(made["education"].to_pylist(), made["education-num"].to_pylist(), strict=True)
    print("derived: broken kinds of rows of a million", sum(pair not in known for pair in found), flush=True)


if __name__ == "__main__":
    wanted = sys.argv[1:] or ["stays", "adult", "rows"]
    for one in wanted:
        million() if one == "rows" else compare(one, 2)
