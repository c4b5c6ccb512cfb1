"""Drafts columns of numbers: whole, real, and times of day that are spelled in digits.

NOT PRIVATE: what it writes was seen in the data.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from understudy.review.blocks import Block, listed, number, quote
from understudy.review.calendar import ending, slips, step_of_day
from understudy.review.look import Seen
from understudy.review.names import is_clock, is_identifier, person_or_nothing
from understudy.review.numbers import missing_codes, step_of
from understudy.review.types import MISSING_MARKS
from understudy.review.usual import Counted, Layout, known_range, layout
from understudy.schema.declaration import DEFAULT_BINS

MAX_DECIMALS, _NEARLY = 6, 0.99
MOST_GAPPY, ROWS_A_NUMBER, WIDE_GAP = 12, 20, 3
"""So many numbers with gaps between them are codes, where there are so many rows for each number of their range: of a wide
one, for each number that is there. A wide gap lies between numbers that so many rows have each: 5 and 9, of 1 to 5 and 9."""
LOOKED_AT = "bounds and bins were chosen by looking at the numbers; write those that you know without them"


@dataclass(frozen=True)
class Numbers:
    """The numbers of a column without those that mean "missing"."""

    seen: Seen
    counted: Counted
    codes: tuple[float, ...]
    whole: bool
    rounded: str = ""

    @property
    def missing(self) -> list[str]:
        """The declaration of what means "missing", and of where a missing value goes."""
        words = [*map(quote, self.seen.nulls), *(number(code, self.whole or code.is_integer()) for code in self.codes)]
        nulls = [f"nulls = [{', '.join(words)}]"] if words else []
        if nulls or self.seen.missing:
            return [*nulls, "nullable = true"]
        return []

    @property
    def doubt(self) -> str:
        """What must be decided about missing values."""
        odd = [quote(word) for word in self.seen.nulls if word and word.lower() not in MISSING_MARKS]
        said = [*odd, *(number(code, code.is_integer()) for code in self.codes)]
        return f'{", ".join(said)} seem{"s" if len(said) == 1 else ""} to mean "missing"' if said else ""

    @property
    def slips(self) -> str:
        """What must be known of texts among the numbers."""
        lost = sum(self.seen.strays().values())
        return (
            slips(lost, self.seen.rows - self.seen.missing + lost, "no numbers" if lost > 1 else "no number") if lost else ""
        )

    def block(self, lines: list[str], mark: str = "", middle: str = "") -> Block:
        """Return the block of the column; ``middle`` is what a value that cannot be placed counts as."""
        place = self.missing or [f"other = {middle}"]
        marks = [part for part in (mark, self.doubt, self.slips, self.rounded) if part]
        nullable = place[-1].startswith("nullable")
        return Block(self.seen.name, (*lines, *place), ("; ".join(marks) + ".") if marks else "", nullable=nullable)


def draft_integer(seen: Seen) -> Block:
    """Draft a column of whole numbers."""
    numbers = _numbers(seen, whole=True)
    values = numbers.counted.values
    if identifier := _identifier(seen, values):
        return identifier
    if len(values) == 0 or max(abs(values)) >= 2**53 - 1:
        return Block(seen.name, why="it has numbers beyond 2^53, which are not kept exactly; text would be")
    if list(values) == [0, 1]:
        return numbers.block(['kind = "categorical"', "values = [0, 1]", *type_line(seen)], middle="0")
    usual = _usual(numbers, ['kind = "integer"', *type_line(seen)])
    return usual or _gappy(numbers) or _ranged(numbers, 'kind = "integer"', type_line(seen), decimals=0)


def _identifier(seen: Seen, values: NDArray[np.float64]) -> Block | None:
    """Leave out whole numbers that tell rows, or what many rows share, from all others; None where they do not."""
    if seen.rows - seen.missing > 100 and len(values) > 0.9 * (seen.rows - seen.missing):
        return Block(seen.name, why="nearly every row has a number of its own (an identifier)")
    return Block(seen.name, mark=person_or_nothing(seen.name)) if is_identifier(seen.name, len(values)) else None


def _float_identifier(numbers: Numbers) -> Block | None:
    """Leave out identifiers among floats: 186.0. Without a missing value, only their name tells them from amounts."""
    seen, values = numbers.seen, numbers.counted.values
    if not _are_whole(values) or not (seen.missing or numbers.codes or is_identifier(seen.name, len(values))):
        return None
    return _identifier(seen, values)


def _are_whole(values: NDArray[np.float64]) -> bool:
    return bool(len(values) and np.abs(values).max() < 2**53 and (values % 1 == 0).all())


def _gappy(numbers: Numbers) -> Block | None:
    """Draft a list of codes: few numbers in many rows, and of those between them most, or several on end, in none."""
    values, rows = numbers.counted.values, numbers.counted.rows
    span = float(values[-1] - values[0]) + 1
    many = sum(rows) >= ROWS_A_NUMBER * span if span <= DEFAULT_BINS else min(rows) >= ROWS_A_NUMBER
    far = bool(np.any((np.diff(values) >= WIDE_GAP) & (np.minimum(rows[1:], rows[:-1]) >= ROWS_A_NUMBER)))
    if len(values) > MOST_GAPPY or (2 * len(values) > span and not far) or not many:
        return None
    listed = ", ".join(f"{value:.0f}" for value in values)
    words = (
        "these {} values were seen; write those that you know without the data, from a code book or by what the column means"
    )
    lines = ['kind = "categorical"', f"values = [{listed}]", *type_line(numbers.seen)]
    return numbers.block(lines, words.format(len(values)), middle=f"{values[0]:.0f}")


def _usual(numbers: Numbers, kind: list[str]) -> Block | None:
    """Draft what everybody knows of whole numbers with this name, or a time of day; None where neither is so."""
    name, values = numbers.seen.name, numbers.counted.values
    known = known_range(name, values)
    if known is not None:
        low, high, width = known
        bins = [] if width is None else [f"width = {width}"]
        return numbers.block([*kind, f"min = {low}", f"max = {high}", *bins], middle=str((low + high) // 2))
    return _clock(numbers)


def _clock(numbers: Numbers) -> Block | None:
    """Draft a time of day that numbers spell; None where they do not. Floats are often whole numbers with some missing."""
    if not is_clock(numbers.seen.name, numbers.counted.values):
        return None
    held = numbers.seen.type
    small = pa.types.is_integer(held) and np.iinfo(str(held)).max > 2400
    kept = held if small else "int64" if numbers.whole else "float64"
    last, mark = ending("2400", seen=2400 in numbers.counted.values)
    step, regular = step_of_day([int(value // 100 * 60 + value % 100) for value in numbers.counted.values])
    mark = "; ".join(filter(None, (mark, regular)))
    return numbers.block(['kind = "time"', 'format = "%H%M"', f'type = "{kept}"', *step, *last], mark, middle="12:00:00")


def _numbers(seen: Seen, whole: bool) -> Numbers:
    codes = missing_codes(seen.counted)
    return Numbers(seen, seen.counted.where(~np.isin(seen.counted.values, codes)), codes, whole)


def type_line(seen: Seen) -> list[str]:
    """Declare the type of a whole number when it is not the usual one."""
    return [] if seen.type == pa.int64() else [f'type = "{seen.type}"']


def _ranged(numbers: Numbers, kind: str, extra: list[str], decimals: int | None, *, coarsest: float | None = None) -> Block:
    """Draft bounds and bins; ``coarsest`` is what all numbers are multiples of, where that is more than a decimal."""
    counted, whole = numbers.counted, numbers.whole
    low, high = float(counted.values[0]), float(counted.values[-1])
    step = None if decimals is None else step_of(counted, decimals) or coarsest
    smallest = 0.0 if decimals is None else step or 10.0**-decimals
    steps = [] if step is None else [f"step = {number(step, whole or step.is_integer())}"]
    if smallest == 1 and high - low < DEFAULT_BINS:
        words = (
            "the smallest and the largest number were seen; write those that you know, or list the values if these are codes"
        )
        lines = [kind, *extra, *steps, f"min = {number(low, whole)}", f"max = {number(high, whole)}"]
        return numbers.block(lines, words, number((low + high) // 2, whole))
    chosen = _within(numbers, layout(counted, smallest))
    middle = number(_middle(chosen), whole)
    return numbers.block([kind, *extra, *steps, *_bins(chosen, whole)], LOOKED_AT + _nines(chosen), middle)


def _nines(chosen: Layout) -> str:
    """Ask whether a largest value of nines alone, which many rows have, is a number: 999 may also mean "missing"."""
    top = f"{chosen.edges[-1]:g}" if chosen.edges and chosen.edges[-1] == chosen.edges[-2] else ""
    return (
        f'; if {top} means "missing", write nulls = [{top}] and nullable = true, and end the bins below'
        if {*top} == {"9"}
        else ""
    )


def _middle(chosen: Layout) -> float:
    """Return where the bin in the middle starts: it follows from the bins alone, and says nothing of the rows."""
    if chosen.width is None and not chosen.edges:
        return chosen.low
    *starts, _ = chosen.starts
    return starts[len(starts) // 2]


def _bins(chosen: Layout, whole: bool) -> list[str]:
    if chosen.edges:
        return listed("edges", [number(edge, whole) for edge in chosen.edges])
    ends = [f"min = {number(chosen.low, whole)}", f"max = {number(chosen.high, whole)}"]
    return ends if chosen.width is None else [*ends, f"width = {number(chosen.width, whole)}"]


def _ends(chosen: Layout) -> tuple[float, float]:
    return (chosen.edges[0], chosen.edges[-1]) if chosen.edges else (chosen.low, chosen.high)


def _within(numbers: Numbers, chosen: Layout) -> Layout:
    """Keep rounded bounds inside what the type, and exact arithmetic, can hold, and off what means "missing"."""
    kind, (low, high) = numbers.seen.type, _ends(chosen)
    if numbers.whole:
        info = np.iinfo(str(kind))
        bottom, top = float(max(info.min, -(2**53) + 1)), float(min(info.max, 2**53 - 1))
    elif pa.types.is_decimal(kind):
        top = (10**kind.precision - 1) / 10**kind.scale
        bottom = -top
    else:
        bottom, top = -1e300, 1e300
    inside = bottom <= low <= high <= top and not any(low <= code <= high for code in numbers.codes)
    if inside:
        return chosen
    first, last = float(numbers.counted.values[0]), float(numbers.counted.values[-1])
    kept = [edge for edge in chosen.edges if first < edge < last]
    return Layout(edges=(first, *kept, last)) if kept else Layout(low=first, high=last)


def draft_real(seen: Seen) -> Block:
    """Draft a column of real numbers."""
    if not len(seen.counted.values):
        return Block(seen.name, why="no number was seen that bins can hold")
    numbers = _numbers(seen, whole=False)
    if identifier := _float_identifier(numbers):
        return identifier
    if pa.types.is_decimal(seen.type):
        scale = seen.type.scale
        short = seen.type.precision <= 15
        kind = f'type = "decimal({seen.type.precision}, {scale})"' if short else f"decimals = {scale}"
        return _ranged(numbers, 'kind = "real"', [kind], scale)
    if pa.types.is_float32(seen.type):
        return _ranged(numbers, 'kind = "real"', ['type = "float32"'], None)
    places, rounded = _places(seen)
    numbers = replace(numbers, rounded=rounded)
    extra = [] if places is None else [f"decimals = {places}"]
    if places == 1 and _are_whole(numbers.counted.values):  # 517.0: spelled so again, and never 517.5
        whole = ['kind = "real"', *extra, "step = 1"]
        return _usual(numbers, whole) or _ranged(numbers, 'kind = "real"', extra, places, coarsest=1.0)
    usual = _usual(numbers, ['kind = "real"', *extra]) if places == 0 and not seen.of_text else None
    return usual or _ranged(numbers, 'kind = "real"', extra, places)


def _places(seen: Seen) -> tuple[int | None, str]:
    """Return the decimals that nearly all values have, None when these are many; and how many values have more.

    Of texts, what they spell counts, unless that is too much; else the fewest decimals that spell each.
    """
    for counts in filter(None, (seen.decimals() if seen.of_text else {}, _fewest(seen.counted))):
        rows = sum(counts.values())
        places = next(most for most in sorted(counts) if sum(counts[p] for p in counts if p <= most) >= _NEARLY * rows)
        if places <= MAX_DECIMALS and max(abs(seen.counted.values)) * 10.0**places < 2**48:
            return places, _rounded(sum(counts[p] for p in counts if p > places), rows, places)
    return None, ""


def _rounded(more: int, rows: int, places: int) -> str:
    have, are = ("has", "is") if more == 1 else ("have", "are")
    decimals = f"{places} decimal{'s' * (places != 1)}"
    return f"{more:,} of {rows:,} values {have} more than {decimals}, and {are} rounded" if more else ""


def _fewest(counted: Counted) -> dict[int, int]:
    """Return how many rows have a number that so many decimals spell, and no fewer."""
    left, found = np.ones(len(counted.values), np.bool_), {}
    for places in range(MAX_DECIMALS):
        fits = left & (np.round(counted.values, places) == counted.values)
        found[places] = int(counted.rows[fits].sum())
        left &= ~fits
    return found | {MAX_DECIMALS + 1: int(counted.rows[left].sum())}
