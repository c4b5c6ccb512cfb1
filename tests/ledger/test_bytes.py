"""Flip bytes of the file: what the ledger says never changes without ``verify`` finding it, and nothing crashes."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from understudy.errors import FormatError, LedgerError
from understudy.ledger import Ledger

from .small import BUDGET, FACTS, fresh, stopped

TABLES = ("sqlite_master", "entries", "contents", "head")


def dump(path: Path) -> list[object] | None:
    """All that the file says, or None where SQLite cannot read it."""
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
            connection.text_factory = bytes
            return [connection.execute(f"SELECT * FROM {table}").fetchall() for table in TABLES]
    except (sqlite3.Error, OverflowError):
        return None


def unnoticed(ledger: Ledger, places: Iterable[int], flips: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield where a flipped byte changes what the ledger says, and verify finds nothing."""
    whole, before = ledger.path.read_bytes(), dump(ledger.path)
    assert before is not None
    with ledger.path.open("r+b", buffering=0) as stream:
        for place in places:
            for flip in flips:
                stream.seek(place)
                stream.write(bytes([whole[place] ^ flip]))
                if ledger.verify().sound and dump(ledger.path) != before:
                    yield place, flip
                stream.seek(place)
                stream.write(whole[place : place + 1])
    assert ledger.path.read_bytes() == whole
    assert ledger.verify().sound


def values(path: Path) -> set[int]:
    """Every place in the file where a byte of a stored text or content is."""
    content, found = path.read_bytes(), set[int]()
    with closing(sqlite3.connect(path)) as connection:
        connection.text_factory = bytes
        rows = [row for table in TABLES for row in connection.execute(f"SELECT * FROM {table}")]
    for value in {value for row in rows for value in row if isinstance(value, bytes) and len(value) >= 8}:
        start = content.find(value)
        while start >= 0:
            found |= set(range(start, start + len(value)))
            start = content.find(value, start + 1)
    return found


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    made = fresh(tmp_path)
    stopped(made, 2)
    return made


@pytest.mark.promise(24)
def test_flipped_bytes_are_found(ledger: Ledger) -> None:
    """Every byte of the file's header, and a sample of all others; the audit takes every byte."""
    size = ledger.path.stat().st_size
    rng = np.random.default_rng(7)
    sample = sorted({*range(100), *rng.choice(size, size // 12, replace=False).tolist()})
    assert list(unnoticed(ledger, sample, [0xFF])) == []


@pytest.mark.promise(24)
def test_a_flipped_byte_of_a_stored_value_is_found(ledger: Ledger) -> None:
    """A byte inside a value must not only be harmless: verify must not call the ledger sound."""
    places, whole = sorted(values(ledger.path)), ledger.path.read_bytes()
    assert len(places) > 2500
    rng = np.random.default_rng(8)
    with ledger.path.open("r+b", buffering=0) as stream:
        for place in rng.choice(places, 600, replace=False).tolist():
            stream.seek(place)
            stream.write(bytes([whole[place] ^ (1 << int(rng.integers(8)))]))
            assert not ledger.verify().sound, place
            stream.seek(place)
            stream.write(whole[place : place + 1])
    assert ledger.verify().sound


@pytest.mark.promise(24)
@pytest.mark.audit
def test_every_flipped_byte_is_found(ledger: Ledger) -> None:
    """Each byte as its complement and with one bit flipped; none in a stored value may be called sound."""
    assert list(unnoticed(ledger, range(ledger.path.stat().st_size), [0xFF])) == []
    rng = np.random.default_rng(9)
    for bit in range(8):
        part = rng.choice(ledger.path.stat().st_size, 800, replace=False).tolist()
        assert list(unnoticed(ledger, part, [1 << bit])) == []
    places, whole = values(ledger.path), ledger.path.read_bytes()
    with ledger.path.open("r+b", buffering=0) as stream:
        for place in sorted(places):
            stream.seek(place)
            stream.write(bytes([whole[place] ^ (1 << place % 8)]))
            assert not ledger.verify().sound, place
            stream.seek(place)
            stream.write(whole[place : place + 1])


@pytest.mark.promise(24)
def test_a_cut_or_grown_file_is_found(ledger: Ledger) -> None:
    whole = ledger.path.read_bytes()
    for size in (0, 1, 99, 100, 4096, len(whole) // 2, len(whole) - 4096, len(whole) - 1):
        ledger.path.write_bytes(whole[:size])
        assert not ledger.verify().sound, size
        with pytest.raises((FormatError, LedgerError)):
            ledger.begin("people", BUDGET, FACTS)


@pytest.mark.promise(24)
def test_an_older_copy_is_found_by_a_head_that_was_noted(ledger: Ledger) -> None:
    """And only by that: a copy put back is a sound ledger, as the page for owners says."""
    older = ledger.path.read_bytes()
    log = ledger.begin("people", BUDGET, {"another": 1})
    log.stop(Fraction(0))
    noted = ledger.head()
    assert ledger.verify(noted).since == 0
    ledger.path.write_bytes(older)
    assert ledger.verify().sound
    verdict = ledger.verify(noted)
    assert not verdict.sound
    assert "older copy" in verdict.problems[0]
    assert ledger.verify(ledger.head()).sound


@pytest.mark.promise(25)
def test_foreign_files_are_refused_and_left_alone(tmp_path: Path) -> None:
    text, other, wal = tmp_path / "text", tmp_path / "other.db", tmp_path / "wal.db"
    text.write_text("not a database, and longer than a hundred bytes of header would be" * 4)
    for path, mode in ((other, "delete"), (wal, "wal")):
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(f"PRAGMA journal_mode = {mode}")
            connection.execute("CREATE TABLE entries (a)")
            connection.commit()
    for path in (text, other, wal):
        before = path.read_bytes()
        assert not Ledger(path).verify().sound
        for act in (Ledger(path).state, Ledger(path).head, lambda path=path: Ledger.create(path)):
            with pytest.raises(FormatError, match="not a ledger"):
                act()
        assert path.read_bytes() == before


@pytest.mark.promise(25)
def test_a_ledger_with_a_trigger_of_somebody_elses_is_not_written_to(ledger: Ledger) -> None:
    with closing(sqlite3.connect(ledger.path)) as connection:
        connection.execute("CREATE TRIGGER mine AFTER INSERT ON entries BEGIN DELETE FROM contents; END")
        connection.commit()
    with pytest.raises(FormatError, match="damaged"):
        ledger.begin("people", BUDGET, FACTS)
    assert not ledger.verify().sound
