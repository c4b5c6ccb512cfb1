"""Result lines as one thing to ask: means of settings, and settings that two mechanisms share. Not private."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from grid import store
from grid.summary import groups, values

Setting = tuple[str, str, float]
"""A table, a workload, an ε."""
LAUNCHER_MB = 300.0
"""More than the process had that starts the peers: an older line's peak below this may be that process's."""


class Results:
    """The latest line of every cell."""

    def __init__(self, lines: Iterable[store.Line]) -> None:
        self.lines = list(store.latest(list(lines)).values())
        self.groups = groups(self.lines)

    @classmethod
    def load(cls, *files: Path) -> Results:
        """Read files; of a cell in several, the last counts."""
        return cls([line for file in files for line in store.read(file)])

    def settings(self, *mechanisms: str) -> list[Setting]:
        """Where every one of ``mechanisms`` has a result, in the order of the file."""
        found = [
            {(d, w, e) for (d, w, m, e), lines in self.groups.items() if m == name and values(lines, "error", "l1")}
            for name in mechanisms
        ]
        order = dict.fromkeys((d, w, e) for d, w, _, e in self.groups)
        return [setting for setting in order if all(setting in one for one in found)]

    def trials(self, setting: Setting, mechanism: str, *path: str) -> list[float]:
        """A figure of each trial; the workload error unless told."""
        dataset, workload, epsilon = setting
        lines = self.groups.get((dataset, workload, mechanism, epsilon), [])
        return values(lines, *(path or ("error", "l1")))

    def mean(self, setting: Setting, mechanism: str, *path: str) -> float | None:
        """Its mean, where there is any."""
        found = self.trials(setting, mechanism, *path)
        return float(np.mean(found)) if found else None

    def fractions(self, setting: Setting, mechanism: str) -> list[float]:
        """The subsampling fraction of each trial; infinite where it did better than any sample would."""
        known = self.trials(setting, mechanism, "subsampling")
        return known + [np.inf] * (len(self.trials(setting, mechanism)) - len(known))

    def fraction(self, setting: Setting, mechanism: str) -> float | None:
        """Its mean, where there is any."""
        found = self.fractions(setting, mechanism)
        return float(np.mean(found)) if found else None

    def memory(self, setting: Setting, mechanism: str) -> list[float]:
        """Peaks of the trials, in MB."""
        return self.trials(setting, mechanism, "own_peak_mb") or self.trials(setting, mechanism, "peak_mb")

    def memory_at_most(self, setting: Setting, mechanism: str) -> bool:
        """Whether they only say how much at most: older lines of a peer may have the peak of its launcher instead."""
        if "/" not in mechanism or self.trials(setting, mechanism, "own_peak_mb"):
            return False
        return min(self.trials(setting, mechanism, "peak_mb"), default=LAUNCHER_MB) < LAUNCHER_MB

    def ratio(self, setting: Setting, above: str, below: str, *path: str) -> float:
        """The mean of ``above`` over that of ``below``, in a setting that both have."""
        return float(np.mean(self.trials(setting, above, *path)) / np.mean(self.trials(setting, below, *path)))

    def mechanisms(self) -> list[str]:
        """Those with any line, in the order of the file."""
        return list(dict.fromkeys(m for _, _, m, _ in self.groups))


@dataclass(frozen=True)
class Evidence:
    """All the stored results that the page is written from."""

    grid: Results
    quick: Results
    peers: Results
    downstream: dict[str, Any] | None
    family: Results = field(default_factory=lambda: Results([]))
    """Other papers' mechanisms, and AIM with other estimators."""
    same: Results = field(default_factory=lambda: Results([]))
    """Each mechanism of ours, and more of the peers' of the same name, on one setting."""
    binary: Results = field(default_factory=lambda: Results([]))
    """The made-up table of attributes with two values: none of the paper's, so in no figure of the paper."""

    @classmethod
    def load(cls, folder: Path) -> Evidence:
        """Read what there is."""
        names = ("grid", "quick", "peers", "family", "same", "binary")
        grid, quick, peers, *others = (Results.load(folder / f"{name}.jsonl") for name in names)
        return cls(grid, quick, peers, _json(folder / "downstream.json"), *others)

    @property
    def ours(self) -> Results:
        """Every cell of ours, whichever plan ran it: with the same seed and code its error is the same in all of them."""
        lines: Sequence[store.Line] = [*self.peers.lines, *self.quick.lines, *self.family.lines, *self.grid.lines]
        return Results(line for line in lines if "/" not in line["mechanism"])

    @property
    def everyone(self) -> Results:
        """Ours, and the peers' after them."""
        return Results([*self.ours.lines, *(line for line in self.peers.lines if "/" in line["mechanism"])])


def _json(path: Path) -> dict[str, Any] | None:
    return json.loads(path.read_text()) if path.exists() else None
