"""The kept mutants, a file for each group of rooms; ``PRODUCT`` is all of them."""

from __future__ import annotations

from audit.mutant import Mutant

from . import (
    beyond,
    bounds,
    databases,
    door,
    ends,
    files,
    gaps,
    learning,
    persons,
    questions,
    reading,
    releases,
    rooms,
    spark,
)

PRODUCT: list[Mutant] = [
    mutant
    for group in (
        door,
        beyond,
        questions,
        reading,
        persons,
        databases,
        spark,
        files,
        gaps,
        rooms,
        ends,
        bounds,
        releases,
        learning,
    )
    for mutant in group.MUTANTS
]
