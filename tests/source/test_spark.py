"""Spark: what its tasks do, what a task that is begun again changes, and what an error tells. The contract has the rest."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner

from contracts import spark
from contracts.people import CLIQUES, arrow, brute_force, random_people, schema
from release_tables import SCHEMA, quick, table
from understudy import load
from understudy.cli import main
from understudy.errors import SourceError
from understudy.release.frames import plain
from understudy.schema import parse_schema
from understudy.schema.column import Undivided
from understudy.source import open_source, unopened
from understudy.source import spark as source
from understudy.source.spark_tasks import BLOCK, Add, Count, Deal, Encode, Hold, add, from_records, to_records

here = pytest.mark.skipif(bool(spark.absent()), reason=spark.absent() or "-")
DECLARED = schema()
PERSONS = parse_schema('person = "id"\nrows_per_person = 2\n[columns.x]\nkind = "integer"\nmin = 0\nmax = 9\nother = 0\n')


# What tasks do, without Spark.


def encode() -> Encode:
    return Encode(DECLARED.columns, DECLARED.domain)


def batches(rows: int, seed: int) -> Iterator[pa.RecordBatch]:
    return iter(arrow(random_people(rows, 40, seed)).select([*DECLARED.domain]).to_batches(max_chunksize=70))


def total(task: Any, parts: list[Iterator[pa.RecordBatch]], cells: int) -> Any:
    """Run a task over partitions, add up by another, and put the blocks together."""
    counted = [pickle.loads(pickle.dumps(batch)) for part in parts for batch in task(part)]
    flat = np.zeros(cells, np.int64)
    for batch in Add(cells)(iter(counted)):
        for row in batch.to_pylist():
            add(flat[row["block"] * BLOCK :][:BLOCK], row["places"], row["counts"])
    return flat


@pytest.mark.parametrize("size", [7, 600])
def test_partial_counts_add_up_dense_or_sparse(size: int) -> None:
    """Two attributes of 600 codes have more cells than a block, and most of them are empty."""
    declared = parse_schema(
        "".join(
            f'[columns.{name}]\nkind = "integer"\nmin = 0\nmax = {size - 1}\nother = 0\nbins = {size}\n' for name in "ab"
        )
    )
    rng = np.random.default_rng(1)
    tables = [pa.table({name: rng.integers(0, size, 500) for name in "ab"}) for _ in range(3)]
    task = Count(declared.domain, (("b", "a"), ("a",)), Encode(declared.columns, declared.domain))
    flat = total(task, [iter(table.to_batches()) for table in tables], size * size + size)
    whole = pa.concat_tables(tables)
    expected = np.zeros((size, size), np.int64)
    np.add.at(expected, (whole["b"].to_numpy(), whole["a"].to_numpy()), 1)
    np.testing.assert_array_equal(flat, np.concatenate([expected.ravel(), expected.sum(axis=0)]))


def test_codes_that_are_kept_count_as_the_rows_do() -> None:
    cells = sum(map(DECLARED.domain.cells, CLIQUES))
    direct = total(Count(DECLARED.domain, tuple(CLIQUES), encode()), [batches(300, 1), batches(200, 2)], cells)
    kept = [encode()(batches(300, 1)), encode()(batches(200, 2))]
    np.testing.assert_array_equal(total(Count(DECLARED.domain, tuple(CLIQUES), None), kept, cells), direct)


def test_records_come_back() -> None:
    columns = [np.arange(5, dtype=np.uint64) << np.uint64(40), np.arange(5) % 2 == 0, np.arange(5, dtype=np.uint16) * 300]
    back = from_records(to_records(columns).reshape(-1), [column.dtype for column in columns])
    for one, other in zip(back, columns, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.promise(16)
def test_a_bucket_keeps_so_many_rows_of_each_person_and_all_of_nobodys() -> None:
    person = PERSONS.person
    assert person is not None
    encode = Encode(PERSONS.columns, PERSONS.domain)
    ids = [*["a"] * 30, *["b"], *[None] * 7, *["c"] * 3]
    table = pa.table({"x": [i % 10 for i in range(len(ids))], "id": pa.array(ids, pa.string())})
    dealt = pa.Table.from_batches(Deal(encode, person)(iter(table.to_batches(max_chunksize=9))))
    buckets = {
        number: dealt.filter(pa.compute.equal(dealt["bucket"], number)) for number in set(dealt["bucket"].to_pylist())
    }
    assert len(buckets) > 3
    used = [Hold(encode.domain.sizes, 2)(bucket) for bucket in buckets.values()]
    assert sum(len(cell.as_buffer()) for kept in used for cell in kept["records"]) == 2 + 1 + 7 + 2


@pytest.mark.promise(31)
def test_a_task_that_fails_tells_nothing_of_the_rows() -> None:
    class Broken(Undivided):
        name = "x"

        def encode(self, values: Any) -> Any:
            raise ValueError(f"CANARY {values}")

    for task in (Encode((Broken(),), PERSONS.domain), Count(PERSONS.domain, (("x",),), Encode((Broken(),), PERSONS.domain))):
        with pytest.raises(SourceError, match="details withheld") as found:
            list(task(iter(pa.table({"x": [1]}).to_batches())))
        assert "CANARY" not in str(found.value)
        assert found.value.__context__ is None


# The source, over a frame that does here what Spark does elsewhere.


class DataFrame:
    """Partitions of Arrow batches, with as much of Spark's DataFrame as the source uses; each task is begun twice."""

    def __init__(self, partitions: Sequence[pa.Table], read: list[str] | None = None) -> None:
        self._partitions, self.read = list(partitions), [] if read is None else read

    @property
    def columns(self) -> list[str]:
        return list(self._partitions[0].column_names)

    def select(self, *names: str) -> DataFrame:
        plain = [name[1:-1].replace("``", "`") for name in names]
        self.read += plain
        return DataFrame([part.select(plain) for part in self._partitions], self.read)

    def mapInArrow(self, task: Any, columns: str) -> DataFrame:
        made = []
        for part in self._partitions:
            sent = pickle.loads(pickle.dumps(task))
            next(sent(iter(part.to_batches(max_chunksize=50))), None)  # begun and lost
            found = list(sent(iter(part.to_batches(max_chunksize=50))))
            made.append(pa.Table.from_batches(found) if found else _none(columns))
        return DataFrame(made)

    def repartition(self, by: str) -> DataFrame:
        """Rows of one number may lie in two partitions: their sums must add up all the same."""
        whole = pa.concat_tables(self._partitions)
        return DataFrame([whole.take(pa.array(range(i, len(whole), 2), pa.int64())) for i in range(2)])

    def groupBy(self, by: str) -> DataFrame:
        whole = pa.concat_tables(self._partitions)
        numbers = sorted(set(whole[by].to_pylist()))
        return DataFrame([whole.filter(pa.compute.equal(whole[by], number)) for number in numbers])

    def applyInArrow(self, task: Any, columns: str) -> DataFrame:
        return DataFrame([task(part) for part in self._partitions] or [_none(columns)])

    def persist(self) -> DataFrame:
        return self

    def collect(self) -> list[dict[str, Any]]:
        return [row for part in self._partitions for row in part.to_pylist()]


