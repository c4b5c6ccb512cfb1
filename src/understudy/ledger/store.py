"""The ledger as a file: one SQLite database, opened for each transaction, whose definitions are compared before anything is
believed. Public numbers only.

A rollback journal and ``synchronous=EXTRA`` make a transaction all or nothing under ``kill -9`` and power loss, on ordinary
file systems, in one file that can be copied when no run is going. Whatever SQLite says becomes an error of ours.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import astuple, fields, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from understudy.errors import FormatError, LedgerError
from understudy.ledger.entries import BEFORE_ALL, Entry, Kind, compact, digest_of, now
from understudy.privacy.amounts import amount_text

APPLICATION, VERSION = 0x55445354, 1
WAIT = 60.0
"""Seconds to wait for another process's transaction; each takes milliseconds."""

_COLUMNS = [field.name for field in fields(Entry)]
_STATEMENTS = [
    f"CREATE TABLE entries (seq INTEGER PRIMARY KEY, {', '.join(f'{c} TEXT NOT NULL' for c in _COLUMNS[1:])})",
    "CREATE INDEX entries_of_runs ON entries (run, kind)",
    "CREATE TABLE contents (seq INTEGER PRIMARY KEY, content BLOB NOT NULL)",
    "CREATE TABLE head (one INTEGER PRIMARY KEY CHECK (one = 1), seq INTEGER NOT NULL, hash TEXT NOT NULL)",
    "CREATE TRIGGER entries_follow BEFORE INSERT ON entries "
    "WHEN NEW.seq <> (SELECT coalesce(max(seq), 0) + 1 FROM entries) BEGIN SELECT RAISE(ABORT, 'lines are in order'); END",
    "CREATE TRIGGER entries_stay BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, 'a line is never changed'); END",
    "CREATE TRIGGER entries_remain BEFORE DELETE ON entries BEGIN SELECT RAISE(ABORT, 'a line is never removed'); END",
    "CREATE TRIGGER contents_stay BEFORE UPDATE ON contents BEGIN SELECT RAISE(ABORT, 'a content is never changed'); END",
]
DEFINITIONS = {(sql.split()[1].lower(), sql.split()[2]): sql for sql in _STATEMENTS}
"""What the file defines, exactly: (kind, name) to statement."""


class LedgerGone(LedgerError):
    """There is no ledger at the path, or not the one that was opened."""


