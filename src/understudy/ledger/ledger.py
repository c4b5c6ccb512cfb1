"""The ledger of a privacy budget: datasets with caps, and runs that reserve their whole budget before they read. Public.

Every method is one transaction, so that two processes that race for the last of a budget cannot both have it.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any
from uuid import uuid4

from understudy.errors import BudgetExceeded, LedgerError
from understudy.ledger.checking import Verdict, require_sound, verify
from understudy.ledger.journal import RunJournal
from understudy.ledger.state import BESIDE, LEARNS, Dataset, Run, State
from understudy.ledger.store import Book, create, reading, remove_if, writing
from understudy.privacy import Budget, Unit
from understudy.privacy.cost import show


class Ledger:
    """The ledger in the file at ``path``. Make one with ``Ledger.create``."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    @classmethod
    def create(cls, path: str | Path) -> Ledger:
        """Make the file where there is none yet."""
        made = cls(path)
        create(made.path)
        with reading(made.path):
            return made

    def declare(self, dataset: str, cap: Budget | None, *, delta: float | None = None) -> Dataset:
        """Add a dataset with what may ever be spent on it (None: no limit, only a record); ``delta`` is for reports."""
        if not dataset.strip() or len(dataset) > 200 or not dataset.isprintable():
            raise LedgerError("A dataset needs a name of one line.")
        with writing(self.path) as book:
            if dataset in require_sound(book):
                raise LedgerError(
                    f'The ledger has a dataset "{dataset}" already. Change its cap with understudy ledger cap.'
                )
            book.append("declared", dataset=dataset, **_cap(cap, delta))
        return self.state().dataset(dataset)

    def cap(self, dataset: str, cap: Budget, *, delta: float | None = None) -> Dataset:
        """Set another cap, which leaves a line. It cannot lie below what counts as spent already."""
        with writing(self.path) as book:
            before = require_sound(book).dataset(dataset)
            counted = before.spent + before.reserved
            named = before.delta if delta is None else delta
            known = named if cap.delta is None else cap.delta
            most = replace(before, cap=cap.rho, epsilon=cap.epsilon, delta=known).most(before.delta_beside)
            if most is not None and most < counted:
                raise BudgetExceeded(f'"{dataset}" has rho = {show(counted)} spent or reserved, more than {show(most)}.')
            book.append("capped", dataset=dataset, **_cap(cap, named))
        return self.state().dataset(dataset)

    def state(self) -> State:
        """Return where every dataset and run stands."""
        with reading(self.path) as book:
            return require_sound(book)

    def head(self) -> str:
        """Return the hash of the last line."""
        with reading(self.path) as book:
            return book.head()[1]

    def verify(self, head: str | None = None) -> Verdict:
        """Check the file, its chain and its contents; with ``head``, also that it is not an older copy."""
        return verify(self.path, head)

    def begin(
        self,
        dataset: str,
        budget: Budget,
        settings: Mapping[str, Any],
        *,
        private: bool = True,
        declare: bool = False,
    ) -> RunJournal:
        """Reserve the whole of ``budget`` for a new run, or refuse: before anything is read, in one transaction.

        With ``declare`` a dataset that is not there yet is declared without a limit.
        """
        detail: dict[str, Any] = {"epsilon": budget.epsilon, "delta": budget.delta, "private": private}
        detail |= {"settings": dict(settings), "token": secrets.token_hex(16)}
        with writing(self.path) as book:
            state = require_sound(book)
            if declare and dataset not in state:
                book.append("declared", dataset=dataset, **_cap(None, budget.delta))
            else:
                if not declare:  # without a cap there is no sum to keep
                    _require_unit(state.dataset(dataset), settings)
                _require_left(state.dataset(dataset), budget.rho, _beside(settings), settings)
            made = book.append("reserved", dataset=dataset, run=uuid4().hex, rho=budget.rho, detail=detail)
        return RunJournal(self.path, made)

    def resume(self, dataset: str, settings: Mapping[str, Any], *, run: str | None = None) -> RunJournal:
        """Go on with the latest run that has not finished and was begun with the same ``settings`` (or with that ``run``).

        Its whole budget is reserved again, and whoever was running it until now can put nothing more on record.
        """
        with writing(self.path) as book:
            found = require_sound(book).dataset(dataset)
            chosen = _resumable(found, settings, run)
            _require_unit(found, chosen.settings)
            beside = _beside(chosen.settings) - chosen.delta_beside
            _require_left(found, chosen.budget - chosen.counts, beside)
            detail = {"token": secrets.token_hex(16)}
            made = book.append("resumed", dataset=dataset, run=chosen.name, rho=chosen.budget, detail=detail)
        return RunJournal(self.path, made, chosen.items, chosen.table, before=chosen.stays)

    def unfinished(self, dataset: str, settings: Mapping[str, Any]) -> Run | None:
        """Return the run that ``resume`` would go on with, where anything counts for it."""
        same = unfinished_runs(self.state().dataset(dataset), settings)
        return next((run for run in reversed(same) if run.private and run.counts > 0), None)

    def remove_if_done(self) -> None:
        """Take the file away when no run in it is unfinished, and none that stopped has spent anything."""
        remove_if(self.path, _nothing_open)


