"""What got slower: the hot paths beside a stored baseline, as ratios. ``make bench-micro``; ``--store`` keeps a new one.

Every case runs several times in turn with the others, each time right after a fixed calibration loop; the best processor
time over that of the best calibration is what is compared, so that a slower or a busy machine says little. What seems
slower is measured again before it is called so. Exits with 1 when something is. The baseline is
benchmarks/results/micro.json.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # threads that wait in a loop for work would count as processor time

import numpy as np

from grid import provenance
from micro_cases import Job, cases
from reference_sets import ROOT
from understudy.model.threads import one_thread

BASELINE = ROOT / "benchmarks" / "results" / "micro.json"
COSTS_MORE, TAKES_LONGER = 1.3, 1.6
"""Ratios of processor time above which a case is slower, and of time on the clock above which it is worth a word."""
LONG_ENOUGH = 0.02
Cases = Mapping[str, Mapping[str, Any]]


@dataclass
class Timing:
    """The best of all repetitions, in seconds a call, on the clock and of the processor."""

    calls: int = 1
    """In a row, so that a repetition is long enough to be timed."""
    clock: float = float("inf")
    processor: float = float("inf")
    repeats: int = 0

    def run(self, job: Callable[[], object]) -> None:
        """Time one more repetition."""
        clock, processor = time.perf_counter(), time.process_time()
        for _ in range(self.calls):
            job()
        self.clock = min(self.clock, (time.perf_counter() - clock) / self.calls)
        self.processor = min(self.processor, (time.process_time() - processor) / self.calls)
        self.repeats += 1


def calibrate() -> float:
    """A loop like the hot paths: interpreter, passes over memory, a little linear algebra. Never change it."""
    rng = np.random.default_rng(0)
    values, square = rng.random(200_000), rng.random((150, 150))
    total = 0.0
    with one_thread():
        for k in range(12):
            total += float(np.exp(values * 0.01 * k).sum()) + float((square @ square)[k, k])
            total += np.bincount((values * 1000).astype(np.int64), minlength=1000)[k]
    for k in range(40_000):
        total += k & 7
    return total


def prepared(jobs: Mapping[str, Job]) -> dict[str, Timing]:
    """Call each once, for caches and imports, then choose how often to call it in a row."""
    timings = {}
    for name, job in jobs.items():
        job()
        once = Timing()
        once.run(job)
        timings[name] = Timing(calls=max(1, min(200, round(LONG_ENOUGH / max(once.clock, 1e-6)))))
    return timings


def measure(jobs: Mapping[str, Job], repeats: int, timings: Mapping[str, Timing], calibration: Timing) -> None:
    """Run all jobs in turn, ``repeats`` times over, the calibration loop before each."""
    for _ in range(repeats):
        for name, job in jobs.items():
            calibration.run(calibrate)
            timings[name].run(job)


def described(timings: Mapping[str, Timing], calibration: Timing) -> Cases:
    """As it is kept: seconds a call, and both times in calibration loops."""
    return {
        name: {
            "seconds": timing.clock,
            "clock": timing.clock / calibration.clock,
            "processor": timing.processor / calibration.processor,
            "repeats": timing.repeats,
        }
        for name, timing in timings.items()
    }


@dataclass(frozen=True)
class Verdict:
    """A case beside its baseline; ratios above 1 are slower now."""

    name: str
    clock: float
    processor: float

    @property
    def slower(self) -> bool:
        """By processor time alone: the clock depends on what else the machine does."""
        return self.processor > COSTS_MORE

    @property
    def word(self) -> str:
        """What to say of it."""
        if self.slower:
            return "SLOWER"
        return "costs the same, takes longer: a busy machine, or threads lost" if self.clock > TAKES_LONGER else ""


def judged(now: Cases, baseline: Cases) -> list[Verdict]:
    """Compare what both have."""
    return [
        Verdict(name, found["clock"] / baseline[name]["clock"], found["processor"] / baseline[name]["processor"])
        for name, found in now.items()
        if name in baseline
    ]


def shown(now: Cases, verdicts: Sequence[Verdict]) -> str:
    """A table for a terminal."""
    by_name = {verdict.name: verdict for verdict in verdicts}
    lines = [f"{'case':20} {'now, ms':>9} {'processor':>10} {'clock':>7}   (times the baseline, machine's speed taken out)"]
    for name, found in now.items():
        verdict = by_name.get(name)
        ratios = f"{verdict.processor:10.2f} {verdict.clock:7.2f}   {verdict.word}" if verdict else f"{'new':>10}"
        lines.append(f"{name:20} {1000 * found['seconds']:9.2f} {ratios}".rstrip())
    return "\n".join(lines)


def kept(stored: Mapping[str, Any], now: Cases, stamp: Mapping[str, Any], *, part: bool) -> dict[str, Any]:
    """The new baseline, each case with when and on what code it was measured; of a part, the other cases stay."""
    older = {"when": stored.get("when"), "commit": stored.get("versions", {}).get("commit")}
    newer = {"when": stamp["when"], "commit": stamp["versions"]["commit"]}
    before = {name: {**older, **case} for name, case in stored.get("cases", {}).items()} if part else {}
    return {**stamp, "cases": before | {name: {**case, **newer} for name, case in now.items()}}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--store", action="store_true", help="keep what is measured as the new baseline; with --only, of those alone"
    )
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--only", default="", help="only cases whose name has this in it")
    arguments = parser.parse_args()
    jobs = {name: prepare() for name, prepare in cases() if arguments.only in name}
    timings, calibration = prepared(jobs), Timing()
    stored: dict[str, Any] = json.loads(BASELINE.read_text()) if BASELINE.exists() else {}
    baseline: Cases = stored.get("cases", {})
    measure(jobs, arguments.repeats, timings, calibration)
    suspects = {verdict.name for verdict in judged(described(timings, calibration), baseline) if verdict.slower}
    measure({name: job for name, job in jobs.items() if name in suspects}, 2 * arguments.repeats, timings, calibration)
    now = described(timings, calibration)
    verdicts = judged(now, baseline)
    print(shown(now, verdicts))
    if arguments.store:
        stamp = {"when": datetime.now(UTC).isoformat(timespec="seconds"), "machine": provenance.machine()}
        stamp |= {"versions": provenance.versions()}
        BASELINE.write_text(json.dumps(kept(stored, now, stamp, part=bool(arguments.only)), indent=1) + "\n")
        return 0
    gone = sorted(set(baseline) - set(now)) if not arguments.only else []
    print(f"not run here: {', '.join(gone)}" if gone else "", end="\n" if gone else "")
    slower = [f"{verdict.name} ({verdict.processor:.2f} times)" for verdict in verdicts if verdict.slower]
    print(f"slower: {', '.join(slower)}" if slower else "nothing got slower" if verdicts else "no baseline yet: --store")
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
