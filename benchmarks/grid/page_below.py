"""Where one mechanism's figure is below another's, a line for each mechanism and measure with all its settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from grid.results import Results, Setting

Figures = Callable[[Results, Setting, str], list[float]]
"""A figure of each trial."""


def _figure(*path: str) -> Figures:
    return lambda results, setting, name: results.trials(setting, name, *path)


ERRORS: dict[str, Figures] = {
    "error (L1)": _figure("error", "l1"),
    "error (L2)": _figure("error", "l2"),
    "error (max)": _figure("error", "max"),
}
MEASURES: dict[str, Figures] = ERRORS | {"time": _figure("seconds"), "memory": Results.memory}
UNITS = {"time": " s", "memory": " MB"}


def below(results: Results, names: Iterable[str], measures: Iterable[str], ours: str = "aim") -> Iterator[str]:
    """Lines for each of ``names``, where a mean of its trials is below that of ``ours`` in the same setting."""
    for name in names:
        for measure in measures:
            found = [_pair(results, setting, name, ours, measure) for setting in results.settings(name, ours)]
            told = "; ".join(words for words in found if words)
            if told:
                yield f"{measure} of {name} is below that of {ours.upper()}: {told}"


def unfinished(results: Results, names: Iterable[str], ours: str = "aim") -> Iterator[str]:
    """Lines for each of ``names`` that finished where ``ours`` was tried and did not."""
    for name in names:
        tried = {(d, w, e): lines for (d, w, m, e), lines in results.groups.items() if m == ours}
        alone = [s for s in results.settings(name) if s in tried and not results.trials(s, ours)]
        told = "; ".join(f"{where(s)} ({', '.join(dict.fromkeys(line['status'] for line in tried[s]))})" for s in alone)
        if told:
            yield f"{name} finished where {ours.upper()} did not: {told}"


def _pair(results: Results, setting: Setting, name: str, ours: str, measure: str) -> str:
    theirs, mine = (MEASURES[measure](results, setting, one) for one in (name, ours))
    if not theirs or not mine or np.mean(theirs) >= np.mean(mine):
        return ""
    most = "at most " if measure == "memory" and results.memory_at_most(setting, name) else ""
    return f"{where(setting)}: {most}{_told(theirs, measure)} against {_told(mine, measure)}"


def _told(trials: list[float], measure: str) -> str:
    unit = UNITS.get(measure, "")
    return f"{np.mean(trials):.4g}{unit} ({len(trials)} trial{'s' * (len(trials) > 1)})"


def where(setting: Setting) -> str:
    """A setting in words."""
    return f"{setting[0]}, {setting[1]}, ε = {setting[2]:g}"
