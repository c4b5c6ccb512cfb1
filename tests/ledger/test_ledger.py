"""The ledger itself: exact amounts, caps, states of runs, refusals that say what to do, and files that stay small."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing, suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.errors import BudgetExceeded, FormatError, InternalError, LedgerError
from understudy.ledger import Ledger, State
from understudy.ledger.entries import BEFORE_ALL, KINDS, Entry
from understudy.ledger.store import reading
from understudy.mechanism import MECHANISMS, aim, pool
from understudy.mechanism.snapshot import packed, unpacked
from understudy.model import GraphicalModel
from understudy.privacy import Budget, Inquiry, ResearchNoise
from understudy.privacy.amounts import amount_text, parse_amount

from .small import BUDGET, FACTS, SCHEMA, Stop, fresh, play, stopped, stopping_after

FRACTIONS = st.fractions(min_value=0, max_value=10**6)


@given(st.one_of(FRACTIONS, st.builds(Fraction, st.integers(0, 1 << 20_000), st.integers(1, 1 << 20_000))))
def test_amounts_are_written_exactly_however_long_they_are(rho: Fraction) -> None:
    assert parse_amount(amount_text(rho)) == rho


@given(st.text(max_size=30))
def test_what_is_no_amount_is_refused(text: str) -> None:
    with suppress(FormatError):
        assert parse_amount(text) >= 0


@pytest.mark.parametrize("text", ["", "-1", "1/0", "1.5", "1/2/3", "٣", "0x1", "1" * 5000, "0x1/0x0", " 1", "1e5"])
def test_these_are_no_amounts(text: str) -> None:
    with pytest.raises(FormatError):
        parse_amount(text)


LINE = st.builds(
    Entry, st.integers(1, 99), *[st.text(max_size=8)] * 8
)  # seq, dataset, run, kind, rho, purpose, at, digest, detail


@given(LINE, LINE)
def test_different_lines_have_different_hashes(one: Entry, two: Entry) -> None:
    """Also where the same letters are cut into fields at other places."""
    assert (one.hash_after(BEFORE_ALL) == two.hash_after(BEFORE_ALL)) == (one == two)
    assert one.hash_after(BEFORE_ALL) != one.hash_after("1" + BEFORE_ALL[1:])


@given(st.lists(st.tuples(st.integers(1, 6), st.sampled_from(["finish", "stop", "kill"]), st.integers(0, 6)), max_size=8))
@settings(max_examples=25, deadline=None)
def test_the_cap_holds_on_every_path(tmp_path_factory: pytest.TempPathFactory, runs: list[tuple[int, str, int]]) -> None:
    """Runs of sixths of the cap, some settled for less, some killed: accepted exactly when it fits."""
    ledger = fresh(tmp_path_factory.mktemp("cap"), Budget.of(rho=1))
    counted = Fraction(0)
    for size, ending, charged in runs:
        budget, spent = Fraction(size, 6), min(Fraction(charged, 6), Fraction(size, 6))
        if counted + budget > 1:
            with pytest.raises(BudgetExceeded):
                ledger.begin("people", Budget.of(rho=budget), {})
            continue
        log = ledger.begin("people", Budget.of(rho=budget), {})
        if spent:
            log.commit(Inquiry(spent, "measure (a)", {}), np.zeros(1, np.int64))
        if ending != "kill":
            log.finish() if ending == "finish" else log.stop(spent)
        counted += budget if ending == "kill" else spent
        dataset = ledger.state().dataset("people")
        assert dataset.spent + dataset.reserved == counted
        assert dataset.left == 1 - counted
    assert ledger.verify().sound


def test_a_refusal_names_the_stopped_run_that_could_be_finished(tmp_path: Path) -> None:
    ledger = fresh(tmp_path, BUDGET)
    log = ledger.begin("people", BUDGET, FACTS)
    log.commit(Inquiry(Fraction(1, 4), "measure (a)", {}), np.zeros(1, np.int64))
    log.stop(Fraction(1, 4))
    with pytest.raises(BudgetExceeded, match=r"raise the cap\. Or finish the run .* with --resume"):
        ledger.begin("people", BUDGET, FACTS)
    with pytest.raises(BudgetExceeded, match=r"raise the cap\.$"):
        ledger.begin("people", BUDGET, {**FACTS, "rounds": 3})


def test_refusals_say_what_is_left_and_what_to_do(tmp_path: Path) -> None:
    ledger = fresh(tmp_path, BUDGET)
    ledger.begin("people", Budget.of(rho=0.75), FACTS)
    with pytest.raises(BudgetExceeded, match=r"0\.25 left of 1 \(0\.75 of it held.*Nothing was read.*raise the cap"):
        ledger.begin("people", Budget.of(rho=0.5), FACTS)
    with pytest.raises(LedgerError, match=r'no dataset "poeple".*Did you mean "people"'):
        ledger.begin("poeple", BUDGET, FACTS)
    with pytest.raises(LedgerError, match="already"):
        ledger.declare("people", BUDGET)
    with pytest.raises(LedgerError, match="name of one line"):
        ledger.declare("two\nlines", BUDGET)
    with pytest.raises(LedgerError, match="no ledger at"):
        Ledger(tmp_path / "none").state()


def test_a_cap_can_be_raised_and_not_lowered_below_what_was_spent(tmp_path: Path) -> None:
    ledger = fresh(tmp_path, BUDGET)
    ledger.begin("people", BUDGET, FACTS)
    assert ledger.cap("people", Budget.of(epsilon=9, delta=1e-8)).epsilon == 9
    assert ledger.state().dataset("people").delta == 1e-8
    with pytest.raises(BudgetExceeded, match="spent or reserved"):
        ledger.cap("people", Budget.of(rho=0.5))
    with reading(ledger.path) as book:
        assert [entry.kind for entry in book.entries()] == ["opened", "declared", "reserved", "capped"]


def test_settings_that_differ_are_named(tmp_path: Path) -> None:
    ledger = fresh(tmp_path)
    with pytest.raises(LedgerError, match="none to resume"):
        ledger.resume("people", FACTS)
    stopped(ledger, 2)
    with pytest.raises(LedgerError, match=r"another rounds \(6, now 7\)"):
        ledger.resume("people", {**FACTS, "rounds": 7})


def test_resuming_reserves_again_and_may_be_refused(tmp_path: Path) -> None:
    ledger = fresh(tmp_path, Budget.of(rho=Fraction(3, 2)))
    stopped(ledger, 2)
    other = ledger.begin("people", BUDGET, {"another": 1})
    with pytest.raises(BudgetExceeded):
        ledger.resume("people", FACTS)
    other.stop(Fraction(0))
    ledger.resume("people", FACTS)
    assert ledger.state().dataset("people").left == Fraction(1, 2)


@pytest.mark.parametrize("name", sorted(MECHANISMS))
@pytest.mark.parametrize("answers", [1, 3])
def test_every_mechanism_can_be_resumed(tmp_path: Path, name: str, answers: int) -> None:
    """A new mechanism joins by being registered: it must ask and note the same when it is played again."""
    ledger = fresh(tmp_path)
    log = ledger.begin("people", BUDGET, FACTS)
    with pytest.raises(Stop):
        play(log, stopping_after(answers), name=name, adaptive=True)
    log = ledger.resume("people", FACTS)
    outcome = play(log, name=name, adaptive=True)
    log.finish()
    (run,) = ledger.state().runs
    assert run.charges == outcome.charges
    assert run.charged <= BUDGET.rho
    assert ledger.verify().sound


@pytest.mark.parametrize("answers", [1, 4, 6, 8, 10])
def test_a_run_that_began_by_measuring_twice_can_be_resumed(
    tmp_path: Path, answers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its rounds begin one fit later: what is let go, and what bounds rest on after all, is counted from there."""
    attributes = len(SCHEMA.domain)
    monkeypatch.setattr(aim, "_too_noisy", lambda run, *_: len(run.measurements) < 2 * attributes)
    ledger = fresh(tmp_path)
    log = ledger.begin("people", BUDGET, FACTS)
    with pytest.raises(Stop):
        play(log, stopping_after(answers), rounds=40, adaptive=True)
    outcome = play(ledger.resume("people", FACTS), rounds=40, adaptive=True)
    assert [m.clique for m in outcome.measurements[:attributes]] == [
        m.clique for m in outcome.measurements[attributes:][:attributes]
    ]
    assert outcome.rounds[-1].before is not None
    assert all(list(r.before.parameters) for r in outcome.rounds if r.before is not None)


