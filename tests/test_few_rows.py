"""Where a budget is too small for so few rows, the summary says so in words, and bounds that say nothing are called that."""

import numpy as np
import pyarrow as pa

from understudy import synthesize
from understudy.schema import parse_schema

TEXT = "".join(f'[columns.{name}]\nkind = "integer"\nmin = 0\nmax = 9\nother = 0\n' for name in "abc")


def summary(rows: int, epsilon: float) -> str:
    rng = np.random.default_rng(0)
    one = rng.integers(0, 10, rows)
    table = pa.table({"a": one, "b": one, "c": rng.integers(0, 10, rows)})
    return str(synthesize(table, parse_schema(TEXT), epsilon=epsilon, workload="all-2way", seed=0, progress=False))


def test_columns_that_are_made_by_themselves_are_said_to_be() -> None:
    said = summary(40, 0.1)
    assert "no two columns were measured together" in said
    assert "a bound above 200% says nothing" in said


def test_nothing_of_it_is_said_where_pairs_were_measured() -> None:
    said = summary(20_000, 1)
    assert "no two columns" not in said
    assert "says nothing" not in said
