"""Broken ledgers, kept on purpose: each breaks one promise, and a test shows that the check of that promise rejects it.

A mutant is a function that patches the real code; MUTANTS names the check that must reject it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from understudy.domain import Domain
from understudy.errors import UserError
from understudy.ledger import Dataset, Ledger, RunJournal, checking
from understudy.ledger import ledger as ledger_module
from understudy.ledger.store import Book
from understudy.privacy import Door, Inquiry
from understudy.privacy.noise import Counts

from . import checks


def debit_after_read(patch: pytest.MonkeyPatch) -> None:
    """The budget is reserved with the first answer, after the table was read."""
    begin, commit = Ledger.begin, RunJournal.commit

    class Later(RunJournal):
        def __init__(self, ledger: Ledger, arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
            self._begin = lambda: begin(ledger, *arguments, **options)
            self._charged = self._before = Fraction(0)
            self._pending, self._place, self._past, self._table = [], 0, (), None

        def commit(self, request: Inquiry, outcome: Counts) -> None:
            if self._begin is not None:
                self.__dict__.update({**self._begin().__dict__, "_begin": None})
            commit(self, request, outcome)

    patch.setattr(Ledger, "begin", lambda self, *arguments, **options: Later(self, arguments, options))


def killed_runs_are_forgotten(patch: pytest.MonkeyPatch) -> None:
    """Only what is on record as charged counts, so that a kill before a line is written is a refund."""
    patch.setattr(
        Dataset, "reserved", property(lambda self: sum((r.charged for r in self.runs if r.settled is None), Fraction(0)))
    )


def stopped_runs_are_refunded(patch: pytest.MonkeyPatch) -> None:
    """A run that fails gives everything back."""
    add = RunJournal._add
    patch.setattr(
        RunJournal,
        "_add",
        lambda self, book, kind, **rest: add(
            self, book, kind, **({**rest, "rho": Fraction(0)} if kind == "stopped" else rest)
        ),
    )


def answers_leave_first(patch: pytest.MonkeyPatch) -> None:
    """An answer is written down when the next one comes."""
    commit, waiting = RunJournal.commit, []

    def later(self: RunJournal, request: Inquiry, outcome: Counts) -> None:
        for earlier in waiting:
            commit(self, *earlier)
        waiting[:] = [(request, outcome)]

    patch.setattr(RunJournal, "commit", later)


def resume_forgets(patch: pytest.MonkeyPatch) -> None:
    """A resumed run draws fresh noise for what was answered before."""
    resume = Ledger.resume

    def forgetting(self: Ledger, *arguments: Any, **options: Any) -> RunJournal:
        log = resume(self, *arguments, **options)
        log._past, log._charged = (), Fraction(0)
        return log

    patch.setattr(Ledger, "resume", forgetting)


def recalled_for_free(patch: pytest.MonkeyPatch) -> None:
    """A resumed run does not count what it was answered before, and goes on as if its budget were whole."""

    def free(self: Door, question: object, request: Inquiry, domain: Domain) -> Counts | None:
        return self._journal.recall(request)

    patch.setattr(Door, "_recalled", free)


def charges_skipped_on_resume(patch: pytest.MonkeyPatch) -> None:
    """A resumed run writes no charges for the answers that it draws."""
    commit = RunJournal.commit

    def skipping(self: RunJournal, request: Inquiry, outcome: Counts) -> None:
        if not self._past:
            commit(self, request, outcome)

    patch.setattr(RunJournal, "commit", skipping)


def any_token_will_do(patch: pytest.MonkeyPatch) -> None:
    """Whoever has resumed a run before may go on with it too."""
    patch.setattr(RunJournal, "require_mine", lambda self, book: None)


def any_question_will_do(patch: pytest.MonkeyPatch) -> None:
    """A resumed run gets the next answer on record, whatever it asks."""
    following = RunJournal._next

    def careless(self: RunJournal, kind: Any, purpose: str, request: str) -> bytes | None:
        if self.replaying:
            past = list(self._past)
            past[self._place] = replace(past[self._place], kind=kind, request=request)
            self._past = tuple(past)
        return following(self, kind, purpose, request)

    patch.setattr(RunJournal, "_next", careless)


def writes_may_fail(patch: pytest.MonkeyPatch) -> None:
    """A ledger that cannot be written does not end the run."""
    commit, note = RunJournal.commit, RunJournal.note

    def lenient(self: RunJournal, request: Inquiry, outcome: Counts) -> None:
        with suppress(UserError):
            commit(self, request, outcome)

    def noted(self: RunJournal, name: str, make: Callable[[], bytes], *, large: bool = False) -> bytes | None:
        with suppress(UserError):
            return note(self, name, make, large=large)
        return make()

    patch.setattr(RunJournal, "commit", lenient)
    patch.setattr(RunJournal, "note", noted)


def checked_before_the_transaction(patch: pytest.MonkeyPatch) -> None:
    """What is left is looked up first, and reserved later."""
    begin = Ledger.begin

    def early(self: Ledger, dataset: str, budget: Any, settings: Any, **options: Any) -> RunJournal:
        ledger_module._require_left(self.state().dataset(dataset), budget.rho, Fraction(0))
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(ledger_module, "_require_left", lambda *asked: None)
            return begin(self, dataset, budget, settings, **options)

    patch.setattr(Ledger, "begin", early)


def chain_unchecked(patch: pytest.MonkeyPatch) -> None:
    """Verify looks at the file and the sums, and not at the hashes."""
    patch.setattr(checking, "chain_problems", lambda book, entries: [])


def contents_unchecked(patch: pytest.MonkeyPatch) -> None:
    """Verify does not compare answers with their digests."""
    patch.setattr(checking, "content_problems", lambda book, entries, state: [])


def last_line_unchecked(patch: pytest.MonkeyPatch) -> None:
    """The chain is checked, but not whether it ends where it should."""
    problems = checking.chain_problems

    def short(book: Book, entries: list[Any]) -> list[str]:
        return [p for p in problems(book, entries) if not p.startswith("The last line")]

    patch.setattr(checking, "chain_problems", short)


Apply = Callable[[pytest.MonkeyPatch], None]
MUTANTS: dict[Apply, Iterable[Callable[..., None]]] = {
    debit_after_read: [checks.reserved_before_the_first_read],
    killed_runs_are_forgotten: [checks.a_killed_run_counts_in_full],
    stopped_runs_are_refunded: [checks.a_stopped_run_counts_what_it_spent],
    answers_leave_first: [checks.answers_are_on_record_before_anybody_sees_them],
    resume_forgets: [checks.nothing_is_drawn_or_charged_twice, checks.resumed_answers_are_the_old_ones],
    recalled_for_free: [checks.nothing_is_drawn_or_charged_twice],
    charges_skipped_on_resume: [checks.nothing_is_drawn_or_charged_twice],
    any_token_will_do: [checks.only_the_last_to_resume_goes_on],
    any_question_will_do: [checks.another_question_is_refused],
    writes_may_fail: [checks.a_lost_ledger_stops_the_run],
    checked_before_the_transaction: [checks.the_cap_holds_when_another_comes_in_between],
    chain_unchecked: [checks.a_changed_line_is_found],
    contents_unchecked: [checks.a_changed_line_is_found],
    last_line_unchecked: [checks.a_changed_line_is_found],
}
"""Each mutant, and the checks that must reject it."""
