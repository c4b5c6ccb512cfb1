"""The pages as text: well formed, escaped, self-contained, true to the release, the same each time."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from understudy import example, synthesize
from understudy.domain import Clique
from understudy.errors import UserError
from understudy.evaluate import Evaluation, evaluate
from understudy.manifest.promise import guess
from understudy.privacy import Unit
from understudy.release import Release, load
from understudy.report import render_evaluation, render_report, write_evaluation, write_report
from understudy.report.cards import MANY, script
from understudy.report.data import column_view, report_data
from understudy.report.dependence import dependence

from .html_checker import read, table
from .releases_made import NASTY, codes, make

ADULT = Path(__file__).parents[3] / "shared/datasets/raw/adult.csv"
OUTSIDE = re.compile(r"https?:|//|url\(|@import|<script|<link|<iframe|<img|\bsrc=|\bon\w+=", re.IGNORECASE)


def sound(page: str) -> None:
    """Well formed, and nothing in it reaches outside or runs."""
    root, problems = read(page)
    assert problems == []
    for e in (root, *root.all("a")):
        assert not (e.attributes.get("href") or "#").replace("#", "", 1).startswith(("http", "/", "javascript"))
    own = f"<script>{script(MANY + 1)}</script>"  # the box to find a column; the only script that there may be
    assert page.count("<script") == page.count(own) <= 1
    body = page.split("</style>")[1].replace(own, "")
    markup = re.sub(r">[^<]*<", "><", re.sub(r'"[^"]*"', '""', body))
    assert not OUTSIDE.search(markup)
    assert not OUTSIDE.search(page.split("<style>")[1].split("</style>", maxsplit=1)[0])


@pytest.mark.parametrize("which", ["people", "seeded", "wrong_names", "wide"])
def test_report_is_sound_html(which: str, request: pytest.FixtureRequest) -> None:
    sound(render_report(request.getfixturevalue(which)))


def test_evaluation_is_sound_html(evaluation: Evaluation, wrong_names: Release) -> None:
    sound(render_evaluation(evaluation))
    sound(render_evaluation(evaluate(wrong_names.arrow, wrong_names)))


@pytest.mark.parametrize(
    ("page", "problem"),
    [
        ("<p><b>x</p></b>", "closes"),
        ("<div>", "never closed"),
        ("<p><div></div></p>", "block"),
        ("<table><td></td></table>", "<td> in <table>"),
        ('<i id="a"></i><i id="a"></i>', "used twice"),
        ("<svg></svg>", "without a name"),
        ("<h1>a</h1><h3>b</h3>", "out of order"),
        ('<a href="#gone">x</a>', "not there"),
    ],
)
def test_the_checker_can_fail(page: str, problem: str) -> None:
    frame = f"<html lang=en><head><title>t</title></head><body><header></header><nav></nav><main>{page}</main></body></html>"
    assert any(problem in p for p in read(frame)[1])


def test_names_and_values_are_escaped(wrong_names: Release) -> None:
    page = render_report(wrong_names)
    assert NASTY not in page
    root, _ = read(page)
    assert root.all("h1")[0].text == NASTY
    assert {c.name for c in wrong_names.schema.columns} <= {h.text for h in root.all("h3")}
    assert not root.all("script")
    assert not root.all("img")


def test_control_characters_do_not_reach_the_page(seeded: Release) -> None:
    notice = seeded.manifest.model_copy(update={"notice": "a\x00b\ud800c\x85"})
    assert "A\ufffdb\ufffdc\ufffd" in render_report(replace(seeded, manifest=notice))


def test_the_same_release_gives_the_same_page(seeded: Release, tmp_path: Path) -> None:
    assert render_report(seeded) == render_report(seeded)
    seeded.save(tmp_path / "release")
    assert render_report(load(tmp_path / "release")) == render_report(seeded)


def test_files_are_written_whole_or_not_at_all(seeded: Release, tmp_path: Path) -> None:
    path = write_report(seeded, tmp_path / "report.html")
    assert path.read_text(encoding="utf-8") == render_report(seeded)
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]
    with pytest.raises(UserError, match="cannot be written"):
        write_report(seeded, tmp_path / "nowhere" / "report.html")


def test_a_private_release_has_no_banner_and_a_seeded_one_does(people: Release, seeded: Release) -> None:
    assert "NOT PRIVATE" not in render_report(people)
    page = render_report(seeded)
    root, _ = read(page)
    banner = [e for e in root.all("div") if "banner" in e.classes()]
    assert banner[0].text.startswith("NOT PRIVATE Made with a seeded generator")
    assert root.all("title")[0].text.startswith("NOT PRIVATE")
    assert '@page { @top-center { content: "NOT PRIVATE"' in page
    assert "promises nothing" in page
    assert "No single record" not in page


@pytest.mark.promise(26)
def test_an_evaluation_is_marked_whatever_the_release(evaluation: Evaluation, tmp_path: Path) -> None:
    assert evaluation.release.private
    page = write_evaluation(evaluation, tmp_path / "evaluation.html").read_text(encoding="utf-8")
    root, _ = read(page)
    assert [e.text for e in root.all("strong")] == ["INTERNAL: NOT PRIVATE"]
    assert '@page { @top-center { content: "INTERNAL: NOT PRIVATE"' in page
    assert root.all("title")[0].text.startswith("INTERNAL: NOT PRIVATE")


def test_every_number_of_the_tables_is_the_releases(people: Release) -> None:
    root, _ = read(render_report(people))
    pairs = {cells[0]: float(cells[3]) for cells in table(root, "Bounded error of every pair")}
    assert pairs == bounded(people, combinations(people.domain.attributes, 2))
    rounds = table(root, "Every round")
    assert [cells[1] for cells in rounds] == [" × ".join(r.chosen) for r in people.rounds]
    assert [float(cells[5]) for cells in rounds] == [r.sigma for r in people.rounds]
    assert [float(cells[3]) for cells in rounds] == pytest.approx([float(r.rho.fraction) for r in people.rounds])
    workload = {cells[0]: float(cells[3]) for cells in table(root, "The workload's marginals")}
    assert workload == bounded(people, people.workload.cliques)


def test_marginals_without_a_bound_are_counted_not_shown(people: Release) -> None:
    """A marginal that never fitted into the model was never a candidate, so nothing bounds it."""
    largest = max(people.workload.cliques, key=people.domain.cells)
    kept = [b for b in people.manifest.bounds if people.domain.clique(b.columns) != largest]
    release = replace(people, manifest=people.manifest.model_copy(update={"bounds": kept}))
    missing = sum(c not in release.bounds for c in people.workload.cliques)
    page = render_report(release)
    root, _ = read(page)
    shown = {cells[0] for cells in table(root, "The workload's marginals")}
    assert shown == set(bounded(release, people.workload.cliques))
    assert re.search(rf"{missing} marginals? of it (has|have) no bound", page)


def bounded(release: Release, cliques: Iterable[Clique]) -> dict[str, float]:
    return {" × ".join(c): release.bounds[c].value for c in cliques if c in release.bounds}


def test_every_column_shows_its_counts_and_its_band(people: Release) -> None:
    root, _ = read(render_report(people))
    for column in people.schema.columns:
        rows = {
            cells[0]: [float(x) for x in (cells[1], cells[3], cells[4])]
            for cells in table(root, f"{column.name}, in records")
        }
        band = people.intervals(column.name, confidence=people.manifest.confidence, simultaneous=True)
        counts = people.table_marginal(column.name)
        assert rows == {label: [counts[i], band.lower[i], band.upper[i]] for i, label in enumerate(column.labels)}


def test_the_heat_map_holds_every_pair(people: Release) -> None:
    root, _ = read(render_report(people))
    heat = next(t for t in root.all("table") if "heat" in t.classes())
    shown = sorted(float(d.attributes["value"] or "") for d in heat.all("data"))
    pairs = combinations(people.domain.attributes, 2)
    assert shown == sorted(people.bounds[p].value / people.manifest.table.total for p in pairs)


def test_an_evaluation_shows_true_errors(evaluation: Evaluation) -> None:
    root, _ = read(render_evaluation(evaluation))
    shown = {cells[0]: float(cells[2]) for cells in table(root, "True error of every pair")}
    assert shown == {" × ".join(m.clique): m.error for m in evaluation.marginals if len(m.clique) == 2}
    for m in evaluation.marginals:
        if len(m.clique) == 1:
            rows = table(root, f"{m.clique[0]}, in records")
            assert m.real is not None
            assert sorted(float(cells[3]) for cells in rows) == sorted(m.real.tolist())


def test_parts_of_the_budget_add_up(people: Release) -> None:
    report = report_data(people)
    spending = report.spending
    parts = spending.measuring + sum(r.choosing + r.measuring for r in report.rounds) + spending.checking + spending.inside
    assert parts == pytest.approx(float(people.spent))
    numbers = [*people.manifest.inside, *people.manifest.sums]
    assert spending.inside == pytest.approx(sum(entry.rho.value for entry in numbers))
    first = people.spend[: len(people.schema.columns)]
    assert spending.measuring == pytest.approx(float(sum(charge.rho for charge in first)))
    assert people.manifest.check is not None
    assert spending.checking == pytest.approx(people.manifest.check.rho.value)


def test_one_column() -> None:
    page = render_report(release := make(*codes({"only": 5}), way=1, rounds=3))
    sound(page)
    sound(render_evaluation(evaluate(release.arrow, release)))
    assert "There is one column" in page


def test_one_round_and_none() -> None:
    one = make(*codes({"a": 3, "b": 4}), rounds=20, time_limit=1e-9)
    assert len(one.rounds) == 1
    sound(render_report(one))
    for name in ("independent", "gaussian+pgm"):
        none = make(*codes({"a": 3, "b": 4}), name=name)
        assert not none.rounds
        page = render_report(none)
        sound(page)
        assert "Round by round" not in page


def test_forty_columns_stay_small(wide: Release) -> None:
    page = render_report(wide)
    assert len(page.encode()) < 2_000_000


@pytest.mark.parametrize("which", ["people", "wide"])
def test_bounds_that_rest_on_declared_zeros_say_so(which: str, request: pytest.FixtureRequest) -> None:
    release = request.getfixturevalue(which)
    said = "if no record of the private table is one declared impossible; each that is may add 2 records."
    assert (said in render_report(release)) == bool(release.schema.zeros) == (which == "people")


def test_unrelated_columns_are_called_so() -> None:
    page = render_report(make(*codes({"a": 3, "b": 4}), name="independent"))
    sound(page)
    assert "unrelated" in page
    assert "nothing bounds how far off" in page


def test_a_column_with_a_thousand_values_is_drawn_in_groups() -> None:
    release = make(*codes({"many": 1000, "few": 2}), name="independent")
    view = column_view(release, release.schema["many"])
    assert view.grouped == 8
    assert len(view.values) == 125
    assert sum(v.synthetic for v in view.values) == pytest.approx(release.table_marginal("many").sum())
    page = render_report(release)
    sound(page)
    assert "1,000 values; drawn 8 at a time" in page
    assert "All 125 bars, as a table" in page


def test_bins_are_not_called_values() -> None:
    people, schema = example.people(rows=300), example.schema()
    release = synthesize(people, schema, epsilon=1.0, mechanism="independent", workload="all-2way", seed=1, progress=False)
    said = {column.name: column_view(release, column).codes for column in schema.columns}
    assert said["income"] == f"{schema['income'].size} bins"
    assert said["sex"] == f"{schema['sex'].size} values"


def test_bands_of_groups_hold_the_truth() -> None:
    """Each of 60 seeded tables has a simultaneous 95% band; false alarm if more than 9 miss: below 1 in 1000."""
    data, schema = codes({"many": 300, "few": 2})
    truth = np.bincount(schema.encode(data)[:, 0], minlength=300)
    release = make(data, schema, name="independent")
    measured = next(m for m in release.measurements if m.clique == ("many",))
    rng, misses = np.random.default_rng(0), 0
    for _ in range(60):
        noisy = truth + np.rint(rng.normal(0, measured.scale, truth.size)).astype(np.int64)
        fresh = replace(release, measurements=(replace(measured, values=noisy),))
        view = column_view(fresh, schema["many"])
        real = np.add.reduceat(truth, range(0, 300, view.grouped))
        misses += any(not (v.lower or 0) <= r <= (v.upper or 0) for v, r in zip(view.values, real, strict=True))
    assert misses <= 9


def test_a_column_that_was_never_measured_says_so() -> None:
    release = make(*codes({"a": 3, "b": 4, "c": 5}), queries=[("a", "b")])
    page = render_report(release)
    sound(page)
    assert "never measured, so there is no range" in page
    assert "no bound" in page
    sound(render_evaluation(evaluate(release.arrow, release)))


def test_little_budget_rows_asked_for_and_replacement() -> None:
    release = make(*codes({"a": 3, "b": 4, "c": 5}), epsilon=0.01, rows=100, unit=Unit.REPLACE)
    page = render_report(release)
    sound(page)
    assert "Adding up rows as they are." in page
    assert "one row replaced" in page
    empty = make(*codes({"a": 3, "b": 4}), rows=0)
    sound(render_report(empty))


def test_adult_stays_small() -> None:
    if not ADULT.exists():
        pytest.skip("the adult table is not there")
    from understudy.review import draft_schema
    from understudy.schema import parse_schema

    schema = parse_schema(draft_schema(ADULT).replace("draft = true", "draft = false"))
    release = make(ADULT, schema, name="independent")
    page = render_report(release)
    sound(page)
    assert len(page.encode()) < 2_000_000


@pytest.mark.parametrize(("epsilon", "shown"), [(1.0, "73.2%"), (1e-9, "50.1%"), (0.1, "52.5%"), (20.0, "100%")])
def test_the_best_guess_is_rounded_up(epsilon: float, shown: str) -> None:
    assert guess(epsilon, 1e-9) == shown


def test_dependence_of_two_columns() -> None:
    assert dependence(np.eye(3) * 10) == pytest.approx(1.0)
    assert dependence(np.ones((3, 4))) == pytest.approx(0.0, abs=1e-12)
    assert dependence(np.zeros((3, 4))) == 0.0


def test_a_limit_on_the_model_is_told_as_a_size() -> None:
    release = synthesize(example.people(500), example.schema(), epsilon=1, workload="all-1way", seed=0, progress=False)
    assert release.manifest.mechanism.options["max_size"] == 80 * 2**20
    page = render_report(release)
    assert re.search(r"Largest model</t[hd]>\s*<td[^>]*>80 MB<", page)
    assert "max_size" not in page
