"""Days, moments and times that are learnt in the formats in which texts spell them."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest

from understudy import check_schema, learn_schema
from understudy.learning.centuries import in_centuries
from understudy.learning.nodes import decades as decades_of
from understudy.learning.tree import Leaf
from understudy.schema.days import SHORT_DAY
from understudy.schema.formats import written
from understudy.schema.ladder import FAMILIES
from understudy.schema.layouts import laid_out, layouts
from understudy.schema.spelling import format_of

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
    bare = {form: form.replace("%d", "%-d").replace("%m", "%-m") for form in forms[1:5:2]}  # one zero is left in %Y/%m/%d
    assert found == {**{form: (kind, bare.get(form, form)) for form in forms}, "some": (kind, forms[0])}
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
    assert [getattr(one, "format", None) for one in learnt.declaration.columns.values()] == ["%-H:%M", "%H:%M:%S"]
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


FORMS = {
    "date": ["%b %d, %Y", "%d-%^b-%y", "%-m/%-d/%y", "%-d. %B %Y", "%d.%m.%y", "%d%b%Y"],
    "datetime": [
        "%-m/%-d/%y %-I:%M %p",
        "%Y-%m-%d %I:%M:%S %P",
        "%d/%b/%Y %H:%M:%S",
        "%d.%m.%Y %I:%M%p",
        "%B %-d, %Y %-H:%M",
    ],
    "time": ["%I:%M %p", "%-I:%M:%S%P", "%-I %p"],
}


def test_names_of_months_short_years_and_halves_of_days_are_learnt_and_come_back() -> None:
    rng = np.random.default_rng(7)
    moments = pa.array(rng.integers(1_262_304_000, 1_700_000_000, ROWS), pa.timestamp("s"))  # from 2010 on
    rows = {form: written(moments, form).to_pylist() for forms in FORMS.values() for form in forms}
    learnt = learn_schema(rows, epsilon=16, seed=0)
    found = {name: (one.kind, getattr(one, "format", None)) for name, one in learnt.declaration.columns.items()}
    assert found == {form: (kind, form) for kind, forms in FORMS.items() for form in forms}
    assert {m.column: m.rows for m in check_schema(rows, learnt) if m.rows > 0.02 * ROWS} == {}
    codes = learnt.encode(pa.table(rows))
    assert all(np.bincount(codes[:, i]).max() < ROWS / 8 for i, name in enumerate(rows) if "d" in name)
    back = learnt.decode(codes, rng)
    assert np.array_equal(learnt.encode(back), codes)


def test_short_years_are_of_the_century_that_they_seem_to_mean() -> None:
    rng = np.random.default_rng(8)
    start = np.datetime64("1935-01-01")
    days = (start + rng.integers(0, 27_000, ROWS)).astype(object).tolist()
    rows = {"born": [f"{day:%d.%m.%y}" for day in days], "old": [f"{day:%d-%b-%y}" for day in days]}
    rows["old"] = [text if text[-2:] > "69" else f"{text[:-2]}85" for text in rows["old"]]
    learnt = learn_schema(rows, epsilon=8, seed=0)
    first = [column.edges[0].year for column in learnt.declaration.columns.values()]  # type: ignore[union-attr]
    assert 1930 <= first[0] <= 1935
    assert first[1] == 1970
    early, late = learnt["born"].encode(pa.array(["01.02.36", "01.02.08"])).tolist()
    assert (early < 3, late > len(learnt["born"].labels) - 4) == (True, True)


def test_short_years_that_may_come_first_are_left_out() -> None:
    rng = np.random.default_rng(9)
    days = (np.datetime64("2015-01-01") + rng.integers(0, 3_600, ROWS)).astype(object).tolist()
    rows = {form: [day.strftime(form) for day in days] for form in ("%y-%m-%d", "%d/%m/%y", "%m/%d/%y")}
    rows |= {"bare": [f"{day.day}/{day.month}/{day:%y}" for day in days], "n": [day.day for day in days]}
    assert list(learn_schema(rows, epsilon=8, seed=0).domain) == ["%m/%d/%y", "bare", "n"]


def test_each_text_has_one_layout() -> None:
    moments = pa.array([datetime(2020, 11, 30, 17, 54, 12), datetime(1999, 2, 1, 3, 5)], pa.timestamp("s"))
    for number, layout in enumerate(layouts()):
        for form in layout.formats:
            for way in (form, format_of(form, "bare", "bare", capitals=True, small=True)):
                found = [(one, rows.tolist()) for one, rows, _ in laid_out(written(moments, way))]
                assert found == [(number, [0, 1])], way


@pytest.mark.parametrize(
    ("decades", "first"), [([1, 2], 2010), ([8, 9, 0, 1], 1980), ([6, 7], 1960), ([0], 2000), ([4], 2040), ([5], 1950)]
)
def test_decades_of_short_years(decades: list[int], first: int) -> None:
    nodes = [node for node in decades_of((FAMILIES.index("days of short years, plain"),)) if node.low >= SHORT_DAY]
    leaves = in_centuries([Leaf(node, 50.0 * (i in decades), 1.0, i in decades, True) for i, node in enumerate(nodes)])
    sure = sorted(leaf.node.low for leaf in leaves if leaf.sure)
    assert np.datetime64(int(sure[0]), "D") == np.datetime64(f"{first}-01-01")
    assert sure[-1] - sure[0] < 366 * 10 * len(decades)
