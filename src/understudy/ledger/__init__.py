"""The ledger: what may be spent on each table, every spend, and the answers of runs that can still be resumed.

Public: budgets, purposes, noisy answers. It never sees a table; of a run that is unfinished it keeps the fingerprint of one,
which is for the table's owner alone.
"""

from understudy.ledger.checking import Verdict, verify
from understudy.ledger.entries import Entry
from understudy.ledger.journal import RunJournal
from understudy.ledger.ledger import Ledger
from understudy.ledger.state import Dataset, Run, State

__all__ = ["Dataset", "Entry", "Ledger", "Run", "RunJournal", "State", "Verdict", "verify"]
