"""A query for figures by group, as ``mean(income) by region``: read, and refused where it is none. Public."""

from __future__ import annotations

import re
from dataclasses import dataclass

from understudy.errors import UserError, did_you_mean
from understudy.schema import Schema

FUNCTIONS = ("mean", "total", "median", "quantile", "count", "share")
EXAMPLE = '"mean(income) by region", "quantile(income, 0.9)", "share(sex = F) by region, year", "count() by sex"'
_FORM = re.compile(r"\s*(\w+)\s*\((.*)\)\s*(?:by\s+(\S.*))?", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True)
class Asked:
    """A query that was read: what to compute, of which column, by which columns."""

    function: str
    column: str | None
    by: tuple[str, ...]
    at: float = 0.5
    value: str | None = None

    @property
    def axes(self) -> tuple[str, ...]:
        """The columns whose joint counts the answer needs: groups first, then what is asked."""
        return self.by if self.column is None else (*self.by, self.column)


def parse(query: str, schema: Schema) -> Asked:
    """Read a query; whatever is wrong with it is said."""
    found = _FORM.fullmatch(query)
    if found is None:
        raise UserError(f'"{query}" is not a query. Write one as {EXAMPLE}.')
    function = {"sum": "total"}.get(found[1].lower(), found[1].lower())
    if function not in FUNCTIONS:
        hint = did_you_mean(function, FUNCTIONS)
        raise UserError(f'There is no "{found[1]}"; choose one of {", ".join(FUNCTIONS)}.{hint}')
    by = () if found[3] is None else tuple(_name(part, schema) for part in found[3].split(","))
    if len({*by}) != len(by):
        raise UserError("A column is named twice after by; name each once.")
    asked = _asked(function, found[2].strip(), by, schema)
    if asked.column in by:
        raise UserError(f'"{asked.column}" cannot be what is asked and a group at once; leave it out of by.')
    return asked


def _asked(function: str, inner: str, by: tuple[str, ...], schema: Schema) -> Asked:
    if function in ("count", "share"):
        return _counting(function, inner, by, schema)
    if function != "quantile":
        return Asked(function, _name(inner, schema), by)
    column, comma, level = inner.rpartition(",")
    if not comma:
        raise UserError(f'A quantile needs a column and a share, as in quantile(income, 0.9), not "{inner}".')
    return Asked(function, _name(column, schema), by, _level(level))


def _counting(function: str, inner: str, by: tuple[str, ...], schema: Schema) -> Asked:
    if not inner:
        return Asked(function, None, by)
    column, equals, value = inner.partition("=")
    if not equals and set(inner) & set("<>"):
        raise _compared(function, inner)
    if not equals:
        raise UserError(
            f'{function}({inner}) needs a value, as in {function}({inner} = ...), or nothing: "{function}() by …".'
        )
    if column.rstrip().endswith(("<", ">", "!")) or value.startswith("="):
        raise _compared(function, inner)
    return Asked(function, _name(column, schema), by, value=value.strip().strip("\"'"))


def _compared(function: str, inner: str) -> UserError:
    column = re.split("[<>!=]", inner)[0].strip()
    return UserError(
        f"{function}({inner}) cannot be asked: {function} knows = alone, with one value or bin. Ask for all of "
        f'them, "{function}() by {column}", and add up those that you mean.'
    )


def _name(text: str, schema: Schema) -> str:
    """Return the name of a column, with or without quotes; those of rules (`age`) are quotes, too."""
    name = text.strip().strip("\"'`")
    schema.require_counted([name])
    if name not in schema.domain:
        raise UserError(f'There is no column "{name}" in this release.{did_you_mean(name, schema.domain.attributes)}')
    return name


def _level(text: str) -> float:
    try:
        level = float(text)
    except ValueError:
        level = -1.0
    if not 0 < level < 1:
        raise UserError(
            f"A quantile needs a share strictly between 0 and 1, as in quantile(income, 0.9), not {text.strip()!r}."
        )
    return level
