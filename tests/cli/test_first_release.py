"""From a messy file to a first release: few keys, and every column comes back as it was written."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from review.test_nearly_right import ROWS, flights
from understudy.cli import main
from understudy.review.groups import groups_of, is_cut
from understudy.schema import load_schema

MOST = 15


def survey(rng: np.random.Generator) -> dict[str, list[str]]:
    """A table of the shape of a census: texts, blanks, a heavy tail, money in cents, codes with zeros, days, answers."""
    gains = np.where(rng.random(ROWS) < 0.9, 0, np.round(rng.lognormal(8, 1, ROWS))).astype(int)
    degrees = [["School", "Bachelor", "Master"][i] for i in rng.integers(0, 3, ROWS)]
    lacks = rng.random(ROWS) < 0.05
    return {
        "age": [str(i) for i in rng.integers(17, 91, ROWS)],
        "work-class": ["" if gone else word for gone, word in zip(lacks, rng.choice(["Private", "Gov"], ROWS), strict=True)],
        "weight": [str(i) for i in np.round(rng.lognormal(7, 0.6, ROWS)).astype(int)],
        "degree": degrees,
        "years": [str({"School": 9, "Bachelor": 13, "Master": 14}[word]) for word in degrees],
        "gain": [str(i) for i in gains],
        "rent": ["N" if gone else f"{x:.2f}" for gone, x in zip(lacks, rng.uniform(100, 3000, ROWS), strict=True)],
        "worth": [f"{100 * i}.0" for i in rng.integers(10, 900, ROWS)],
        "zip": [f"{i:05}" for i in rng.integers(1050, 1090, ROWS)],
        "born": [f"{d:02}.{m:02}.{y}" for d, m, y in zip(*(rng.integers(*b, ROWS) for b in BIRTHS), strict=True)],
        "insured": list(rng.choice(["Y", "N"], ROWS)),
        "note": [f"seen by {i} {rng.integers(10**9)}" for i in range(ROWS)],
    }


BIRTHS = ((1, 29), (1, 13), (1930, 2000))


@pytest.mark.parametrize(("make", "left_out"), [(flights, {"tailnum"}), (survey, {"note"})], ids=["flights", "survey"])
def test_a_first_release_in_few_keys_comes_back_as_it_was(make, left_out: set[str], tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    real = make(np.random.default_rng(7))
    lines = [",".join(real), *(",".join(row) for row in zip(*real.values(), strict=True))]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    run = CliRunner().invoke
    drafted = run(main, ["schema", "draft", str(tmp_path / "t.csv"), "-o", str(tmp_path / "t.toml")])
    found = re.search(r"(\d+) decisions are left", drafted.stderr)
    assert found is not None
    assert int(found[1]) <= MOST
    text = (tmp_path / "t.toml").read_text()
    cut = [len(group.marks) > 1 and is_cut(text, group) for group in groups_of(text)]  # all of it is shown first
    keys = "a" * (int(found[1]) + sum(cut)) + "y"
    assert run(main, ["schema", "review", str(tmp_path / "t.toml")], input=keys).exit_code == 0
    assert not load_schema(tmp_path / "t.toml").draft
    quick = ["-e", "5", "-w", "all-1way", "--mechanism", "independent", "--no-report", "--quiet", "-o", str(tmp_path / "r")]
    released = run(main, ["synthesize", str(tmp_path / "t.csv"), "-s", str(tmp_path / "t.toml"), *quick])
    assert released.exit_code == 0, released.output
    with (tmp_path / "r" / "synthetic.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    assert {*real} - {*header} == left_out
    made = dict(zip(header, zip(*rows, strict=True), strict=True))
    for name, values in made.items():
        assert written(values) == written(real[name]), name
    types, expected = (pd.read_csv(path).dtypes for path in (tmp_path / "r" / "synthetic.csv", tmp_path / "t.csv"))
    for name in header:
        assert types[name] == expected[name], name


def written(texts) -> set[str]:  # type: ignore[no-untyped-def]
    """How texts are written: words, blanks and missing codes as they are; numbers by their decimals, dates by digits."""
    return {_written(text) for text in texts}


def _written(text: str) -> str:
    if re.fullmatch(r"-?\d+", text):
        return "leading zero" if text[0] == "0" and len(text) > 1 else "whole number"
    if number := re.fullmatch(r"-?\d+\.(\d+)", text):
        return f"{len(number[1])} decimals" + (", all zero" if set(number[1]) == {"0"} else "")
    return re.sub(r"\d", "9", text) if re.search(r"\d\D\d", text) else text
