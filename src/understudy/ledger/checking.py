"""Verify a ledger: its file, its chain of hashes, its contents, and that every line follows from those before. Public.

Whoever can write the file can write another whole ledger, or put an older copy back. Neither shows in the file itself;
a hash of a line that was noted elsewhere shows both.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from understudy.errors import FormatError, LedgerError
from understudy.ledger.entries import BEFORE_ALL, Entry, digest_of
from understudy.ledger.state import State
from understudy.ledger.store import Book, reading

HASH = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True)
class Verdict:
    """What was found. ``head`` is the hash of the last line: note it elsewhere, and compare later."""

    lines: int
    head: str
    problems: tuple[str, ...]
    since: int | None = None
    """Lines after the one whose hash was given to compare with."""

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


def verify(path: Path, head: str | None = None) -> Verdict:
    """Check everything that can be checked; with ``head``, also that a line with this hash is there."""
    if head is not None and not HASH.fullmatch(head):
        raise LedgerError(f'A head is 64 hexadecimal digits, as understudy ledger show prints it, not "{head}".')
    if not path.is_file():
        raise LedgerError(f"There is no ledger at {path}. Make one with understudy ledger init, or correct the path.")
    try:
        with reading(path) as book:
            return _verdict(book, head)
    except FormatError as problem:
        return Verdict(0, "", (str(problem),))


def require_sound(book: Book) -> State:
    """Return where everything stands, or refuse to build on a ledger in which something is wrong."""
    entries = list(book.entries())
    state = State(entries)
    problems = [*chain_problems(book, entries), *state.problems]
    if problems:
        raise FormatError(f"The ledger does not verify: {problems[0]} Nothing is spent on it; see understudy ledger verify.")
    return state


def _verdict(book: Book, head: str | None) -> Verdict:
    problems = integrity_problems(book)
    if problems:
        return Verdict(0, "", tuple(problems))
    entries = list(book.entries())
    state = State(entries)
    problems = [*chain_problems(book, entries), *content_problems(book, entries, state), *state.problems]
    places = {entry.hash: entry.seq for entry in entries}
    if head is not None and head not in places:
        problems.append("No line has the hash that was given: this is another ledger, or an older copy of it.")
    last = entries[-1] if entries else None
    since = None if head is None or last is None or head not in places else last.seq - places[head]
    return Verdict(len(entries), last.hash if last else "", tuple(problems), since)


def integrity_problems(book: Book) -> list[str]:
    """Return what SQLite itself finds wrong with the file."""
    found = [str(row[0]) for row in book.connection.execute("PRAGMA integrity_check(10)")]
    return [] if found == ["ok"] else [f"The file is damaged: {line}." for line in found]


def chain_problems(book: Book, entries: list[Entry]) -> list[str]:
    """Return which lines were changed, removed or added: where hashes, numbers or the head do not fit."""
    before = BEFORE_ALL
    problems: list[str] = []
    for place, entry in enumerate(entries, start=1):
        if entry.seq != place:
            return [*problems, f"Line {place} is missing."]
        if entry.hash != entry.hash_after(before):
            problems.append(f"Line {place} was changed: its hash does not fit it.")
        before = entry.hash
    if book.head() != (len(entries), before):
        problems.append("The last line is not the one that the ledger names as its last.")
    if not entries or entries[0].kind != "opened":
        problems.append("The first line does not open the ledger.")
    return problems


def content_problems(book: Book, entries: list[Entry], state: State) -> list[str]:
    """Return which contents were changed, and which are missing from runs that may still be resumed."""
    digests = {entry.seq: entry.digest for entry in entries}
    problems: list[str] = []
    there: set[int] = set()
    for (seq,) in book.connection.execute("SELECT seq FROM contents ORDER BY seq").fetchall():
        content = book.content(seq)
        there.add(seq)
        if content is None or digests.get(seq) != digest_of(content):
            problems.append(f"The content of line {seq} was changed.")
    open_runs = [run for run in state.runs if run.state != "finished"]
    needed = {item.seq for run in open_runs for item in run.items if item.kind != "kept"}
    needed |= {run.table.seq for run in open_runs if run.table is not None}
    return problems + [f"The content of line {seq} is missing." for seq in sorted(needed - there)]
