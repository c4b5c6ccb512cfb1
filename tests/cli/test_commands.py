"""Every command as a user would run it: what it prints, how it ends, and how it takes mistakes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import click
import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from click.testing import CliRunner, Result

import understudy
from release_tables import SCHEMA, table
from understudy import example
from understudy.cli import main
from understudy.ledger import Ledger

QUICK = ("--epsilon", "4", "--workload", "all-1way", "--mechanism", "independent", "--no-report")


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    pyarrow.csv.write_csv(table(), folder / "visits.csv")
    pa.parquet.write_table(table(), folder / "visits.parquet")
    (folder / "visits.toml").write_text(SCHEMA, encoding="utf-8")
    result = run("synthesize", folder / "visits.csv", "-s", folder / "visits.toml", "-o", folder / "release", *QUICK)
    assert result.exit_code == 0, result.stderr
    return folder


def commands(group: click.Group, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            found += commands(command, (*path, name))
        else:
            found.append((*path, name))
    return found


@pytest.mark.parametrize("path", [p for p in commands(main) if p[0] != "schema"], ids=" ".join)
def test_every_command_has_help_examples_exit_status_and_json(path: tuple[str, ...]) -> None:
    result = run(*path, "--help")
    assert result.exit_code == 0
    assert f"understudy {path[0]}" in result.output
    for part in ("Examples:", "Exit status: 0", "--json"):
        assert part in result.output, part


@pytest.mark.parametrize("module", ["understudy", "understudy.cli"])
def test_the_command_runs_as_a_module(module: str) -> None:
    done = subprocess.run([sys.executable, "-m", module, "plan"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "See understudy plan --help" in done.stderr


def test_every_option_says_what_it_is_for() -> None:
    for path in commands(main):
        command: click.Command = main
        for name in path:
            assert isinstance(command, click.Group)
            command = command.commands[name]
        for option in command.params:
            assert isinstance(option, click.Argument) or len(getattr(option, "help", None) or "") > 5, (path, option.name)


def test_synthesize_prints_where_everything_is(home: Path, tmp_path: Path) -> None:
    out = tmp_path / "r"
    result = run("synthesize", home / "visits.parquet", "-s", home / "visits.toml", "-o", out, *QUICK)
    assert result.exit_code == 0
    assert f"{out}/synthetic.parquet" in result.stdout
    assert "epsilon = 4" in result.stdout
    assert result.stderr == ""  # no progress without a terminal
    assert understudy.load(out).private
    assert not (tmp_path / "r.ledger").exists()


def test_synthesize_for_machines(home: Path, tmp_path: Path) -> None:
    arguments = ["--format", "csv", "--rows", 50, "--max-size", "1GB", "--json"]
    result = run("synthesize", home / "visits.parquet", "-s", home / "visits.toml", "-o", tmp_path / "r", *QUICK, *arguments)
    answer = json.loads(result.stdout)
    assert answer["rows"] == 50
    assert answer["private"] is True
    assert "synthetic.csv" in answer["files"]
    assert understudy.load(tmp_path / "r").manifest.mechanism.options == {"max_size": 2**30}


def test_synthesize_from_sql(home: Path, tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "d.duckdb")) as connection:
        connection.execute(f"CREATE TABLE visits AS SELECT * FROM '{home}/visits.parquet'")
    base = ["-s", home / "visits.toml", *QUICK]
    sql = ["--sql", "SELECT * FROM visits WHERE age > 20", "--database", tmp_path / "d.duckdb"]
    assert run("synthesize", *base, *sql, "-o", tmp_path / "r").exit_code == 0
    both = run("synthesize", home / "visits.csv", *base, *sql, "-o", tmp_path / "r2")
    assert both.exit_code == 2
    assert "either DATA" in both.stderr


def test_a_seeded_run_is_marked(home: Path, tmp_path: Path) -> None:
    base = ["synthesize", home / "visits.csv", "-s", home / "visits.toml", *QUICK, "--seed", 1]
    result = run(*base, "-o", tmp_path / "r")
    assert "NOT PRIVATE" in result.stdout
    assert "NOT PRIVATE" in result.stderr
    for command in (["sample", tmp_path / "r", "-n", 1], ["query", tmp_path / "r", "sex"]):
        assert "NOT PRIVATE" in run(*command).stderr
    answer = json.loads(run(*base, "-o", tmp_path / "r2", "--json").stdout)
    assert answer["private"] is False
    assert "NOT PRIVATE" in answer["notice"]


def test_sample(home: Path, tmp_path: Path) -> None:
    result = run("sample", home / "release", "--rows", 20, "--given", "sex=F", "--given", "pay=", "--seed", 3)
    rows = pyarrow.csv.read_csv(pa.BufferReader(result.stdout.encode())).to_pylist()
    assert len(rows) == 20
    assert {row["sex"] for row in rows} == {"F"}
    assert {row["pay"] for row in rows} == {None}
    for kind in ("csv", "parquet"):
        assert run("sample", home / "release", "-n", 5, "-o", tmp_path / f"more.{kind}").exit_code == 0
        assert (tmp_path / f"more.{kind}").stat().st_size > 50
    assert len(json.loads(run("sample", home / "release", "-n", 3, "--json").stdout)["rows"]) == 3
    exact = run("sample", home / "release", "-n", 9, "--given", "age=70", "--given", "sex=null", "--json")
    assert [(row["age"], row["sex"]) for row in json.loads(exact.stdout)["rows"]] == [(70, None)] * 9
    one = run("sample", home / "release", "-n", 5, "--refined", "-o", tmp_path / "one.csv")
    assert one.exit_code == 2
    assert "--refined is for the Parquet files of a folder" in " ".join(one.stderr.split())
    wrong = run("sample", home / "release", "-n", 5, "--given", "sex=X")
    assert wrong.exit_code == 2
    assert "its values are F, M, null" in wrong.stderr


def test_query(home: Path) -> None:
    result = run("query", home / "release", "sex", "level")
    assert result.exit_code == 0
    assert "no bound" in result.stdout  # pairs were neither measured nor asked for
    assert "95% bootstrap" in result.stdout
    assert "measured, not proved: docs/intervals.md" in " ".join(result.stdout.split())
    assert "95% proved" not in result.stdout
    assert "95% proved" in run("query", home / "release", "sex").stdout
    answer = json.loads(run("query", home / "release", "sex", "--json").stdout)
    assert [cell["values"] for cell in answer["cells"]] == [["F"], ["M"], ["null"]]
    assert answer["bound"]["kind"] == "supported"
    assert all(cell["lower"] <= cell["upper"] for cell in answer["cells"])
    assert all(cell["bootstrap"]["lower"] <= cell["bootstrap"]["upper"] for cell in answer["cells"])
    assert 0 < answer["bootstrap"]["rows"] < answer["bound"]["rows"]
    without = json.loads(run("query", home / "release", "sex", "--no-bootstrap", "--json").stdout)
    assert without["bootstrap"] is None
    assert "bootstrap" not in run("query", home / "release", "sex", "level", "--no-bootstrap").stdout
    wrong = run("query", home / "release", "sx")
    assert wrong.exit_code == 2
    assert 'Did you mean "sex"?' in wrong.stderr


def test_report(home: Path, tmp_path: Path) -> None:
    result = run("report", home / "release", "-o", tmp_path / "page.html", "--json")
    assert result.exit_code == 0, result.stderr
    assert "<html" in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert json.loads(result.stdout)["report"].endswith("page.html")


def test_evaluate(home: Path, tmp_path: Path) -> None:
    result = run("evaluate", home / "visits.csv", home / "release")
    assert result.exit_code == 0
    assert "NOT PRIVATE" in result.stderr
    assert "Workload error (L1)" in result.stdout
    above = run("evaluate", home / "visits.csv", home / "release", "--max-error", 0.0001, "--json")
    assert above.exit_code == 1
    answer = json.loads(above.stdout)
    assert answer["private"] is False
    assert answer["above"] is True
    assert run("evaluate", home / "visits.csv", home / "release", "--max-error", 2).exit_code == 0
    assert run("evaluate", home / "visits.csv", home / "release", "--report", tmp_path / "e.html").exit_code == 0
    assert "not private" in (tmp_path / "e.html").read_text(encoding="utf-8").lower()


def test_evaluate_with_rows_held_out(home: Path) -> None:
    table, release = home / "visits.csv", home / "release"
    full = run("evaluate", table, release, "--holdout", table, "--target", "sex", "--by", "sex", "--json")
    assert full.exit_code == 0, full.stderr
    answer = json.loads(full.stdout)
    assert answer["prediction"]["target"] == "sex"
    assert [g["by"] for g in answer["groups"]] == ["sex"]
    assert answer["membership"]["rows"] > 0
    assert "--holdout" in run("evaluate", table, release, "--target", "sex").stderr
    assert 'no column "sx"' in run("evaluate", table, release, "--by", "sx").stderr


def test_plan(home: Path) -> None:
    base = ["plan", "-s", home / "visits.toml", "--rows", 5000, "--epsilon", 1, "-w", "all-1way"]
    result = run(*base)
    assert result.exit_code == 0
    assert "From a rehearsal on 5,000 made-up rows" in result.stdout
    assert json.loads(run(*base, "--no-rehearsal", "--json").stdout)["rehearsal"] is None
    assert "of cells" not in result.stdout
    (home / "sums.toml").write_text('[[query]]\nattributes = ["age", "sex"]\nprefixes = "age"\n')
    sums = run(*base[:-1], home / "sums.toml", "--no-rehearsal")
    assert "of cells          the workload asks for sums" in sums.stdout
    lost = run(*base[:3], "--rows", 10, *base[5:], "--no-rehearsal").stdout  # noise far beyond so few rows
    assert ") 100.0% of the rows misplaced" in lost
    assert "200" not in lost.split("noisiest columns")[1].split("\n")[0]


def test_a_demo_that_was_stopped_spent_nothing_and_is_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = ("demo", "--folder", tmp_path / "demo", "--rows", 200, "-w", "all-1way")
    with monkeypatch.context() as patched:
        patched.setattr("understudy.release.storage.write_into", stop)
        result = run(*small)
    assert result.exit_code == 130
    assert "Nothing was spent." in result.stderr
    assert "resume" not in result.stderr
    assert run(*small).exit_code == 0


def stop(*_: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.promise(30)
@pytest.mark.parametrize("there", ["release.ledger", "release"])
def test_a_demo_takes_no_release_and_no_ledger_of_another_table_away(tmp_path: Path, there: str) -> None:
    """What a stopped run has spent is known by its ledger alone."""
    (tmp_path / there).write_text("what was spent")
    (tmp_path / "people.toml").write_text("of mine")
    result = run("demo", "--folder", tmp_path, "--rows", 200, "-w", "all-1way")
    assert (result.exit_code, there in result.output, "--folder" in result.output) == (2, True, True)
    assert (tmp_path / there).read_text() == "what was spent"
    assert (tmp_path / "people.toml").read_text() == "of mine"


def test_demo_goes_all_the_way(tmp_path: Path) -> None:
    began = time.process_time()  # not by the clock on the wall: other work on the machine is no fault of the demo's
    result = run("demo", "--folder", tmp_path / "demo", "--rows", 2000, "--workload", "all-2way")
    assert result.exit_code == 0, result.stderr
    assert "2,000 made-up people" in result.stdout
    release = tmp_path / "demo" / "release"
    for name in ("synthetic.csv", "report.html", "privacy-card.md", "release.json", "model", "measurements"):
        assert (release / name).exists(), name
        assert str(release / name) in result.stdout
    assert understudy.load(release).private
    assert time.process_time() - began < 60
    assert run("demo", "--folder", tmp_path / "demo", "--rows", 200, "-w", "all-1way", "--json").exit_code == 0


def mistakes(home: Path, tmp_path: Path) -> dict[str, tuple[list[object], str]]:
    """What users get wrong, and a word of what they should be told."""
    (tmp_path / "semicolons.csv").write_text((home / "visits.csv").read_text().replace(",", ";"))
    (tmp_path / "broken.toml").write_text('[columns.age]\nkind = "integer"\nmni = 3\nmxa = 4\nbns = 4\nnullable = 1\n')
    (tmp_path / "draft.toml").write_text("[table]\ndraft = true\n" + SCHEMA.replace("[table]\n", ""))
    (tmp_path / "people.toml").write_text(example.schema_text())
    (tmp_path / "file").write_text("x")
    (tmp_path / "torn.parquet").write_bytes((home / "visits.parquet").read_bytes()[:300])
    data, schema, out = home / "visits.csv", home / "visits.toml", tmp_path / "r"
    good = ["-s", schema, "-o", out, *QUICK]
    return {
        "missing file": ([home / "none.csv", *good], "There is no file"),
        "wrong delimiter": ([tmp_path / "semicolons.csv", *good], 'no column "age"'),
        "torn file": ([tmp_path / "torn.parquet", *good], "whole Parquet file"),
        "schema for another table": ([data, "-s", tmp_path / "people.toml", "-o", out, *QUICK], "no column"),
        "no schema file": ([data, "-s", home / "none.toml", "-o", out, *QUICK], "no schema file"),
        "broken schema": ([data, "-s", tmp_path / "broken.toml", "-o", out, *QUICK], "see understudy schema show"),
        "draft": ([data, "-s", tmp_path / "draft.toml", "-o", out, *QUICK], "draft"),
        "no such column": ([data, *good, "-w", "target:agee"], 'Did you mean "age"?'),
        "epsilon as text": ([data, *good, "--epsilon", "one"], "--epsilon"),
        "no epsilon": ([data, "-s", schema, "-o", out], "epsilon"),
        "epsilon below zero": ([data, *good, "--epsilon", "-1"], "above 0"),
        "size as text": ([data, *good, "--max-size", "huge"], "80MB"),
        "unknown option": ([data, *good, "--epsilom", "1"], "--epsilon"),
        "folder inside a file": ([data, "-s", schema, "-o", tmp_path / "file" / "r", *QUICK], "cannot be written"),
        "folder exists": ([data, "-s", schema, "-o", home, *QUICK], "exists"),
        "bad SQL": (["--sql", "SELEC 1", *good], "SQL"),
    }


NAMES = [
    "missing file", "wrong delimiter", "torn file", "schema for another table", "no schema file", "broken schema", "draft",
    "no such column", "epsilon as text", "no epsilon", "epsilon below zero", "size as text", "unknown option",
    "folder inside a file", "folder exists", "bad SQL",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_mistakes_are_three_lines_and_spend_nothing(home: Path, tmp_path: Path, name: str) -> None:
    known = mistakes(home, tmp_path)
    assert list(known) == NAMES
    arguments, says = known[name]
    before = sorted(tmp_path.rglob("*"))
    result = run("synthesize", *arguments)
    assert result.exit_code == 2
    assert says in result.stderr
    assert "othing was spent" in result.stderr
    assert len(result.stderr.strip().splitlines()) <= 3
    assert "Traceback" not in result.output
    assert result.stdout == ""
    assert sorted(tmp_path.rglob("*")) == before


def test_a_full_disk_is_refused_before_any_spend(home: Path, tmp_path: Path) -> None:
    """A limit on the size of files stands in for a full disk: the system refuses to make room in the same way."""
    limited = (
        "import os, resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20)); os.execv(sys.argv[1], sys.argv[1:])"
    )
    command = [sys.executable, "-m", "understudy", "synthesize", home / "visits.csv", "-s", home / "visits.toml"]
    done = subprocess.run(
        [sys.executable, "-c", limited, *command, "-o", tmp_path / "r", *QUICK],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "Nothing was spent" in done.stderr
    assert len(done.stderr.strip().splitlines()) <= 3
    assert list(tmp_path.iterdir()) == []


def test_a_failure_nobody_foresaw_quotes_nothing(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from understudy.source import StreamedSource

    def broken(*_: object) -> None:
        raise RuntimeError("value CANARY in row 7")

    monkeypatch.setattr(StreamedSource, "count", broken)
    result = run("synthesize", home / "visits.csv", "-s", home / "visits.toml", "-o", tmp_path / "r", *QUICK)
    assert result.exit_code == 3
    assert "CANARY" not in result.output
    assert "stays spent" in result.stderr
    assert len(result.stderr.strip().splitlines()) <= 3
    (run_,) = Ledger(tmp_path / "r.ledger").state().runs
    assert run_.state == "stopped"
    assert run_.counts > 0  # it was paid for, and the table was asked, though no answer left


@pytest.mark.promise(15)
def test_a_failure_outside_the_door_quotes_nothing_either(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing private should be there; the text is withheld all the same."""

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("value CANARY in row 7")

    monkeypatch.setattr(sys.modules["understudy.synthesize"], "make_release", broken)
    result = run("synthesize", home / "visits.csv", "-s", home / "visits.toml", "-o", tmp_path / "r", *QUICK)
    assert result.exit_code == 3
    assert "RuntimeError" in result.stderr
    assert "CANARY" not in result.output


