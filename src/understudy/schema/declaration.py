"""The shape of a schema file, as pydantic models; the published JSON Schema is made from these.

Public: a declaration holds what a person wrote. Whether it makes sense is decided
when columns are built from it.
"""

from __future__ import annotations

from datetime import date, datetime, time
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from understudy.schema.signs import SIGN

DEFAULT_BINS = 32  # as in the preprocessing of the AIM paper
MAX_CODES = 100_000
MAX_ROWS_PER_PERSON = 1_000_000

IntegerType = Literal["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
TextType = Literal["string", "large_string", "category"]
Bound = Annotated[float, Field(allow_inf_nan=False)]


class Declared(BaseModel):
    """What every part of the file shares: unknown keys are errors, and nothing is converted silently."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class CsvDeclaration(Declared):
    """How the CSV files of the table are written."""

    separator: str | None = Field(
        default=None, description="What separates the fields: one ASCII character. Default: a comma, in .tsv files a tab."
    )
    quote: str | None = Field(
        default=None, description='What stands around quoted fields: one ASCII character, or "" for none. Default: ".'
    )
    encoding: str | None = Field(
        default=None, description='Of the text: utf-8 (the default), or one byte for each character, such as "latin-1".'
    )
    header: Literal[True] | list[str] | None = Field(
        default=None, description="The names of the columns, when the first line does not hold them. Default: true, it does."
    )
    decimal: str | None = Field(
        default=None, description='What stands before the decimals of a number: "." (the default) or ",".'
    )
    thousands: str | None = Field(
        default=None,
        description='What may stand between the thousands of a number: ".", ",", "\'" or a blank. Default: nothing.',
    )


class LearntDeclaration(Declared):
    """What it cost to learn the schema from the rows; nobody need vouch for it."""

    epsilon: float = Field(gt=0, description="Of the promise under which it was learnt, with delta.")
    delta: float = Field(gt=0, lt=1, description="Of the promise under which it was learnt, with epsilon.")
    rho: float | None = Field(default=None, gt=0, description="What the noise cost in zCDP, at the delta that texts leave.")
    texts: float = Field(default=0.0, ge=0, lt=1, description="Of delta, the part for texts that few people share.")
    threshold: int | None = Field(
        default=None, ge=1, description="A text was told only where its count with noise reached this number."
    )
    rare: int | None = Field(
        default=None, ge=0, description="A text that no more rows than this have was told with a chance of delta at most."
    )
    unit: str = Field(default="add_remove", description="What that promise protects: a row, or a person with so many rows.")
    private: bool = Field(default=True, description="false where the noise was seeded, for research.")


class OpenedDeclaration(Declared):
    """Columns that were open until a run had learnt their values."""

    columns: list[str] = Field(min_length=1, description="Their names.")
    private: bool = Field(default=True, description="false where the noise was seeded, for research.")


class Table(Declared):
    """Settings of the whole table."""

    name: str | None = Field(default=None, description="A name for people.")
    description: str | None = Field(default=None, description="What the table is about.")
    draft: bool = Field(
        default=False,
        description="true until a person has reviewed every line; a draft is refused by synthesize.",
    )
    nulls: list[str] = Field(
        default=[], description='Texts that mean "missing", such as "NA" or "?". Blank text always does.'
    )
    csv: CsvDeclaration | None = Field(default=None, description="How its CSV files are written, when not as usual.")
    learnt: LearntDeclaration | None = Field(
        default=None, description="Of a schema that was learnt under a budget: what that cost. Written by the software."
    )
    opened: OpenedDeclaration | None = Field(
        default=None, description="Columns that were open, whose values a run has learnt. Written by the software."
    )


class _Column(Declared):
    description: str | None = Field(default=None, description="What the column holds, for people.")
    nullable: bool = Field(
        default=False, description="Whether a missing value is an ordinary answer, with a code of its own."
    )
    nulls: list[str | int | float] = Field(
        default=[], description='What means "missing" in this column, such as "N" or -9; it is written as the first of them.'
    )


class _Listed(_Column):
    values: list[str] | list[int] = Field(description="The values, as they are spelled in the table.")
    other: str | int | None = Field(
        default=None,
        description="What an unlisted value counts as: a listed value, or a label with a code of its own.",
    )
    invalid: Literal["other", "null"] | None = Field(
        default=None,
        description="Where a value that is not listed goes. Default: other when it is declared, else null.",
    )
    labels: dict[str, str] = Field(default={}, description='What values mean, for people: { "1" = "Male", "2" = "Female" }.')
    prefix: int | None = Field(default=None, ge=1, description="A text counts as its first so many characters.")
    type: TextType | IntegerType | None = Field(default=None, description="The type of the decoded column.")


class Categorical(_Listed):
    """A column of listed values without an order."""

    kind: Literal["categorical"]


class Ordinal(_Listed):
    """A column of listed values, lowest first."""

    kind: Literal["ordinal"]


class Open(_Column):
    """Texts that nobody lists: each run learns those that many rows have, under its budget. The others are one value."""

    kind: Literal["open"]
    other: str = Field(default="(other)", min_length=1, description="What texts that few rows have are called.")
    prefix: int | None = Field(default=None, ge=1, description="A text counts as its first so many characters.")
    type: TextType | None = Field(default=None, description="The type of the decoded column.")


class Boolean(_Column):
    """True or false."""

    kind: Literal["boolean"]
    other: bool | None = Field(default=None, description="What a value that is neither true nor false counts as.")
    invalid: Literal["other", "null"] | None = Field(
        default=None,
        description="Where a value that is neither goes. Default: other when it is declared, else null.",
    )


class _Binned(_Column):
    invalid: Literal["clamp", "other", "null"] = Field(
        default="clamp",
        description="Where a value out of range goes: the nearest bin, the catch-all, or null.",
    )


SIGNS = "^[ \u00a0\u202f]?" + SIGN + "[ \u00a0\u202f]?$"
BEFORE = Field(default=None, pattern=SIGNS, max_length=20, description='What stands before each number in a text file: "$".')
AFTER = Field(default=None, pattern=SIGNS, max_length=20, description='What stands after each number in a text file: " %".')


class Integer(_Binned):
    """Whole numbers between bounds."""

    kind: Literal["integer"]
    before: str | None = BEFORE
    after: str | None = AFTER
    min: int | None = Field(default=None, description="The smallest value.")
    max: int | None = Field(default=None, description="The largest value.")
    bins: int = Field(
        default=DEFAULT_BINS,
        ge=1,
        le=MAX_CODES,
        description="How many bins; one value each when there are few.",
    )
    width: int | None = Field(default=None, ge=1, description="Bin width instead of bins; the last bin includes max.")
    edges: list[int] | None = Field(
        default=None,
        description="Where each bin starts, then the largest value, instead of min, max and bins.",
    )
    step: int | None = Field(default=None, ge=1, description="Values are multiples of this.")
    other: int | None = Field(default=None, description="What a value that cannot be placed counts as.")
    type: IntegerType = Field(default="int64", description="The type of the decoded column.")


class Real(_Binned):
    """Real numbers between bounds."""

    kind: Literal["real"]
    before: str | None = BEFORE
    after: str | None = AFTER
    min: Bound | None = Field(default=None, description="The smallest value.")
    max: Bound | None = Field(default=None, description="The largest value.")
    bins: int = Field(default=DEFAULT_BINS, ge=1, le=MAX_CODES, description="How many bins of equal width.")
    width: Bound | None = Field(default=None, gt=0, description="Bin width instead of bins; the last bin includes max.")
    edges: list[Bound] | None = Field(
        default=None,
        description="Where each bin starts, then the largest value, instead of min, max and bins.",
    )
    decimals: int | None = Field(default=None, ge=0, le=12, description="Values have this many decimals, as money has 2.")
    step: Bound | None = Field(default=None, gt=0, description="Values are multiples of this, such as 0.25 or 100.")
    other: Bound | None = Field(default=None, description="What a value that cannot be placed counts as.")
    type: Literal["float32", "float64"] | Annotated[str, Field(pattern=r"^decimal\(\d+, ?\d+\)$")] = Field(
        default="float64", description='The type of the decoded column; "decimal(12, 2)" sets decimals too.'
    )


class Date(_Binned):
    """Days between bounds."""

    kind: Literal["date"]
    min: date | None = Field(default=None, description="The first day.")
    max: date | None = Field(default=None, description="The last day.")
    bins: int | None = Field(default=None, ge=1, le=MAX_CODES, description="How many bins of equal width. Default 32.")
    width: str | None = Field(default=None, description='Bin width instead of bins: "7 days", "1 month", "quarter", "year".')
    edges: list[date] | None = Field(default=None, description="Where each bin starts, then the last day.")
    other: date | None = Field(default=None, description="What a value that cannot be placed counts as.")
    format: str | None = Field(default=None, description='How the table spells days, when it holds text: "%d/%m/%Y".')


STEP = Field(default=None, description='Values are whole multiples of this: "15 minutes", "1 hour".')


class DateTime(_Binned):
    """Moments between bounds, to the second."""

    kind: Literal["datetime"]
    min: datetime | None = Field(default=None, description="The first moment.")
    max: datetime | None = Field(default=None, description="The last moment.")
    bins: int | None = Field(default=None, ge=1, le=MAX_CODES, description="How many bins of equal width. Default 32.")
    width: str | None = Field(default=None, description='Bin width instead of bins: "6 hours", "7 days", "1 month", "year".')
    edges: list[datetime] | None = Field(default=None, description="Where each bin starts, then the last moment.")
    other: datetime | None = Field(default=None, description="What a value that cannot be placed counts as.")
    format: str | None = Field(
        default=None, description='How the table spells moments, when it holds text: "%d/%m/%Y %H:%M".'
    )
    step: str | None = STEP
    timezone: str | None = Field(default=None, description='The time zone of the decoded column, such as "Europe/Paris".')
    type: Literal["timestamp[s]", "timestamp[ms]", "timestamp[us]", "timestamp[ns]"] = Field(
        default="timestamp[us]", description="The type of the decoded column."
    )


END_OF_DAY = "24:00"
"""The midnight after the last minute of a day, which TOML has no time for."""
EndOfDay = Literal["24:00"]


class Time(_Binned):
    """Times of day."""

    kind: Literal["time"]
    min: time | None = Field(default=None, description="The first time. Default: midnight.")
    max: time | EndOfDay | None = Field(
        default=None, description='The last time. Default: the last one before midnight; "24:00" is the end of the day.'
    )
    bins: int | None = Field(default=None, ge=1, le=MAX_CODES, description="How many bins of equal width.")
    width: str | None = Field(default=None, description='Bin width instead of bins: "30 minutes". Default: "1 hour".')
    edges: list[time] | None = Field(default=None, description="Where each bin starts, then the last time.")
    other: time | None = Field(default=None, description="What a value that cannot be placed counts as.")
    format: str = Field(default="%H:%M", description='How the table spells times: "%H:%M", "%H:%M:%S", "%H%M".')
    step: str | None = STEP
    type: Literal["string", "time32[s]", "time64[us]", "float64"] | IntegerType = Field(
        default="string", description='The type of the decoded column; a type of numbers goes with "%H%M".'
    )


class Derived(Declared):
    """A column that follows from others: it is never read, and worked out for each synthetic row."""

    kind: Literal["derived"]
    description: str | None = Field(default=None, description="What the column holds, for people.")
    expression: str | None = Field(default=None, description='How it follows: "month(admitted)", "adults + children".')
    of: str | None = Field(default=None, description="The column that it is looked up by, instead of an expression.")
    lookup: dict[str, bool | int | float | str] | None = Field(
        default=None, min_length=1, description='Its value for each value (or bin) of that column: { "North" = 112 }.'
    )
    decimals: int | None = Field(default=None, ge=0, le=12, description="Values are rounded to this many decimals.")
    type: Literal["string", "bool", "float32", "float64"] | IntegerType | None = Field(
        default=None, description="The type of the column. Default: that of what is looked up, or worked out."
    )


ColumnDeclaration = Annotated[
    Categorical | Ordinal | Open | Boolean | Integer | Real | Date | DateTime | Time | Derived, Field(discriminator="kind")
]
KINDS = ("categorical", "ordinal", "open", "boolean", "integer", "real", "date", "datetime", "time", "derived")


class Null(Declared):
    """Null, where a file format has no word for it: ``{ null = true }``."""

    null: Literal[True]


class ZerosDeclaration(Declared):
    """Combinations that cannot occur: listed, or by a rule ("when … then …", "never …", or "always …", an order)."""

    description: str | None = Field(default=None, description="Why they cannot occur.")
    columns: list[str] | None = Field(default=None, description="The columns of the listed combinations.")
    values: list[list[str | bool | int | float | datetime | date | time | Null]] | None = Field(
        default=None, description="Impossible combinations, one value for each of columns."
    )
    when: str | None = Field(default=None, description='A condition, such as "age < 16".')
    then: str | None = Field(
        default=None, description="What always holds under when, such as 'marital = \"Never-married\"'."
    )
    never: str | None = Field(default=None, description="A condition that never holds.")
    always: str | None = Field(
        default=None, description='An order of columns that always holds, such as "children <= household".'
    )


class SchemaDeclaration(Declared):
    """A schema file: what a table may contain, declared and never looked up."""

    model_config = ConfigDict(title="Understudy schema")

    person: str | None = Field(
        default=None,
        min_length=1,
        description="The column that identifies a person, where one may have several rows. It is never released.",
    )
    rows_per_person: int | None = Field(
        default=None, ge=1, le=MAX_ROWS_PER_PERSON, description="How many rows of each person are used at most."
    )
    table: Table = Field(default=Table(), description="Settings of the whole table.")
    columns: dict[str, ColumnDeclaration] = Field(min_length=1, description="The columns, in order.")
    zeros: list[ZerosDeclaration] = Field(default=[], description="Combinations that cannot occur.")


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of a schema file, for editors."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **SchemaDeclaration.model_json_schema(),
    }
