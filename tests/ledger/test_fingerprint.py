"""A run is resumed only with the table that it began with; its fingerprint is in the owner's ledger, for so long."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import understudy
import understudy.schema
from release_tables import schema, table
from understudy.domain import Domain
from understudy.errors import FormatError, LedgerError
from understudy.ledger import Ledger, Run
from understudy.ledger.store import reading, writing
from understudy.mechanism import Measured
from understudy.privacy.fingerprint import MOST_CELLS, fingerprint, fingerprinted

from .small import FACTS, fresh, play, stopped

ROWS = 60
SETTINGS: dict[str, Any] = {"rho": 1, "workload": "all-1way", "mechanism": "independent"}


class Stop(Exception):
    pass


def stopping(event: object) -> None:
    if isinstance(event, Measured):
        raise Stop


def begun(data: Any, out: Path) -> Run:
    """Leave a run behind that has seen one answer."""
    with pytest.raises(Stop):
        understudy.synthesize(data, schema(), out=out, progress=stopping, **SETTINGS)
    (run,) = Ledger(f"{out}.ledger").state().runs
    return run


def shuffled(data: pa.Table) -> pa.Table:
    return data.take(pa.array(np.random.default_rng(5).permutation(data.num_rows)))


def csv_of(data: pa.Table, folder: Path) -> Path:
    pyarrow.csv.write_csv(data, folder / "visits.csv")
    return folder / "visits.csv"


def parquet_of(data: pa.Table, folder: Path) -> Path:
    pa.parquet.write_table(data, folder / "visits.parquet")
    return folder / "visits.parquet"


SAME: dict[str, Callable[[Path], Any]] = {
    "itself": lambda folder: table(ROWS),
    "in another order": lambda folder: shuffled(table(ROWS)),
    "as CSV": lambda folder: csv_of(shuffled(table(ROWS)), folder),
    "as Parquet": lambda folder: parquet_of(table(ROWS), folder),
    "as a pandas frame": lambda folder: table(ROWS).to_pandas(),
}


@pytest.mark.parametrize("form", SAME)
def test_the_same_records_are_the_same_table(form: str, tmp_path: Path) -> None:
    run = begun(table(ROWS), tmp_path / "r")
    release = understudy.synthesize(SAME[form](tmp_path), schema(), out=tmp_path / "r", resume=True, **SETTINGS)
    assert release.manifest.run == run.name


def paired_otherwise(data: pa.Table) -> pa.Table:
    """Every column as it was, but two of them matched to each other in another way."""
    return data.set_column(0, "age", pa.concat_arrays([data["age"].combine_chunks()[::-1]]))


def moved_inside(ages: pa.ChunkedArray) -> pa.Array:
    """Every age at the start of its bin of ten years."""
    return pa.array([age // 10 * 10 for age in ages.to_pylist()], ages.type)


OTHER: dict[str, Callable[[pa.Table], pa.Table]] = {
    "a record less": lambda data: data.slice(1),
    "a record more": lambda data: pa.concat_tables([data, data.slice(0, 1)]),
    "one replaced": lambda data: pa.concat_tables([data.slice(1), data.slice(ROWS - 1)]),
    "paired otherwise": paired_otherwise,
    "other values in the same bins": lambda data: data.set_column(0, "age", moved_inside(data["age"])),
}


@pytest.mark.promise(33)
@pytest.mark.parametrize("other", OTHER)
def test_another_table_is_refused_before_anything_is_spent_on_it(
    other: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = begun(table(ROWS), tmp_path / "r")
    with monkeypatch.context() as patch:
        for name in ("gaussian", "laplace", "select"):
            patch.setattr(f"understudy.privacy.SecureNoise.{name}", None)  # whoever draws now fails otherwise
        with pytest.raises(LedgerError, match="not the table that the run began with") as caught:
            understudy.synthesize(OTHER[other](table(ROWS)), schema(), out=tmp_path / "r", resume=True, **SETTINGS)
    (after,) = Ledger(tmp_path / "r.ledger").state().runs
    assert (after.charges, after.counts, after.state) == (before.charges, before.counts, "stopped")
    assert caught.value.spent is not None
    assert caught.value.spent.rho == before.counts
    release = understudy.synthesize(table(ROWS), schema(), out=tmp_path / "r", resume=True, **SETTINGS)
    assert release.manifest.run == before.name


STAY = '[columns.{}]\nkind = "integer"\nmin = 0\nmax = 19\nbins = 2\nother = 0\n'
STAYS = STAY.format("came") + STAY.format("left") + '[[zeros]]\nalways = "came <= left"\n'


@pytest.mark.promise(33)
def test_a_table_whose_columns_are_otherwise_apart_is_another(tmp_path: Path) -> None:
    """Column by column, inside bins too, and in pairs of bins, it is the same."""
    came, left = pa.array([1, 2] * ROWS), pa.array([3, 4] * ROWS)
    first, other = (pa.table({"came": came, "left": one}) for one in (left, left[::-1]))
    declared = understudy.schema.parse_schema(STAYS)
    with pytest.raises(Stop):
        understudy.synthesize(first, declared, out=tmp_path / "r", progress=stopping, **SETTINGS)
    with pytest.raises(LedgerError, match="not the table that the run began with"):
        understudy.synthesize(other, declared, out=tmp_path / "r", resume=True, **SETTINGS)


@pytest.mark.promise(33)
@pytest.mark.promise(15)
def test_the_fingerprint_is_in_no_release_and_gone_from_the_ledger_when_the_run_has_finished(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "b.ledger")
    ledger.declare("visits", None)
    settings = {**SETTINGS, "ledger": ledger, "dataset": "visits", "out": tmp_path / "r"}
    with pytest.raises(Stop) as caught:
        understudy.synthesize(table(ROWS), schema(), progress=stopping, **settings)
    (line,) = [run.table for run in ledger.state().runs]
    assert line is not None
    with reading(ledger.path) as book:
        kept = book.content(line.seq)
    assert kept is not None
    assert kept in ledger.path.read_bytes()
    understudy.synthesize(table(ROWS), schema(), resume=True, **settings)
    key, tag = kept[:32], kept[32:]
    for path in [ledger.path, *(p for p in (tmp_path / "r").rglob("*") if p.is_file())]:
        content = path.read_bytes()
        assert not any(part in content or part.hex().encode() in content for part in (key, tag))
    assert not any(part.hex() in str(caught.value) + "".join(caught.value.__notes__) for part in (key, tag))


@pytest.mark.promise(15)
@pytest.mark.promise(33)
def test_what_a_ledger_drops_is_not_in_its_file_any_more(tmp_path: Path) -> None:
    ledger, mark = fresh(tmp_path), b"fingerprint " * 20
    with writing(ledger.path) as book:
        book.append("bound", dataset="people", run="a", content=mark)
    assert mark in ledger.path.read_bytes()
    with writing(ledger.path) as book:
        book.drop_contents("a")
    assert mark[100:] not in ledger.path.read_bytes()


def test_each_run_has_a_key_of_its_own(tmp_path: Path) -> None:
    kept = set()
    for name in ("one", "two"):
        line = begun(table(ROWS), tmp_path / name).table
        assert line is not None
        with reading(tmp_path / f"{name}.ledger") as book:
            kept.add(book.content(line.seq))
    assert len(kept) == 2


def test_a_lost_fingerprint_is_found_and_stops_the_run(tmp_path: Path) -> None:
    ledger = fresh(tmp_path)
    name = stopped(ledger, 3)
    line = ledger.state().run(name).table
    assert line is not None
    with writing(ledger.path) as book:
        book.connection.execute("DELETE FROM contents WHERE seq = ?", (line.seq,))
    assert f"The content of line {line.seq} is missing." in ledger.verify().problems
    with pytest.raises(FormatError, match="which table the run began with is not there"):
        play(ledger.resume("people", FACTS))


def test_a_second_table_in_a_run_does_not_verify(tmp_path: Path) -> None:
    ledger = fresh(tmp_path)
    log = ledger.begin("people", understudy.privacy.Budget.of(rho=1), FACTS)
    with writing(ledger.path) as book:
        for _ in range(2):
            book.append("bound", dataset="people", run=log.run, content=b"x", detail={"request": "the table"})
    assert any("second table" in problem for problem in ledger.verify().problems)


def test_a_fingerprint_is_of_each_column_and_each_with_the_next() -> None:
    domain = Domain(("a", "b", "c", "d"), (3, MOST_CELLS, 2, 2))
    assert fingerprinted(domain) == [("a",), ("b",), ("c",), ("d",), ("c", "d")]
    counts = np.arange(6, dtype=np.int64)
    one = fingerprint(b"k" * 32, [("a", "b")], [counts.reshape(2, 3)])
    assert one != fingerprint(b"k" * 32, [("a", "b")], [counts.reshape(3, 2)])
    assert one != fingerprint(b"l" * 32, [("a", "b")], [counts.reshape(2, 3)])
    assert one == fingerprint(b"k" * 32, [("a", "b")], [counts.reshape(2, 3).copy()])
