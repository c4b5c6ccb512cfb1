"""Kill the command at random moments: the folder is absent or whole, never half, and whatever was read is on record.

How a random moment falls depends on how busy the machine is; whatever it hits, the folder and the record must be right. So
that some kills surely hit a run that has read, others wait for a child that has stopped at a known place.
"""

from __future__ import annotations

import multiprocessing
import sys
import time
from multiprocessing.context import ForkServerContext
from pathlib import Path

import numpy as np
import pyarrow.csv
import pytest

import understudy
from release_tables import SCHEMA, table
from understudy.ledger import Ledger
from understudy.ledger.state import Run

KILLS = 20
PLACES = ("before counting", "after counting", "before the folder has its name")
PATIENCE = 600
"""Seconds, on a machine that has other things to do."""
COMPLETE = {"synthetic.csv", "release.json", "schema.toml", "privacy-card.md", "report.html"}
COMPLETE |= {"model", "measurements", "inside"}


def command(folder: str, out: str, stop: str) -> None:
    """Run the command in a child; a mark is left whenever the table is about to be counted, and at ``stop`` it waits."""
    from understudy.cli import main
    from understudy.source import StreamedSource

    count, made = StreamedSource.count, sys.modules["understudy.release.storage"]
    write = made.write_into  # type: ignore[attr-defined]

    def reach(place: str) -> None:
        if place == stop:
            Path(f"{out}.stopped").touch()
            time.sleep(PATIENCE)

    def marked(self, cliques):  # type: ignore[no-untyped-def]
        Path(f"{out}.read").touch()
        reach("before counting")
        found = count(self, cliques)
        reach("after counting")
        return found

    def written(*arguments):  # type: ignore[no-untyped-def]
        write(*arguments)
        reach("before the folder has its name")

    StreamedSource.count = marked  # type: ignore[method-assign]
    made.write_into = written  # type: ignore[attr-defined]
    Path(f"{out}.started").touch()
    options = ["--schema", f"{folder}/schema.toml", "--epsilon", "3", "--workload", "all-1way", "--out", out]
    main(["synthesize", f"{folder}/data.csv", *options, "--quiet"], standalone_mode=False)


@pytest.fixture
def context() -> ForkServerContext:
    """Children that have everything imported already, so that kills hit the command and not the imports."""
    made = multiprocessing.get_context("forkserver")
    made.set_forkserver_preload(["understudy.cli", "understudy.report"])
    return made


def start(context: ForkServerContext, folder: Path, out: Path, stop: str = "") -> multiprocessing.process.BaseProcess:
    child = context.Process(target=command, args=(str(folder), str(out), stop))
    child.start()
    wait_for(Path(f"{out}.stopped" if stop else f"{out}.started"), child)
    return child


def wait_for(mark: Path, child: multiprocessing.process.BaseProcess) -> None:
    deadline = time.monotonic() + PATIENCE
    while not mark.exists():
        assert child.is_alive() or mark.exists(), "the child ended before it got there"
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_killed_at_random_moments(tmp_path: Path, context: ForkServerContext) -> None:
    """Seeded: the moments are shares of how long a whole run takes, the last ones while the folder is written."""
    pyarrow.csv.write_csv(table(300), tmp_path / "data.csv")
    (tmp_path / "schema.toml").write_text(SCHEMA, encoding="utf-8")
    whole = start(context, tmp_path, tmp_path / "whole")
    began = time.monotonic()
    whole.join(PATIENCE)
    took = time.monotonic() - began
    assert whole.exitcode == 0
    assert not (tmp_path / "whole.ledger").exists()
    for turn, place in enumerate(PLACES):
        out = tmp_path / f"stopped{turn}"
        assert killed(start(context, tmp_path, out, place), out) == "read", place
    for turn, share in enumerate(moments()):
        out = tmp_path / f"out{turn}"
        child = start(context, tmp_path, out)
        time.sleep(share * took)
        killed(child, out)


def moments() -> list[float]:
    rng = np.random.default_rng(11)
    return [*rng.uniform(0, 1, KILLS - 6).tolist(), *rng.uniform(0.85, 1.1, 6).tolist()]


def killed(child: multiprocessing.process.BaseProcess, out: Path) -> str:
    """Kill, and look at what is left: return whether the folder is whole, or else whether the table was read."""
    child.kill()
    child.join(PATIENCE)
    was_read, ledger = Path(f"{out}.read").exists(), Ledger(f"{out}.ledger")
    runs = runs_of(ledger) if ledger.path.exists() and ledger.path.stat().st_size > 0 else ()
    if out.exists():
        assert {path.name for path in out.iterdir()} == COMPLETE
        release = understudy.load(out)
        assert release.manifest.table.rows == release.arrow.num_rows
        assert [run.name for run in runs] in ([], [release.manifest.run])
        return "whole"
    if not was_read:
        return "unread"
    (run,) = runs
    assert run.state == "running"
    assert run.charged <= run.counts == run.budget
    return "read"


def runs_of(ledger: Ledger) -> tuple[Run, ...]:
    """Return the runs of a sound ledger, or none: killed while it was made, a ledger is not one yet."""
    verdict = ledger.verify()
    if verdict.lines == 0 and ledger.path.stat().st_size == 0:  # what was half made has just been taken back
        return ()
    assert verdict.sound, verdict.problems
    return ledger.state().runs
