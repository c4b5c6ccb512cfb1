"""What the ledger promises, each as a check that raises when it is broken. Tests run them as they are, and on mutants."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from understudy.errors import BudgetExceeded, FormatError, LedgerError
from understudy.ledger import Ledger
from understudy.ledger import ledger as ledger_module
from understudy.mechanism import Event, Measured, Selected
from understudy.privacy import Budget, Door, Inquiry, SecureNoise

from .small import BUDGET, FACTS, WORKLOAD, Stop, Watched, fresh, play, stopped, stopping_after


def reserved_before_the_first_read(folder: Path) -> None:
    """Whoever counts finds the whole budget reserved already."""
    ledger = fresh(folder)
    found: list[Fraction] = []
    log = ledger.begin("people", BUDGET, FACTS)
    play(log, data=Watched(lambda: found.append(ledger.state().dataset("people").reserved)))
    assert found
    assert set(found) == {BUDGET.rho}


def a_killed_run_counts_in_full(folder: Path) -> None:
    """As long as nobody has settled it, nobody else can have what it may have spent."""
    ledger = fresh(folder, Budget.of(rho=Fraction(3, 2)))
    stopped(ledger, 3, settle=False)
    assert ledger.state().dataset("people").left == Fraction(1, 2)
    with pytest.raises(BudgetExceeded):
        ledger.begin("people", BUDGET, FACTS)


def a_stopped_run_counts_what_it_spent(folder: Path) -> None:
    ledger = fresh(folder)
    stopped(ledger, 4)
    (run,) = ledger.state().runs
    assert 0 < run.charged <= run.counts < run.budget


def answers_are_on_record_before_anybody_sees_them(folder: Path) -> None:
    """Whenever an event tells of an answer, the ledger has it."""
    ledger, behind, seen = fresh(folder), [], 0
    log = ledger.begin("people", BUDGET, FACTS)

    def compare(event: Event) -> None:
        nonlocal seen
        if isinstance(event, Measured | Selected):
            seen += 1
            behind.append(len(ledger.state().runs[0].charges) - seen)

    play(log, compare)
    assert set(behind) == {0}


def nothing_is_drawn_or_charged_twice(folder: Path) -> None:
    """A run that is stopped and resumed asks the table only what it had not asked, and spends its budget once."""
    ledger, draws = fresh(folder), 0
    name = stopped(ledger, 5, settle=False)
    before = ledger.state().run(name)

    class Counting(SecureNoise):
        def gaussian(self, counts, sigma):  # type: ignore[no-untyped-def]
            nonlocal draws
            draws += 1
            return super().gaussian(counts, sigma)

        def select(self, scores, scale):  # type: ignore[no-untyped-def]
            nonlocal draws
            draws += 1
            return super().select(scores, scale)

    log = ledger.resume("people", FACTS)
    from understudy.mechanism import mechanism

    from .small import QUICK, source

    door = Door(source(), BUDGET, journal=log, noise=Counting())
    outcome = mechanism("aim", rounds=6, adaptive=False).run(door, WORKLOAD, estimator=QUICK)
    log.finish()
    after = ledger.state().run(name)
    assert after.charges[: len(before.charges)] == before.charges
    assert after.charges == outcome.charges
    assert draws == len(after.charges) - len(before.charges)
    assert BUDGET.rho - Fraction(1, 10**9) < after.charged <= BUDGET.rho
    assert after.counts == after.charged
    verdict = ledger.verify()
    assert verdict.sound, verdict.problems


def resumed_answers_are_the_old_ones(folder: Path) -> None:
    ledger, first, second = fresh(folder), [], []
    log = ledger.begin("people", BUDGET, FACTS)
    listen = stopping_after(5)

    def one(event: Event) -> None:
        if isinstance(event, Selected):
            first.append(event.clique)
        listen(event)

    with suppress(Stop):
        play(log, one)
    values = [log_content(ledger, item.seq) for item in ledger.state().runs[0].items if item.kind == "charged"]
    outcome = play(ledger.resume("people", FACTS), lambda e: second.append(e.clique) if isinstance(e, Selected) else None)
    assert second[: len(first)] == first
    for found, kept in zip(outcome.measurements[:3], values[:3], strict=True):
        assert found.values.ravel().tolist() == kept.tolist()


def log_content(ledger: Ledger, seq: int):  # type: ignore[no-untyped-def]
    from understudy.ledger.store import reading

    with reading(ledger.path) as book:
        return np.frombuffer(book.content(seq) or b"", dtype="<i8")


def only_the_last_to_resume_goes_on(folder: Path) -> None:
    """Two that resume the same run, and a zombie of the first: only one can put an answer on record."""
    ledger = fresh(folder)
    log = ledger.begin("people", BUDGET, FACTS)
    with suppress(Stop):
        play(log, stopping_after(4))
    one, two = ledger.resume("people", FACTS), ledger.resume("people", FACTS)
    request = Inquiry(Fraction(1, 1000), "measure (a)", {"measure": "a"})
    for loser in (log, one):
        with pytest.raises(LedgerError, match="Another process"):
            loser.commit(request, np.zeros(3, np.int64))
        with pytest.raises(LedgerError, match="Another process"):
            loser.stop(Fraction(0))
    play(two)
    two.finish()
    assert ledger.verify().sound


def another_question_is_refused(folder: Path) -> None:
    """A resumed run that asks something else than it asked before gets no answer."""
    ledger = fresh(folder)
    stopped(ledger, 4)
    log = ledger.resume("people", FACTS)
    with pytest.raises(LedgerError, match="not the same run"):
        play(log, rounds=8)


def a_lost_ledger_stops_the_run(folder: Path) -> None:
    """Once the file is gone, or an older copy is in its place, no answer leaves."""
    for name, lose in {"gone": _gone, "older": _older}.items():
        (folder / name).mkdir()
        ledger = fresh(folder / name)
        log = ledger.begin("people", BUDGET, FACTS)
        copy, seen = ledger.path.read_bytes(), []
        listen = partial(_losing, seen, partial(lose, ledger.path, copy))
        with pytest.raises(LedgerError):
            play(log, listen)
        assert len(seen) == 2


def _gone(path: Path, copy: bytes) -> None:
    path.unlink()


def _older(path: Path, copy: bytes) -> None:
    path.write_bytes(copy)


def _losing(seen: list[Event], lose: Callable[[], None], event: Event) -> None:
    if isinstance(event, Measured | Selected):
        seen.append(event)
        if len(seen) == 2:
            lose()


def the_cap_holds_when_another_comes_in_between(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A competitor reserves after we were called and before our transaction: then we are refused."""
    ledger, real, done = fresh(folder, BUDGET), ledger_module.writing, []

    def late(path: Path):  # type: ignore[no-untyped-def]
        if not done:
            done.append(True)
            ledger.begin("people", BUDGET, {"who": "the other"})
        return real(path)

    monkeypatch.setattr(ledger_module, "writing", late)
    with pytest.raises(BudgetExceeded):
        ledger.begin("people", BUDGET, FACTS)
    assert len(ledger.state().runs) == 1


