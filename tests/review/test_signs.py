"""Numbers with signs in a CSV file, from its draft to the file of a synthetic table."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv

from understudy.release.tables import read_table, write_table
from understudy.review import check_schema, draft_schema
from understudy.schema import parse_schema


def test_numbers_with_signs_come_back_with_them(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    money = rng.lognormal(6, 1, 3000)
    path = tmp_path / "a.csv"
    rows = [
        f'"${x:,.2f}",{x / 100:.1f} %,{"n/a" if i % 50 == 0 else f"{int(x) % 400}kg"},EUR {-x:.0f},T-{i % 700},{x:.0f}b'
        for i, x in enumerate(money)
    ]
    path.write_text("\n".join(["fee,share,mass,balance,code,block", *rows]) + "\n")
    schema = parse_schema(draft_schema(path))
    declared = schema.declaration.columns.items()
    found = {name: (one.kind, getattr(one, "before", None), getattr(one, "after", None)) for name, one in declared}
    assert found == {
        "fee": ("real", "$", None),
        "share": ("real", None, " %"),
        "mass": ("integer", None, "kg"),
        "balance": ("integer", "EUR ", None),
    }  # words that are no signs make codes
    assert check_schema(path, schema) == []
    texts = csv.ConvertOptions(column_types=dict.fromkeys(schema.domain, pa.string()))
    plain = csv.read_csv(path, convert_options=texts)
    plain = plain.set_column(0, "fee", pa.compute.replace_substring(plain["fee"], ",", ""))
    made = schema.decode(schema.encode(plain), rng)
    assert made.schema.types == [pa.float64(), pa.float64(), pa.int64(), pa.int64()]
    write_table(made, tmp_path / "b.csv", schema)
    forms = [r"\$\d+\.\d\d", r"\d+\.\d %", r"\d+kg|n/a", r"-?EUR \d+"]
    lines = (tmp_path / "b.csv").read_text().splitlines()[1:]
    assert all(re.fullmatch(",".join(f"(?:{form})" for form in forms), line) for line in lines)
    assert read_table(tmp_path / "b.csv", schema).equals(made)


def test_what_means_missing_may_be_spelled_with_signs() -> None:
    column = parse_schema(
        '[columns.p]\nkind = "real"\nbefore = "$"\ndecimals = 2\nmin = 0\nmax = 9\nbins = 9\nnullable = true\n'
        'nulls = [-9, "$ -", "n/a"]\n'
    ).columns[0]
    texts = ["-$9.00", "$-9", "-9.0", "$ -", "n/a", "-", "$0.50"]
    assert column.encode(pa.array(texts)).tolist() == [9, 9, 9, 9, 9, 9, 0]
    written = column.spell(pa.chunked_array([column.decode(np.array([9, 9]), np.random.default_rng(0))]))
    assert column.encode(written).tolist() == [9, 9]
