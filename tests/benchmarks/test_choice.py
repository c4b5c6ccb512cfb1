"""How the choice of a mechanism is judged: beside the best of each setting, and beside each fixed one."""

from __future__ import annotations

import pytest

import choice

ONE, TWO = ("titanic", "all-3way", 1.0), ("adult", "target", 0.1)


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> dict[choice.Setting, dict[str, float]]:
    monkeypatch.setattr(choice, "picked", {ONE: "aim2", TWO: "independent"}.__getitem__)
    return {ONE: {"aim2": 0.2, "aim": 0.3, "gaussian": 0.1}, TWO: {"independent": 0.6, "aim": 0.5}}


def test_what_makes_no_table_is_no_rival(found: dict[choice.Setting, dict[str, float]]) -> None:
    assert list(choice.judged(found)) == [(TWO, "independent", pytest.approx(1.2), "aim"), (ONE, "aim2", 1.0, "aim2")]


def test_a_choice_that_was_not_run_is_not_judged(found: dict[choice.Setting, dict[str, float]]) -> None:
    del found[TWO]["independent"]
    assert [row[0] for row in choice.judged(found)] == [ONE]


def test_worse_settings_come_first_and_all_are_summed_up(found: dict[choice.Setting, dict[str, float]]) -> None:
    text = choice.summary(found)
    assert text.index("adult") < text.index("titanic")
    assert "2 settings: within 3 % of the best in 50%, at worst 1.20 of it, 1.095 in geometric mean." in text
    assert "Over the choice, aim: 1.118 (2 settings)" in text


def test_how_sure_a_ratio_is_stands_beside_it(found: dict[choice.Setting, dict[str, float]]) -> None:
    each = {ONE: {"aim2": [0.2] * 4}, TWO: {"independent": [0.6, 0.6], "aim": [0.4, 0.6]}}
    text = choice.summary(found, each)
    assert "| adult target 0.1 | independent | 1.200 | aim | 0.20 | 2, 2 |" in text
    assert "| titanic all-3way 1.0 | aim2 | 1.000 | aim2 |  | 4 |" in text
    assert "nan" in choice.summary(found, {TWO: {"independent": [0.6], "aim": [0.4, 0.6]}})
