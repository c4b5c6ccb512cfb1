"""Kept mutants of how a run ends, and what it says was spent."""

from __future__ import annotations

from audit.mutant import Mutant

MUTANTS: list[Mutant] = []
