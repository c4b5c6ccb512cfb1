"""Sentences and drawings that depend on a page's numbers: each where it is true, and nowhere else."""

from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import understudy
from understudy.domain import Clique
from understudy.evaluate import evaluate
from understudy.manifest.promise import confidence
from understudy.measures.distinction import Distinction
from understudy.measures.nearest import Membership
from understudy.measures.prediction import Learnt, Prediction
from understudy.quantities import percent
from understudy.release import Release
from understudy.release.show import as_text
from understudy.report import evaluation_words, release_page, render_evaluation, render_report
from understudy.report.cards import MANY, Card, cards, script
from understudy.report.data import BoundView, ReportData, SumsView, report_data
from understudy.report.evaluation_columns import DERIVED
from understudy.report.evaluation_page import LINE
from understudy.report.evaluation_rows import WITHOUT
from understudy.report.figures import Figure
from understudy.report.markup import Html, spoken
from understudy.report.release_columns import ALONE, EXPECTED, NOT_WORKED_OUT, NUMBERS, RESIDUALS, THIN
from understudy.report.release_pairs import HOW, MOST_DRAWN, _some
from understudy.report.tables import names
from understudy.schema import parse_schema

from .html_checker import read, table
from .releases_made import codes, make


@pytest.fixture(scope="module")
def report(seeded: Release) -> ReportData:
    return report_data(seeded)


def page(report: ReportData, **changes: Any) -> str:
    return release_page.render(replace(report, **changes))


# The report of a release.


def test_sections_come_in_the_order_in_which_they_are_wanted(report: ReportData) -> None:
    root, _ = read(page(report))
    ids = [s.attributes["id"] for s in root.all("section")]
    assert ids == ["promise", "columns", "pairs", "marginals", "limits", "model", "making", "budget"]


def test_counts_outside_of_their_range_are_explained(report: ReportData) -> None:
    """An officer of the data saw counts beside ranges that they lie outside of, and no word of why."""
    plain = page(report)
    assert "outside of" not in plain
    first, *others = report.columns
    beyond = replace(first.values[0], lower=0.0, upper=first.values[0].synthetic - 1)
    one = replace(first, values=(beyond, *first.values[1:]))
    shown = page(report, columns=(one, *others))
    assert f"1 count lies outside of its range (in {first.name})" in shown
    assert "add up to as many in every column, and keep declared rules" in shown
    known = replace(first, figures=(Figure("Mean", 1.0, "1", "2 to 3"), Figure("Median", 1.0, "1", "2 to 3")))
    said = "put in order row by row (a, b)"
    assert said in page(report, columns=(known, *others), in_order=("a", "b"))
    assert said not in page(report, columns=(known, *others), in_order=())
    assert said not in page(report, in_order=("a", "b"))  # nothing is expected, so nothing is outside


def test_a_release_that_is_mostly_noise_says_so_first(report: ReportData) -> None:
    """A bound of more than 200 % says nothing, since no error can be as large."""
    said = "Mostly noise."
    assert said not in page(report)
    noisy = tuple(replace(bound, share=3.02) for bound in report.bounds)
    shown = page(report, bounds=noisy)
    head = shown[: shown.index('id="promise"')]
    assert said in head
    assert "; above 200% it says nothing" in head
    half = len(report.bounds) // 2
    assert said not in page(report, bounds=(*report.bounds[: half + 1], *noisy[half + 1 :]))


def test_columns_in_order_are_left_out_of_what_is_said_of_bins(report: ReportData) -> None:
    inside = "where in its bin a number or date lies does not depend on the other columns"
    assert f"{inside}." in page(report, binned=True)
    assert f"{inside}, but for columns in order (a, b), which keep it." in page(report, binned=True, in_order=("a", "b"))


