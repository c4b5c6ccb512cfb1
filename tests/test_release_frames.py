"""The kind of frame that came in comes out, with the types of the schema: no value of the private table shows in a type."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from release_tables import columns, quick, schema, table
from understudy import load


def test_pandas_in_pandas_out() -> None:
    made = quick(table().to_pandas()).table
    assert type(made) is pd.DataFrame
    assert list(made.columns) == list(schema().domain)
    types = {"age": "int64", "visits": "float64", "sex": "category", "pay": "float64", "member": "boolean", "owner": "bool"}
    assert {name: str(made[name].dtype) for name in types} == types
    assert made["sex"].cat.categories.tolist() == ["F", "M"]  # the schema's, in its order
    assert str(made["seen"].dtype) == "datetime64[us]"
    assert isinstance(made["born"].dropna().iloc[0], date)
    for name in ("sex", "visits", "pay", "member", "born", "seen"):
        assert 0 < made[name].isna().sum() < len(made), name
    for name in ("age", "level", "owner"):
        assert not made[name].isna().any(), name


def test_pandas_types_with_a_missing_value_are_there_for_whoever_asks(tmp_path: Path) -> None:
    release = quick(table().to_pandas().convert_dtypes())
    made = release.to_pandas(nullable=True)
    types = {"age": "Int64", "visits": "Int32", "sex": "category", "pay": "Float64", "member": "boolean", "owner": "boolean"}
    assert {name: str(made[name].dtype) for name in types} == types
    assert made.attrs == release.table.attrs != {}  # a seeded run says so
    pd.testing.assert_frame_equal(release.to_pandas(), release.table)
    for name in ("visits", "pay", "member"):
        assert made[name].isna().tolist() == release.table[name].isna().tolist()
        assert made[name].dropna().tolist() == release.table[name].dropna().tolist()
    pd.testing.assert_frame_equal(load(release.save(tmp_path / "r")).to_pandas(nullable=True), made)


@pytest.mark.promise(34)
def test_types_are_the_schemas_whatever_the_frame_has() -> None:
    """Any of these types may have been picked by the values: an odd one, a missing one, a large one."""
    plain = table().to_pandas()
    frames = [
        plain.astype(object),
        plain.astype({"age": "int8", "pay": "float32", "seen": "datetime64[ns]"}),
        plain.assign(sex=plain["sex"].astype("category"), level=plain["level"].astype("category")),
        plain.convert_dtypes(),
        table().to_pandas(types_mapper=pd.ArrowDtype),
    ]
    expected = quick(plain).table.dtypes.to_dict()
    assert all(quick(frame).table.dtypes.to_dict() == expected for frame in frames)
    polar = pl.from_arrow(table())
    assert isinstance(polar, pl.DataFrame)
    for frame in (polar.with_columns(pl.col("age").cast(pl.UInt8)), polar.with_columns(pl.all().cast(pl.String))):
        assert quick(frame).table.schema == quick(polar).table.schema
    large = table().cast(pa.schema([(f.name, pa.large_string() if f.name == "level" else f.type) for f in table().schema]))
    assert quick(large).table.schema.remove_metadata() == schema().arrow_schema


def test_a_missing_value_does_not_show_in_a_pandas_type() -> None:
    """A null turns whole numbers into floats and booleans into objects; the synthetic types are the same all the same."""
    whole = pd.DataFrame({name: [v for v in values if v is not None][:200] for name, values in columns().items()})
    holed = whole.copy()
    for name in ("age", "visits", "member", "owner"):
        holed[name] = holed[name].astype(object).where(holed.index > 0, None)
        holed[name] = holed[name].infer_objects()
    holed["age"] = holed["age"].astype(float)
    holed["visits"] = holed["visits"].astype(float)
    assert (holed.dtypes != whole.dtypes).any()
    assert quick(whole).table.dtypes.to_dict() == quick(holed).table.dtypes.to_dict()


def test_categories_of_the_private_frame_never_come_out() -> None:
    frame = table().to_pandas()
    frame["sex"] = pd.Categorical(["CANARY"] * len(frame))
    polar = pl.from_arrow(table()).with_columns(pl.lit("CANARY").cast(pl.Enum(["CANARY"])).alias("sex"))
    arrow = table().set_column(2, "sex", pa.array(["CANARY"] * 400).dictionary_encode())
    assert quick(frame).table["sex"].cat.categories.tolist() == ["F", "M"]
    assert quick(polar).table["sex"].dtype == pl.Enum(["F", "M"])
    assert "CANARY" not in str(quick(arrow).table.column("sex"))


def test_polars_in_polars_out() -> None:
    made = quick(pl.from_arrow(table())).table
    assert type(made) is pl.DataFrame
    types = {"age": pl.Int64, "visits": pl.Int32, "sex": pl.Enum(["F", "M"]), "level": pl.String, "pay": pl.Float64}
    assert {name: made.schema[name] for name in types} == types
    for name in ("sex", "visits", "pay", "member", "born", "seen"):
        assert 0 < made[name].null_count() < made.height, name
    assert made["age"].null_count() == 0


def test_polars_lazy_in_lazy_out() -> None:
    made = quick(pl.from_arrow(table()).lazy()).table
    assert isinstance(made, pl.LazyFrame)
    assert made.collect().schema == quick(pl.from_arrow(table())).table.schema


def test_arrow_in_arrow_out() -> None:
    made = quick(table()).table
    assert isinstance(made, pa.Table)
    assert made.schema.remove_metadata() == schema().arrow_schema
    assert made.column("sex").combine_chunks().dictionary.to_pylist() == ["F", "M"]
    assert [made.column(n).null_count > 0 for n in made.column_names] == [schema()[n].nullable for n in made.column_names]


def test_dicts_and_arrays() -> None:
    assert isinstance(quick(columns()).table["sex"], list)
    arrays: dict[str, Any] = {name: np.array(values, dtype=object) for name, values in columns().items()}
    made = quick(arrays).table
    assert isinstance(made["age"], np.ndarray)
    assert made["age"].dtype == np.int64
    codes = schema().encode(table()).astype(np.uint8)
    made_codes = quick(codes).table
    assert made_codes.dtype == np.int64
    assert made_codes.shape[1] == len(schema().domain)
    assert (made_codes.max(axis=0) < schema().domain.sizes).all()


def test_a_sample_comes_in_the_same_kind() -> None:
    release = quick(pl.from_arrow(table()))
    women = release.sample(50, {"sex": "F", "visits": None})
    assert type(women) is pl.DataFrame
    assert women.schema == release.table.schema
    assert women["sex"].unique().to_list() == ["F"]
    assert women["visits"].null_count() == 50


def test_the_release_holds_no_reference_to_the_frame() -> None:
    import gc
    import weakref

    frame = table().to_pandas()
    seen = weakref.ref(frame)
    release = quick(frame)
    del frame
    gc.collect()
    assert seen() is None
    assert len(release.table) == release.manifest.table.rows
