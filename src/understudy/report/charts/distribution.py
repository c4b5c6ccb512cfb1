"""One column's distribution: bars for the synthetic table, and over them where the real counts lie. Public."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from understudy.quantities import percent
from understudy.report.data import ColumnView, Value
from understudy.report.markup import Html, tag, words
from understudy.report.numbers import count, data, plural
from understudy.report.tables import folded, table

MOST_ROWS = 12
"""Horizontal bars shown for values without an order; the rest are in the table."""
BETWEEN = " to "
"""What the name of a bin has between its ends."""
MOST_LETTERS = 36
"""Of the names below a histogram; with more, the one in the middle is left out."""
MOST_ORDERED_ROWS = 12
"""Ordered values beyond this become a histogram."""


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
    in_rows = [len(v.label) for v in column.values if not (v.ordinary and _is_histogram(column))]
    longest = min(max(in_rows, default=1), 40)
    said = _described(column, total, labels)
    chart = tag("div", drawn, class_="chart", role="img", aria_label=said, style=f"--letters:{longest}")
    return words(chart, _as_table(column, total, labels))


def _is_histogram(column: ColumnView) -> bool:
    return column.ordered and sum(v.ordinary for v in column.values) > MOST_ORDERED_ROWS


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
    bars = [v for v in column.values if v.ordinary]
    special = [v for v in column.values if not v.ordinary]
    peak, total = _peak(bars), max(sum(v.synthetic for v in column.values), 1e-9)
    drawing = tag(
        "svg",
        (_bar(i, v, peak) for i, v in enumerate(bars)),
        _band(bars, peak),
        viewBox=f"0 0 {len(bars)} 100",
        preserveAspectRatio="none",
        aria_hidden="true",
    )
    highest = tag("p", percent(peak / total), class_="peak")
    return words(
        tag("div", highest, drawing, class_="histogram"),
        _axis(bars),
        (_row(v, total, _peak(column.values)) for v in special),
    )


def _bar(position: int, value: Value, peak: float) -> Html:
    height = 100 * max(value.synthetic, 0.0) / peak
    return tag("rect", x=f"{position + 0.06:g}", y=f"{100 - height:.2f}", width="0.88", height=f"{height:.2f}", class_="bar")


def _band(bars: Sequence[Value], peak: float) -> Html | None:
    """Return one outline over all bars: along the tops from left to right, back along the bottoms."""
    if any(v.lower is None or v.upper is None for v in bars):
        return None
    tops = [f"L{i},{_y(v.upper, peak)}H{i + 1}" for i, v in enumerate(bars)]
    bottoms = [f"L{i + 1},{_y(v.lower, peak)}H{i}" for i, v in reversed(list(enumerate(bars)))]
    return tag("path", d="M" + "".join(tops)[1:] + "".join(bottoms) + "Z", class_="band", vector_effect="non-scaling-stroke")


def _y(value: float | None, peak: float) -> str:
    return f"{100 - 100 * (value or 0.0) / peak:.2f}"


def _axis(bars: Sequence[Value]) -> Html:
    """Name where the bars begin, their middle and where they end; letters must not shrink with the drawing."""
    first, last = bars[0].label.split(BETWEEN)[0], bars[-1].label.split(BETWEEN)[-1]
    middle = bars[len(bars) // 2].label.split(BETWEEN)[0]
    shown = [first, middle, last] if len(first + middle + last) <= MOST_LETTERS else [first, last]
    return tag("p", (tag("span", name) for name in shown), class_="axis")


def _as_table(column: ColumnView, total: float, labels: Labels) -> Html:
    measured = column.radius is not None
    heads = labels.heads if measured else labels.heads[:3]
    rows = [_cells(v, total, labels, measured) for v in column.values]
    left = f"{plural(column.left_out, 'smaller value')} left out." if column.left_out else None
    body = words(table(heads, rows, caption=f"{column.name}, in records"), tag("p", left, class_="note") if left else None)
    return folded(f"All {plural(len(rows), 'value')}, as a table", body)


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
