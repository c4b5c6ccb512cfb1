"""One column's distribution: bars for the synthetic table, and over them where the real counts lie. Public."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from unicodedata import east_asian_width

from understudy.measures.values import YEARS
from understudy.quantities import percent
from understudy.report.charts.widths import MOST_ORDERED_ROWS, Bar, bars, scaling
from understudy.report.data import ColumnView, Value
from understudy.report.markup import Html, tag, words
from understudy.report.numbers import count, data, plural
from understudy.report.tables import folded, table

MOST_ROWS = 12
"""Horizontal bars shown for values without an order; the rest are in the table."""
ENDS = re.compile(r" to | … |, (?=[^,]*[)\]]$)")
"""What the name of a bin, or of several, has between its ends."""
NEAR = 10
"""A bar that begins so far from the middle, of 100 in all, is named there."""
MOST_LETTERS = 32
"""Of the names below a histogram; with more, the one in the middle is left out."""
WIDE, CAPITAL, SMALL, WIDEST = 1.02, 0.8, 0.66, "MWmw@%&"
"""How wide letters are, in ems."""


@dataclass(frozen=True)
class Labels:
    """What the chart calls its parts: a confidence band on the report, the real count on an evaluation."""

    over: str
    heads: tuple[str, ...]
    exact: bool


BAND = Labels("range of the real count", ("Value", "Synthetic", "Share", "Real, at least", "Real, at most"), exact=False)
REAL = Labels("real count", ("Value", "Synthetic", "Share", "Real"), exact=True)


def distribution(column: ColumnView, labels: Labels = BAND) -> Html:
    """Return a figure: the chart, and the same as a table."""
    total = max(sum(v.synthetic for v in column.values), 1e-9)
    drawn = _histogram(column) if _is_histogram(column) else _rows(column, total)
    in_rows = [_ems(v.label) for v in column.values if not (v.ordinary and _is_histogram(column))]
    longest = min(max(in_rows, default=1.0), 40.0)
    said = _described(column, total, labels)
    chart = tag("div", drawn, class_="chart", role="img", aria_label=said, style=f"--ems:{longest:.1f}")
    return words(chart, _as_table(column, total, labels))


def _ems(label: str) -> float:
    """Return how wide a label may be drawn, in ems: no font in use has wider letters."""
    return sum(WIDE if c in WIDEST or east_asian_width(c) in "WF" else CAPITAL if c.isupper() else SMALL for c in label)


def _is_histogram(column: ColumnView) -> bool:
    many = sum(v.ordinary for v in column.values) > MOST_ORDERED_ROWS
    return column.ordered and (many or scaling(column) == "density")


def _described(column: ColumnView, total: float, labels: Labels) -> str:
    top = sorted(column.values, key=lambda v: -v.synthetic)[:3]
    most = ", ".join(f"{v.label} ({percent(v.synthetic / total)})" for v in top)
    over = f" Lines show the {labels.over}." if column.radius is not None else ""
    return f"Distribution of {column.name}. Most common: {most}.{over} The table below has every value."


def _peak(values: Sequence[Value]) -> float:
    return max([*(v.synthetic for v in values), *(v.upper or 0.0 for v in values), 1e-9])


def _rows(column: ColumnView, total: float) -> Html:
    shown = column.values if column.ordered else _largest(column.values)
    rest = [v for v in column.values if v not in shown]
    peak = _peak(column.values)
    more = f"{plural(len(rest), 'more value')}: {percent(sum(v.synthetic for v in rest) / total)}"
    return words((_row(v, total, peak) for v in shown), tag("p", more, class_="more") if rest else None)


def _largest(values: Sequence[Value]) -> list[Value]:
    if len(values) <= MOST_ROWS + 4:
        return list(values)
    return sorted(values, key=lambda v: -v.synthetic)[:MOST_ROWS]


def _row(value: Value, total: float, peak: float) -> Html:
    return tag(
        "div",
        tag("span", value.label, class_="label" if value.ordinary else "label special"),
        tag(
            "span",
            tag("span", class_="fill", style=f"width:{_at(value.synthetic, peak)}"),
            _whisker(value, peak),
            class_="track",
        ),
        tag("span", percent(value.synthetic / total), class_="number"),
        class_="row",
    )


def _whisker(value: Value, peak: float) -> Html | None:
    if value.lower is None or value.upper is None:
        return None
    width = _at(value.upper - value.lower, peak)
    return tag("span", class_="whisker", style=f"left:{_at(value.lower, peak)};width:{width}")


def _at(value: float, peak: float) -> str:
    return f"{100 * min(max(value / peak, 0.0), 1.0):.2f}%"


def _histogram(column: ColumnView) -> Html:
    values = [v for v in column.values if v.ordinary]
    special = [v for v in column.values if not v.ordinary]
    how = scaling(column)
    total = max(sum(v.synthetic for v in column.values), 1e-9)
    drawn = bars(values, how)
    drawing = tag(
        "svg",
        map(_bar, drawn),
        _band(drawn),
        viewBox="0 0 100 100",
        preserveAspectRatio="none",
        aria_hidden="true",
    )
    if how in ("density", "logarithmic"):
        high = max(zip(drawn, values, strict=True), key=lambda pair: pair[0].height)[1]
        highest = f"{'densest' if how == 'density' else 'highest'}: {high.label}, {percent(high.synthetic / total)}"
    else:
        highest = percent(_peak(values) / total)
    return words(
        tag("div", tag("p", highest, class_="peak"), drawing, class_="histogram"),
        _axis(column, values, drawn),
        (_row(v, total, _peak(column.values)) for v in special),
    )


def _bar(bar: Bar) -> Html:
    gap, height = 0.06 * (bar.end - bar.start), 100 * bar.height
    return tag(
        "rect",
        x=f"{bar.start + gap:.3f}",
        y=f"{100 - height:.2f}",
        width=f"{bar.end - bar.start - 2 * gap:.3f}",
        height=f"{height:.2f}",
        class_="bar",
    )


def _band(bars: Sequence[Bar]) -> Html | None:
    """Return one outline over all bars: along the tops from left to right, back along the bottoms."""
    if any(b.lower is None or b.upper is None for b in bars):
        return None
    tops = [f"L{b.start:.2f},{_y(b.upper)}H{b.end:.2f}" for b in bars]
    bottoms = [f"L{b.end:.2f},{_y(b.lower)}H{b.start:.2f}" for b in reversed(bars)]
    return tag("path", d="M" + "".join(tops)[1:] + "".join(bottoms) + "Z", class_="band", vector_effect="non-scaling-stroke")


def _y(share: float | None) -> str:
    return f"{100 - 100 * (share or 0.0):.2f}"


def _axis(column: ColumnView, values: Sequence[Value], bars: Sequence[Bar]) -> Html:
    """Name where the bars begin and end, and where one near the middle begins. Letters must not shrink."""
    middle = min(range(len(bars)), key=lambda i: (abs(bars[i].start - 50), i))
    named = [values[i].label for i in (0, middle, -1)]
    if column.kind != "ordinal":  # whose values may have any name
        named = [_ends(label)[which] for label, which in zip(named, (0, 0, -1), strict=True)]
    first, between, last = named if _year(named[0]) and _year(named[-1]) else map(_tick, named)
    shown = [tag("span", first), tag("span", last)]
    if abs(bars[middle].start - 50) <= NEAR and len(first + between + last) <= MOST_LETTERS:
        shown.insert(1, tag("span", between, class_="at", style=f"left:{bars[middle].start:.2f}%"))
    return tag("p", shown, class_="axis")


def _ends(label: str) -> list[str]:
    """Return the ends of a bin, or of several, as their name spells them."""
    return [end.strip("[)]") for end in ENDS.split(label)]


def _year(end: str) -> bool:
    return re.fullmatch(r"\d{4}", end) is not None and YEARS[0] <= int(end) <= YEARS[1]


def _tick(end: str) -> str:
    """Write a number below a histogram as figures are: 250,000 for 250000.00. What is no number stays."""
    return f"{int(Decimal(end)):,}" if re.fullmatch(r"-?\d+(\.0+)?", end) else end


def _as_table(column: ColumnView, total: float, labels: Labels) -> Html:
    measured = column.radius is not None
    heads = labels.heads if measured else labels.heads[:3]
    rows = [_cells(v, total, labels, measured) for v in column.values]
    left = f"{plural(column.left_out, 'smaller value')} left out." if column.left_out else None
    body = words(table(heads, rows, caption=f"{column.name}, in records"), tag("p", left, class_="note") if left else None)
    return folded(f"All {plural(len(rows), 'bar')}, as a table", body)


def _cells(value: Value, total: float, labels: Labels, measured: bool) -> list[Html | str]:
    cells: list[Html | str] = [
        value.label,
        data(value.synthetic, count(value.synthetic)),
        percent(value.synthetic / total),
    ]
    if measured and value.lower is not None and value.upper is not None:
        limits = [value.upper] if labels.exact else [value.lower, value.upper]
        cells += [data(limit, count(limit)) for limit in limits]
    return cells
