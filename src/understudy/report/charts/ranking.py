"""Marginals by their error: a name, a bar, a number. Public, unless it is handed true errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from understudy.domain import Clique
from understudy.quantities import percent
from understudy.report.charts.heatmap import step
from understudy.report.markup import Html, tag
from understudy.report.numbers import data
from understudy.report.tables import names


@dataclass(frozen=True)
class Ranked:
    """One marginal: the share that its bar shows, and one that a line across the bar shows, if any."""

    clique: Clique
    share: float
    limit: float | None = None
    note: str = ""


def ranking(marginals: Sequence[Ranked], *, peak: float) -> Html:
    """Return a list of bars; ``peak`` is the share of a full bar."""
    return tag("ol", (_item(m, max(peak, 1e-9)) for m in marginals), class_="ranking")


def _item(marginal: Ranked, peak: float) -> Html:
    fill = tag("span", class_=f"fill h{step(marginal.share)}", style=f"width:{_at(marginal.share, peak)}")
    line = None
    if marginal.limit is not None:
        line = tag("span", class_="whisker", style=f"left:{_at(marginal.limit, peak)};width:0")
    note = tag("span", marginal.note, class_="note") if marginal.note else None
    return tag(
        "li",
        tag("span", names(marginal.clique), " ", note, class_="label"),
        tag("span", data(marginal.share, percent(marginal.share)), class_="number"),
        tag("span", fill, line, class_="track", aria_hidden="true"),
    )


def _at(share: float, peak: float) -> str:
    return f"{100 * min(share / peak, 1.0):.2f}%"
