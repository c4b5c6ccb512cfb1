"""Fixed values as structural zeros: conditioning a model is forbidding every other code. Public numbers only.

Also owns the plain value that says which combinations cannot occur, for conditioned and for loaded models.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique, Domain
from understudy.errors import SchemaError


@dataclass(frozen=True, eq=False)
class Forbidden:
    """Combinations that cannot occur: ``cells`` is k × len(clique), a forbidden combination of codes a row."""

    clique: Clique
    cells: NDArray[np.int64]


def evidence(domain: Domain, given: Mapping[str, int]) -> tuple[Forbidden, ...]:
    """Return the zeros that leave ``given`` (attribute → code) as the only possibility."""
    found: list[Forbidden] = []
    for attribute, code in given.items():
        size = domain[attribute]
        if not isinstance(code, int | np.integer) or not 0 <= code < size:
            raise SchemaError(f'"{attribute}" cannot be fixed at {code!r}: give a code, 0 to {size - 1}.')
        others = np.delete(np.arange(size, dtype=np.int64), int(code))
        if others.size:
            found.append(Forbidden((attribute,), others[:, None]))
    return tuple(found)