class Book:
    """The ledger inside one transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    def head(self) -> tuple[int, str]:
        """Return the number and the hash of the last line."""
        rows = self.connection.execute("SELECT seq, hash FROM head").fetchall()
        if len(rows) != 1 or not isinstance(rows[0][0], int) or not isinstance(rows[0][1], str):
            raise FormatError("The ledger is damaged: it does not say which line is its last.")
        return rows[0][0], rows[0][1]

    def entries(self, run: str | None = None) -> Iterator[Entry]:
        """Yield the lines in order: all of them, or those of a run."""
        where, given = ("", ()) if run is None else ("WHERE run = ?", (run,))
        for row in self.connection.execute(f"SELECT {', '.join(_COLUMNS)} FROM entries {where} ORDER BY seq", given):
            yield _entry(row)

    def latest(self, run: str, kinds: tuple[Kind, ...]) -> Entry | None:
        """Return the last line of a run that is of one of ``kinds``."""
        marks = ", ".join("?" for _ in kinds)
        sql = f"SELECT {', '.join(_COLUMNS)} FROM entries WHERE run = ? AND kind IN ({marks}) ORDER BY seq DESC LIMIT 1"
        row = self.connection.execute(sql, (run, *kinds)).fetchone()
        return None if row is None else _entry(row)

    def hash_at(self, seq: int) -> str | None:
        """Return the hash of line ``seq``."""
        row = self.connection.execute("SELECT hash FROM entries WHERE seq = ?", (seq,)).fetchone()
        return None if row is None else str(row[0])

    def append(
        self,
        kind: Kind,
        *,
        dataset: str = "",
        run: str = "",
        rho: Fraction = Fraction(0),
        purpose: str = "",
        content: bytes | None = None,
        detail: Mapping[str, Any] | None = None,
    ) -> Entry:
        """Add a line after the last, with its content where it has one."""
        last, before = self.head()
        digest = "" if content is None else digest_of(content)
        entry = Entry(last + 1, dataset, run, kind, amount_text(rho), purpose, now(), digest, compact(detail or {}))
        entry = replace(entry, hash=entry.hash_after(before))
        self.connection.execute(f"INSERT INTO entries VALUES ({', '.join('?' for _ in _COLUMNS)})", astuple(entry))
        if content is not None:
            self.connection.execute("INSERT INTO contents VALUES (?, ?)", (entry.seq, content))
        self.connection.execute("UPDATE head SET seq = ?, hash = ?", (entry.seq, entry.hash))
        return entry

    def content(self, seq: int) -> bytes | None:
        """Return the content of a line; None when it has none, or has it no longer."""
        row = self.connection.execute("SELECT content FROM contents WHERE seq = ?", (seq,)).fetchone()
        if row is not None and not isinstance(row[0], bytes):
            raise FormatError(f"The ledger is damaged: the content of line {seq} is not one.")
        return None if row is None else row[0]

    def drop_contents(self, run: str, purposes: tuple[str, ...] | None = None) -> None:
        """Drop what a run has answered and kept, or only what it kept under ``purposes``; lines and digests stay."""
        if purposes is None:
            self.connection.execute("DELETE FROM contents WHERE seq IN (SELECT seq FROM entries WHERE run = ?)", (run,))
        for purpose in purposes or ():
            which = "SELECT seq FROM entries WHERE run = ? AND kind = 'kept' AND purpose = ?"
            self.connection.execute(f"DELETE FROM contents WHERE seq IN ({which})", (run, purpose))


def _entry(row: tuple[Any, ...]) -> Entry:
    if not isinstance(row[0], int) or not all(isinstance(value, str) for value in row[1:]):
        raise FormatError("The ledger is damaged: a line holds something that is not text.")
    return Entry(*row)


def create(path: Path) -> None:
    """Make an empty ledger where there is no file, or an empty one; whoever comes second finds it made."""
    with _said(path, "made"):
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(_connect(path, "rwc")) as connection, _immediate(connection):
            if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                return
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {VERSION}")
            for sql in DEFINITIONS.values():
                connection.execute(sql)
            connection.execute("INSERT INTO head VALUES (1, 0, ?)", (BEFORE_ALL,))
            Book(connection).append("opened", detail={"ledger": os.urandom(16).hex(), "version": VERSION})


@contextmanager
def reading(path: Path) -> Iterator[Book]:
    """Open the ledger to read a consistent state of it."""
    with _said(path, "read"), closing(_connect(path, "rw")) as connection:
        connection.execute("BEGIN")
        require_definitions(connection, path)
        yield Book(connection)


@contextmanager
def writing(path: Path) -> Iterator[Book]:
    """Open the ledger for one transaction: all of it is on disk when the block ends, or none of it."""
    with _said(path, "written"):
        which = os.stat(path)
        with closing(_connect(path, "rw")) as connection, _immediate(connection):
            require_definitions(connection, path)
            yield Book(connection)
        if not os.path.samestat(which, os.stat(path)):  # it was taken away while we waited: what we wrote is lost
            raise LedgerGone(f"The ledger {path} was replaced while it was written. Look who else uses it.")


def remove_if(path: Path, when: Any) -> None:
    """Take the file away if ``when(book)`` holds; nobody can write to it in between."""
    with _said(path, "removed"), closing(_connect(path, "rw")) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        if when(Book(connection)):
            path.unlink()
        connection.execute("ROLLBACK")


def require_definitions(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a file that is not a ledger, or whose tables or triggers are not exactly ours, before using any of it."""
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
        raise FormatError(f"{path} is not a ledger of Understudy. Name another file, or make one: understudy ledger init.")
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > VERSION:
        raise FormatError(f"{path} is a ledger of format {version}; this release reads up to {VERSION}: upgrade it.")
    rows = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master").fetchall()
    expected = {(kind, name, _table_of(name), sql) for (kind, name), sql in DEFINITIONS.items()}
    if version != VERSION or set(rows) != expected or len(rows) != len(expected):
        raise FormatError(f"The ledger {path} is damaged: its tables are not as they were made. Restore it from a copy.")


def _table_of(name: str) -> str:
    """Return the table that an index or a trigger belongs to: its name begins with it."""
    return name.partition("_")[0]


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode={mode}", uri=True, timeout=WAIT, isolation_level=None)
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")
        connection.execute("PRAGMA synchronous = EXTRA")
        connection.execute("PRAGMA secure_delete = ON")  # what is dropped is overwritten
        (found,) = connection.execute("PRAGMA journal_mode").fetchone()
        if found != "delete":
            raise FormatError(f"{path} is not a ledger of Understudy, or was set to journal mode {found}.")
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def _immediate(connection: sqlite3.Connection) -> Iterator[None]:
    """A transaction that holds the write lock from its beginning, so that what it reads stays true until it commits."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_DAMAGED = {
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_FORMAT,
    sqlite3.SQLITE_ERROR,
    sqlite3.SQLITE_TOOBIG,
}


@contextmanager
def _said(path: Path, verb: str) -> Iterator[None]:
    """Turn what SQLite and the system say into advice."""
    try:
        yield
    except sqlite3.Error as problem:
        failure = _translated(path, verb, problem)
    except (UnicodeDecodeError, OverflowError):
        failure = FormatError(f"The ledger {path} is damaged: it holds text that is none. Restore it from a copy.")
    except FileNotFoundError:
        failure = _missing(path)
    except OSError as problem:
        failure = LedgerError(f"The ledger {path} cannot be {verb} ({problem.strerror}).")
    else:
        return
    raise failure


def _translated(path: Path, verb: str, problem: sqlite3.Error) -> Exception:
    code = getattr(problem, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    if code in _BUSY:
        return LedgerError(f"The ledger {path} is held by another process for {WAIT:.0f} s and more. Try again.")
    if not path.exists():
        return _missing(path)
    if code in _DAMAGED or isinstance(problem, sqlite3.InterfaceError):
        return FormatError(f"{path} is not a ledger of Understudy, or is damaged ({problem}). Restore it from a copy.")
    return LedgerError(
        f"The ledger {path} cannot be {verb} ({problem}). Is there room on the disk, and may you write there?"
    )


def _missing(path: Path) -> LedgerGone:
    return LedgerGone(f"There is no ledger at {path}. Make one with understudy ledger init, or correct the path.")
