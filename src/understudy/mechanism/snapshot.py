"""A fitted model in a run's journal, so that a run that is resumed need not fit again what it has fitted before. Public.

Two notes for each fit: how it ended, as JSON, and the parameters, as raw numbers after their cliques. Reading one back
runs no code, and whatever does not fit the domain is a ``FormatError``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique, Domain, Zeros
from understudy.errors import FormatError, InternalError, UserError
from understudy.model import EngineFor, Fit, Model, on_cpu
from understudy.privacy import Journal

ENDING = ("iterations", "loss", "residual", "reason", "seconds")


@dataclass(frozen=True)
class Fitted:
    """A fit, with the size of its model (which would have to be calibrated again to tell)."""

    fit: Fit
    size: int


def parameters_of(name: str) -> str:
    """Return the name of the note that holds a fit's parameters."""
    return f"{name}: its parameters"


def remembered(
    journal: Journal,
    name: str,
    domain: Domain,
    zeros: Sequence[Zeros],
    make: Callable[[], Fit],
    *,
    engine: EngineFor = on_cpu,
) -> Fitted:
    """Return the fit that the journal has under ``name`` (its model on ``engine``), or make it and have it kept."""
    if not journal.keeps:
        fit = make()
        return Fitted(fit, fit.model.size)
    made: list[Fit] = []

    def ending() -> bytes:
        made.append(make())
        return json.dumps({**{k: getattr(made[0], k) for k in ENDING}, "size": made[0].model.size}).encode()

    ended = journal.note(name, ending)
    numbers = journal.note(parameters_of(name), lambda: packed(made[0].model), large=True)
    if made:
        return Fitted(made[0], made[0].model.size)
    return _read(ended, numbers, domain, tuple(zeros), engine)


def light(model: Model | None) -> Model | None:
    """Return the model without what it has calibrated to answer with; it can be made again when asked for."""
    if type(model) is not Model:
        return model
    return Model(model.domain, model.parameters, model.total, model.zeros, engine=model.engine)


def packed(model: Model) -> bytes:
    """Write a model's mass and parameters: a line of JSON, then float64, little-endian."""
    head = {"total": float(model.total), "cliques": [list(clique) for clique in model.parameters]}
    tables = [np.ascontiguousarray(table, dtype="<f8").tobytes() for table in model.parameters.values()]
    return b"".join([json.dumps(head).encode(), b"\n", *tables])


def unpacked(content: bytes, domain: Domain, zeros: tuple[Zeros, ...]) -> Model:
    """Read what ``packed`` wrote."""
    line, _, raw = content.partition(b"\n")
    try:
        head = json.loads(line)
        total, cliques = float(head["total"]), [tuple(map(str, clique)) for clique in head["cliques"]]
        sound = [domain.clique(c) for c in cliques] == cliques and len(set(cliques)) == len(cliques) and isfinite(total)
    except (ValueError, TypeError, KeyError, RecursionError, UserError):
        sound = False
    if not sound or len(raw) != 8 * sum(domain.cells(c) for c in cliques):
        raise _damaged()
    tables: dict[Clique, NDArray[np.float64]] = {}
    for clique in cliques:
        size = 8 * domain.cells(clique)
        tables[clique] = np.frombuffer(raw[:size], dtype="<f8").astype(np.float64).reshape(domain.shape(clique))
        raw = raw[size:]
    if total < 0 or not all(np.isfinite(table).all() for table in tables.values()):
        raise _damaged()
    return Model(domain, tables, total, zeros)


def _read(ended: bytes | None, numbers: bytes | None, domain: Domain, zeros: tuple[Zeros, ...], engine: EngineFor) -> Fitted:
    model = Model(domain, _Discarded(), 0.0, zeros) if numbers is None else unpacked(numbers, domain, zeros)
    try:
        how: dict[str, Any] = json.loads(ended or b"")
        iterations, size = int(how["iterations"]), int(how["size"])
        loss, residual, seconds = (float(how[k]) for k in ("loss", "residual", "seconds"))
        model = replace(model, engine=engine(size))
        return Fitted(Fit(model, iterations, loss, residual, str(how["reason"]), seconds), size)
    except (ValueError, TypeError, KeyError, RecursionError):
        raise _damaged() from None


class _Discarded(Mapping[Clique, NDArray[np.float64]]):
    """The parameters of a model that the journal has let go, since nothing looks at it any more."""

    def __getitem__(self, clique: Clique) -> NoReturn:
        raise _gone()

    def __iter__(self) -> Iterator[Clique]:
        raise _gone()

    def __len__(self) -> int:
        raise _gone()


def _gone() -> InternalError:
    return InternalError("A resumed run looked at a model that the first had let go. Nothing was spent twice; report this.")


def _damaged() -> FormatError:
    return FormatError("A model on record does not fit the schema. Restore the ledger from a copy, or begin a new run.")
