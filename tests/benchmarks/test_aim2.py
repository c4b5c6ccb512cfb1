"""How results of aim2 are compared with those of aim: paired by seed, worse cells first."""

from __future__ import annotations

import argparse
import json
from math import exp
from pathlib import Path
from typing import Any

import pytest

import aim2
import split
from tables import Table
from understudy.domain import Domain
from understudy.mechanism import mechanism
from understudy.privacy import Budget, Door, ResearchNoise
from understudy.workload import Workload


def lines(**errors: float) -> dict[str, dict[str, Any]]:
    """One cell with seeds 1 and 2: errors by mechanism and seed, such as aim_1."""
    found = {}
    for name, error in errors.items():
        how, seed = name.split("_")
        found[f"adult all-3way 1 {seed} {how}"] = {"error": error, "cpu_seconds": 2.0 if how == "aim2" else 1.0}
    return found


def test_ratios_are_of_the_same_seed() -> None:
    ((place, mean, spread, seeds, times),) = aim2.compared(lines(aim_1=0.4, aim2_1=0.2, aim_2=0.3, aim2_2=0.3), "aim2")
    assert place == "adult all-3way 1"
    assert exp(mean) == pytest.approx(2**0.5)
    assert spread == pytest.approx(0.5 * 0.6931, rel=1e-3)
    assert (seeds, times) == (2, pytest.approx(2.0))


def test_a_run_without_its_pair_says_nothing() -> None:
    assert list(aim2.compared(lines(aim_1=0.4, aim2_2=0.2), "aim2")) == []


def test_worse_cells_come_first() -> None:
    better, worse = lines(aim_1=0.4, aim2_1=0.2), lines(aim_1=0.2, aim2_1=0.4)
    found = {**better, **{key.replace("adult", "fire"): line for key, line in worse.items()}}
    text = aim2.summary(found)
    assert text.index("fire") < text.index("adult")
    assert "| geometric mean | 1.000 |" in text


def test_of_the_old_commit_its_own_runs_of_aim_alone_are_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By cell and seed, from both files; not of other mechanisms, of other commits, of what failed, or of the new side."""

    def of_grid(name: str, seed: int, commit: str = "a6213fdf9f03", status: str = "done") -> dict[str, Any]:
        result = {"error": {"l1": seed / 10}, "cpu_seconds": 3.0}
        return {
            "cell": f"fire target {name} 1 0",
            "seed": seed,
            "status": status,
            "result": result,
            "versions": {"commit": commit},
        }

    def beside(side: str, seed: int) -> dict[str, Any]:
        about = {"cell": "fire target aim 1 1", "seed": seed, "side": side, "commit": "51ff5bbfe972"}
        return about | {"error": seed / 10, "cpu_seconds": 4.0}

    grid = [of_grid("aim", 1), of_grid("mst", 2), of_grid("aim", 3, "0123456789ab"), of_grid("aim", 4, status="failed")]
    for name, some in {"grid.jsonl": grid, "beside.jsonl": [beside("old", 5), beside("new", 6)]}.items():
        (tmp_path / name).write_text("".join(json.dumps(line) + "\n" for line in some))
    monkeypatch.setattr(aim2, "OLD_RESULTS", [tmp_path / "grid.jsonl", tmp_path / "beside.jsonl"])
    found = aim2.old_cells()
    assert {key: line["error"] for key, line in found.items()} == {
        f"fire target 1 1 {aim2.OLD}": 0.1,
        f"fire target 1 5 {aim2.OLD}": 0.5,
    }
    asked = argparse.Namespace(
        old=True,
        checkout=None,
        tables=["fire"],
        workloads=["target"],
        epsilons=["1"],
        mechanisms=["aim", "aim2"],
        most=1,
        seeds=["7"],
    )
    assert list(aim2.wanted(asked)) == [("fire", "target", "1", "1", "aim2")]
    ours = {"fire target 1 5 aim2": {"error": 0.25, "cpu_seconds": 2.0}}
    ((place, mean, *_),) = aim2.compared(found | ours, "aim2", aim2.OLD)
    assert (place, exp(mean)) == ("fire target 1", pytest.approx(2.0))


def test_what_is_wrong_with_measured_columns_is_noise_and_with_pairs_structure_too() -> None:
    table = Table.load("example")
    columns = mechanism("independent").run(
        Door(table.source, Budget.of(rho=0.02), noise=ResearchNoise(0)), table.workload("all-1way")
    )
    of_columns = split.split(table, table.workload("all-1way"), columns, 0)
    assert of_columns["structure"] < 0.05 * of_columns["model"]
    of_pairs = split.split(table, table.workload("all-2way"), columns, 0)
    assert 0.1 < of_pairs["structure"] < of_pairs["model"]
    assert of_pairs["model"] == pytest.approx(of_pairs["table"], rel=0.1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("aim", ("aim", {})),
        ("aim2:shrinkage=false,rounds=20", ("aim2", {"shrinkage": False, "rounds": 20})),
        ("aim2:penalty=noise", ("aim2", {"penalty": "noise"})),
    ],
)
def test_options_are_read(text: str, expected: tuple[str, dict[str, Any]]) -> None:
    assert aim2.options_of(text) == expected


def test_the_made_up_table_is_binary_and_dense() -> None:
    table = Table.load("binary")
    assert set(table.domain.sizes) == {2}
    assert 0.02 < table.codes.mean(axis=0).min() <= table.codes.mean(axis=0).max() < 0.98


def test_peers_that_are_not_worse_are_starred(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def line(mechanism: str, l1: float, status: str = "done") -> str:
        place = {"dataset": "adult", "workload": "all-3way", "epsilon": 1.0, "mechanism": mechanism, "status": status}
        return json.dumps({**place, "result": {"error": {"l1": l1, "l2": 0.5, "max": 0.9}}})

    (tmp_path / "peers.jsonl").write_text(
        "\n".join([line("a/aim", 0.2), line("b/aim", 0.4), line("aim", 0.1), line("c/x", 0, "late")])
    )
    monkeypatch.setattr(aim2, "PEER_RESULTS", tmp_path / "peers.jsonl")
    own = {"error": 0.3, "error_l2": 0.4, "error_max": 0.8}
    text = aim2.beside_peers({"adult all-3way 1 7 aim2": own, "fire all-3way 1 7 aim2": own})
    assert text.splitlines()[2:] == [
        "| adult all-3way 1 | aim2 | 1 | 0.3000 | 0.4000 | 0.8000 |",
        "| adult all-3way 1 | a/aim | 1 | *0.2000* | 0.5000 | 0.9000 |",
        "| adult all-3way 1 | b/aim | 1 | 0.4000 | 0.5000 | 0.9000 |",
    ]


def test_of_a_long_workload_some_marginals_judge() -> None:
    domain = Domain.of({f"x{k}": 2 for k in range(60)})
    short, long = Workload.parse("all-2way", domain), Workload.parse("all-3way", domain)
    assert aim2.some_of(short) is short
    drawn = aim2.some_of(long)
    assert len(drawn.cliques) == aim2.DRAWN
    assert set(drawn.cliques) == set(aim2.some_of(long).cliques) <= set(long.cliques)
