"""What is said of a release is said the same way everywhere: on the card, in the report and on the console."""

from __future__ import annotations

import re
from decimal import Decimal
from html import unescape

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from release_tables import quick, table
from understudy import Answer, Release, synthesize
from understudy.manifest.promise import assumptions, confidence, factor, guess, parameters, rounded_up, sentences
from understudy.manifest.purposes import purposes_told
from understudy.quantities import show_size
from understudy.report import render_report
from understudy.schema import parse_schema

CASES = [
    {"epsilon": 1.0},
    {"epsilon": 1.23456789, "delta": 3.3e-7, "unit": "replace", "confidence": 0.975},
    {"rho": 0.0123456, "confidence": 0.999, "noise": "laplace"},
    {"epsilon": 2000.0},
]


@pytest.fixture(scope="module", params=CASES, ids=str)
def release(request: pytest.FixtureRequest) -> Release:
    return quick(table(80), seed=None, **{"epsilon": None, **request.param})


def words_of(page: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]*>", "", page)).split())


def test_card_and_report_say_the_same_sentences(release: Release) -> None:
    card, page = " ".join(release.card.split()), words_of(render_report(release))
    for text in (*sentences(release.manifest), *assumptions(release.manifest)):
        assert text in card
        assert text in page


def test_every_shared_number_has_one_text(release: Release) -> None:
    record, page = release.manifest, render_report(release)
    epsilon, delta = rounded_up(record.privacy.epsilon), rounded_up(record.privacy.delta)
    for text in (release.card, repr(release), release._repr_html_()):
        assert parameters(record.privacy) in text
    for text in (words_of(page), release.card):
        assert f"epsilon = {epsilon} and delta = {delta}" in " ".join(text.split())
        assert guess(record.privacy.epsilon, record.privacy.delta) in text
        assert confidence(record.confidence) in text
        assert f"{record.table.rows:,}" in text
        assert f"{record.table.total:,.0f}" in text
        assert rounded_up(record.privacy.spent.value) in text
    assert f"ε = {epsilon}" in words_of(page)
    assert f"δ = {delta}" in words_of(page)
    assert f"marginals at {confidence(record.confidence)}" in repr(release)
    assert show_size(record.model.size) in repr(release)
    assert show_size(record.model.size) in page
    shown = re.search(r"the middle one (\S+)", repr(release))
    assert shown is not None
    assert f"Error, at most{shown[1]}" in words_of(page).replace("Error, at most ", "Error, at most")


def test_the_card_names_the_noise_of_the_run(release: Release) -> None:
    kind = "Laplace" if any(m.noise == "laplace" for m in release.measurements) else "Gaussian"
    assert f"discrete {kind} noise" in release.card


@pytest.mark.promise(6)
@given(st.floats(1e-9, 1e9), st.integers(2, 9))
def test_no_number_of_the_promise_is_rounded_down(value: float, digits: int) -> None:
    shown = Decimal(rounded_up(value, digits))
    assert Decimal(repr(value)) <= shown <= Decimal(repr(value)) * (1 + Decimal(10) ** (1 - digits))


@pytest.mark.parametrize(
    ("value", "text"), [(1.0, "1"), (0.1, "0.1"), (1e-9, "1e-9"), (0.0149730571, "0.0149731"), (0.0, "0"), (1e6, "1e6")]
)
def test_round_numbers_stay_as_they_are(value: float, text: str) -> None:
    assert rounded_up(value) == text


def test_confidence_is_not_rounded() -> None:
    assert [confidence(c) for c in (0.95, 0.975, 0.999, 0.5, 0.29)] == ["95%", "97.5%", "99.9%", "50%", "29%"]


def test_large_factors_are_told_by_their_power_of_ten() -> None:
    assert [factor(e) for e in (0.0, 1.0, 1e3, 1e6)] == ["1", "2.72", "10^435", "10^434,295"]


def test_a_marginal_shows_its_cells_on_a_console() -> None:
    answer = Answer(
        ("sex", "ward"), (("F", "null"), ("a", "long name")), np.array([[1234.56, 2], [3, 4]]), None, private=False
    )
    assert repr(answer).splitlines() == [
        "sex   ward         count",
        "F     a          1,234.6",
        "F     long name      2.0",
        "null  a              3.0",
        "null  long name      4.0",
        answer.promise(),
    ]
    wide = Answer(("a",), (tuple(map(str, range(100))),), np.ones(100), None, private=True)
    assert len(repr(wide).splitlines()) == 1 + 12 + 2
    assert "100 cells" in repr(wide)


def test_the_report_names_derived_columns() -> None:
    text = '[columns.size]\nkind = "integer"\nmin = 0\nmax = 9\nother = 0\n'
    text += '[columns.twice]\nkind = "derived"\nexpression = "size * 2"\n'
    settings = {"epsilon": 1, "workload": "all-1way", "mechanism": "independent", "seed": 1, "progress": False}
    release = synthesize({"size": [1, 2] * 20}, parse_schema(text), **settings)  # type: ignore[arg-type]
    assert 'follow from other columns in every synthetic row: "twice" (size * 2).' in words_of(render_report(release))


SMALL = "budget is too small for so few rows"


@pytest.mark.parametrize(
    ("workload", "mechanism", "said"),
    [("all-1way", "auto", ""), ("all-2way", "aim2", SMALL), ("all-2way", "independent", "alone ")],
)
def test_columns_made_alone_are_told_where_pairs_were_asked_for_and_why(workload: str, mechanism: str, said: str) -> None:
    shown = repr(quick(table(60), workload=workload, mechanism=mechanism, epsilon=0.01))
    assert ("  alone " in shown) == bool(said)
    assert said in shown
    assert (SMALL in shown) == (said == SMALL)


def test_the_report_does_not_say_that_people_wrote_a_drafted_schema() -> None:
    release = quick(table(60))
    words = "written or reviewed without disclosing anything about the rows"
    assert words in " ".join(release.card.split())
    assert words in words_of(render_report(release))
    assert "written by people" not in words_of(render_report(release))


def test_no_two_lines_of_the_budget_are_alike_and_each_noise_has_its_unit() -> None:
    looks = "measure 651 sums (groups) of (pay inside its bins), gaussian noise of scale 667.266"
    sums = "measure 1 sum (matrix) of (pay inside its bins), gaussian noise of scale 4e+06"
    again = "measure (age), gaussian noise of scale 50"
    found = purposes_told([looks, looks, sums, again, "select one of 4 marginals, epsilon = 0.1", again, again])
    assert len(set(found)) == len(found)
    assert found[0] == looks.replace(", g", ", finer bin by finer bin, g") + " rows"
    assert "number by number where a finer bin has many rows" in found[1]
    assert found[2].endswith("scale 4e+06 in units of its weights")
    assert found[3:] == [
        f"{again} rows",
        "select one of 4 marginals, epsilon = 0.1",
        *(f"{again} rows (time {n})" for n in (2, 3)),
    ]


def test_the_card_lists_them_so() -> None:
    card = quick(table(60), workload="all-2way", mechanism="aim2").card
    listed = [line.split("|")[2].strip() for line in card.split("| rho | share |")[1].splitlines() if line.startswith("| ")]
    noisy = [line for line in listed if "noise of scale" in line]
    assert noisy
    assert all(re.search(r"noise of scale \S+ (rows|in units of its weights)", line) for line in noisy)
