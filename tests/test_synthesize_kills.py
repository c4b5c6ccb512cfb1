"""Kill the command at random moments: the folder is absent or whole, never half, and whatever was read is on record."""

from __future__ import annotations

import multiprocessing
import time
from multiprocessing.context import ForkServerContext
from pathlib import Path

import numpy as np
import pyarrow.csv
import pytest

import understudy
from release_tables import SCHEMA, table
from understudy.ledger import Ledger

KILLS = 20
COMPLETE = {"synthetic.csv", "release.json", "schema.toml", "privacy-card.md", "model", "measurements", "report.html"}


def command(folder: str, out: str) -> None:
    """Run the command in a child; a mark is left whenever the table is about to be counted."""
    from understudy.cli import main
    from understudy.source import StreamedSource

    count = StreamedSource.count

    def marked(self, cliques):  # type: ignore[no-untyped-def]
        Path(f"{out}.read").touch()
        return count(self, cliques)

    StreamedSource.count = marked  # type: ignore[method-assign]
    Path(f"{out}.started").touch()
    options = ["--schema", f"{folder}/schema.toml", "--epsilon", "3", "--workload", "all-1way", "--out", out]
    main(["synthesize", f"{folder}/data.csv", *options, "--quiet"], standalone_mode=False)


@pytest.fixture
def context() -> ForkServerContext:
    """Children that have everything imported already, so that kills hit the command and not the imports."""
    made = multiprocessing.get_context("forkserver")
    made.set_forkserver_preload(["understudy.cli", "understudy.report"])
    return made


def start(context: ForkServerContext, folder: Path, out: Path) -> multiprocessing.process.BaseProcess:
    child = context.Process(target=command, args=(str(folder), str(out)))
    child.start()
    deadline = time.monotonic() + 60
    while not Path(f"{out}.started").exists():
        assert child.is_alive(), "the child ended before it began"
        assert time.monotonic() < deadline
        time.sleep(0.005)
    return child


def test_killed_at_random_moments(tmp_path: Path, context: ForkServerContext) -> None:
    """Seeded: the moments are shares of how long a whole run takes, the last ones while the folder is written."""
    pyarrow.csv.write_csv(table(300), tmp_path / "data.csv")
    (tmp_path / "schema.toml").write_text(SCHEMA, encoding="utf-8")
    whole = start(context, tmp_path, tmp_path / "whole")
    began = time.monotonic()
    whole.join(120)
    took = time.monotonic() - began
    assert whole.exitcode == 0
    assert not (tmp_path / "whole.ledger").exists()
    endings = [check(context, tmp_path, turn, share * took) for turn, share in enumerate(moments())]
    assert endings.count("read") >= 3  # killed after the table was read and before the folder had its name
    assert endings.count("whole") + endings.count("read") + endings.count("unread") == KILLS


def moments() -> list[float]:
    rng = np.random.default_rng(11)
    return [*rng.uniform(0, 1, KILLS - 6).tolist(), *rng.uniform(0.85, 1.1, 6).tolist()]


def check(context: ForkServerContext, folder: Path, turn: int, delay: float) -> str:
    out = folder / f"out{turn}"
    child = start(context, folder, out)
    time.sleep(delay)
    child.kill()
    child.join(60)
    was_read, ledger = Path(f"{out}.read").exists(), Ledger(folder / f"{out.name}.ledger")
    made = ledger.path.exists() and ledger.path.stat().st_size > 0
    if made:
        verdict = ledger.verify()
        assert verdict.sound, verdict.problems
    runs = ledger.state().runs if made else ()
    if out.exists():
        assert {path.name for path in out.iterdir()} == COMPLETE
        release = understudy.load(out)
        assert release.record.table.rows == release.arrow.num_rows
        assert [run.name for run in runs] in ([], [release.record.run])
        return "whole"
    if not was_read:
        return "unread"
    (run,) = runs
    assert run.state == "running"
    assert run.charged <= run.counts == run.budget
    return "read"
