"""Kept mutants of files and queries."""

from __future__ import annotations

from audit.mutant import Mutant, one

CSV, SQL, GUARD = "tests/source/test_csv.py::", "tests/source/test_sql.py::", "tests/source/test_guard.py::"
FILES, CANARY = "tests/source/test_files.py::", "tests/audit/test_canary.py::"
BAD_LINE = f"{CSV}test_a_bad_line_costs_only_itself"
GUESSING = f"{SQL}test_a_query_that_would_guess_types_is_refused"

MUTANTS: list[Mutant] = [
    one(
        "odd-lines-skipped",
        (13, 28),
        "lines of a CSV file whose quotes are not as they should be left out",
        ("source/fields.py", "    for low in range(0, len(lines.odd), step):", "    for low in range(0, 0, step):"),
        f"{FILES}test_ragged_lines_are_neither_dropped_nor_fatal",
        BAD_LINE,
    ),
    one(
        "quotes-span-lines",
        28,
        "an unclosed quote goes on in the next line",
        ("source/fields.py", "    odd = count % 2 == 1\n", "    odd = count < 0\n"),
        BAD_LINE,
        f"{CSV}test_each_hostile_line_at_each_place_is_read_as_alone",
    ),
    one(
        "one-bad-byte-another-encoding",
        (27, 28),
        "a block with a byte that is not UTF-8 read as Latin-1",
        ("source/fields.py", "    return decode(block, dialect).encode()", '    return block.decode("latin-1").encode()'),
        BAD_LINE,
    ),
    one(
        "one-quote-unquotes-all",
        27,
        "doubled quotes halved in every field as soon as one field is quoted",
        (
            "source/lines.py",
            "        if dialect.quote and text.startswith(dialect.quote, at):",
            "        if dialect.quote in text:",
        ),
        f"{CSV}test_each_hostile_line_at_each_place_is_read_as_alone",
    ),
    one(
        "short-lines-take-from-the-next",
        28,
        "a field that a line does not have read as empty text at its end",
        ("source/fields.py", "mask=None if present.all() else ~present", "mask=None"),
        f"{CSV}test_many_lines_at_once_are_read_as_each_alone",
    ),
    one(
        "sql-first-lock",
        27,
        "SQL may call what guesses types, on a file that is called Parquet",
        ("source/sql.py", "    refuse_guessing(sql.query, binding(_WHAT, _ADVICE))\n", ""),
        f"{GUESSING}",
        f"{SQL}test_nothing_is_opened_before_the_first_lock",
    ),
    one(
        "sql-second-lock",
        27,
        "SQL may open any file that the first lock does not see",
        ("source/sqlfiles.py", '            connection.execute("SET enable_external_access = false")\n', ""),
        f"{GUESSING}",
        f"{SQL}test_the_second_lock_does_not_need_the_first",
    ),
    one(
        "one-number-has-a-comma-so-all-do",
        27,
        "where one text is a number of the dialect, every text of the batch is taken for one",
        (
            "source/figures.py",
            "    return pc.if_else(pc.match_substring_regex(trimmed, number_pattern(dialect)), plain, kept)\n",
            "    return plain if pc.any(pc.match_substring_regex(trimmed, number_pattern(dialect))).as_py() else kept\n",
        ),
        "tests/source/test_figures.py::test_each_text_is_read_as_it_is_alone",
    ),
    one(
        "errors-that-quote",
        (15, 31),
        "another library's own words about what it could not read",
        (
            "source/guard.py",
            'return f"{type(error).__name__}; details withheld, since they may quote the table"',
            "return str(error)",
        ),
        f"{FILES}test_a_query_that_fails_on_a_row_does_not_quote_it",
        f"{GUARD}test_a_failure_says_what_failed_and_nothing_of_the_table",
        f"{GUARD}test_nor_does_the_command_line",
        f"{CANARY}test_failures_quote_nothing",
    ),
    one(
        "errors-that-carry",
        (15, 31),
        "another library's error attached to ours",
        ("source/guard.py", "        clean.__context__ = None\n", ""),
        f"{GUARD}test_a_failure_says_what_failed_and_nothing_of_the_table",
        f"{CANARY}test_failures_quote_nothing",
    ),
    one(
        "rows-spilled-beside-the-database",
        15,
        "what DuckDB spills goes where it likes, and stays there when a run is killed",
        ("source/duck.py", '            "temp_directory": spill,\n', ""),
        f"{SQL}test_what_spills_goes_to_a_folder_of_the_owner_alone_that_is_removed",
    ),
]
