"""The columns of a release, each with the range of its real counts. Public."""

from __future__ import annotations

from understudy.manifest.promise import confidence
from understudy.report.cards import MANY, Card, cards
from understudy.report.charts.distribution import distribution
from understudy.report.charts.widths import scaled_words
from understudy.report.data import ColumnView, ReportData
from understudy.report.markup import Html, spoken, tag, words
from understudy.report.numbers import data
from understudy.report.tables import folded, parted, table

THIN = (
    " Where the range is thin, this count is known well. That says nothing of how the column goes with others: for "
    "that, look at the bound on the pair."
)
NUMBERS = (
    "Means, totals and quantiles are those of the synthetic table, missing values left out; a total counts each record as "
    "many times as it stands for real ones. No bound on their error is proved."
)
EXPECTED = (
    " Beside them: where the private table's own number is expected in 95 of 100 cases (a bootstrap interval, around the "
    "model's answer). How often that holds was measured on other tables; it is not proved."
)
NOT_WORKED_OUT = (
    " Where the private table's own are expected, `understudy query` tells; `understudy report` puts it on this page."
)
DERIVED = "Not shown, since they follow from other columns in every synthetic row: "
ALONE = " Where the range is thin, this count is known well."
RESIDUALS = (
    "Bars are the synthetic table. Columns were measured by residuals: how many records there are, and how far each value "
    "is from an even share of them. That proves no range of the real count of a value. understudy query estimates one; what "
    "is proved of a column as a whole is in the list of bounds."
)


def columns(report: ReportData) -> Html:
    """Return every column as a chart."""
    measured = any(c.radius is not None for c in report.columns)
    keys = [tag("li", tag("span", class_="key bar"), "synthetic")]
    if measured:
        keys.append(tag("li", tag("span", class_="key line"), "range of the real count"))
    counted = tag("p", report.counted) if report.counted else None
    shown = [Card(c.name, c.kind, _card(c, paper=len(report.columns) <= MANY)) for c in report.columns]
    told = EXPECTED if any(f.expected for c in report.columns for f in c.figures) else NOT_WORKED_OUT
    if report.in_order and told == EXPECTED:
        told += (
            f" Values were put in order row by row ({', '.join(report.in_order)}), so their numbers may lie outside of it."
        )
    numbers = tag("p", spoken(NUMBERS + told)) if any(c.figures for c in report.columns) else None
    derived = tag("p", f"{DERIVED}{', '.join(report.derived)}.") if report.derived else None
    return words(
        tag("p", _said(report, measured) + _outside(report)),
        numbers,
        counted,
        derived,
        tag("ul", keys, class_="legend"),
        cards(shown),
    )


def _said(report: ReportData, measured: bool) -> str:
    if not measured and any(c.measured for c in report.columns):
        return RESIDUALS
    if not measured:
        return "Bars are the synthetic table. No column was measured, so there is no range of the real counts."
    return (
        "Bars are the synthetic table. Over them, outlined, lies the range that holds the real count of every value of the "
        f"column at once, with probability {confidence(report.confidence)}." + (THIN if len(report.columns) > 1 else ALONE)
    )


def _outside(report: ReportData) -> str:
    """Say why counts lie outside of their range, where some do."""
    found = {c.name: sum(v.outside for v in c.values) for c in report.columns}
    named, number = [name for name, counts in found.items() if counts], sum(found.values())
    if not number:
        return ""
    lie = "count lies outside of its range" if number == 1 else "counts lie outside of their ranges"
    return (
        f" {number:,} {lie} (in {', '.join(named)}): a range is that of noisy counts alone, while the table's are at least "
        "0, add up to as many in every column, and keep declared rules."
    )


def _card(column: ColumnView, *, paper: bool) -> Html:
    said = [f"{column.kind}, {column.codes}"]
    if column.grouped > 1:
        said.append(f"drawn {column.grouped} at a time")
    if column.radius is None and len(column.values) > 1:
        said.append(
            "measured by residuals, so no range is proved" if column.measured else "never measured, so there is no range"
        )
    said += scaled_words(column)
    description = tag("p", column.description) if column.description else None
    note = tag("p", "; ".join(said), class_="note")
    return words(tag("h3", parted(column.name)), note, description, distribution(column), _figures(column, paper=paper))


def _figures(column: ColumnView, *, paper: bool) -> Html | None:
    if not column.figures:
        return None
    named = {f.name: f.shown for f in column.figures}
    known = any(f.expected for f in column.figures)
    rows = [
        (f.name, data(f.value, f.shown), *((tag("span", f.expected, class_="range"),) if known else ()))
        for f in column.figures
    ]
    heads = ("Number", "Synthetic", *(("Real, expected",) if known else ()))
    shown = table(heads, rows, caption=f"{column.name}, its numbers")
    mean, median = (tag("span", named[name], class_="whole") for name in ("Mean", "Median"))
    return folded(words("Mean ", mean, ", median ", median), shown, paper=paper)
