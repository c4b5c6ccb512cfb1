"""Who is a person, and which rows of one are used."""

from __future__ import annotations

import datetime as dt
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.schema import Schema, parse_schema
from understudy.schema.cells import Categories, Objects
from understudy.schema.person import Identities, Person
from understudy.source import StreamedSource, open_source, tables
from understudy.source.codes import Codes
from understudy.source.persons import Census, Limit, Marks

PERSON = Person("who", 3, nulls=("?",))


def bits(values: Any) -> list[tuple[int, int] | None]:
    """Return what tells each identifier from the others; None where there is none."""
    found = PERSON.identify(values)
    rows = zip(found.first.tolist(), found.second.tolist(), found.missing.tolist(), strict=True)
    return [None if missing else (first, second) for first, second, missing in rows]


SAME: list[list[Any]] = [
    [1, 1.0, "1", " 1 ", b"1", Decimal("1"), Decimal("1.00"), np.int8(1), np.float32(1), True + 0],
    ["01", "01 "],
    ["1.0"],
    [-3, "-3", -3.0],
    [0, "0", 0.0, -0.0],
    [2**53 + 1, str(2**53 + 1), Decimal(2**53 + 1)],
    [2**53 + 2, float(2**53 + 2)],
    [10**18 - 1, str(10**18 - 1)],
    [10**18, str(10**18), Decimal(10**18), 1e18],
    [2**63 - 1, str(2**63 - 1)],
    [2**64 - 1, str(2**64 - 1), np.uint64(2**64 - 1)],
    [10**30, str(10**30)],
    [Decimal("1E+999999999")],
    [0.5, "0.5", Decimal("0.50")],
    ["Ann", " Ann"],
    ["ann"],
    [True],
    [dt.date(2020, 1, 1), dt.datetime(2020, 1, 1)],
    [float("inf")],
    [b"\xff\x01", pa.scalar(b"\xff\x01").as_py()],
    [b"\xff\x02"],
    ["東京", "東京\n"],
]
MISSING: list[Any] = [None, float("nan"), "", "  ", "?", " ? ", pd.NA, pd.NaT, np.datetime64("NaT"), Decimal("NaN")]


@pytest.mark.promise(16)
def test_identifiers_are_the_same_where_their_values_are() -> None:
    everything = [value for group in SAME for value in group]
    told = iter(bits(Objects([*everything, *MISSING])))
    groups = [{next(told) for _ in group} for group in SAME]
    assert [len(group) for group in groups] == [1] * len(SAME)
    assert len(set.union(*groups)) == len(SAME)
    assert None not in set.union(*groups)
    assert list(told) == [None] * len(MISSING)


@pytest.mark.promise(16)
@pytest.mark.parametrize(
    "values",
    [
        pa.array([5, None, 7], pa.int16()),
        pa.array([5, None, 7], pa.uint64()),
        pa.array([5.0, None, 7.0]),
        pa.array(["5", None, "7"]),
        pa.array([b"5", None, b"7"], pa.binary()),
        pa.array([Decimal(5), None, Decimal(7)], pa.decimal128(20, 3)),
        pa.array(["5", None, "7"]).dictionary_encode(),
        pa.array(["5", None, "7"], pa.string_view()),
        pa.chunked_array([pa.array(["5", "?"]), pa.array(["7"])]),
        pa.RunEndEncodedArray.from_arrays(pa.array([1, 2, 3]), pa.array([5, None, 7])),
        Objects([5, float("nan"), "7"]),
        Categories(Objects(["5", 7]), np.array([0, -1, 1])),
    ],
    ids=lambda values: str(getattr(values, "type", "objects")),
)
def test_identifiers_of_every_type(values: Any) -> None:
    assert bits(values) == [bits(Objects([5]))[0], None, bits(Objects([7]))[0]]
    assert bits(values.slice(1, 2)) == bits(values)[1:]


@pytest.mark.promise(16)
@pytest.mark.parametrize(
    "values",
    [
        pa.array([-1, 5], pa.int8()),
        pa.array([-1, 5], pa.int64()).dictionary_encode(),
        pa.array([-1.0, 5.0]),
        pa.array([-1, 5], pa.int64()).cast(pa.decimal128(20, 1)),
        pa.array(["-1", "5"]),
        Objects([-1, 5]),
        Objects([-1.0, 5.0]),
        Objects([np.float32(-1), np.int8(5)]),
        Categories(pa.array([5, -1]), np.array([1, 0])),
    ],
    ids=lambda values: str(getattr(values, "type", "objects")),
)
def test_a_null_is_nobody_in_every_type(values: Any) -> None:
    found = Person("who", 3, nulls=("?", "-1", "0.5")).identify(values)
    assert found.missing.tolist() == [True, False]


@pytest.mark.promise(16)
def test_a_record_of_nobody_moves_one_count_where_a_number_means_nobody() -> None:
    schema = parse_schema(
        'person = "who"\nrows_per_person = 1\n[table]\nnulls = ["-1"]\n'
        '[columns.x]\nkind = "integer"\nmin = 0\nmax = 9\nnullable = true'
    )
    for added in range(10):
        one, two = (
            open_source({"who": np.full(len(x), -1), "x": np.array(x)}, schema).count([("x",)])[0] for x in ([3], [3, added])
        )
        assert int(np.abs(two - one).sum()) == 1


def test_columns_without_any_identifier() -> None:
    assert bits(pa.nulls(3)) == [None] * 3
    assert bits(pa.chunked_array([], pa.string())) == []


# Which rows are used.


def marks(people: Sequence[int], contents: Sequence[int]) -> Marks:
    identities = PERSON.identify(pa.array(people, pa.int64()))
    return Marks.of(identities, Codes(len(people), (np.array(contents, np.uint32),)))