@pytest.mark.parametrize("answers", [5, 9])
def test_a_run_that_looks_at_some_candidates_in_turn_can_be_resumed(
    tmp_path: Path, answers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it looks at follows from the answers on record: nothing is asked that was not asked before."""
    monkeypatch.setattr(pool, "LISTED", 1)
    monkeypatch.setattr(pool, "OTHERS", 1)
    ledger = fresh(tmp_path)
    with pytest.raises(Stop):
        play(ledger.begin("people", BUDGET, FACTS), stopping_after(answers), rounds=40, adaptive=True)
    outcome = play(ledger.resume("people", FACTS), rounds=40, adaptive=True)
    assert outcome.rounds[-1].final
    assert outcome.spent <= BUDGET.rho


@pytest.mark.parametrize("name", ["aim", "aim2"])
@pytest.mark.parametrize("answers", [4, 5, 6, 8, 9])
def test_a_run_that_chooses_several_at_a_time_can_be_resumed(
    tmp_path: Path, answers: int, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its rounds share fits: what is let go, and what bounds rest on after all, is counted by fits, not by rounds."""
    monkeypatch.setattr(aim, "together", lambda pool: 3)
    ledger = fresh(tmp_path)
    log = ledger.begin("people", BUDGET, FACTS)
    with pytest.raises(Stop):
        play(log, stopping_after(answers), name=name, rounds=40, adaptive=True)
    outcome = play(log := ledger.resume("people", FACTS), name=name, rounds=40, adaptive=True)
    log.finish()
    (run,) = ledger.state().runs
    assert run.charges == outcome.charges
    assert any(charge.purpose.startswith(("select 2", "select 3")) for charge in outcome.charges)
    assert outcome.rounds[-1].before is not None
    assert all(list(r.before.parameters) for r in outcome.rounds if r.before is not None)


@pytest.mark.parametrize("answers", [5, 8, 11, 15])
def test_a_run_in_which_pairs_take_turns_can_be_resumed(
    tmp_path: Path, answers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How many it chooses, and when it measures again what it found, follows from what is on record: 15 answers are some of
    those that were measured again.
    """
    monkeypatch.setattr(pool, "LISTED", 1)
    monkeypatch.setattr(pool, "PAIRS", 1)
    monkeypatch.setattr(aim, "together", lambda pool: 2)
    ledger, how = fresh(tmp_path), {"rounds": 40, "adaptive": True, "noise": ResearchNoise(1)}
    with pytest.raises(Stop):
        play(ledger.begin("people", BUDGET, FACTS), stopping_after(answers), **how)
    if answers == 15:
        monkeypatch.setattr(aim, "by_chance", lambda estimate: pytest.fail("it was on record"))
    outcome = play(log := ledger.resume("people", FACTS), **how)
    log.finish()
    (run,) = ledger.state().runs
    assert run.charges == outcome.charges
    assert float(outcome.spent / BUDGET.rho) == pytest.approx(1.0)
    assert not outcome.rounds[-1].final
    assert {("a",), ("b",), ("c",)} <= {m.clique for m in outcome.measurements[3 + len(outcome.rounds) :]}


@pytest.mark.parametrize("answers", [4, 7, 10])
def test_a_resumed_run_fits_and_scores_only_what_is_new(
    tmp_path: Path, answers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = fresh(tmp_path)
    log = ledger.begin("people", BUDGET, FACTS)
    with pytest.raises(Stop):
        play(log, stopping_after(answers), rounds=8)
    known = sum(item.kind == "kept" for item in ledger.state().runs[0].items)
    chosen = sum(item.purpose.startswith("select") for item in ledger.state().runs[0].items)
    scored, real = [], GraphicalModel.marginals
    monkeypatch.setattr(
        GraphicalModel, "marginals", lambda self, cliques, **how: (scored.append(how), real(self, cliques, **how))[1]
    )
    log = ledger.resume("people", FACTS)
    outcome = play(log, rounds=8)
    (run,) = ledger.state().runs
    kept = [item.request for item in run.items if item.kind == "kept"]
    assert len(kept) == len(set(kept)) > known
    # Every round that was not chosen for yet, and the one that was cut short: how far its choice moved is not on record.
    assert sum(how == {"precision": "single"} for how in scored) == len(outcome.rounds) - chosen + 1
    assert all(r.size > 0 for r in outcome.rounds)


@pytest.mark.parametrize("answers", [4, 7, 10])
def test_a_resumed_run_of_aim2_judges_only_what_is_new(
    tmp_path: Path, answers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its penalties, and what it shrinks towards, are on record: the models of earlier rounds may be gone."""
    ledger = fresh(tmp_path)
    with pytest.raises(Stop):
        play(ledger.begin("people", BUDGET, FACTS), stopping_after(answers), name="aim2", rounds=24, noise=ResearchNoise(1))
    chosen = sum(item.purpose.startswith("select") for item in ledger.state().runs[0].items)
    asked, real = [], GraphicalModel.marginals
    monkeypatch.setattr(
        GraphicalModel, "marginals", lambda self, cliques, **how: (asked.append(how), real(self, cliques, **how))[1]
    )
    outcome = play(ledger.resume("people", FACTS), name="aim2", rounds=24, noise=ResearchNoise(2))
    assert len(outcome.rounds) > chosen
    # Twice in a round that was not chosen for yet, once in the one that was cut short, and once at the end.
    assert sum(how == {"precision": "single"} for how in asked) == 2 * (len(outcome.rounds) - chosen) + 2


def test_time_that_was_used_counts_when_a_run_goes_on(tmp_path: Path) -> None:
    """With a time limit, looks at the clock are on record; after a resume the clock goes on from the last of them."""
    from understudy.mechanism import mechanism
    from understudy.privacy import Door

    from .small import QUICK, WORKLOAD, source

    ledger = fresh(tmp_path)

    def run(log, clock, listen=None):  # type: ignore[no-untyped-def]
        door = Door(source(), BUDGET, journal=log)
        how = mechanism("aim", rounds=20, time_limit=1000.0)
        return how.run(door, WORKLOAD, estimator=QUICK, clock=clock, on_event=listen)

    ticks = iter(range(10_000))
    with pytest.raises(Stop):
        run(ledger.begin("people", BUDGET, FACTS), lambda: float(next(ticks)) / 4, stopping_after(8))
    looks = [item for item in ledger.state().runs[0].items if "clock" in item.purpose]
    assert looks
    still = run(ledger.resume("people", FACTS), lambda: 0.0)  # a clock that stands still: no time is used any more
    assert still.seconds > 0
    assert still.ended == "budget"


def test_models_that_nobody_needs_are_dropped_and_a_finished_run_keeps_no_answers(tmp_path: Path) -> None:
    ledger = fresh(tmp_path)
    log = ledger.begin("people", BUDGET, FACTS)
    play(log, rounds=10)
    with reading(ledger.path) as book:
        kept = [entry.seq for entry in book.entries() if entry.kind == "kept"]
        held = [seq for seq in kept if book.content(seq) is not None]
    assert len(kept) > len(held) + 1
    log.finish()
    with reading(ledger.path) as book:
        assert all(book.content(entry.seq) is None for entry in book.entries())
    assert ledger.verify().sound


def test_a_run_cannot_put_more_on_record_than_it_reserved(tmp_path: Path) -> None:
    log = fresh(tmp_path).begin("people", BUDGET, FACTS)
    with pytest.raises(InternalError, match="more than it has reserved"):
        log.commit(Inquiry(Fraction(2), "measure (a)", {}), np.zeros(3, np.int64))


def test_a_full_disk_stops_the_run_with_nothing_unrecorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite is told to keep the file to its size; what it then says is what it says when the disk is full."""
    from understudy.ledger import store

    ledger, connect, seen = fresh(tmp_path), store._connect, []
    log = ledger.begin("people", BUDGET, FACTS)

    def full(path: Path, mode: str) -> sqlite3.Connection:
        connection = connect(path, mode)
        pages = os.stat(path).st_size // 4096
        connection.execute(f"PRAGMA max_page_count = {pages}")
        return connection

    monkeypatch.setattr(store, "_connect", full)
    with pytest.raises(LedgerError, match=r"full.*room on the disk"):
        play(log, seen.append)
    monkeypatch.undo()
    (run,) = ledger.state().runs
    from understudy.mechanism import Measured, Selected

    assert len(run.charges) == sum(isinstance(event, Measured | Selected) for event in seen)
    assert run.counts == BUDGET.rho
    assert ledger.verify().sound


def test_a_ledger_that_is_held_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from understudy.ledger import store

    monkeypatch.setattr(store, "WAIT", 0.05)
    ledger = fresh(tmp_path)
    with closing(sqlite3.connect(ledger.path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(LedgerError, match="another process"):
            ledger.begin("people", BUDGET, FACTS)


def test_lines_that_contradict_each_other_are_found() -> None:
    """A chain can be forged as a whole; what it says must still follow from itself."""
    opened = Entry(1, "", "", "opened", "0", "", "", "", "{}")
    declared = Entry(2, "d", "", "declared", "1", "", "", "", json.dumps({"limited": True, "epsilon": None, "delta": None}))
    detail = {"epsilon": None, "delta": None, "private": True, "settings": {}, "token": "t"}
    reserved = Entry(3, "d", "r", "reserved", "1/2", "", "", "", json.dumps(detail))
    charged = Entry(4, "d", "r", "charged", "1/4", "", "", "", json.dumps({"request": "q"}))
    finished = Entry(5, "d", "r", "finished", "1/4", "", "", "", "")
    whole = [opened, declared, reserved, charged, finished]
    assert State(whole).problems == []
    assert "above its budget" in State([*whole[:3], replace(charged, rho="3/4")]).problems[0]
    assert "exceeds the cap" in State([*whole[:2], replace(reserved, rho="2")]).problems[0]
    assert "less than was spent" in State([*whole[:4], replace(finished, rho="1/8")]).problems[0]
    assert "another sum" in State([*whole[:4], replace(finished, rho="1/2")]).problems[0]
    assert "has ended" in State([*whole, replace(charged, seq=6)]).problems[0]
    assert "has ended" in State([*whole, replace(finished, seq=6)]).problems[0]
    assert "again" in State([*whole, replace(declared, seq=6)]).problems[0]
    for wrong in (replace(charged, run="nobody"), replace(charged, detail="[1"), replace(charged, kind="_run")):
        with pytest.raises(FormatError):
            State([*whole[:3], wrong])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
DETAILS = st.dictionaries(st.sampled_from(["token", "settings", "epsilon", "delta", "private", "limited", "request"]), JSON)
FORGED = st.builds(
    Entry,
    st.integers(1, 9),
    st.sampled_from(["d", ""]),
    st.sampled_from(["r", "s"]),
    st.sampled_from([*KINDS, "runs"]),
    st.sampled_from(["0", "1", "1/2", "x"]),
    st.just(""),
    st.just(""),
    st.just(""),
    st.builds(json.dumps, DETAILS | JSON) | st.text(max_size=5),
)


@given(st.lists(FORGED, max_size=6))
@settings(max_examples=300)
def test_forged_lines_are_read_or_refused(lines: list[Entry]) -> None:
    with suppress(FormatError):
        for dataset in State(lines).datasets:
            assert dataset.spent >= 0


@given(st.binary(max_size=200))
def test_a_model_on_record_that_is_none_is_refused(content: bytes) -> None:
    with pytest.raises(FormatError):
        unpacked(content, SCHEMA.domain, ())


def test_a_model_on_record_comes_back_bit_by_bit() -> None:
    rng = np.random.default_rng(0)
    tables = {("a", "b"): rng.normal(size=(3, 4)), ("c",): rng.normal(size=2)}
    model = GraphicalModel(SCHEMA.domain, tables, 17.25)
    again = unpacked(packed(model), SCHEMA.domain, ())
    assert list(again.parameters) == list(tables)
    assert all((again.parameters[c] == tables[c]).all() for c in tables)
    assert again.total == 17.25
    for wrong in (packed(model)[:-8], packed(model) + b"12345678", packed(model).replace(b"17.25", b"  NaN")):
        with pytest.raises(FormatError):
            unpacked(wrong, SCHEMA.domain, ())
