"""The mechanism that a run gets where nobody names one: it can do what is asked for, and everything says which it was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.csv
import pytest
from click.testing import CliRunner

import understudy
from release_tables import SCHEMA, schema, table
from understudy import Schema
from understudy.cli import main
from understudy.errors import CapacityError, UserError
from understudy.mechanism import DEFAULT, MECHANISMS
from understudy.mechanism.choosing import FORECASTS, GUESSED_ROWS, WIDE
from understudy.mechanism.chosen import takers
from understudy.request import Request, budget_of, options_of
from understudy.schema import parse_schema

ORDERED = """
[columns.a]
kind = "integer"
min = 0
max = 99
bins = 100
other = 0
[columns.b]
kind = "integer"
min = 0
max = 99
bins = 100
other = 0
[[zeros]]
always = "a <= b"
"""
DERIVED = """
[columns.a]
kind = "integer"
min = 0
max = 9
bins = 10
other = 0
[columns.half]
kind = "derived"
expression = "a >= 5"
"""


def asked(declared: Schema | None = None, workload: Any = "all-1way", epsilon: float = 10, **settings: Any) -> Request:
    sizes = {name: settings.pop(name) for name in ("max_size", "time_limit") if name in settings}
    options = options_of(settings.pop("options", {}), **sizes)
    return Request.of(declared or schema(), budget_of(epsilon, None, None), workload, options=options, **settings)


def test_nobody_need_name_one() -> None:
    assert DEFAULT not in MECHANISMS
    found = asked()
    assert found.mechanism.name == next(iter(found.forecasts)) == "residuals"
    assert asked(workload="all-3way", epsilon=0.001).mechanism.name == "aim2"
    assert asked(mechanism="aim2").forecasts == {}


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"parents": 4}, r'"parents" is an option of privbayes\+pgm alone: name the mechanism, such as mechanism="privba'),
        ({"each": 2}, r'"each" is an option of rap alone'),
        ({"round": 3}, r'No mechanism has an option "round"; there are .*Did you mean "rounds"'),
        ({"estimator": "relaxed", "again": False}, r'"estimator" is an option of aim; "again" is an option of aim2. Leave'),
    ],
)
def test_options_that_none_has_are_refused_with_the_name_of_what_has_them(options: dict[str, Any], says: str) -> None:
    with pytest.raises(UserError, match=says):
        asked(options=options)


def test_options_of_one_mechanism_alone_choose_it() -> None:
    assert asked(options={"estimator": "relaxed"}).mechanism.name == "aim"
    assert asked(options={"again": False}).mechanism.name == "aim2"
    assert asked(time_limit="1m").mechanism.name == asked(options={"rounds": 90}).mechanism.name == "aim2"
    assert asked(max_size="auto", time_limit="1m").mechanism.name == "aim2"
    with pytest.raises(UserError, match="needs a limit on the time"):
        asked(max_size="auto")
    wide = Schema.from_domain({f"x{k}": 2 for k in range(WIDE + 1)})
    alone = asked(wide, options={"again": False})
    assert (alone.mechanism.name, alone.forecasts) == ("aim2", {})


def test_whatever_options_are_taken_at_all_public_data_leaves_one() -> None:
    for options in (
        {},
        {"rounds": 3},
        {"estimator": "pgm"},
        {"again": True},
        {"check": 0.0},
        {"noise": "laplace"},
        {"zeros": False},
    ):
        assert {"aim", "aim2"} & set(takers(options))
        assert set(takers(options, public=True)) <= {"aim", "aim2"}
        assert takers(options, public=True)
    assert set(takers({})) == set(FORECASTS)


def test_a_model_that_memory_or_declared_zeros_leave_no_room_for_is_not_chosen() -> None:
    pair = [["a", "b"]]
    wide = Schema.from_domain({"a": 1500, "b": 1500, "c": 3})
    assert asked(wide, pair).mechanism.name == "residuals"
    assert asked(wide, pair, max_size="10MB").mechanism.name == "aim2"
    tight = asked(wide, pair, memory="400MB")
    assert tight.mechanism.name == "aim2"
    assert tight.options["max_size"] < 8 * 1500**2
    ordered = parse_schema(ORDERED)
    assert ordered.zeros
    assert asked(ordered).mechanism.name == "residuals"
    with pytest.raises(CapacityError, match="smallest model with the declared structural zeros"):
        asked(ordered, max_size=50_000)  # no other has room for them either
    assert asked(ordered, max_size=50_000, options={"zeros": False}).mechanism.name == "residuals"


def test_sums_and_derived_columns_are_for_those_that_ask_for_them() -> None:
    declared = Schema.from_domain({"a": 10, "b": 4})
    prefixes: Any = [{"attributes": ["a", "b"], "prefixes": "a"}]
    assert asked(declared, [["a", "b"]]).mechanism.name == "residuals"
    assert asked(declared, prefixes).mechanism.name == "aim2"
    derived = parse_schema(DERIVED)
    for workload in ("all-1way", [["half"]]):
        found = asked(derived, workload)
        assert found.mechanism.name == "aim2"
        assert "half" in found.schema.domain
        assert set(found.forecasts) == {"aim", "aim2"}
    assert asked(derived, [["a"]]).mechanism.name == "residuals"


def test_rows_that_were_asked_for_are_forecast_for_and_those_of_the_table_are_not() -> None:
    few, many, unsaid = asked(rows=50), asked(rows=50_000), asked()
    assert few.forecasts != many.forecasts != unsaid.forecasts == asked(rows=GUESSED_ROWS).forecasts
    settings: dict[str, Any] = {"epsilon": 10, "workload": "all-1way", "seed": 1, "progress": False}
    for rows in (0, 1, 700):
        made = understudy.synthesize(table(rows), schema(), **settings).manifest.mechanism
        assert (made.name, made.forecasts) == (unsaid.mechanism.name, unsaid.forecasts)
        assert made.forecast_rows == GUESSED_ROWS


def test_what_is_planned_for_open_columns_is_what_a_run_gets() -> None:
    declared = parse_schema('[columns.town]\nkind = "open"\n[columns.flag]\nkind = "boolean"\nnullable = true\n')
    planned = understudy.plan(declared, rows=100, epsilon=0.05, workload="all-2way", rehearse=False)
    texts = {one.name: [chr(ord("α") + number) for number in range(one.values)] for one in planned.opened}
    before = asked(declared, "all-2way", 0.05, rows=100)
    run = before.settled(before.schema.settled(texts))
    assert (run.mechanism.name, run.forecasts) == (planned.mechanism, planned.forecasts)
    assert run.budget == before.budget
    assert before.forecasts != run.forecasts


def test_a_release_says_which_it_was_and_why_wherever_somebody_looks(tmp_path: Path) -> None:
    pyarrow.csv.write_csv(table(60), tmp_path / "visits.csv")
    (tmp_path / "visits.toml").write_text(SCHEMA)
    base = ["synthesize", tmp_path / "visits.csv", "-s", tmp_path / "visits.toml", "-e", 8, "-w", "all-1way"]
    told = CliRunner().invoke(main, [*map(str, base), "-o", str(tmp_path / "a"), "--rows", "60"])
    assert told.exit_code == 0, told.stderr
    release = understudy.load(tmp_path / "a")
    why = "for the least error forecast for 60 rows: " + ", ".join(
        f"{name} {error:.2g}" for name, error in release.manifest.mechanism.forecasts.items()
    )
    assert ": residuals " in why
    assert "  made by   residuals, " in told.stdout
    assert f"  chosen    {why}\n" in told.stdout
    assert f"before the table was opened, {why})" in release.card.replace("\n", " ")
    assert f"{why}." in (tmp_path / "a" / "report.html").read_text(encoding="utf-8")
    machines = CliRunner().invoke(main, [*map(str, base), "-o", str(tmp_path / "b"), "--json", "--time-limit", "1m"])
    summary = json.loads(machines.stdout)
    assert summary["mechanism"] == "aim2" == next(iter(summary["forecasts"]))
    named = CliRunner().invoke(main, [*map(str, base), "-o", str(tmp_path / "c"), "--mechanism", "aim2"])
    assert "chosen" not in named.stdout
    assert "chosen" not in understudy.load(tmp_path / "c").card
    assert "was chosen before" not in (tmp_path / "c" / "report.html").read_text(encoding="utf-8")


def test_the_only_one_for_its_settings_is_called_so() -> None:
    release = understudy.synthesize(table(40), schema(), epsilon=8, workload="all-1way", again=False, seed=1)
    assert list(release.manifest.mechanism.forecasts) == ["aim2"]
    assert "chosen    for being the only one for these settings; forecast for 10,000 rows: aim2 " in str(release)
