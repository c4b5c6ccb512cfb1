"""Exact amounts of budget as text. Public: what was spent, however many digits it takes.

The exact sum of many charges can have thousands of digits; Python refuses to write such a number in decimal.
"""

from __future__ import annotations

import re
from fractions import Fraction

from understudy.errors import FormatError

PATTERN = r"\d+(?:/\d+)?|0x[0-9a-f]+/0x[0-9a-f]+"
"""An amount in decimal, or in hexadecimal where that would be too long."""

_PLAIN = 1 << 2048
_LONGEST = 1 << 20
_FRACTION = re.compile(PATTERN, re.ASCII)


def amount_text(rho: Fraction) -> str:
    """Write an amount exactly."""
    if max(rho.numerator, rho.denominator) < _PLAIN:
        return str(rho)
    return f"{rho.numerator:#x}/{rho.denominator:#x}"


def parse_amount(text: str) -> Fraction:
    """Read what ``amount_text`` wrote, and nothing else."""
    if len(text) >= _LONGEST or not _FRACTION.fullmatch(text) or (len(text) > 4000 and not text.startswith("0x")):
        raise FormatError("An amount of budget is not a fraction.")
    top, _, bottom = text.partition("/")
    whole = [int(part, 16 if part.startswith("0x") else 10) for part in (top, bottom or "1")]
    if whole[1] == 0:
        raise FormatError("An amount of budget divides by zero.")
    return Fraction(whole[0], whole[1])
