"""Where datasets and runs stand, read off the lines of the ledger from the first to the last. Public.

While a run is going, or was killed, its whole budget counts as spent; once it has ended, what it spent does. A run may
take a part of delta beside its rho: chances add up, and what is left of delta is what rho becomes epsilon at.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from math import inf
from typing import Any, Literal

from understudy.errors import FormatError, LedgerError, did_you_mean
from understudy.ledger.entries import KINDS, Entry
from understudy.privacy import Charge, Unit, epsilon_of, rho_of
from understudy.privacy.cost import float_below

BESIDE = "delta beside rho"
"""The setting of a run that says which part of delta it takes."""
LEARNS = "learns"
"""The setting of a run that learns a schema: which columns of."""
REPORT_DELTA = 1e-9
"""The delta that amounts are reported at, unless a dataset declares one."""


@dataclass(frozen=True)
class Item:
    """What a run did: an answer (``charged``), a note, or a model that it kept."""

    seq: int
    kind: str
    purpose: str
    request: str
    digest: str
    rho: Fraction


@dataclass(frozen=True)
class Run:
    """One run. ``settled`` is None while it is running, or was killed."""

    name: str
    dataset: str
    budget: Fraction
    epsilon: float | None
    delta: float | None
    private: bool
    settings: Mapping[str, Any] = field(repr=False)
    token: str = field(repr=False)
    began: str
    state: Literal["running", "stopped", "finished"] = "running"
    settled: Fraction | None = None
    resumed: int = 0
    items: tuple[Item, ...] = field(default=(), repr=False)
    table: Item | None = field(default=None, repr=False)
    """The line with the fingerprint of its table."""
    before: Fraction = Fraction(0)
    """What it had settled for when it was resumed: that stays spent, whatever it does then."""

    @property
    def charges(self) -> tuple[Charge, ...]:
        """Its answers, with what each cost."""
        return tuple(Charge(item.rho, item.purpose) for item in self.items if item.kind == "charged")

    @property
    def charged(self) -> Fraction:
        """What its answers cost, exactly."""
        return sum((charge.rho for charge in self.charges), Fraction(0))

    @property
    def counts(self) -> Fraction:
        """What counts as spent."""
        return self.budget if self.settled is None else self.settled

    @property
    def delta_beside(self) -> Fraction:
        """The chance that it takes beside its rho, as long as it counts: for texts that few people share."""
        return Fraction(_number(self.settings.get(BESIDE)) or 0) if self.counts > 0 else Fraction(0)

    @property
    def stays(self) -> Fraction:
        """The most that it ever settled for."""
        return self.before if self.settled is None else max(self.before, self.settled)


@dataclass(frozen=True)
class Dataset:
    """A table's name, what may be spent on it (``cap`` None: no limit), and the runs that did."""

    name: str
    cap: Fraction | None
    epsilon: float | None
    delta: float
    runs: tuple[Run, ...] = field(default=(), repr=False)

    @property
    def spent(self) -> Fraction:
        """What ended runs have spent, exactly."""
        return sum((run.settled for run in self.runs if run.settled is not None), Fraction(0))

    @property
    def reserved(self) -> Fraction:
        """The whole budgets of runs that are going, or were killed."""
        return sum((run.budget for run in self.runs if run.settled is None), Fraction(0))

    @property
    def unit(self) -> Unit | None:
        """What the runs that count protect: a row, or a person. None as long as there is none, or none says so."""
        counted = [run.settings.get("unit") for run in self.runs if run.counts > 0]
        return next((Unit.of(str(value)) for value in counted if value is not None), None)

    @property
    def delta_beside(self) -> Fraction:
        """The chances that runs take beside their rho, together."""
        return sum((run.delta_beside for run in self.runs), Fraction(0))

    @property
    def cap_now(self) -> Fraction | None:
        """The cap with what runs have taken of delta: what is spent, reserved and left adds up to it."""
        return self.most(self.delta_beside)

    @property
    def left(self) -> Fraction | None:
        """What a new run may have at most; None where there is no limit."""
        return self.left_beside(Fraction(0))

    def left_beside(self, delta: Fraction) -> Fraction | None:
        """Return what a new run may have at most that takes ``delta`` beside it; None where there is no limit."""
        most = self.most(self.delta_beside + delta)
        return None if most is None else most - self.spent - self.reserved

    def most(self, beside: Fraction) -> Fraction | None:
        """Return the cap where runs take ``beside`` of delta: that which means the same epsilon at what is left of it."""
        if self.cap is None or self.epsilon is None or not beside:
            return self.cap
        return min(self.cap, _rho_of(self.epsilon, self._rest(beside))) if beside < Fraction(self.delta) else Fraction(0)

    def epsilon_of(self, rho: Fraction) -> float:
        """Return what ``rho`` means as epsilon, at this dataset's delta; the declared one where it is the cap."""
        if rho <= 0:
            return 0.0
        if rho == self.cap_now and self.epsilon is not None:
            return self.epsilon
        beside = self.delta_beside
        return epsilon_of(rho, self._rest(beside)) if beside < Fraction(self.delta) else inf

    def _rest(self, beside: Fraction) -> float:
        return float_below(Fraction(self.delta) - beside)


@cache
def _rho_of(epsilon: float, delta: float) -> Fraction:
    return Fraction(rho_of(epsilon, delta))


