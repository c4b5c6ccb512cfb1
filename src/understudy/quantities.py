"""Sizes, times and shares as people write them: 80MB, 1.5 GB, 10m, 2h30m, 3.4%. Owns no data."""

from __future__ import annotations

import re
from math import ceil, floor, isfinite, log10

from understudy.errors import UserError

NEARLY = 1e-9
"""A number so near to the next step is that step: dividing has left no more of it."""
_BYTES = {"": 1, "B": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(?:([KMGT])(?:I?B)?|B)?\s*", re.IGNORECASE)
_TIME = re.compile(r"\s*(?:(\d+(?:\.\d+)?)\s*([smhd])[a-z]*\s*)+|\s*\d+(?:\.\d+)?\s*", re.IGNORECASE)
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*([smhd]?)", re.IGNORECASE)


def parse_size(size: str | int | float) -> int:
    """Return bytes of ``"80MB"``, ``"1.5 GB"`` or a number. K, M, G and T are powers of 1024."""
    if isinstance(size, int | float) and not isinstance(size, bool) and isfinite(size) and size > 0:
        return int(size)
    found = _SIZE.fullmatch(size) if isinstance(size, str) else None
    if found is None or float(found[1]) <= 0:
        raise UserError(f"A size is a number of bytes, or one like 80MB or 1.5GB, not {size!r}.")
    return int(float(found[1]) * _BYTES[(found[2] or "").upper()])


def parse_time(time: str | int | float) -> float:
    """Return seconds of ``"10m"``, ``"90s"``, ``"1h30m"`` or a number."""
    if isinstance(time, int | float) and not isinstance(time, bool) and isfinite(time) and time >= 0:
        return float(time)
    if not isinstance(time, str) or _TIME.fullmatch(time) is None:
        raise UserError(f"A time is a number of seconds, or one like 90s, 10m or 1h30m, not {time!r}.")
    return sum(float(number) * _SECONDS[unit.lower() or "s"] for number, unit in _PART.findall(time))


def show_size(size: float) -> str:
    """Write bytes for people."""
    for unit, factor in (("TB", 2**40), ("GB", 2**30), ("MB", 2**20), ("KB", 2**10)):
        if size >= factor:
            return f"{float(f'{size / factor:.3g}'):,g} {unit}"
    return f"{size:.0f} bytes"


def show_time(seconds: float) -> str:
    """Write seconds for people."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"


def supported(value: float, low: float, high: float) -> tuple[str, str, str]:
    """Write a number and its interval with the digits that the interval supports: 1,110, from 960 to 1,260.

    The interval's half width has two digits, and its ends are rounded outwards.
    """
    half = (high - low) / 2
    if not (isfinite(half) and half > 0 and isfinite(value)):
        return _plain(value), _plain(low), _plain(high)
    power = floor(log10(half)) - 1
    if value == round(value) and low == round(low) and high == round(high):
        power = max(power, 0)
    step, decimals = 10.0**power, max(-power, 0)
    shown, first, last = round(value / step), floor(low / step + NEARLY), ceil(high / step - NEARLY)

    def write(steps: int) -> str:
        return f"{steps * step if power >= 0 else steps / 10.0**-power:,.{decimals}f}"

    return write(shown), write(first), write(last)


def _plain(number: float) -> str:
    return f"{number:,.6g}" if abs(number) < 1e6 else f"{number:,.0f}"


def percent(share: float) -> str:
    """Write a share with two or three digits: 0.04%, 3.4%, 34%, 134%; none is 0%."""
    value = 100 * share
    if not isfinite(value):
        return "no limit"
    if value == 0:
        return "0%"
    if 0 < value < 0.01:
        return "<0.01%"
    if value < 0.995:
        return f"{value:.2f}%"
    return f"{value:.1f}%" if value < 9.95 else f"{value:,.0f}%"
