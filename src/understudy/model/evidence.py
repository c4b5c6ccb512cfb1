"""Fixed values as structural zeros: conditioning a model is forbidding every other code. Public numbers only."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from understudy.domain import Domain, Zeros
from understudy.errors import SchemaError


def evidence(domain: Domain, given: Mapping[str, int]) -> tuple[Zeros, ...]:
    """Return the zeros that leave ``given`` (attribute → code) as the only possibility."""
    found: list[Zeros] = []
    for attribute, code in given.items():
        size = domain[attribute]
        if not isinstance(code, int | np.integer) or not 0 <= code < size:
            raise SchemaError(f'"{attribute}" cannot be fixed at {code!r}: give a code, 0 to {size - 1}.')
        others = np.delete(np.arange(size, dtype=np.int64), int(code))
        if others.size:
            found.append(Zeros((attribute,), others[:, None]))
    return tuple(found)
