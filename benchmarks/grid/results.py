"""Result lines as one thing to ask: means of settings, and settings that two mechanisms share. Not private."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from grid import store
from grid.summary import groups, values

Setting = tuple[str, str, float]
"""A table, a workload, an ε."""


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

    def fraction(self, setting: Setting, mechanism: str) -> float | None:
        """The mean subsampling fraction; infinite where a trial did better than any sample would."""
        if not self.trials(setting, mechanism):
            return None
        known = self.trials(setting, mechanism, "subsampling")
        return float(np.mean(known)) if len(known) == len(self.trials(setting, mechanism)) else np.inf

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

    @classmethod
    def load(cls, folder: Path) -> Evidence:
        """Read what there is."""
        grid, quick, peers = (Results.load(folder / f"{name}.jsonl") for name in ("grid", "quick", "peers"))
        return cls(grid, quick, peers, _json(folder / "downstream.json"))

    @property
    def ours(self) -> Results:
        """Every cell of ours, whichever plan ran it: a cell has the same seed, and so the same error, in all of them."""
        lines: Sequence[store.Line] = [*self.peers.lines, *self.quick.lines, *self.grid.lines]
        return Results(line for line in lines if "/" not in line["mechanism"])


def _json(path: Path) -> dict[str, Any] | None:
    return json.loads(path.read_text()) if path.exists() else None
