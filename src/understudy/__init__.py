"""Understudy: differentially private synthetic tables, with a bound on how far off each answer may be.

``release = understudy.synthesize(table, "schema.toml", epsilon=1)`` reads a private table under a budget and gives a public
stand-in for it; ``release.save(folder)`` and ``understudy.load(folder)`` keep it. The public names:

- To declare a table: ``Schema``, ``load_schema``, ``draft_schema``, ``learn_schema``, ``check_schema``, ``Misfit``.
- To say where it is and what to preserve of it: ``Csv``, ``Sql``, ``Workload``.
- To plan and run: ``plan``, ``Plan``, ``synthesize``, ``Output``, ``Budget``, ``Unit``.
- To work with what came of it: ``load``, ``Release``, ``Answer``, ``Figures``, ``Bound``, ``Intervals``,
  ``BootstrapIntervals``, ``write_report``.
- To compare it with the table, which is not private: ``evaluate``, ``Evaluation``, ``write_evaluation``.
- To keep account of several runs: ``Ledger``, ``Spent``.
- When something goes wrong: ``UnderstudyError``, ``UserError``, ``SchemaError``, ``SourceError``, ``WorkloadError``,
  ``BudgetError``, ``BudgetExceeded``, ``LedgerError``, ``CapacityError``, ``FormatError``, ``InternalError``.
- What is worth knowing before a run goes on: ``UnderstudyWarning``.
"""

import understudy.addresses  # noqa: F401 (first: see there)
from understudy.errors import (
    BudgetError,
    BudgetExceeded,
    CapacityError,
    FormatError,
    InternalError,
    LedgerError,
    SchemaError,
    SourceError,
    Spent,
    UnderstudyError,
    UnderstudyWarning,
    UserError,
    WorkloadError,
)
from understudy.evaluate import Evaluation, evaluate
from understudy.learning import learn_schema
from understudy.ledger import Ledger
from understudy.planning import Plan, plan
from understudy.privacy import Budget, Unit
from understudy.release import Answer, Figures, Release, load
from understudy.release.making import installed_version
from understudy.report import write_evaluation, write_report
from understudy.request import Output
from understudy.review import Misfit, check_schema, draft_schema
from understudy.schema import Schema, load_schema
from understudy.source import Csv, Sql
from understudy.synthesize import synthesize
from understudy.uncertainty import BootstrapIntervals, Bound, Intervals
from understudy.workload import Workload

__version__ = installed_version()

__all__ = [
    "Answer",
    "BootstrapIntervals",
    "Bound",
    "Budget",
    "BudgetError",
    "BudgetExceeded",
    "CapacityError",
    "Csv",
    "Evaluation",
    "Figures",
    "FormatError",
    "InternalError",
    "Intervals",
    "Ledger",
    "LedgerError",
    "Misfit",
    "Output",
    "Plan",
    "Release",
    "Schema",
    "SchemaError",
    "SourceError",
    "Spent",
    "Sql",
    "UnderstudyError",
    "UnderstudyWarning",
    "Unit",
    "UserError",
    "Workload",
    "WorkloadError",
    "check_schema",
    "draft_schema",
    "evaluate",
    "learn_schema",
    "load",
    "load_schema",
    "plan",
    "synthesize",
    "write_evaluation",
    "write_report",
]
