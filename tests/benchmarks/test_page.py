"""The results page is what its command would write, says first what is worse, and claims nothing that was not measured."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.conftest import BENCHMARKS
from benchmarks.lines import line
from grid import figure_data, page, paper
from grid.cells import ROUNDS
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
    theirs["result"] |= {"seconds": 9.0, "own_peak_mb": 90.0, "notes": ["its own way"]}
    stuck = line("mbi/aim", 0.0, status="timeout", message="stopped after 300 s", result={}, progress={"rounds": 2})
    text = page.page(evidence(peers=(line("aim", 0.6), theirs, stuck)))
    where = "of dpmm/aim is below that of AIM: titanic, all-3way, ε = 1:"
    assert f"- error (L1) {where} 0.5 (1 trial) against 0.6 (1 trial)\n" in worse_part(text)
    assert f"- error (L2) {where} 0.0625 (1 trial) against 0.075 (1 trial)\n" in worse_part(text)
    assert f"- error (max) {where} 0.125 (1 trial) against 0.15 (1 trial)\n" in worse_part(text)
    assert f"- memory {where} 90 MB (1 trial) against 180 MB (1 trial)\n" in worse_part(text)
    assert "- time" not in worse_part(text)
    assert "mbi/aim, titanic, ε = 1, trial 0: stopped after 300 s; got to round 2" in text
    assert "dpmm/aim: its own way" in text


def test_one_line_lists_all_settings_of_a_peer_and_counts_the_trials_of_both() -> None:
    theirs = [line("dpmm/aim", 0.5, epsilon=e, trial=t) for e in (1.0, 10.0) for t in range(2)]
    text = worse_part(page.page(evidence(peers=(line("aim", 0.6), line("aim", 0.6, epsilon=10.0), *theirs))))
    words = "ε = 1: 0.5 (2 trials) against 0.6 (1 trial); titanic, all-3way, ε = 10: 0.5 (2 trials) against 0.6 (1 trial)"
    assert words in text
    assert text.count("error (L1)") == 1


def test_a_peer_that_finished_where_ours_did_not_is_told() -> None:
    late = line("aim", 0.0, status="timeout", message="did not finish", result={}, progress=None)
    text = worse_part(page.page(evidence(peers=(late, line("dpmm/aim", 0.5)))))
    assert "- dpmm/aim finished where AIM did not: titanic, all-3way, ε = 1 (timeout)" in text


@pytest.mark.parametrize(("found", "known"), [({}, False), ({"peak_mb": 310.0}, True), ({"own_peak_mb": 170.0}, True)])
def test_memory_of_a_peer_that_may_be_its_launchers_is_marked(found: dict[str, float], known: bool) -> None:
    ours, theirs = line("aim", 0.6), line("dpmm/aim", 0.7)
    ours["result"] |= {"peak_mb": 400.0}
    theirs["result"] |= {"peak_mb": 170.0} | found
    text = page.page(evidence(peers=(ours, theirs)))
    assert "memory of dpmm/aim" in worse_part(text)
    assert ("at most" in worse_part(text)) != known
    assert ("then marked ≤" in text) != known
    assert ("| 170 |" in text) == ("own_peak_mb" in found)


def test_where_a_simpler_mechanism_of_ours_does_better() -> None:
    simple = line("gaussian", 0.5)
    simple["result"] = simple["result"] | {"error": {"l1": 0.7, "l2": 0.01, "max": 0.7}}
    text = page.page(evidence(line("aim", 0.6), simple)).partition("## Where AIM does worse")[2].partition("\n## ")[0]
    assert "error (L2) of gaussian is below that of AIM: titanic, all-3way, ε = 1: 0.01 (1 trial) against 0.075" in text
    assert "answers and no table" in text
    assert "(L1)" not in text
    assert "(max)" not in text


def found_of(key: str, *lines: dict[str, object], peers: tuple[dict[str, object], ...] = ()) -> paper.Found | None:
    [row] = [row for row in paper.rows() if row.key == key]
    return row.ours(evidence(*lines, peers=peers).everyone)


def test_ours_is_compared_with_the_best_mst_of_any_peer() -> None:
    peers = (line("dpmm/mst", 3.0), line("smartnoise/mst", 2.0), line("dpmm/mst", 8.0, epsilon=10.0), line("dpmm/aim", 0.1))
    ours = (line("aim", 1.0), line("aim", 1.0, epsilon=10.0), line("aim", 1.0, epsilon=0.1))
    mean, most = (found_of(key, *ours, peers=peers) for key in ("mst-mean", "mst-most"))
    assert mean is not None
    assert mean.value == pytest.approx(4.0)
    assert mean.over.startswith("2 settings")
    assert most is not None
    assert most.value == pytest.approx(8.0)
    assert found_of("mst-mean", *ours) is None


def test_our_own_mst_counts_where_it_is_the_best() -> None:
    lines = (line("aim", 1.0), line("mst", 1.5))
    assert str(found_of("mst-mean", *lines, peers=(line("dpmm/mst", 3.0),))) == "1.5"
    assert str(found_of("mst-mean", *lines, peers=(line("dpmm/mst", 1.2),))) == "1.2"


def test_other_papers_mechanisms_are_compared_where_they_were_run() -> None:
    rest = [line(name, 3.0) for name in paper.REST if name not in ("gem", "privmrf")]
    lines = [line("aim", 1.0), *rest, line("gem", 2.0), line("privmrf", 4.0)]
    lines += [line("aim", 1.0, epsilon=10.0), line("privmrf", 1.0, epsilon=10.0), line("mwem", 0.5, epsilon=10.0)]
    wanted = {
        "privmrf-mean-all-3way": "2",
        "privmrf-most-all-3way": "4",
        "gem-mean-all-3way": "2",
        "gem-before": "100 %",
        "mwem-before": "0 %",
        "gem-best": "0 %",
        "best-share": "50 %",
        "mwem-best": "50 %",
        "next-mean": "2",
    }
    assert {key: str(found_of(key, *lines)) for key in wanted} == wanted
    assert found_of("privmrf-mean-target", *lines) is None
    assert found_of("next-mean", *(one for one in lines if one["mechanism"] != "rap")) is None


def test_the_stored_runs_of_the_family_are_on_the_page() -> None:
    assert STORED.family.lines
    for name in ("privmrf-mean-all-3way", "privbayes-mean-all-3way", "rap-mean-all-3way", "ablation-O1"):
        (row,) = (row for row in paper.rows() if row.key == name)
        assert row.ours(STORED.everyone) is not None, name


def test_the_peers_change_no_figure_but_those_of_mst() -> None:
    for row in paper.rows():
        if not row.key.startswith("mst-"):
            assert row.ours(STORED.everyone) == row.ours(STORED.ours), row.key


def test_hindsight_needs_every_number_of_rounds_and_a_workload_of_triples() -> None:
    names = [*(f"aim:T={t}" for t in ROUNDS), "aim:fixed"]
    lines = [line("aim", 1.0), *(line(name, 0.5 if name == "aim:T=8" else 2.0) for name in names)]
    pairs = [line(name, 9.0, workload="all-2way") for name in ("aim", *names)]
    found = found_of("rounds-hindsight", *lines, *pairs)
    assert found is not None
    assert found.value == pytest.approx(2.0)
    assert found.over.startswith("1 setting:")
    assert found_of("rounds-hindsight", *lines[:-1]) is None


def test_gaussian_answers_are_compared_on_all_workloads_of_triples() -> None:
    lines = [line(name, e, workload="target", epsilon=10.0) for name, e in (("aim", 1.0), ("gaussian", 0.5))]
    found = found_of("gaussian-triples", *lines)
    assert found is not None
    assert found.value == 10.0


def test_shares_and_ratios_of_the_paper() -> None:
    lines = [line("aim", 1.0), line("mwem", 0.9), line("aim", 1.0, epsilon=10.0), line("mwem", 1.1, epsilon=10.0)]
    assert str(found_of("mwem-best", *lines)) == "50 %"
    zeros = [line("aim", 0.06, dataset="fire"), line("aim:zeros", 0.05, dataset="fire")]
    assert str(found_of("zeros-ratio-1", *zeros)) == "1.200"


@pytest.mark.parametrize(
    ("key", "value", "worse"),
    [
        ("aim-fire-1", 0.0524, False),
        ("aim-fire-1", 0.0526, True),
        ("best-share-1", 0.993, True),
        ("mwem-mean", 1.46, False),
        ("p-A1", -21.0, True),
        ("capacity-5-error", 0.8, True),
        ("capacity-1280-error", -0.1, True),
        ("gaussian-triples", 10.0, True),
        ("bound-exceeded", 1.0, True),
        ("zeros-ratio-0.01", 1.1296, False),
        ("zeros-ratio-0.01", 1.1294, True),
        ("time-5 MB", 1.2, True),
    ],
)
def test_worse_is_meant_to_as_many_decimals_as_the_paper_states(key: str, value: float, worse: bool) -> None:
    [row] = [row for row in paper.rows() if row.key == key]
    assert row.worse(paper.Found(value, "")) == worse


def test_nothing_measured_nothing_claimed() -> None:
    text = page.page(evidence())
    assert text.count("| not measured yet |") + text.count("| not built |") == len(paper.rows())
    assert f"{len(paper.rows())} figures from the paper's text are in the table below; 0 of them were measured here" in text
    assert "![" not in text
    assert "NaN" not in text.upper().split()


def test_every_explanation_belongs_to_a_row() -> None:
    keys = [row.key for row in paper.rows()]
    assert len(set(keys)) == len(keys)
    assert page.explanations().keys() <= {page.explained_by(key) for key in keys}


def test_an_explanation_may_be_given_by_what_keys_begin_with(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"aim:zeros-fire": "all", "aim:zeros-fire-0.1": "one", "aim": "any", "aim-fire-1": "exact"}
    monkeypatch.setattr(page, "explanations", lambda: given)
    keys = ("aim:zeros-fire-0.1", "aim:zeros-fire-1", "aim-fire-1", "aim-fire-10", "p-A1")
    assert [page.explanation(key) for key in keys] == ["one", "all", "exact", "any", ""]


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


def test_a_fraction_better_than_any_sample_is_drawn_at_the_top() -> None:
    lines = [line("aim", 0.1, epsilon=e, trial=t) for e in (1.0, 10.0) for t in range(2)]
    for one, value in zip(lines, (0.2, 0.4, 0.5, None), strict=True):
        one["result"]["subsampling"] = value
    figure = figure_data.available(Results(lines))["subsampling"]
    assert figure.data["panels"]["all-3way"]["titanic"] == [[1.0, pytest.approx(0.3), 0.2, 0.4], [10.0, 0.75, 0.5, 1.0]]
    assert "better than any sample" in figure.caption


def test_a_downstream_run_says_when_how_long_and_on_what() -> None:
    row = {"learner": "trees", "measure": "AUC", "trained_on": "real rows", "value": 0.9}
    known = {"when": "2026-01-01", "table": [row], "workload_error": {"all-3way": 0.1}}
    more = {"seconds": 61.2, "versions": {"commit": "abc"}, "machine": line("aim", 0.5)["machine"]}
    for found, said in ((known, "2026-01-01:"), (known | more, "2026-01-01, 61 s, commit abc, 2 cores, a processor, 24 GB")):
        text = page.downstream(Evidence(Results([]), Results([]), Results([]), found))
        assert f"`make bench-downstream`, {said}" in text


def test_the_page_names_no_folder_of_the_machine() -> None:
    assert not re.search(r"(?<![.\w])/(?:work|tmp|home|root|usr)/", (DOCS / "results.md").read_text(encoding="utf-8"))
    for path in Path(BENCHMARKS / "results").glob("*.jsonl"):
        assert not re.search(r"(?<![.\w])/(?:work|tmp|home|root|usr)/", path.read_text(encoding="utf-8")), path.name


def test_where_ours_is_worse_than_the_paper_the_page_says_why() -> None:
    found = [(row, row.ours(STORED.everyone)) for row in paper.rows()]
    worse = {row.key for row, ours in found if ours is not None and row.worse(ours)}
    assert not {key for key in worse if not page.explanation(key)}, "benchmarks/grid/explanations.toml"
