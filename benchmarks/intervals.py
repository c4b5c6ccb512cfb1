"""How often bootstrap intervals hold, and how wide they are beside the proved bounds. NOT private: looks at the tables.

    python benchmarks/intervals.py titanic people adult salary adult.csv --seeds 11 12 13

A table of codes is read as whole numbers, "people" is the bundled table, and the path of a CSV file is drafted and taken as
reviewed. Each seed is one run; the release is saved and loaded, and answers come from its folder alone. Cells: all of every
column, and of up to 25 pairs and 25 triples. Figures: means, totals, shares and quantiles of numeric columns, of all rows
and by up to 3 other columns, where the model expects 20 rows or more. With ``--keep``, a line of JSON for each run is
appended to ``results/intervals.jsonl``.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from numpy.typing import NDArray

import understudy
from inside import schema_of
from reference_sets import DATASETS
from understudy import BootstrapIntervals, Release, example
from understudy.domain import Clique
from understudy.schema import Schema, parse_schema
from understudy.source import MemorySource

ORDERED = {
    "titanic": ["Age", "SibSp", "Parch", "Fare"],
    "adult": ["age", "fnlwgt", "education-num", "capital-gain", "hours-per-week"],
    "salary": ["annual-salary", "regular-earnings", "overtime-earning", "other-earnings", "ytd-gross"],
}
"""Columns of codes that stand for amounts."""
MOST, GROUPS, LEAST, LARGEST = 25, 3, 20, 1 << 14
FEW_CODES = 16
CLEAR = 5.0
"""Expected rows from which on a cell is worth an interval: most others are empty, and hold anyway."""
OUT = Path(__file__).parent / "results" / "intervals.jsonl"

Bools = NDArray[np.bool_]


def table_of(name: str) -> tuple[pa.Table, Schema]:
    """Return a table by its name, or by the path of its file."""
    if name == "people":
        return example.people(), example.schema()
    if name.endswith(".csv"):
        return pyarrow.csv.read_csv(name), schema_of(Path(name))
    sizes = json.loads((DATASETS / f"{name}-domain.json").read_text())
    text = "\n".join(f'[columns."{a}"]\nkind="integer"\nmin=0\nmax={k - 1}\nbins={k}\nother=0' for a, k in sizes.items())
    return pq.read_table(DATASETS / f"{name}.parquet").select(list(sizes)), parse_schema(text)


class Tally:
    """How many intervals held, and how wide they were, by kind of answer."""

    def __init__(self) -> None:
        self._held: dict[str, list[Bools]] = {}
        self._ratio: dict[tuple[str, str], list[NDArray[np.float64]]] = {}

    def add(self, kind: str, held: Any, **ratios: Any) -> None:
        """Count some intervals; ``ratios`` are their widths over those of what is proved."""
        self._held.setdefault(kind, []).append(np.ravel(held))
        for name, ratio in ratios.items():
            self._ratio.setdefault((kind, name), []).append(np.ravel(ratio))

    def told(self) -> dict[str, dict[str, float]]:
        """Return the number and the coverage of each kind, and the median ratios where there are any."""
        found: dict[str, dict[str, float]] = {}
        for kind, held in sorted(self._held.items()):
            all_ = np.concatenate(held)
            found[kind] = {"intervals": int(all_.size), "held": int(all_.sum())}
            for (of, name), ratios in self._ratio.items():
                if of == kind:
                    found[kind][name] = round(float(np.median(np.concatenate(ratios))), 5)
        return found


def cells(release: Release, source: MemorySource, tally: Tally, rng: np.random.Generator) -> None:
    """Try the intervals of cells, and those of summed errors."""
    chosen = [r for size in (1, 2, 3) for r in _some(release, size, rng)]
    supported = [frozenset(m.clique) for m in release.measurements]
    for clique, truth in zip(chosen, source.count(chosen), strict=True):
        found = release.bootstrap_intervals(*clique)
        held = (found.lower <= truth) & (truth <= found.upper)
        kind = f"cells {len(clique)} {'measured' if any(set(clique) <= m for m in supported) else 'inferred'}"
        large = found.estimate >= CLEAR
        bound, ratios = release.marginal(*clique).bound, {}
        if bound is not None:
            off = np.abs(truth - found.estimate).sum()
            tally.add("summed", [off <= found.summed], bound=[found.summed / bound.value])
            ratios = _ratios(release, clique, found, bound.value)
        tally.add("cells", held, **ratios)
        tally.add("cells of 5 or more", held[large], **{name: ratio[large] for name, ratio in ratios.items()})
        tally.add(kind, held[large])


def _ratios(release: Release, clique: Clique, found: BootstrapIntervals, bound: float) -> dict[str, NDArray[np.float64]]:
    """Return the width of each cell's interval over that of its count ± the bound, and over that of its proved interval."""
    width = found.upper - found.lower + 1
    most = found.estimate + bound - np.maximum(found.estimate - bound, 0) + 1
    try:
        proved = release.intervals(*clique)
    except understudy.errors.UserError:
        return {"bound": np.asarray(width / most)}
    return {"bound": np.asarray(width / most), "proved": np.asarray(width / (proved.upper - proved.lower + 1))}


