"""The page of an evaluation, real against synthetic. NOT PRIVATE, and marked so on every screen and sheet."""

from __future__ import annotations

from understudy.manifest.promise import confidence, rounded_up
from understudy.quantities import percent
from understudy.report import evaluation_words as say
from understudy.report.cards import script
from understudy.report.charts.heatmap import Cell, heatmap, legend
from understudy.report.charts.ranking import Ranked, ranking
from understudy.report.evaluation_columns import associations, columns, groups
from understudy.report.evaluation_data import ErrorView, EvaluationData
from understudy.report.evaluation_rows import combinations, learning, records
from understudy.report.markup import Child, Html, tag, words
from understudy.report.numbers import count, data, digits, plural
from understudy.report.page import Mark, Section, facts, page
from understudy.report.tables import folded, names, parted, plain_names, table

INTERNAL = Mark("INTERNAL: NOT PRIVATE", "This page shows true counts of the real table. Keep it with the table.")
MOST_RANKED = 6
MOST_LISTED = 400
MOST_PAIRS = 2000
MOST_DRAWN, MOST_WORST = 40, 24
"""Columns of a map of pairs; of more, so many pairs are listed instead."""


LINE = "A line across is the bound that the release gives."


def render(evaluation: EvaluationData) -> str:
    """Return the page."""
    sections = [
        Section("summary", "How close it is", "Summary", _summary(evaluation)),
        Section("columns", "Column by column", "Columns", columns(evaluation)),
        *([Section("groups", "Group by group", "Groups", groups(evaluation))] if evaluation.measured.groups else []),
        Section("pairs", "Pair by pair", "Pairs", _pairs(evaluation)),
        Section("marginals", "Best and worst", "Best and worst", _marginals(evaluation)),
        Section("combinations", "Combinations that should not be there", "Combinations", combinations(evaluation)),
        Section("learning", "What can be learnt from it", "Learning", learning(evaluation)),
        Section("records", "Single records", "Records", records(evaluation)),
    ]
    return page(
        title=f"{evaluation.title}: real against synthetic",
        header=_header(evaluation),
        sections=sections,
        footer=tag(
            "p", f"Internal: not private. Made by Understudy {evaluation.version} from the real table; do not publish."
        ),
        warning=INTERNAL,
        script=script(len(evaluation.columns)),
    )


def _header(evaluation: EvaluationData) -> Html:
    seeded = "" if evaluation.private else ", seeded"
    figures: list[tuple[str, Child, str]] = [
        ("Workload error", data(evaluation.error, f"{evaluation.error:.4f}"), "of the records, averaged over the workload"),
        ("Real records", data(evaluation.rows, count(evaluation.rows)), "exactly: a private number"),
        (
            "Synthetic records",
            data(evaluation.synthetic_rows, count(evaluation.synthetic_rows)),
            f"at ε = {rounded_up(evaluation.epsilon)}{seeded}",
        ),
        ("Bounds that held", _held(evaluation), f"each promised with {confidence(evaluation.confidence)}"),
    ]
    return words(
        tag("p", "Internal: not private", class_="kicker alarm"),
        tag("h1", f"{evaluation.title}: real against synthetic"),
        facts(figures),
    )


def _held(evaluation: EvaluationData) -> str:
    return f"{count(evaluation.within)} of {count(evaluation.bounded)}"


def _summary(evaluation: EvaluationData) -> Html:
    error = (
        f"On average over the workload ({evaluation.workload}), the distances between real and synthetic counts add up to "
        f"{percent(evaluation.error)} of the records. 0% is perfect, about 200% the worst: a misplaced record counts twice."
    )
    bounds = (
        f"Of {plural(evaluation.compared, 'marginal')} compared, {count(evaluation.bounded)} have a bound in the release, "
        f"and {count(evaluation.within)} stayed within it."
    )
    real, made = evaluation.sampled
    part = evaluation.rows > real or evaluation.synthetic_rows > made
    sampled = (
        f"Quantiles, distances of numbers, correlations, classifiers and attacks are of samples drawn at random: "
        f"{count(real)} real and {count(made)} synthetic records. Counts, means and totals are of all."
    )
    return words(
        tag("p", error, class_="lead"),
        tag("p", bounds),
        table(("Measure", "Found"), list(say.summary(evaluation.measured)), caption="In short", text=2),
        tag("p", sampled) if part else None,
        tag("h3", "Scores that people know"),
        _scores(evaluation),
    )


