"""A release on disk and in memory: whole, open, honest about what it is, and without anything private in it."""

from __future__ import annotations

import json
import re
import shutil
from datetime import date, datetime
from fractions import Fraction
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import understudy
from contracts.tape import frozen_entropy
from release_tables import quick, schema, table
from understudy import example
from understudy.errors import FormatError, UserError
from understudy.manifest import NOT_PRIVATE, Manifest, json_schema
from understudy.manifest.manifest import Amount
from understudy.release import Release
from understudy.release import storage as storage_module
from understudy.release.answer import given
from understudy.release.toml import schema_toml
from understudy.schema import Schema, parse_schema
from understudy.uncertainty import bounds

CANARY = "CANARY-7f3e"
ODD_ROWS = 4177


@pytest.fixture(scope="module")
def release() -> Release:
    return quick(table(), mechanism="aim", workload="all-2way", epsilon=3)


@pytest.fixture
def folder(release: Release, tmp_path: Path) -> Path:
    return release.save(tmp_path / "release", format="parquet")


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_what_is_saved_is_loaded(release: Release, tmp_path: Path, kind: str) -> None:
    path = release.save(tmp_path / "r", format=kind)  # type: ignore[arg-type]
    again = understudy.load(path)
    assert again.manifest == release.manifest
    assert again.arrow.equals(release.arrow)
    assert (again.codes == release.codes).all()
    assert again.schema.declaration == release.schema.declaration
    assert again.card == release.card
    assert again.bounds == release.bounds
    assert again.spend == release.spend
    for ours, theirs in zip(release.measurements, again.measurements, strict=True):
        assert (ours.clique, ours.noise, ours.scale, ours.rho) == (theirs.clique, theirs.noise, theirs.scale, theirs.rho)
        assert (ours.values == theirs.values).all()
    np.testing.assert_allclose(again.marginal("sex", "age").counts, release.marginal("sex", "age").counts)
    assert again.sample(7, {"sex": "M"}).column("sex").to_pylist() == ["M"] * 7


def test_csv_keeps_what_texts_can_hide(tmp_path: Path) -> None:
    """Quoted, numeric and many-lined values, and missing ones, are still told apart after CSV."""
    odd = ["a,b", 'say "x"', "two\nlines", "007", "NA", "null"]
    declared = parse_schema(f'[columns.t]\nkind = "categorical"\nvalues = {json.dumps(odd)}\nnullable = true\n')
    made = understudy.synthesize(
        {"t": odd * 30}, declared, epsilon=10, workload="all-1way", seed=0, progress=False, mechanism="independent"
    )
    assert understudy.load(made.save(tmp_path / "r")).arrow.equals(made.arrow)
    assert set(made.arrow.column("t").to_pylist()) == {*odd, None}


def test_release_json_is_as_published(release: Release, folder: Path) -> None:
    published = json.loads(files("understudy.manifest").joinpath("release.schema.json").read_text(encoding="utf-8"))
    assert published == json_schema()
    document = json.loads((folder / "release.json").read_text(encoding="utf-8"))
    assert Manifest.model_validate(document) == release.manifest
    assert set(document) == set(published["properties"])
    assert "seconds" not in json.dumps(document)


def test_spend_adds_up_exactly(release: Release) -> None:
    assert sum((charge.rho for charge in release.spend), Fraction(0)) == release.spent <= release.rho
    in_rounds = sum((r.rho.fraction for r in release.rounds), Fraction(0))
    looked = sum((entry.rho.fraction for entry in release.manifest.inside), Fraction(0))
    before = len(release.manifest.inside)
    first = sum((c.rho for c in release.spend[before : before + len(release.schema.columns)]), Fraction(0))
    assert release.manifest.check is not None
    assert before
    assert looked == sum((c.rho for c in release.spend[:before]), Fraction(0))
    sums = sum((entry.rho.fraction for entry in release.manifest.sums), Fraction(0))
    assert sums > 0
    assert looked + in_rounds + first + sums + release.manifest.check.rho.fraction == release.spent


