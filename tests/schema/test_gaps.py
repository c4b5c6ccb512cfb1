"""How far apart two columns in order are: cells that follow from the declaration, and values drawn by weights of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.schema import Schema, parse_schema
from understudy.schema.distances import Distances

MORE = "nullable = true\n"


def column(name: str, low: int, high: int, bins: int) -> str:
    return f'[columns.{name}]\nkind = "integer"\nmin = {low}\nmax = {high}\nbins = {bins}\n{MORE}'


def schema_of(*columns: str, order: str) -> Schema:
    return parse_schema("".join(columns) + f'[[zeros]]\nalways = "{order}"\n')


WIDE = schema_of(column("a", 0, 999, 4), column("b", 0, 1999, 5), order="a <= b")
CHAIN = schema_of(column("a", 0, 999, 4), column("b", 0, 999, 4), column("c", 0, 999, 4), order="a <= b <= c")


def test_cells_widen_and_each_distance_has_one() -> None:
    (gap,) = WIDE.gaps
    assert gap.name == "b above a"
    assert gap.starts[:10].tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 8, 10]
    distances = np.arange(2000.0)
    cells = gap.find(distances)
    assert (gap.ends[cells] <= distances).all()
    assert (distances < gap.ends[cells + 1]).all()
    assert gap.ends[-1] == 2000
    assert WIDE.fine["b above a"] == gap.size == len(gap.starts) + 1


@given(st.lists(st.tuples(st.none() | st.integers(-5, 1100), st.none() | st.integers(-5, 2100)), max_size=8))
def test_a_row_has_the_same_cell_whatever_stands_beside_it(rows: list[tuple[int | None, int | None]]) -> None:
    (gap,) = WIDE.gaps
    low, high = (pa.array([row[i] for row in rows], pa.int64()) for i in range(2))
    together = gap.encode(low, high).tolist()
    assert together == [int(gap.encode(low[i : i + 1], high[i : i + 1])[0]) for i in range(len(rows))]
    for cell, (a, b) in zip(together, rows, strict=True):
        known = a is not None and b is not None and 0 <= a <= 999 and 0 <= b <= 1999 and a <= b
        assert cell == (gap.find(np.array([b - a]))[0] if known else gap.size - 1)  # type: ignore[operator]


class Wrapped(pa.ExtensionType):
    def __init__(self) -> None:
        super().__init__(pa.int64(), "understudy.wrapped")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""


@pytest.mark.promise(13)
def test_every_form_of_a_column_that_has_codes_has_gaps() -> None:
    """Else a run would end after it was paid for."""
    (gap,) = WIDE.gaps
    low, high = pa.array([1, 5, None, 50, 50, 50]), pa.array([2, 60, 3, 51, 51, 51])
    plain = gap.encode(low, high).tolist()
    for form in (
        lambda values: pa.ExtensionArray.from_storage(Wrapped(), values),
        pc.run_end_encode,
        lambda values: values.dictionary_encode(),
        lambda values: values.cast(pa.string_view()),
        lambda values: pa.ExtensionArray.from_storage(Wrapped(), pa.concat_arrays([high, values])).slice(6),
    ):
        assert gap.encode(form(low), form(high)).tolist() == plain
        assert gap.encode(pa.chunked_array([form(low)]), high).tolist() == plain
        assert WIDE["a"].encode(form(low)).tolist() == WIDE["a"].encode(low).tolist()


def test_what_codes_tell_is_not_counted() -> None:
    assert schema_of(column("a", 0, 9, 10), column("b", 0, 9, 10), order="a <= b").gaps == ()
    assert len(schema_of(column("a", 0, 9, 10), column("b", 0, 9, 3), order="a <= b").gaps) == 1
    taken = schema_of(column("a", 0, 9, 2), column("b", 0, 9, 2), column("'b above a'", 0, 9, 2), order="a <= b")
    assert taken.gaps == ()
    assert "b above a" in taken.domain


def possible(schema: Schema, rows: int, rng: np.random.Generator) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """Return codes that no zero forbids, missing values among them."""
    codes = np.stack([rng.integers(0, size, rows) for size in schema.domain.sizes], axis=1)
    for zero in schema.zeros:
        codes = codes[~zero.table(schema.domain)[tuple(codes[:, [schema.domain.index(n) for n in zero.clique]].T)]]
    return codes


def short(schema: Schema) -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float64]]]:
    """Return weights of all gaps: between 3 and 11, evenly."""
    return {gap.name: np.where((gap.starts >= 3) & (gap.starts < 12), np.diff(gap.ends), 0.0) for gap in schema.gaps}


@pytest.mark.parametrize("schema", [WIDE, CHAIN], ids=["pair", "chain"])
def test_rows_keep_their_bins_and_orders_whatever_the_weights(schema: Schema) -> None:
    rng = np.random.default_rng(3)
    codes = possible(schema, 20_000, rng)
    table = schema.decode(codes, rng, short(schema))
    np.testing.assert_array_equal(schema.encode(table), codes)
    for order in schema.orders.pairs:
        low, high = (table[m.column.name].to_pandas() for m in (order.low, order.high))
        assert not (low > high).any()


@pytest.mark.parametrize("schema", [WIDE, CHAIN], ids=["pair", "chain"])
def test_distances_are_those_asked_for_where_bins_allow_it(schema: Schema) -> None:
    codes = np.zeros((40_000, len(schema.domain)), int)
    codes[:4000, 1:] = 1  # only the last values of the first bin are so near to the next; a chain crosses once
    table = schema.decode(codes, np.random.default_rng(3), short(schema)).to_pandas()
    for gap in schema.gaps:
        distances = (table[gap.columns[1]] - table[gap.columns[0]]).to_numpy()[4000 if schema is WIDE else 0 :]
        assert np.isin(distances, np.arange(3, 12)).mean() > 0.9995
        counts = np.bincount(distances)[3:12]
        assert np.abs(counts / counts.mean() - 1).max() < 0.1  # 6 standard deviations
    first = (table["b"] - table["a"]).to_numpy()[:4000]
    if schema is WIDE:
        assert (first >= 400 - 249).all()  # the next bin starts at 400, the first ends at 249: no distance is as likely
    else:
        assert np.isin(first, np.arange(3, 12)).mean() > 0.995


def test_columns_by_themselves_stay_as_they_are_weighted() -> None:
    """The lower lies at one end of its bin, most of the higher at single values."""
    schema = schema_of(column("a", 0, 9, 1), column("b", 0, 19, 1), order="a <= b")
    rng = np.random.default_rng(0)
    low = rng.choice(10, 200_000, p=[0.55] + [0.05] * 9)
    high = low + rng.choice(11, 200_000, p=[0.5] + [0.05] * 10)
    (gap,) = schema.gaps
    weights = {"a": np.bincount(low, minlength=10) * 1.0, "b": np.bincount(high, minlength=20) * 1.0}
    weights[gap.name] = np.bincount(gap.find((high - low) * 1.0), minlength=gap.size - 1) * 1.0
    table = schema.decode(np.zeros((200_000, 2), int), rng, weights).to_pandas()
    for name, true in (("a", low), ("b", high)):
        drawn = np.bincount(table[name], minlength=20)
        assert np.abs(np.cumsum(drawn) - np.cumsum(np.bincount(true, minlength=20))).max() < 0.01 * 200_000
    assert abs((table["b"] - table["a"]).mean() / (high - low).mean() - 1) < 0.02


def test_given_values_stay() -> None:
    codes, rng = np.zeros((2_000, 2), int), np.random.default_rng(0)
    given = {"b": pa.array([240] * 2_000)}
    table = WIDE.decode(codes, rng, short(WIDE), given).to_pandas()
    assert (table["b"] == 240).all()
    assert table["a"].between(229, 237).all()


def test_a_gap_that_few_of_many_rows_have_is_drawn_from() -> None:
    """The factors are fitted on a part of the rows, which may be without these."""
    codes = np.zeros((200_000, 2), int)
    codes[:, 0] = WIDE["a"].size - 1  # missing, but for one row
    codes[5] = 0
    table = WIDE.decode(codes, np.random.default_rng(2), short(WIDE)).to_pandas()
    assert table["a"].notna().sum() == 1
    assert 3 <= table["b"][5] - table["a"][5] < 12


def test_long_chains_with_many_missing_values_are_drawn_in_little_memory_and_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Proposals would grow with the square of the columns, and each set of missing values was worked on by itself."""
    names = [f"c{i:02}" for i in range(24)]
    schema = schema_of(*(column(name, 0, 999, 4) for name in names), order=" <= ".join(names))
    held: list[int] = []
    weighed = Distances._weighed

    def watched(self: Distances, part: Any, apart: Any, drawn: Any, weights: Any) -> Any:
        held.append(sum(values.size for values in drawn.values()))
        return weighed(self, part, apart, drawn, weights)

    monkeypatch.setattr(Distances, "_weighed", watched)
    rng = np.random.default_rng(0)
    codes = np.where(rng.random((2_000, 24)) < 0.2, 4, 0)
    codes[:1_000] = 0
    table = schema.decode(codes, rng, short(schema))
    assert max(held) < 24 * 2_000 * 2 * 8
    assert len(held) <= 2 * 24 * 23 / 2  # once to fit, once to draw: for each run of columns that have values
    np.testing.assert_array_equal(schema.encode(table), codes)
