"""Kept mutants that fresh eyes wrote against the rooms before and after the door."""

from __future__ import annotations

from audit.mutant import Mutant, one

ALONE = "tests/contracts/test_typed.py::test_a_text_is_read_alone"
TYPED = "tests/contracts/test_typed.py::test_a_typed_value_is_encoded_alone"
GUARD, ENDS = "tests/source/test_guard.py::", "tests/ledger/test_keeping.py::"
KEY = "tests/ledger/test_fingerprint.py::test_each_run_has_a_key_of_its_own"

MUTANTS: list[Mutant] = [
    one(
        "one-surrogate-makes-all-text-ascii",
        27,
        "one text that UTF-8 cannot spell takes the accents from all others",
        ("schema/objects.py", 'value.encode("utf-8", "replace")', 'value.encode("ascii", "replace")'),
        f"{ALONE}[accents-objects]",
    ),
    one(
        "one-bad-byte-makes-all-text-latin",
        27,
        "bytes of a column read in another encoding as soon as one value is not UTF-8",
        ("schema/typed.py", '.decode("utf-8", "replace")', '.decode("latin-1")'),
        f"{ALONE}[accents-texts]",
    ),
    one(
        "one-zone-for-all-moments",
        27,
        "spelled moments are all taken for UTC as soon as one spells an offset",
        ("schema/moments.py", "seconds = np.where(aware, ", "seconds = np.where(aware.any(), "),
        f"{ALONE}[wall clocks-objects]",
        f"{ALONE}[wall clocks-texts]",
    ),
    one(
        "the-first-year-of-two-digits-is-looked-up",
        27,
        "years of two digits are of the hundred from the first one in the table on, and not from what is declared",
        (
            "schema/moments.py",
            'year = first_year + (part["y"] - first_year)',
            'year = first_year + (part["y"] - part["y"].min(initial=99))',
        ),
        "tests/schema/test_alone.py::test_declared_columns_read_each_text_alone[two digits]",
    ),
    one(
        "one-moment-before-1970-rounds-all-up",
        27,
        "fractions of seconds are cut otherwise as soon as one moment of the column is before 1970",
        (
            "schema/typed.py",
            "    return np.asarray(ticks // PER_SECOND[unit], dtype=np.int64)",
            "    up = PER_SECOND[unit] - 1 if ticks.min(initial=0) < 0 else 0\n"
            "    return np.asarray((ticks + up) // PER_SECOND[unit], dtype=np.int64)",
        ),
        f"{TYPED}[Arrow timestamp of microseconds]",
    ),
    one(
        "polars-makes-the-objects",
        27,
        "values of polars' nested types made Python objects by polars, which panics on some",
        (
            "source/frames.py",
            'if kind == "Object" else values.to_arrow()',
            'if kind not in ("String", "Int64") else values.to_arrow()',
        ),
        f"{TYPED}[polars duration]",
    ),
    one(
        "runs-from-the-start",
        27,
        "the runs of a slice counted from the start of the whole column",
        (
            "schema/column.py",
            "rows = np.arange(values.offset, values.offset + len(values))",
            "rows = np.arange(len(values))",
        ),
        "tests/contracts/test_typed.py::test_the_runs_of_a_slice_are_its_own",
    ),
    one(
        "a-panic-passes",
        31,
        "a panic of another library passes with its text",
        ("source/guard.py", " or type(error).__name__ == _PANIC", ""),
        f"{GUARD}test_a_panic_is_a_failure_and_lack_of_memory_does_not_say_how_many_rows_there_are",
    ),
    one(
        "lack-of-memory-tells-the-rows",
        (15, 31),
        "NumPy's own words about memory, which give the number of rows",
        (
            "source/guard.py",
            '            raise_clean(MemoryError(f"There is not enough memory to read this: {self.what}."))\n',
            "            return False\n",
        ),
        f"{GUARD}test_a_panic_is_a_failure_and_lack_of_memory_does_not_say_how_many_rows_there_are",
        f"{GUARD}test_counting_that_fails_says_nothing_of_the_table",
    ),
    one(
        "counting-is-not-guarded",
        31,
        "an error while counting comes out as it is",
        ("source/unopened.py", '        with unforeseen("The table"):\n', "        if True:\n"),
        f"{GUARD}test_counting_that_fails_says_nothing_of_the_table",
    ),
    one(
        "one-key-for-all-fingerprints",
        15,
        "a fingerprint without a secret: whoever has two ledgers sees whether the tables are equal",
        ("ledger/journal.py", "key = secrets.token_bytes(KEY_BYTES)", "key = bytes(KEY_BYTES)"),
        KEY,
    ),
    one(
        "paid-and-not-answered-is-not-told",
        30,
        "a question that was paid for and never answered is left out of what was spent",
        (
            "ledger/keeping.py",
            "return known if self.log is None else max(known, self.log.spent)",
            "return known if self.log is None else self.log.charged",
        ),
        f"{ENDS}test_whatever_ends_a_run_carries_what_the_ledger_counts",
    ),
    one(
        "what-was-paid-is-given-back-on-resume",
        30,
        "a run that paid for a question, stopped and was resumed, settles for its answers alone",
        ("ledger/journal.py", "        return max(self._charged, self._before)\n", "        return self._charged\n"),
        f"{ENDS}test_what_stays_spent_stays_spent_when_the_run_is_resumed_and_stops_again",
    ),
    one(
        "interrupted-while-reserving-is-free",
        30,
        "a run that was stopped while its budget was being reserved says that nothing counts",
        ("ledger/keeping.py", "self._budget if unsure else self.rho", "self.rho"),
        f"{ENDS}test_an_end_in_the_middle_of_the_reservation_does_not_say_that_nothing_counts",
    ),
]
