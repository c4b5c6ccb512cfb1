"""How runs with public data are summed up: the mean error without it over the mean error with it."""

from __future__ import annotations

import public


def test_ratios_are_of_means_of_the_same_seeds_and_missing_kinds_are_left_blank() -> None:
    found = {
        "adult 0.1 aim 1 none": {"error": 0.4, "used": False},
        "adult 0.1 aim 2 none": {"error": 0.2, "used": False},
        "adult 0.1 aim 1 half": {"error": 0.1, "used": True},
        "adult 0.1 aim 2 half": {"error": 0.2, "used": False},
        "adult 0.1 aim 3 half": {"error": 9.0, "used": True},
    }
    assert "| adult 0.1 aim | 0.300 | 2.00 (1 of 2 used) |  |  |  |  |" in public.summary(found)
