"""A release of a wide table: it does not grow with the number of marginals; what is not listed is there when asked for."""

from __future__ import annotations

import importlib
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import understudy
from release_tables import quick, table
from understudy import Release, Schema
from understudy.errors import FormatError
from understudy.mechanism import outcome
from understudy.release import making
from understudy.report import render_report
from understudy.uncertainty import bounded, bounds
from understudy.workload import Workload


@pytest.fixture(scope="module")
def narrow() -> Release:
    return quick(table(200), workload="all-3way", mechanism="aim")


@pytest.fixture(scope="module")
def wide() -> Release:
    """Nine columns, as if that were very many."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(making, "MOST_LISTED", 50)
        patch.setattr(making, "MOST_BOUNDED", 40)
        return quick(table(200), workload="all-3way", mechanism="aim")


def test_a_rule_stands_for_its_marginals(wide: Release, narrow: Release, tmp_path: Path) -> None:
    again = understudy.load(wide.save(tmp_path / "r"))
    said = json.loads((tmp_path / "r" / "release.json").read_text(encoding="utf-8"))["workload"]
    assert said == {"name": "all-3way", "queries": 84, "marginals": None, "rule": {"size": 3, "column": None}}
    assert narrow.manifest.workload.rule is None
    for release in (wide, again):
        assert list(release.workload.cliques) == list(narrow.workload.cliques)
        assert list(release.workload.query_weights) == list(narrow.workload.query_weights)


def test_a_rule_of_a_target_names_its_column(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(making, "MOST_LISTED", 5)
    release = quick(table(50), workload="target:sex", mechanism="independent")
    assert list(release.workload.cliques) == list(Workload.parse("target:sex", release.domain).cliques)
    assert "sex" in repr(release.manifest.workload.rule)
    assert all("sex" in b.columns for b in release.manifest.workload_bounds())


@pytest.mark.parametrize("workload", [{"marginals": None}, {"rule": {"size": 3, "column": None}}])
def test_a_workload_is_listed_or_ruled_and_not_both(narrow: Release, tmp_path: Path, workload: dict[str, object]) -> None:
    file = narrow.save(tmp_path / "r") / "release.json"
    document = json.loads(file.read_text(encoding="utf-8"))
    document["workload"] |= workload
    file.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(FormatError, match=r"damaged: workload"):
        understudy.load(tmp_path / "r")


def test_the_bounds_of_a_part_are_those_of_the_whole(wide: Release, narrow: Release, tmp_path: Path) -> None:
    """What was drawn came later than the table, so both are of one table."""
    assert len(wide.bounds) == 40 < len(narrow.bounds)
    assert {c for c in wide.bounds if len(c) == 1} == {c for c in narrow.bounds if len(c) == 1}
    assert {m.clique for m in wide.measurements} <= set(wide.bounds)
    assert wide.bounds == {c: narrow.bounds[c] for c in wide.bounds}
    again = understudy.load(wide.save(tmp_path / "r"))
    left = [c for c in narrow.bounds if c not in wide.bounds and narrow.bounds[c].round is None]
    assert left
    for clique in left:
        found, known = again.marginal(*clique).bound, narrow.model_bounds[clique]
        assert found is not None
        assert found.value == pytest.approx(known.value, rel=1e-12)  # where in memory a table lies can change its last digit
        assert replace(found, value=known.value) == known


def test_a_page_of_a_part_says_what_it_leaves_out(wide: Release) -> None:
    page = render_report(wide)
    own = sum(len(c) == 3 for c in wide.bounds)
    assert f"{84 - own} marginals of it have no bound here" in page
    assert "84 marginals (all-3way)" in page


def test_marginals_that_would_take_too_much_are_not_bounded_before_they_are_asked_for(narrow: Release) -> None:
    evidence = narrow.evidence
    cells = evidence.workload.domain.cells
    some = bounded(evidence, 1000, 300, np.random.default_rng(0))
    assert sum(map(cells, some)) <= 300
    assert some == sorted(some, key=len)
    assert {(name,) for name in narrow.domain} <= set(some)
    assert bounded(evidence, 1000, 10**9, np.random.default_rng(0)) == list(evidence.workload.closure)


def test_bounds_in_blocks_are_the_same(narrow: Release, monkeypatch: pytest.MonkeyPatch) -> None:
    before = bounds(narrow.evidence)
    monkeypatch.setattr(importlib.import_module("understudy.uncertainty.bounds"), "AT_ONCE", 64)
    assert bounds(narrow.evidence) == before


def test_a_page_of_300_columns_is_one_that_a_browser_can_show(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outcome, "MOST_REFINED", 300)  # to be quick
    schema = Schema.from_domain({f"column number {i}": (2, 5, 30, 300)[i % 4] for i in range(300)})
    codes = np.random.default_rng(0).integers(0, schema.domain.sizes, (100, 300), dtype=np.int32)
    release = understudy.synthesize(codes, schema, epsilon=5, mechanism="independent", rows=50, progress=False)
    page = render_report(release)
    assert len(page.encode()) < 5_000_000
    assert all(f"column number {i}" in page for i in range(300))
    assert len(release.manifest.model_dump_json()) < 1_000_000
