"""What was spent on what: one bar for the whole budget, and a column for each round. Public."""

from __future__ import annotations

from collections.abc import Sequence

from understudy.quantities import percent
from understudy.report.data import ReportData
from understudy.report.markup import Html, tag, words
from understudy.report.numbers import digits, plural

Part = tuple[str, str, float]
"""A name, a style and an amount of rho."""


def parts(report: ReportData) -> list[Part]:
    """Return what the budget went on; parts without any are left out."""
    found = [
        ("Measuring before and after the rounds" if report.rounds else "Measurements", "first", report.spending.measuring),
        ("Values of open columns", "open", report.spending.opening),
        ("Choosing what to measure", "choose", sum(r.choosing for r in report.rounds)),
        ("Measuring what was chosen", "measure", sum(r.measuring for r in report.rounds)),
        ("Values inside bins", "inside", report.spending.inside),
        ("Checking the finished model", "check", report.spending.checking),
        ("Not spent", "unspent", report.rho - report.spent),
    ]
    return [part for part in found if part[2] > 1e-9 * report.rho]


def budget_bar(report: ReportData) -> Html:
    """Return one bar, with its parts named below it."""
    found = parts(report)
    said = "; ".join(f"{name} {percent(amount / report.rho)}" for name, _, amount in found)
    segments = (tag("span", class_=kind, style=f"width:{100 * amount / report.rho:.3f}%") for _, kind, amount in found)
    keys = (
        tag("li", tag("span", class_=f"key {kind}"), name, " ", tag("b", percent(amount / report.rho)))
        for name, kind, amount in found
    )
    return words(
        tag("div", segments, class_="budget", role="img", aria_label=f"Budget: {said}."),
        tag("ul", keys, class_="legend"),
    )


def round_columns(report: ReportData) -> Html | None:
    """Return a column for each round, as high as what it cost."""
    if not report.rounds:
        return None
    peak = max(r.choosing + r.measuring for r in report.rounds)
    many = plural(len(report.rounds), "round")
    said = f"What each of {many} cost; the most was rho = {digits(peak)}. The table has them all."
    bars = [
        words(_rect(i, 0.0, r.measuring / peak, "measure"), _rect(i, r.measuring / peak, r.choosing / peak, "choose"))
        for i, r in enumerate(report.rounds)
    ]
    drawing = tag("svg", bars, viewBox=f"0 0 {len(bars)} 100", preserveAspectRatio="none", aria_hidden="true")
    highest = tag("p", f"ρ = {digits(peak)}", class_="peak")
    return tag(
        "div",
        tag("div", highest, drawing, class_="histogram"),
        _axis(len(bars)),
        class_="chart",
        role="img",
        aria_label=said,
    )


def _rect(position: int, start: float, height: float, kind: str) -> Html:
    y = 100 * (1 - start - height)
    return tag("rect", x=f"{position + 0.06:g}", y=f"{y:.2f}", width="0.88", height=f"{100 * height:.2f}", class_=kind)


def _axis(rounds: int) -> Html:
    names: Sequence[str] = ["round 1"] if rounds == 1 else ["round 1", f"round {rounds}"]
    return tag("p", (tag("span", name) for name in names), class_="axis")
