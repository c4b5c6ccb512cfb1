"""A sample that Spark's executors draw: the same rows and files as without Spark, also where a task is begun twice."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from contracts import spark
from release_tables import quick, table
from understudy import Release
from understudy.cli import main
from understudy.errors import SchemaError, SourceError
from understudy.release import parts
from understudy.release import spark as drawn
from understudy.release.frames import plain
from understudy.release.parts import Parts, Sample

here = pytest.mark.skipif(bool(spark.absent()), reason=spark.absent() or "-")
SEED, ROWS = 7, 450


@pytest.fixture(scope="module")
def release() -> Release:
    return quick(table(60), seed=None)


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "MOST_ROWS", 100)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def numbers(*which: int) -> Iterator[pa.RecordBatch]:
    return iter([pa.RecordBatch.from_pydict({"id": list(which)})])


def travelled(task: Any) -> Any:
    """As a task reaches an executor."""
    drawn.opened.cache_clear()
    return pickle.loads(pickle.dumps(task))


# What tasks do, without Spark.


def test_a_task_draws_the_rows_that_anybody_draws(release: Release, tmp_path: Path) -> None:
    sample = Sample.of(release, ROWS, {"sex": "F"}, SEED)
    task = travelled(drawn.Rows(drawn.packed(release), sample))
    found = pa.Table.from_batches([*task(numbers(1, 0)), *task(numbers(4))])
    release.sample_to(tmp_path / "s", ROWS, {"sex": "F"}, seed=SEED, workers=1)
    files = [pq.read_table(tmp_path / "s" / f"part-{part:06d}.parquet") for part in (1, 0, 4)]
    assert found.equals(plain(pa.concat_tables(files)).replace_schema_metadata(None))


def test_the_table_of_the_release_stays_here(release: Release) -> None:
    """Executors get the model; the synthetic table may be large."""
    more = quick(table(60), seed=None, rows=20_000)
    assert len(drawn.packed(more)) < len(drawn.packed(release)) + 10_000


def test_a_task_that_is_begun_twice_writes_the_same_file_under_names_of_its_own(release: Release, tmp_path: Path) -> None:
    asked = Sample.of(release, ROWS, None, SEED)
    folder = Parts.begun(tmp_path / "s", asked, seeded=True)
    task = travelled(drawn.Files(drawn.packed(release), asked, str(folder.folder), folder.mine, [2, 4]))
    first, second = task(numbers(0)), task(numbers(0))
    assert next(first).to_pydict() == {"part": [2]}
    before = contents(folder.folder)
    assert next(second).to_pydict() == {"part": [2]}
    assert contents(folder.folder) == before
    assert folder.missing() == [0, 1, 3, 4]
    (folder.folder / f".part-000000.parquet.{folder.mine}.abc").touch()  # of an executor that was lost
    folder.clear()
    assert contents(folder.folder) == before


def test_what_cannot_be_drawn_is_refused_before_spark_is_asked(release: Release, tmp_path: Path) -> None:
    with pytest.raises(SchemaError):
        release.sample_frame(None, 10, {"nothing": 1})
    with pytest.raises(SchemaError):
        release.sample_to(tmp_path / "s", 10, {"nothing": 1}, session=object())
    assert not (tmp_path / "s").exists()


def test_the_engine_is_for_folders(release: Release, tmp_path: Path) -> None:
    release.save(tmp_path / "r")
    said = CliRunner().invoke(main, ["sample", str(tmp_path / "r"), "--rows", "5", "--engine", "spark"])
    assert said.exit_code == 2
    assert "--out folder/" in said.stderr


# With Spark.


@here
def test_spark_writes_the_same_files_and_goes_on_with_what_is_there(release: Release, tmp_path: Path) -> None:
    told: list[int] = []
    alone = contents(release.sample_to(tmp_path / "1", ROWS, seed=SEED, workers=1))
    release.sample_to(tmp_path / "2", ROWS, seed=SEED, session=spark.session(), progress=told.append)
    assert contents(tmp_path / "2") == alone
    assert (told[0], told[-1]) == (0, ROWS)
    near = contents(release.sample_to(tmp_path / "3", ROWS, seed=SEED, workers=1, refined=True))
    assert contents(release.sample_to(tmp_path / "4", ROWS, seed=SEED, refined=True, session=spark.session())) == near
    (tmp_path / "2" / "part-000003.parquet").unlink()
    times = {path: path.stat().st_mtime_ns for path in (tmp_path / "2").iterdir()}
    release.sample_to(tmp_path / "2", ROWS, seed=SEED, session=spark.session())
    assert contents(tmp_path / "2") == alone
    assert all(path.stat().st_mtime_ns == time for path, time in times.items())


@here
def test_a_frame_of_spark_has_the_same_rows(release: Release, tmp_path: Path) -> None:
    frame = release.sample_frame(spark.session(), ROWS, seed=SEED)
    assert frame.rdd.getNumPartitions() == 5
    release.sample_to(tmp_path / "1", ROWS, seed=SEED, workers=1)
    wanted = plain(pq.read_table(tmp_path / "1"))
    found = frame.toArrow()
    assert found.column_names == wanted.column_names
    key = [json.dumps(row, default=str) for row in found.cast(wanted.schema).to_pylist()]
    assert sorted(key) == sorted(json.dumps(row, default=str) for row in wanted.to_pylist())


@here
def test_a_worker_of_spark_that_dies_changes_nothing(
    release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first to come to the third part kills its process; Spark begins the task again."""
    alone = contents(release.sample_to(tmp_path / "1", ROWS, seed=SEED, workers=1))
    mark, real = tmp_path / "killed", drawn._mapped

    def deadly(session: Any, parts: int, task: Any, types: Any) -> Any:
        def once(found: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in found:
                if batch.column(0)[0].as_py() == 2:
                    try:
                        os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
                        os.kill(os.getpid(), 9)
                    except FileExistsError:
                        pass
                yield from task(iter([batch]))

        return real(session, parts, once, types)

    monkeypatch.setattr(drawn, "_mapped", deadly)
    release.sample_to(tmp_path / "2", ROWS, seed=SEED, session=spark.session())
    assert mark.exists()
    assert contents(tmp_path / "2") == alone


@here
def test_spark_files_that_went_elsewhere_are_told(release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Parts, "missing", lambda self: [0, 1])
    with pytest.raises(SourceError, match=r"written 0 of 2 parts .*share"):
        release.sample_to(tmp_path / "2", ROWS, seed=SEED, session=spark.session())


@here
def test_the_command_on_spark(release: Release, tmp_path: Path) -> None:
    release.save(tmp_path / "r")
    command = ["sample", str(tmp_path / "r"), "--rows", str(ROWS), "--seed", str(SEED), "--engine", "spark"]
    said = CliRunner().invoke(main, [*command, "--out", str(tmp_path / "more") + "/"])
    assert said.exit_code == 0, said.output
    assert contents(tmp_path / "more") == contents(release.sample_to(tmp_path / "1", ROWS, seed=SEED, workers=1))
