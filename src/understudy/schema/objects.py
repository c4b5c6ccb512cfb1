"""Objects of any class, sorted by what they are. Each is looked at alone: its class, then itself.

Sees private rows and never raises on a value. Classes of pandas are known by name, so that it is not imported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from math import inf, nan
from numbers import Real
from typing import Any

import numpy as np
import pyarrow as pa

from understudy.schema.cells import ALL, Kind, Objects, Part

UNSPEAKABLE = "\N{REPLACEMENT CHARACTER}"
"""What an object counts as that cannot even be spelled."""

_ABSENT = {("pandas", "NAType"), ("pandas", "NaTType"), ("numpy", "MaskedConstant"), ("builtins", "NoneType")}
_DAY, _EPOCH = 86_400, date(1970, 1, 1).toordinal()


def parts_of(objects: Objects) -> Iterator[Part]:
    """Sort objects by what they are."""
    values = objects.values
    number: dict[int, int] = {}  # by identity: the code of a class, too, may raise when it is compared or hashed
    classes = np.fromiter((number.setdefault(id(type(value)), len(number)) for value in values), np.intp, len(values))
    for which in range(len(number)):
        rows = np.flatnonzero(classes == which)
        mine = list(values) if len(number) == 1 else [values[int(i)] for i in rows]
        for part in _reader(type(mine[0]))(mine):
            yield replace(part, rows=rows[part.rows])


def _reader(cls: type) -> Callable[[list[Any]], Iterator[Part]]:
    """Return how objects of one class are read. The order matters: a bool is an int, a NaT is a datetime."""
    try:
        if (str(cls.__module__).partition(".")[0], cls.__name__) in _ABSENT:
            return _absent
        return next((read for classes, read in _readers() if issubclass(cls, classes)), _others)
    except Exception:  # a class's own code may raise anything
        return _others


def _readers() -> list[tuple[Any, Callable[[list[Any]], Iterator[Part]]]]:
    return [
        ((bool, np.bool_), _booleans),
        (np.timedelta64, _others),
        ((np.datetime64, date), _moments),
        (str, _texts),
        ((bytes, bytearray, memoryview), _bytes),
        ((int, float, np.integer, np.floating, Decimal, Real), _numbers),
        ((complex, np.complexfloating), _complex),
        (pa.Scalar, _arrow),
    ]


def _absent(values: list[Any]) -> Iterator[Part]:
    yield Part(Kind.MISSING, ALL)


def _booleans(values: list[Any]) -> Iterator[Part]:
    yield Part(Kind.BOOLEAN, ALL, np.fromiter((bool(value) for value in values), np.bool_, len(values)))


def _numbers(values: list[Any]) -> Iterator[Part]:
    if type(values[0]) is float:  # all are of one class, and this is quicker
        yield Part(Kind.NUMBER, ALL, np.array(values, dtype=np.float64))
    else:
        yield Part(Kind.NUMBER, ALL, np.fromiter(map(_float, values), np.float64, len(values)))


def _float(value: Any) -> float:
    """Return the nearest float; beyond all floats is infinite."""
    try:
        try:
            return float(value)
        except OverflowError:
            return inf if value > 0 else -inf
    except Exception:  # a signalling NaN; or a value's own code, which may raise anything
        return nan


def _complex(values: list[Any]) -> Iterator[Part]:
    """On the real line they are numbers: a column of numbers becomes complex as a whole when one value is."""
    real = np.array([_is_real(value) for value in values])
    for rows, read in ((np.flatnonzero(real), _numbers), (np.flatnonzero(~real), _others)):
        mine = [values[i].real if read is _numbers else values[i] for i in rows]
        yield from (replace(part, rows=rows) for part in (read(mine) if mine else ()))


def _is_real(value: Any) -> bool:
    try:
        return bool(value.imag == 0)
    except Exception:  # a value's own code may raise anything
        return False


def _texts(values: list[Any]) -> Iterator[Part]:
    """The characters of each text, also where its class would print it otherwise (an enumeration)."""
    plain = values if type(values[0]) is str else [str.__str__(value) for value in values]
    try:
        text = pa.array(plain, pa.large_string())
    except UnicodeEncodeError:  # half a surrogate pair, which UTF-8 cannot spell
        text = pa.array([value.encode("utf-8", "replace").decode() for value in plain], pa.large_string())
    yield Part(Kind.TEXT, ALL, text)


def _bytes(values: list[Any]) -> Iterator[Part]:
    yield Part(Kind.TEXT, ALL, pa.array([_decoded(value) for value in values], pa.large_string()))


def _decoded(value: Any) -> str:
    try:
        return bytes(value).decode("utf-8", "replace")
    except Exception:  # a memoryview that was released; or a value's own code, which may raise anything
        return UNSPEAKABLE


def _others(values: list[Any]) -> Iterator[Part]:
    yield from _texts([_spelled(value) for value in values])


def _spelled(value: Any) -> str:
    try:
        return str.__str__(str(value))
    except Exception:  # a value's own code may raise anything, and no value may stop a run
        return UNSPEAKABLE


def _arrow(values: list[Any]) -> Iterator[Part]:
    """Arrow's scalars as the Python objects that they stand for."""
    yield from parts_of(Objects([_python(value) for value in values]))


def _python(value: Any) -> Any:
    try:
        found = value.as_py()
    except Exception:  # out of Python's range
        return UNSPEAKABLE
    return UNSPEAKABLE if isinstance(found, pa.Scalar) else found


def _moments(values: list[Any]) -> Iterator[Part]:
    read = [_moment(value) for value in values]
    for kind in (Kind.WALL_CLOCK, Kind.INSTANT, Kind.MISSING):
        rows = np.array([i for i, (found, _) in enumerate(read) if found is kind], dtype=np.intp)
        if rows.size:
            yield Part(kind, rows, np.array([read[i][1] for i in rows], dtype=np.int64))


def _numpy_moment(value: np.datetime64) -> tuple[Kind, int]:
    if np.isnat(value):
        return Kind.MISSING, 0
    try:
        return Kind.WALL_CLOCK, int(value.astype("datetime64[s]").astype(np.int64))
    except (OverflowError, ValueError, TypeError):
        return Kind.WALL_CLOCK, np.iinfo(np.int64).max


def _moment(value: date | np.datetime64) -> tuple[Kind, int]:
    if isinstance(value, np.datetime64):
        return _numpy_moment(value)
    try:
        return _python_moment(value)
    except Exception:  # pandas has moments beyond Python's years; or a value's own code, which may raise anything
        moment = getattr(value, "asm8", None)
    seconds = _numpy_moment(moment)[1] if isinstance(moment, np.datetime64) else np.iinfo(np.int64).max
    return (Kind.WALL_CLOCK if getattr(value, "tzinfo", None) is None else Kind.INSTANT), seconds


def _python_moment(value: date) -> tuple[Kind, int]:
    """Return whole seconds since 1970, rounded down: of the wall clock, or of UTC where the value has a zone."""
    day = (value.toordinal() - _EPOCH) * _DAY
    if not isinstance(value, datetime):
        return Kind.WALL_CLOCK, day
    seconds = day + value.hour * 3600 + value.minute * 60 + value.second
    try:
        offset = value.utcoffset()
    except Exception:  # a time zone's own code may raise anything
        offset = None
    if offset is None:
        return Kind.WALL_CLOCK, seconds
    micros = seconds * 10**6 + value.microsecond - offset // timedelta(microseconds=1)
    return Kind.INSTANT, micros // 10**6
