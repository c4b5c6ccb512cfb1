"""A run and the ledger that it is in, from its reservation to its settlement, however it ends. Public.

Whoever saves to a folder without naming a ledger gets a small one of the run's own beside it, with no cap: it is taken away
when the release is there, and stays when the run fails.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any
from uuid import uuid4

from understudy.errors import LedgerError, Spent, UnderstudyError, UnderstudyWarning
from understudy.ledger.journal import RunJournal
from understudy.ledger.ledger import Ledger, unfinished_runs
from understudy.ledger.state import LEARNS
from understudy.ledger.store import LedgerGone, create
from understudy.privacy import Budget, Filter
from understudy.privacy.cost import show

OWN = "table"
"""What a ledger of one run calls its only dataset."""
TRIES = 20
NOTHING_SPENT = "Nothing was spent."


@dataclass(frozen=True)
class Place:
    """Where a run is put on record: a ledger (its own, or its owner's), or nowhere."""

    ledger: Ledger | None
    dataset: str = OWN
    own: bool = False

    def begin(self, budget: Budget, facts: Mapping[str, Any], *, private: bool) -> RunJournal | None:
        """Reserve ``budget`` for a new run."""
        if self.ledger is None:
            return None
        if not self.own:
            self._say_what_could_be_finished(self.ledger, budget, facts)
            return self.ledger.begin(self.dataset, budget, facts, private=private)
        for _ in range(TRIES):  # another run may take the file away between two of our steps: then it is made anew
            try:
                create(self.ledger.path)
                self._refuse_second_spending(self.ledger, facts)
                return self.ledger.begin(OWN, budget, facts, private=private, declare=True)
            except LedgerGone:
                continue
        raise LedgerError(f"The ledger {self.ledger.path} cannot be made: something takes it away. Nothing was spent.")

    def resume(self, facts: Mapping[str, Any], run: str | None = None) -> RunJournal:
        """Go on with an unfinished run."""
        if self.ledger is None:
            raise LedgerError("There is nothing to resume from: name the output folder of the run, or its ledger.")
        if self.own and not self._begun(self.ledger):
            raise LedgerError(f"There is no unfinished run in {self.ledger.path} to resume. Leave --resume out.")
        return self.ledger.resume(self.dataset, facts, run=run)

    def _begun(self, ledger: Ledger) -> bool:
        """Whether a run's own ledger has come so far as to hold one: a kill may leave an empty file."""
        return ledger.path.is_file() and ledger.path.stat().st_size > 0 and OWN in ledger.state()

    def _refuse_second_spending(self, ledger: Ledger, facts: Mapping[str, Any]) -> None:
        """Refuse to begin anew where the same run stopped, or was killed, and can go on: what it spent would be lost."""
        if not self._begun(ledger):
            return
        begun = [run for run in ledger.state().runs if run.state != "finished" and run.private and run.charged]
        for run in begun:
            if dict(run.settings) == dict(facts):
                how = "stopped before" if run.state == "stopped" else "is going, or was killed"
                spent = show(max(run.charged, run.stays))
                raise LedgerError(
                    f"This run {how}, after rho = {spent} was spent, and {ledger.path} has its answers. Go on from there "
                    "with --resume (resume=True). To spend anew, remove that file. Nothing more was spent."
                )

    def _say_what_could_be_finished(self, ledger: Ledger, budget: Budget, facts: Mapping[str, Any]) -> None:
        """Warn where the same run was stopped or killed, and could be finished: this one pays again."""
        run = ledger.unfinished(self.dataset, facts)
        if run is None:
            return
        how = "was stopped" if run.state == "stopped" else "is going, or was killed"
        held = "" if run.state == "stopped" else ", and its whole budget counts until it ends"
        text = (
            f'Run {run.name} on "{self.dataset}" with the same settings, begun {run.began[:16]}Z, {how}: '
            f"rho = {show(max(run.charged, run.stays))} of {show(run.budget)} is spent{held}. --resume (resume=True) "
            "finishes it inside that budget and spends nothing twice. "
            f"This run pays its whole budget (rho = {show(budget.rho)}) anew."
        )
        warnings.warn(text, UnderstudyWarning, stacklevel=7)  # where synthesize is called

    def settle_saved(self, run: str, facts: Mapping[str, Any]) -> bool:
        """Settle the unfinished run whose release was found saved; False when there is no such run."""
        if self.ledger is None or (self.own and not self._begun(self.ledger)):
            return False
        if run not in [r.name for r in self.ledger.state().runs if r.state != "finished"]:
            return False
        self.resume(facts, run).finish(unplayed=True)
        self.tidy()
        return True

    def unfinished(self, facts: Mapping[str, Any]) -> bool:
        """Whether there is a run with these settings that ``resume`` would go on with."""
        if self.ledger is None or (self.own and not self._begun(self.ledger)):
            return False
        return bool(unfinished_runs(self.ledger.state().dataset(self.dataset), facts))

    def tidy(self) -> None:
        """Take a run's own ledger away when it has nothing more to tell."""
        if self.own and self.ledger is not None:
            self.ledger.remove_if_done()


class Spending:
    """A run from before it is reserved until it has ended: where it is on record, and what it has spent."""

    def __init__(self) -> None:
        self.log: RunJournal | None = None
        self.run = uuid4().hex
        self.filter: Filter | None = None
        """The door's, once there is one."""
        self._place, self._budget, self._private = Place(None), Fraction(0), False
        self._begun = self._done = self._learns = False

    def begin(
        self, place: Place, budget: Budget, facts: Mapping[str, Any], *, private: bool, resume: bool
    ) -> RunJournal | None:
        """Reserve the budget, or go on with an unfinished run; nothing may be read before."""
        self._place, self._budget, self._private, self._begun = place, budget.rho, private, place.ledger is not None
        self._learns = LEARNS in facts
        self.log = place.resume(facts) if resume else place.begin(budget, facts, private=private)
        self.run = self.run if self.log is None else self.log.run
        return self.log

    @property
    def head(self) -> str | None:
        """The hash of the run's last line in its owner's ledger; None where there is none."""
        return None if self.log is None or self._place.own else self.log.head

    @property
    def rho(self) -> Fraction:
        """What was spent: at least what is on record."""
        known = Fraction(0) if self.filter is None else self.filter.spent
        return known if self.log is None else max(known, self.log.spent)

    def finish(self) -> None:
        """Settle the run, whose release is safe."""
        self._done = True
        if self.log is not None:
            self.log.finish()
            self._place.tidy()

    def ended(self, error: BaseException) -> Spent:
        """Settle the run that ``error`` ends, if the ledger lets us, and return what was spent."""
        return replace(self._settled(error), learns=self._learns)

    def _settled(self, error: BaseException) -> Spent:
        budget = self._budget or None
        if self.log is None:
            unsure = self._begun and not isinstance(error, UnderstudyError)  # ended while it was being reserved
            return Spent(self.rho, budget, self._budget if unsure else self.rho, self._done)
        if not self._done and self._stopped():
            return Spent(self.rho, budget, self.rho, resumable=self._private and not self._learns)
        return Spent(self.rho, budget, self._on_record(), self._done)

    def _stopped(self) -> bool:
        """Put on record that the run has stopped; whatever comes in between, it either is there then or not."""
        try:
            assert self.log is not None
            self.log.stop(self.rho)
        except BaseException:
            return False
        with suppress(UnderstudyError):
            self._place.tidy()
        return True

    def _on_record(self) -> Fraction:
        """Return what the ledger counts for this run: the whole budget, if it cannot be asked."""
        try:
            assert self._place.ledger is not None
            return self._place.ledger.state().run(self.run).counts
        except BaseException:
            return self._budget


@contextmanager
def spending() -> Iterator[Spending]:
    """Follow a run to its end: settle it, and mark whatever ends it before with what was spent."""
    run = Spending()
    try:
        yield run
        run.finish()
    except BaseException as error:
        mark(error, run.ended(error))
        raise


def mark(error: BaseException, spent: Spent) -> None:
    """Have ``error`` say what was spent: as a fact, ``error.spent``, and in words."""
    error.spent = spent  # type: ignore[attr-defined]
    if spent.rho and isinstance(error, UnderstudyError):  # refused late: what was said early is not true any more
        error.args = tuple(arg.replace(NOTHING_SPENT, "").rstrip() if isinstance(arg, str) else arg for arg in error.args)
    error.add_note(in_words(spent))


def in_words(spent: Spent) -> str:
    """Say what was spent, and what the ledger counts where that is more."""
    of = "" if spent.budget is None else f" of {show(spent.budget)}"
    words = f"Spent, and stays spent: rho = {show(spent.rho)}{of}." if spent.rho else NOTHING_SPENT
    if spent.finished:
        words = f"The {'schema' if spent.learns else 'release'} is complete. {words}"
    if spent.counts > spent.rho:
        until = "it is settled with --resume" if spent.finished else "the run is resumed"
        until = "" if spent.learns else f" until {until}"
        return f"{words} On record, the whole budget (rho = {show(spent.counts)}) counts{until}."
    if spent.learns and spent.rho and not spent.finished:
        return f"{words} Nothing of it can be used again: learning anew pays its whole budget. Ask for what is left."
    return f"{words} Go on from there with --resume (resume=True)." if spent.resumable and spent.rho else words
