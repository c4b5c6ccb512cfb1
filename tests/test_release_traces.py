"""A released table carries nothing but what was released: of the frame that came in, its kind, its names and its types.

Two frames of neighbouring tables differ in everything that a frame can carry beside its values: index, attributes, metadata,
order of categories, chunks. Their runs get the same noisy answers; what comes out must then be the same, byte for byte.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from contracts.tape import Tape, frozen_entropy
from release_tables import quick, table
from understudy import Release

pytestmark = [pytest.mark.promise(34), pytest.mark.promise(15)]
ROWS = 411
Maker = Callable[[int], Any]


def pandas_frame(rows: int) -> pd.DataFrame:
    frame = table(rows).to_pandas()
    frame["sex"] = frame["sex"].astype(pd.CategoricalDtype(["F", "M"] if rows % 2 else ["M", "odd", "F"]))
    frame["level"] = frame["level"].astype(pd.CategoricalDtype(["low", "mid", "high"], ordered=True))
    frame.attrs = {"rows": rows, "source": f"visits of {rows} people"}
    frame.index = pd.Index([f"person {i}" for i in range(rows)], name=f"of {rows}")
    frame.columns.name = f"{rows} rows"
    return frame.set_flags(allows_duplicate_labels=bool(rows % 2))


def pandas_on_arrow(rows: int) -> pd.DataFrame:
    frame = table(rows).to_pandas(types_mapper=pd.ArrowDtype)
    frame.attrs = {"rows": rows}
    frame.index = pd.RangeIndex(rows, name="n")
    return frame


def arrow_table(rows: int) -> pa.Table:
    """As pandas writes it, whose metadata tell where the index stops; in as many chunks as there are rows in ten."""
    made = pa.Table.from_pandas(table(rows).to_pandas().assign(sex=lambda f: f["sex"].astype("category")))
    fields = [field.with_metadata({"rows": str(rows), "highest": "secret"}) for field in made.schema]
    made = made.cast(pa.schema(fields, metadata={**(made.schema.metadata or {}), "people": str(rows)}))
    return pa.concat_tables([made.slice(start, 10) for start in range(0, rows, 10)])


def arrow_dictionary(rows: int) -> pa.Table:
    made = table(rows)
    values = ["F", "M", None] if rows % 2 else ["M", "unlisted", "F"]
    index = pa.array([values.index(v) if v in values else None for v in made.column("sex").to_pylist()], pa.int8())
    coded = pa.DictionaryArray.from_arrays(index, pa.array(values))
    return made.set_column(2, "sex", coded)


def arrow_reader(rows: int) -> pa.RecordBatchReader:
    return arrow_table(rows).to_reader(max_chunksize=rows)


def polars_frame(rows: int) -> pl.DataFrame:
    pl.Series([f"seen in {rows} rows {i}" for i in range(rows)], dtype=pl.Categorical)
    made = pl.from_arrow(table(rows)).with_columns(pl.col("sex").cast(pl.Categorical)).set_sorted("age")
    assert isinstance(made, pl.DataFrame)
    return made.with_columns(
        level=pl.col("level").cast(pl.Enum(["high", "mid", "low"] if rows % 2 else ["low", "mid", "high"]))
    )


MAKERS: list[Maker] = [pandas_frame, pandas_on_arrow, arrow_table, arrow_dictionary, arrow_reader, polars_frame]


def everything(made: Any) -> dict[str, bytes]:
    """Return a frame as bytes, in each form that keeps what it carries."""
    if isinstance(made, pd.DataFrame):
        plain = f"{made.index!r} {made.columns!r} {made.attrs!r} {made.flags!r} {made.dtypes!r}"
        values = repr(made.to_dict("list")).encode()
        return {"plain": plain.encode(), "values": values, **everything(pa.Table.from_pandas(made))}
    if isinstance(made, pl.DataFrame):
        physical = made.select(pl.col(pl.Enum, pl.Categorical).to_physical())
        flags = f"{made.flags!r} {made.n_chunks('all')} {physical.to_dict(as_series=False)!r}".encode()
        return {"flags": flags, **everything(made.to_arrow())}
    parquet, ipc = io.BytesIO(), io.BytesIO()
    pq.write_table(made, parquet)
    with pa.ipc.new_file(ipc, made.schema) as writer:
        writer.write_table(made)
    chunks = str([column.num_chunks for column in made.columns]).encode()
    return {"parquet": parquet.getvalue(), "ipc": ipc.getvalue(), "chunks": chunks, "schema": str(made.schema).encode()}


def replayed(make: Maker, monkeypatch: pytest.MonkeyPatch) -> tuple[Release, Release]:
    """Return the releases of two neighbours, with the same noisy answers."""
    made, frozen = [], None
    for rows in (ROWS, ROWS + 1):
        tape = Tape(seed=3, frozen=frozen)
        with monkeypatch.context() as patch:
            frozen_entropy(patch)
            tape.install(patch)
            made.append(quick(make(rows), seed=None))
        frozen = tape.draws
    return made[0], made[1]


@pytest.mark.parametrize("make", MAKERS)
def test_of_the_frame_only_its_kind_and_types_come_back(make: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = replayed(make, monkeypatch)
    for a, b in ((first.table, second.table), (first.arrow, second.arrow)):
        assert everything(a) == everything(b)
    for secret in (b"secret", b"people", b"person", str(ROWS).encode()):
        assert not any(secret in content for name, content in everything(first.table).items() if name in ("plain", "schema"))


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_saved_files_are_the_same(make: Maker, kind: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made = zip("ab", replayed(make, monkeypatch), strict=True)
    first, second = (release.save(tmp_path / name, format=kind) for name, release in made)
    for path in first.rglob("*"):
        if path.is_file():
            assert path.read_bytes() == (second / path.relative_to(first)).read_bytes(), path.name


def test_a_private_table_has_no_metadata_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    for make in (arrow_table, arrow_dictionary, arrow_reader):
        made, _ = replayed(make, monkeypatch)
        for found in (made.table.schema, made.arrow.schema):
            assert found.metadata is None
            assert all(field.metadata is None for field in found)
    frame = replayed(pandas_frame, monkeypatch)[0].table
    assert frame.attrs == {}
    assert frame.index.equals(pd.RangeIndex(len(frame)))
    assert frame.index.name is None
    assert frame.columns.name is None


def test_the_digits_of_decimals_do_not_come_back() -> None:
    """Arrow counts the digits of decimals over all values, so one record can change the type."""
    pays = [pa.decimal128(6, 2), pa.decimal128(12, 4)]
    types = [
        quick(table(60).set_column(4, "pay", table(60).column("pay").cast(t))).table.schema.field("pay").type for t in pays
    ]
    assert types == [pa.float64(), pa.float64()]


def test_the_codes_of_categories_do_not_count_those_of_other_frames() -> None:
    """The codes of a polars Categorical are shared by all that is alive in the process."""
    frame = pl.from_arrow(table(60)).with_columns(sex=pl.Series([f"unlisted {i}" for i in range(60)]).cast(pl.Categorical))
    made = quick(frame, seed=None).table
    assert made["sex"].dtype == pl.Enum(["F", "M"])
    assert set(made["sex"].to_physical().to_list()) <= {0, 1, None}
    assert len(frame) == 60  # still alive, as a caller's frame is
