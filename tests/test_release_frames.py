"""The kind of frame that came in comes out, with its types; and no value of the private table shows in a type."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from release_tables import columns, quick, schema, table


def test_pandas_in_pandas_out() -> None:
    frame = table().to_pandas()
    frame["sex"] = frame["sex"].astype(pd.CategoricalDtype(["M", "F"]))
    frame["level"] = frame["level"].astype(pd.CategoricalDtype(["low", "mid", "high"], ordered=True))
    frame["pay"] = frame["pay"].astype("float32")
    frame["visits"] = frame["visits"].astype("Int32")
    made = quick(frame).table
    assert type(made) is pd.DataFrame
    assert list(made.columns) == list(frame.columns)
    for name in ("age", "level", "pay", "visits", "owner", "seen"):
        assert made[name].dtype == frame[name].dtype, name
    assert made["sex"].cat.categories.tolist() == ["F", "M"]  # the schema's, in its order
    assert made["member"].dtype == "boolean"  # pandas had only "object" for true, false and missing
    assert isinstance(made["born"].dropna().iloc[0], date)
    for name in ("sex", "visits", "pay", "member", "born", "seen"):
        assert 0 < made[name].isna().sum() < len(made), name
    for name in ("age", "level", "owner"):
        assert not made[name].isna().any(), name


@pytest.mark.parametrize("dtype", ["datetime64[ns]", "datetime64[s]", "datetime64[us, Europe/Paris]"])
def test_pandas_keeps_units_and_zones(dtype: str) -> None:
    frame = table().to_pandas()
    frame["seen"] = frame["seen"].dt.tz_localize("UTC").astype(dtype) if "Paris" in dtype else frame["seen"].astype(dtype)
    frame["born"] = pd.to_datetime(frame["born"]).astype("datetime64[s]")
    made = quick(frame).table
    assert made["seen"].dtype == frame["seen"].dtype
    assert made["born"].dtype == frame["born"].dtype
    assert made["seen"].min().year == 2024
    assert made["born"].isna().any()


def test_pandas_on_arrow_keeps_its_types() -> None:
    frame = table().to_pandas(types_mapper=pd.ArrowDtype)
    made = quick(frame).table
    assert made.dtypes.to_dict() == frame.dtypes.to_dict()


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
    frame = pl.from_arrow(table()).with_columns(
        pl.col("sex").cast(pl.Categorical),
        pl.col("level").cast(pl.Enum(["low", "mid", "high"])),
        pl.col("pay").cast(pl.Float32),
        pl.col("age").cast(pl.UInt8),
        pl.col("seen").cast(pl.Datetime("ms")).dt.replace_time_zone("Europe/Paris"),
    )
    made = quick(frame).table
    assert type(made) is pl.DataFrame
    assert made.schema == {**frame.schema, "sex": pl.Enum(["F", "M"])}  # the codes of a Categorical tell of other frames
    for name in ("sex", "visits", "pay", "member", "born", "seen"):
        assert 0 < made[name].null_count() < made.height, name
    assert made["age"].null_count() == 0


def test_polars_lazy_in_lazy_out() -> None:
    made = quick(pl.from_arrow(table()).lazy()).table
    assert isinstance(made, pl.LazyFrame)
    assert made.collect().schema == pl.from_arrow(table()).schema


def test_arrow_in_arrow_out() -> None:
    given = table()
    types = {
        "sex": pa.dictionary(pa.int32(), pa.string()),
        "age": pa.int16(),
        "pay": pa.float32(),
        "level": pa.large_string(),
    }
    given = given.cast(pa.schema([f.with_type(types.get(f.name, f.type)) for f in given.schema]))
    made = quick(given).table
    assert isinstance(made, pa.Table)
    assert made.schema == given.schema
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
    assert made_codes.dtype == np.uint8
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
    assert len(release.table) == release.record.table.rows
