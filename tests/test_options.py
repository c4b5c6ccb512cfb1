"""Every mechanism takes its own options, and refuses those that it has no use for, before anything is read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from release_tables import SCHEMA, quick, table
from understudy.cli import main
from understudy.domain import Domain
from understudy.errors import UserError
from understudy.mechanism import MECHANISMS, mechanism
from understudy.privacy import Budget, Door, ResearchNoise
from understudy.source import MemorySource
from understudy.workload import Workload


@pytest.mark.parametrize(
    ("name", "option", "says"),
    [
        ("independent", {"rounds": 3}, 'has no option "rounds"; its options are inside, max_size, noise, zeros'),
        ("independent", {"time_limit": 3.0}, 'has no option "time_limit"'),
        ("gaussian+pgm", {"alpha": 0.5}, "its options are inside, max_size, noise, zeros"),
        ("gaussian", {"max_size": 10}, "its options are inside, noise"),
        ("gaussian", {"nose": "laplace"}, 'Did you mean "noise"'),
        ("mwem", {"adaptive": True}, 'has no option "adaptive"'),
    ],
)
def test_a_mechanism_takes_its_own_options_only(name: str, option: dict[str, Any], says: str) -> None:
    with pytest.raises(UserError, match=says):
        mechanism(name, **option)


@pytest.mark.parametrize("name", sorted(MECHANISMS))
def test_every_option_of_a_mechanism_is_taken(name: str) -> None:
    given = {
        "noise": "laplace",
        "max_size": 5000,
        "zeros": False,
        "rounds": 50,
        "alpha": 0.8,
        "check": 0.0,
        "time_limit": 9.0,
    }
    taken = {option: value for option, value in given.items() if option in MECHANISMS[name].takes}
    made = mechanism(name, **taken)
    assert {option: getattr(made.config, option) for option in taken} == taken


@pytest.mark.parametrize("option", [{"rounds": 3}, {"time_limit": "10m"}, {"alpha": 0.5}, {"colour": 3}])
def test_a_run_refuses_what_its_mechanism_has_no_use_for(option: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=f'"independent" has no option "{next(iter(option))}"'):
        quick(table(20), **option)
    assert quick(table(20), max_size="1MB").manifest.mechanism.options == {"max_size": 2**20}


def test_the_command_says_it_before_it_reads(tmp_path: Path) -> None:
    pq.write_table(table(20), tmp_path / "visits.parquet")
    (tmp_path / "visits.toml").write_text(SCHEMA, encoding="utf-8")
    base = ["synthesize", tmp_path / "visits.parquet", "-s", tmp_path / "visits.toml", "-e", 1, "-o", tmp_path / "r"]
    base += ["--mechanism", "independent", "-w", "all-1way"]
    result = CliRunner().invoke(main, [*map(str, base), "--time-limit", "10m"])
    assert result.exit_code == 2
    assert 'has no option "time_limit"; its options are inside, max_size, noise, zeros' in result.stderr
    assert "Nothing was spent" in result.stderr
    assert CliRunner().invoke(main, list(map(str, base))).exit_code == 0


@pytest.mark.parametrize("name", sorted(MECHANISMS))
def test_a_mechanism_says_rightly_whether_it_makes_a_model(name: str) -> None:
    domain = Domain.of({"a": 3, "b": 2})
    codes = np.column_stack([np.arange(60) % 3, np.arange(60) % 2])
    how, workload = mechanism(name), Workload.all_kway(domain, 1)
    door = Door(MemorySource.of_codes(codes, domain), Budget.of(rho=1), noise=ResearchNoise(0))
    made = how.run(door, workload)
    assert made.mechanism == name
    assert (made.model is not None) is MECHANISMS[name].modelled is (how.max_size > 0)


def test_only_what_makes_a_model_can_make_a_table() -> None:
    (option,) = [p for p in main.commands["synthesize"].params if p.name == "mechanism"]  # type: ignore[attr-defined]
    offered = set(option.type.choices)
    assert offered == {*MECHANISMS, "auto"} - {"gaussian"}
    with pytest.raises(UserError, match='"gaussian" only answers queries and makes no table; use one of "aim", "aim2"'):
        quick(table(20), mechanism="gaussian")


@pytest.mark.parametrize("name", sorted(MECHANISMS))
def test_wrong_settings_are_refused_by_name_and_value(name: str) -> None:
    wrong = {
        "noise": "loud",
        "max_size": 0,
        "rounds": 0,
        "alpha": 1.0,
        "check": -0.1,
        "time_limit": -1,
        "capacity": "some",
        "initial": "all",
        "candidates": "none",
        "criterion": "best",
        "penalty": "high",
        "parents": 0,
        "each": 0,
        "estimator": "best",
        "inside": -0.1,
    }
    takes = MECHANISMS[name].takes
    assert set(takes) <= {*wrong, "zeros", "adaptive", "shrinkage", "again", "columns"}
    for option in set(takes) & set(wrong):
        with pytest.raises(UserError, match=rf'^{option} must .* "?{re.escape(str(wrong[option]))}"?\.'):
            mechanism(name, **{option: wrong[option]})
