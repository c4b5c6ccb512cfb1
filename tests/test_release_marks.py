"""A release that is not private says so in each file by itself, in the frame in Python, and in what is made of it later."""

from __future__ import annotations

import json
import shutil
import warnings
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

import understudy
from release_tables import columns, quick, table
from understudy.cli import main
from understudy.errors import FormatError
from understudy.manifest import NOT_PRIVATE
from understudy.report import write_evaluation, write_report
from understudy.request import Output

pytestmark = pytest.mark.promise(32)


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def says(path: Path) -> bool:
    """Whether a file says by itself, or in its own name, that it is not private."""
    return b"NOT PRIVATE" in path.read_bytes() or "NOT-PRIVATE" in path.name


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(a) for a in arguments])


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("private", [False, True])
def test_every_file_says_it_alone(kind: Any, private: bool, tmp_path: Path) -> None:
    release = quick(table(60), seed=None if private else 1, out=Output(tmp_path / "r", kind))
    found = files(tmp_path / "r")
    assert {path.suffix for path in found} == {f".{kind}", ".html", ".md", ".json", ".toml", ".npy"}
    assert len(found) >= 9
    assert [path.name for path in found if says(path) is private] == []
    again = understudy.load(tmp_path / "r")
    assert again.private is private
    assert again.codes.tolist() == release.codes.tolist()
    assert again.measurements[0].values.tolist() == release.measurements[0].values.tolist()


def test_the_table_is_still_one_that_every_reader_reads(tmp_path: Path) -> None:
    release = quick(table(60))
    release.save(tmp_path / "c")
    release.save(tmp_path / "p", format="parquet")
    assert pd.read_csv(tmp_path / "c" / "synthetic.NOT-PRIVATE.csv").shape == (release.manifest.table.rows, 9)
    parquet = tmp_path / "p" / "synthetic.NOT-PRIVATE.parquet"
    assert pl.read_parquet(parquet).shape == (release.manifest.table.rows, 9)
    renamed = shutil.copy(parquet, tmp_path / "t.parquet")
    assert json.loads(pq.read_schema(renamed).metadata[b"understudy"])["notice"] == NOT_PRIVATE


def test_a_seeded_release_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    """Its table, its numbers and its model had no mark of their own."""
    quick(table(60)).save(tmp_path / "r")
    plain = tmp_path / "plain"
    quick(table(60), seed=None).save(plain)
    document = json.loads((plain / "release.json").read_text(encoding="utf-8"))
    changed = json.dumps({**document, "private": False, "notice": NOT_PRIVATE})
    (plain / "release.json").write_text(changed, encoding="utf-8")
    assert not understudy.load(plain).private
    text = (tmp_path / "r" / "release.json").read_text(encoding="utf-8")
    (tmp_path / "r" / "release.json").write_text(text.replace('"private": false', '"private": true'), encoding="utf-8")
    with pytest.raises(FormatError, match="not private"):
        understudy.load(tmp_path / "r")


@pytest.mark.parametrize("private", [False, True])
def test_the_frame_says_it(private: bool) -> None:
    seed = None if private else 1
    for data in (table(60), table(60).to_pandas(), table(60).to_pandas(types_mapper=pd.ArrowDtype)):
        release = quick(data, seed=seed)
        for made in (release.table, release.sample(3), release.sample(3, {"sex": "F"})):
            mark = (made.schema.metadata or {}) if isinstance(made, pa.Table) else made.attrs
            assert ("NOT PRIVATE" in str(mark)) is not private
            assert bool(mark) is not private
        assert ("NOT PRIVATE" in str(release.arrow.schema.metadata)) is not private
        assert ("NOT PRIVATE" in repr(release)) is not private
        assert ("NOT PRIVATE" in release._repr_html_()) is not private


@pytest.mark.parametrize("private", [False, True])
def test_where_a_table_cannot_say_it_a_warning_does(private: bool) -> None:
    frame = pl.from_arrow(table(60))
    codes = quick(table(60)).schema.encode(table(60))
    for data in (frame, frame.lazy(), columns(60), codes):
        release = quick(data, seed=None if private else 1)
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            release.table  # noqa: B018 made when it is looked at
            release.sample(2)
        assert ["NOT PRIVATE" in str(w.message) for w in warned] == ([] if private else [True, True])


def test_what_is_made_of_it_later_says_it(tmp_path: Path) -> None:
    release = quick(table(60), out=tmp_path / "r")
    (tmp_path / "s").mkdir()
    for name in ("more.csv", "more.parquet", "less.NOT-PRIVATE.csv"):
        result = run("sample", tmp_path / "r", "-n", 4, "-o", tmp_path / "s" / name)
        assert result.exit_code == 0, result.stderr
        assert "NOT-PRIVATE" in result.stderr.splitlines()[-1]
    names = ["less.NOT-PRIVATE.csv", "more.NOT-PRIVATE.csv", "more.NOT-PRIVATE.parquet"]
    assert [path.name for path in files(tmp_path / "s")] == names
    for command in (["sample", tmp_path / "r", "-n", 2], ["query", tmp_path / "r", "sex"]):
        answer = json.loads(run(*command, "--json").stdout)
        assert answer["private"] is False
        assert "NOT PRIVATE" in answer["notice"]
    write_report(release, tmp_path / "page.html")
    write_evaluation(understudy.evaluate(table(60), release), tmp_path / "compared.html")
    assert says(tmp_path / "page.html")
    assert says(tmp_path / "compared.html")
    assert "NOT PRIVATE" in understudy.evaluate(table(60), release).describe()["notice"]
    assert "NOT PRIVATE" in release.marginal("sex").promise()


def test_the_command_lists_the_files_by_their_names(tmp_path: Path) -> None:
    pq.write_table(table(60), tmp_path / "visits.parquet")
    quick(table(60)).save(tmp_path / "first")
    base = ["-s", tmp_path / "first" / "schema.toml", "-e", 4, "-w", "all-1way", "--mechanism", "independent", "--seed", 1]
    result = run("synthesize", tmp_path / "visits.parquet", *base, "-o", tmp_path / "r")
    assert result.exit_code == 0, result.stderr
    assert f"{tmp_path}/r/synthetic.NOT-PRIVATE.parquet" in result.stdout
    assert (
        str(Path("model", "model.json"))
        in json.loads(run("synthesize", tmp_path / "visits.parquet", *base, "-o", tmp_path / "r2", "--json").stdout)["files"]
    )