def test_a_thin_range_is_not_said_to_know_more_than_its_column(report: ReportData) -> None:
    assert THIN in page(report)
    one = page(report, columns=report.columns[:1], pairs=(), edges=())
    assert THIN not in one
    assert ALONE in one
    unmeasured = [replace(c, radius=None, measured=False) for c in report.columns]
    none = page(report, columns=tuple(unmeasured))
    assert "No column was measured, so there is no range of the real counts." in none
    assert "range of the real count<" not in none


def test_columns_measured_by_residuals_are_not_said_to_be_unmeasured(report: ReportData) -> None:
    said = page(report, columns=tuple(replace(c, radius=None, measured=True) for c in report.columns), pairs=(), edges=())
    assert RESIDUALS in said
    assert "Columns were measured by residuals, which prove no range for a single value" in said
    assert "never measured" not in said
    assert "No column was measured" not in said


@pytest.mark.parametrize("zeros", [0, 2])
@pytest.mark.parametrize("tied", [True, False])
def test_columns_without_a_line_may_be_tied_by_rules_or_not_at_all(report: ReportData, zeros: int, tied: bool) -> None:
    shown = page(report, zeros=zeros, edges=report.edges if tied else ())
    between = "Two columns without a line are related through columns between them"
    assert (f"{between}, or not at all." in shown) == (tied and not zeros)
    assert (f"{between}, or through 2 declared rules on impossible combinations, or not at all." in shown) == bool(
        tied and zeros
    )
    assert ("in this table they are unrelated." in shown) == (not tied and not zeros)
    rules = "in this table they are unrelated but for 2 declared rules on impossible combinations."
    assert (rules in shown) == bool(not tied and zeros)


def bound(clique: Clique, how: str, share: float = 0.1) -> BoundView:
    return BoundView(clique, 200.0, share, how == "measured", how == "checked")


@pytest.mark.parametrize("occurring", [("measured",), ("checked", "inferred"), ("measured", "checked", "inferred")])
def test_words_of_the_tables_of_bounds_are_explained_where_they_are_used(
    report: ReportData, occurring: tuple[str, ...]
) -> None:
    pairs = [("alpha", "beta"), ("alpha", "gamma"), ("beta", "gamma")]
    bounds = tuple(bound(pair, how) for pair, how in zip(pairs, occurring, strict=False))
    root, _ = read(page(report, pairs=bounds, bounds=bounds))
    for section in ("pairs", "marginals"):
        (found,) = [s for s in root.all("section") if s.attributes["id"] == section]
        notes = " ".join(p.text for p in found.all("p") if "note" in p.classes())
        assert {how for how in HOW if f"{how}: {HOW[how]}" in notes} == set(occurring)


def wide_report(report: ReportData, columns: int) -> ReportData:
    names = [f"c{i:03}" for i in range(columns)]
    views = tuple(replace(report.columns[0], name=name, kind=("integer", "boolean")[i % 2]) for i, name in enumerate(names))
    pairs = tuple(bound((a, b), "checked", 0.1 + i / 1000) for i, (a, b) in enumerate(pairwise(names)))
    return replace(report, columns=views, pairs=pairs, bounds=pairs, edges=())


def test_beyond_forty_columns_the_map_becomes_a_list_of_the_worst(report: ReportData) -> None:
    drawn, listed = (release_page.render(wide_report(report, n)) for n in (MOST_DRAWN, MOST_DRAWN + 1))
    worst = "The 24 pairs that may be furthest off"
    assert 'class="heat' in drawn
    assert worst not in drawn
    assert 'class="heat' not in listed
    assert worst in listed
    assert "c039 × c040" in read(listed)[0].all("section")[2].all("ol")[0].all("li")[0].text.replace("  ", " ")