def used(people: Sequence[int], contents: Sequence[int], most: int, batch: int) -> list[tuple[int, int]]:
    """Return the rows that are used, read in batches of so many."""
    parts = [marks(people[i : i + batch], contents[i : i + batch]) for i in range(0, len(people), batch)]
    limit = Limit(Census.of(parts, most), most)
    found = [flag for part in parts for flag in limit.used(part, np.zeros(len(part.rank), np.bool_))]
    return [(who, what) for who, what, flag in zip(people, contents, found, strict=True) if flag]


rows = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), max_size=60)


@pytest.mark.promise(16)
@given(rows, st.integers(1, 7), st.integers(1, 20), st.randoms(use_true_random=False))
def test_each_person_has_as_many_rows_as_allowed_in_whatever_order(
    table: list[tuple[int, int]], most: int, batch: int, random: Any
) -> None:
    people, contents = [who for who, _ in table], [what for _, what in table]
    found = used(people, contents, most, batch)
    assert Counter(who for who, _ in found) == {who: min(most, n) for who, n in Counter(people).items()}
    assert not Counter(found) - Counter(table)
    shuffled = random.sample(table, len(table))
    again = used([who for who, _ in shuffled], [what for _, what in shuffled], most, 7)
    assert Counter(again) == Counter(found)


@pytest.mark.promise(16)
@given(rows, st.integers(1, 7))
def test_what_is_used_of_a_person_depends_on_nobody_else(table: list[tuple[int, int]], most: int) -> None:
    together = Counter(used([who for who, _ in table], [what for _, what in table], most, 11))
    mine: dict[int, list[int]] = defaultdict(list)
    for who, what in table:
        mine[who].append(what)
    alone = sum((Counter(used([who] * len(own), own, most, 5)) for who, own in mine.items()), Counter())
    assert together == alone


@pytest.mark.promise(16)
def test_what_is_used_of_a_person_does_not_depend_on_how_many_there_are() -> None:
    people, contents = [i for i in range(1_000) for _ in range(4)], [0, 1, 2, 3] * 1_000
    together = used(people, contents, 1, 2**16)
    assert together[:100] == [row for who in range(100) for row in used([who] * 4, contents[:4], 1, 4)]


@pytest.mark.promise(16)
def test_every_row_of_a_person_has_the_same_chance() -> None:
    """20,000 persons with the same seven rows, three of which are alike. False alarms: none, since nothing is drawn."""
    contents, persons = [0, 1, 1, 1, 2, 3, 4], 20_000
    found = Counter(what for _, what in used([i for i in range(persons) for _ in contents], contents * persons, 3, 2**16))
    for what, copies in Counter(contents).items():
        share, chance = found[what] / copies / persons, 3 / 7
        assert abs(share - chance) < 5 * np.sqrt(chance / persons)  # copies are used together, so theirs vary more


@pytest.mark.promise(16)
def test_persons_that_are_alike_in_half_their_bits_are_two() -> None:
    first, second = np.array([7, 7, 7, 9], np.uint64), np.array([1, 3, 5, 1], np.uint64)
    people = [Marks(first[i : i + 1], second[i : i + 1], np.zeros(1, np.uint64)) for i in (2, 0, 3, 1, 2)]
    census = Census.of(people, 1)
    assert census.find(first, second).tolist() == [0, 1, 2, 3]
    absent = np.array([2, 7], np.uint64)
    assert census.find(np.array([7, 8], np.uint64), absent).tolist() == [-1, -1]


@pytest.mark.promise(16)
def test_marks_of_a_large_table_go_to_files_and_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    people, contents = [i % 300 for i in range(5_000)], [i % 7 for i in range(5_000)]
    before = used(people, contents, 4, 500)
    monkeypatch.setattr("understudy.source.persons._BUFFER_ROWS", 700)
    monkeypatch.setattr("understudy.source.persons._HELD_ROWS", 1_500)
    assert used(people, contents, 4, 500) == before
    assert len(before) == 1_200


class Growing:
    """A reader of a table to which rows of all kinds are added after it was read once, also of a new person."""

    passes = 0

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        self.passes += 1
        rows = [(who, x) for who in (1, 2) for x in range(2 * who)]
        rows += [(who, x) for who in (1, 2, 3) for x in range(30)] if self.passes > 1 else []
        columns = {"who": pa.array([who for who, _ in rows]), "x": pa.array([x for _, x in rows])}
        yield pa.RecordBatch.from_pydict({name: columns[name] for name in names})


SMALL = parse_schema('person = "who"\nrows_per_person = 3\n[columns.x]\nkind = "integer"\nmin = 0\nmax = 29\nother = 0\n')


@pytest.mark.promise(16)
@pytest.mark.parametrize(("kept", "passes"), [(0, 5), (2**20, 3)])
def test_the_limit_holds_in_every_pass_also_where_the_table_grows_between(
    kept: int, passes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "KEPT_BYTES", kept)
    reader = Growing()
    source = StreamedSource(reader, SMALL)
    for _ in range(3):
        assert source.count([("x",)])[0].sum() <= 3 + 3
    assert reader.passes == passes  # one to see who is there, one a count; or the second is the last, and keeps the codes


def test_a_reader_may_read_nobody() -> None:
    empty = {"who": [], "x": []}
    assert open_source(empty, SMALL).count([("x",)])[0].sum() == 0
    assert len(Identities.none(0).first) == 0


def test_the_identifier_is_no_column(tmp_path: Any) -> None:
    schema: Schema = SMALL
    assert list(schema.domain) == ["x"]
    assert schema.person == Person("who", 3)
