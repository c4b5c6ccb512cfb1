"""Writes a first draft of a schema by looking at the data, and marks every line that a person must review.

NOT PRIVATE: a draft discloses what it saw (extremes, categories, missing values) until reviewed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any, cast
from zoneinfo import ZoneInfo

import pyarrow as pa

from understudy.errors import SourceError
from understudy.review.opening import VIEW, Opened, open_data
from understudy.schema.declaration import DEFAULT_BINS
from understudy.schema.moments import format_pattern
from understudy.schema.reading import is_text

MAX_LISTED = 100
MAX_DECIMALS = 6

HEADER = """\
# DRAFT. This schema was written by looking at the data itself.
#
# Used as it stands, it would disclose what it saw: the smallest and largest values, every category,
# whether anything was missing. Before it is used for a private release, a person must go through every
# line marked REVIEW and replace what was seen by what is known without the data (a code book, a law,
# common sense). Then set draft = false.

[table]
draft = true  # REVIEW: set to false once every line below has been reviewed
"""


@dataclass(frozen=True)
class Seen:
    """What the data showed of one column."""

    name: str
    type: pa.DataType
    rows: int
    missing: int
    distinct: int
    low: Any
    high: Any


def draft_schema(data: Any) -> str:
    """Return a draft (TOML) for any table with names that ``synthesize`` takes. It looks at the data, and says so."""
    with open_data(data) as opened:
        parts = [_column(opened, _look(opened, field)) for field in opened.types]
        head = HEADER + _nulls(opened) + _csv(opened)
    if not any(part.startswith("[columns.") for part in parts):
        raise SourceError("No column of this table can be described; write the schema by hand.")
    return "\n".join([head, *parts])


def _nulls(opened: Opened) -> str:
    """Declare the texts that stand for missing values in columns of numbers or dates."""
    return f'nulls = {_toml(list(opened.nulls))}  # REVIEW: texts that seem to mean "missing"\n' if opened.nulls else ""


def _csv(opened: Opened) -> str:
    """Declare how a CSV file is written, where that is not the usual way."""
    settings = {} if opened.dialect is None else opened.dialect.settings()
    lines = [f"{key} = {_toml(value)}  # REVIEW: how the file seems to be written" for key, value in settings.items()]
    if opened.dialect is not None and "header" not in settings and any(_is_number(name) for name in opened.types.names):
        lines.append("# REVIEW: a number as a name: if the first line holds no names, draft again with --header A,B,C")
    return "\n".join(["\n[table.csv]", *lines, ""]) if lines else ""


def _toml(value: str | list[str]) -> str:
    return _quote(value) if isinstance(value, str) else f"[{', '.join(map(_quote, value))}]"


def _is_number(name: str) -> bool:
    return re.fullmatch(r"\s*[+-]?[0-9]*[.,]?[0-9]+\s*", name) is not None


def _look(opened: Opened, field: pa.Field) -> Seen:
    name = _sql_name(field.name)
    ordered = pa.types.is_integer(field.type) or pa.types.is_decimal(field.type) or pa.types.is_temporal(field.type)
    finite = f"FILTER (isfinite({name}))" if pa.types.is_floating(field.type) else ""
    micros = _cast(field.type)
    extremes = f"(min({name}) {finite}){micros}, (max({name}) {finite}){micros}" if ordered or finite else "NULL, NULL"
    present = f"count({name}) FILTER (NOT isnan({name}))" if finite else f"count({name})"
    query = f"SELECT count(*), count(*) - {present}, approx_count_distinct({name}), {extremes} FROM {VIEW}"
    [(rows, missing, distinct, low, high)] = opened.ask(query)
    return Seen(field.name, field.type, rows, missing, distinct, low, high)


def _cast(kind: pa.DataType) -> str:
    """Moments are looked at in microseconds, which Python can hold."""
    return "::TIMESTAMP" if pa.types.is_timestamp(kind) and kind.tz is None else ""


def _sql_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _column(opened: Opened, seen: Seen) -> str:
    if seen.rows == seen.missing:
        return _left_out(seen, "no value was seen")
    lines = _writer(seen.type)(opened, seen)
    return lines if isinstance(lines, str) else "\n".join([_header(seen.name), *lines, ""])


def _writer(kind: pa.DataType) -> Callable[[Opened, Seen], list[str] | str]:
    types = pa.types
    if types.is_dictionary(kind) or is_text(kind):
        return _text
    if types.is_boolean(kind):
        return _boolean
    if types.is_integer(kind):
        return _integer
    if types.is_floating(kind) or types.is_decimal(kind):
        return _real
    if types.is_date(kind):
        return _date
    return _datetime if types.is_timestamp(kind) else _unknown


def _header(name: str) -> str:
    return f"[columns.{name if re.fullmatch(r'[A-Za-z0-9_-]+', name) else _quote(name)}]"


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _left_out(seen: Seen, why: str) -> str:
    return f"# REVIEW: left out, because {why}.\n# {_header(seen.name)}\n"


def _unknown(opened: Opened, seen: Seen) -> str:
    return _left_out(seen, f"a column of type {seen.type} cannot be described")


def _place(seen: Seen, typical: str) -> list[str]:
    """Say where values go that do not fit: null when nulls were seen, else the commonest value."""
    if seen.missing:
        return ["nullable = true  # REVIEW: missing values were seen"]
    return [f"other = {typical}  # REVIEW: what a value that cannot be placed, or is missing, counts as; or nullable = true"]


def _text(opened: Opened, seen: Seen) -> list[str] | str:
    name = _sql_name(seen.name)
    query = (
        f"SELECT {name}::VARCHAR AS v, count(*) AS n FROM {VIEW} WHERE trim({name}::VARCHAR) <> '' "
        f"GROUP BY v ORDER BY n DESC, v LIMIT {MAX_LISTED + 1}"
    )
    ranked = [str(value) for value, _ in opened.ask(query)]
    if not ranked:
        return _left_out(seen, "no value was seen")
    lines = [
        'kind = "categorical"  # REVIEW: or "ordinal", with the values in order',
        *_type(seen.type, "string"),
    ]
    if len(ranked) <= MAX_LISTED:
        values = sorted(ranked)
        return [
            *lines,
            *_values(values, "every value was read from the data"),
            *_place(seen, _quote(ranked[0])),
        ]
    if seen.distinct * 2 > seen.rows:
        return _left_out(seen, "nearly every row has a text of its own (an identifier, or free text)")
    other = next(label for label in ("Other", "(other)", "(any other value)") if label not in ranked)
    values = sorted(ranked[: MAX_LISTED // 2])
    kept = f"only the {len(values)} commonest values were kept, read from the data"
    lines += [*_values(values, kept), f"other = {_quote(other)}  # REVIEW: what every other value counts as"]
    return [*lines, *(_place(seen, "") if seen.missing else [])]


def _values(values: list[str], note: str) -> list[str]:
    one = f"values = [{', '.join(map(_quote, values))}]"
    if len(one) <= 90:
        return [f"{one}  # REVIEW: {note}"]
    return [f"values = [  # REVIEW: {note}", *(f"  {_quote(value)}," for value in values), "]"]


def _type(kind: pa.DataType, usual: str) -> list[str]:
    """Declare the type of the decoded column when it is not the usual one."""
    given = "category" if pa.types.is_dictionary(kind) else str(kind)
    return [] if given in (usual, "string_view") else [f"type = {_quote(given)}"]


def _boolean(opened: Opened, seen: Seen) -> list[str]:
    [(often,)] = opened.ask(f"SELECT mode({_sql_name(seen.name)}) FROM {VIEW}")
    return ['kind = "boolean"', *_place(seen, str(bool(often)).lower())]


def _integer(opened: Opened, seen: Seen) -> list[str] | str:
    low, high = seen.low, seen.high
    if seen.rows > 100 and min(seen.distinct, high - low) > 0.9 * seen.rows:
        return _left_out(seen, "nearly every row has a number of its own (an identifier)")
    few = high - low < DEFAULT_BINS
    if not few:
        low, high = (int(bound) for bound in _outward(Decimal(low), Decimal(high)))
        low, high = _within(seen.type, low, high)
    return [
        'kind = "integer"' + ("  # REVIEW: or a category, if these are codes" if few else ""),
        *_type(seen.type, "int64"),
        *_bounds(str(low), str(high), rounded=not few),
        *_place(seen, str(max(low, min(high, _middle(opened, seen))))),
    ]


def _within(kind: pa.DataType, low: int, high: int) -> tuple[int, int]:
    """Keep rounded bounds inside what the type, and exact arithmetic, can hold."""
    signed = pa.types.is_signed_integer(kind)
    bits = kind.bit_width - signed
    top = min(2**bits, 2**53) - 1
    bottom = -top - (bits < 53) if signed else 0
    return max(low, bottom), min(high, top)


def _middle(opened: Opened, seen: Seen) -> Any:
    """Return the median, as a value that occurs."""
    name = _sql_name(seen.name)
    [(middle,)] = opened.ask(f"SELECT quantile_disc({name}, 0.5){_cast(seen.type)} FROM {VIEW}")
    return middle


def _bounds(low: str, high: str, rounded: bool = True) -> list[str]:
    how = "seen, rounded" if rounded else "seen"
    return [
        f"min = {low}  # REVIEW: the smallest value {how}; write the bound that you know",
        f"max = {high}  # REVIEW: the largest value {how}; write the bound that you know",
    ]


def _outward(low: Decimal, high: Decimal) -> tuple[Decimal, Decimal]:
    """Round bounds outward to half the leading power of ten of their distance: 17 … 90 becomes 15 … 90."""
    span = high - low or abs(high) or Decimal(1)
    step = Decimal(5).scaleb(span.adjusted() - 1)
    down = (low / step).to_integral_value(ROUND_FLOOR) * step
    up = (high / step).to_integral_value(ROUND_CEILING) * step
    return down, (up if up > down else down + step)


def _real(opened: Opened, seen: Seen) -> list[str] | str:
    if seen.low is None:
        return _left_out(seen, "no finite value was seen")
    low, high = (float(bound) for bound in _outward(Decimal(str(seen.low)), Decimal(str(seen.high))))
    lines = ['kind = "real"']
    if pa.types.is_decimal(seen.type):
        if seen.type.precision > 15:
            lines.append(f"decimals = {seen.type.scale}  # REVIEW: decoded as float64, not as {seen.type}")
        else:
            lines.append(f'type = "decimal({seen.type.precision}, {seen.type.scale})"')
    else:
        single = pa.types.is_float32(seen.type)
        lines += ['type = "float32"'] if single else []
        places = None if single else _decimals(opened, seen)
        lines += [] if places is None else [f"decimals = {places}  # REVIEW: the most decimals seen"]
    return [
        *lines,
        *_bounds(_float(low), _float(high)),
        *_place(seen, _float(float(_middle_real(opened, seen)))),
    ]


def _float(number: float) -> str:
    return repr(number) if abs(number) < 1e16 else f"{number:.17g}"


def _middle_real(opened: Opened, seen: Seen) -> Any:
    name = _sql_name(seen.name)
    finite = f"WHERE isfinite({name})" if pa.types.is_floating(seen.type) else ""
    [(middle,)] = opened.ask(f"SELECT quantile_disc({name}, 0.5) FROM {VIEW} {finite}")
    return middle


def _decimals(opened: Opened, seen: Seen) -> int | None:
    """Return the fewest decimals that spell every value, or None when many are needed."""
    name = _sql_name(seen.name)
    exact = ", ".join(f"bool_and(round({name}, {d}) = {name}) FILTER (isfinite({name}))" for d in range(MAX_DECIMALS))
    [flags] = opened.ask(f"SELECT {exact} FROM {VIEW}")
    places = next((d for d, flag in enumerate(flags) if flag), None)
    largest = max(abs(float(seen.low)), abs(float(seen.high)), 1.0) * 10.0 ** (places or 0)
    return places if largest < 2**48 else None


def _date(opened: Opened, seen: Seen) -> list[str] | str:
    form = _format(opened.formats.get(seen.name))
    if isinstance(form, str):
        return _left_out(seen, form)
    first, last = _whole_months(_day(seen.low), _day(seen.high))
    width = _width((last - first).days)
    return [
        'kind = "date"',
        *form,
        *_bounds(first.isoformat(), last.isoformat()),
        f"width = {_quote(width)}",
        *_place(seen, _day(_middle(opened, seen)).isoformat()),
    ]


def _datetime(opened: Opened, seen: Seen) -> list[str] | str:
    form = _format(opened.formats.get(seen.name))
    if isinstance(form, str):
        return _left_out(seen, form)
    first, last = _whole_months(_day(seen.low, seen.type.tz), _day(seen.high, seen.type.tz))
    zone = [] if seen.type.tz is None else [f"timezone = {_quote(seen.type.tz)}"]
    unit = [] if form or seen.type.unit == "us" else [f'type = "timestamp[{seen.type.unit}]"']
    clock = "23:59:00" if form and "%S" not in form[0] else "23:59:59"
    return [
        'kind = "datetime"',
        *form,
        *unit,
        *zone,
        *_bounds(f"{first.isoformat()}T00:00:00", f"{last.isoformat()}T{clock}"),
        f"width = {_quote(_width((last - first).days))}",
        *_place(seen, f"{_day(_middle(opened, seen), seen.type.tz).isoformat()}T00:00:00"),
    ]


def _format(form: str | None) -> list[str] | str:
    """Declare how a CSV file spells its dates, unless it is the usual way; a string says why it cannot be."""
    if form is None or form.startswith("%Y-%m-%d"):
        return []
    try:
        format_pattern(form)
    except ValueError as error:
        return f'its dates are spelled "{form}", which cannot be declared: {error}'
    return [f"format = {_quote(form)}  # REVIEW: how the file seems to spell it"]


def _day(moment: Any, zone: str | None = None) -> date:
    """Return the day of a moment, on the clocks of ``zone``."""
    if not isinstance(moment, datetime):
        return cast(date, moment)
    return (moment.astimezone(ZoneInfo(zone)) if zone else moment).date()


def _whole_months(first: date, last: date) -> tuple[date, date]:
    """Widen to whole months: the first of one, the last of another."""
    following = date(last.year + last.month // 12, last.month % 12 + 1, 1)
    return first.replace(day=1), following - timedelta(days=1)


def _width(days: int) -> str:
    return "1 day" if days <= 62 else "1 month" if days <= 5 * 366 else "1 quarter" if days <= 15 * 366 else "1 year"
