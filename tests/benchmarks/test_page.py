"""The results page is what its command would write, says first what is worse, and claims nothing that was not measured."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.conftest import BENCHMARKS
from benchmarks.lines import line
from grid import figure_data, page, paper
from grid.results import Evidence, Results

DOCS = BENCHMARKS.parent / "docs"
STORED = Evidence.load(BENCHMARKS / "results")


def evidence(*lines: dict[str, object], peers: tuple[dict[str, object], ...] = ()) -> Evidence:
    return Evidence(Results(lines), Results([]), Results(peers), None)


def worse_part(text: str) -> str:
    return text.partition("## Where ours is worse")[2].partition("\n## ")[0]


def test_the_page_is_what_the_command_writes_from_the_stored_files() -> None:
    assert (DOCS / "results.md").read_text(encoding="utf-8") == page.page(STORED), "run: make results"


def test_the_figures_are_those_of_the_stored_files() -> None:
    wanted = {f"{name}.svg": figure.digest for name, figure in figure_data.available(STORED.ours).items()}
    drawn = {path.name: path.read_text(encoding="utf-8") for path in (DOCS / "figures").glob("*.svg")}
    assert drawn.keys() == wanted.keys(), "run: make results"
    assert all(f"<dc:description>data {digest}" in drawn[name] for name, digest in wanted.items()), "run: make results"


def test_what_is_worse_than_the_paper_comes_first() -> None:
    text = page.page(evidence(line("aim", 0.06, dataset="fire"), line("aim", 0.03, dataset="fire", epsilon=10.0)))
    assert "fire, all-3way, ε = 1: ours 0.060, the paper 0.052" in worse_part(text)
    assert "ε = 10: ours 0.030" not in worse_part(text)
    headings = re.findall("^## (.*)$", text, re.MULTILINE)
    assert headings[0] == "Where ours is worse"


def test_what_is_worse_than_a_peer_comes_first_too() -> None:
    theirs = line("dpmm/aim", 0.5)
    theirs["result"] |= {"seconds": 9.0, "peak_mb": 90.0, "notes": ["its own way"]}
    stuck = line("mbi/aim", 0.0, status="timeout", message="stopped after 300 s", result={}, progress={"rounds": 2})
    text = page.page(evidence(peers=(line("aim", 0.6), theirs, stuck)))
    assert "titanic, all-3way, ε = 1: error of AIM 0.6, of dpmm/aim 0.5" in worse_part(text)
    assert "memory of AIM 180, of dpmm/aim 90 MB" in worse_part(text)
    assert "time of AIM" not in worse_part(text)
    assert "mbi/aim, titanic, ε = 1, trial 0: stopped after 300 s; got to round 2" in text
    assert "dpmm/aim: its own way" in text


def test_nothing_measured_nothing_claimed() -> None:
    text = page.page(evidence())
    assert text.count("not measured yet") >= len(paper.rows()) - 1
    assert "![" not in text
    assert "NaN" not in text.upper().split()


def test_every_explanation_belongs_to_a_row() -> None:
    keys = [row.key for row in paper.rows()]
    assert len(set(keys)) == len(keys)
    assert page.explanations().keys() <= set(keys)


def test_ratios_and_p_values_of_an_ablation() -> None:
    lines = [line("aim", e, trial=t) for t, e in enumerate((0.9, 1.0, 1.1))]
    lines += [line("aim:fixed", 2 * e, trial=t) for t, e in enumerate((0.9, 1.0, 1.1))]
    lines += [line("aim", 1.0, epsilon=10.0), line("aim:fixed", 8.0, epsilon=10.0)]
    found = {row.key: row.ours(Results(lines)) for row in paper.rows()}
    assert found["ablation-A3"] is not None
    assert found["ablation-A3"].value == pytest.approx(4.0)
    assert found["p-A3"] is not None
    assert found["p-A3"].over == "1 t-tests"
    assert found["ablation-B1"] is None
    boxes = figure_data.available(Results(lines))["ablations"].data["boxes"]
    assert [(box["label"], sorted(box["ratios"])) for box in boxes] == [("A3", [pytest.approx(2.0), pytest.approx(8.0)])]


def test_a_fraction_better_than_any_sample_is_not_dropped_from_the_median() -> None:
    lines = [line("aim", 0.1, dataset=name) for name in ("titanic", "adult", "fire")]
    for one, value in zip(lines, (0.2, None, None), strict=True):
        one["result"]["subsampling"] = value
    [found] = [row.ours(Results(lines)) for row in paper.rows() if row.key == "subsampling-all-3way-1"]
    assert found is not None
    assert str(found) == "inf"


def test_the_page_names_no_folder_of_the_machine() -> None:
    assert not re.search(r"(?<![.\w])/(?:work|tmp|home|root|usr)/", (DOCS / "results.md").read_text(encoding="utf-8"))
    for path in Path(BENCHMARKS / "results").glob("*.jsonl"):
        assert not re.search(r"(?<![.\w])/(?:work|tmp|home|root|usr)/", path.read_text(encoding="utf-8")), path.name
