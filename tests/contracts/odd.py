"""Odd values: one of every scalar kind that Python, NumPy, pandas and Arrow know, to stand among ordinary ones."""

from __future__ import annotations

import datetime as dt
import enum
import fractions
import pathlib
import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

UTC = dt.UTC
EAST = dt.timezone(dt.timedelta(hours=5, minutes=30))


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


class Word(str, enum.Enum):  # noqa: UP042 (the older spelling is what users have)
    A = "a"


class Silent:
    """An object that can say nothing of itself."""

    def __str__(self) -> str:
        raise RuntimeError("no")

    __repr__ = __str__


class Unequal:
    """An object that cannot be compared or hashed."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise TypeError("never")

    def __bool__(self) -> bool:
        raise ValueError("ambiguous")


class NoZone(dt.tzinfo):
    """A time zone that fails."""

    def utcoffset(self, moment: dt.datetime | None) -> dt.timedelta:
        raise RuntimeError("no such zone")

    def dst(self, moment: dt.datetime | None) -> dt.timedelta:
        raise RuntimeError("no such zone")

    def tzname(self, moment: dt.datetime | None) -> str:
        return "nowhere"


class Nowhere:
    """An object of a class that says of no module that it is from there."""


Nowhere.__module__ = None  # type: ignore[assignment]


class Shy(type):
    """A class that cannot be compared or hashed."""

    def __hash__(self) -> int:
        raise RuntimeError("no")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no")


class Hidden(metaclass=Shy):
    """An object of such a class."""


class Beyond(int):
    """A number that is no float, and on no side of zero."""

    def __float__(self) -> float:
        raise OverflowError("no")

    def __gt__(self, other: object) -> bool:
        raise RuntimeError("no")


class Sealed(bytes):
    """Bytes that do not come out."""

    def __bytes__(self) -> bytes:
        raise RuntimeError("no")


def released() -> memoryview:
    view = memoryview(b"a")
    view.release()
    return view


PYTHON: dict[str, Any] = {
    "None": None,
    "True": True,
    "False": False,
    "0": 0,
    "1": 1,
    "int": 7,
    "int of 64 bits": 2**63 - 1,
    "int beyond 64 bits": 2**70,
    "int beyond floats": -(10**400),
    "float": 2.5,
    "nan": float("nan"),
    "inf": float("inf"),
    "-inf": float("-inf"),
    "-0.0": -0.0,
    "1e308": 1e308,
    "complex": 1 + 2j,
    "Decimal": Decimal("0.70"),
    "Decimal nan": Decimal("NaN"),
    "Decimal snan": Decimal("sNaN"),
    "Decimal huge": Decimal("1e500"),
    "Decimal inf": Decimal("-Infinity"),
    "Fraction": fractions.Fraction(1, 3),
    "text": "unknown",
    "n/a": "n/a",
    "blank": "",
    "spaces": "  a  ",
    "digits": "3",
    "number as text": "1e400",
    "nan as text": "nan",
    "date as text": "2021-02-03",
    "American date": "06/13/2020",
    "end of the day": "24:00",
    "end of the day in digits": "2400",
    "money": "$5",
    "per cent": "12 %",
    "lone surrogate": "\ud800",
    "NUL": "a\x00b",
    "newline": "a\nb",
    "quote": 'a"b',
    "long text": "x" * 100_000,
    "str enum": Word.A,
    "bytes": b"a",
    "bad bytes": b"\xff\xfe",
    "bytearray": bytearray(b"a"),
    "memoryview": memoryview(b"a"),
    "date": dt.date(2021, 2, 3),
    "first date": dt.date.min,
    "datetime": dt.datetime(2021, 2, 3, 4, 5, 6, 7),
    "first datetime": dt.datetime.min,
    "last datetime": dt.datetime.max,
    "aware datetime": dt.datetime(2021, 2, 3, 4, 5, tzinfo=EAST),
    "failing zone": dt.datetime(2021, 2, 3, tzinfo=NoZone()),
    "time": dt.time(12, 30),
    "timedelta": dt.timedelta(days=3),
    "list": [1, 2],
    "tuple": (1, "a"),
    "dict": {"a": 1},
    "set": {1},
    "enum": Colour.RED,
    "int enum": Level.HIGH,
    "uuid": uuid.UUID(int=5),
    "path": pathlib.PurePosixPath("a"),
    "type": int,
    "object": object(),
    "silent object": Silent(),
    "unequal object": Unequal(),
    "object of no module": Nowhere(),
    "object of a failing class": Hidden(),
    "failing number": Beyond(3),
    "failing bytes": Sealed(b"a"),
    "released memoryview": released(),
    "ellipsis": ...,
    "range": range(3),
}

NUMPY: dict[str, Any] = {
    "np.bool": np.bool_(True),
    "np.int8": np.int8(3),
    "np.int64": np.int64(3),
    "np.uint64": np.uint64(2**64 - 1),
    "np.float16": np.float16(0.7),
    "np.float32": np.float32(0.7),
    "np.float64": np.float64("nan"),
    "np.longdouble": np.longdouble("1e4000"),
    "np.complex128": np.complex128(1j),
    "np.str": np.str_("a"),
    "np.bytes": np.bytes_(b"a"),
    "np.datetime64[D]": np.datetime64("2021-02-03"),
    "np.datetime64[ns]": np.datetime64("2021-02-03T04:05:06.7", "ns"),
    "np.datetime64[Y]": np.datetime64(10**17, "Y"),
    "np.NaT": np.datetime64("NaT"),
    "np.timedelta64": np.timedelta64(3, "D"),
    "np.timedelta64 NaT": np.timedelta64("NaT"),
    "np.void": np.void(b"abc"),
    "0-d array": np.array(3),
    "1-d array": np.array([1, 2]),
    "masked": np.ma.masked,
}

PANDAS: dict[str, Any] = {
    "pd.NA": pd.NA,
    "pd.NaT": pd.NaT,
    "pd.Timestamp": pd.Timestamp("2021-02-03 04:05:06.7"),
    "pd.Timestamp aware": pd.Timestamp("2021-02-03", tz="Europe/Berlin"),
    "pd.Timestamp before 1970": pd.Timestamp("1969-12-31 23:59:59.5"),
    "pd.Timedelta": pd.Timedelta(days=3),
    "pd.Period": pd.Period("2021-02", "M"),
    "pd.Interval": pd.Interval(0, 1),
    "pd.Series": pd.Series([1, 2]),
    "pd.DateOffset": pd.DateOffset(months=1),
}

ARROW: dict[str, Any] = {
    "pa null": pa.scalar(None),
    "pa bool": pa.scalar(True),
    "pa int64": pa.scalar(3),
    "pa uint64": pa.scalar(2**64 - 1, pa.uint64()),
    "pa float32": pa.scalar(0.7, pa.float32()),
    "pa decimal": pa.scalar(Decimal("0.70")),
    "pa decimal256": pa.scalar(Decimal("0.70"), pa.decimal256(60, 2)),
    "pa string": pa.scalar("a"),
    "pa string_view": pa.scalar("a", pa.string_view()),
    "pa binary": pa.scalar(b"\xff"),
    "pa date32": pa.scalar(dt.date(2021, 2, 3)),
    "pa timestamp": pa.scalar(dt.datetime(2021, 2, 3, 4, 5)),
    "pa timestamp out of range": pa.scalar(2**62, pa.timestamp("s")),
    "pa timestamp tz": pa.scalar(dt.datetime(2021, 2, 3, tzinfo=UTC), pa.timestamp("us", "UTC")),
    "pa time": pa.scalar(dt.time(12, 30)),
    "pa duration": pa.scalar(dt.timedelta(days=3)),
    "pa list": pa.scalar([1, 2]),
    "pa struct": pa.scalar({"a": 1}),
    "pa dictionary": pa.array(["a"]).dictionary_encode()[0],
}

ODD: dict[str, Any] = {**PYTHON, **NUMPY, **PANDAS, **ARROW}

Spell = Callable[[Any], str]


def spelled(value: Any) -> str:
    """Return a value as a careless program would write it into a file."""
    try:
        return str(value)
    except Exception:
        return "?"
