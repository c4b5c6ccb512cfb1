"""The kept mutants, a file for each group of rooms; ``PRODUCT`` is all of them."""

from __future__ import annotations

from audit.mutant import Mutant

from . import bounds, door, ends, files, questions, reading, releases

PRODUCT: list[Mutant] = [
    *door.MUTANTS,
    *questions.MUTANTS,
    *reading.MUTANTS,
    *files.MUTANTS,
    *ends.MUTANTS,
    *bounds.MUTANTS,
    *releases.MUTANTS,
]
