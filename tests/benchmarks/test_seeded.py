"""The hashes of seeded runs tell every digit apart, and the settings leave no mechanism out."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import seeded
from benchmarks.conftest import BENCHMARKS  # noqa: F401  (puts the benchmarks on the path)
from understudy.mechanism import MECHANISMS
from understudy.privacy import Measurement


def measurement(values: list[int], scale: float = 2.0, clique: tuple[str, ...] = ("a",)) -> Measurement:
    return Measurement(clique, np.array(values), "gaussian", scale, Fraction(1), private=False)


def test_every_mechanism_runs_with_every_budget_and_unit_with_and_without_zeros() -> None:
    keys = [one.key for one in seeded.settings()]
    assert len(keys) == len(set(keys))
    for name in MECHANISMS:
        mine = [one for one in seeded.settings() if one.mechanism == name]
        zeros = 1 if name in seeded.WITHOUT_ZEROS else 2
        assert len(mine) == len(seeded.TABLES) * len(seeded.EPSILONS) * len(seeded.UNITS) * zeros


def test_the_last_digit_of_an_array_changes_its_hash() -> None:
    one = np.array([[0.1, 0.2], [0.3, 0.4]])
    other = one.copy()
    other[1, 1] = np.nextafter(other[1, 1], 1.0)
    hashes = {seeded.of_arrays([one]), seeded.of_arrays([other]), seeded.of_arrays([one.ravel()]), seeded.of_arrays([one.T])}
    assert len(hashes) == 4
    assert seeded.of_arrays([one.T]) == seeded.of_arrays([np.ascontiguousarray(one.T)])


def test_a_measurement_is_its_marginal_its_noise_and_its_answers() -> None:
    ones = [
        measurement([1, 2]),
        measurement([1, 3]),
        measurement([1, 2], scale=np.nextafter(2.0, 3.0)),
        measurement([1, 2], clique=("b",)),
    ]
    assert len({seeded.of_measurements([one]) for one in ones}) == len(ones)
    assert seeded.of_measurements(ones) != seeded.of_measurements(reversed(ones))


def test_what_differs_is_named_and_makes_the_comparison_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second, new = [one for one in seeded.settings() if one.mechanism == "gaussian"][:3]
    monkeypatch.setattr(seeded, "run", lambda one: {"setting": one.key, "measurements": "now", "model": "alike"})
    file = tmp_path / "seeded.jsonl"
    assert seeded.store([first, second], file) == 0
    assert seeded.compare([first, second], file) == 0
    assert "All 2 runs are the same" in capsys.readouterr().out
    file.write_text(file.read_text().replace("now", "then", 1))
    assert seeded.compare([first, second, new], file) == 1
    told = capsys.readouterr().out.splitlines()
    assert f"{first.key}: differs in measurements" in told
    assert f"{second.key}: the same" in told
    assert f"{new.key}: is new" in told
