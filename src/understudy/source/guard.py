"""The one place where a failure of another library becomes ours: what failed and how, never its text, which may quote rows.

Owns no data. Every call into pyarrow, DuckDB, pandas, polars, gzip and the like that touches a table stands inside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Literal, NoReturn, TypeVar

from understudy.errors import InternalError, SourceError, UnderstudyError

T = TypeVar("T")
_END = object()
_PANIC = "PanicException"
"""What a library written in Rust raises when it fails: not an Exception to Python, so that nobody takes it for one."""


class guarded:
    """While inside, any failure becomes a SourceError that names ``what`` and the kind of failure, and nothing else.

    With ``ours`` it is a fault of this software, and becomes an InternalError.

    ``with guarded('The file "a.csv"', "Is it whole?"): ...``
    """

    def __init__(self, what: str, advice: str = "", *, ours: bool = False) -> None:
        self.what, self.advice, self.ours = what, advice, ours

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> Literal[False]:
        failed = isinstance(error, Exception) or type(error).__name__ == _PANIC
        if error is None or not failed or isinstance(error, UnderstudyError):
            return False
        if isinstance(error, MemoryError):  # its own words may say how many rows there are
            raise_clean(MemoryError(f"There is not enough memory to read this: {self.what}."))
        kind_of_ours = InternalError if self.ours else SourceError
        raise_clean(kind_of_ours(f"{self.what} cannot be read ({self.told(error)}). {self.advice}".rstrip()))

    def told(self, error: BaseException) -> str:
        """Return what may be said of the failure: its kind."""
        return f"{type(error).__name__}; details withheld, since they may quote the table"


def raise_clean(error: Exception) -> NoReturn:
    """Raise ``error`` without the failure behind it, which may quote the table."""
    try:
        raise error
    except Exception as clean:
        clean.__context__ = None
        raise


def each(items: Iterable[T], guard: guarded) -> Iterator[T]:
    """Yield items, each step inside ``guard``; what is done with them is not."""
    with guard:
        steps = iter(items)
    while True:
        with guard:
            item = next(steps, _END)
        if item is _END:
            return
        yield item  # type: ignore[misc]
