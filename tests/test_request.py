"""What was asked for is read in one place, and a release is saved in one way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import understudy
from release_tables import quick, schema, table
from understudy.errors import CapacityError, SourceError, UserError
from understudy.request import Output, Request, budget_of, options_of


def asked_for(
    epsilon: float | None = 1,
    delta: float | None = None,
    max_size: str | int = "80MB",
    options: dict[str, Any] | None = None,
    **settings: Any,
) -> Request:
    """Read a request as ``synthesize`` does."""
    return Request.of(schema(), budget_of(epsilon, delta, None), options=options_of(options or {}, max_size), **settings)


def test_a_request_has_the_defaults_of_synthesize() -> None:
    asked = Request.of(schema(), budget_of(1, None, None))
    assert (asked.budget.epsilon, asked.budget.delta) == (1, 1e-9)
    assert (asked.workload_name, asked.mechanism.name, asked.unit.value) == ("all-3way", "residuals", "add_remove")
    assert (asked.rows, asked.confidence, asked.seed, asked.private) == (None, 0.95, None, True)
    assert asked.options == {"max_size": 80 * 2**20}


@pytest.mark.parametrize("mechanism", ["auto", "aim2", "residuals", "mst", "independent"])
def test_a_model_that_has_no_room_is_refused_before_a_budget_is_reserved(mechanism: str, tmp_path: Path) -> None:
    with pytest.raises(
        CapacityError, match=r"smallest model takes .* but max_size is 100 bytes.*Nothing was spent"
    ) as caught:
        understudy.synthesize(
            table(50), schema(), epsilon=1, max_size=100, mechanism=mechanism, out=tmp_path / "r", progress=False
        )
    assert caught.value.spent.budget is None  # type: ignore[attr-defined]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"epsilon": None}, "how much may be disclosed"),
        ({"workload": "all-9-way"}, "all-9-way"),
        ({"unit": "replaced"}, "add-remove or replace"),
        ({"mechanism": "gaussian"}, "makes no table"),
        ({"rows": -1}, "rows must be"),
        ({"confidence": 1}, "confidence must"),
        ({"seed": -1}, "seed must"),
        ({"options": {"alhpa": 0.5}}, 'Did you mean "alpha"'),
    ],
)
def test_what_makes_no_sense_is_refused(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(UserError, match=says):
        asked_for(**wrong)


@pytest.mark.parametrize(("misspelt", "meant"), [("worload", "workload"), ("epsilom", "epsilon"), ("max_sizes", "max_size")])
def test_a_misspelt_setting_is_told_what_was_meant(misspelt: str, meant: str) -> None:
    with pytest.raises(UserError, match=f'no setting "{misspelt}".*Did you mean "{meant}"'):
        understudy.synthesize(table(40), schema(), **{"epsilon": 1.0, misspelt: 1})
    with pytest.raises(UserError, match=r'No mechanism has an option "round"; .*Did you mean "rounds"'):
        understudy.synthesize(table(40), schema(), epsilon=1.0, round=3)


def test_another_table_is_asked_about_and_few_of_its_columns_are_named() -> None:
    wide = understudy.Schema.from_domain({f"c{i}": 3 for i in range(40)})
    with pytest.raises(SourceError) as caught:
        understudy.synthesize({"price": [1], "shop": [2]}, wide, epsilon=1.0)
    lines = str(caught.value).splitlines()
    assert lines[0] == "The dict lacks 40 of the 40 columns that the schema declares:"
    assert lines[-2:] == ["  and 28 more.", "Is it the table that the schema was written for?"]
    assert len(lines) == 1 + 12 + 2


def test_a_run_goes_on_under_the_same_facts_alone() -> None:
    def facts(**settings: Any) -> dict[str, Any]:
        return asked_for(**settings).facts

    others: list[dict[str, Any]] = [
        {"epsilon": 2},
        {"delta": 1e-10},
        {"workload": "all-2way"},
        {"mechanism": "mwem"},
        {"unit": "replace"},
        {"rows": 5},
        {"confidence": 0.9},
        {"max_size": "1MB"},
        {"options": {"alpha": 0.8}},
        {"seed": 3},
    ]
    assert facts() == facts(max_size=80 * 2**20, workload="all-3way")
    assert all(facts(**other) != facts() for other in others)


def test_a_format_that_there_is_not_is_refused_before_the_run() -> None:
    with pytest.raises(UserError, match='no table format "xlsx"'):
        Output(Path("r"), format="xlsx")  # type: ignore[arg-type]


def test_a_folder_may_be_named_by_its_text(tmp_path: Path) -> None:
    quick(table(20), out=Output(str(tmp_path / "r")))  # type: ignore[arg-type]
    assert (tmp_path / "r" / "release.json").is_file()


@pytest.mark.parametrize("report", [True, False])
def test_a_run_saves_as_a_release_does(tmp_path: Path, report: bool) -> None:
    made = quick(table(30), out=Output(tmp_path / "first", report=report))
    made.save(tmp_path / "second", report=report)
    files = [
        {str(p.relative_to(f)): p.read_bytes() for p in f.rglob("*") if p.is_file()} for f in sorted(tmp_path.iterdir())
    ]
    assert files[0] == files[1]
    assert ("report.html" in files[0]) is report


def test_a_report_that_fails_leaves_no_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ValueError("no page")

    monkeypatch.setattr("understudy.release.release.render_report", broken)
    with pytest.raises(ValueError, match="no page"):
        quick(table(20)).save(tmp_path / "r")
    assert not list(tmp_path.iterdir())


def test_a_folder_that_came_up_during_the_run_is_left_alone(tmp_path: Path) -> None:
    def meanwhile(_: object) -> None:
        (tmp_path / "r").mkdir(exist_ok=True)
        (tmp_path / "r" / "mine").touch()

    with pytest.raises(UserError, match="exists already"):
        understudy.synthesize(
            table(20),
            schema(),
            epsilon=5,
            workload="all-1way",
            mechanism="independent",
            out=tmp_path / "r",
            progress=meanwhile,
        )
    assert [p.name for p in (tmp_path / "r").iterdir()] == ["mine"]
