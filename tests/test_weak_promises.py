"""A weak promise is told in the words of a weak one, and warned of before anything is read."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from release_tables import SCHEMA, quick, schema, table
from understudy import UnderstudyWarning, learn_schema, plan, synthesize
from understudy.cli import main
from understudy.errors import SourceError
from understudy.manifest.promise import sentences
from understudy.manifest.strength import success, weakness

KIND = ("makes much difference", "not far off")
WEAK = [{"epsilon": 1.0, "delta": 0.5}, {"epsilon": 1000.0}, {"epsilon": 2.0}, {"epsilon": 0.1, "delta": 0.01}]
WARNED = [
    ({"epsilon": 1.0, "delta": 0.5}, "delta = 0.5"),
    ({"epsilon": 1000.0}, "epsilon = 1000"),
    ({"rho": 9.0}, "epsilon"),
]


def told(**budget: float) -> str:
    return " ".join(sentences(quick(table(60), seed=None, **{"epsilon": None, **budget}).manifest))


@pytest.mark.promise(6)
@pytest.mark.parametrize("budget", WEAK, ids=str)
@pytest.mark.filterwarnings("ignore::understudy.UnderstudyWarning")
def test_a_weak_promise_has_no_kind_words(budget: dict[str, float]) -> None:
    said = told(**budget)
    assert [words for words in KIND if words in said] == []
    assert "is limited" in said or "hardly limited" in said


def test_a_usual_promise_keeps_its_words() -> None:
    said = told(epsilon=1.0)
    assert [words for words in KIND if words in said] == list(KIND)


@pytest.mark.filterwarnings("ignore::understudy.UnderstudyWarning")
def test_where_the_attacker_is_always_right_hardly_anything_is_limited() -> None:
    assert "is hardly limited" in told(epsilon=1000.0)
    assert success(1000.0, 1e-9) == 1.0
    assert "is limited, but the limit is weak" in told(epsilon=4.0)


@pytest.mark.parametrize(("budget", "words"), WARNED, ids=str)
def test_a_weak_budget_is_warned_of_before_anything_is_read(budget: dict[str, float], words: str, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"workload": "all-1way", "progress": False, **budget}
    with pytest.warns(UnderstudyWarning, match=words) as caught, pytest.raises(SourceError):
        synthesize(tmp_path / "there-is-none.csv", schema(), **settings)
    assert [Path(one.filename).name for one in caught] == [Path(__file__).name]
    with pytest.warns(UnderstudyWarning, match=words) as caught:
        plan(schema(), rows=100, workload="all-1way", **budget)
    assert len(caught) == 1
    assert Path(caught[0].filename).name == Path(__file__).name


def test_usual_budgets_seeded_runs_and_rehearsals_are_not_warned_of() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnderstudyWarning)
        told(epsilon=10.0)
        quick(table(60), epsilon=1000.0)
        plan(schema(), rows=1_000_000, epsilon=5, workload="all-1way")
    assert weakness(10.0, 1e-4) == ""
    assert weakness(10.1, 1e-9)
    assert weakness(0.1, 1.1e-4)


@pytest.mark.parametrize("command", ["plan", "synthesize"])
def test_the_commands_warn_on_screen(command: str, tmp_path: Path) -> None:
    (tmp_path / "schema.toml").write_text(SCHEMA)
    rest = ["--rows", "100", "--json"] if command == "plan" else [str(tmp_path / "none.csv"), "-o", str(tmp_path / "out")]
    told = CliRunner().invoke(main, [command, "-s", str(tmp_path / "schema.toml"), "-e", "1000", "-w", "all-1way", *rest])
    assert "epsilon = 1000 is a weak promise" in told.stderr
    if command == "plan":
        assert json.loads(told.stdout)["epsilon"] >= 1000


def test_how_often_an_attacker_is_right_counts_delta() -> None:
    assert success(0, 0) == 0.5
    assert success(0, 0.5) == 0.75
    assert success(20, 0) < 1
    assert "right 100% of the time" in weakness(20, 1e-9)


def test_a_release_with_a_learnt_schema_is_worded_by_both_budgets() -> None:
    """The schema is in the release: who sees that has seen what it cost, too."""
    rows = {"answer": ["Yes", "No"] * 1500}
    learnt = learn_schema(rows, epsilon=9)
    release = synthesize(rows, learnt, epsilon=1, delta=1e-9, workload="all-1way", progress=False)
    card = " ".join(release.card.split())
    assert "makes much difference to this table" not in card
    assert "everything in this release, the learnt schema too" in card
    assert "Words such as yes and no" in card
