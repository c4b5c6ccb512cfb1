"""Kept mutants of how a run begins and ends: what is read first, what was spent, which table it goes on with, the clock."""

from __future__ import annotations

from audit.mutant import Mutant, one

READING, ENDS = "tests/test_synthesize_reading.py::", "tests/cli/test_ends.py::"
FILTER = "tests/privacy/test_filter.py::"

MUTANTS: list[Mutant] = [
    one(
        "opened-before-it-is-reserved",
        29,
        "The table is opened, and coded, before the budget is reserved",
        (
            "source/unopened.py",
            "    return Unopened(schema.domain, lambda: open_source(data, schema))",
            "    return open_source(data, schema)",
        ),
        f"{READING}test_a_table_that_fails_on_its_first_read_leaves_a_run_on_record",
        f"{READING}test_until_the_budget_is_reserved_no_table_is_asked_for_anything",
    ),
    one(
        "types-of-a-lazy-frame-asked-for",
        29,
        "The types of a lazy frame are worked out before the budget is reserved",
        ("release/as_polars.py", "types = {} if lazy else dict(frame.schema)", "types = dict(frame.collect_schema())"),
        f"{READING}test_until_the_budget_is_reserved_no_table_is_asked_for_anything[a lazy frame over a broken file]",
    ),
    one(
        "a-failed-first-read-is-free",
        29,
        "A run whose first read fails gives back what it had paid for the question",
        ("ledger/keeping.py", "            self.log.stop(self.rho)", "            self.log.stop(self.log.charged)"),
        f"{READING}test_a_table_that_fails_on_its_first_read_leaves_a_run_on_record",
    ),
]
