"""The dependence graph: columns on a circle, a line between two that were measured together. Public."""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, degrees, pi, sin

import numpy as np

from understudy.report.data import Edge
from understudy.report.markup import Html, tag
from understudy.report.numbers import plural
from understudy.report.tables import short

RADIUS = 108.0
LABEL = 16
"""Characters of a column's name that fit."""
WIDE = 0.64
"""Width of a letter over its height, in a wide font."""
MOST_SORTED = 64
"""More columns than this stay in their own order on the circle."""


def graph(attributes: Sequence[str], edges: Sequence[Edge]) -> Html:
    """Return the drawing."""
    order = circle_order(attributes, edges)
    angle = {name: 2 * pi * i / len(order) - pi / 2 for i, name in enumerate(order)}
    tied = {name for edge in edges for name in edge.pair}
    size = 12.5 if len(order) <= 28 else 340 / len(order)
    half = RADIUS + 12 + WIDE * size * max(len(short(name, LABEL)) for name in order)
    said = f"Dependence graph: {plural(len(attributes), 'column')}, {plural(len(edges), 'pair')} measured together."
    return tag(
        "svg",
        (_line(edge, angle) for edge in sorted(edges, key=lambda e: (e.strength, e.pair))),
        (_node(name, angle[name], name in tied) for name in order),
        viewBox=f"{-half:.0f} {-half:.0f} {2 * half:.0f} {2 * half:.0f}",
        role="img",
        aria_label=f"{said} The table has them all.",
        class_="graph",
        style=f"font-size:{size:.3g}px;max-width:min(34rem,{2.7 * half:.0f}px)",
    )


def circle_order(attributes: Sequence[str], edges: Sequence[Edge]) -> list[str]:
    """Return an order around the circle in which lines are short: swap two names while that helps."""
    order = list(range(len(attributes)))
    if not 3 < len(order) <= MOST_SORTED:
        return list(attributes)
    tie = np.zeros((len(order), len(order)), dtype=np.int64)
    for edge in edges:
        a, b = (attributes.index(name) for name in edge.pair)
        tie[a, b] = tie[b, a] = 1 + round(20 * edge.strength)
    return [attributes[i] for i in _settled(order, tie)]


def _settled(order: list[int], tie: np.ndarray) -> list[int]:
    apart = np.abs(np.subtract.outer(np.arange(len(order)), np.arange(len(order))))
    apart = np.minimum(apart, len(order) - apart)
    place = np.array(order)
    for _ in range(12):
        length, best = int((tie[np.ix_(place, place)] * apart).sum()), place
        for i in range(len(place)):
            for j in range(i + 1, len(place)):
                other = place.copy()
                other[[i, j]] = other[[j, i]]
                if (cost := int((tie[np.ix_(other, other)] * apart).sum())) < length:
                    length, best = cost, other
        if best is place:
            break
        place = best
    return [int(i) for i in place]


def _line(edge: Edge, angle: dict[str, float]) -> Html:
    """Bend towards the middle, so that lines between neighbours do not hide under the names."""
    (x1, y1), (x2, y2) = (_point(angle[name], RADIUS) for name in edge.pair)
    path = f"M{x1:.1f},{y1:.1f}Q{(x1 + x2) * 0.22:.1f},{(y1 + y2) * 0.22:.1f} {x2:.1f},{y2:.1f}"
    width = 0.8 + 5.2 * edge.strength
    return tag("path", d=path, class_="tie", style=f"stroke-width:{width:.2f};opacity:{0.35 + 0.65 * edge.strength:.2f}")


def _node(name: str, angle: float, tied: bool) -> Html:
    x, y = _point(angle, RADIUS)
    left = cos(angle) < -1e-9
    turn = degrees(angle) + (180 if left else 0)
    at, up = _point(angle, RADIUS + 9)
    return tag(
        "g",
        tag("title", name),
        tag("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r="3.6"),
        tag(
            "text",
            short(name, LABEL),
            transform=f"translate({at:.1f} {up:.1f}) rotate({turn:.1f})",
            text_anchor="end" if left else "start",
            dy="0.35em",
        ),
        class_="node" if tied else "node alone",
    )


def _point(angle: float, radius: float) -> tuple[float, float]:
    return radius * cos(angle), radius * sin(angle)