@pytest.mark.parametrize("columns", [6, MOST_DRAWN + 1])
def test_a_bound_above_all_that_tables_can_differ_by_is_said_to_say_nothing(report: ReportData, columns: int) -> None:
    wide = wide_report(report, columns)
    silent = (replace(wide.pairs[0], share=2.01), replace(wide.pairs[1], share=2.0))
    for number, words in ((0, ""), (1, "1 of these bounds is as large as that and says nothing."), (2, "are as large")):
        pairs = (*silent[:number], *wide.pairs[number:])
        bounds = tuple(sorted(pairs, key=lambda b: b.share))
        root, _ = read(release_page.render(replace(wide, pairs=pairs, bounds=bounds, queries=len(bounds))))
        _, _, of_pairs, of_bounds = (section.text for section in root.all("section")[:4])
        assert ("nothing" in of_pairs) == bool(number)
        assert words in of_pairs
        assert ("of the others that may be furthest off" in of_pairs) == bool(number and columns > MOST_DRAWN)
        assert (f"{number} bound{'s' * (number != 1)} of 200% or more" in of_bounds) == bool(number)
        drawn = [item.text for ranking in root.all("ol") if "ranking" in ranking.classes() for item in ranking.all("li")]
        assert drawn
        assert not any("c000" in text for text in drawn[:24] if number and "201%" in text)


def test_bounds_that_all_say_nothing_are_not_a_list_of_the_worst(report: ReportData) -> None:
    wide = wide_report(report, MOST_DRAWN + 1)
    silent = tuple(replace(b, share=2.5) for b in wide.pairs)
    shown = release_page.render(replace(wide, pairs=silent, bounds=silent, queries=len(silent)))
    assert "that may be furthest off" not in shown
    assert f"{len(silent)} bounds of 200% or more say nothing." in shown


def test_the_middle_one_is_of_those_that_have_a_bound(report: ReportData) -> None:
    assert "for the middle one of the workload's marginals" in page(report, queries=len(report.bounds))
    some = page(report, queries=4_000)
    assert f"for the middle one of those {len(report.bounds)} of the workload" in some
    assert "4,000 marginals that have a bound" in some
    assert "for the middle one of the workload" not in some


def test_the_terminal_says_how_many_of_the_workload_have_a_bound(seeded: Release) -> None:
    known = seeded.manifest.workload_bounds()
    assert f"of {len(known)} of the" not in as_text(seeded.manifest)
    fewer = [b for b in seeded.manifest.bounds if b is not known[0]]
    said = as_text(seeded.manifest.model_copy(update={"bounds": fewer}))
    assert f"; of {len(known) - 1} of the workload's {len(known)}, the middle one" in said


@pytest.mark.parametrize(
    ("option", "row"),
    [
        (("time_limit", "300.0"), ["Time limit", "5 min 00 s"]),
        (("max_size", "83886080"), ["Largest model", "80 MB"]),
        (("rounds", "7"), ["Option: rounds", "7"]),
    ],
)
def test_options_of_a_command_are_told_in_words(report: ReportData, option: tuple[str, str], row: list[str]) -> None:
    root, _ = read(page(report, options=(option,)))
    assert row in [list(cells) for cells in table(root, "Settings of the run")]


def test_many_columns_are_grouped_and_can_be_searched(report: ReportData) -> None:
    few, many = (release_page.render(wide_report(report, n)) for n in (MANY, MANY + 1))
    assert "Find a column" not in few
    assert "<script" not in few
    assert "script-src" not in few
    root, problems = read(many)
    assert problems == []
    groups = [d for d in root.all("details") if "group" in d.classes()]
    assert [g.all("summary")[0].text for g in groups] == ["Numbers: 13 columns", "Listed values: 12 columns"]
    (form,) = root.all("form")
    assert "hidden" in form.attributes  # until the script shows it
    digest = b64encode(sha256(script(MANY + 1).encode()).digest()).decode()
    assert root.all("script")[0].text == script(MANY + 1)
    policy = next(m for m in root.all("meta") if m.attributes.get("http-equiv")).attributes["content"] or ""
    assert policy.endswith(f"; script-src 'sha256-{digest}'")
    assert policy.startswith("default-src 'none'")


