"""Kept mutants of how values become codes."""

from __future__ import annotations

from audit.mutant import Mutant

MUTANTS: list[Mutant] = []
