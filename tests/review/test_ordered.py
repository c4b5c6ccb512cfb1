"""Orders between columns that all rows keep are proposed; those that say nothing, or that a row breaks, are not."""

import datetime as dt
import re
from pathlib import Path

import numpy as np
import pyarrow as pa

from understudy import check_schema, draft_schema
from understudy.review.marks import change, finish
from understudy.schema import parse_schema


def proposed(table: dict[str, object]) -> str:
    found = re.search(r"# REVIEW: in all rows (.*?)\. An order", draft_schema(pa.table(table)))
    return "" if found is None else found[1]


def stays(rows: int = 2_000) -> dict[str, object]:
    rng = np.random.default_rng(0)
    begin = rng.integers(0, 600, rows)
    size = 1 + rng.binomial(7, 0.4, rows)
    day = np.datetime64("2022-01-01")
    return {
        "Beginn": day + begin,
        "Ende": day + begin + rng.geometric(0.2, rows),
        "household size": size,
        "children": np.minimum(rng.binomial(5, 0.3, rows), size),
        "distance": rng.integers(1_000, 2_000, rows),  # above all the other numbers, whatever they mean
    }


def test_orders_that_hold_in_all_rows_are_proposed() -> None:
    assert proposed(stays()) == "Beginn <= Ende, children <= `household size`"


def test_one_row_that_breaks_an_order_is_enough() -> None:
    table = stays(20_000)
    ends = np.asarray(table["Ende"]).copy()
    ends[7] = np.datetime64("2021-12-31")
    assert proposed(table | {"Ende": ends}) == "children <= `household size`"


def test_a_moment_that_is_another_and_a_length_is_proposed_as_derived() -> None:
    table = stays()
    nights = (np.asarray(table["Ende"]) - np.asarray(table["Beginn"])).astype("m8[D]").astype(int)
    text = draft_schema(pa.table(table | {"nights spent": nights}))
    assert "In all rows Ende = Beginn + days(`nights spent`): if that is so by what they mean" in text
    nights[3] += 1
    assert "derived" not in draft_schema(pa.table(table | {"nights spent": nights}))


def test_minutes_between_date_times_are_found(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    starts = [dt.datetime(2023, 1, 1) + dt.timedelta(minutes=int(m)) for m in rng.integers(0, 400_000, 500)]
    stays = rng.integers(1, 300, 500).tolist()
    form = "%d.%m.%Y %H:%M"
    rows = [f"{a:{form}};{m};{a + dt.timedelta(minutes=m):{form}}" for a, m in zip(starts, stays, strict=True)]
    (tmp_path / "a.csv").write_text("\n".join(["arrival;stay;discharge", *rows, f";7;{starts[0]:{form}}"]) + "\n")
    text = draft_schema(tmp_path / "a.csv")
    rule = "arrival + minutes(stay)"
    assert f"discharge = {rule}" in text
    derived = change(
        finish("".join(line for line in text.splitlines(True) if "# REVIEW: " not in line)),
        "discharge",
        ['kind = "derived"', f'expression = "{rule}"'],
    )
    assert [one.rows for one in check_schema(tmp_path / "a.csv", parse_schema(derived))] == [
        1
    ]  # the arrival that is missing


def test_what_follows_from_others_is_not_said_again() -> None:
    table = stays()
    paid = np.asarray(table["Ende"]) + np.random.default_rng(1).integers(0, 30, 2_000)
    assert proposed(table | {"paid": paid}).split(", ")[:2] == ["Beginn <= Ende", "Ende <= paid"]


def test_missing_values_break_no_order() -> None:
    table = stays()
    ends = [None if i % 9 == 0 else day for i, day in enumerate(np.asarray(table["Ende"]).astype("M8[D]").tolist())]
    assert isinstance(ends[1], dt.date)
    assert "Beginn <= Ende" in proposed(table | {"Ende": pa.array(ends)})


def test_columns_without_an_order_and_the_same_column_twice_are_not_proposed() -> None:
    rng = np.random.default_rng(0)
    one = rng.integers(0, 50, 1_000)
    assert proposed({"a": one, "b": rng.integers(0, 50, 1_000), "c": one}) == ""


def test_what_is_proposed_can_be_declared() -> None:
    draft = draft_schema(pa.table(stays()))
    rule = re.search(r'always = "(.*?)":', draft)
    assert rule is not None
    schema = parse_schema(draft + f'\n[[zeros]]\nalways = "{rule[1]}"\n')
    assert schema.orders.orders


def test_words_for_missing_among_days_break_no_order_and_numbers_with_such_marks_have_none(tmp_path: Path) -> None:
    table = pa.table(stays()).to_pydict()
    days = [
        (a.isoformat(), "NULL" if i % 9 == 0 else b.isoformat())
        for i, (a, b) in enumerate(zip(table["Beginn"], table["Ende"], strict=True))
    ]
    sizes = zip(table["children"], table["household size"], strict=True)
    rows = [f"{a},{b},{c},{-9 if c == 0 else d}" for (a, b), (c, d) in zip(days, sizes, strict=True)]
    (tmp_path / "a.csv").write_text("\n".join(["begin,end,children,size", *rows]) + "\n")
    text = draft_schema(tmp_path / "a.csv")
    assert "nulls = [-9]" in text
    assert 'nulls = ["NULL"]' in text
    assert "in all rows begin <= end. An order" in text