def test_every_marginal_of_the_workload_has_a_bound_for_table_and_model(release: Release) -> None:
    assert set(release.bounds) == set(release.model_bounds) == set(release.workload.closure)
    assert all(b.confidence == 0.95 for b in release.bounds.values())


def test_a_marginal_is_in_the_users_values(release: Release) -> None:
    answer = release.marginal("sex", "level")
    assert answer.labels == (("F", "M", "null"), ("low", "mid", "high"))
    assert answer.counts.shape == (3, 3)
    assert answer.counts.sum() == pytest.approx(release.model.total)
    swapped = release.marginal("level", "sex")
    np.testing.assert_allclose(swapped.counts, answer.counts.T)
    assert answer.to_arrow().column_names == ["sex", "level", "count"]
    assert "NOT PRIVATE" in answer.promise()
    with pytest.raises(UserError, match='Did you mean "level"'):
        release.marginal("lvel")


def test_given_values_are_checked(release: Release) -> None:
    with pytest.raises(UserError, match='"sex" has no value "f"'):
        release.sample(3, {"sex": "f"})
    with pytest.raises(UserError, match="never null"):
        release.sample(3, {"age": None})
    with pytest.raises(UserError, match="whole number"):
        release.sample(-1)


GIVEN: list[tuple[str, Any, Any]] = [
    ("age", 37, 37),
    ("age", "37", 37),
    ("age", 37.0, 37),
    ("age", np.int8(37), 37),
    ("visits", None, None),
    ("visits", "null", None),
    ("sex", "null", None),
    ("sex", None, None),
    ("sex", "F", "F"),
    ("pay", 12.34, 12.34),
    ("pay", "12.34", 12.34),
    ("pay", 1000, 1000.0),
    ("born", date(1987, 5, 6), date(1987, 5, 6)),
    ("born", "1987-05-06", date(1987, 5, 6)),
    ("seen", datetime(2024, 5, 6, 7, 8, 9), datetime(2024, 5, 6, 7, 8, 9)),
    ("seen", "2024-05-06 07:08:09", datetime(2024, 5, 6, 7, 8, 9)),
    ("member", True, True),
    ("level", "mid", "mid"),
]


@pytest.mark.parametrize(("column", "value", "found"), GIVEN, ids=str)
def test_rows_have_the_very_value_that_is_given(release: Release, column: str, value: Any, found: Any) -> None:
    made = release.sample(20, {column: value})
    assert made.column(column).to_pylist() == [found] * 20
    assert made.schema == release.arrow.schema
    other = "level" if column != "level" else "sex"
    assert len(set(made.column(other).to_pylist())) > 1  # the rest is drawn as always


def test_a_date_can_be_given_as_the_table_spells_it_and_as_the_labels_do() -> None:
    text = '[columns.day]\nkind = "date"\nformat = "%d.%m.%Y"\nmin = 2023-01-01\nmax = 2023-12-31\nother = 2023-01-01\n'
    column = parse_schema(text)["day"]
    spelled = [given(column, value) for value in ("05.03.2023", "2023-03-05", date(2023, 3, 5))]
    assert {one.code for one in spelled} == {spelled[0].code}
    assert [one.value.to_pylist() for one in spelled if one.value is not None] == [["05.03.2023"]] * 3
    with pytest.raises(UserError, match="has no value"):
        given(column, "2024-03-05")


def test_a_missing_value_can_be_given_as_the_table_spells_it() -> None:
    column = parse_schema('[columns.paid]\nkind = "boolean"\nnulls = ["NA"]\nnullable = true\n')["paid"]
    assert [given(column, value).code for value in ("NA", "null", None)] == [2, 2, 2]


def test_a_bin_can_be_given_by_its_label(release: Release) -> None:
    made = release.sample(60, {"age": "30 to 39"}).column("age").to_pylist()
    assert all(30 <= age <= 39 for age in made)
    assert len(set(made)) > 3