def test_a_kind_that_nobody_grouped_is_not_lost() -> None:
    shown = cards([Card(f"c{i}", "duration", Html("x")) for i in range(MANY + 1)])
    assert shown.count("<article") == MANY + 1
    assert "Others: 25 columns" in shown


def test_where_the_schema_comes_from(report: ReportData) -> None:
    assert "It was written or reviewed without disclosing anything about the rows and is public." in page(report)
    learnt = "learnt from the rows, under a budget of its own,"
    assert f"It was {learnt} and is public." in page(report, origin=learnt)


@pytest.mark.parametrize("binned", [True, False])
def test_detail_inside_bins_is_mentioned_where_there_are_bins(report: ReportData, binned: bool) -> None:
    assert ("Detail inside a bin." in page(report, binned=binned)) == binned
    assert not report.binned  # each code is one value


@pytest.mark.parametrize(("weight", "said"), [(1.0, False), (1.04, False), (2.0, True)])
def test_rows_that_stand_for_several_are_mentioned(report: ReportData, weight: float, said: bool) -> None:
    assert ("Adding up rows as they are." in page(report, weight=weight)) == said


@pytest.mark.parametrize(
    ("share", "said"), [(0.2, "stay within 25%"), (0.3, "For 1 of 1 pair of columns the error may exceed 25%")]
)
def test_pairs_are_called_near_or_far_by_their_bounds(report: ReportData, share: float, said: str) -> None:
    pairs = (bound(("alpha", "beta"), "checked", share),)
    shown = page(report, columns=report.columns[:2], pairs=pairs, edges=())
    assert said in shown


