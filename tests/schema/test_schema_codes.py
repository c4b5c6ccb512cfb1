"""Encoding and decoding are inverses on codes, for every kind of column; no value ever stops an encoding."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.errors import SchemaError
from understudy.schema import Schema, SchemaFileError, parse_schema
from understudy.schema.declaration import SchemaDeclaration
from understudy.schema.schema import build_schema

TEXT = st.text(st.characters(codec="utf-8"), max_size=5)
TWO_DIGITS = ("%d-%b-%y", "%y/%m/%d")
DATES = st.dates(dt.date(1700, 1, 1), dt.date(2200, 1, 1))
MOMENTS = st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2200, 1, 1)).map(lambda m: m.replace(microsecond=0))


def schema_of(**columns: dict[str, Any]) -> Schema:
    declared = SchemaDeclaration.model_validate({"columns": columns, "table": {"nulls": ["NA", "?"]}})
    return build_schema(declared, "test", lambda path: None)


def bounds(draw: st.DrawFn, values: st.SearchStrategy[Any]) -> tuple[Any, Any]:
    low, high = sorted(draw(st.tuples(values, values).filter(lambda pair: pair[0] != pair[1])))
    return low, high


@st.composite
def listed(draw: st.DrawFn) -> dict[str, Any]:
    whole = draw(st.booleans())
    value = st.integers(-50, 50) if whole else TEXT
    values = draw(st.lists(value, min_size=1, max_size=6, unique=True))
    kind = draw(st.sampled_from(["categorical", "ordinal"]))
    types = ["int64", "int8", "category"] if whole else ["string", "large_string", "category"]
    return {"kind": kind, "values": values, "type": draw(st.sampled_from(types)), "other": draw(value)}


@st.composite
def integer(draw: st.DrawFn) -> dict[str, Any]:
    if draw(st.booleans()):
        edges = draw(st.lists(st.integers(-100, 100), min_size=2, max_size=8, unique=True).map(sorted))
        return {"kind": "integer", "edges": edges, "other": draw(st.integers(-128, 127)), "type": "int8"}
    low, high = bounds(draw, st.integers(-(2**53) + 2, 2**53 - 2) | st.integers(-40, 40))
    other = draw(st.integers(-(2**53) + 2, 2**53 - 2))
    return {"kind": "integer", "min": low, "max": high, "bins": draw(st.integers(1, 50)), "other": other}


@st.composite
def real(draw: st.DrawFn) -> dict[str, Any]:
    if draw(st.booleans()):
        places = draw(st.integers(0, 3))
        low, high = bounds(draw, st.integers(-9999, 9999))
        scale = 10.0**places
        kind = draw(st.sampled_from(["float64", "float32", f"decimal(9, {places})"]))
        spec = {"kind": "real", "decimals": places, "type": kind, "bins": draw(st.integers(1, 40))}
        return {
            **spec,
            "min": low / scale,
            "max": high / scale,
            "other": draw(st.integers(-9999, 9999)) / scale,
        }
    finite = st.floats(-1e12, 1e12, allow_subnormal=False)
    edges = draw(st.lists(finite, min_size=2, max_size=6, unique_by=np.float32).map(sorted))
    kind = draw(st.sampled_from(["float64", "float32"]))
    return {"kind": "real", "edges": edges, "type": kind, "other": draw(finite)}


@st.composite
def day(draw: st.DrawFn) -> dict[str, Any]:
    low, high = bounds(draw, DATES)
    spec: dict[str, Any] = {"kind": "date", "min": low, "max": high, "other": draw(DATES)}
    spec |= draw(st.sampled_from([{}, {"bins": 7}, {"width": "week"}, {"width": "1 month"}, {"width": "2 years"}]))
    forms = ["%d/%m/%Y", "%Y%%%m.%d", "%-d.%-m.%Y", "%B %-d, %Y", "%d%^b%Y", *TWO_DIGITS * _within_a_century(spec)]
    return spec | draw(st.sampled_from([{}, *({"format": form} for form in forms)]))


def _within_a_century(spec: dict[str, Any]) -> bool:
    """Whether years of two digits can tell all declared days and moments apart."""
    return all(0 <= spec[name].year - spec["min"].year < 100 for name in ("max", "other"))


@st.composite
def moment(draw: st.DrawFn) -> dict[str, Any]:
    low, high = bounds(draw, MOMENTS.map(lambda m: m.replace(second=0)))
    other = draw(MOMENTS).replace(second=0)
    spec: dict[str, Any] = {"kind": "datetime", "min": low, "max": high, "other": other}
    spec |= draw(st.sampled_from([{}, {"bins": 7}, {"width": "30 days"}, {"width": "quarter"}]))
    extra = [{"type": "timestamp[s]"}, {"type": "timestamp[ns]"}, {"timezone": "Europe/Paris"}]
    forms = ["%d/%m/%Y %H:%M", "%Y-%m-%d %H:%M:%S", "%-m/%-d/%Y %-I:%M %p", "%d. %b %Y %I:%M:%S%P"]
    forms += [f"{form} %H:%M" for form in TWO_DIGITS * _within_a_century(spec)]
    return spec | draw(st.sampled_from([{}, *({"format": form} for form in forms), *extra]))


@st.composite
def stepped(draw: st.DrawFn) -> dict[str, Any]:
    step = draw(st.sampled_from([2, 5, 100]))
    low, high = bounds(draw, st.integers(-50, 50))
    whole = {"kind": "integer", "step": step, "min": low * step, "max": high * step, "other": 7000}
    real = {"kind": "real", "step": step / 4, "min": low * step / 4, "max": high * step / 4, "other": 7000.0}
    spec = draw(st.sampled_from([whole, real]))
    return spec | draw(st.sampled_from([{"bins": 7}, {"width": spec["step"] * 3}]))


@st.composite
def clock(draw: st.DrawFn) -> dict[str, Any]:
    times = st.integers(0, 23).map(lambda hour: dt.time(hour, 30))
    low, last = bounds(draw, times)
    untimed = [{}, {"format": "%H%M"}, {"format": "%H%M%S", "type": "int32"}, {"format": "%H%M", "type": "float64"}]
    if draw(st.booleans()):  # the end of the day has no place in Arrow's times
        spec = {"kind": "time", "min": low, "max": "24:00", "other": draw(times)}
        return spec | draw(st.sampled_from(untimed)) | draw(st.sampled_from([{}, {"bins": 7}, {"width": "90 minutes"}]))
    spec = {"kind": "time", "min": low, "max": last, "other": draw(times)}
    spec |= draw(st.sampled_from([{}, {"bins": 7}, {"width": "90 minutes"}]))
    kinds = [
        {"format": "%H%M"},
        {"format": "%H%M", "type": "int16"},
        {"format": "%H%M", "type": "float64"},
        {"format": "%I:%M %p"},
        {"format": "%-I:%M:%S%P"},
        {"format": "%-H:%M"},
        {"type": "time32[s]"},
        {"type": "time64[us]"},
    ]
    return spec | draw(st.sampled_from([{}, {"format": "%H:%M:%S"}, {"step": "15 minutes"}, *kinds]))


@st.composite
def columns(draw: st.DrawFn) -> dict[str, Any]:
    boolean = st.fixed_dictionaries({"kind": st.just("boolean"), "other": st.booleans()})
    spec = draw(st.one_of(listed(), boolean, integer(), real(), stepped(), day(), moment(), clock()))
    nullable = draw(st.booleans())
    if nullable and draw(st.booleans()):
        del spec["other"]
    return {**spec, "nullable": nullable}


def build(spec: dict[str, Any]) -> Schema | None:
    try:
        return schema_of(c=spec)
    except SchemaFileError as error:
        if any(word in str(error) for word in ("finer", "too large")):
            return None  # the strategies make a few schemas that are rightly refused
        raise


@settings(max_examples=200, deadline=None)
@given(columns(), st.integers(0, 2**32))
def test_decode_then_encode_gives_the_codes_back(spec: dict[str, Any], seed: int) -> None:
    schema = build(spec)
    if schema is None:
        return
    codes = np.repeat(np.arange(schema.columns[0].size), 5)[:, None]
    table = schema.decode(codes, np.random.default_rng(seed))
    assert table.schema == schema.arrow_schema
    np.testing.assert_array_equal(schema.encode(table), codes)
    assert schema.encode(table).dtype == np.int32
    if schema.columns[0].nullable:
        assert table.column("c").null_count == 5


@settings(max_examples=200, deadline=None)
@given(columns(), st.integers(0, 2**32))
def test_the_same_codes_come_back_when_a_file_has_turned_values_into_text(spec: dict[str, Any], seed: int) -> None:
    schema = build(spec)
    if schema is None or "timezone" in spec:
        return
    codes = np.repeat(np.arange(schema.columns[0].size), 3)[:, None]
    column = schema.decode(codes, np.random.default_rng(seed)).column("c")
    np.testing.assert_array_equal(schema.encode(pa.table({"c": column.cast(pa.string())})), codes)


TICKS = st.integers(-(2**63), 2**63 - 1)
KINDS: dict[str, dict[str, Any]] = {
    "categorical": {"kind": "categorical", "values": ["a", "b", "1"], "other": "else"},
    "codes": {"kind": "ordinal", "values": [1, 2, 7], "nullable": True},
    "boolean": {"kind": "boolean", "nullable": True},
    "integer": {"kind": "integer", "min": -3, "max": 90, "other": 5},
    "real": {"kind": "real", "min": -1, "max": 1, "nullable": True},
    "money": {"kind": "real", "min": 0, "max": 1, "decimals": 2, "nullable": True, "invalid": "null"},
    "spelled nulls": {"kind": "integer", "min": 0, "max": 9, "nullable": True, "nulls": [-9, "N"]},
    "listed nulls": {"kind": "categorical", "values": [1, 2], "nullable": True, "nulls": [-9]},
    "prefix": {"kind": "categorical", "values": ["I2", "J1"], "prefix": 2, "other": "?"},
    "clock": {"kind": "time", "nullable": True},
    "digits": {"kind": "time", "format": "%H%M", "type": "int16", "nullable": True},
    "half days": {"kind": "time", "format": "%-I:%M %p", "nullable": True},
    "named": {
        "kind": "date",
        "format": "%d-%b-%y",
        "min": dt.date(1950, 1, 1),
        "max": dt.date(2049, 12, 31),
        "nullable": True,
    },
    "date": {"kind": "date", "min": dt.date(2020, 1, 1), "max": dt.date(2021, 1, 1), "nullable": True},
    "datetime": {
        "kind": "datetime",
        "min": dt.datetime(2020, 1, 1),
        "max": dt.datetime(2021, 1, 1),
        "timezone": "America/New_York",
        "other": dt.datetime(1999, 1, 1),
        "invalid": "other",
    },
}
ALL = schema_of(**KINDS)

ODD = st.sampled_from(
    [
        *(
            "a",
            "b",
            "1",
            "",
            " ",
            "NA",
            "nan",
            "inf",
            "-inf",
            "1e400",
            "-1e999",
            "1.",
            ".5",
            "+3",
            "0x1",
            "1_000",
        ),
        *("1,5", "2020-02-30", "2020-13-01", "2020-01-01T25:00", "true", "Yes", "2020-01-01", "0000-00-00"),
        *(
            "2020-06-01 10:00:00.5+02:00",
            "9999-12-31",
            "0001-01-01",
            "\U0001f600",
            "é",
            *("07:54 AM", "0:10 am", "13:00 PM", "08-Nov-20", "29-FEB-00", "31 Feb 20"),
            "\x00",
            "𝟛",
            "٣",
            "9" * 400,
        ),
    ]
)


@st.composite
def arrays(draw: st.DrawFn) -> pa.Array:
    """Arrow arrays of every type that a table might have, with nulls and nasty values."""
    size = draw(st.integers(0, 6))

    def some(values: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(st.none() | values, min_size=size, max_size=size))

    make = draw(
        st.sampled_from(
            [
                lambda: pa.array(some(ODD | TEXT), pa.string()),
                lambda: pa.array(some(ODD | TEXT), pa.large_string()),
                lambda: pa.array(some(ODD | TEXT), pa.string_view()),
                lambda: pa.array(some(ODD | TEXT), pa.string()).dictionary_encode(),
                lambda: pa.array(some(st.floats()), pa.float64()),
                lambda: pa.array(some(st.floats(width=32)), pa.float32()),
                lambda: pa.array(some(st.floats(width=16)), pa.float16()),
                lambda: pa.array(some(TICKS), pa.int64()),
                lambda: pa.array(some(st.integers(0, 2**64 - 1)), pa.uint64()),
                lambda: pa.array(some(st.integers(-128, 127)), pa.int8()),
                lambda: pa.array(some(st.booleans()), pa.bool_()),
                lambda: pa.array(some(st.binary(max_size=3)), pa.binary()),
                lambda: pa.array(some(st.dates()), pa.date32()),
                lambda: pa.array(some(st.dates()), pa.date64()),
                lambda: pa.array(some(TICKS), pa.int64()).view(pa.timestamp("s")),
                lambda: pa.array(some(TICKS), pa.int64()).view(pa.timestamp("ns", "UTC")),
                lambda: pa.array(some(TICKS), pa.int64()).view(pa.duration("s")),
                lambda: pa.array(some(st.decimals(-999, 999, places=2)), pa.decimal128(9, 2)),
                lambda: pa.array(some(st.times()), pa.time64("us")),
                lambda: pa.array(some(st.lists(st.integers(0, 3))), pa.list_(pa.int64())),
                lambda: pa.nulls(size),
            ]
        )
    )
    return make()


@settings(max_examples=200, deadline=None)
@given(arrays(), st.sampled_from(list(KINDS)))
def test_any_value_gets_a_code_and_no_row_affects_another(array: pa.Array, name: str) -> None:
    column = ALL[name]
    codes = column.encode(array)
    assert codes.dtype == np.int32
    assert len(codes) == len(array)
    assert ((codes >= 0) & (codes < column.size)).all()
    alone = [column.encode(array.slice(i, 1))[0] for i in range(len(array))]
    assert codes.tolist() == alone


@pytest.mark.parametrize(
    ("name", "value", "label"),
    [
        ("categorical", "zzz", "else"),
        ("categorical", None, "else"),
        ("categorical", " a ", "a"),
        ("categorical", 1, "1"),
        ("categorical", 1.0, "1"),
        ("codes", "7", "7"),
        ("codes", "07", "7"),
        ("codes", 7.0, "7"),
        ("codes", 3, "null"),
        ("codes", "?", "null"),
        ("boolean", "Yes", "true"),
        ("boolean", 0.0, "false"),
        ("boolean", "maybe", "null"),
        ("half days", "12:10 am", "00:00 to 00:59"),
        ("half days", "7:54 PM", "19:00 to 19:59"),
        ("half days", "0:10 AM", "null"),
        ("half days", "13:10 PM", "null"),
        ("named", "01-jan-50", ALL["named"].labels[0]),
        ("named", "31-DEC-49", ALL["named"].labels[-2]),
        ("named", "31-Feb-20", "null"),
        ("named", "01-Mai-20", "null"),
        ("integer", " 12 ", ALL["integer"].labels[5]),
        ("integer", 1e30, ALL["integer"].labels[-1]),
        ("integer", float("-inf"), ALL["integer"].labels[0]),
        ("integer", float("nan"), ALL["integer"].labels[2]),
        ("integer", "twelve", ALL["integer"].labels[2]),
        ("real", "1e999", ALL["real"].labels[-2]),
        ("real", 1.0, ALL["real"].labels[-2]),
        ("real", "nan", "null"),
        ("money", 1.004, ALL["money"].labels[-2]),
        ("money", 1.01, "null"),
        ("spelled nulls", "N", "null"),
        ("spelled nulls", -9.0, "null"),
        ("spelled nulls", "-9.0", "null"),
        ("spelled nulls", -8, "0"),
        ("listed nulls", -9, "null"),
        ("prefix", "I21.4", "I2"),
        ("prefix", "K21.4", "?"),
        ("prefix", "I", "?"),
        ("clock", "5:17", "05:00 to 05:59"),
        ("clock", "05:17:59.9", "05:00 to 05:59"),
        ("clock", dt.time(5, 17), "05:00 to 05:59"),
        ("clock", "25:17", "null"),
        ("clock", 517, "null"),
        ("digits", 517, "05:00 to 05:59"),
        ("digits", "0517", "05:00 to 05:59"),
        ("digits", "05:17", "05:00 to 05:59"),
        ("digits", 5, "00:00 to 00:59"),
        ("digits", 2400, "23:00 to 23:59"),
        ("clock", "24:00", "23:00 to 23:59"),
        ("clock", "24:01", "null"),
        ("digits", 1275, "null"),
        ("digits", 517.5, "null"),
        ("digits", float("inf"), "null"),
        ("date", dt.datetime(2020, 1, 1, 23, 59), ALL["date"].labels[0]),
        ("date", "2019-01-01", ALL["date"].labels[0]),
        ("date", "2020-02-30", "null"),
        ("datetime", "2020-01-01T05:00:00Z", ALL["datetime"].labels[0]),
        ("datetime", "2020-01-01 00:00", ALL["datetime"].labels[0]),
        ("datetime", "2019-12-31 23:59", "1999-01-01 00:00:00"),
    ],
)
def test_where_a_value_goes(name: str, value: object, label: str) -> None:
    column = ALL[name]
    assert column.labels[column.encode(pa.array([value]))[0]] == label


@pytest.mark.parametrize(
    ("invalid", "expected"),
    [("clamp", ["0", "3", "1", "-9", "null"]), ("other", ["-9"] * 4 + ["null"]), ("null", ["null"] * 5)],
)
def test_the_three_policies(invalid: str, expected: list[str]) -> None:
    spec = {"kind": "integer", "min": 0, "max": 3, "other": -9, "nullable": True, "invalid": invalid}
    column = schema_of(c=spec).columns[0]
    codes = column.encode(pa.array(["-5", "7", "1.2", "x", None]))
    assert [column.labels[code] for code in codes] == expected


def test_draws_are_uniform_inside_a_bin_and_whole() -> None:
    schema = schema_of(c={"kind": "integer", "edges": [0, 4, 9], "other": 0})
    drawn = schema.decode(np.ones((60_000, 1), dtype=int), np.random.default_rng(1)).column("c").to_numpy()
    counts = np.bincount(drawn, minlength=10)
    assert counts[:4].sum() == 0
    # Six values, 10,000 expected each, standard deviation 91: seven of them, a false alarm below 1e-10.
    assert (abs(counts[4:] - 10_000) < 7 * 92).all()


def test_decimal_values_decode_to_decimals() -> None:
    schema = schema_of(c={"kind": "real", "type": "decimal(6, 2)", "min": 1.25, "max": 1.25, "nullable": True})
    assert schema.decode(np.array([[0], [1]]), np.random.default_rng(0)).column("c").to_pylist() == [
        Decimal("1.25"),
        None,
    ]


def test_plain_domains_are_integer_codes() -> None:
    schema = Schema.from_domain({"age": 32, "sex": 2})
    assert schema.domain.sizes == (32, 2)
    table = pa.table({"sex": [0, 1, 5, -1], "age": [31.0, 7.0, 7.0, 0.0], "more": [1, 2, 3, 4]})
    np.testing.assert_array_equal(schema.encode(table), [[31, 0], [7, 1], [7, 1], [0, 0]])
    codes = np.array([[31, 1], [0, 0]])
    assert schema.decode(codes, np.random.default_rng(0)).to_pydict() == {"age": [31, 0], "sex": [1, 0]}


def test_chunks_batches_and_empty_tables() -> None:
    schema = Schema.from_domain({"a": 3})
    chunked = pa.table({"a": pa.chunked_array([[0], [], [2, 1]])})
    assert schema.encode(chunked).tolist() == [[0], [2], [1]]
    assert schema.encode(chunked.to_batches()[0]).tolist() == [[0]]
    assert schema.encode(chunked.slice(0, 0)).shape == (0, 1)
    assert schema.encode(chunked).flags.f_contiguous


def test_codes_out_of_range_are_refused_by_decode() -> None:
    with pytest.raises(SchemaError, match="between 0 and 2"):
        Schema.from_domain({"a": 3}).decode(np.array([[3]]), np.random.default_rng(0))


def test_a_table_without_a_declared_column_names_it_its_line_and_the_nearest() -> None:
    schema = parse_schema('# one\n[columns.maritl]\nkind = "boolean"\nnullable = true\n', source="s.toml")
    with pytest.raises(SchemaFileError, match=r'line 2, column "maritl".*Did you mean "marital"') as caught:
        schema.encode(pa.table({"marital": [True]}))
    assert [(p.column, p.line) for p in caught.value.problems] == [("maritl", 2)]