def a_changed_line_is_found(folder: Path) -> None:
    """Each field of each line, changed with the triggers out of the way; a removed line; a line too many."""
    import sqlite3

    from understudy.ledger.entries import Entry
    from understudy.ledger.store import DEFINITIONS

    ledger = fresh(folder)
    stopped(ledger, 3)
    whole = ledger.path.read_bytes()
    lines = ledger.verify().lines
    names = [name for name in Entry.__dataclass_fields__ if name != "seq"]
    edits = [f"UPDATE entries SET {name} = {name} || 'x' WHERE seq = {seq}" for seq in range(1, lines + 1) for name in names]
    edits += [f"DELETE FROM entries WHERE seq = {seq}" for seq in range(1, lines + 1)]
    edits += ["UPDATE contents SET content = x'00' WHERE seq = (SELECT min(seq) FROM contents)"]
    edits += ["DELETE FROM contents WHERE seq = (SELECT min(seq) FROM contents)"]
    edits += [f"INSERT INTO entries SELECT {lines + 1}, {', '.join(names)} FROM entries WHERE seq = {lines}"]
    for edit in edits:
        ledger.path.write_bytes(whole)
        with sqlite3.connect(ledger.path) as connection:
            connection.execute("PRAGMA synchronous = OFF")
            triggers = [(name, sql) for (kind, name), sql in DEFINITIONS.items() if kind == "trigger"]
            for name, _ in triggers:
                connection.execute(f"DROP TRIGGER {name}")
            connection.execute(edit)
            for _, sql in triggers:
                connection.execute(sql)
        connection.close()
        assert not ledger.verify().sound, edit
        if "contents" not in edit:
            with pytest.raises(FormatError):
                ledger.begin("people", BUDGET, FACTS)
