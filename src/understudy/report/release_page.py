"""The report of a release: the promise, the columns, the pairs, the limits, the model, the making, the spend.

Public: everything on it comes from ``ReportData``.
"""

from __future__ import annotations

from understudy.manifest.promise import confidence, rounded_up
from understudy.quantities import percent, show_size, show_time
from understudy.report import words as say
from understudy.report.cards import script
from understudy.report.charts.budget import budget_bar, round_columns
from understudy.report.data import ReportData
from understudy.report.markup import Child, Html, tag, words
from understudy.report.numbers import count, data, digits, plural
from understudy.report.page import Mark, Section, facts, page
from understudy.report.release_columns import columns
from understudy.report.release_pairs import marginals, model, pairs
from understudy.report.tables import folded, names, table


def render(report: ReportData) -> str:
    """Return the page."""
    sections = [
        Section("promise", "The promise", "Promise", say.promise(report) if report.private else say.no_promise(report)),
        Section("columns", "Column by column", "Columns", columns(report)),
        Section("pairs", "Pair by pair", "Pairs", pairs(report)),
        Section("marginals", "Best and worst", "Best and worst", marginals(report)),
        Section("limits", "What not to use this table for", "Limits", say.limits(report)),
        Section("model", "What the model holds together", "Model", model(report)),
        Section("making", "How it was made", "Making", _making(report)),
        Section("budget", "Appendix: what was spent, and on what", "Appendix", _budget(report)),
    ]
    warning = None if report.private else Mark("NOT PRIVATE", _capital(report.notice.removeprefix("NOT PRIVATE: ")))
    return page(
        title=f"{report.title}: report on a synthetic table",
        header=_header(report),
        sections=sections,
        footer=tag("p", f"Made by Understudy {report.version} from released information alone."),
        warning=warning,
        script=script(len(report.columns)),
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _header(report: ReportData) -> Html:
    promised = "of differential privacy" if report.private else "not promised: a seeded run"
    worst = report.bounds[-1] if report.bounds else None
    figures: list[tuple[str, Child, str]] = [
        ("Privacy", words("ε = ", rounded_up(report.epsilon)), f"δ = {rounded_up(report.delta)}, {promised}"),
        ("Synthetic records", data(report.rows, count(report.rows)), _width(report)),
        (
            f"Real records{', used' if report.counted else ''}, about",
            data(report.total, count(report.total)) if report.told else "unknown",
            _estimated(report),
        ),
    ]
    if worst is not None:
        middle = report.bounds[len(report.bounds) // 2]
        nothing = f"; above {percent(say.WORST)} it says nothing" if middle.share > say.WORST else ""
        told = f"for the middle one of {_bounded(report)}{nothing}"
        figures.append(("Error, at most", data(middle.share, percent(middle.share)), told))
    description = tag("p", report.description, class_="lead") if report.description else None
    kicker = tag("p", "Report on a synthetic table", class_="kicker")
    return words(kicker, tag("h1", report.title), description, facts(figures), say.mostly_noise(report))


def _estimated(report: ReportData) -> str:
    """Say how far off the number of real records may be, and where that is unknown, why."""
    if report.told:
        return f"{report.total_range}, from noisy counts" if report.total_range else "estimated from noisy counts"
    return f"noise is as large as the counts: {count(report.total)} {report.total_range}"


def _width(report: ReportData) -> str:
    """Return how many columns the synthetic table has, those that follow from others among them."""
    return plural(len(report.columns) + len(report.derived), "column")


def _bounded(report: ReportData) -> str:
    """Name the marginals of the workload that have a bound."""
    if not report.without_bound:
        return "the workload's marginals"
    return f"those {count(len(report.bounds))} of the workload's {plural(report.queries, 'marginal')} that have a bound"


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


def _option(name: str, value: str) -> tuple[str, str]:
    """Return an option of the mechanism; those that a command has are told in words."""
    if name == "max_size" and value.isdigit():
        return "Largest model", show_size(int(value))
    if name == "time_limit" and value.replace(".", "", 1).isdigit():
        return "Time limit", show_time(float(value))
    return f"Option: {name}", value


def _making(report: ReportData) -> Html:
    steps = [
        f"A schema declared what the table may contain. It was {report.origin} and is public.",
        f"{say.made_by(report.mechanism, report.chosen)} Every count that left the table did so with noise, paid for from "
        "the budget.",
        f"A model was fitted to the {plural(len(report.measured), 'noisy marginal')} ({show_size(report.model_size)}).",
        f"The model drew {plural(report.rows, 'synthetic record')}. The real table was not looked at again.",
        "The bounds and this page were computed from the same noisy measurements.",
    ]
    settings = [
        ("Software", f"Understudy {report.version}"),
        ("Mechanism", report.mechanism),
        *(_option(name, value) for name, value in report.options),
        ("Workload", f"{report.workload}, {plural(report.queries, 'marginal')}"),
        ("Neighbouring tables", report.unit),
        ("Budget", f"ρ = {rounded_up(report.rho)} (ε = {rounded_up(report.epsilon)}, δ = {rounded_up(report.delta)})"),
        ("Spent", f"ρ = {rounded_up(report.spent)}"),
        ("Rounds", f"{len(report.rounds)}, ended by {report.ended}" if report.rounds else "none"),
        ("Rules on impossible combinations", str(report.zeros)),
        (
            "One synthetic record stands for",
            f"{digits(report.weight)} real {'one' if digits(report.weight) == '1' else 'ones'}"
            if report.told
            else "nobody knows how many real ones",
        ),
        ("Confidence of each bound", confidence(report.confidence)),
        ("Noise", "discrete, from a secure generator" if report.private else "from a seeded generator: not private"),
    ]
    return words(
        tag("ol", (tag("li", s) for s in steps)),
        table(("Setting", "Value"), settings, caption="Settings of the run", text=2),
    )
