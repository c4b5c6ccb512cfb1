"""What a table may contain: columns, codes, impossible combinations; declared in a file, never looked up.

Encoding sees private rows, and keeps none.
"""

from understudy.schema.column import Column
from understudy.schema.declaration import json_schema
from understudy.schema.load import load_schema, parse_schema
from understudy.schema.problems import Problem, SchemaFileError
from understudy.schema.schema import Schema, require_learnt_privately, require_reviewed
from understudy.schema.zeros import DeclaredZeros

__all__ = [
    "Column",
    "DeclaredZeros",
    "Problem",
    "Schema",
    "SchemaFileError",
    "json_schema",
    "load_schema",
    "parse_schema",
    "require_learnt_privately",
    "require_reviewed",
]
