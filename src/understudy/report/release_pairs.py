"""What a release knows of columns together: the model's graph, and the bound on each pair and marginal. Public."""

from __future__ import annotations

from collections.abc import Sequence

from understudy.manifest.promise import FARTHEST, confidence
from understudy.quantities import percent
from understudy.report.charts.graph import graph
from understudy.report.charts.heatmap import Cell, heatmap, legend
from understudy.report.charts.ranking import Ranked, ranking
from understudy.report.data import BoundView, ReportData
from understudy.report.markup import Child, Html, tag, words
from understudy.report.numbers import count, data, digits, plural
from understudy.report.tables import folded, names, plain_names, prominent, table

MOST_RANKED = 6
MOST_LISTED = 400
"""Marginals that are listed one by one: the furthest off."""
MOST_PAIRS = 2000
"""Pairs that are listed: the furthest off."""
MOST_DRAWN = 40
"""Columns of a drawing of pairs. Of more, the graph has those with the strongest ties, and the map becomes a list."""
MOST_NAMED = 24
"""Columns that are named one after another."""
MOST_WORST = 24
"""Pairs of that list."""
HOW = {
    "measured": "these columns were counted together, with noise, alone or with others",
    "checked": "the finished model was compared with the table on them once, with noise",
    "inferred": "they were never chosen to be measured, which bounds how far off the model was",
}
"""What the words in the tables of bounds mean."""


def model(report: ReportData) -> Html:
    """Return which columns the model holds together."""
    attributes = [c.name for c in report.columns]
    tied = {name for e in report.edges for name in e.pair}
    alone = [name for name in attributes if name not in tied]
    shown = _prominent(report)
    said = _tied(report)
    aside = tag("p", "Not measured with any other: ", _some(alone), ".", class_="note") if alone and report.edges else None
    if len(shown) < len(attributes):
        said += f" Drawn: the {len(shown)} columns with the strongest ties."
    edges = [e for e in report.edges if set(e.pair) <= set(shown)]
    drawn = tag("figure", graph(shown, edges)) if edges else None
    return tag("div", words(drawn, tag("div", tag("p", said), aside, _ties(report))), class_="beside")


def _some(columns: Sequence[str]) -> str:
    """Name the columns; of many, the first ones."""
    more = f" and {len(columns) - MOST_NAMED} others" if len(columns) > MOST_NAMED else ""
    return ", ".join(columns[:MOST_NAMED]) + more


def _tied(report: ReportData) -> str:
    rules = f", or through {plural(report.zeros, 'declared rule')} on impossible combinations" if report.zeros else ""
    if not report.edges:
        but = f" but for {plural(report.zeros, 'declared rule')} on impossible combinations" if report.zeros else ""
        return f"No columns were measured together: in this table they are unrelated{but}."
    return (
        "A line joins two columns that were measured together; the thicker it is, the more one says about the other in the "
        f"model. Two columns without a line are related through columns between them{rules}, or not at all."
    )


def _prominent(report: ReportData) -> list[str]:
    """Return the columns of drawings that show pairs."""
    return prominent([c.name for c in report.columns], [(e.pair, e.strength) for e in report.edges], MOST_DRAWN)


def _ties(report: ReportData) -> Html | None:
    if not report.edges:
        return None
    edges = sorted(report.edges, key=lambda e: (-e.strength, e.pair))
    strongest = [Ranked(e.pair, e.strength) for e in edges[:5]]
    rows = [(names(e.pair), e.measurements, data(e.strength, percent(e.strength))) for e in edges]
    sets = [
        (words(names(clique), ", sums" if sums else None), data(sigma, digits(sigma)))
        for clique, sigma, sums in report.measured
    ]
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


def pairs(report: ReportData) -> Html:
    """Return the bound on every pair."""
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
    furthest = sorted(report.pairs, key=lambda b: (-b.share, b.clique))
    listed = furthest[:MOST_PAIRS]
    name = "All" if len(listed) == len(report.pairs) else f"The {MOST_PAIRS:,} furthest off of"
    return words(
        tag("p", said + _silent(report.pairs)),
        _map(report) if len(attributes) <= MOST_DRAWN else _worst(furthest),
        folded(
            f"{name} {plural(len(report.pairs), 'pair')}, as a table",
            words(_bound_table([_bound_row(b) for b in listed], "Bounded error of every pair"), how(listed)),
        ),
    )


