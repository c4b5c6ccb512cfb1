"""Which mechanism a run gets where nobody names one: of those that can do what is asked for, the one with the least error
forecast (``choosing.py``). Public: settings alone, and nothing of a table.

Options that only some mechanisms have, a public table and derived columns leave some of them out; options that none has, or
only a mechanism that is not chosen from, are refused with the name of what has them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from understudy.errors import UserError, did_you_mean
from understudy.mechanism.choosing import FORECASTS, Case, forecasts
from understudy.mechanism.registry import MECHANISMS
from understudy.mechanism.registry import mechanism as make_mechanism

Options = Mapping[str, Any]


def takers(options: Options, *, public: bool = False) -> list[str]:
    """Return the mechanisms that are chosen from and have all of the options; with a ``public`` table, those that use it."""
    found = [name for name in FORECASTS if set(options) <= set(MECHANISMS[name].takes)]
    if not found:
        raise UserError(_not_taken(options))
    return [name for name in found if make_mechanism(name).takes_public] if public else found


def chosen(case: Case, among: Sequence[str], sized: Callable[[str], Options]) -> tuple[str, dict[str, float]]:
    """Return the mechanism with the least error forecast, and the error of each that would not refuse.

    ``sized`` are the options of a mechanism, with a model that fits into memory. Where that is smaller than the one that was
    forecast with, the smaller one is forecast with.
    """
    errors = forecasts(case, among)
    name = next(iter(errors), among[0])
    size = sized(name).get("max_size", case.max_size)
    return chosen(replace(case, max_size=size), among, sized) if size < case.max_size else (name, errors)


def _not_taken(options: Options) -> str:
    """Say which mechanism has the options that none of those that are chosen from has together."""
    having = {o: [name for name, kind in MECHANISMS.items() if o in kind.takes] for o in options}
    unknown = next((option for option, names in having.items() if not names), None)
    if unknown is not None:
        every = sorted({option for kind in MECHANISMS.values() for option in kind.takes})
        return f'No mechanism has an option "{unknown}"; there are {", ".join(every)}.{did_you_mean(unknown, every)}'
    special = {option: names for option, names in having.items() if not set(FORECASTS) <= set(names)}
    owners = [name for name in MECHANISMS if all(name in names for names in special.values())]
    listed = " and ".join(f'"{option}"' for option in special)
    if owners:
        word = "is an option" if len(special) == 1 else "are options"
        return f'{listed} {word} of {" and ".join(owners)} alone: name the mechanism, such as mechanism="{owners[0]}".'
    each = "; ".join(f'"{option}" is an option of {", ".join(names)}' for option, names in special.items())
    return f"No mechanism has the options {listed} together: {each}. Leave some of them out."


__all__ = ["chosen", "takers"]
