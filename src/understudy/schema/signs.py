"""Signs around the numbers of a text file, such as $5 or 12 %: taken off when a text is read, put on when one is written.

Sees private rows; each text is looked at alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from understudy.schema.reading import Values, missing_text, numbers_in

SIGN = r"""[^0-9.,'"+\-\s]+"""
"""What a sign may be made of, beside a blank: nothing that belongs to numbers."""
MONEY = r"\p{Sc}|EUR|USD|GBP|CHF|SEK|NOK|DKK|PLN|CZK|JPY|CNY|INR|AUD|CAD"
UNITS = "%|‰|°C?|mg|g|kg|t|mm|cm|m|km|ml|l|s|min|h|kWh|MB|GB"
"""Signs that are taken for such where none is declared: other words beside digits may make a code of them, or a null."""
BARE = r"\1\2\3"
"""What is left of a text that ``Signs.pattern`` describes."""


@dataclass(frozen=True)
class Signs:
    """What stands ``before`` and ``after`` each number of a column, a blank between them included."""

    before: str = ""
    after: str = ""

    def __bool__(self) -> bool:
        """Whether there is any."""
        return bool(self.before or self.after)

    @property
    def pattern(self) -> str:
        """The regular expression of a text with these signs, or without; a minus may stand on either side of the first."""
        before, after = re.escape(self.before.strip()), re.escape(self.after.strip())
        return rf"^([+-]?)\s*(?:{before})?\s*([+-]?)(.*?)\s*(?:{after})?$"

    def bare(self, text: pa.Array) -> pa.Array:
        """Return the texts without the signs."""
        if not self:
            return text
        return pc.replace_substring_regex(pc.utf8_trim_whitespace(text), pattern=self.pattern, replacement=BARE)

    def numbers_in(self, text: pa.Array, nulls: tuple[str, ...] = ()) -> Values:
        """Read numbers with the signs, or without; a text that means "missing" may be spelled with them, too."""
        found = numbers_in(self.bare(text), nulls)
        missing = found.missing | missing_text(text, nulls)
        return Values(found.numbers, missing, found.unreadable & ~missing)

    def worn(self, text: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return numbers as texts with the signs."""
        if not self:
            return text
        before, after = (sign.replace("\\", r"\\") for sign in (self.before, self.after))
        return pc.replace_substring_regex(text, pattern="^(-?)(.*)$", replacement=rf"\1{before}\2{after}")


UNSIGNED = Signs()
"""Plain numbers."""
