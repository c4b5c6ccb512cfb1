"""Kept mutants of what a release carries."""

from __future__ import annotations

from audit.mutant import Mutant

MUTANTS: list[Mutant] = []