def test_a_research_run_is_marked_everywhere(release: Release, folder: Path) -> None:
    assert not release.private
    assert NOT_PRIVATE in repr(release)
    assert "NOT PRIVATE" in release._repr_html_()
    assert "NOT PRIVATE" in (folder / "privacy-card.md").read_text(encoding="utf-8")
    document = json.loads((folder / "release.json").read_text(encoding="utf-8"))
    assert document["private"] is False
    assert "NOT PRIVATE" in document["notice"]
    assert not any(m.private for m in understudy.load(folder).measurements)


def test_a_private_run_is_not(tmp_path: Path) -> None:
    made = quick(table(50), seed=None)
    assert made.private
    for text in (repr(made), made._repr_html_(), made.card, made.manifest.notice):
        assert "NOT PRIVATE" not in text
    assert all(m.private for m in understudy.load(made.save(tmp_path / "r")).measurements)


def test_the_card_has_the_fields_that_registries_ask_for(release: Release) -> None:
    for name in (
        "Flavour of privacy",
        "Unit of privacy",
        "Domain",
        "Unprotected quantities",
        "Accounting",
        "Implementation",
    ):
        assert f"| {name} |" in release.card
    assert "epsilon = 3" in release.card
    assert f"{len(release.spend)} charges" in release.card


