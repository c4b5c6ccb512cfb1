"""A real table, from a draft to codes and back; skipped, saying so, where the table is not at hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from understudy.errors import SchemaError
from understudy.review import check_schema, draft_schema
from understudy.schema import SchemaFileError, parse_schema, require_reviewed

ADULT = Path(__file__).parents[2].parent / "shared" / "datasets" / "raw" / "adult.csv"
pytestmark = pytest.mark.skipif(not ADULT.exists(), reason="the adult table is not at ../shared/datasets/raw/adult.csv")


@pytest.fixture(scope="module")
def draft() -> str:
    return draft_schema(ADULT)


def test_draft_review_encode_decode(draft: str) -> None:
    with pytest.raises(SchemaError, match="draft"):
        require_reviewed(parse_schema(draft))
    reviewed = parse_schema(draft.replace("draft = true", "draft = false"))
    require_reviewed(reviewed)
    assert check_schema(ADULT, reviewed) == []

    frame = pd.read_csv(ADULT)
    table = pa.Table.from_pandas(frame, preserve_index=False)
    codes = reviewed.encode(table)
    assert codes.shape == (48_842, 15)
    back = reviewed.decode(codes, np.random.default_rng(0)).to_pandas()
    assert back.dtypes.to_dict() == frame.dtypes.to_dict()
    assert frame.isna().sum().sum() > 0
    pd.testing.assert_frame_equal(back.isna(), frame.isna())
    np.testing.assert_array_equal(reviewed.encode(pa.Table.from_pandas(back)), codes)
    for column in reviewed.columns:
        if column.kind == "categorical":
            pd.testing.assert_series_equal(back[column.name], frame[column.name])


def test_two_columns_with_typos_give_errors_to_act_on(draft: str) -> None:
    lines = draft.splitlines()
    first, second = lines.index("[columns.marital-status]"), lines.index("[columns.hours-per-week]")
    lines[first], lines[second] = "[columns.martial-status]", "[columns.hours-per-weak]"
    schema = parse_schema("\n".join(lines), source="adult.toml")
    with pytest.raises(SchemaFileError) as caught:
        check_schema(ADULT, schema)
    message = str(caught.value)
    for at, wrong, right in (
        (first, "martial-status", "marital-status"),
        (second, "hours-per-weak", "hours-per-week"),
    ):
        said = f'line {at + 1}, column "{wrong}": the table has no such column. Did you mean "{right}"?'
        assert said in message


def test_typos_inside_two_columns_are_found_when_the_file_is_read(draft: str) -> None:
    text = draft.replace('[columns.age]\nkind = "integer"', '[columns.age]\nkind = "interger"')
    text = text.replace('[columns.sex]\nkind = "categorical"', '[columns.sex]\nknid = "categorical"')
    with pytest.raises(SchemaFileError) as caught:
        parse_schema(text, source="adult.toml")
    first, second = caught.value.problems
    assert first.column == "age"
    assert 'Did you mean "integer"?' in first.message
    assert second.column == "sex"
    assert second.line == text.splitlines().index("[columns.sex]") + 1
