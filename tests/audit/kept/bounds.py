"""Kept mutants of the bounds."""

from __future__ import annotations

from audit.mutant import Mutant

MUTANTS: list[Mutant] = []
