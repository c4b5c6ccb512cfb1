"""A run and the ledger that it is in, from its reservation to its settlement, however it ends. Public.

Whoever saves to a folder without naming a ledger gets a small one of the run's own beside it, with no cap: it is taken away
when the release is there, and stays when the run fails.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any
from uuid import uuid4

from understudy.errors import LedgerError, UnderstudyError
from understudy.ledger.ledger import Ledger
from understudy.ledger.runlog import RunLog
from understudy.ledger.store import LedgerGone, create
from understudy.privacy import Budget, Filter
from understudy.privacy.cost import show

OWN = "table"
"""What a ledger of one run calls its only dataset."""
TRIES = 20


@dataclass(frozen=True)
class Place:
    """Where a run is put on record: a ledger (its own, or its owner's), or nowhere."""

    ledger: Ledger | None
    dataset: str = OWN
    own: bool = False

    def begin(self, budget: Budget, facts: Mapping[str, Any], *, private: bool) -> RunLog | None:
        """Reserve ``budget`` for a new run."""
        if self.ledger is None or not self.own:
            return None if self.ledger is None else self.ledger.begin(self.dataset, budget, facts, private=private)
        for _ in range(TRIES):  # another run may take the file away between two of our steps: then it is made anew
            try:
                create(self.ledger.path)
                return self.ledger.begin(OWN, budget, facts, private=private, declare=True)
            except LedgerGone:
                continue
        raise LedgerError(f"The ledger {self.ledger.path} cannot be made: something takes it away. Nothing was spent.")

    def resume(self, facts: Mapping[str, Any], run: str | None = None) -> RunLog:
        """Go on with an unfinished run."""
        if self.ledger is None:
            raise LedgerError("There is nothing to resume from: name the output folder of the run, or its ledger.")
        if self.own and not self._begun(self.ledger):
            raise LedgerError(f"There is no unfinished run in {self.ledger.path} to resume. Leave --resume out.")
        return self.ledger.resume(self.dataset, facts, run=run)

    def _begun(self, ledger: Ledger) -> bool:
        """Whether a run's own ledger has come so far as to hold one: a kill may leave an empty file."""
        return ledger.path.is_file() and ledger.path.stat().st_size > 0 and OWN in ledger.state()

    def settle_saved(self, run: str, facts: Mapping[str, Any]) -> bool:
        """Settle the unfinished run whose release was found saved; False when there is no such run."""
        if self.ledger is None or (self.own and not self._begun(self.ledger)):
            return False
        if run not in [r.name for r in self.ledger.state().runs if r.state != "finished"]:
            return False
        self.resume(facts, run).finish(unplayed=True)
        self.tidy()
        return True

    def tidy(self) -> None:
        """Take a run's own ledger away when it has nothing more to tell."""
        if self.own and self.ledger is not None:
            self.ledger.remove_if_done()


class Held:
    """A run on record. ``filter`` is its door's, once there is one."""

    def __init__(self, place: Place, log: RunLog | None, *, private: bool) -> None:
        self.log, self.run = log, uuid4().hex if log is None else log.run
        self.filter: Filter | None = None
        self._place, self._private = place, private

    @property
    def head(self) -> str | None:
        """The hash of the run's last line in its owner's ledger; None where there is none."""
        return None if self.log is None or self._place.own else self.log.head

    @property
    def spent(self) -> Fraction:
        """What was spent: at least what is on record."""
        known = Fraction(0) if self.filter is None else self.filter.spent
        return known if self.log is None else max(known, self.log.charged)

    def finish(self) -> None:
        """Settle the run."""
        if self.log is not None:
            self.log.finish()
            self._place.tidy()

    def stop(self) -> str:
        """Settle the run that failed, if the ledger lets us, and say what was spent."""
        if self.log is None:
            return self._spent()
        try:
            self.log.stop(self.spent)
            self._place.tidy()
        except UnderstudyError:
            return f"{self._spent()} On record, the whole budget counts until the run is resumed."
        again = " Go on from there with --resume (resume=True)." if self.spent and self._private else ""
        return self._spent() + again

    def _spent(self) -> str:
        if not self.spent or self.filter is None:
            return "Nothing was spent." if not self.spent else f"Spent, and stays spent: rho = {show(self.spent)}."
        return f"Spent, and stays spent: rho = {show(self.spent)} of {show(self.filter.rho)}."


@contextmanager
def on_record(place: Place, budget: Budget, facts: Mapping[str, Any], *, private: bool, resume: bool) -> Iterator[Held]:
    """Reserve the budget before anything is read; when the run fails, say and keep what it spent."""
    log = place.resume(facts) if resume else place.begin(budget, facts, private=private)
    held = Held(place, log, private=private)
    try:
        yield held
    except BaseException as error:
        error.add_note(held.stop())
        raise
    try:
        held.finish()
    except UnderstudyError as error:
        error.add_note(
            "The release is made and saved; on record, its whole budget counts until it is settled with --resume."
        )
        raise
