"""Steps and missing codes that a person would see in a column of numbers.

NOT PRIVATE: chooses by looking at the numbers, for a draft.
"""

from __future__ import annotations

from math import isclose

import numpy as np

from understudy.review.usual import Counted

STEPS = (1000.0, 500.0, 250.0, 100.0, 50.0, 25.0, 10.0, 5.0, 2.5, 1.0, 0.5, 0.25, 0.1, 0.05)
_NEGATIVE_CODES = (-1, -7, -8, -9, -77, -88, -99, -777, -888, -999, -9999, -99999)
_ANSWERS, _ANSWERED = range(4, 8), 20
"""How many values a scale of 1 to 3, up to 1 to 6, has with 9; and how many rows must have the last answer, and 9, each."""
_NINES = (99, 999, 9999, 99999, 999999, 9999999)


def missing_codes(numbers: Counted) -> tuple[float, ...]:
    """Return the numbers that seem to mean "missing": negative codes beside no other, nines or 0 far from the rest.

    So does 9 beside the answers 1 to 5, where many rows have both: it is "no answer" on many a form.
    """
    values, rows = numbers.values, numbers.rows
    below = values < 0
    codes = values[below]
    few = 0 < len(codes) <= 3 and len(values) > len(codes) + 1 and set(codes) <= set(_NEGATIVE_CODES)
    if few and (codes[-1] < -1 or rows[below].sum() > 0.01 * rows.sum()):
        return tuple(codes.tolist())
    if len(values) > 2 and values[-1] in _NINES and values[-1] - values[-2] > 3 * (values[-2] - values[0]):
        return (float(values[-1]),)
    if len(values) in _ANSWERS and tuple(values) == (*range(1, len(values)), 9) and rows[-2:].min() >= _ANSWERED:
        return (9.0,)
    if len(values) > 2 and values[0] == 0 and values[1] > 3 * (values[-1] - values[1]):  # a year, and 0 for none
        return (0.0,)
    return ()


def step_of(numbers: Counted, decimals: int) -> float | None:
    """Return the largest step, above the last decimal, of which every number is a multiple."""
    span = numbers.values[-1] - numbers.values[0]
    for step in STEPS:
        units = step * 10.0**decimals
        written = units > 1.5 and isclose(units, round(units))  # 2.5 is no step of whole numbers
        if written and len(numbers.values) >= 10 and span >= 20 * step and _multiples(numbers, step):
            return step
    return None


def _multiples(numbers: Counted, step: float) -> bool:
    scaled = numbers.values / step
    return bool(np.allclose(scaled, np.rint(scaled), rtol=0, atol=1e-6))
