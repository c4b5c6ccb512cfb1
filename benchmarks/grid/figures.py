"""Draws the figures as SVG, from plain data alone: the same data give the same file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("svg")

import matplotlib.pyplot as plt

from grid.figure_data import Figure

COLOURS = ("#1f4e79", "#b35900", "#3a7d44", "#7b3f8c", "#a0302f", "#4d4d4d", "#2a9d8f", "#c9a227", "#6a8caf")
MARKERS = "osD^vPX*<"


def draw(figure: Figure, path: Path) -> None:
    """Write the figure; its digest goes into the file."""
    mpl.rcParams.update(
        {"svg.hashsalt": "understudy", "svg.fonttype": "none", "font.size": 9, "axes.grid": True, "grid.alpha": 0.3}
    )
    drawing = {"curves": _curves, "boxes": _boxes, "scatter": _scatter}[figure.kind](figure.data)
    drawing.suptitle(figure.title, fontsize=10)
    path.parent.mkdir(parents=True, exist_ok=True)
    drawing.savefig(
        path, metadata={"Date": None, "Creator": None, "Title": figure.title, "Description": f"data {figure.digest}"}
    )
    plt.close(drawing)


def digest_of(path: Path) -> str:
    """Which data a drawing was made from."""
    _, _, rest = path.read_text(encoding="utf-8").partition("<dc:description>data ")
    return rest[:16]


def _grid(panels: Mapping[str, Any]) -> tuple[Any, list[Any]]:
    across = min(len(panels), 3)
    down = -(-len(panels) // across)
    figure, axes = plt.subplots(
        down, across, figsize=(3.6 * across + 0.6, 2.9 * down + 0.4), layout="constrained", squeeze=False
    )
    flat = list(axes.flat)
    for spare in flat[len(panels) :]:
        spare.set_visible(False)
    return figure, flat


def _curves(data: Mapping[str, Any]) -> Any:
    figure, axes = _grid(data["panels"])
    for axis, (name, curves) in zip(axes, data["panels"].items(), strict=False):
        for k, (label, rows) in enumerate(curves.items()):
            x, mean, least, most = (list(column) for column in zip(*rows, strict=True))
            spread = [[m - a for m, a in zip(mean, least, strict=True)], [b - m for m, b in zip(mean, most, strict=True)]]
            axis.errorbar(x, mean, spread, label=label, color=COLOURS[k % 9], marker=MARKERS[k % 9], markersize=4, capsize=2)
        axis.set(xscale="log", yscale="log", title=name, xlabel=data.get("x", "ε"), ylabel=data["y"])
        axis.legend(fontsize=7)
    return figure


def _boxes(data: Mapping[str, Any]) -> Any:
    boxes = data["boxes"]
    figure, axis = plt.subplots(figsize=(1.0 * len(boxes) + 2, 3.8), layout="constrained")
    axis.boxplot(
        [box["ratios"] for box in boxes], tick_labels=[box["label"] for box in boxes], medianprops={"color": COLOURS[0]}
    )
    top = max(max(*box["ratios"], box["paper"] or 0.0) for box in boxes)
    for k, box in enumerate(boxes, start=1):
        axis.text(k, top * 1.08, box["words"], ha="center", va="bottom", fontsize=7)
        if box["paper"] is not None:
            axis.plot(k, box["paper"], "x", color=COLOURS[1])
    axis.axhline(1.0, color="#888888", linewidth=0.8)
    axis.set(yscale="log", ylabel=data["y"])
    for ticks in (axis.yaxis.set_major_formatter, axis.yaxis.set_minor_formatter):
        ticks("{x:g}")
    axis.set_ylim(top=top * 1.45)
    return figure


def _scatter(data: Mapping[str, Any]) -> Any:
    figure, axes = _grid(data["panels"])
    for axis, (name, kinds) in zip(axes, data["panels"].items(), strict=False):
        for k, (kind, pairs) in enumerate(kinds.items()):
            known = [(error, bound) for bound, error in pairs if error > 0 and bound > 0]
            if known:
                axis.plot(
                    *zip(*known, strict=True),
                    MARKERS[k],
                    label=kind,
                    color=COLOURS[k],
                    markersize=3,
                    alpha=0.6,
                    linestyle="none",
                )
        least, most = axis.get_xlim()
        axis.plot([least, most], [least, most], color="#888888", linewidth=0.8)
        axis.set(xscale="log", yscale="log", title=name, xlabel="true error", ylabel="bound")
        axis.legend(fontsize=7)
    return figure
