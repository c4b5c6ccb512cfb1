"""The report of a release: the promise, the spend, the model, the columns, the pairs, the limits, the making.

Public: everything on it comes from ``ReportData``.
"""

from __future__ import annotations

from collections.abc import Sequence

from understudy.manifest.promise import confidence, rounded_up
from understudy.quantities import percent, show_size
from understudy.report import words as say
from understudy.report.charts.budget import budget_bar, round_columns
from understudy.report.charts.distribution import distribution
from understudy.report.charts.graph import graph
from understudy.report.charts.heatmap import Cell, heatmap, legend
from understudy.report.charts.ranking import Ranked, ranking
from understudy.report.data import BoundView, ColumnView, ReportData
from understudy.report.markup import Child, Html, tag, words
from understudy.report.numbers import count, data, digits, plural
from understudy.report.page import Mark, Section, facts, page
from understudy.report.tables import folded, names, plain_names, prominent, table

MOST_RANKED = 6
MOST_LISTED = 400
"""Marginals that are listed one by one: the furthest off."""
MOST_PAIRS = 2000
"""Pairs that are listed: the furthest off."""
MOST_DRAWN = 48
"""Columns of the drawings that show pairs: those with the strongest ties."""


def render(report: ReportData) -> str:
    """Return the page."""
    sections = [
        Section("promise", "The promise", "Promise", say.promise(report) if report.private else say.no_promise(report)),
        Section("budget", "What was spent, and on what", "Budget", _budget(report)),
        Section("model", "What the model holds together", "Model", _model(report)),
        Section("columns", "Column by column", "Columns", _columns(report)),
        Section("pairs", "Pair by pair", "Pairs", _pairs(report)),
        Section("marginals", "Best and worst", "Best and worst", _marginals(report)),
        Section("limits", "What not to use this table for", "Limits", say.limits(report)),
        Section("making", "How it was made", "Making", _making(report)),
    ]
    warning = None if report.private else Mark("NOT PRIVATE", _capital(report.notice.removeprefix("NOT PRIVATE: ")))
    return page(
        title=f"{report.title}: report on a synthetic table",
        header=_header(report),
        sections=sections,
        footer=tag("p", f"Made by Understudy {report.version} from released information alone."),
        warning=warning,
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _header(report: ReportData) -> Html:
    promised = "of differential privacy" if report.private else "not promised: a seeded run"
    worst = report.bounds[-1] if report.bounds else None
    figures: list[tuple[str, Child, str]] = [
        ("Privacy", words("ε = ", rounded_up(report.epsilon)), f"δ = {rounded_up(report.delta)}, {promised}"),
        ("Synthetic records", data(report.rows, count(report.rows)), plural(len(report.columns), "column")),
        (
            f"Real records{', used' if report.counted else ''}, about",
            data(report.total, count(report.total)),
            "estimated from noisy counts",
        ),
    ]
    if worst is not None:
        middle = report.bounds[len(report.bounds) // 2]
        figures.append(
            ("Error, at most", data(middle.share, percent(middle.share)), "for the middle one of the workload's marginals")
        )
    description = tag("p", report.description, class_="lead") if report.description else None
    kicker = tag("p", "Report on a synthetic table", class_="kicker")
    return words(kicker, tag("h1", report.title), description, facts(figures))


def _budget(report: ReportData) -> Html:
    said = (
        f"The whole budget is ρ = {rounded_up(report.rho)}, and {percent(report.spent / report.rho)} of it was spent. "
        "Nothing was read from the table before its cost had been accepted."
    )
    columns = round_columns(report)
    rounds = None
    if columns is not None:
        rounds = words(
            tag("h3", "Round by round"),
            tag(
                "p",
                "Each round chooses one combination of columns, then measures it."
                + (
                    " When a round learns little, the next ones spend more."
                    if any(r.annealed for r in report.rounds)
                    else ""
                ),
            ),
            columns,
            folded(f"All {plural(len(report.rounds), 'round')}, as a table", _rounds(report), paper=True),
        )
    return words(tag("p", said), budget_bar(report), rounds)


def _rounds(report: ReportData) -> Html:
    heads = ("Round", "Measured", "From", "Cost, ρ", "Share", "Noise, σ", "Change", "Model")
    rows = [
        (
            r.index,
            names(r.chosen),
            data(r.candidates, count(r.candidates)),
            data(r.choosing + r.measuring, digits(r.choosing + r.measuring)),
            percent((r.choosing + r.measuring) / report.rho),
            data(r.sigma, digits(r.sigma)),
            data(r.change, count(r.change)),
            show_size(r.size),
        )
        for r in report.rounds
    ]
    return words(
        table(heads, rows, caption="Every round", text=2),
        tag(
            "p",
            "From: how many combinations it was chosen from. Noise: its standard deviation on each cell, in records. "
            "Change: by how many records, summed over cells, the model's answer moved.",
            class_="note",
        ),
    )


def _model(report: ReportData) -> Html:
    attributes = [c.name for c in report.columns]
    tied = {name for e in report.edges for name in e.pair}
    alone = [name for name in attributes if name not in tied]
    shown = _prominent(report)
    said = (
        "A line joins two columns that were measured together; the thicker it is, the more one says about the other "
        "in the model. Columns without a line between them are related only through others."
    )
    if not report.edges:
        said = "No columns were measured together: in this table they are unrelated."
    aside = (
        tag("p", "Not measured with any other: ", ", ".join(alone), ".", class_="note") if alone and report.edges else None
    )
    if len(shown) < len(attributes):
        said += f" Drawn: the {len(shown)} columns with the strongest ties."
    edges = [e for e in report.edges if set(e.pair) <= set(shown)]
    drawn = tag("figure", graph(shown, edges)) if edges else None
    return tag("div", words(drawn, tag("div", tag("p", said), aside, _ties(report))), class_="beside")


def _prominent(report: ReportData) -> list[str]:
    """Return the columns of drawings that show pairs."""
    return prominent([c.name for c in report.columns], [(e.pair, e.strength) for e in report.edges], MOST_DRAWN)


def _ties(report: ReportData) -> Html | None:
    if not report.edges:
        return None
    edges = sorted(report.edges, key=lambda e: (-e.strength, e.pair))
    strongest = [Ranked(e.pair, e.strength) for e in edges[:5]]
    rows = [(names(e.pair), e.measurements, data(e.strength, percent(e.strength))) for e in edges]
    sets = [(names(clique), data(sigma, digits(sigma))) for clique, sigma in report.measured]
    return words(
        tag("h3", "Strongest ties"),
        tag("ol", (tag("li", names(r.clique), " ", tag("b", percent(r.share))) for r in strongest), class_="ties"),
        tag("p", "100%: one of the two columns tells the other. 0%: they are independent.", class_="note"),
        folded(
            f"All {plural(len(rows), 'pair')} measured together",
            table(("Pair", "Times measured", "Tie"), rows, caption="Pairs measured together"),
        ),
        folded(
            f"All {plural(len(sets), 'measurement')}",
            table(("Measured", "Noise, σ"), sets, caption="Every measurement, in order"),
        ),
    )


def _columns(report: ReportData) -> Html:
    sure = confidence(report.confidence)
    said = (
        "Bars are the synthetic table. Over them, outlined, lies the range that holds the real count of every value "
        f"of the column at once, with probability {sure}. Where the range is a thin line, the count is known almost exactly."
    )
    keys = tag(
        "ul",
        tag("li", tag("span", class_="key bar"), "synthetic"),
        tag("li", tag("span", class_="key line"), "range of the real count"),
        class_="legend",
    )
    counted = tag("p", report.counted) if report.counted else None
    return words(tag("p", said), counted, keys, tag("div", map(_card, report.columns), class_="cards"))


def _card(column: ColumnView) -> Html:
    said = [f"{column.kind}, {plural(len(column.values) + column.left_out, 'value')}"]
    if column.grouped > 1:
        said.append(f"drawn {column.grouped} values at a time")
    if column.radius is None:
        said.append("never measured, so there is no range")
    description = tag("p", column.description) if column.description else None
    return tag(
        "article", tag("h3", column.name), tag("p", "; ".join(said), class_="note"), description, distribution(column)
    )


def _pairs(report: ReportData) -> Html:
    attributes = [c.name for c in report.columns]
    if len(attributes) < 2:
        return tag("p", "There is one column, so there are no pairs.")
    if not report.pairs:
        return tag(
            "p", "No pair of columns was measured or judged in this run, so nothing bounds how far off any of them is."
        )
    sure = confidence(report.confidence)
    said = (
        "How far off a table of two columns may be: over all of its cells, the distances between real and synthetic counts "
        f"add up to at most this share of the records, with probability {sure}. A record in the wrong cell counts twice, "
        "so about 200% is the worst there is."
    )
    shown = _prominent(report)
    drawn = [b for b in report.pairs if set(b.clique) <= set(shown)]
    cells = {b.clique: Cell(b.share, f"{plain_names(b.clique)}: {_described(b)}", b.measured) for b in drawn}
    missing = len(cells) < len(shown) * (len(shown) - 1) // 2
    listed = sorted(report.pairs, key=lambda b: (-b.share, b.clique))[:MOST_PAIRS]
    name = "All" if len(listed) == len(report.pairs) else f"The {MOST_PAIRS} furthest off of"
    marked = "measured together" if any(b.measured for b in drawn) else None
    fewer = f" Drawn: the {len(shown)} columns with the strongest ties." if len(shown) < len(attributes) else ""
    return words(
        tag("p", said + fewer),
        legend(none="no bound" if missing else None, marked=marked),
        heatmap(shown, cells, caption="Bounded error of every pair of columns", none="no bound"),
        tag("p", "To find a pair, follow one name to the left and the other one down.", class_="note"),
        folded(
            f"{name} {plural(len(report.pairs), 'pair')}, as a table",
            _bound_table([_bound_row(b) for b in listed], "Bounded error of every pair"),
        ),
    )


def _described(bound: BoundView) -> str:
    how = (
        "measured together" if bound.measured else "checked at the end" if bound.checked else "bounded through other choices"
    )
    return f"at most {percent(bound.share)} ({count(bound.records)} records), {how}"


def _basis(bound: BoundView) -> str:
    return "measured" if bound.measured else "checked" if bound.checked else "inferred"


def _bound_row(bound: BoundView) -> Sequence[Child]:
    return (
        names(bound.clique),
        _basis(bound),
        data(bound.share, percent(bound.share)),
        data(bound.records, count(bound.records)),
    )


def _bound_table(rows: Sequence[Sequence[Child]], caption: str) -> Html:
    return table(("Columns", "How", "Error, at most", "In records"), rows, caption=caption, text=2)


def _marginals(report: ReportData) -> Html:
    if not report.bounds:
        return tag("p", "No marginal of the workload has a bound.")
    few = min(MOST_RANKED, max(1, len(report.bounds) // 2))
    peak = report.bounds[-1].share
    best = ranking([_ranked(b) for b in report.bounds[:few]], peak=peak)
    worst = ranking([_ranked(b) for b in reversed(report.bounds[-few:])], peak=peak)
    said = (
        f"The workload is what the table was made to preserve: {plural(report.queries, 'marginal')} ({report.workload}). "
        f"Each bound holds with probability {confidence(report.confidence)} by itself"
        + (
            ", if no record of the private table is one declared impossible; each that is may add 2."
            if report.zeros
            else "."
        )
    )
    gone = (
        f" {plural(report.without_bound, 'marginal')} of it {'has' if report.without_bound == 1 else 'have'} no bound here."
    )
    listed = report.bounds[-MOST_LISTED:]
    name = "All" if len(listed) == len(report.bounds) else f"The {MOST_LISTED} furthest off of"
    rows = [_bound_row(b) for b in reversed(listed)]
    return words(
        tag("p", said + (gone if report.without_bound else "")),
        tag("div", tag("div", tag("h3", "Closest"), best), tag("div", tag("h3", "Furthest off"), worst), class_="halves"),
        folded(
            f"{name} {plural(len(report.bounds), 'marginal')}, as a table", _bound_table(rows, "The workload's marginals")
        ),
    )


def _ranked(bound: BoundView) -> Ranked:
    return Ranked(bound.clique, bound.share, note=_basis(bound))


def _making(report: ReportData) -> Html:
    steps = [
        "A schema declared what the table may contain. It was written by people and is public.",
        f"{say.made_by(report.mechanism)} Every count that left the table did so with noise, paid for from the budget.",
        f"A model was fitted to the {plural(len(report.measured), 'noisy marginal')} ({show_size(report.model_size)}).",
        f"The model drew {plural(report.rows, 'synthetic record')}. The real table was not looked at again.",
        "The bounds and this page were computed from the same noisy measurements.",
    ]
    settings = [
        ("Software", f"Understudy {report.version}"),
        ("Mechanism", report.mechanism),
        *((f"Option: {name}", value) for name, value in report.options),
        ("Workload", f"{report.workload}, {plural(report.queries, 'marginal')}"),
        ("Neighbouring tables", report.unit),
        ("Budget", f"ρ = {rounded_up(report.rho)} (ε = {rounded_up(report.epsilon)}, δ = {rounded_up(report.delta)})"),
        ("Spent", f"ρ = {rounded_up(report.spent)}"),
        ("Rounds", f"{len(report.rounds)}, ended by {report.ended}" if report.rounds else "none"),
        ("Rules on impossible combinations", str(report.zeros)),
        ("One synthetic record stands for", f"{digits(report.weight)} real ones"),
        ("Confidence of each bound", confidence(report.confidence)),
        ("Noise", "discrete, from a secure generator" if report.private else "from a seeded generator: not private"),
    ]
    return words(
        tag("ol", (tag("li", s) for s in steps)),
        table(("Setting", "Value"), settings, caption="Settings of the run", text=2),
    )