DataFrame.__module__ = "pyspark.sql.fake"


def _none(columns: str) -> pa.Table:
    kinds = {"int": pa.int32(), "binary": pa.binary()}
    return pa.schema([(name, kinds[kind]) for name, kind in (one.split() for one in columns.split(", "))]).empty_table()


@pytest.mark.parametrize("cells", [30, 1 << 24])
def test_counts_are_those_of_a_walk_over_the_rows(cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "PASS_CELLS", cells)
    rows = random_people(300, 40, 6)
    made = open_source(DataFrame([arrow(rows[:120]), arrow(rows[120:120]), arrow(rows[120:])]), DECLARED)
    for _ in range(2):
        for clique, counts in zip(CLIQUES, made.count(CLIQUES), strict=True):
            np.testing.assert_array_equal(counts, brute_force(rows, clique))


def test_only_the_columns_that_are_named_are_read() -> None:
    frame = DataFrame([arrow(random_people(30, 10, 7))])
    made = open_source(frame, DECLARED)
    made.count([("age", "city")])
    assert sorted(frame.read) == ["age", "city"]


@pytest.mark.promise(16)
def test_persons_are_held_to_their_limit_wherever_their_rows_lie() -> None:
    table = pa.table({"x": [i % 10 for i in range(600)], "id": [str(i % 70) if i % 9 else None for i in range(600)]})
    made = open_source(DataFrame([table.slice(0, 250), table.slice(250, 50), table.slice(300)]), PERSONS)
    np.testing.assert_array_equal(made.count([("x",)])[0], open_source(table, PERSONS).count([("x",)])[0])


# On a real session.


@here
def test_many_cells_take_several_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "PASS_CELLS", 30)
    rows = random_people(400, 60, 3)
    found = open_source(spark.session().createDataFrame(arrow(rows)), DECLARED).count(CLIQUES[:4])
    for clique, counts in zip(CLIQUES[:4], found, strict=True):
        np.testing.assert_array_equal(counts, brute_force(rows, clique))