def _nothing_open(book: Book) -> bool:
    runs = require_sound(book).runs
    return all(run.state == "finished" or (run.counts == 0 and not run.charges) for run in runs)


def _cap(cap: Budget | None, delta: float | None) -> dict[str, Any]:
    if cap is None:
        return {"detail": {"limited": False, "epsilon": None, "delta": delta}}
    named = cap.delta if cap.delta is not None else delta
    return {"rho": cap.rho, "detail": {"limited": True, "epsilon": cap.epsilon, "delta": named}}


def _require_unit(dataset: Dataset, settings: Mapping[str, Any]) -> None:
    """Refuse to add up budgets that protect different things: a row and a person, or persons by different columns."""
    known, unit = dataset.unit, settings.get("unit")
    if known is None or unit is None or (asked := Unit.of(str(unit))).adds_to(known):
        return
    raise LedgerError(
        f'The budget of "{dataset.name}" protects {known.protects}, but this run would protect {asked.protects}. '
        "Such budgets do not add up. Nothing was read and nothing was spent. Declare a dataset of its own for it."
    )


def _beside(settings: Mapping[str, Any]) -> Fraction:
    """Return the part of delta that a run with these settings takes beside its rho."""
    return Fraction(settings.get(BESIDE, 0))


def _require_left(dataset: Dataset, wanted: Fraction, beside: Fraction, settings: Mapping[str, Any] | None = None) -> None:
    left = dataset.left_beside(beside)
    if left is None or wanted <= left:
        return
    if dataset.delta_beside + beside >= Fraction(dataset.delta):
        raise BudgetExceeded(
            f'The run would take {float(beside):.3g} of delta for texts that few people share, but "{dataset.name}" has '
            f"{float(Fraction(dataset.delta) - dataset.delta_beside):.3g} left of {dataset.delta:g}. Nothing was read and "
            "nothing was spent. Ask for a smaller delta."
        )
    held = f" ({show(dataset.reserved)} of it held by runs that have not ended)" if dataset.reserved else ""
    cap = dataset.most(dataset.delta_beside + beside) or Fraction(0)
    same = settings and any(run.state == "stopped" for run in unfinished_runs(dataset, settings))
    hint = " Or finish the run with the same settings that was stopped, with --resume (resume=True)." if same else ""
    raise BudgetExceeded(
        f'"{dataset.name}" has rho = {show(max(left, Fraction(0)))} left of {show(cap)}{held}, '
        f"but the run asks for {show(wanted)}. Nothing was read and nothing was spent. Ask for less, or raise the cap."
        f"{hint}"
    )


def unfinished_runs(dataset: Dataset, settings: Mapping[str, Any]) -> list[Run]:
    """Return the runs with these settings that could be resumed; one that learns a schema cannot be."""
    unfinished = [run for run in dataset.runs if run.state != "finished" and LEARNS not in run.settings]
    return [run for run in unfinished if dict(run.settings) == dict(settings)]


def _resumable(dataset: Dataset, settings: Mapping[str, Any], name: str | None) -> Run:
    """Return the latest unfinished run with these settings, or say what differs."""
    unfinished = [run for run in dataset.runs if run.state != "finished" and name in (None, run.name)]
    if not unfinished:
        raise LedgerError(f'No run on "{dataset.name}" is unfinished, so there is none to resume. Leave --resume out.')
    same = [run for run in unfinished if dict(run.settings) == dict(settings)]
    if not same:
        raise LedgerError(f"The unfinished run {_differs(unfinished[-1], settings)}. Use its settings, or begin a new run.")
    return same[-1]


def _differs(run: Run, settings: Mapping[str, Any]) -> str:
    names = [n for n in {**run.settings, **settings} if run.settings.get(n) != settings.get(n)]
    said = [f"{n} ({_short(run.settings.get(n))}, now {_short(settings.get(n))})" for n in names]
    return f"of {run.began[:16]}Z was begun with another {', another '.join(said)}"


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 40 else f"{text[:16]}…"