class State:
    """All datasets and runs after some lines. ``problems`` tells of lines that do not follow from those before."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self._datasets: dict[str, Dataset] = {}
        self._runs: dict[str, Run] = {}
        self._items: dict[str, list[Item]] = {}
        self._sums: dict[str, Fraction] = {}
        self.problems: list[str] = []
        for entry in entries:
            self._follow(entry)

    @property
    def datasets(self) -> tuple[Dataset, ...]:
        """Every dataset with its runs, as they were declared."""
        return tuple(self.dataset(name) for name in self._datasets)

    def __contains__(self, dataset: str) -> bool:
        return dataset in self._datasets

    @property
    def runs(self) -> tuple[Run, ...]:
        """Every run, as they were begun."""
        return tuple(self.run(name) for name in self._runs)

    def dataset(self, name: str) -> Dataset:
        """Return a dataset by name, or say which there are."""
        if name in self._datasets:
            runs = tuple(self.run(run.name) for run in self._runs.values() if run.dataset == name)
            return replace(self._datasets[name], runs=runs)
        names = ", ".join(self._datasets) or "none yet"
        hint = did_you_mean(name, self._datasets)
        raise LedgerError(f'The ledger has no dataset "{name}" (it has: {names}).{hint} Add it with understudy ledger init.')

    def run(self, name: str) -> Run:
        """Return a run by name."""
        return replace(self._runs[name], items=tuple(self._items[name]))

    def _follow(self, entry: Entry) -> None:
        if entry.kind not in KINDS:
            raise FormatError(f"Line {entry.seq} of the ledger is of an unknown kind: upgrade, or restore it from a copy.")
        try:
            getattr(self, f"_{entry.kind}")(entry)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
            raise FormatError(
                f"Line {entry.seq} of the ledger ({entry.kind}) makes no sense. Restore it from a copy."
            ) from None

    def _opened(self, entry: Entry) -> None:
        self._expect(entry.seq == 1, entry, "opens the ledger again")

    def _declared(self, entry: Entry) -> None:
        self._expect(entry.dataset not in self._datasets, entry, "declares a dataset again")
        self._datasets[entry.dataset] = _declared(entry)

    def _capped(self, entry: Entry) -> None:
        self._expect(entry.dataset in self._datasets, entry, "caps an unknown dataset")
        self._datasets[entry.dataset] = _declared(entry)

    def _reserved(self, entry: Entry) -> None:
        self._expect(entry.run not in self._runs, entry, "begins a run again")
        detail = entry.details
        run = Run(
            entry.run,
            entry.dataset,
            entry.amount,
            _number(detail["epsilon"]),
            _number(detail["delta"]),
            bool(detail["private"]),
            dict(detail["settings"]),
            str(detail["token"]),
            entry.at,
        )
        self._runs[entry.run], self._items[entry.run], self._sums[entry.run] = run, [], Fraction(0)
        self._within_cap(entry)

    def _resumed(self, entry: Entry) -> None:
        run = self._runs[entry.run]
        self._expect(run.state != "finished", entry, "resumes a finished run")
        self._expect(entry.amount == run.budget, entry, "resumes a run with another budget")
        token = str(entry.details["token"])
        self._runs[run.name] = replace(
            run, state="running", settled=None, before=run.stays, token=token, resumed=run.resumed + 1
        )
        self._within_cap(entry)

    def _bound(self, entry: Entry) -> None:
        run, item = self._runs[entry.run], self._item(entry)
        self._expect(run.table is None, entry, "binds a run to a second table")
        self._expect(item.rho == 0, entry, "is no answer, and yet costs something")
        self._runs[run.name] = replace(run, table=item)

    def _item(self, entry: Entry) -> Item:
        run = self._runs[entry.run]
        self._expect(run.state == "running", entry, "comes after its run has ended")
        self._expect(entry.dataset == run.dataset, entry, "is of another dataset than its run")
        return Item(entry.seq, entry.kind, entry.purpose, str(entry.details["request"]), entry.digest, entry.amount)

    def _answered(self, entry: Entry) -> None:
        run, item = self._runs[entry.run], self._item(entry)
        self._items[entry.run].append(item)
        self._sums[entry.run] += item.rho
        self._expect(self._sums[entry.run] <= run.budget, entry, "brings its run above its budget")
        self._expect(entry.kind == "charged" or item.rho == 0, entry, "is no answer, and yet costs something")

    _charged = _noted = _kept = _answered

    def _stopped(self, entry: Entry) -> None:
        self._settle(entry, "stopped")

    def _finished(self, entry: Entry) -> None:
        self._settle(entry, "finished")
        most = max(self._sums[entry.run], self._runs[entry.run].before)
        self._expect(entry.amount <= most, entry, "finishes with another sum than its answers have")

    def _settle(self, entry: Entry, state: Literal["stopped", "finished"]) -> None:
        run = self._runs[entry.run]
        self._expect(run.state == "running", entry, "ends a run that has ended")
        self._expect(self._sums[entry.run] <= entry.amount <= run.budget, entry, "settles for less than was spent")
        self._runs[run.name] = replace(run, state=state, settled=entry.amount)

    def _within_cap(self, entry: Entry) -> None:
        runs = [run for run in self._runs.values() if run.dataset == entry.dataset]
        most = self._datasets[entry.dataset].most(sum((run.delta_beside for run in runs), Fraction(0)))
        counted = sum((run.counts for run in runs), Fraction(0))
        self._expect(most is None or counted <= most, entry, "exceeds the cap of its dataset")

    def _expect(self, holds: bool, entry: Entry, what: str) -> None:
        if not holds:
            self.problems.append(f"Line {entry.seq} ({entry.kind}) {what}.")


def _declared(entry: Entry) -> Dataset:
    detail = entry.details
    cap = entry.amount if detail["limited"] else None
    delta = _number(detail["delta"])
    return Dataset(entry.dataset, cap, _number(detail["epsilon"]), REPORT_DELTA if delta is None else delta)


def _number(value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError
    return float(value)
