"""What a run says it has spent when it ends, whatever the ledger does."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from understudy.errors import LedgerError, Spent, UnderstudyWarning
from understudy.ledger import Ledger
from understudy.ledger.keeping import Place, in_words, spending
from understudy.privacy import Budget, Filter
from understudy.privacy.cost import show

from .small import BUDGET, FACTS, Stop, fresh, play, stopping_after

PART = Fraction(1, 4)


def paid(ledger: Ledger, then: Callable[[], None]) -> None:
    """A run that pays for one question before anything else happens."""
    with spending() as run:
        run.begin(Place(ledger, "people"), BUDGET, FACTS, private=True, resume=False)
        run.filter = Filter(BUDGET.rho)
        run.filter.charge(PART, "measure (a)")
        then()


def resumed_and_stopped(place: Place) -> None:
    """Go on with a run, and stop before it asks anything."""
    with spending() as run:
        run.begin(place, BUDGET, FACTS, private=True, resume=True)
        run.filter = Filter(BUDGET.rho)
        raise Stop


def ended(ledger: Ledger, error: BaseException, *, before: object = None) -> Spent:
    """Let a run that has paid for one question end with ``error``; return what this says was spent."""

    def fail() -> None:
        if callable(before):
            before()
        raise error

    with pytest.raises(type(error)) as caught:
        paid(ledger, fail)
    found: Spent = caught.value.spent  # type: ignore[attr-defined]
    assert caught.value.__notes__ == [in_words(found)]
    return found


@pytest.mark.promise(30)
@pytest.mark.parametrize("error", [Stop(), LedgerError("refused"), KeyboardInterrupt(), MemoryError(), OSError(28, "full")])
def test_whatever_ends_a_run_carries_what_the_ledger_counts(error: BaseException, tmp_path: Path) -> None:
    ledger = fresh(tmp_path)
    assert ended(ledger, error) == Spent(PART, BUDGET.rho, PART, resumable=True)
    (run,) = ledger.state().runs
    assert (run.state, run.counts) == ("stopped", PART)


@pytest.mark.promise(30)
def test_where_the_ledger_cannot_be_asked_the_whole_budget_counts(tmp_path: Path) -> None:
    ledger = fresh(tmp_path)
    found = ended(ledger, Stop(), before=lambda: ledger.path.rename(tmp_path / "elsewhere"))
    assert found == Spent(PART, BUDGET.rho, BUDGET.rho)
    assert "the whole budget (rho = 1) counts" in in_words(found)
    (run,) = Ledger(tmp_path / "elsewhere").state().runs
    assert run.counts == found.counts


@pytest.mark.promise(30)
@pytest.mark.parametrize("when", ["before", "after"])
def test_an_end_in_the_middle_of_settling_says_what_the_ledger_says(
    when: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A signal finds the run saved and settled, or saved and not settled yet."""
    from understudy.ledger import RunJournal

    ledger, finish = fresh(tmp_path), RunJournal.finish

    def interrupted(self: RunJournal) -> None:
        if when == "after":
            finish(self)
        raise KeyboardInterrupt

    monkeypatch.setattr(RunJournal, "finish", interrupted)
    with pytest.raises(KeyboardInterrupt) as caught, spending() as run:
        run.begin(Place(ledger, "people"), BUDGET, FACTS, private=True, resume=False)
    (kept,) = ledger.state().runs
    assert caught.value.spent == Spent(kept.charged, BUDGET.rho, kept.counts, finished=True)  # type: ignore[attr-defined]
    assert (kept.state, kept.counts) == (("finished", 0) if when == "after" else ("running", BUDGET.rho))


@pytest.mark.promise(30)
def test_an_end_in_the_middle_of_the_reservation_does_not_say_that_nothing_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger, begin = fresh(tmp_path), Ledger.begin

    def interrupted(self: Ledger, *arguments: object, **options: object) -> None:
        begin(self, *arguments, **options)  # type: ignore[arg-type]
        raise KeyboardInterrupt

    monkeypatch.setattr(Ledger, "begin", interrupted)
    with pytest.raises(KeyboardInterrupt) as caught, spending() as run:
        run.begin(Place(ledger, "people"), BUDGET, FACTS, private=True, resume=False)
    (kept,) = ledger.state().runs
    assert caught.value.spent == Spent(Fraction(0), BUDGET.rho, kept.counts)  # type: ignore[attr-defined]


