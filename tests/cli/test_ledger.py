"""``understudy ledger`` and the ledger of ``understudy synthesize``, as a user runs them."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pyarrow.csv
import pytest
from click.testing import CliRunner, Result

import understudy
from release_tables import SCHEMA, schema, table
from understudy.cli import main
from understudy.errors import LedgerError, UserError
from understudy.ledger import Ledger
from understudy.mechanism import Measured
from understudy.mechanism.base import Mechanism
from understudy.privacy import Budget

QUICK = ("--workload", "all-1way", "--mechanism", "independent", "--no-report")


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture
def home(tmp_path: Path) -> Path:
    pyarrow.csv.write_csv(table(), tmp_path / "visits.csv")
    (tmp_path / "visits.toml").write_text(SCHEMA, encoding="utf-8")
    made = run("ledger", "init", tmp_path / "b.ledger", "--dataset", "visits", "--epsilon", 2)
    assert made.exit_code == 0, made.output
    return tmp_path


def synthesize(home: Path, out: str, epsilon: float, *more: object) -> Result:
    base = ["synthesize", home / "visits.csv", "-s", home / "visits.toml", "-o", home / out, "-e", epsilon, *QUICK]
    return run(*base, "--ledger", home / "b.ledger", "--dataset", "visits", *more)


def test_releases_add_up_until_the_cap(home: Path) -> None:
    assert synthesize(home, "one", 1).exit_code == 0
    assert synthesize(home, "two", 1).exit_code == 0
    refused = synthesize(home, "three", 2)
    assert refused.exit_code == 2
    assert "Nothing was read and nothing was spent" in refused.stderr
    assert len(refused.stderr.strip().splitlines()) <= 3
    assert not (home / "three").exists()
    answer = json.loads(run("ledger", "show", home / "b.ledger", "--json").stdout)
    (dataset,) = answer["datasets"]
    assert [r["state"] for r in dataset["runs"]] == ["finished", "finished"]
    assert dataset["cap"]["epsilon"] == 2
    one = understudy.load(home / "one")
    assert dataset["runs"][0]["run"] == one.manifest.run
    assert dataset["spent"]["rho"] == pytest.approx(2 * float(one.spent))
    assert 1 < dataset["spent"]["epsilon"] < 2  # less than the sum: they compose in zCDP
    assert not (home / "one.ledger").exists()


def test_a_release_names_its_dataset_and_a_head_and_no_path(home: Path) -> None:
    assert synthesize(home, "one", 1).exit_code == 0
    record = understudy.load(home / "one").manifest
    assert record.ledger is not None
    assert record.ledger.dataset == "visits"
    assert run("ledger", "verify", home / "b.ledger", "--head", record.ledger.head).exit_code == 0
    text = "".join(path.read_text("utf-8") for path in (home / "one").glob("*.*") if path.suffix in (".json", ".md"))
    assert "b.ledger" not in text
    assert str(home) not in text


def test_show_in_words(home: Path) -> None:
    synthesize(home, "one", 1)
    Ledger(home / "b.ledger").begin("visits", Budget.of(rho=0.001), {})
    result = run("ledger", "show", home / "b.ledger")
    for part in ("head ", "visits", "cap ", "spent ", "reserved ", "left ", "finished", "its whole budget counts"):
        assert part in result.stdout, part


def test_init_adds_and_does_not_change(home: Path) -> None:
    again = run("ledger", "init", home / "b.ledger", "--dataset", "visits", "--epsilon", 5)
    assert again.exit_code == 2
    assert "understudy ledger cap" in again.stderr
    assert run("ledger", "init", home / "b.ledger", "--dataset", "more", "--rho", 0.5).exit_code == 0
    raised = run("ledger", "cap", home / "b.ledger", "--dataset", "visits", "--epsilon", 3, "--json")
    assert json.loads(raised.stdout)["cap"]["epsilon"] == 3
    assert run("ledger", "cap", home / "b.ledger", "--dataset", "nobody", "--epsilon", 3).exit_code == 2
    assert run("ledger", "init", home / "c.ledger", "--dataset", "x").exit_code == 2
    assert not (home / "c.ledger").exists()


def test_verify_says_what_is_wrong(home: Path) -> None:
    synthesize(home, "one", 1)
    sound = run("ledger", "verify", home / "b.ledger")
    assert sound.exit_code == 0
    assert "Sound" in sound.stdout
    content = bytearray((home / "b.ledger").read_bytes())
    place = content.index(b"measure (age)")
    content[place] ^= 1
    (home / "b.ledger").write_bytes(content)
    wrong = run("ledger", "verify", home / "b.ledger", "--json")
    assert wrong.exit_code == 1
    assert "was changed" in " ".join(json.loads(wrong.stdout)["problems"])
    assert "NOT SOUND" in run("ledger", "verify", home / "b.ledger").stdout
    refused = synthesize(home, "two", 0.1)
    assert refused.exit_code == 2
    assert "does not verify" in refused.stderr
    for path in (home / "none", home / "visits.csv"):
        assert run("ledger", "show", path).exit_code == 2
    assert run("ledger", "verify", home / "none").exit_code == 2
    assert run("ledger", "verify", home / "visits.csv").exit_code == 1
    assert run("ledger", "verify", home / "b.ledger", "--head", "abc").exit_code == 2


def test_export_has_every_line(home: Path) -> None:
    synthesize(home, "one", 1)
    rows = list(csv.DictReader(io.StringIO(run("ledger", "export", home / "b.ledger").stdout)))
    listed = json.loads(run("ledger", "export", home / "b.ledger", "--json").stdout)
    assert [row["hash"] for row in rows] == [row["hash"] for row in listed]
    assert {"opened", "declared", "reserved", "charged", "finished"} <= {row["kind"] for row in rows}
    assert run("ledger", "export", home / "b.ledger", "-o", home / "x.json").exit_code == 0
    assert json.loads((home / "x.json").read_text()) == listed


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--ledger", "b.ledger"], "name of the dataset"),
        (["--dataset", "visits"], "name of the dataset"),
        (["--ledger", "b.ledger", "--dataset", "visit"], 'Did you mean "visits"'),
        (["--ledger", "b.ledger", "--dataset", "visits", "--seed", "1"], "not private"),
        (["--ledger", "none", "--dataset", "visits"], "no ledger at"),
        (["--ledger", "b.ledger", "--dataset", "visits", "--resume"], "none to resume"),
        (["--resume"], "no unfinished run"),
        (["--resume", "--seed", "1"], "not resumed"),
    ],
)
def test_mistakes_spend_nothing(home: Path, more: list[str], says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    before = Ledger("b.ledger").head()
    result = run("synthesize", "visits.csv", "-s", "visits.toml", "-o", "r", "-e", 1, *QUICK, *more)
    assert result.exit_code == 2
    assert says in result.stderr
    assert "othing was spent" in result.stderr
    assert len(result.stderr.strip().splitlines()) <= 3
    assert Ledger("b.ledger").head() == before
    assert not Path("r").exists()


def test_a_run_that_is_refused_before_it_reads_leaves_a_trace_and_no_spend(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Mechanism, "require", lambda *_: None)  # what is refused before a budget is reserved leaves none
    result = synthesize(home, "one", 1, "--mechanism", "aim", "--max-size", "1")
    assert result.exit_code == 2
    assert "Nothing was spent" in result.stderr
    (stopped,) = Ledger(home / "b.ledger").state().runs
    assert (stopped.state, stopped.counts) == ("stopped", 0)


def test_a_run_begun_anew_says_that_another_could_be_finished(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    assert run("ledger", "cap", home / "b.ledger", "--dataset", "visits", "--epsilon", 9).exit_code == 0
    with monkeypatch.context() as patch:
        patch.setattr(sys.modules["understudy.synthesize"], "_made", broken)
        first = synthesize(home, "one", 1)
    assert first.exit_code == 130
    assert "--resume" in first.stderr
    (stopped,) = Ledger(home / "b.ledger").state().runs
    again = synthesize(home, "one", 1)
    assert again.exit_code == 0
    (said,) = [line for line in again.stderr.splitlines() if stopped.name in line]
    assert "--resume" in said
    assert said.startswith("Run ")  # no place in the code
    assert stopped.name not in synthesize(home, "two", 1.5).stderr


@pytest.mark.parametrize("ledger", [["--ledger", "b.ledger", "--dataset", "visits"], []])
def test_resuming_a_finished_run_says_that_it_is_complete(
    home: Path, ledger: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home)
    command = ["synthesize", "visits.csv", "-s", "visits.toml", "-o", "done", "-e", 1, *QUICK, *ledger]
    assert run(*command).exit_code == 0
    before, made = Ledger("b.ledger").head(), (home / "done/release.json").read_bytes()
    for more in ([], ["--overwrite"]):
        again = run(*command, "--resume", *more)
        assert again.exit_code == 0, again.stderr
        assert "done is complete already: there was nothing to resume, and nothing was spent" in again.stderr
        assert "Release: " in again.stdout
    other = run(*command, "--resume", "--rows", 7)
    assert other.exit_code == 2
    assert "done holds a finished release of other settings" in other.stderr
    assert "overwrite" not in again.stderr + other.stderr
    assert (Ledger("b.ledger").head(), (home / "done/release.json").read_bytes()) == (before, made)
    assert not (home / "done.ledger").exists()


def test_the_release_of_another_dataset_is_not_taken_for_the_one_to_resume(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither where that other one has not begun, nor where it was stopped."""
    monkeypatch.chdir(home)
    assert run("ledger", "init", "b.ledger", "--dataset", "others", "--epsilon", 9).exit_code == 0
    command = ["synthesize", "visits.csv", "-s", "visits.toml", "-e", 1, *QUICK, "--ledger", "b.ledger", "--dataset"]
    assert run(*command, "visits", "-o", "done").exit_code == 0
    for stopped in (False, True):
        if stopped:
            with monkeypatch.context() as patch:
                patch.setattr(
                    sys.modules["understudy.synthesize"], "_made", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt)
                )
                assert run(*command, "others", "-o", "its own").exit_code == 130
        again = run(*command, "others", "-o", "done", "--resume")
        assert again.exit_code == 2
        assert "done holds a finished release of" in again.stderr
    assert run(*command, "others", "-o", "its own", "--resume").exit_code == 0


