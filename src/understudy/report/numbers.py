"""Numbers as people read them. Public."""

from __future__ import annotations

from math import floor, isfinite, log10

from understudy.report.markup import Html, tag


def count(value: float) -> str:
    """Write a number of records: 12,345."""
    return f"{value:,.0f}" if isfinite(value) else "unlimited"


def digits(value: float, significant: int = 3) -> str:
    """Write a number with so many significant digits, in powers of ten only when it is very large or small."""
    if value == 0 or not isfinite(value):
        return f"{value:g}"
    if not 1e-4 <= abs(value) < 1e6:
        return f"{value:.{significant}g}".replace("e-0", "e-").replace("e+0", "e").replace("e+", "e")
    decimals = max(0, significant - 1 - floor(log10(abs(value))))
    shown = f"{value:,.{decimals}f}"
    return shown.rstrip("0").rstrip(".") if "." in shown else shown


def plural(number: int, one: str, many: str | None = None) -> str:
    """Write ``3 columns``, ``1 column``."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def data(value: float, shown: str) -> Html:
    """Return ``shown`` with the number itself beside it for machines."""
    return tag("data", shown, value=repr(float(value)))
