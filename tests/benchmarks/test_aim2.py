"""How results of aim2 are compared with those of aim: paired by seed, worse cells first."""

from __future__ import annotations

from math import exp
from typing import Any

import pytest

import aim2


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
    table = aim2.load("binary")
    assert set(table.domain.sizes) == {2}
    assert 0.02 < table.codes.mean(axis=0).min() <= table.codes.mean(axis=0).max() < 0.98