def _map(report: ReportData) -> Html:
    shown = [c.name for c in report.columns]
    cells = {b.clique: Cell(b.share, f"{plain_names(b.clique)}: {_described(b)}", b.measured) for b in report.pairs}
    missing = len(cells) < len(shown) * (len(shown) - 1) // 2
    marked = "measured together" if any(b.measured for b in report.pairs) else None
    return words(
        legend(none="no bound" if missing else None, marked=marked),
        heatmap(shown, cells, caption="Bounded error of every pair of columns", none="no bound"),
        tag("p", "To find a pair, follow one name to the left and the other one down.", class_="note"),
    )


def _worst(furthest: Sequence[BoundView]) -> Html:
    """Return the pairs that are furthest off, where there are too many columns for a map."""
    telling = _telling(furthest)
    worst, others = telling[:MOST_WORST], " of the others" if len(telling) < len(furthest) else ""
    if not worst:
        return words()
    return words(
        tag("h3", f"The {plural(len(worst), 'pair')}{others} that may be furthest off"),
        ranking([_ranked(b) for b in worst], peak=worst[0].share),
        how(worst),
    )


def _telling(bounds: Sequence[BoundView]) -> list[BoundView]:
    """Return the bounds that say something: no two tables of as many rows are farther apart than that."""
    return [b for b in bounds if b.share < FARTHEST]


def _silent(bounds: Sequence[BoundView]) -> str:
    """Say how many bounds say nothing; empty where each says something."""
    number = len(bounds) - len(_telling(bounds))
    if not number:
        return ""
    such = "is as large as that and says" if number == 1 else "are as large as that and say"
    return f" {count(number)} of these bounds {such} nothing."


def how(bounds: Sequence[BoundView]) -> Html:
    """Return what the words in "How" mean, of those that occur."""
    used = [word for word in HOW if any(_basis(b) == word for b in bounds)]
    return tag("p", "; ".join(f"{word}: {HOW[word]}" for word in used) + ".", class_="note")


def _described(bound: BoundView) -> str:
    return f"at most {percent(bound.share)} ({count(bound.records)} records), {_basis(bound)}"


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


def marginals(report: ReportData) -> Html:
    """Return the closest and the furthest off of the workload's marginals."""
    if not report.bounds:
        return tag("p", "No marginal of the workload has a bound.")
    drawn = _telling(report.bounds) or report.bounds
    few = min(MOST_RANKED, max(1, len(drawn) // 2))
    peak = drawn[-1].share
    best = ranking([_ranked(b) for b in drawn[:few]], peak=peak)
    worst = ranking([_ranked(b) for b in reversed(drawn[-few:])], peak=peak)
    said = (
        f"The workload is what the table was made to preserve: {plural(report.queries, 'marginal')} ({report.workload}). "
        f"Each bound holds with probability {confidence(report.confidence)} by itself"
        + (
            ", if no record of the private table is one declared impossible; each that is may add 2 records."
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
        tag("p", said + (gone if report.without_bound else "") + _vain(report)),
        tag("div", tag("div", tag("h3", "Closest"), best), tag("div", tag("h3", "Furthest off"), worst), class_="halves"),
        how(report.bounds),
        folded(
            f"{name} {plural(len(report.bounds), 'marginal')}, as a table", _bound_table(rows, "The workload's marginals")
        ),
        _sums(report),
    )


def _vain(report: ReportData) -> str:
    """Say which bounds are not drawn, since they say nothing."""
    number = len(report.bounds) - len(_telling(report.bounds))
    if not number:
        return ""
    drawn = "; the drawings are of the others" if number < len(report.bounds) else ""
    return f" {plural(number, 'bound')} of {percent(FARTHEST)} or more {'says' if number == 1 else 'say'} nothing{drawn}."


def _sums(report: ReportData) -> Html | None:
    """Return how far off the sums are that the workload asks for; nothing where it asks for none."""
    if not report.sums:
        return None
    said = (
        "The workload also asks for sums of counts. On average over all sums of a line, these are off by at most so many "
        f"records; each number holds with probability {confidence(report.confidence)} by itself."
    )
    rows = [
        (names(s.clique), s.asked, data(s.sums, count(s.sums)), _records(s.measured), _records(s.by_cells))
        for s in report.sums[:MOST_LISTED]
    ]
    heads = ("Columns", "Asked for", "Sums", "By their measurements", "By the bound on counts")
    return words(tag("h3", "Sums"), tag("p", said), table(heads, rows, caption="Sums that the workload asks for", text=2))


def _records(found: float | None) -> Child:
    return "none" if found is None else data(found, count(found))


def _ranked(bound: BoundView) -> Ranked:
    return Ranked(bound.clique, bound.share, note=_basis(bound))
