"""Measures as plain data, for JSON. What is private about them stays so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from math import isfinite
from typing import Any

import numpy as np

from understudy.measures.columns import QUANTILES, Both, ColumnMeasures, Numbers
from understudy.measures.combinations import TripleMeasures, k_marginal
from understudy.measures.distinction import Distinction
from understudy.measures.pairs import PairMeasures
from understudy.measures.values import unit_of
from understudy.schema import Schema


def plain(value: Any) -> Any:
    """Return dictionaries, lists and numbers; what is not finite becomes None."""
    if isinstance(value, Both):
        return {name: plain(getattr(value, name)) for name in ("real", "synthetic", "difference")}
    if isinstance(value, Numbers):
        named = {f.name: plain(getattr(value, f.name)) for f in fields(value) if f.name != "quantiles"}
        return {**named, "quantiles": {f"{q:g}": plain(b) for q, b in zip(QUANTILES, value.quantiles, strict=True)}}
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, tuple | list):
        return [plain(one) for one in value]
    if isinstance(value, float):
        return value if isfinite(value) else None
    return value


def column(measures: ColumnMeasures, schema: Schema) -> dict[str, Any]:
    """Return one column, with the unit of its numbers."""
    unit = unit_of(schema[measures.name]) if measures.numbers is not None else ""
    return {**plain(measures), **({"unit": unit} if unit else {})}


def scores(
    columns: Sequence[ColumnMeasures],
    pairs: Sequence[PairMeasures],
    triples: Sequence[TripleMeasures],
    distinction: Distinction | None,
) -> dict[str, float | None]:
    """Return the scores that people know, each averaged over the columns or pairs that it is for; 1 (or 1000) is best.

    pMSE is best at 0, its ratio at 1.
    """
    numeric = [m.numbers for m in columns if m.numbers is not None]
    listed = [m for m in columns if m.kind in ("categorical", "ordinal", "boolean")]
    return {
        "KSComplement": _mean([n.ks_complement for n in numeric]),
        "BoundaryAdherence": _mean([n.boundary for n in numeric]),
        "TVComplement": _mean([m.tv_complement for m in listed]),
        "CategoryCoverage": _mean([m.coverage for m in listed]),
        "ContingencySimilarity": _mean([p.contingency_similarity for p in pairs]),
        "CorrelationSimilarity": _mean([p.correlation_similarity for p in pairs]),
        "k-marginal, k=2": k_marginal([p.contingency_similarity for p in pairs]),
        "k-marginal, k=3": k_marginal([t.similarity for t in triples]),
        "pMSE": None if distinction is None else distinction.pmse,
        "pMSE ratio": None if distinction is None else distinction.pmse_ratio,
    }


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None
