"""Days, moments and times that are learnt in the formats in which texts spell them."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest

from understudy import check_schema, learn_schema

ROWS = 6_000


def in_format(moments: list[datetime], form: str, *, short: bool = False) -> list[str]:
    """Spell moments; where ``short``, without zeros in front of days and months."""
    texts = [moment.strftime(form) for moment in moments]
    return [re.sub(r"\b0(\d)(?=[./-])", r"\1", text) for text in texts] if short else texts


@pytest.mark.parametrize("clock", ["", " %H:%M", " %H:%M:%S"])
def test_days_in_every_format_of_figures_are_learnt_and_come_back(clock: str) -> None:
    rng = np.random.default_rng(5)
    moments = [datetime(2015, 3, 1) + timedelta(minutes=int(i)) for i in rng.integers(0, 2_000_000, ROWS)]
    forms = [day + clock for day in ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d")]
    rows = {form: in_format(moments, form, short=i % 2 > 0) for i, form in enumerate(forms)}
    rows["some"] = ["" if i % 5 == 0 else text for i, text in enumerate(in_format(moments, forms[0]))]
    learnt = learn_schema(rows, epsilon=8, seed=0)
    kind = "datetime" if clock else "date"
    found = {name: (one.kind, getattr(one, "format", None)) for name, one in learnt.declaration.columns.items()}
    assert found == {**{form: (kind, form) for form in forms}, "some": (kind, forms[0])}
    assert [column.nullable for column in learnt.columns] == [False] * len(forms) + [True]
    assert {m.column: m.rows for m in check_schema(rows, learnt) if m.rows > 0.02 * ROWS} == {}
    codes = learnt.encode(pa.table(rows))
    assert max(np.bincount(codes[:, i]).max() for i in range(len(forms))) < ROWS / 8
    back = learnt.decode(codes, rng)
    assert all(datetime.strptime(text, form) for form in forms for text in back[form].to_pylist()[:50])


def test_days_of_which_nobody_can_tell_what_comes_first_are_left_out() -> None:
    rng = np.random.default_rng(6)
    unclear = [f"{a:02}/{b:02}/2020" for a, b in rng.integers(1, 13, (ROWS, 2)).tolist()]
    rows = {"unclear": unclear, "clear": [*unclear[: ROWS // 2], *["05/23/2020"] * (ROWS // 2)]}
    learnt = learn_schema(rows, epsilon=8, seed=0)
    assert list(learnt.domain) == ["clear"]
    assert getattr(learnt.declaration.columns["clear"], "format", None) == "%m/%d/%Y"


def test_times_of_day_with_colons_are_learnt() -> None:
    rng = np.random.default_rng(4)
    times = [(int(h), int(m)) for h, m in zip(rng.integers(0, 24, ROWS), rng.integers(0, 60, ROWS), strict=True)]
    rows = {"short": [f"{h}:{m:02}" for h, m in times], "long": [f"{h:02}:{m:02}:{m:02}" for h, m in times]}
    learnt = learn_schema(rows, epsilon=4, seed=0)
    assert [getattr(one, "format", None) for one in learnt.declaration.columns.values()] == ["%H:%M", "%H:%M:%S"]
    assert check_schema(rows, learnt) == []


def test_words_beside_numbers_and_days_are_missing_and_no_number() -> None:
    rows = {
        "age": ["k.A." if i % 20 == 0 else i % 90 for i in range(ROWS)],
        "day": ["unknown" if i % 20 == 0 else f"{1 + i % 28}.{1 + i % 12}.2020" for i in range(ROWS)],
        "plain": [i % 90 for i in range(ROWS)],
    }
    learnt = learn_schema(rows, epsilon=8, seed=0)
    assert {column.name: column.nullable for column in learnt.columns} == {"age": True, "day": True, "plain": False}
    codes = learnt.encode(pa.table({name: [str(value) for value in values] for name, values in rows.items()}))
    back = learnt.decode(codes, np.random.default_rng(0))
    assert (back["age"].null_count, back["day"].null_count) == (ROWS // 20, ROWS // 20)


def test_the_end_of_the_day_is_learnt_where_many_rows_have_it() -> None:
    rng = np.random.default_rng(4)
    times = 100 * rng.integers(1, 24, ROWS) + rng.integers(0, 60, ROWS)
    rows = {"shut": np.where(np.arange(ROWS) % 9 == 0, 2400, times).tolist(), "left": times.tolist()}
    learnt = learn_schema(rows, epsilon=4, seed=0)
    assert learnt["shut"].labels[-1] == "24:00"
    assert learnt["left"].labels[-1] == "23:00 to 23:59"


def test_numbers_that_prove_no_times_of_day_are_learnt_for_what_is_left() -> None:
    rows = {"n": [575, 1375] * (ROWS // 2)}
    for column in learn_schema(rows, epsilon=1, seed=0).columns:  # the last question takes all that the column has
        assert (column.kind, "575" in column.labels, "1375" in column.labels) == ("integer", True, True)
