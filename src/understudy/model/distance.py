"""How far the counts of rounded rows may be from the model that they were generated from. Public numbers only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import prod

import numpy as np

from understudy.errors import SchemaError
from understudy.model.contraction import Family, families
from understudy.model.graphical import GraphicalModel


@dataclass(frozen=True)
class Distance:
    """How far the counts of generated rows may be from the model's (scaled to as many rows), in L1."""

    most: float
    """Never more than this, whatever the draw."""
    mean: float
    """On average over draws, not more than this."""


def rounding_distance(model: GraphicalModel, clique: Iterable[str], rows: int) -> Distance:
    """Bound the L1 distance of ``clique``'s counts in ``rows`` rounded records from rows × the model's probabilities.

    ``clique`` must lie inside a clique of the model. Take a family with k values of its attribute. In a group of n rows
    the errors of the k cells are each below 1 and sum to 0, so their L1 norm is at most 2 ⌊k/2⌋, and at most 2 n; the
    error in the parents' own counts passes through p(a | parents) without growing, and is at most that of the earlier
    family that holds them all. On average over draws a cell with expectation e errs by at most min(1/2, 2e).
    """
    wanted = {model.domain.index(a) for a in clique}
    chain = list(_chain(families(model.network.plan), wanted))
    names, sizes = model.domain.attributes, model.domain.sizes
    tables = model.marginals([tuple(names[i] for i in sorted({f.attribute, *f.parents})) for f in chain])
    most = mean = 0.0
    for family, table in zip(chain, tables, strict=True):
        k = sizes[family.attribute]
        worst = min(2 * (k // 2) * prod(sizes[p] for p in family.parents), 2 * rows)
        expected = 2 * rows * table / model.total
        most += worst
        mean += min(worst, float(np.minimum(0.5, expected).sum())) if k > 1 else 0.0
    return Distance(min(most, 2.0 * rows), min(mean, 2.0 * rows))


def _chain(found: list[Family], wanted: set[int]) -> Iterator[Family]:
    """Walk from the family that holds ``wanted`` to the first family: each holds the parents of the one before."""
    position = {family.attribute: i for i, family in enumerate(found)}
    while wanted:
        family = found[max(position[a] for a in wanted)]
        if not wanted <= {family.attribute, *family.parents}:
            raise SchemaError("A distance is stated only for attributes that share a clique of the model.")
        yield family
        wanted = set(family.parents)