def test_the_terminal_and_the_page_have_the_same_numbers(seeded: Release) -> None:
    shown, said = read(render_report(seeded))[0].text, as_text(seeded.manifest)
    shares = sorted(b.table / seeded.manifest.table.total for b in seeded.manifest.workload_bounds())
    middle, worst = percent(shares[len(shares) // 2]), percent(shares[-1])
    assert f"the middle one {middle} and the worst {worst}" in said
    assert f"Error, at most{middle}" in shown
    assert worst in shown
    assert f"{seeded.manifest.table.rows:,}" in said
    assert f"Synthetic records{seeded.manifest.table.rows:,}" in shown
    assert confidence(seeded.manifest.confidence) in shown


@pytest.mark.parametrize("annealed", [True, False])
def test_rounds_that_spend_more_are_mentioned_where_there_are_some(report: ReportData, annealed: bool) -> None:
    rounds = tuple(r.model_copy(update={"annealed": annealed}) for r in report.rounds)
    assert ("the next ones spend more" in page(report, rounds=rounds)) == annealed
    assert "Round by round" not in page(report, rounds=())


def test_columns_measured_with_no_other_are_named(report: ReportData) -> None:
    said = "Not measured with any other: "
    first = tuple(e for e in report.edges if "delta" not in e.pair)
    assert first
    assert f"{said}delta." in page(report, edges=first)
    whole = {name for e in report.edges for name in e.pair} == {c.name for c in report.columns}
    assert (said in page(report)) == (not whole)
    assert said not in page(report, edges=())


@pytest.mark.parametrize("columns", [MOST_DRAWN, MOST_DRAWN + 1])
def test_a_drawing_of_a_part_says_so(report: ReportData, columns: int) -> None:
    wide = wide_report(report, columns)
    edges = tuple(replace(report.edges[0], pair=(a.name, b.name)) for a, b in pairwise(wide.columns))
    shown = release_page.render(replace(wide, edges=edges))
    assert ("Drawn: the 40 columns with the strongest ties." in shown) == (columns > MOST_DRAWN)


@pytest.mark.parametrize(
    ("radii", "said"),
    [
        ((None, None), "No column was measured by itself, so no count is known to be near the truth."),
        ((9.2, None), "up to ± 10 records"),
        ((9.2, 30.0), "up to ± 10 to 30 records"),
    ],
)
def test_small_groups_are_those_below_the_noise(report: ReportData, radii: tuple[float | None, ...], said: str) -> None:
    columns = tuple(replace(c, radius=r, measured=r is not None) for c, r in zip(report.columns, radii, strict=False))
    assert said in page(report, columns=columns, pairs=(), edges=())


def test_a_seeded_run_promises_nothing_and_a_private_one_does(report: ReportData) -> None:
    assert "not promised: a seeded run" in page(report)
    assert "from a seeded generator: not private" in page(report)
    private = page(report, private=True, promise=("A promise.",))
    assert "of differential privacy" in private
    assert "discrete, from a secure generator" in private
    assert "A promise." in private


# Figures.


def test_numbers_are_those_of_the_synthetic_table(seeded: Release, report: ReportData) -> None:
    root, _ = read(page(report))
    delta = np.asarray(seeded.arrow["delta"])
    shown = {cells[0]: float(cells[1]) for cells in table(root, "delta, its numbers")}
    assert shown["Mean"] == pytest.approx(delta.mean())
    assert shown["Total"] == pytest.approx(delta.sum() * seeded.weight)
    assert shown["Median"] == np.median(delta)
    assert shown["95% below"] == pytest.approx(np.quantile(delta, 0.95))
    assert NUMBERS in page(report)
    without = page(report, columns=tuple(replace(c, figures=()) for c in report.columns))
    assert NUMBERS not in without
    assert "its numbers" not in without
    assert spoken(NOT_WORKED_OUT) in page(report)
    assert "<code>understudy query</code>" in page(report)
    assert "Real, expected" not in page(report)


def test_where_real_numbers_are_expected_stands_beside_them(seeded: Release) -> None:
    """As ``query`` says it, in its digits; and what that is."""
    shown = render_report(seeded, intervals=True)
    root, _ = read(shown)
    found = {cells[0]: cells[2] for cells in table(root, "delta, its numbers")}
    for name, query in (("Mean", "mean(delta)"), ("Total", "total(delta)"), ("95% below", "quantile(delta, 0.95)")):
        assert found[name] == seeded.answer(query).lines()[0][1]
    assert EXPECTED in shown
    assert spoken(NOT_WORKED_OUT) not in shown


def test_sums_stand_with_their_bounds_where_the_workload_asks_for_them(report: ReportData) -> None:
    assert "Sums that the workload asks for" not in page(report)
    asked, bare = SumsView(("alpha", "delta"), "prefixes of delta", 24, 51.4, 300.2), SumsView(("delta",), "x", 3, None, 2.0)
    root, _ = read(page(report, sums=(asked, bare)))
    rows = table(root, "Sums that the workload asks for")
    assert [cells[1:] for cells in rows] == [
        ["prefixes of delta", "24.0", "51.4", "300.2"],
        ["x", "3.0", "none", "2.0"],
    ]


def test_sums_of_a_release_are_those_that_it_bounds() -> None:
    data, schema = codes({"a": 8, "b": 3})
    asked = [{"attributes": ["a", "b"], "prefixes": "a"}, {"attributes": ["b"], "weights": {"b": [1, 2, 3]}}]
    release = understudy.synthesize(data, schema, epsilon=1, seed=1, workload=asked, progress=False)
    (shown,) = report_data(release).sums  # weighted sums are not in records
    bound = release.sum_bounds["a", "b"]
    assert (shown.clique, shown.asked, shown.sums) == (("a", "b"), "prefixes of a", bound.sums)
    assert shown.by_cells == pytest.approx((bound.by_cells or 0.0) / bound.sums)
    assert (shown.measured is None) == (bound.measured is None)


# The page of an evaluation.


def test_an_evaluation_without_held_out_rows_says_so(seeded: Release) -> None:
    evaluation = evaluate(seeded.arrow, seeded)
    root, _ = read(render_evaluation(evaluation))
    assert WITHOUT.replace("`", "") in root.text
    assert "Predicting" not in root.text
    assert "Group by group" not in root.text
    assert "drawn at random: " not in root.text
    in_short = {cells[0]: cells[1] for cells in table(root, "In short")}
    assert in_short == dict(evaluation_words.summary(evaluation))
    assert f"{evaluation.error:.4f}" in root.text


def test_an_evaluation_with_everything_shows_it() -> None:
    data, schema = codes({"a": 3, "b": 4, "c": 30})
    release = make(data, schema, name="independent")
    found = evaluate(data, release, holdout=codes({"a": 3, "b": 4, "c": 30}, rows=500)[0], target="a", by=["b"])
    root, problems = read(render_evaluation(found))
    assert problems == []
    assert WITHOUT.replace("`", "") not in root.text
    assert found.prediction is not None
    assert [cells[0] for cells in table(root, "Predicting a")] == ["Real", "Synthetic", "Always the most frequent value"]
    groups = table(root, "Groups of b")
    assert [float(cells[1]) for cells in groups] == [g.rows.real for g in found.groups[0].groups]
    scores = {cells[0]: float(cells[1]) for cells in table(root, "Scores that people know")}
    assert scores == {name: score for name, score in found.scores.items() if score is not None}
    (c,) = [m for m in found.columns if m.name == "c"]
    assert c.numbers is not None
    numbers = {cells[0]: [float(x) for x in cells[1:]] for cells in table(root, "c, its numbers")}
    assert numbers["Mean"] == [c.numbers.mean.real, c.numbers.mean.synthetic, c.numbers.mean.difference]
    assert numbers["Median"][0] == c.numbers.quantiles[4].real
    pair = next(p for p in found.pairs if p.clique == ("a", "b"))
    (row,) = [cells for cells in table(root, "Association of every pair") if cells[0] == "a × b"]
    assert float(row[1]) == pair.cramers_v.real


@pytest.mark.parametrize("bounded", [True, False])
def test_a_line_is_explained_where_there_is_one(seeded: Release, bounded: bool) -> None:
    bounds = seeded.manifest.bounds if bounded else []
    release = replace(seeded, manifest=seeded.manifest.model_copy(update={"bounds": bounds}))
    assert (LINE in render_evaluation(evaluate(seeded.arrow, release))) == bounded


@pytest.mark.parametrize(("auc", "said"), [(0.7, "sees differences"), (0.51, "cannot tell"), (0.3, "cannot tell")])
def test_telling_apart_is_said_as_it_is(auc: float, said: str) -> None:
    assert said in evaluation_words.telling(Distinction(100, 0.01, 2.0, auc, 3))


@pytest.mark.parametrize(("ratio", "nearer"), [(0.5, True), (1.0, False), (3.0, False)])
def test_columns_are_called_nearer_than_a_draw_where_they_are(ratio: float, nearer: bool) -> None:
    assert ("nearer to the table" in evaluation_words.pmse(Distinction(100, 0.01, ratio, 0.5, 3))) == nearer


@pytest.mark.parametrize("private", [True, False])
@pytest.mark.parametrize(("auc", "noticed"), [(0.5, False), (0.529, False), (0.531, True), (0.2, False)])
def test_an_attack_is_called_what_it_is(auc: float, noticed: bool, private: bool) -> None:
    found = Membership(1000, auc, 0.01, 0.1, 0.46)
    said = evaluation_words.attacked(found, private)
    assert ("better than guessing: AUC" in said) == noticed
    assert ("proves nothing" in said) == (not noticed)
    assert ("What holds against every attack is the promise." in said) == (private and not noticed)
    assert ("promises nothing" in evaluation_words.allowed(found, private)) == (not private)
    assert ("The promise allows 46%" in evaluation_words.allowed(found, private)) == private


@pytest.mark.parametrize(
    ("real", "made", "said"),
    [(0.9, 0.89, "as well as"), (0.9, 0.95, "as well as"), (0.9, 0.8, "loses 0.100"), (None, None, "one class")],
)
def test_training_on_synthetic_rows_is_said_as_it_is(real: float | None, made: float | None, said: str) -> None:
    found = Prediction("x", 2, 100, Learnt(10, 0.9, real), Learnt(10, 0.9, made), 0.7)
    assert said in evaluation_words.predicted(found)


def test_of_many_columns_that_are_alone_the_first_are_named(report: ReportData) -> None:
    assert _some(["a", "b"]) == "a, b"
    assert _some([f"c{i}" for i in range(30)]).endswith("c23 and 6 others")


def test_columns_that_follow_from_others_count_as_columns_and_are_named() -> None:
    text = """
[columns.a]
kind = "integer"
min = 0
max = 3
other = 0
[columns.b]
kind = "derived"
expression = "a + 1"
"""
    schema = parse_schema(text)
    release = make(pa.table({"a": [0, 1, 2, 3] * 50, "b": [1, 2, 3, 4] * 50}), schema, name="independent", way=1)
    followed = report_data(release)
    assert followed.derived == ('"b" (a + 1)',)
    assert f">{release.arrow.num_columns} columns<" in page(followed)
    assert ">1 column<" in page(followed, derived=())
    compared = render_evaluation(evaluate(release.arrow, release))
    assert f'{DERIVED}"b" (a + 1).' in compared
    plain = make(*codes({"alpha": 4, "beta": 3}))
    assert DERIVED not in render_evaluation(evaluate(plain.arrow, plain))


def test_years_are_written_as_years_on_page_and_terminal() -> None:
    text = """
[columns.year]
kind = "integer"
min = 1950
max = 2020
other = 1950
[columns.cost]
kind = "integer"
min = 1000
max = 3000
other = 1000
"""
    schema = parse_schema(text)
    years = np.random.default_rng(4).integers(1950, 2021, 3000)
    release = make(pa.table({"year": years, "cost": years}), schema, name="independent", way=1)
    root, _ = read(render_report(release))
    tables = {t.all("caption")[0].text: t.all("tbody")[0].all("tr") for t in root.all("table")}
    shown = {
        name: {row.all("th")[0].text: row.all("td")[0].text for row in tables[f"{name}, its numbers"]}
        for name in ("year", "cost")
    }
    assert re.fullmatch(r"\d{4}", shown["year"]["Mean"])
    assert re.fullmatch(r"\d{4}", shown["year"]["95% below"])
    assert re.fullmatch(r"\d,\d{3},\d{3}", shown["year"]["Total"])
    assert re.fullmatch(r"\d,\d{3}", shown["cost"]["Mean"])
    for asked in ("mean(year)", "median(year)", "quantile(year, 0.9)"):
        assert re.fullmatch(r"\d{4}(\.\d+)?", release.answer(asked).lines()[0][0])
        assert "," not in release.answer(asked).lines()[0][1]
    assert "," in release.answer("total(year)").lines()[0][0]
    assert "," in release.answer("mean(cost)").lines()[0][0]


@pytest.mark.parametrize(
    ("name", "parts"),
    [("length_of_stay", ["length_", "of_", "stay"]), ("Category", ["Category"]), ("a__b", ["a_", "_", "b"]), ("_", ["_"])],
)
def test_long_names_part_after_a_mark(name: str, parts: list[str]) -> None:
    assert names((name,)) == f'<span class="name">{"<wbr>".join(parts)}</span>'


@pytest.mark.parametrize(
    ("share", "shown"),
    [(0.0, "0%"), (1e-9, "<0.01%"), (0.00994, "0.99%"), (0.00996, "1.0%"), (0.0995, "10%"), (1.5, "150%")],
)
def test_shares_have_two_digits_and_none_has_none(share: float, shown: str) -> None:
    assert percent(share) == shown
