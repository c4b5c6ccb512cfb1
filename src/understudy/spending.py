"""What a run spends, on record before anything is read: a small file beside the output, for runs that never finish.

Public: budgets and charges. While a run is going its whole budget counts as spent, so a run that is killed has never spent
more than the file says. A run that ends well takes its entry with it, into the release; one that fails leaves what it spent.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

from pydantic import Field, ValidationError

from understudy.errors import FormatError, UserError
from understudy.privacy import Budget, Charge
from understudy.release.record import Amount, ChargeRecord, Entry


class Spending(Entry):
    """What one run has spent."""

    run: str
    state: Literal["running", "stopped"] = Field(description="running: still going, or killed.")
    private: bool
    epsilon: float | None
    delta: float | None
    budget: Amount
    at_most: Amount = Field(description="What counts as spent: the whole budget while running, the sum of charges after.")
    charges: list[ChargeRecord] = Field(description="The charges known so far.")


class _Record(Entry):
    format: Literal["understudy-spending"] = "understudy-spending"
    version: Literal[1] = 1
    runs: list[Spending]


class Journal:
    """The entry of one run in the file at ``path``; entries of other runs are kept as they are."""

    def __init__(self, path: Path, run: str, budget: Budget, *, private: bool) -> None:
        self._path, self._budget = path, budget
        self._entry = Spending(
            run=run,
            state="running",
            private=private,
            epsilon=budget.epsilon,
            delta=budget.delta,
            budget=Amount.of(budget.rho),
            at_most=Amount.of(budget.rho),
            charges=[],
        )
        self._write(sync=True)

    def update(self, charges: Sequence[Charge]) -> None:
        """Note the charges so far; the whole budget goes on counting as spent."""
        self._entry = self._entry.model_copy(update={"charges": _listed(charges)})
        with suppress(UserError):  # a full disk need not end the run: what is on record already is enough
            self._write()

    def stop(self, charges: Sequence[Charge]) -> None:
        """Note that the run has failed: what it spent stays, and a run that spent nothing leaves no entry."""
        listed = _listed(charges)
        spent = Amount.of(sum((charge.rho.fraction for charge in listed), start=0 * self._budget.rho))
        self._entry = self._entry.model_copy(update={"state": "stopped", "charges": listed, "at_most": spent})
        if listed:
            self._write(sync=True)
        else:
            self.close()

    def close(self) -> None:
        """Take the entry away: its charges are in the release now."""
        others = self._others()
        if others:
            _replace(self._path, others, sync=True)
        else:
            self._path.unlink(missing_ok=True)

    def _write(self, *, sync: bool = False) -> None:
        _replace(self._path, [*self._others(), self._entry], sync=sync)

    def _others(self) -> list[Spending]:
        return [entry for entry in read_spending(self._path) if entry.run != self._entry.run]


def _listed(charges: Sequence[Charge]) -> list[ChargeRecord]:
    return [ChargeRecord(purpose=charge.purpose, rho=Amount.of(charge.rho)) for charge in charges]


def read_spending(path: Path) -> list[Spending]:
    """Return what unfinished and failed runs have spent; nothing when there is no such file."""
    try:
        return _Record.model_validate_json(path.read_bytes()).runs
    except FileNotFoundError:
        return []
    except OSError as problem:
        raise UserError(f"The record of spending {path} cannot be read ({problem.strerror}).") from None
    except ValidationError:
        raise FormatError(f"{path} is not a record of spending. Move it away, or name another output folder.") from None


def _replace(path: Path, runs: list[Spending], *, sync: bool) -> None:
    document: dict[str, Any] = _Record(runs=runs).model_dump(mode="json")
    beside = path.with_name(f".{path.name}.{uuid4().hex[:12]}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with beside.open("x", encoding="utf-8") as stream:
            json.dump(document, stream, indent=1, ensure_ascii=False)
            stream.flush()
            if sync:
                os.fsync(stream.fileno())
        beside.replace(path)
    except OSError as problem:
        beside.unlink(missing_ok=True) if beside.parent.is_dir() else None
        raise UserError(f"The record of spending {path} cannot be written ({problem.strerror}).") from None
