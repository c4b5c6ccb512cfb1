"""A sample in parts: the same rows by any number of processes, gone on with, never mixed with another, cleanly ended."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from release_tables import quick, table
from understudy import Release, UserError, load
from understudy.cli import main
from understudy.model import rounding_distance
from understudy.release import crew, parts
from understudy.release.tables import read_table
from understudy.uncertainty import TableMarginals

SEED = 7


@pytest.fixture(scope="module")
def release() -> Release:
    return quick(table(60), seed=None)


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "MOST_ROWS", 100)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_same_rows_by_any_number_of_processes(release: Release, tmp_path: Path) -> None:
    told: list[int] = []
    alone = contents(release.sample_to(tmp_path / "1", 450, seed=SEED, workers=1))
    crowd = contents(release.sample_to(tmp_path / "2", 450, seed=SEED, workers=2, progress=told.append))
    assert alone == crowd
    assert sorted(alone) == ["_sample.json", *(f"part-{i:06d}.parquet" for i in range(5))]
    assert sorted(told) == told
    assert (told[0], told[-1], len(told)) == (0, 450, 6)
    rows = pq.read_table(tmp_path / "1")
    assert rows.num_rows == 450
    assert rows.schema.remove_metadata() == release.schema.arrow_schema
    assert len({bytes(content) for content in alone.values()}) == 6, "no two parts are the same"
    other = contents(release.sample_to(tmp_path / "other", 450, seed=SEED + 1, workers=1))
    assert other["part-000000.parquet"] != alone["part-000000.parquet"]


def test_refined_parts_are_nearer_to_the_model_on_the_workload(tmp_path: Path) -> None:
    """By any number of processes the same; another sample than one that is not refined."""
    release = quick(table(400), seed=None, mechanism="aim", workload="all-2way")
    cliques = list(release.workload.cliques)
    expected = release.model.marginals(cliques)
    far = []
    for refined in (False, True):
        folder = release.sample_to(tmp_path / str(refined), 300, seed=SEED, workers=1, refined=refined)
        found = []
        for path in folder.glob("*.parquet"):
            rows = TableMarginals(release.domain, release.schema.encode(pq.read_table(path)))
            found += [
                np.abs(made / 100 - right / release.model.total).sum()
                for made, right in zip(rows.marginals(cliques), expected, strict=True)
            ]
        far.append(np.mean(found))
    assert far[1] < 0.95 * far[0]  # 0.24 and 0.28
    crowd = release.sample_to(tmp_path / "crowd", 300, seed=SEED, workers=2, refined=True)
    assert contents(crowd) == contents(tmp_path / "True")
    with pytest.raises(UserError, match="a sample with refined = True"):
        release.sample_to(crowd, 300, seed=SEED)


def test_each_part_is_near_the_model(release: Release, tmp_path: Path) -> None:
    release.sample_to(tmp_path / "s", 300, workers=1)
    for path in (tmp_path / "s").glob("*.parquet"):
        codes = release.schema.encode(pq.read_table(path))
        for position, name in enumerate(release.domain):
            expected = release.model.marginal([name]) * 100 / release.model.total
            found = np.bincount(codes[:, position], minlength=len(expected))
            assert np.abs(found - expected).sum() <= rounding_distance(release.model, (name,), 100).most


def test_what_was_stopped_goes_on(release: Release, tmp_path: Path) -> None:
    folder = release.sample_to(tmp_path / "s", 350, workers=1)  # the folder keeps the seed that was made up
    before = contents(folder)
    (folder / "part-000001.parquet").unlink()
    cut = folder / "part-000002.parquet"
    cut.write_bytes(cut.read_bytes()[:-40])
    kept = (folder / "part-000000.parquet").stat()
    told: list[int] = []
    release.sample_to(folder, 350, workers=1, progress=told.append)
    assert contents(folder) == before
    assert (folder / "part-000000.parquet").stat() == kept
    assert told == [150, 250, 350]


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"rows": 301}, "300 rows"),
        ({"seed": SEED + 1}, f"the seed {SEED}"),
        ({"given": {"sex": "F"}}, "the given values"),
        ({"release": 2}, "another release"),
    ],
)
def test_a_folder_with_another_sample_is_refused(asked: dict[str, Any], why: str, release: Release, tmp_path: Path) -> None:
    release.sample_to(tmp_path / "s", 300, seed=SEED, workers=1)
    before = contents(tmp_path / "s")
    drawn = quick(table(60), seed=None) if asked.pop("release", None) else release
    with pytest.raises(UserError, match=why):
        drawn.sample_to(tmp_path / "s", **({"rows": 300, "seed": SEED, "workers": 1} | asked))
    assert contents(tmp_path / "s") == before


def test_a_folder_with_something_else_is_refused(release: Release, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(UserError, match="something else"):
        release.sample_to(tmp_path, 10)
    (tmp_path / "mine.txt").rename(tmp_path / "_sample.json")
    with pytest.raises(UserError, match="damaged"):
        release.sample_to(tmp_path, 10)


def test_given_values_are_in_every_row(release: Release, tmp_path: Path) -> None:
    release.sample_to(tmp_path / "s", 250, {"sex": "F", "age": 70}, workers=1)
    drawn = pq.read_table(tmp_path / "s")
    assert set(drawn["sex"].to_pylist()) == {"F"}
    assert set(drawn["age"].to_pylist()) == {70}
    with pytest.raises(UserError, match="no value"):
        release.sample_to(tmp_path / "t", 250, {"sex": "X"})
    assert not (tmp_path / "t").exists()


@pytest.mark.promise(32)
def test_parts_of_a_seeded_release_say_that_they_are_not_private(tmp_path: Path) -> None:
    quick(table(60)).sample_to(tmp_path / "s", 150, workers=1)
    assert sorted(path.name for path in (tmp_path / "s").glob("part*")) == [
        "part-000000.NOT-PRIVATE.parquet",
        "part-000001.NOT-PRIVATE.parquet",
    ]
    for path in (tmp_path / "s").iterdir():
        assert b"NOT PRIVATE" in path.read_bytes()


@pytest.mark.promise(34)
def test_a_part_carries_no_metadata_but_its_types(release: Release, tmp_path: Path) -> None:
    release.sample_to(tmp_path / "s", 10, workers=1)
    found = pq.read_schema(tmp_path / "s" / "part-000000.parquet").metadata
    assert not found


def test_a_stop_leaves_no_process_and_nothing_half_written(
    release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[subprocess.Popen[bytes]] = []
    start = crew._start
    monkeypatch.setattr(crew, "_start", lambda *a: started.append(start(*a)) or started[-1])

    def stop(there: int) -> None:
        if there:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        release.sample_to(tmp_path / "s", 2000, seed=SEED, progress=stop)
    assert len(started) == 2
    assert all(process.poll() is not None for process in started)
    assert [path.name for path in (tmp_path / "s").iterdir() if path.name.startswith(".")] == []
    whole = release.sample_to(tmp_path / "whole", 2000, seed=SEED, workers=1)
    assert contents(release.sample_to(tmp_path / "s", 2000, seed=SEED, workers=1)) == contents(whole)


def test_a_process_that_dies_is_told(release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dying = [sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"]
    monkeypatch.setattr(crew, "_start", lambda folder, number, report: subprocess.Popen(dying, stdout=report))
    with pytest.raises(UserError, match="Run this again to go on"):
        release.sample_to(tmp_path / "s", 300)


@pytest.mark.parametrize("workers", [1, 2])
def test_what_the_system_refuses_is_told(workers: int, release: Release, tmp_path: Path) -> None:
    release.sample_to(tmp_path / "s", 200, workers=1)
    for part in (0, 1):
        (tmp_path / "s" / f"part-{part:06d}.parquet").unlink()
        (tmp_path / "s" / f"part-{part:06d}.parquet").mkdir()
    with pytest.raises(OSError, match="part-00000"):
        release.sample_to(tmp_path / "s", 200, workers=workers)


def test_the_command(release: Release, tmp_path: Path) -> None:
    release.save(tmp_path / "r", report=False)
    command = ["sample", str(tmp_path / "r"), "--rows", "1_000", "--seed", "3", "--workers", "1"]
    for folder in (f"{tmp_path}/dotted.name/", f"{tmp_path}/plain"):
        result = CliRunner().invoke(main, [*command, "--out", folder])
        assert (result.exit_code, result.stdout) == (0, "")
        assert f"1,000 rows are in {folder}" in result.stderr
    assert contents(tmp_path / "plain") == contents(tmp_path / "dotted.name")
    assert json.loads((tmp_path / "plain" / "_sample.json").read_text())["rows"] == 1000
    assert contents(load(tmp_path / "r").sample_to(tmp_path / "py", 1000, seed=3, workers=1)) == contents(tmp_path / "plain")
    whole = pq.read_table(tmp_path / "plain")
    for kind in ("csv", "parquet"):
        assert CliRunner().invoke(main, [*command, "--out", f"{tmp_path}/rows.{kind}"]).exit_code == 0
        assert read_table(tmp_path / f"rows.{kind}", release.schema).equals(whole), "the same rows, in one file"
    wrong = CliRunner().invoke(main, [*command, "--out", str(tmp_path / "rows.txt")])
    assert wrong.exit_code == 2
    assert "must end in .csv or .parquet" in wrong.stderr


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_file_that_was_cut_short_never_has_its_name(
    release: Release, ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that is full, a key, a kill: what was there before stays, or nothing is there."""
    release.save(tmp_path / "r")
    (tmp_path / "s").mkdir()
    target, whole = tmp_path / "s" / f"t.{ending}", parts.draw

    def cut_short(*arguments: Any) -> Any:
        yield next(whole(*arguments))
        raise OSError(28, "No space left on device")

    command = ["sample", str(tmp_path / "r"), "--rows", "250", "-o", str(target)]
    before: list[bytes] = []
    for _ in range(2):
        with monkeypatch.context() as patched:
            patched.setattr(sys.modules["understudy.cli.sample"], "draw", cut_short)
            assert CliRunner().invoke(main, command).exit_code == 2
        assert [path.read_bytes() for path in target.parent.iterdir()] == before
        assert CliRunner().invoke(main, command).exit_code == 0
        before = [target.read_bytes()]


def test_a_pipe_with_a_name_is_written_to(release: Release, tmp_path: Path) -> None:
    release.save(tmp_path / "r")
    os.mkfifo(tmp_path / "t.csv")
    reader = subprocess.Popen(["cat", str(tmp_path / "t.csv")], stdout=subprocess.PIPE)
    command = ["sample", str(tmp_path / "r"), "--rows", "250", "-o", str(tmp_path / "t.csv")]
    assert CliRunner().invoke(main, command).exit_code == 0
    assert len(reader.communicate()[0].splitlines()) == 251