def _some(release: Release, size: int, rng: np.random.Generator) -> list[Clique]:
    every = [r for r in combinations(release.domain.attributes, size) if release.domain.cells(r) <= LARGEST]
    return [every[i] for i in sorted(rng.permutation(len(every))[: len(every) if size == 1 else MOST])]


def figures(release: Release, queries: Iterable[tuple[str, dict[tuple[str, ...], float]]], tally: Tally) -> None:
    """Try the intervals of figures."""
    for query, truth in queries:
        found = release.answer(query, least=LEAST)
        labels = found.groups
        ends = zip(labels, found.lower.to_pylist(), found.upper.to_pylist(), strict=True)
        held = [low <= truth[label] <= high for label, low, high in ends if label in truth and low is not None]
        kind = query.split("(")[0]
        tally.add("quantile" if kind == "median" else kind, held)


def _queries(
    release: Release, frame: pd.DataFrame, codes: Any, name: str, rng: np.random.Generator
) -> Iterator[tuple[str, dict[tuple[str, ...], float]]]:
    """Yield queries with the true figure of each group, by its labels."""
    schema = release.schema
    numeric = ORDERED.get(name) or [c.name for c in schema.columns if c.kind in ("integer", "real")]
    few = [a for a in schema.domain.attributes if schema.domain[a] <= FEW_CODES]
    for column in numeric:
        values = pd.to_numeric(frame[column], errors="coerce")
        others = [a for a in few if a != column]
        by: list[str | None] = [None, *(others[i] for i in rng.permutation(len(others))[:GROUPS])]
        for group in by:
            code = np.zeros(len(frame), int) if group is None else codes[:, schema.domain.index(group)]
            labels = ("",) if group is None else schema[group].labels
            end = "" if group is None else f' by "{group}"'
            parts = {labels[k]: part.dropna().to_numpy() for k, part in values.groupby(code) if part.notna().any()}
            keyed = {(() if group is None else (label,)): part for label, part in parts.items()}
            yield f'mean("{column}"){end}', {k: float(p.mean()) for k, p in keyed.items()}
            yield f'total("{column}"){end}', {k: float(p.sum()) for k, p in keyed.items()}
            for at in (0.1, 0.5, 0.9):
                truth = {k: float(np.quantile(p, at, method="inverted_cdf")) for k, p in keyed.items()}
                yield f'quantile("{column}", {at}){end}', truth
    for a, b in combinations(few[:6], 2):
        counts = pd.crosstab(codes[:, schema.domain.index(a)], codes[:, schema.domain.index(b)])
        label = schema[b].labels[counts.columns[0]]
        shares = counts.iloc[:, 0] / counts.sum(axis=1)
        yield f'share("{b}" = "{label}") by "{a}"', {(schema[a].labels[k],): float(v) for k, v in shares.items()}


