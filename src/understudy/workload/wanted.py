"""A workload as a user gives it: by name, as a file, as a list, or made already. Public: read with the schema alone."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path

import numpy as np

from understudy.domain import Combinations
from understudy.errors import UserError, WorkloadError
from understudy.schema import Schema
from understudy.schema.measures import measure_of
from understudy.workload.workload import Query, Workload

Queries = str | Workload | Iterable[Query]


def workload_of(workload: Queries, schema: Schema) -> tuple[Workload, str]:
    """Return the workload and the name that the release gives it (a file's name is nobody's business)."""
    found, name = _workload_of(workload, schema)
    summed = {name for asked in found.asked.values() for name in asked}
    if wrong := next((column.name for column in schema.open if column.name in summed), None):
        raise WorkloadError(f'"{wrong}" is an open column, whose values are not known yet: it has no sums to ask for.')
    return found, name


def asked_of(workload: Queries, schema: Schema) -> tuple[Workload, str]:
    """Return the workload; where a query names a derived column that has codes when it is modelled, with these."""
    try:
        return workload_of(workload, schema)
    except UserError:
        if schema.lifted is schema or isinstance(workload, Workload):
            raise
        return workload_of(workload, schema.lifted)


def by_rule(workload: Queries, found: Workload) -> bool:
    """Whether derived columns are part of a workload, as of all pairs they are; of a list only where it names one."""
    return not isinstance(workload, Workload) and isinstance(found.cliques, Combinations)


def _workload_of(workload: Queries, schema: Schema) -> tuple[Workload, str]:
    if isinstance(workload, Workload):
        return workload, "custom"
    if not isinstance(workload, str | Path):
        return Workload.of(schema.domain, workload, partial(middles, schema)), "custom"
    text = str(workload)
    return Workload.parse(text, schema.domain, partial(middles, schema)), "custom" if Path(text).is_file() else text


def middles(schema: Schema, name: str) -> list[float]:
    """Return what each value of a column counts as in a total: the middle of its bin, 0 where it is missing."""
    column = next((c for c in schema.columns if c.name == name), None)
    measure = None if column is None else measure_of(column)
    if measure is None or measure.space != "number":
        raise WorkloadError(f'"{name}" has no totals: only columns of numbers have.')
    return [float(x) for x in np.nan_to_num((measure.low + measure.high) / 2)]
