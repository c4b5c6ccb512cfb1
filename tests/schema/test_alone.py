"""What a text counts as depends on that text alone, whatever stands beside it: signs, the end of the day, the ladder."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from understudy.schema import parse_schema
from understudy.schema.dialect import Dialect
from understudy.schema.ladder import TEXT, Climber, ladder
from understudy.schema.spelling import SPELLINGS, Spelt
from understudy.source.figures import plain_numbers

NUMBERS = [
    "$5",
    "-$5",
    "$-5",
    "$-$5",
    "5",
    " 5 % ",
    "12 %",
    "12 %%",
    "%",
    "$",
    "$ -",
    "$1,234.5",
    "1.234,5 %",
    "1e400",
    "n/a",
]
TIMES = [
    "24:00",
    "2400",
    "2400.0",
    "24:00:00",
    "240000",
    "00:00",
    "0000",
    "0",
    "12:30",
    "1230",
    "23:59:60",
    "25:61",
    "24:01",
]
DAYS = ["03/04/2020", "13/04/2020", "04/13/2020", "12/12/2099 23:59:60", "31/12/2099 23:59:59", "99.99.9999", "31.12.1899"]
DAYS += [
    "1.1.2100",
    "31.12.2099",
    "1.1.1900",
    "2020-02-29",
    "2020-02-30",
    "1/2/2003 4:05",
    "1/2/2003 24:00",
    "2100/01/01 00:00:00",
]
NAMED = [
    "08-Nov-20",
    "8-NOV-51",
    "31-Dec-49",
    "29-feb-00",
    "29-Feb-99",
    "1-Mai-20",
    "07:54 AM",
    "12:00 pm",
    "0:10 AM",
    "13:00 PM",
    "Nov 08, 2020 7:54 pm",
    "May 8, 2020",
    "8/11/20",
    "13/11/20 23:59:60",
    "11/31/20",
    "20-11-08",
    "5 PM",
    "2020-01-05 07:54 AM",
    "8. November 2020",
]
WORDS = [
    "",
    " ",
    "yes",
    "T",
    "J",
    "0012",
    "0" * 500,
    "a\x00b",
    "1\n2",
    "5\r",
    "\u200f5",
    "\u202e$5",
    "１２",
    "9" * 400,
    "x" * 5000,
]
ALL = [None, *NUMBERS, *TIMES, *DAYS, *NAMED, *WORDS]
TEXTS = st.lists(st.sampled_from(ALL) | st.text(max_size=8), max_size=12)
BETWEEN = "min = -9\nmax = 90\nnullable = true\n"
COLUMNS = {
    "sign before": f'kind = "integer"\n{BETWEEN}before = "$"\nnulls = ["$ -", -99]',
    "sign after": f'kind = "real"\n{BETWEEN}after = " %"\ndecimals = 1\nother = 0',
    "signs": f'kind = "real"\n{BETWEEN}before = "$"\nafter = "%"',
    "end of the day": 'kind = "time"\nmax = "24:00"\nnullable = true',
    "end in digits": 'kind = "time"\nmax = "24:00"\nformat = "%H%M"\ntype = "int64"\nnullable = true',
    "end in seconds": 'kind = "time"\nmax = "24:00"\nformat = "%H:%M:%S"\nother = 12:00:00',
    "two digits": 'kind = "date"\nmin = 1950-01-01\nmax = 2049-12-31\nformat = "%d-%b-%y"\nnullable = true',
    "half days": 'kind = "time"\nformat = "%-I:%M %p"\nother = 12:00:00\ninvalid = "other"',
    "no end": 'kind = "time"\nformat = "%H%M"\nother = 12:00:00\ninvalid = "other"',
}


@pytest.mark.promise(27)
@pytest.mark.parametrize("name", COLUMNS)
@given(texts=TEXTS)
@example(texts=ALL)
def test_declared_columns_read_each_text_alone(name: str, texts: list[str | None]) -> None:
    column = parse_schema(f"[columns.x]\n{COLUMNS[name]}\n").columns[0]
    alone = [int(column.encode(pa.array([text], pa.string()))[0]) for text in texts]
    assert column.encode(pa.array(texts, pa.string())).tolist() == alone
    assert column.encode(pa.array(texts, pa.large_string()).dictionary_encode()).tolist() == alone


@pytest.mark.promise(27)
@given(texts=TEXTS)
@example(texts=ALL)
def test_the_ladder_has_a_cell_for_each_text_alone(texts: list[str | None]) -> None:
    climber = Climber("x")
    alone = [int(climber.encode(pa.array([text], pa.string()))[0]) for text in texts]
    assert climber.encode(pa.array(texts, pa.string())).tolist() == alone
    assert climber.encode(pa.array(texts, pa.string()).dictionary_encode()).tolist() == alone
    assert all(0 <= code < ladder().size for code in alone)


@pytest.mark.parametrize(
    "text", ["31.12.1899", "1.1.2100", "2100/01/01", "2100/01/01 00:00:00", "1/2/2003 24:00", "12/12/2099 23:59:60"]
)
def test_days_that_the_ladder_does_not_know_are_texts(text: str) -> None:
    assert Climber("x").encode(pa.array([text])).tolist() == [TEXT]


@pytest.mark.promise(27)
@given(texts=TEXTS, dialect=st.sampled_from([Dialect(), Dialect(thousands=","), Dialect(decimal=",", thousands=".")]))
@example(texts=ALL, dialect=Dialect(thousands=","))
def test_numbers_of_text_files_are_spelled_anew_each_alone(texts: list[str | None], dialect: Dialect) -> None:
    alone = [plain_numbers(pa.array([text], pa.string()), dialect)[0].as_py() for text in texts]
    assert plain_numbers(pa.array(texts, pa.string()), dialect).to_pylist() == alone


@pytest.mark.promise(27)
@given(texts=TEXTS)
@example(texts=ALL)
def test_how_a_text_is_spelled_is_told_by_itself(texts: list[str | None]) -> None:
    spelt = Spelt("x")
    alone = [int(spelt.encode(pa.array([text], pa.string()))[0]) for text in texts]
    assert spelt.encode(pa.array(texts, pa.string())).tolist() == alone
    assert spelt.encode(pa.array(texts, pa.large_string()).dictionary_encode()).tolist() == alone
    assert max(alone, default=0) < SPELLINGS