@here
@pytest.mark.parametrize("limited", [False, True])
def test_a_worker_that_dies_changes_nothing(limited: bool, tmp_path: Path) -> None:
    """The first task to come here kills its process; Spark begins it again elsewhere."""
    from pyspark.sql import types

    def once(found: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in found:
            yield batch
            try:
                os.close(os.open(tmp_path / "killed", os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                continue
            os.kill(os.getpid(), 9)

    table = pa.table({"x": [i % 10 for i in range(4000)], "id": [str(i % 700) for i in range(4000)]})
    kinds = types.StructType([types.StructField("x", types.LongType()), types.StructField("id", types.StringType())])
    frame = spark.session().createDataFrame(table).repartition(4).mapInArrow(once, kinds)
    declared = PERSONS if limited else parse_schema('[columns.x]\nkind = "integer"\nmin = 0\nmax = 9\nother = 0\n')
    (counts,) = open_source(frame, declared).count([("x",)])
    assert (tmp_path / "killed").exists()
    np.testing.assert_array_equal(counts, open_source(table, declared).count([("x",)])[0])


@here
@pytest.mark.promise(29)
def test_no_row_is_read_before_the_first_count(tmp_path: Path) -> None:
    def read(found: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        (tmp_path / "read").touch()
        yield from found

    frame = spark.session().createDataFrame(arrow(random_people(10, 5, 1)))
    watched = unopened(frame.mapInArrow(read, frame.schema), DECLARED)
    assert not (tmp_path / "read").exists()
    watched.count([("age",)])
    assert (tmp_path / "read").exists()


@here
@pytest.mark.promise(31)
def test_an_error_of_spark_tells_nothing_of_the_rows() -> None:
    frame = spark.session().sql("SELECT CAST(word AS INT) AS x FROM VALUES ('CANARY') AS t(word)")
    declared = parse_schema('[columns.x]\nkind = "integer"\nmin = 0\nmax = 9\nother = 0\n')
    with pytest.raises(SourceError, match="details withheld") as found:
        open_source(frame, declared).count([("x",)])
    assert "CANARY" not in str(found.value)


ODD = """SELECT * FROM VALUES
    ('A', DATE'2021-01-01', TIMESTAMP'2021-06-01 00:00:00', CAST(1 AS DECIMAL(38, 0))),
    (CAST(X'FFFE41' AS STRING), DATE'9999-12-31', TIMESTAMP'294247-01-10 00:00:00', CAST(repeat('9', 38) AS DECIMAL(38, 0))),
    ('B', DATE'-0001-01-01', TIMESTAMP'0001-01-01 00:00:00', NULL),
    (NULL, DATE'294000-12-31', NULL, CAST(5 AS DECIMAL(38, 0)))
    AS t(city, day, moment, amount)"""
ODD_SCHEMA = """
[columns.city]
kind = "categorical"
values = ["A", "B"]
other = "elsewhere"
nullable = true
[columns.day]
kind = "date"
min = 2020-01-01
max = 2023-12-31
width = "year"
nullable = true
[columns.moment]
kind = "datetime"
min = 2020-01-01T00:00:00
max = 2023-12-31T00:00:00
width = "year"
nullable = true
timezone = "UTC"
[columns.amount]
kind = "real"
min = 0
max = 9
bins = 3
nullable = true
"""


@here
@pytest.mark.promise(27)
@pytest.mark.promise(28)
def test_odd_values_cost_their_own_row() -> None:
    declared = parse_schema(ODD_SCHEMA)
    cliques = [(name,) for name in declared.domain]
    found = open_source(spark.session().sql(ODD), declared).count(cliques)
    tame = open_source(spark.session().sql(f"{ODD} WHERE city = 'A'"), declared).count(cliques)
    for all_of_them, one in zip(found, tame, strict=True):
        assert all_of_them.sum() == 4
        assert one.sum() == 1
        assert (all_of_them >= one).all()


@here
def test_a_column_that_is_missing_is_told_before_anything_is_spent() -> None:
    frame = spark.session().sql("SELECT 1 AS agee")
    with pytest.raises(SourceError, match="lacks 5 of the 5 columns"):
        unopened(frame, DECLARED)


@here
def test_from_a_frame_or_a_name_to_a_release(tmp_path: Path) -> None:
    frame = spark.session().createDataFrame(table(80).cast(plain(table(80)).schema))
    made = quick(frame)
    assert type(made.table) is type(frame)
    assert made.table.count() == made.manifest.table.rows
    assert made.codes.tolist() == quick(table(80)).codes.tolist()
    frame.createOrReplaceTempView("visits")
    frame.write.parquet(str(tmp_path / "visits"))
    (tmp_path / "visits.toml").write_text(SCHEMA)
    rest = [
        "-s",
        tmp_path / "visits.toml",
        "-e",
        5,
        "-w",
        "all-1way",
        "--mechanism",
        "independent",
        "--seed",
        1,
        "--no-report",
    ]
    for number, named in enumerate((["--spark", "visits"], [tmp_path / "visits", "--engine", "spark"])):
        command = ["synthesize", *named, *rest, "-o", tmp_path / str(number)]
        result = CliRunner().invoke(main, [str(word) for word in command])
        assert result.exit_code == 0, result.output
        assert load(tmp_path / str(number)).codes.tolist() == made.codes.tolist()
    missing = CliRunner().invoke(main, ["synthesize", "--spark", "no.such", *map(str, rest), "-o", str(tmp_path / "2")])
    assert missing.exit_code == 2
    assert "Nothing was spent" in missing.stderr
