"""Kept mutants of files and queries."""

from __future__ import annotations

from audit.mutant import Mutant

MUTANTS: list[Mutant] = []