def one(name: str, seed: int, epsilon: float, workload: str, mechanism: str) -> dict[str, Any]:
    """Run once, and try what the saved release says."""
    table, schema = table_of(name)
    tally, rng = Tally(), np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as folder:
        settings = {"epsilon": epsilon, "workload": workload, "mechanism": mechanism, "seed": seed}
        made = understudy.synthesize(table, schema, **settings, progress=False)
        release = understudy.load(made.save(Path(folder) / "release", report=False))
    began = time.process_time()
    len(release.bootstrap.refits)
    seconds = time.process_time() - began
    codes = schema.encode(table)
    cells(release, MemorySource.of_codes(codes, schema.domain), tally, rng)
    figures(release, _queries(release, table.to_pandas(), codes, name, rng), tally)
    run = {"table": Path(name).name, "seed": seed, "epsilon": epsilon, "workload": workload, "rows": table.num_rows}
    run["mechanism"] = mechanism
    return {**run, "refits": len(release.bootstrap.refits), "seconds": round(seconds, 2), "kinds": tally.told()}


def show(run: dict[str, Any]) -> None:
    """Print one run."""
    print(f"{run['table']} seed {run['seed']} epsilon {run['epsilon']}: {run['refits']} refits in {run['seconds']} CPU s")
    for kind, found in run["kinds"].items():
        ratios = "".join(f"  {found[name]:.4f} of {name}" for name in ("bound", "proved") if name in found)
        print(f"    {kind:22}{found['intervals']:8,}  {100 * found['held'] / max(found['intervals'], 1):5.1f} %{ratios}")


KINDS = ("cells", "cells of 5 or more", "mean", "total", "quantile", "share", "summed")


def page(runs: Sequence[dict[str, Any]]) -> str:
    """Return the results as a table of docs/intervals.md: for each table how often intervals held, over all its runs."""
    lines = [
        "| table | runs | cells | of 5 or more | means | totals | quantiles | shares | summed errors |",
        f"|---{'|--:' * 8}|",
    ]
    for name in dict.fromkeys(run["table"] for run in runs):
        mine = [run["kinds"] for run in runs if run["table"] == name]
        sums = [[sum(kinds[kind][key] for kinds in mine) for key in ("held", "intervals")] for kind in KINDS]
        shares = " | ".join(f"{100 * held / number:.1f} %" for held, number in sums)
        lines.append(f"| {name} | {len(mine)} | {shares} |")
    return "\n".join(lines)


def widths(runs: Sequence[dict[str, Any]]) -> str:
    """Return the second table: how wide intervals are beside what is proved, the medians of the runs' medians."""
    lines = [
        "| table | cells | cells of 5 or more | these, beside proved intervals | summed errors |",
        "|---|--:|--:|--:|--:|",
    ]
    columns = [("cells", "bound"), ("cells of 5 or more", "bound"), ("cells of 5 or more", "proved"), ("summed", "bound")]
    for name in dict.fromkeys(run["table"] for run in runs):
        mine = [run["kinds"] for run in runs if run["table"] == name]
        shares = [float(np.median([kinds[kind][key] for kinds in mine])) for kind, key in columns]
        lines.append(f"| {name} | {' | '.join(f'{share:.2g}' for share in shares)} |")
    return "\n".join(lines)


def stored(mechanism: str = "aim") -> list[dict[str, Any]]:
    """Return the results that were kept of a mechanism."""
    runs = [json.loads(line) for line in OUT.read_text().splitlines()]
    return [run for run in runs if run.get("mechanism", "aim") == mechanism]


def main(given: Sequence[str] | None = None) -> None:
    """Run, print, and append to the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", help="None: print the tables of docs/intervals.md from the stored results.")
    parser.add_argument("--seeds", type=int, nargs="+", default=[11])
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--workload", default="all-2way")
    parser.add_argument("--mechanism", default="aim")
    parser.add_argument("--keep", action="store_true", help="Append to results/intervals.jsonl.")
    args = parser.parse_args(given)
    if not args.tables:
        print(page(stored(args.mechanism)), widths(stored(args.mechanism)), sep="\n\n")
    for name in args.tables:
        for seed in args.seeds:
            run = one(name, seed, args.epsilon, args.workload, args.mechanism)
            show(run)
            sys.stdout.flush()
            if args.keep:
                with OUT.open("a") as file:
                    file.write(json.dumps(run) + "\n")


if __name__ == "__main__":
    main()