def test_nothing_private_is_in_any_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Canaries as unlisted values, in an undeclared column, as a category and as a comment; the number of rows too.

    The names of runs repeat, and four digits amid a hash are not a number of rows: neither may fail this by chance.
    """
    frozen_entropy(monkeypatch)
    private = table(ODD_ROWS)
    private = private.set_column(2, "sex", pa.array([CANARY] * ODD_ROWS))
    private = private.set_column(3, "level", pa.array([CANARY] * ODD_ROWS).dictionary_encode())
    private = private.append_column(CANARY, pa.array([CANARY] * ODD_ROWS))
    text = f"# {CANARY}\n" + schema_toml(schema().declaration)
    (tmp_path / "s.toml").write_text(text, encoding="utf-8")
    for kind in ("csv", "parquet"):
        made = understudy.synthesize(
            private, tmp_path / "s.toml", epsilon=0.5, workload="all-1way", mechanism="independent", seed=3, progress=False
        )
        made.save(tmp_path / kind, format=kind)  # type: ignore[arg-type]
        assert made.arrow.num_rows == round(made.model.total) != ODD_ROWS
        for path in (tmp_path / kind).rglob("*"):
            if path.is_file():
                content = path.read_bytes()
                assert CANARY.encode() not in content, path
                assert re.search(rb"(?<![\d.a-f])4,?177(?![\d.a-f])", content) is None, path
                assert np.int64(ODD_ROWS).tobytes() not in content or path.suffix != ".npy", path


def test_no_file_is_a_pickle_and_loading_one_runs_nothing(folder: Path) -> None:
    endings = {path.suffix for path in folder.rglob("*") if path.is_file()}
    assert endings <= {".json", ".npy", ".parquet", ".toml", ".md", ".html"}
    np.save(folder / "measurements" / "values.NOT-PRIVATE.npy", np.array([print], dtype=object), allow_pickle=True)
    with pytest.raises(FormatError, match=r"values\.NOT-PRIVATE\.npy"):
        understudy.load(folder)


@pytest.mark.parametrize(
    "name", ["release.json", "measurements/measurements.json", "measurements/values.NOT-PRIVATE.npy", "model/model.json"]
)
def test_a_missing_or_cut_file_is_said_plainly(folder: Path, name: str) -> None:
    path = folder / name
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(FormatError):
        understudy.load(folder)
    path.unlink()
    with pytest.raises(FormatError):
        understudy.load(folder)


def test_damage_raises_nothing_but_format_errors(folder: Path, tmp_path: Path) -> None:
    """Seeded: 60 releases with a few bytes changed each load as they are, or are refused; nothing else happens."""
    rng = np.random.default_rng(8)
    names = [
        "release.json",
        "measurements/measurements.json",
        "measurements/values.NOT-PRIVATE.npy",
        "synthetic.NOT-PRIVATE.parquet",
    ]
    refused = 0
    for turn in range(60):
        copy = tmp_path / f"copy{turn}"
        shutil.copytree(folder, copy)
        path = copy / names[turn % len(names)]
        content = bytearray(path.read_bytes())
        for place in rng.integers(0, len(content), 4):
            content[place] = rng.integers(0, 256)
        path.write_bytes(content)
        try:
            understudy.load(copy)
        except FormatError:
            refused += 1
        shutil.rmtree(copy)
    assert refused > 15


def test_other_versions_and_false_sums_are_refused(folder: Path) -> None:
    path = folder / "release.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**document, "version": 2}), encoding="utf-8")
    with pytest.raises(FormatError, match="upgrade"):
        understudy.load(folder)
    path.write_text(json.dumps({**document, "charges": document["charges"][1:]}), encoding="utf-8")
    with pytest.raises(FormatError, match="add up"):
        understudy.load(folder)
    path.write_text(json.dumps({"format": "other"}), encoding="utf-8")
    with pytest.raises(FormatError, match="not a release"):
        understudy.load(folder)


def test_a_failed_save_leaves_nothing_behind(release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(storage_module, "_write_measurements", full)
    with pytest.raises(UserError, match="No space left"):
        release.save(tmp_path / "r")
    assert list(tmp_path.iterdir()) == []


def test_only_a_release_is_overwritten_and_only_when_asked(release: Release, tmp_path: Path) -> None:
    release.save(tmp_path / "r")
    with pytest.raises(UserError, match="exists already"):
        release.save(tmp_path / "r")
    release.save(tmp_path / "r", format="parquet", overwrite=True)
    assert not list((tmp_path / "r").glob("*.csv"))
    assert [p.name for p in tmp_path.iterdir()] == ["r"]
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years")
    with pytest.raises(UserError, match="not a release"):
        release.save(tmp_path / "mine", overwrite=True)
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years"


@pytest.mark.parametrize("declared", [schema(), example.schema(), understudy.Schema.from_domain({"a b": 3, 'q"x': 2})])
def test_the_schema_file_declares_the_same(declared: understudy.Schema) -> None:
    assert parse_schema(schema_toml(declared.declaration)).declaration == declared.declaration


def test_rows_asked_for_stand_for_the_whole_table() -> None:
    made = quick(table(2000), rows=100)
    assert made.arrow.num_rows == 100
    assert made.weight == pytest.approx(made.model.total / 100)
    assert made.table_marginal("sex").sum() == pytest.approx(made.model.total)
    assert quick(table(), rows=0).arrow.num_rows == 0


def test_a_sum_of_thousands_of_digits_is_saved_exactly(tmp_path: Path) -> None:
    """Many charges of different sizes add up to a fraction that Python does not write in decimal."""
    spent = sum((Fraction(1, 10**6 + 7 * k) ** 2 for k in range(700)), start=Fraction(0))
    amount = Amount.of(spent)
    assert amount.fraction == spent
    assert Amount.model_validate_json(amount.model_dump_json()).fraction == spent
    with pytest.raises(ValueError, match="digits"):
        str(spent)


def test_a_release_bounds_what_it_did_not_list_by_its_own_evidence(release: Release) -> None:
    """Without the rounds' models: what measurements and distances say is the same as for the run itself."""
    asked = release.evidence
    assert (asked.workload.closure, asked.rho, asked.rounds) == (release.workload.closure, release.rho, ())
    again = bounds(asked, confidence=release.manifest.confidence)
    listed = {r: b for r, b in release.model_bounds.items() if b.round is None}
    assert listed
    assert {r: again[r] for r in listed} == listed


@pytest.mark.parametrize("kind", ["codes", "frame"])
def test_codes_that_were_drawn_are_not_read_off_the_values_again(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = schema().encode(table(50)) if kind == "codes" else table(50)
    made = quick(data)
    read_again = schema().encode(made.arrow)
    monkeypatch.setattr(Schema, "encode", None)
    assert (made.codes == read_again).all()
    assert made.table_marginal("sex").sum() == pytest.approx(made.model.total)
    if kind == "codes":
        assert (made.table == read_again).all()
        assert (made.sample(5, {"sex": "F"})[:, 2] == schema()["sex"].labels.index("F")).all()
