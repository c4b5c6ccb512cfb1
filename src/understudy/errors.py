"""What can go wrong, as one small tree. Owns no data; no message here may quote a value from a private table.

UnderstudyError
├── UserError             something the caller can put right; the message says how
│   ├── SchemaError       the declared schema is wrong, or does not fit what was asked
│   ├── SourceError       the table cannot be opened or has not the declared columns
│   ├── WorkloadError     the workload is empty, or names what the schema does not have
│   ├── BudgetError       the privacy parameters make no sense
│   │   └── BudgetExceeded    a charge was refused; nothing was read
│   ├── LedgerError       the ledger cannot be reached or written, or does not allow what was asked
│   ├── CapacityError     the model that was asked for does not fit in the size that was allowed
│   └── FormatError       a saved file is damaged, foreign, or of an unknown version
└── InternalError         a promise of our own was broken: a bug, please report it

``UnderstudyWarning`` is what this package warns of: nothing went wrong, but something is worth knowing.
Whatever ends a run, of this tree or not, has ``spent``: what the run had spent by then, and what its ledger counts.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction


@dataclass(frozen=True)
class Spent:
    """What a run had spent when it ended, exactly."""

    rho: Fraction = Fraction(0)
    """What its questions cost, answered or not."""
    budget: Fraction | None = None
    """What it might have spent; None when it ended before that was known."""
    counts: Fraction = Fraction(0)
    """What its ledger counts: ``rho``, or the whole budget where the run could not be settled."""
    finished: bool = False
    """Whether the release is complete."""
    resumable: bool = False
    """Whether the run can be gone on with."""
    learns: bool = False
    """Whether it learnt a schema: such a run is not gone on with."""


class UnderstudyError(Exception):
    """Everything that this package raises on purpose. ``spent`` is None when no run was going on."""

    spent: Spent | None = None


class UserError(UnderstudyError):
    """Something the caller can put right."""


class SchemaError(UserError):
    """The declared schema is wrong, or does not fit what was asked."""


class SourceError(UserError):
    """The table cannot be opened, or has not the declared columns."""


class WorkloadError(UserError):
    """The workload is empty, or names what the schema does not have."""


class BudgetError(UserError):
    """The privacy parameters make no sense."""


class BudgetExceeded(BudgetError):
    """A charge was refused because it does not fit in what is left; nothing was read."""


class LedgerError(UserError):
    """The ledger cannot be reached or written, or does not allow what was asked."""


class CapacityError(UserError):
    """The model that was asked for does not fit in the size that was allowed."""


class FormatError(UserError):
    """A saved file is damaged, foreign, or of an unknown version."""


class InternalError(UnderstudyError):
    """A promise of our own was broken: a bug."""


class UnderstudyWarning(UserWarning):
    """Something worth knowing before a run goes on, such as that another could be finished instead."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return ``' Did you mean "age"?'`` when something close to ``word`` is known, else an empty string."""
    close = get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f' Did you mean "{close[0]}"?' if close else ""