def test_a_run_that_was_to_replace_its_like_is_gone_on_with(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("ledger", "cap", home / "b.ledger", "--dataset", "visits", "--epsilon", 9).exit_code == 0
    assert synthesize(home, "one", 1).exit_code == 0
    first = json.loads((home / "one/release.json").read_text())["run"]

    def broken(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(sys.modules["understudy.synthesize"], "_made", broken)
        assert synthesize(home, "one", 1, "--overwrite").exit_code == 130
    assert synthesize(home, "one", 1, "--overwrite", "--resume").exit_code == 0
    assert json.loads((home / "one/release.json").read_text())["run"] != first
    assert [r.state for r in Ledger(home / "b.ledger").state().runs] == ["finished", "finished"]


def test_another_command_does_not_resume(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from understudy.source import StreamedSource

    def broken(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(StreamedSource, "count", broken)
        assert synthesize(home, "one", 1).exit_code == 130
    other = synthesize(home, "one", 1, "--rows", 7, "--resume")
    assert other.exit_code == 2
    assert "another rows (None, now 7)" in other.stderr
    assert synthesize(home, "one", 1, "--resume").exit_code == 0
    (only,) = Ledger(home / "b.ledger").state().runs
    assert (only.state, only.resumed) == ("finished", 1)


@pytest.mark.parametrize("left", ["nothing", "empty", "opened"])
def test_a_kill_before_the_run_had_begun_leaves_nothing_to_resume(tmp_path: Path, left: str) -> None:
    if left == "empty":
        (tmp_path / "r.ledger").touch()
    elif left == "opened":
        Ledger.create(tmp_path / "r.ledger")
    settings = {"epsilon": 5, "workload": "all-1way", "mechanism": "independent", "progress": False}
    with pytest.raises(LedgerError, match="no unfinished run"):
        understudy.synthesize(table(50), schema(), out=tmp_path / "r", resume=True, **settings)  # type: ignore[arg-type]
    understudy.synthesize(table(50), schema(), out=tmp_path / "r", **settings)  # type: ignore[arg-type]
    assert [path.name for path in tmp_path.iterdir()] == ["r"]


def test_a_seeded_run_is_not_resumed_as_a_private_one(tmp_path: Path) -> None:
    """Its first answers have noise that can be removed."""

    def stop(event: object) -> None:
        if isinstance(event, Measured):
            raise KeyboardInterrupt

    settings = {"epsilon": 5, "workload": "all-1way", "mechanism": "independent", "out": tmp_path / "r"}
    with pytest.raises(KeyboardInterrupt) as caught:
        understudy.synthesize(table(50), schema(), seed=3, progress=stop, **settings)  # type: ignore[arg-type]
    assert "resume" not in caught.value.__notes__[0]
    (left,) = Ledger(tmp_path / "r.ledger").state().runs
    assert not left.private
    with pytest.raises(LedgerError, match="another private"):
        understudy.synthesize(table(50), schema(), resume=True, **settings)  # type: ignore[arg-type]


def test_two_runs_on_one_folder_keep_both_records(tmp_path: Path) -> None:
    """Two processes race for the same folder: one saves, the other is refused or fails, and its spend stays on record."""
    pyarrow.csv.write_csv(table(), tmp_path / "visits.csv")
    (tmp_path / "visits.toml").write_text(SCHEMA, encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "understudy",
        "synthesize",
        "visits.csv",
        "-s",
        "visits.toml",
        "-e",
        "1",
        "-o",
        "r",
        *QUICK,
    ]
    both = [subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(2)]
    said = [child.communicate(timeout=120)[1].decode() for child in both]
    codes = sorted(child.returncode for child in both)
    assert codes in ([0, 2], [0, 0])
    release = understudy.load(tmp_path / "r")
    if codes == [0, 2]:
        loser = said[0] if both[0].returncode else said[1]
        spent = "stays spent" in loser
        runs = Ledger(tmp_path / "r.ledger").state().runs if (tmp_path / "r.ledger").exists() else ()
        assert spent == any(r.state == "stopped" and r.counts > 0 and r.name != release.manifest.run for r in runs)


def test_a_release_that_was_saved_before_the_kill_is_settled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed between the save and the settlement: resuming settles, and runs nothing."""
    from understudy.ledger import RunJournal

    settings = {"epsilon": 5, "workload": "all-1way", "mechanism": "independent", "progress": False}
    with monkeypatch.context() as patch:
        patch.setattr(RunJournal, "finish", lambda self: (_ for _ in ()).throw(LedgerError("gone")))
        with pytest.raises(LedgerError) as caught:
            understudy.synthesize(table(50), schema(), out=tmp_path / "r", **settings)  # type: ignore[arg-type]
    assert "settled with --resume" in caught.value.__notes__[-1]
    assert Ledger(tmp_path / "r.ledger").state().runs[0].state == "running"
    monkeypatch.setattr("understudy.privacy.door._counted", None)  # whoever reads now fails
    again = understudy.synthesize(table(50), schema(), out=tmp_path / "r", resume=True, **settings)  # type: ignore[arg-type]
    assert again.manifest.run == understudy.load(tmp_path / "r").manifest.run
    assert not (tmp_path / "r.ledger").exists()
    with pytest.raises(UserError):
        understudy.synthesize(table(50), schema(), out=tmp_path / "r", **settings)  # type: ignore[arg-type]
