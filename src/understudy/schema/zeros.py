"""Structural zeros: combinations that cannot occur, from declarations to lists of forbidden codes.

Public. A bin that holds both possible and impossible values is never forbidden.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, cast

import numpy as np

from understudy.domain import Clique, Domain, Zeros
from understudy.errors import did_you_mean
from understudy.schema.column import Column, Operator, Truth
from understudy.schema.declaration import Null, ZerosDeclaration
from understudy.schema.problems import Wrong
from understudy.schema.reading import Bools
from understudy.schema.rules import All, Compare, Condition, IsNull, Not, RuleError, columns_of, parse_rule

MAX_CELLS = 1_000_000


@dataclass(frozen=True, eq=False)
class DeclaredZeros(Zeros):
    """Structural zeros as a schema declares them; ``rule`` says where they come from."""

    rule: str = ""
    undecided: tuple[str, ...] = ()  # columns with a bin on both sides of the rule's boundary
    of_order: bool = False  # whether it follows from an order, which holds inside bins too


def require_one_form(declared: ZerosDeclaration) -> None:
    """Refuse an entry that is none of the forms, or several; raises Wrong."""
    forms = [
        declared.columns is not None or declared.values is not None,
        declared.when is not None,
        declared.never is not None,
        declared.always is not None,
    ]
    if sum(forms) != 1 or (declared.then is not None) != (declared.when is not None):
        raise Wrong("an impossible combination is columns with values, or when with then, or never, or always.")


def build_zeros(declared: ZerosDeclaration, columns: Sequence[Column]) -> DeclaredZeros:
    """Build one entry of the file that is no order; raises Wrong."""
    known = {column.name: column for column in columns}
    if declared.never is not None:
        return _from_rule(All((_parse(declared.never, "never"),)), f"never {declared.never}", known, ["never"])
    if declared.when is not None and declared.then is not None:
        when, then = _parse(declared.when, "when"), _parse(declared.then, "then")
        return _from_rule(All((when, Not(then))), f"when {declared.when} then {declared.then}", known, ["when", "then"])
    return _from_list(declared, known)


def _parse(text: str, key: str) -> Condition:
    try:
        return parse_rule(text)
    except RuleError as error:
        raise Wrong(f"the rule cannot be read: {error}.", key) from None


def _from_rule(impossible: Condition, rule: str, known: dict[str, Column], keys: list[str]) -> DeclaredZeros:
    names = columns_of(impossible)
    clique = _clique(names, known, keys[0])
    columns = [known[name] for name in clique]
    truth = _ask(impossible, columns, keys)
    forbidden = np.broadcast_to(truth.must, [column.size for column in columns])
    if not forbidden.any():
        raise Wrong(_no_effect(impossible, columns, keys), keys[0])
    if forbidden.all():
        raise Wrong(
            "it forbids every combination, so no table could exist; is a comparison the wrong way round?",
            keys[0],
        )
    return DeclaredZeros(clique, np.argwhere(forbidden).astype(np.int64), rule, _undecided(impossible, columns, keys))


def _clique(names: Sequence[str], known: dict[str, Column], key: str) -> Clique:
    for name in names:
        if name not in known:
            raise Wrong(f'there is no column "{name}" in this schema.{did_you_mean(name, known)}', key)
        if known[name].kind == "open":
            raise Wrong(f'column "{name}" is open: nobody knows its values before a run. Declare it as categorical.', key)
    clique = tuple(name for name in known if name in names)
    cells = Domain.of({name: known[name].size for name in clique}).cells()
    if cells > MAX_CELLS:
        raise Wrong(
            f"its columns ({', '.join(clique)}) have {cells:,} combinations, more than {MAX_CELLS:,}. "
            "Split it into entries that name fewer columns, or give these columns fewer bins.",
            key,
        )
    return clique


def _ask(condition: Condition, columns: Sequence[Column], keys: list[str]) -> Truth:
    """Say whether the condition can and must hold for every combination of codes (axes as ``columns``)."""
    if isinstance(condition, Compare | IsNull):
        axis = next(i for i, column in enumerate(columns) if column.name == condition.column)
        truth = _compare(condition, columns[axis], keys)
        shape = [-1 if i == axis else 1 for i in range(len(columns))]
        return Truth(truth.can.reshape(shape), truth.must.reshape(shape))
    if isinstance(condition, Not):
        return ~_ask(condition.part, columns, keys)
    parts = [_ask(part, columns, keys) for part in condition.parts]
    return reduce(Truth.__and__ if isinstance(condition, All) else Truth.__or__, parts)


def _compare(condition: Compare | IsNull, column: Column, keys: list[str]) -> Truth:
    if isinstance(condition, IsNull):
        if not column.nullable:
            raise Wrong(
                f'column "{column.name}" is never null; drop this part, or declare it nullable = true.',
                keys[0],
            )
        return column.is_null()
    truth = column.compare(cast(Operator, condition.operator), condition.constant)
    if isinstance(truth, Truth):
        return truth
    raise Wrong(_incomparable(truth, column, condition.constant), keys[0])


def _incomparable(reason: str, column: Column, constant: Any) -> str:
    if reason == "unordered":
        return f'column "{column.name}" is {column.kind}, without order; use =, != or in, or declare it ordinal.'
    if reason == "unlisted":
        hint = did_you_mean(str(constant), column.labels)
        return f'"{constant}" is not a listed value of column "{column.name}".{hint}'
    return f'column "{column.name}" is {column.kind} and cannot be compared with "{constant}".'


def _undecided(condition: Condition, columns: Sequence[Column], keys: list[str]) -> tuple[str, ...]:
    """Return the columns some ordinary code of which is neither certainly inside nor outside a comparison."""
    if isinstance(condition, Compare):
        column = next(column for column in columns if column.name == condition.column)
        truth = _compare(condition, column, keys)
        straddles = (truth.can & ~truth.must)[: column.places.ordinary].any()
        return (column.name,) if straddles else ()
    if isinstance(condition, IsNull):
        return ()
    parts = (condition.part,) if isinstance(condition, Not) else condition.parts
    return tuple(dict.fromkeys(name for part in parts for name in _undecided(part, columns, keys)))


def _no_effect(condition: Condition, columns: Sequence[Column], keys: list[str]) -> str:
    undecided = _undecided(condition, columns, keys)
    if not undecided:
        return "it forbids nothing: no declared combination breaks it. Check its constants against the columns."
    names = ", ".join(f'"{name}"' for name in undecided)
    return (
        f"it forbids nothing: the bins of {names} hold values on both sides of its boundary. "
        "Give that column an edge there (edges = [...]), or more bins."
    )


def _from_list(declared: ZerosDeclaration, known: dict[str, Column]) -> DeclaredZeros:
    if not declared.columns or not declared.values:
        raise Wrong(
            "listed combinations need both columns and values, neither empty.",
            "columns" if declared.columns is None else "values",
        )
    if len(set(declared.columns)) != len(declared.columns):
        raise Wrong("a column appears twice.", "columns")
    clique = _clique(declared.columns, known, "columns")
    cells = [_cell(row, declared.columns, known) for row in declared.values]
    order = [declared.columns.index(name) for name in clique]
    unique = np.unique(np.array(cells, dtype=np.int64)[:, order], axis=0)
    if len(unique) == Domain.of({name: known[name].size for name in clique}).cells():
        raise Wrong("it forbids every combination, so no table could exist.", "values")
    return DeclaredZeros(clique, unique, f"listed combinations of {', '.join(declared.columns)}")


def _cell(row: Sequence[Any], names: Sequence[str], known: dict[str, Column]) -> list[int]:
    if len(row) != len(names):
        raise Wrong(f"a combination has {len(row)} values for {len(names)} columns.", "values")
    return [_code(value, known[name]) for value, name in zip(row, names, strict=True)]


def _code(value: Any, column: Column) -> int:
    if isinstance(value, Null):
        truth: Truth | str = column.is_null()
        if column.places.null is None:
            raise Wrong(f'column "{column.name}" is never null.', "values")
    else:
        truth = column.compare("=", value)
    if isinstance(truth, str):
        raise Wrong(_incomparable(truth, column, value), "values")
    exact = np.flatnonzero(truth.must)
    if len(exact) != 1:
        raise Wrong(
            f'"{value}" does not name exactly one code of column "{column.name}": bins hold several values. '
            'Use a rule (never = "...") or give the value a bin of its own.',
            "values",
        )
    return int(exact[0])


def contradiction(zeros: Sequence[Zeros], domain: Domain) -> str | None:
    """Say so when the zeros together leave a column without a single possible code (found by propagation)."""
    possible: dict[str, Bools] = {name: np.ones(domain[name], dtype=bool) for z in zeros for name in z.clique}
    allowed = [_allowed(z, domain) for z in zeros]
    changed = True
    while changed:
        changed = False
        for zero, table in zip(zeros, allowed, strict=True):
            changed |= _propagate(zero, table, possible)
        empty = next((name for name, codes in possible.items() if not codes.any()), None)
        if empty is not None:
            return f'together the [[zeros]] leave no possible value for column "{empty}"; relax one of them.'
    return None


def _allowed(zero: Zeros, domain: Domain) -> Bools:
    return ~zero.table(domain)


def _propagate(zero: Zeros, table: Bools, possible: dict[str, Bools]) -> bool:
    """Drop codes that no allowed combination supports; say whether any was dropped."""
    axes = range(len(zero.clique))
    grids = np.ix_(*[possible[name] for name in zero.clique])
    live = np.zeros_like(table)
    live[grids] = table[grids]
    changed = False
    for axis, name in zip(axes, zero.clique, strict=True):
        supported = live.any(axis=tuple(other for other in axes if other != axis))
        changed |= bool((possible[name] & ~supported).any())
        possible[name] = possible[name] & supported
    return changed
