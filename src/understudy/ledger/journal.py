"""One run in the ledger, as a door's log: each answer is on record before it leaves, and a resumed run hears the old ones.

Public: noisy answers and what follows from them; and, until the run has finished, the fingerprint of its table under a key,
which is the owner's alone. Every write checks, in its own transaction, that nobody has taken the run
over, and that the file is still the one that the last write went to.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from understudy.errors import FormatError, InternalError, LedgerError
from understudy.ledger.entries import Entry, Kind, digest_of
from understudy.ledger.state import Item
from understudy.ledger.store import Book, reading, writing
from understudy.privacy import Inquiry
from understudy.privacy.fingerprint import KEY_BYTES, TAG_BYTES
from understudy.privacy.noise import Counts


class RunJournal:
    """A run whose budget the line ``held`` reserves (reserved or resumed); ``past`` is what it did before."""

    keeps = True

    def __init__(
        self,
        path: Path,
        held: Entry,
        past: Iterable[Item] = (),
        table: Item | None = None,
        before: Fraction = Fraction(0),
    ) -> None:
        self.path, self.run, self.dataset, self.budget = path, held.run, held.dataset, held.amount
        self._token, self._last = held.details["token"], (held.seq, held.hash)
        self._past, self._place, self._table = tuple(past), 0, table
        self._charged, self._before = sum((item.rho for item in self._past), Fraction(0)), before
        self._pending: list[tuple[Kind, str, bytes]] = []
        self._drops: list[str] = []

    @property
    def charged(self) -> Fraction:
        """What the answers on record cost, exactly."""
        return self._charged

    @property
    def spent(self) -> Fraction:
        """What is on record as spent: what the answers cost, or what the run had settled for before, if that is more."""
        return max(self._charged, self._before)

    @property
    def replaying(self) -> bool:
        """Whether the next question or note is expected to be on record already."""
        return self._place < len(self._past)

    @property
    def head(self) -> str:
        """The hash of this run's last line."""
        return self._last[1]

    @property
    def bound(self) -> bool:
        """Whether the table that the run began with is on record."""
        return self._table is not None

    def bind(self, fingerprint: Callable[[bytes], bytes]) -> None:
        """Keep the table's fingerprint, with the next line; or refuse a table that has another than the one on record."""
        if self._table is None:
            key = secrets.token_bytes(KEY_BYTES)
            self._pending.append(("bound", "the table", key + fingerprint(key)))
            return
        content = self._content(self._table)
        if content is None or len(content) != KEY_BYTES + TAG_BYTES:
            raise FormatError(f"The ledger {self.path} is damaged: which table the run began with is not there.")
        if not hmac.compare_digest(fingerprint(content[:KEY_BYTES]), content[KEY_BYTES:]):
            raise LedgerError(
                "This is not the table that the run began with, so it is not gone on with. "
                "Give the table as it was then, or begin a new run without --resume."
            )

    def recall(self, request: Inquiry) -> Counts | None:
        """Return the answer on record to the next question; a run that asks something else is stopped."""
        content = self._next("charged", request.purpose, request.fingerprint)
        if content is None:
            return None
        if len(content) % 8:
            raise FormatError(f"{request.purpose}: the answer on record is not one. Restore the ledger from a copy.")
        return np.frombuffer(content, dtype="<i8").astype(np.int64)

    def commit(self, request: Inquiry, outcome: Counts) -> None:
        """Put the charge and the answer on record in one transaction, with the notes that came before it."""
        if self._charged + request.cost > self.budget:
            raise InternalError("The run would spend more than it has reserved. The answer is discarded; report this.")
        content = np.ascontiguousarray(outcome, dtype="<i8").tobytes()
        with self._mine() as book:
            detail = {"request": request.fingerprint}
            self._add(book, "charged", rho=request.cost, purpose=request.purpose, content=content, detail=detail)
        self._charged += request.cost

    def note(self, name: str, make: Callable[[], bytes], *, large: bool = False) -> bytes | None:
        """Return what is on record under ``name``, or make it; a ``large`` one is written at once, others with the next."""
        kind: Kind = "kept" if large else "noted"
        if self.replaying:
            return self._next(kind, name, name)
        content = make()
        self._pending.append((kind, name, content))
        if large:
            with self._mine():
                pass
        return content

    def discard(self, names: Iterable[str]) -> None:
        """Drop models that nobody will look at again, with the next write."""
        self._drops.extend(names)

    def stop(self, spent: Fraction) -> None:
        """Settle a run that failed: what it spent counts, the rest of its budget is free again until it is resumed."""
        with self._mine() as book:
            self._add(book, "stopped", rho=max(spent, self.spent))

    def finish(self, *, unplayed: bool = False) -> None:
        """Settle a run whose release is safe: its charges count, and its answers need not be kept any longer.

        ``unplayed``: the release was saved before the run could be settled, so nothing was played again.
        """
        if self.replaying and not unplayed:
            raise InternalError("A run finished before it had asked all that it asked before.")
        with self._mine() as book:
            self._add(book, "finished", rho=self.spent)
            book.drop_contents(self.run)

    def _add(self, book: Book, kind: Kind, **rest: Any) -> None:
        book.append(kind, dataset=self.dataset, run=self.run, **rest)

    @contextmanager
    def _mine(self) -> Iterator[Book]:
        """One transaction of this run; what was waiting goes first."""
        with writing(self.path) as book:
            self.require_mine(book)
            for kind, name, content in self._pending:
                self._add(book, kind, purpose=name, content=content, detail={"request": name})
            book.drop_contents(self.run, tuple(self._drops))
            yield book
            last = book.head()
        self._last = last
        self._pending.clear()
        self._drops.clear()

    def require_mine(self, book: Book) -> None:
        """Refuse to write when another process has resumed or ended this run, or when the file is another one."""
        seq, known = self._last
        if book.hash_at(seq) != known:
            raise LedgerError(f"The ledger {self.path} was replaced while the run was going. The run stops here.")
        held = book.latest(self.run, ("reserved", "resumed", "stopped", "finished"))
        if held is None or held.details.get("token") != self._token:
            raise LedgerError("Another process has resumed this run. This one stops, and what it drew last is discarded.")

    def _next(self, kind: Kind, purpose: str, request: str) -> bytes | None:
        """Return the content of the next line on record, if it is of this question or note."""
        if not self.replaying:
            return None
        item = self._past[self._place]
        if (item.kind, item.request) != (kind, request):
            raise LedgerError(
                f"The run on record went on with: {item.purpose}. This one goes on with: {purpose}. "
                "They are not the same run: was the software changed in between? Begin a new run without --resume."
            )
        self._place += 1
        content = self._content(item)
        if content is None and kind != "kept":
            raise FormatError(f"The ledger {self.path} is damaged: the content of line {item.seq} is missing.")
        return content

    def _content(self, item: Item) -> bytes | None:
        """Return the content of a line on record, if it still has one, unchanged."""
        with reading(self.path) as book:
            content = book.content(item.seq)
        if content is not None and digest_of(content) != item.digest:
            raise FormatError(f"The ledger {self.path} is damaged: the content of line {item.seq} is not what it was.")
        return content