@pytest.mark.promise(30)
def test_what_stays_spent_stays_spent_when_the_run_is_resumed_and_stops_again(tmp_path: Path) -> None:
    ledger = fresh(tmp_path)
    assert ended(ledger, Stop()) == Spent(PART, BUDGET.rho, PART, resumable=True)
    with pytest.raises(Stop) as caught:
        resumed_and_stopped(Place(ledger, "people"))
    assert caught.value.spent == Spent(PART, BUDGET.rho, PART, resumable=True)  # type: ignore[attr-defined]
    assert ledger.state().dataset("people").spent == PART


def stopped(own: Place, facts: dict[str, object], *, private: bool = True) -> None:
    """A run in its own ledger that pays for one answer, and stops."""
    with pytest.raises(Stop):
        stop_after_one(own, facts, private=private)


def stop_after_one(place: Place, facts: dict[str, object], *, private: bool = True) -> None:
    with spending() as run:
        log = run.begin(place, BUDGET, facts, private=private, resume=False)
        assert log is not None
        play(log, stopping_after(1))


def test_learning_that_stopped_is_not_said_to_be_gone_on_with(tmp_path: Path) -> None:
    with pytest.raises(Stop) as caught:
        stop_after_one(Place(fresh(tmp_path), "people"), {"learns": "some columns"})
    spent: Spent = caught.value.spent  # type: ignore[attr-defined]
    assert 0 < spent.rho == spent.counts < BUDGET.rho
    assert (spent.learns, spent.resumable, spent.finished) == (True, False, False)
    [said] = caught.value.__notes__
    assert f"rho = {show(spent.rho)} of 1" in said
    assert "resume" not in said
    assert "learning anew pays its whole budget" in said


def test_a_stopped_run_is_not_begun_anew_without_a_word(tmp_path: Path) -> None:
    """Its answers are there, and paid for: to ask for them again would spend twice."""
    own = Place(Ledger(tmp_path / "out.ledger"), own=True)
    stopped(own, FACTS)
    with pytest.raises(LedgerError, match=r"--resume .*Nothing more was spent"), spending() as run:
        run.begin(own, BUDGET, FACTS, private=True, resume=False)
    assert own.ledger is not None
    assert len(own.ledger.state().runs) == 1
    stopped(own, {**FACTS, "rounds": 7})  # another run is
    with pytest.raises(Stop):
        resumed_and_stopped(own)


@pytest.mark.promise(23)
def test_nor_is_one_that_was_killed(tmp_path: Path) -> None:
    """Nobody was there to settle it: it is on record as going, with its answers."""
    own = Place(Ledger(tmp_path / "out.ledger"), own=True)
    log = own.begin(BUDGET, FACTS, private=True)
    assert log is not None
    with pytest.raises(Stop):
        play(log, stopping_after(1))
    with pytest.raises(LedgerError, match=r"was killed.*--resume .*Nothing more was spent"):
        own.begin(BUDGET, FACTS, private=True)
    with pytest.raises(Stop):
        resumed_and_stopped(own)


def test_a_stopped_run_that_is_not_private_may_begin_anew(tmp_path: Path) -> None:
    own = Place(Ledger(tmp_path / "out.ledger"), own=True)
    for _ in range(2):
        stopped(own, FACTS, private=False)


def test_a_run_begun_anew_in_a_shared_ledger_says_which_could_be_finished(tmp_path: Path) -> None:
    """Before it is reserved: which run, what it has spent, and that this one pays anew."""
    ledger = fresh(tmp_path)
    ended(ledger, Stop())
    (first,) = ledger.state().runs
    words = rf"{first.name}.*stopped.*rho = 0\.25.*--resume.*pays its whole budget \(rho = 1\) anew"
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnderstudyWarning)
        with pytest.raises(UnderstudyWarning, match=words):
            Place(ledger, "people").begin(BUDGET, FACTS, private=True)
    assert len(ledger.state().runs) == 1
    with pytest.warns(UnderstudyWarning, match=words):
        Place(ledger, "people").begin(BUDGET, FACTS, private=True)
    ledger.cap("people", Budget.of(rho=9))
    with pytest.warns(UnderstudyWarning, match="is going, or was killed.*whole budget counts"):
        Place(ledger, "people").begin(BUDGET, FACTS, private=True)


def test_other_runs_are_begun_without_a_word(tmp_path: Path) -> None:
    ledger = fresh(tmp_path, Budget.of(rho=9))
    ended(ledger, Stop())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Place(ledger, "people").begin(BUDGET, {**FACTS, "rounds": 7}, private=True)  # other settings
        with spending() as run:
            run.begin(Place(ledger, "people"), BUDGET, FACTS, private=True, resume=True)
        Place(ledger, "people").begin(BUDGET, FACTS, private=True)  # the other one has finished
        learns = {"learns": "some columns"}
        for _ in range(2):  # learning cannot be resumed
            Place(ledger, "people").begin(Budget.of(rho=0.5), learns, private=True)