FITTING = """
import sys, time
from pathlib import Path
from understudy.cli import main
from understudy.mechanism import running

def fit(*arguments, **options):
    Path(sys.argv[1]).touch()
    time.sleep(600)

running.Run._fit = fit
main(sys.argv[2:])
"""
"""The command, which leaves a mark and waits when it first fits a model: measurements are on record then, and more would be
made. An interruption always finds it there, however busy the machine is.
"""


def test_ctrl_c_ends_cleanly_and_says_what_was_spent(home: Path, tmp_path: Path) -> None:
    command = ["synthesize", home / "visits.csv", "-s", home / "visits.toml"]
    options = ["-e", "0.5", "-w", "all-3way", "-o", tmp_path / "r", "--no-report"]
    child = _listening([sys.executable, "-c", FITTING, tmp_path / "fitting", *command, *options])
    ledger, deadline = Ledger(tmp_path / "r.ledger"), time.monotonic() + 600
    while not (tmp_path / "fitting").exists():
        assert time.monotonic() < deadline
        assert child.poll() is None, "it was done before it could be interrupted"
        time.sleep(0.005)
    assert any(r.charges for r in ledger.state().runs)
    os.kill(child.pid, signal.SIGINT)
    out, err = child.communicate(timeout=600)
    assert child.returncode == 130
    assert "Interrupted." in err
    assert "stays spent" in err
    assert "--resume" in err
    assert len(err.strip().splitlines()) <= 3
    assert out == ""
    (stopped,) = ledger.state().runs
    assert stopped.state == "stopped"
    # What was paid for and then interrupted before its answer was on record counts too.
    assert stopped.charged <= stopped.counts < stopped.budget
    assert not (tmp_path / "r").exists()
    again = run(*command, *options, "--resume")
    assert again.exit_code == 0, again.stderr
    release = understudy.load(tmp_path / "r")
    assert release.manifest.run == stopped.name
    assert [c.rho for c in stopped.charges] == [c.rho for c in release.spend[: len(stopped.charges)]]
    assert release.spent <= release.rho
    assert not ledger.path.exists()


def _listening(command: list[str | Path]) -> subprocess.Popen[str]:
    """Start a child that hears Ctrl-C, also where whoever runs the tests has told its children to ignore it."""
    inherited = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    finally:
        signal.signal(signal.SIGINT, inherited)


def test_other_commands_take_wrong_folders_well(home: Path, tmp_path: Path) -> None:
    for command in (["query", tmp_path, "age"], ["sample", tmp_path / "none", "-n", "3"], ["report", tmp_path]):
        result = run(*command)
        assert result.exit_code == 2
        assert "release.json" in result.stderr
        assert "spent" not in result.stderr
        assert len(result.stderr.strip().splitlines()) == 1
    assert run("evaluate", home / "none.csv", home / "release").exit_code == 2
    assert run("nonsense").exit_code == 2
