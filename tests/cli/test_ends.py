"""However the command ends: its exit status, what it says was spent, and what the ledger says. All in real processes.

``pytest -s`` prints the table. Where a moment matters, a patch in the child brings its end about at that moment.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow.csv
import pytest

from release_tables import SCHEMA, table
from understudy.ledger import Ledger, Run
from understudy.privacy import Budget
from understudy.privacy.cost import show

CHILD = """
import os, resource, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # tests that run in the background hand down that it is ignored
import numpy as np
if name := os.environ.get("AUDIT_MUTANT"):
    from audit.mutants import by_name, install
    install(by_name(name))()
from understudy.cli import main, synthesize as _
from understudy.ledger import Ledger, RunJournal
from understudy.mechanism import running
from understudy.source import StreamedSource
whole, storage, command = (sys.modules[f"understudy.{name}"] for name in ("synthesize", "release.storage", "cli.synthesize"))

def before(owner, name, what):
    real = getattr(owner, name)
    def patched(*arguments, **options):
        what()
        return real(*arguments, **options)
    setattr(owner, name, patched)

def send(name):
    os.kill(os.getpid(), getattr(signal, name))
    time.sleep(60)

def files_up_to(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

def no_memory():
    size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize() + (1 << 22)
    resource.setrlimit(resource.RLIMIT_AS, (size, size))
    np.ones(1 << 26)

def fault():
    raise RuntimeError("CANARY")

PATCH
main(sys.argv[1:], prog_name="understudy")
"""
MOMENTS = {
    "before the reservation": 'whole, "require_room"',
    "while it is reserved": 'Ledger, "begin"',
    "while reading": 'StreamedSource, "count"',
    "while fitting": 'running.Run, "_fit"',
    "while an answer is put on record": 'RunJournal, "commit"',
    "while saving": 'storage, "write_into"',
    "while settling": 'RunJournal, "finish"',
    "while printing": 'command, "contents"',
}
PLAIN, READER, HEAD = '"$@"; echo $? >status', '{ "$@"; echo $? >status; } | true', '{ "$@"; echo $? >status; } | head -1'
AIM = ("--mechanism", "aim")
FULL = '"$@" >/dev/full; echo $? >status'


@dataclass(frozen=True)
class Way:
    """One way to end: what is done at which moment, in which shell, and what must come of it."""

    name: str
    status: int
    ledger: str
    """What the ledger shows: no run, or one that is running (or was killed), stopped or finished."""
    spent: str
    """nothing, part or all of the budget, as the command must say; silence, if nobody can say anything."""
    moment: str = ""
    does: str = ""
    shell: str = PLAIN
    options: tuple[str, ...] = ()
    learns: bool = False
    """Whether a schema is learnt, instead of a release made."""


QUICK = [
    Way("| true", 0, "finished", "all", shell=READER),
    Way("full disk while saving", 2, "stopped", "all", "while saving", "files_up_to(200_000)"),
    Way("SIGTERM while fitting", 143, "stopped", "part", "while fitting", 'send("SIGTERM")', options=AIM),
    Way("a fault of ours", 3, "stopped", "part", "while reading", "fault()"),
    Way("learning: SIGINT while reading", 130, "stopped", "part", "while reading", 'send("SIGINT")', learns=True),
    Way("learning | true", 141, "finished", "all", shell=READER, options=("-o", ""), learns=True),
]
LONG = [
    Way("done", 0, "finished", "silence"),
    Way("out of memory", 2, "stopped", "part", "while fitting", "no_memory()", options=AIM),
    Way("| head -1", 0, "finished", "all", "while printing", "time.sleep(1)", HEAD),
    Way("full disk while printing", 2, "finished", "all", shell=FULL),
    Way("full disk, the ledger's too", 2, "running", "part", "while an answer is put on record", "files_up_to(1000)"),
    Way("full disk for the first line", 2, "none", "nothing", "while it is reserved", "files_up_to(1000)"),
    Way("SIGINT before the reservation", 130, "none", "nothing", "before the reservation", 'send("SIGINT")'),
    Way("SIGTERM before the reservation", 143, "none", "nothing", "before the reservation", 'send("SIGTERM")'),
    Way("SIGINT while reading", 130, "stopped", "part", "while reading", 'send("SIGINT")'),
    Way("SIGHUP while reading", 129, "stopped", "part", "while reading", 'send("SIGHUP")'),
    Way("SIGHUP while saving", 129, "stopped", "all", "while saving", 'send("SIGHUP")'),
    Way("SIGTERM while settling", 143, "running", "all", "while settling", 'send("SIGTERM")'),
    Way("SIGTERM while printing", 143, "finished", "all", "while printing", 'send("SIGTERM")'),
    Way("SIGINT while printing", 130, "finished", "all", "while printing", 'send("SIGINT")'),
    Way("kill -9", 137, "running", "silence", "while fitting", 'send("SIGKILL")'),
    Way("a fault of ours while saving", 3, "stopped", "all", "while saving", "fault()"),
    Way("a fault of ours while printing", 3, "finished", "all", "while printing", "fault()"),
    Way("no such table", 2, "none", "nothing", options=("--sql", "SELECT 1", "--database", "none.duckdb")),
    Way("a table that cannot be read", 2, "stopped", "part", options=("--sql", "SELECT CAST('x' AS INT) AS age")),
    Way("the ledger refuses", 2, "none", "nothing", options=("--rho", "3")),
    Way("the ledger cannot be written", 2, "none", "nothing", "while it is reserved", "os.seteuid(65534)"),
    Way("no place for the output", 2, "none", "nothing", options=("-o", "visits.csv/r")),
    Way("learning: done", 0, "finished", "silence", learns=True),
    Way("learning: kill -9", 137, "running", "silence", "while reading", 'send("SIGKILL")', learns=True),
    Way("learning: a fault of ours", 3, "stopped", "part", "while reading", "fault()", learns=True),
    Way("learning: SIGTERM while settling", 143, "running", "all", "while settling", 'send("SIGTERM")', learns=True),
    Way("learning: full disk while printing", 2, "finished", "all", shell=FULL, options=("-o", ""), learns=True),
    Way("learning: no such column", 2, "none", "nothing", options=("--columns", "agee"), learns=True),
    Way("learning: no folder", 2, "none", "silence", options=("-o", "none/s.toml"), learns=True),
    Way("learning: the ledger refuses", 2, "none", "nothing", options=("--epsilon", "90"), learns=True),
    Way("a wrong option", 2, "none", "nothing", options=("--workload", "all-9way-and-more")),
]
PRINTED: list[str] = []


@pytest.fixture(scope="module", autouse=True)
def _printed() -> Iterator[None]:
    yield
    print("\n".join(["", f"{'way to end':<34}{'status':>6}  {'says':<46}{'ledger':<32}", *PRINTED]))


@pytest.fixture
def home() -> Iterator[Path]:
    """A folder that others may look into, but not write to."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        home.chmod(0o755)
        pyarrow.csv.write_csv(table(200), home / "visits.csv")
        (home / "visits.toml").write_text(SCHEMA, encoding="utf-8")
        Ledger.create(home / "b.ledger").declare("visits", Budget.of(rho=2))
        yield home


def end(way: Way, home: Path) -> tuple[int, str, Run | None]:
    """Let a command end in this way; return its status, what it said, and its run as the ledger has it."""
    patch = f"before({MOMENTS[way.moment]}, lambda: {way.does})" if way.moment else ""
    given = dict(zip(way.options[::2], way.options[1::2], strict=True))
    data = [] if "--sql" in given else ["visits.csv"]
    words = [word for option, value in (options_of(way) | given).items() if value for word in (option, value)]
    verb = ["schema", "draft"] if way.learns else ["synthesize", "--no-report"]
    command = [sys.executable, "-c", CHILD.replace("PATCH", patch), *verb, *data, *words]
    done = subprocess.run(["sh", "-c", way.shell, "sh", *command], cwd=home, capture_output=True, text=True, check=False)
    verdict = Ledger(home / "b.ledger").verify()
    assert verdict.sound, verdict.problems
    runs = Ledger(home / "b.ledger").state().runs
    return int((home / "status").read_text()), done.stderr, runs[0] if runs else None


def options_of(way: Way) -> dict[str, str]:
    shared = {"--ledger": "b.ledger", "--dataset": "visits"}
    if way.learns:
        return shared | {"-o": "learnt.toml", "--epsilon": "8"}
    made = {"-s": "visits.toml", "-o": "r", "-w": "all-1way", "--rho": "1", "--mechanism": "independent", "--rows": "20000"}
    return shared | made


def check(way: Way, home: Path) -> None:
    status, said, run = end(way, home)
    counts = "no run" if run is None else f"{run.state}, rho = {show(run.counts)} of {show(run.budget)}"
    PRINTED.append(f"{way.name:<34}{status:>6}  {', '.join(amounts(said)) or '(silence)':<46}{counts:<32}")
    assert status == way.status, said
    assert ("none" if run is None else run.state) == way.ledger
    assert len(said.strip().splitlines()) <= 3
    assert "Traceback" not in said
    assert "CANARY" not in said
    if way.learns:
        assert "resume" not in said
        assert (home / "learnt.toml").exists() == (way.ledger == "finished" and way.shell == PLAIN)
        assert ("learning anew pays its whole budget" in said) == (way.spent == "part" or way.shell != PLAIN)
    else:
        assert (home / "r" / "release.json").exists() == (way.ledger == "finished" or way.moment == "while settling")
    agree(way, said, run)


def amounts(said: str) -> list[str]:
    """Return what the message says was spent, and what it says counts on record where that is more."""
    found = re.findall(
        r"Nothing was spent|nothing was spent|rho = [\d.e+-]*\d of [\d.e+-]*\d|whole budget \(rho = \S+\)", said
    )
    return list(dict.fromkeys(found))


def agree(way: Way, said: str, run: Run | None) -> None:
    """What the message says is what the ledger says."""
    found = amounts(said)
    if way.spent == "silence":
        assert found == []
    elif way.spent == "nothing":
        assert [words.lower() for words in found] == ["nothing was spent"]
        assert run is None or run.counts == 0
    else:
        assert run is not None
        if run.state == "running":
            assert found[1:] == [f"whole budget (rho = {show(run.counts)})"]
        else:
            assert found == [f"rho = {show(run.counts)} of {show(run.budget)}"]
        spent, _, budget = found[0].removeprefix("rho = ").partition(" of ")
        assert (float(spent) > 0.99 * float(budget)) == (way.spent == "all")


@pytest.mark.promise(30)
@pytest.mark.parametrize("way", QUICK, ids=lambda way: way.name)
def test_what_is_said_to_be_spent_is_what_the_ledger_says(way: Way, home: Path) -> None:
    check(way, home)


@pytest.mark.audit
@pytest.mark.promise(30)
@pytest.mark.parametrize("way", LONG, ids=lambda way: way.name)
def test_it_is_so_in_every_other_way_to_end(way: Way, home: Path) -> None:
    check(way, home)