def _scores(evaluation: EvaluationData) -> Html:
    rows = [
        (parted(name), data(score, digits(score)), say.KNOWN[name])
        for name, score in evaluation.measured.scores.items()
        if score is not None
    ]
    return table(("Score", "Value", "Averaged over"), rows, caption="Scores that people know", words_last=True)


def _pairs(evaluation: EvaluationData) -> Html:
    if len(evaluation.attributes) < 2:
        return tag("p", "There is one column, so there are no pairs.")
    furthest = sorted(evaluation.pairs, key=lambda e: (-e.share, e.clique))[:MOST_PAIRS]
    name = "All" if len(furthest) == len(evaluation.pairs) else f"The {MOST_PAIRS:,} furthest off of"
    drawn = _map(evaluation) if len(evaluation.attributes) <= MOST_DRAWN else _worst(furthest)
    errors = words(
        tag("p", "The true error of every pair of the workload that was compared, as a share of the records."),
        drawn,
        folded(f"{name} {plural(len(evaluation.pairs), 'pair')}, as a table", _table(furthest, "True error of every pair")),
    )
    return words(errors if furthest else None, tag("h3", "Association"), associations(evaluation))


def _map(evaluation: EvaluationData) -> Html:
    shown, pairs = evaluation.attributes, evaluation.pairs
    cells = {e.clique: Cell(e.share, f"{plain_names(e.clique)}: {percent(e.share)}", e.within is False) for e in pairs}
    missing = len(cells) < len(shown) * (len(shown) - 1) // 2
    marked = "beyond its bound" if any(e.within is False for e in pairs) else None
    return words(
        legend(none="not compared" if missing else None, marked=marked),
        heatmap(shown, cells, caption="True error of every pair of columns", none="not compared"),
    )


def _worst(furthest: list[ErrorView]) -> Html:
    worst = furthest[:MOST_WORST]
    peak = max(max(e.share, e.bound or 0.0) for e in worst)
    return words(
        tag("h3", f"The {plural(len(worst), 'pair')} furthest off"),
        tag("p", LINE, class_="note") if any(e.bound is not None for e in worst) else None,
        ranking([Ranked(e.clique, e.share, e.bound) for e in worst], peak=peak),
    )


def _marginals(evaluation: EvaluationData) -> Html:
    found = evaluation.marginals
    few = min(MOST_RANKED, max(1, len(found) // 2))
    peak = max([e.share for e in found] + [e.bound or 0.0 for e in (*found[:few], *found[-few:])] + [1e-9])
    drawn = (*found[:few], *found[-few:])
    best = ranking([Ranked(e.clique, e.share, e.bound) for e in found[:few]], peak=peak)
    worst = ranking([Ranked(e.clique, e.share, e.bound) for e in reversed(found[-few:])], peak=peak)
    listed = list(reversed(found[-MOST_LISTED:]))
    name = "All" if len(listed) == len(found) else f"The {MOST_LISTED} furthest off of"
    return words(
        tag("p", f"Bars are true errors. {LINE}" if any(e.bound is not None for e in drawn) else "Bars are true errors."),
        tag("div", tag("div", tag("h3", "Closest"), best), tag("div", tag("h3", "Furthest off"), worst), class_="halves"),
        folded(f"{name} {plural(len(found), 'marginal')}, as a table", _table(listed, "The workload's marginals")),
    )


def _table(errors: list[ErrorView], caption: str) -> Html:
    rows = [
        (
            names(e.clique),
            data(e.share, percent(e.share)),
            data(e.records, count(e.records)),
            "none" if e.bound is None else data(e.bound, percent(e.bound)),
        )
        for e in errors
    ]
    return table(("Columns", "Error", "In records", "Bound"), rows, caption=caption)
