"""What the folder of a release holds, as values.

Public: everything here was released by the door, computed from that, or declared.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa

from understudy.manifest import NOT_PRIVATE, Manifest, privacy_card
from understudy.model import Model
from understudy.privacy import Measurement
from understudy.release.inside import Weights, inside_weights
from understudy.release.synthetic import SyntheticTable
from understudy.schema import Schema
from understudy.workload import Workload


@dataclass(frozen=True, eq=False, repr=False)
class Contents:
    """The parts that are stored. ``manifest`` is what ``release.json`` says."""

    manifest: Manifest
    schema: Schema
    model: Model
    measurements: tuple[Measurement, ...]
    synthetic: SyntheticTable
    """The synthetic rows, as codes and as an Arrow table."""
    fine: tuple[Measurement, ...]
    """Where inside their bins the values of columns lie: noisy counts of finer bins, and noisy sums over them."""

    @property
    def private(self) -> bool:
        """Whether the promise holds: False for a seeded research run."""
        return self.manifest.private

    @property
    def notice(self) -> str:
        """Empty, or why this is not private."""
        return self.manifest.notice if self.private else self.manifest.notice or NOT_PRIVATE

    @property
    def arrow(self) -> pa.Table:
        """The synthetic table in the types of the schema."""
        return self.synthetic.arrow

    @cached_property
    def workload(self) -> Workload:
        """The marginals that the table should preserve."""
        named, domain = self.manifest.workload, self.schema.domain
        if (rule := named.rule) is not None:
            if rule.column is None:
                return Workload.all_kway(domain, rule.size)
            return Workload.target(domain, rule.column, rule.size)
        listed = named.marginals or []
        asked = [{} if query.asked is None else query.asked.model_dump() for query in listed]
        entries = [{"attributes": q.attributes, "weight": q.weight, **how} for q, how in zip(listed, asked, strict=True)]
        return replace(Workload.of(domain, entries), queries=named.queries)

    @cached_property
    def inside(self) -> Weights:
        """Where inside their bins the values of columns lie, as weights of finer bins."""
        return inside_weights(self.schema, self.model, self.fine)

    @cached_property
    def card(self) -> str:
        """The privacy card: what was promised, to whom, under which assumptions (Markdown)."""
        return privacy_card(self.manifest, self.schema)
