"""What a synthetic table should preserve: marginals with weights, and linear queries of them. Public."""

from understudy.workload.asking import Asked, Axis, Listed, described, listed, norm
from understudy.workload.rules import Same
from understudy.workload.workload import MAX_QUERIES, Query, Workload

__all__ = ["MAX_QUERIES", "Asked", "Axis", "Listed", "Query", "Same", "Workload", "described", "listed", "norm"]
