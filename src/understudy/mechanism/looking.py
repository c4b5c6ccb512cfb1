"""What a run asks about numbers, beside what its mechanism does: where inside bins they lie, and sums of them at the end.

Sees no counts: it holds a door. What is asked follows from the schema, which is public, and from noisy answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from understudy.mechanism.anchors import known
from understudy.mechanism.events import Event, Measured
from understudy.mechanism.notes import Notes
from understudy.mechanism.schedule import allocate
from understudy.mechanism.sums import FINE, Finer, Sums, looks_of, of_codes, shared, weights_of
from understudy.model import Observation
from understudy.privacy import Door, Groups, Linear, Marginal, Matrix, Measurement, linear_scale_for, sigma_for
from understudy.schema.binned import Binned
from understudy.schema.column import Column, fine_name
from understudy.schema.within import Within, fine_values
from understudy.workload import Workload

SUMS = "sums of columns, finer bin by finer bin"
FOR_SUMS = Fraction(1, 2)
"""The part of what is kept for numbers that goes to sums at the end, where a column has numbers to add up."""

MANY = 0.005
"""A finer bin with more than this part of all rows is looked at number by number …"""
CLEAR = 5.0
"""… where its count is so many deviations of the noise above none."""

LEAST_DEVIATION = 0.1
"""Noise below this counts as this in a fit: exact enough, and no division by a vanishing variance."""


class Looking(Notes):
    """What asks about numbers."""

    door: Door
    columns: Mapping[str, Binned]
    """The columns of which sums may be asked."""
    inside: list[Measurement]
    """Noisy counts of finer bins, of each column that has such."""
    sums: list[Measurement]
    """Noisy sums of columns, finer bin by finer bin."""
    measurements: list[Measurement]
    workload: Workload
    rho: Fraction
    _asides: dict[str, Fraction]
    _inside: Fraction
    _cut: dict[str, Binned]
    """The columns of which finer bins may be cut into numbers, by the names of their finer codes."""

    def _keep_for_numbers(self, share: Fraction, columns: Sequence[Column]) -> None:
        """Keep a share of the budget for what lies inside bins, and a part of it for sums of columns that are asked for."""
        wanted = {name for name in self.workload.attributes if fine_name(name) in self.door.fine}
        self.columns = {name: column for name, column in summable(columns).items() if name in wanted}
        whole = share * self.rho if self.door.fine else Fraction(0)
        self.rho -= whole
        self._asides[SUMS] = FOR_SUMS * whole if self.columns else Fraction(0)
        self._inside = whole - self._asides[SUMS]
        self._cut = {fine_name(c.name): c for c in columns if isinstance(c, Binned) and c.fine is not c.rounded}

    @property
    def observations(self) -> list[Observation]:
        """All that was measured, as a fit takes it."""
        return [
            Observation(m.clique, m.values.astype(np.float64), max(m.sigma, LEAST_DEVIATION), m.query)
            for m in self.measurements
        ]

    def tell(self, event: Event) -> None:
        """Pass an event on to the listener."""
        raise NotImplementedError

    def _look_inside(self, rho: Fraction) -> None:
        """Measure where inside their bins the values of columns lie: each column by itself, with equal shares. Not part of
        what the mechanism does: costs 1/(2σ²) for each, which was kept for it.
        """
        share = rho / len(self.door.fine)
        for name in self.door.fine:
            if name in self._cut:
                self._look_twice(name, self._cut[name], share)
            else:
                self._look(Marginal((name,), sigma_for(share, self.door.unit)))

    def _look_twice(self, name: str, column: Binned, rho: Fraction) -> None:
        """Count the finer bins for half of ``rho``, and for the rest once more: those with many rows number by number."""
        bins = column.rounds.astype(np.int64)
        once = Groups([bins])
        seen = self._look(Linear((name,), once, linear_scale_for(rho / 2, once, "gaussian", self.door.unit)))
        made = partial(_with_many, seen)
        many = self.note_array(f"finer bins of {column.name} with many rows", seen.values.size, made) > 0
        inner = np.diff(bins, prepend=-1) == 0
        again = Groups([np.cumsum(np.diff(bins, prepend=0) + (many[bins] & inner))])
        self._look(Linear((name,), again, linear_scale_for(rho / 2, again, "gaussian", self.door.unit)))

    def _look(self, question: Linear | Marginal) -> Measurement:
        found = self.door.ask(question)
        self.inside.append(found)
        self.tell(Measured(0, found.clique, found.values.size, found.scale, float(found.rho)))
        return found

    def _ask_sums(self, rho: Fraction, observations: Sequence[Observation], total: float, index: int) -> None:
        """Measure a sum of each column whose mean gains by it, for ``rho`` in all. ``observations`` are all answers so far,
        ``total`` the rows by the model.
        """
        names, sizes = list(self.columns), [_finer_codes(column) for column in self.columns.values()]
        made = partial(self._chosen, float(rho), observations, total)
        noted = self.note_array(SUMS, len(names) + sum(sizes), made)
        costs, weights = noted[: len(names)], np.split(noted[len(names) :], np.cumsum(sizes)[:-1])
        asked = [(name, w, cost) for name, w, cost in zip(names, weights, costs.tolist(), strict=True) if cost > 0]
        if not asked:  # all columns were measured by sums already: their counts, then
            asked = [(name, np.zeros(0), 1.0) for name in names]
        for (name, w, _), part in zip(asked, allocate(rho, [cost for *_, cost in asked]), strict=True):
            found = self.door.ask(self._question(name, w.astype(np.int64), part))
            (self.sums if w.size else self.measurements).append(found)
            self.tell(Measured(index, found.clique, found.values.size, found.scale, float(found.rho)))

    def _question(self, name: str, weights: NDArray[np.int64], rho: Fraction) -> Linear | Marginal:
        """Return the question for the sum of a column with these weights; without any, for its counts."""
        if not weights.size:
            return Marginal((name,), sigma_for(rho, self.door.unit))
        weights = weights[self.columns[name].rounds]
        query = Matrix(weights[None], (weights.size,))
        return Linear((fine_name(name),), query, linear_scale_for(rho, query, "gaussian", self.door.unit))

    def _chosen(self, rho: float, observations: Sequence[Observation], total: float) -> NDArray[np.float64]:
        """Return what each column's sum costs, 0 for none, and then the whole weights of each."""
        added = self.door.unit.kind == "add-remove"
        noise = self.door.unit.rows**2 * (0.5 if added else 2.0)  # a row replaced may move a sum from end to end
        found: dict[str, Sums] = {}
        for name, column in self.columns.items():
            finer = self._finer(name, observations, total)
            sums = None if finer is None else Sums.of(finer, *fine_values(column), noise)
            if sums is not None:
                found[name] = sums
        costs = shared(found, rho)
        weights = [np.zeros(_finer_codes(column)) for column in self.columns.values()]
        for k, name in enumerate(self.columns):
            if name in costs:
                weights[k] = np.rint(FINE * found[name].best(costs[name]))
        return np.concatenate([[costs.get(name, 0.0) for name in self.columns], *weights])

    def _finer(self, name: str, observations: Sequence[Observation], total: float) -> Finer | None:
        """Return what is known of the rows of a column's finer bins; None where its codes were measured by sums."""
        told = known(observations, name, total)
        looks = looks_of(self.inside, name)
        if told is None or looks is None:
            return None
        return Finer(told, Within.of(self.columns[name], told.counts, looks))

    def _told(self, observations: Sequence[Observation], total: float) -> list[Observation]:
        """Return the sums that were asked for, as far as they tell of the codes of columns: what a fit can be held to."""
        asked = {name: m for name in self.columns for m in self.sums if m.clique == (fine_name(name),)}
        finer = {name: self._finer(name, observations, total) for name in asked}
        weights = {name: weights_of(self.columns[name], m) for name, m in asked.items()}
        return [of_codes(n, one.within, weights[n], asked[n]) for n, one in finer.items() if one is not None]


def _with_many(seen: Measurement) -> NDArray[np.float64]:
    """Return 1 for each group that is so large that it matters where in it rows lie, and so clear that a look tells."""
    counts = seen.values.astype(np.float64)
    return np.asarray(counts > max(MANY * float(counts.sum()), CLEAR * seen.sigma), np.float64)


def _finer_codes(column: Binned) -> int:
    assert column.rounded is not None
    return column.rounded.size


def summable(columns: Sequence[Column]) -> dict[str, Binned]:
    """Return the columns of numbers that have values inside their bins."""
    return {c.name: c for c in columns if isinstance(c, Binned) and c.adds_up and c.fine is not None}
