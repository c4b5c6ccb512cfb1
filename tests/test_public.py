"""Public data from the call to the files: it is read, refused where it does not fit, and said in all that people read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest
from click.testing import CliRunner

import understudy
from release_tables import SCHEMA, schema, table
from understudy import Csv, Sql
from understudy.cli import main
from understudy.errors import LedgerError, SourceError, UserError
from understudy.ledger import Ledger
from understudy.mechanism import Checked, Event
from understudy.schema import parse_schema

ROWS = 800
SETTINGS: dict[str, Any] = {"epsilon": 3, "workload": "all-2way"}
"""With little budget noisy columns are far off, and the public table is taken: in 120 of 120 runs, with 8 in 56 of 60."""
SAID = "800 rows of public data (the model starts from them); the promise does not cover them"


def public() -> pa.Table:
    return table(ROWS, seed=6)


class Stop(Exception):
    """Stops a run."""


def stopping(event: Event) -> None:
    """Stop after the public model was compared with the table, and before the rounds."""
    if isinstance(event, Checked):
        raise Stop


@pytest.mark.promise(17)
def test_it_is_said_wherever_the_promise_is(tmp_path: Path) -> None:
    release = understudy.synthesize(table(ROWS), schema(), public=public(), out=tmp_path / "r", **SETTINGS)
    found = release.manifest.public
    assert found is not None
    assert (found.rows, found.used) == (ROWS, True)
    card, report = ((tmp_path / "r" / name).read_text() for name in ("privacy-card.md", "report.html"))
    assert f"| Public data | {SAID} |" in card
    assert "anything about these rows may show in this release" in card.replace("\n   ", " ")
    assert f"The run was given {SAID}" in report
    assert f"public    {SAID}" in str(release)
    assert understudy.load(tmp_path / "r").manifest.public == found


def test_without_it_nothing_is_said(tmp_path: Path) -> None:
    release = understudy.synthesize(table(ROWS), schema(), out=tmp_path / "r", **SETTINGS)
    assert release.manifest.public is None
    assert "ublic data" not in (tmp_path / "r" / "privacy-card.md").read_text()
    assert "public    " not in str(release)


def test_a_far_one_is_said_to_be_left_out(tmp_path: Path) -> None:
    same = pa.concat_tables([public().slice(0, 1)] * ROWS)
    release = understudy.synthesize(table(ROWS), schema(), public=same, **SETTINGS)
    assert release.manifest.public is not None
    assert not release.manifest.public.used
    assert "800 rows of public data (compared with the table under the budget, and left out)" in str(release)


REFUSED: dict[str, tuple[Any, dict[str, Any], type[UserError], str]] = {
    "a column is missing": (public().drop_columns("sex"), {}, SourceError, "public table cannot be used.*sex"),
    "no rows": (public().slice(0, 0), {}, SourceError, "public table has no rows"),
    "no table": (7, {}, SourceError, "public table cannot be used.*int"),
    "another mechanism": (public(), {"mechanism": "mst"}, UserError, '"mst" cannot start from public data; use aim or aim2'),
    "another estimator": (
        public(),
        {"mechanism": "aim", "estimator": "relaxed"},
        UserError,
        'estimator "relaxed" cannot start from public data',
    ),
}


@pytest.mark.promise(29)
@pytest.mark.parametrize("case", REFUSED)
def test_what_is_of_no_use_is_refused_before_anything_is_reserved(case: str, tmp_path: Path) -> None:
    data, options, kind, says = REFUSED[case]
    with pytest.raises(kind, match=says):
        understudy.synthesize(table(ROWS), schema(), public=data, out=tmp_path / "r", **SETTINGS, **options)
    assert not list(tmp_path.iterdir())


@pytest.mark.promise(15)
def test_the_private_table_is_no_public_one(tmp_path: Path) -> None:
    """By whatever name: another path to its file, a link, a dialect, a glob that matches it, the same query."""
    data, path = table(ROWS), tmp_path / "visits.csv"
    pyarrow.csv.write_csv(data, path)
    (tmp_path / "other").mkdir()
    around, link = tmp_path / "other" / ".." / "visits.csv", tmp_path / "link.csv"
    link.symlink_to(path)
    names = [(path, str(path)), (str(path), path), (path, around), (path, link), (Csv(path), path), (path, Csv(link))]
    names += [(str(tmp_path / "v*.csv"), path), (path, f"{tmp_path}/*.csv"), (Sql("SELECT 1"), Sql("SELECT 1"))]
    for private, given in ((data, data), *names):
        with pytest.raises(UserError, match="The public table is the private one"):
            understudy.synthesize(private, schema(), public=given, **SETTINGS)


@pytest.mark.promise(33)
def test_a_run_is_resumed_with_the_public_table_that_it_began_with(tmp_path: Path) -> None:
    out = tmp_path / "r"
    with pytest.raises(Stop):
        understudy.synthesize(table(ROWS), schema(), public=public(), out=out, progress=stopping, **SETTINGS)
    (run,) = Ledger(tmp_path / "r.ledger").state().runs
    for other in (None, table(ROWS, seed=7)):
        with pytest.raises(LedgerError, match="public"):
            understudy.synthesize(table(ROWS), schema(), public=other, out=out, resume=True, **SETTINGS)
    release = understudy.synthesize(table(ROWS), schema(), public=public(), out=out, resume=True, **SETTINGS)
    assert release.manifest.run == run.name
    assert release.spent <= release.rho


def test_whose_rows_are_public_does_not_matter() -> None:
    """A schema of persons needs no such column of a public table."""
    text = f'person = "who"\nrows_per_person = 2\n{SCHEMA}'
    persons = parse_schema(text, source="visits.toml")
    data = table(ROWS).append_column("who", pa.array([i // 2 for i in range(ROWS)]))
    release = understudy.synthesize(data, persons, public=public(), **SETTINGS)
    assert release.manifest.public is not None
    assert release.manifest.public.rows == ROWS


def test_the_command_takes_a_file(tmp_path: Path) -> None:
    (tmp_path / "visits.toml").write_text(SCHEMA)
    for name, data in (("now", table(ROWS)), ("before", public())):
        pyarrow.csv.write_csv(data, tmp_path / f"{name}.csv")
    where = [str(tmp_path / name) for name in ("now.csv", "visits.toml", "before.csv", "r")]
    given = ["--schema", where[1], "--public", where[2], "-o", where[3], "-e", "5", "-w", "all-2way", "--quiet"]
    result = CliRunner().invoke(main, ["synthesize", where[0], *given])
    assert result.exit_code == 0, result.output
    assert SAID in result.output
