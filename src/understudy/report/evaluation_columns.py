"""Columns, groups and associations on the page of an evaluation. NOT PRIVATE: true numbers of the real table."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from understudy.measures.columns import QUANTILES, Both, ColumnMeasures, Numbers
from understudy.measures.groups import Group, GroupColumn, Grouping
from understudy.measures.pairs import PairMeasures
from understudy.measures.values import show, show_difference
from understudy.quantities import percent
from understudy.report.cards import Card, cards
from understudy.report.charts.distribution import REAL, distribution
from understudy.report.charts.widths import scaled_words
from understudy.report.data import ColumnView, derived_words
from understudy.report.evaluation_data import EvaluationData
from understudy.report.markup import Child, Html, tag, words
from understudy.report.numbers import count, data, plural
from understudy.report.tables import folded, names, parted, table
from understudy.schema import Column

DERIVED = "Not compared, since they follow from other columns in every synthetic row: "
MOST_ASSOCIATIONS = 2000
"""Pairs that are listed: those whose association changed most."""
FIRST_ASSOCIATIONS = 8
Row = tuple[Child, ...]


def columns(evaluation: EvaluationData) -> Html:
    """Return every column as a chart with its numbers, and all in one table."""
    keys = tag(
        "ul",
        tag("li", tag("span", class_="key bar"), "synthetic"),
        tag("li", tag("span", class_="key real"), "real"),
        class_="legend",
    )
    measured = {m.name: m for m in evaluation.measured.columns}
    shown = [Card(c.name, c.kind, _card(c, measured[c.name], evaluation.schema[c.name])) for c in evaluation.columns]
    derived = derived_words(evaluation.schema)
    rows = [_overview(m) for m in evaluation.measured.columns]
    heads = (
        "Column",
        "Kind",
        "Missing, real",
        "Missing, synthetic",
        "Total variation",
        "Kolmogorov–Smirnov",
        "Mean, off by",
    )
    return words(
        tag(
            "p",
            "Total variation is the share of the records that are in the wrong bin or value, missing ones included. "
            "Kolmogorov–Smirnov is the largest error of a share of numbers up to some value. A value outside the declared "
            "bounds counts as the schema says.",
        ),
        tag("p", f"{DERIVED}{', '.join(derived)}.") if derived else None,
        keys,
        cards(shown),
        folded(f"All {plural(len(rows), 'column')}, as a table", table(heads, rows, caption="Every column", text=2)),
    )


def _overview(m: ColumnMeasures) -> Row:
    numbers = m.numbers
    return (
        m.name,
        m.kind,
        data(m.missing.real, percent(m.missing.real)),
        data(m.missing.synthetic, percent(m.missing.synthetic)),
        data(m.tvd, percent(m.tvd)),
        "" if numbers is None else data(numbers.ks, percent(numbers.ks)),
        "" if numbers is None or numbers.mean.relative is None else percent(abs(numbers.mean.relative)),
    )


def _card(column: ColumnView, m: ColumnMeasures, declared: Column) -> Html:
    said = "; ".join([column.kind, *scaled_words(column), f"total variation {percent(m.tvd)}"])
    if m.missing.real or m.missing.synthetic:
        said += f"; missing: synthetic {percent(m.missing.synthetic)}, real {percent(m.missing.real)}"
    numbers = None if m.numbers is None else _numbers(m.numbers, declared)
    note = tag("p", said, class_="note")
    return words(tag("h3", parted(column.name)), note, distribution(column, REAL), numbers)


def _numbers(numbers: Numbers, column: Column) -> Html:
    moments = column.kind in ("date", "datetime", "time")
    level = _shower(column)
    rows = [_row("Mean", numbers.mean, level, column)]
    rows += [] if moments else [_row("Total", numbers.total, level, column)]
    rows.append(_row("Deviation", numbers.stddev, _spread(column), column))
    rows += [_row(_percentile(q), both, level, column) for q, both in zip(QUANTILES, numbers.quantiles, strict=True)]
    heads = ("Number", "Real", "Synthetic", "Off by")
    shown = table(heads, rows, caption=f"{column.name}, its numbers")
    made, real = (tag("span", level(number), class_="whole") for number in (numbers.mean.synthetic, numbers.mean.real))
    return folded(words("Mean: synthetic ", made, ", real ", real), shown)


def _shower(column: Column) -> Callable[[float], str]:
    return lambda number: show(column, number)


def _spread(column: Column) -> Callable[[float], str]:
    return lambda number: show_difference(column, number).lstrip("+")


def _percentile(level: float) -> str:
    return "Median" if level == 0.5 else f"{100 * level:g}% below"


def _row(name: str, both: Both, level: Callable[[float], str], column: Column) -> Row:
    return (
        name,
        data(both.real, level(both.real)),
        data(both.synthetic, level(both.synthetic)),
        data(both.difference, show_difference(column, both.difference)),
    )


def groups(evaluation: EvaluationData) -> Html:
    """Return every grouping."""
    return words(_grouping(g, evaluation) for g in evaluation.measured.groups)


def _grouping(grouping: Grouping, evaluation: EvaluationData) -> Html:
    rows = [
        (g.label, data(g.rows.real, count(g.rows.real)), data(g.rows.synthetic, count(g.rows.synthetic)), *_worst(g))
        for g in grouping.groups
    ]
    heads = (grouping.by, "Real", "Synthetic", "Total variation, mean", "worst", "of")
    return words(
        tag("h3", f"By {grouping.by}"),
        table(heads, rows, caption=f"Groups of {grouping.by}", words_last=True),
        (folded(f"{grouping.by} = {g.label}", _group(grouping.by, g, evaluation)) for g in grouping.groups if g.columns),
    )


def _worst(group: Group) -> tuple[Child, Child, Child]:
    if not group.columns:
        return "", "", "one table has none"
    worst = max(group.columns, key=lambda c: c.tvd)
    mean = sum(c.tvd for c in group.columns) / len(group.columns)
    return data(mean, percent(mean)), data(worst.tvd, percent(worst.tvd)), worst.name


def _group(by: str, group: Group, evaluation: EvaluationData) -> Html:
    heads = (
        "Column",
        "Total variation",
        "Missing, real",
        "synthetic",
        "Mean, real",
        "synthetic",
        "Median, real",
        "synthetic",
    )
    rows = [_group_row(c, evaluation.schema[c.name]) for c in group.columns]
    return table(heads, rows, caption=f"{by} = {group.label}, column by column")


def _group_row(c: GroupColumn, column: Column) -> Row:
    shown: list[Child] = [c.name, data(c.tvd, percent(c.tvd)), percent(c.missing.real), percent(c.missing.synthetic)]
    for both in (c.mean, c.median):
        shown += ["", ""] if both is None else [data(v, show(column, v)) for v in (both.real, both.synthetic)]
    return tuple(shown)


def associations(evaluation: EvaluationData) -> Html:
    """Return how strongly columns are associated in both tables, those that changed most first."""
    pairs = sorted(evaluation.measured.pairs, key=lambda p: (-abs(p.cramers_v.difference), p.clique))
    listed = pairs[:MOST_ASSOCIATIONS]
    name = "All" if len(listed) == len(pairs) else f"The {MOST_ASSOCIATIONS:,} most changed of"
    said = (
        "Cramér's V of two columns, in the schema's bins: 0 where they are independent, 1 where one tells the other. "
        "It is not corrected for chance: with few records and many bins independent columns have some, too. Similarity is 1 "
        "less the total variation distance of the pair's two tables; correlation is Pearson's, of two columns of numbers."
    )
    return words(
        tag("p", said),
        _associations(listed[:FIRST_ASSOCIATIONS], "The most changed associations"),
        folded(f"{name} {plural(len(pairs), 'pair')}, as a table", _associations(listed, "Association of every pair")),
    )


def _associations(pairs: Sequence[PairMeasures], caption: str) -> Html:
    heads = ("Pair", "V, real", "V, synthetic", "Similarity", "Correlation, real", "synthetic")
    return table(heads, [_association(p) for p in pairs], caption=caption)


def _association(p: PairMeasures) -> Row:
    v, r = p.cramers_v, p.correlation
    shown: list[Child] = [names(p.clique), data(v.real, f"{v.real:.3f}"), data(v.synthetic, f"{v.synthetic:.3f}")]
    shown.append(data(p.contingency_similarity, f"{p.contingency_similarity:.3f}"))
    shown += ["", ""] if r is None else [data(r.real, f"{r.real:+.3f}"), data(r.synthetic, f"{r.synthetic:+.3f}")]
    return tuple(shown)
