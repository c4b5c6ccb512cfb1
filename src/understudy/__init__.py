"""Understudy: differentially private synthetic tables, with a bound on how far off each answer may be.

``release = understudy.synthesize(table, "schema.toml", epsilon=1)`` reads a private table under a budget and gives a public
stand-in for it; ``release.save(folder)`` and ``understudy.load(folder)`` keep it.
"""

from understudy.errors import UnderstudyError, UserError
from understudy.evaluate import Evaluation, evaluate
from understudy.planning import Plan, plan
from understudy.release import Answer, Release, load
from understudy.release.making import installed_version
from understudy.request import Output
from understudy.review import Misfit, check_schema, draft_schema
from understudy.schema import Schema, load_schema
from understudy.source import Csv, Sql
from understudy.synthesize import synthesize
from understudy.workload import Workload

__version__ = installed_version()

__all__ = [
    "Answer",
    "Csv",
    "Evaluation",
    "Misfit",
    "Output",
    "Plan",
    "Release",
    "Schema",
    "Sql",
    "UnderstudyError",
    "UserError",
    "Workload",
    "check_schema",
    "draft_schema",
    "evaluate",
    "load",
    "load_schema",
    "plan",
    "synthesize",
]
