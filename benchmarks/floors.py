"""What no mechanism can do: how near a total can be had under zCDP, on average over tables that differ in few rows.

    python benchmarks/floors.py [adult.csv]

Proved in docs/numbers.md ("What no mechanism can do"), whose table this prints. Without a file, by what is stored of adult.
NOT private: it looks at the real table.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from math import cos, exp, expm1, log, pi, sqrt

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from inside import made_up
from understudy.privacy import Budget

RHO = float(Budget.of(epsilon=1, delta=1e-9).rho)
GOAL = 0.01
WIDTHS = (10, 15, 20, 30, 40, 60, 80, 100, 120, 160, 200, 244)
"""Half-widths that are tried: each gives a bound, so the best does."""


FAR = 600.0
"""Tables that are farther apart than this count as told apart for certain."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Column:
    """A total, and its largest value; ``held`` rows have that."""

    name: str
    total: float
    largest: float
    held: int

    @classmethod
    def of(cls, name: str, values: pd.Series) -> Column:
        """Return that of real values."""
        return cls(name, float(values.sum()), float(values.max()), int((values == values.max()).sum()))

    def totals(self, half: int) -> Floats:
        """Return those of the tables with up to ``half`` rows of the largest value fewer or more than there are; where there
        are not so many, of those with 0 to twice ``half`` such rows.
        """
        lowest = -min(half, self.held)
        return self.total + self.largest * np.arange(lowest, lowest + 2 * half + 1)


ADULT = (Column("capital-gain", 52_703_821.0, 99_999.0, 244), Column("capital-loss", 4_273_788.0, 4_356.0, 3))
"""As adult.csv has them; a test compares."""


def overlap(kappa: Floats) -> Floats:
    """Return the least 1 - t, t the total variation of two distributions that are ``kappa``-zCDP to each other: t = tanh u,
    where u tanh u = kappa / 2.
    """
    low, high = np.zeros_like(kappa), kappa / 2 + 1
    for _ in range(60):
        middle = (low + high) / 2
        less = middle * np.tanh(middle) < kappa / 2
        low, high = np.where(less, middle, low), np.where(less, high, middle)
    return np.asarray(2 / (np.exp(2 * high) + 1))


def mean_absolute(column: Column, rho: float, half: int) -> float:
    """Return what any estimate of the total errs by, relative to it and on average over the tables: Theorem A."""
    totals = column.totals(half)
    apart = np.arange(1, len(totals))
    apart = apart[apart**2 * rho < FAR]
    tails = float(((1 - apart / len(totals)) * overlap(apart**2 * rho)).sum())
    return column.largest / 2 * tails / float(totals.max())


def root_mean_square(column: Column, rho: float, half: int) -> float:
    """Return the root of what the squares of relative errors are on average by the prior cos²: Theorem B."""
    totals = column.totals(half)
    prior = np.array([cos(pi * j / (2 * half + 2)) ** 2 for j in range(-half, half + 1)])
    prior /= prior.sum()
    between = np.concatenate([[0.0], np.sqrt(prior[1:] * prior[:-1]), [0.0]])
    pieces = np.diff(between) ** 2 + expm1(2 * rho) * between[1:] ** 2
    return float(column.largest * between.sum() / sqrt(float((totals**2 * pieces / prior).sum())))


def best(bound: Callable[[Column, float, int], float], column: Column, rho: float) -> tuple[float, int]:
    """Return the largest of the bounds, and the half-width that gives it."""
    return max((bound(column, rho, half), half) for half in WIDTHS)


def share(bound: Callable[[Column, float, int], float], column: Column, goal: float = GOAL) -> float | None:
    """Return which part of the budget answers must cost that tell the total to ``goal``; None where all is too little."""
    if best(bound, column, RHO)[0] > goal:
        return None
    low, high = log(1e-4), 0.0
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (middle, high) if best(bound, column, exp(middle) * RHO)[0] > goal else (low, middle)
    return exp(low)


@cache
def wealth() -> Column:
    """Return the column of the made-up table."""
    return Column.of("wealth", made_up()["wealth"])


def page(columns: Sequence[Column]) -> str:
    """Return the table of docs/numbers.md."""
    lines = [
        "| total of | mean absolute, all the budget | 6 % | 3 % | share for 1 % | root mean square | share for 1 % |",
        f"|---|{'--:|' * 6}",
    ]
    for column in columns:
        absolute = [f"{100 * best(mean_absolute, column, part * RHO)[0]:.2g} %" for part in (1.0, 0.06, 0.03)]
        square = f"{100 * best(root_mean_square, column, RHO)[0]:.2g} %"
        shares = [share(bound, column) for bound in (mean_absolute, root_mean_square)]
        told = ["more than all" if one is None else f"{100 * one:.0f} %" for one in shares]
        lines.append(f"| {column.name} | {' | '.join([*absolute, told[0], square, told[1]])} |")
    return "\n".join(lines)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?")
    args = parser.parse_args()
    adult = ADULT
    if args.file:
        table = pd.read_csv(args.file)
        adult = tuple(Column.of(column.name, table[column.name]) for column in ADULT)
    print(page([*adult, wealth()]))


if __name__ == "__main__":
    main()
