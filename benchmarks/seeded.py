"""Seeded runs by hash: is every result still the same, to the last digit? ``make bench-seeded``.

Runs every registered mechanism on titanic and adult with three ε, both units, with and without structural zeros. Each run
gives one line: the hash of its measurements, of its model's marginals and of its synthetic table. ``--store`` writes the
lines to benchmarks/results/seeded.jsonl; without it, they are compared with those of ``--compare FILE`` (that file unless
given). Exits with 1 when one differs, or is not in the file. ``--quick`` runs titanic alone, in some minutes; all of it
takes more than an hour.

The digits depend on the versions of NumPy and its BLAS and on the processor's vector instructions, which choose the kernels
of both. The first line of the file names them; where they are others, runs may differ although the code is the same.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_info

import understudy
from grid import provenance
from reference_sets import DATASETS, ROOT
from tables import PREDICTED, Table
from understudy.mechanism import MECHANISMS, mechanism
from understudy.privacy import Budget, Door, Measurement, ResearchNoise, Unit
from understudy.privacy.unit import UnitKind

STORED = ROOT / "benchmarks" / "results" / "seeded.jsonl"
TABLES = ("titanic", "adult")
EPSILONS = (0.1, 1.0, 10.0)
UNITS: tuple[UnitKind, ...] = ("add-remove", "replace")
DELTA = 1e-9
SEED = 2022
FORBIDDEN_PAIRS = 3
"""So many pairs of attributes have their empty combinations declared impossible, in the runs with zeros."""

WITHOUT_ZEROS = ("gaussian", "gem", "rap")
"""Mechanisms without a model, or with one that cannot keep combinations impossible."""

Line = dict[str, Any]


@dataclass(frozen=True)
class Setting:
    """One seeded run."""

    table: str
    mechanism: str
    epsilon: float
    unit: UnitKind
    zeros: bool

    @property
    def key(self) -> str:
        """The setting in words, which name its line."""
        zeros = "zeros" if self.zeros else "no-zeros"
        return f"{self.table} {self.mechanism} {self.epsilon:g} {self.unit} {zeros}"

    @property
    def workload(self) -> str | list[tuple[tuple[str, str], float]]:
        """All triples; where the model of them is too large, all pairs with the attribute to predict."""
        if self.mechanism not in ("gaussian+pgm", "hdmm+pgm", "residuals"):
            return "all-3way"
        target = PREDICTED[self.table]
        return [((a, target), 1.0) for a in loaded(self.table).domain if a != target]


def settings(names: Sequence[str] = TABLES) -> Iterator[Setting]:
    """All settings, the quick ones first. ``gaussian`` makes no model, which zeros could change."""
    for table in names:
        for epsilon in EPSILONS:
            for name in MECHANISMS:
                for unit in UNITS:
                    yield Setting(table, name, epsilon, unit, zeros=False)
                    if name not in WITHOUT_ZEROS:
                        yield Setting(table, name, epsilon, unit, zeros=True)


@cache
def loaded(name: str) -> Table:
    """Read a table once."""
    return Table.load(name)


def run(setting: Setting) -> Line:
    """Run it; return its line."""
    if setting.mechanism == "gaussian":
        return {"setting": setting.key, "measurements": of_measurements(answered(setting))}
    table = loaded(setting.table)
    schema = understudy.Schema.from_domain(dict(zip(table.domain.attributes, table.domain.sizes, strict=True)))
    if setting.zeros:
        schema = replace(schema, zeros=tuple(table.empty_pairs(FORBIDDEN_PAIRS)))
    release = understudy.synthesize(
        table.codes,
        schema,
        epsilon=setting.epsilon,
        delta=DELTA,
        workload=setting.workload,
        mechanism=setting.mechanism,
        unit=Unit(setting.unit),
        seed=SEED,
        progress=False,
    )
    return {
        "setting": setting.key,
        "rounds": len(release.rounds),
        "measurements": of_measurements(release.measurements),
        "model": of_arrays([np.float64(release.model.total), *release.model.marginals(release.workload.closure)]),
        "table": of_arrays([release.codes]),
    }


def answered(setting: Setting) -> tuple[Measurement, ...]:
    """The measurements of a mechanism that answers queries and makes no table."""
    table, how = loaded(setting.table), mechanism(setting.mechanism)
    workload, budget = table.workload("all-3way"), Budget.of(epsilon=setting.epsilon, delta=DELTA)
    noise, unit = ResearchNoise(SEED), Unit(setting.unit)
    door = Door(table.source, budget, unit=unit, noise=noise, expect=how.expects(workload))
    return how.run(door, workload).measurements


def of_measurements(measurements: Iterable[Measurement]) -> str:
    """Hash what was measured, in order: which marginals, with how much noise, and the answers."""
    found = []
    for one in measurements:
        words = f"{' '.join(one.clique)} {one.noise} {float(one.scale).hex()}"
        found += [np.frombuffer(words.encode(), np.uint8), one.values.astype(np.int64)]
    return of_arrays(found)


def of_arrays(arrays: Iterable[Any]) -> str:
    """Hash arrays: their types, shapes and every digit."""
    digest = hashlib.sha256()
    for array in map(np.ascontiguousarray, arrays):
        digest.update(f"{array.dtype.str} {array.shape} ".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def made_with() -> dict[str, Any]:
    """What the digits depend on beside the code, and the commit."""
    kernels = sorted({f"{one['internal_api']} {one['version']} {one['architecture']}" for one in threadpool_info()})
    vectors = np.show_config(mode="dicts")["SIMD Extensions"]
    return {
        "versions": provenance.versions(),
        "machine": provenance.machine(),
        "blas": kernels,
        "vectors": [*vectors["baseline"], *vectors["found"]],
    }


def numpy_of(made: dict[str, Any]) -> str:
    """The version of NumPy, and the vector instructions that its kernels use."""
    return f"{made['versions']['numpy']} with {' '.join(made['vectors'])}"


def differences(line: Line, before: Line | None) -> str:
    """Say what is other than before, in a few words; nothing where all is the same."""
    if before is None:
        return "is new"
    other = [key for key in sorted(line.keys() | before.keys()) if line.get(key) != before.get(key)]
    return f"differs in {', '.join(other)}" if other else ""


def read(file: Path) -> tuple[dict[str, Any], dict[str, Line]]:
    """Return what a file was made with, and its lines by setting."""
    first, *lines = (json.loads(line) for line in file.read_text().splitlines())
    return first, {line["setting"]: line for line in lines}


def compare(wanted: Sequence[Setting], file: Path) -> int:
    """Run ``wanted`` and list what differs from ``file``; 1 when something does."""
    first, before = read(file)
    now, count = made_with(), 0
    print(f"Compared with commit {first['versions']['commit']}.")
    for part, here, there in (("BLAS", now["blas"], first["blas"]), ("NumPy", numpy_of(now), numpy_of(first))):
        if here != there:
            print(f"{part} is {here} here, was {there} there: runs may differ although the code is the same.")
    for setting in wanted:
        word = differences(run(setting), before.get(setting.key))
        count += bool(word)
        print(f"{setting.key}: {word or 'the same'}", flush=True)
    print(f"{count} of {len(wanted)} runs differ." if count else f"All {len(wanted)} runs are the same to the last digit.")
    return 1 if count else 0


def store(wanted: Sequence[Setting], file: Path) -> int:
    """Run ``wanted`` and write their lines to ``file``."""
    with file.open("w") as lines:
        print(json.dumps(made_with()), file=lines)
        for setting in wanted:
            print(json.dumps(run(setting)), file=lines, flush=True)
            print(setting.key, flush=True)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="titanic alone, in some minutes")
    parser.add_argument("--only", default="", help='run only settings that begin so, such as "adult aim 1"')
    parser.add_argument("--store", type=Path, nargs="?", const=STORED, help="write the lines instead of comparing them")
    parser.add_argument("--compare", type=Path, default=STORED, help="the file to compare with")
    arguments = parser.parse_args()
    if not DATASETS.exists():
        print(f"skipped: {DATASETS} is not there")
        return 0
    wanted = [one for one in settings(TABLES[:1] if arguments.quick else TABLES) if one.key.startswith(arguments.only)]
    return store(wanted, arguments.store) if arguments.store else compare(wanted, arguments.compare)


if __name__ == "__main__":
    sys.exit(main())
