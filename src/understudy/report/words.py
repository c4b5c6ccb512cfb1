"""The sentences of a report that depend on its numbers: the promise, and what the table is not for. Public."""

from __future__ import annotations

from math import ceil

from understudy.manifest.promise import rounded_up
from understudy.quantities import percent
from understudy.report.data import ReportData
from understudy.report.markup import Child, Html, spoken, tag, words
from understudy.report.numbers import count, digits, plural

HIGH = 0.25
"""A bound above this share of the records is called high."""

WORST = 2.0
"""No error is larger, as a share of the records: a record in the wrong cell counts twice."""

MECHANISMS = {
    "aim": "AIM chose, round by round, the combination of columns that its model answered worst, and measured it.",
    "aim2": "AIM2 chose, round by round, the combination of columns where measuring was expected to improve its model most.",
    "mwem": "MWEM chose, in rounds of equal cost, what its model answered worst, and measured it.",
    "mst": "Every column was measured first, then the pairs of a tree that ties the most dependent columns together.",
    "privbayes+pgm": "Every column was measured first, then each with the columns before it that it depends on most.",
    "privmrf": "A graph of dependent columns was drawn, then what the model answered worst inside its cliques was measured.",
    "privsyn+pgm": "Pairs of columns that are worth their noise were chosen, joined where they overlap, and measured.",
    "hdmm+pgm": "All that the marginals of the workload say was measured, nothing twice, and one model was fitted to it.",
    "residuals": "All that the marginals of the workload say was measured in passes, each where the last one showed most "
    "to be wrong, and one model was fitted to it.",
    "ap-pgm": "Every marginal of the workload was measured; marginals were fitted to them that agree where they overlap.",
    "gem": "GEM chose, in rounds of equal cost, the marginal that its network answered worst, and measured it.",
    "rap": "Round by round, the marginals of the workload that a relaxed table answered worst were chosen and measured.",
    "independent": "Every column was measured by itself; columns are treated as unrelated.",
    "gaussian+pgm": "Every marginal of the workload was measured, and one model was fitted to them all.",
}


def promise(report: ReportData) -> Html:
    """Return the promise, for people who are not statisticians and then exactly, and what it rests on."""
    lead, *others = report.promise
    return words(
        tag("p", lead, class_="lead"),
        (tag("p", text) for text in others),
        tag("ul", (tag("li", text) for text in report.assumptions)),
    )


def no_promise(report: ReportData) -> Html:
    """Return what stands in the place of the promise for a research run."""
    said = (
        "This release promises nothing to anybody. Its noise came from a seeded generator, so that research can be "
        "repeated; whoever knows or guesses the seed can take the noise away. Do not publish it if the table behind it is "
        f"private. The figures below are those of a run at ε = {rounded_up(report.epsilon)}, δ = {rounded_up(report.delta)}."
    )
    return tag("p", said, class_="lead")


def limits(report: ReportData) -> Html:
    """Return what not to use the table for, in the terms of this release."""
    return tag("ul", (tag("li", tag("b", title), " ", text) for title, text in _limits(report)), class_="limits")


def _limits(report: ReportData) -> list[tuple[str, Child]]:
    found: list[tuple[str, Child]] = [
        ("Looking up a person.", "No row is anybody's. A row that resembles someone you know is chance."),
        ("Counting small groups.", _small(report)),
        ("Relations that were not kept.", _relations(report)),
        (
            "Combinations outside the workload.",
            words(
                f"It asked for {plural(report.queries, 'marginal')} ({report.workload}). ",
                spoken("Others may be far off; `understudy query` says whether anything bounds one."),
            ),
        ),
        (
            "Standard errors and tests as if these were samples.",
            "The noise added for privacy comes on top of sampling error. Drawing more synthetic rows adds no information.",
        ),
        ("Decisions about single people.", "Nothing here says anything about one person, by design."),
    ]
    if report.binned:
        inside = "Columns go together by bin; where in its bin a number or date lies does not depend on the other columns"
        inside += f", but for columns in order ({', '.join(report.in_order)}), which keep it." if report.in_order else "."
        found.insert(-1, ("Detail inside a bin.", inside))
    if not report.told or abs(report.weight - 1) > 0.05:
        found.insert(2, ("Adding up rows as they are.", _scaled(report)))
    return found


def _scaled(report: ReportData) -> str:
    if not report.told:
        return "How many records there are is not known, so rows add up to shares at best."
    return f"One synthetic row stands for {digits(report.weight)} records; scale counts by that."


def _small(report: ReportData) -> str:
    known = [c.radius for c in report.columns if c.radius is not None and c.grouped == 1]
    if not known and any(c.measured for c in report.columns):
        return (
            "Columns were measured by residuals, which prove no range for a single value; understudy query estimates one. "
            "A group smaller than that range may be there, or not."
        )
    if not known:
        return "No column was measured by itself, so no count is known to be near the truth."
    low, high = ceil(min(known)), ceil(max(known))
    size = count(high) if count(low) == count(high) else f"{count(low)} to {count(high)}"
    return (
        f"The noise on one value of a single column is up to ± {size} records, depending on the column. "
        "A group smaller than that may be there, or not."
    )


def _relations(report: ReportData) -> str:
    pairs = len(report.columns) * (len(report.columns) - 1) // 2
    if not pairs:
        return "There is one column, so there are none."
    high = sum(b.share > HIGH for b in report.pairs) + pairs - len(report.pairs)
    if not high:
        return f"All {plural(pairs, 'pair')} of columns stay within {percent(HIGH)}; larger combinations may be further off."
    return (
        f"For {count(high)} of {plural(pairs, 'pair')} of columns the error may exceed {percent(HIGH)} of the records, "
        "or has no bound. Look a pair up above before you rely on it."
    )


NOISE = (
    "The noise is as large as the table: the bounds on most of what was asked for say nothing, and the charts below show "
    "the noise rather than the table. A larger ε, fewer columns, coarser bins or more records would say more."
)


def mostly_noise(report: ReportData) -> Html | None:
    """Say that a release says hardly anything, where most bounds are as large as any error can be."""
    if not report.bounds or report.bounds[len(report.bounds) // 2].share < WORST:
        return None
    return tag("p", tag("b", "Mostly noise."), " ", NOISE, class_="lead")


def made_by(name: str, why: str = "") -> str:
    """Say what a mechanism does, in one sentence; and in another ``why`` this one, where nobody named it."""
    chosen = f" This way was chosen before the table was opened, {why}." if why else ""
    return MECHANISMS.get(name, f"The mechanism was {name}.") + chosen
