"""A fitted model in a run's journal, so that a run that is resumed need not fit again what it has fitted before. Public.

Two notes for each fit: how it ended, as JSON, and the parameters, as raw numbers after their cliques. Reading one back
runs no code, and whatever does not fit the domain is a ``FormatError``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from math import inf, prod
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique, Domain, Zeros
from understudy.errors import FormatError, InternalError, UserError
from understudy.model import EngineFor, Fit, GraphicalModel, Mixture, Model, RegionModel, on_cpu
from understudy.privacy import Journal

ENDING = ("iterations", "loss", "residual", "reason", "seconds")


@dataclass(frozen=True)
class Fitted:
    """A fit, with the size of its model (which would have to be calibrated again to tell)."""

    fit: Fit[Model]
    size: int


def parameters_of(name: str) -> str:
    """Return the name of the note that holds a fit's parameters."""
    return f"{name}: its parameters"


def remembered(
    journal: Journal,
    name: str,
    domain: Domain,
    zeros: Sequence[Zeros],
    make: Callable[[], Fit[Model]],
    *,
    engine: EngineFor = on_cpu,
) -> Fitted:
    """Return the fit that the journal has under ``name`` (its model on ``engine``), or make it and have it kept."""
    if not journal.keeps:
        fit = make()
        return Fitted(fit, fit.model.size)
    made: list[Fit[Model]] = []

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
    if isinstance(model, RegionModel):
        return RegionModel(model.domain, model.tables, model.total, model.zeros)
    if not isinstance(model, GraphicalModel):
        return model
    return GraphicalModel(model.domain, model.parameters, model.total, model.zeros, engine=model.engine)


def packed(model: Model) -> bytes:
    """Write a model's mass and numbers: a line of JSON, then float64, little-endian; of a mixture also what a fit goes on
    from.
    """
    if isinstance(model, Mixture):
        head: dict[str, Any] = {"components": model.weights.size, "state": [list(part.shape) for part in model.state]}
        tables = [model.weights, *model.tables, *model.state]
    elif isinstance(model, RegionModel):
        head, tables = {"regions": [list(clique) for clique in model.tables]}, list(model.tables.values())
    else:
        assert isinstance(model, GraphicalModel)
        head, tables = {"cliques": [list(clique) for clique in model.parameters]}, list(model.parameters.values())
    head = {"total": float(model.total), **head}
    numbers = [np.ascontiguousarray(table, dtype="<f8").tobytes() for table in tables]
    return b"".join([json.dumps(head).encode(), b"\n", *numbers])


def unpacked(content: bytes, domain: Domain, zeros: tuple[Zeros, ...]) -> Model:
    """Read what ``packed`` wrote."""
    line, _, raw = content.partition(b"\n")
    try:
        head = json.loads(line)
        total = float(head["total"])
        if "components" in head:
            return _mixture(domain, total, _tables(raw, _shapes(domain, int(head["components"]), head["state"])))
        cliques = [tuple(map(str, clique)) for clique in head["regions" if "regions" in head else "cliques"]]
        if [domain.clique(c) for c in cliques] != cliques or len(set(cliques)) != len(cliques):
            raise _damaged()
        tables = _tables(raw, [domain.shape(clique) for clique in cliques])
        if not 0 <= total < inf:
            raise _damaged()
        by_clique = dict(zip(cliques, tables, strict=True))
        return (
            RegionModel(domain, by_clique, total, zeros)
            if "regions" in head
            else GraphicalModel(domain, by_clique, total, zeros)
        )
    except (ValueError, TypeError, KeyError, RecursionError, UserError):
        raise _damaged() from None


def _shapes(domain: Domain, components: int, state: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
    """Return the shapes of a mixture's arrays: weights, tables, state."""
    return [(components,), *((components, size) for size in domain.sizes), *(tuple(map(int, shape)) for shape in state)]


def _mixture(domain: Domain, total: float, numbers: list[NDArray[np.float64]]) -> Mixture:
    weights, tables, state = numbers[0], tuple(numbers[1 : len(domain) + 1]), numbers[len(domain) + 1 :]
    sums = [weights.sum(), *(row for table in tables for row in table.sum(axis=1))]
    if not 0 <= total < inf or any(np.any(part < 0) for part in (weights, *tables)) or not np.allclose(sums, 1.0):
        raise _damaged()
    return Mixture(domain, tables, weights, total, state=tuple(part.astype(np.float32) for part in state))


def _tables(raw: bytes, shapes: Sequence[tuple[int, ...]]) -> list[NDArray[np.float64]]:
    """Cut the numbers into arrays of these shapes; none may be left over, nor not finite."""
    sizes = [prod(shape) for shape in shapes]
    if min(sizes, default=0) < 0 or len(raw) != 8 * sum(sizes):
        raise _damaged()
    flat = np.frombuffer(raw, dtype="<f8").astype(np.float64)
    if not np.isfinite(flat).all():
        raise _damaged()
    ends = accumulate(sizes)
    return [flat[end - size : end].reshape(shape) for size, end, shape in zip(sizes, ends, shapes, strict=True)]


def _read(ended: bytes | None, numbers: bytes | None, domain: Domain, zeros: tuple[Zeros, ...], engine: EngineFor) -> Fitted:
    model = GraphicalModel(domain, _Discarded(), 0.0, zeros) if numbers is None else unpacked(numbers, domain, zeros)
    try:
        how: dict[str, Any] = json.loads(ended or b"")
        iterations, size = int(how["iterations"]), int(how["size"])
        loss, residual, seconds = (float(how[k]) for k in ("loss", "residual", "seconds"))
        if isinstance(model, GraphicalModel):
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
