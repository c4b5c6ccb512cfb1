"""Kept mutants of persons with many rows: each lets a person move more than the unit says."""

from __future__ import annotations

from audit.mutant import one

CONTRACT = "tests/contracts/test_persons.py::"
MOVES = f"{CONTRACT}test_a_person_with_a_thousand_rows_moves_five"
USED = "tests/source/test_persons.py::"
RUNS = "tests/test_persons.py::"
AUDIT = "tests/statistical/test_audit.py::test_a_person_is_protected_as_claimed"

MUTANTS = [
    one(
        "persons-forgotten-in-memory",
        (16, 20),
        "frames and dicts count every row of a person",
        (
            "source/tables.py",
            "        return cls(schema.domain, rows_of(reader, schema).batches(whole(schema)), schema.fine)\n",
            "        return cls(schema.domain, AllRows(reader, schema).batches(whole(schema)), schema.fine)\n",
        ),
        f"{MOVES}[pandas_frame-front]",
        AUDIT,
    ),
    one(
        "persons-forgotten-in-streams",
        16,
        "files and queries count every row of a person",
        (
            "source/tables.py",
            "        self._rows = rows_of(reader, schema)\n",
            "        self._rows = AllRows(reader, schema)\n",
        ),
        f"{MOVES}[csv_file-end]",
        f"{MOVES}[sql_database-front]",
    ),
    one(
        "persons-limited-in-each-batch",
        16,
        "each batch of a table may have so many rows of a person",
        (
            "source/tables.py",
            "            used = limit.used(Marks.of(identities, codes), identities.missing)\n",
            "            limit = Limit(self._census, self._person.rows)\n"
            "            used = limit.used(Marks.of(identities, codes), identities.missing)\n",
        ),
        f"{CONTRACT}test_every_form_and_order_uses_the_same_rows[csv_file]",
    ),
    one(
        "rows-that-differ-inside-bins-taken-for-the-same",
        16,
        "which rows of a person are used depends on where they stand, if they differ inside their bins alone",
        (
            "source/persons.py",
            "        for column in codes.columns:\n            rank",
            "        for column in codes.columns[:5]:\n            rank",
        ),
        f"{CONTRACT}test_every_form_and_order_uses_the_same_rows[csv_file]",
    ),
    one(
        "rows-chosen-by-position",
        16,
        "which rows of a person are used depends on where they stand in the table",
        (
            "source/persons.py",
            "            rank = scrambled(rank ^ column.astype(np.uint64))\n",
            "            rank = scrambled(rank ^ np.arange(len(rank), dtype=np.uint64))\n",
        ),
        f"{USED}test_each_person_has_as_many_rows_as_allowed_in_whatever_order",
        f"{USED}test_what_is_used_of_a_person_depends_on_nobody_else",
    ),
    one(
        "rows-chosen-by-the-number-of-persons",
        16,
        "where the used rows of a person begin depends on how many persons there are",
        (
            "source/persons.py",
            "    begin = (scrambled(first + scrambled(second))",
            "    begin = (scrambled(first + np.uint64(len(first)))",
        ),
        f"{USED}test_what_is_used_of_a_person_does_not_depend_on_how_many_there_are",
    ),
    one(
        "the-first-rows-are-used",
        16,
        "the rows of least rank are used, so that some rows are favoured",
        ("source/persons.py", "    begin[rows <= most] = 0\n", "    begin[:] = 0\n"),
        f"{USED}test_every_row_of_a_person_has_the_same_chance",
    ),
    one(
        "no-cap-in-a-pass",
        16,
        "a table that grows between two passes lets a person have more rows",
        (
            "source/persons.py",
            "        used[rows[_among_first(place, self._used, self._most)]] = True\n",
            "        used[rows] = True\n",
        ),
        f"{USED}test_the_limit_holds_in_every_pass_also_where_the_table_grows_between",
    ),
    one(
        "nobody-is-one-person",
        16,
        "rows without an identifier are taken for one person's",
        (
            "source/persons.py",
            "        used = missing.copy()\n",
            "        used = missing & (np.cumsum(missing) <= self._most)\n",
        ),
        f"{CONTRACT}test_rows_of_nobody_are_persons_of_their_own[dict_of_lists]",
    ),
    one(
        "persons-by-half-their-bits",
        16,
        "persons whose digests begin alike are taken for one",
        (
            "source/persons.py",
            "            beside = (self.first[place] == first) & (self.second[place] != second) & (place < last)\n",
            "            beside = np.zeros(len(place), np.bool_)\n",
        ),
        f"{USED}test_persons_that_are_alike_in_half_their_bits_are_two",
    ),
    one(
        "identifiers-as-floats",
        16,
        "long numbers that differ in their last digits are taken for one person",
        (
            "schema/person.py",
            "    return isinstance(value, int | np.integer | Decimal | bytes) and not isinstance(value, bool)\n",
            "    return False\n",
        ),
        f"{USED}test_identifiers_are_the_same_where_their_values_are",
    ),
    one(
        "numbers-that-mean-nobody-are-somebody",
        16,
        "where a column holds numbers, a declared null is taken for a person",
        (
            "schema/person.py",
            "flags(pc.is_null(array)) | np.isin(numbers, self._null_numbers))\n",
            "flags(pc.is_null(array)))\n",
        ),
        f"{USED}test_a_null_is_nobody_in_every_type[int8]",
        f"{USED}test_a_record_of_nobody_moves_one_count_where_a_number_means_nobody",
    ),
    one(
        "noise-of-one-row",
        (16, 11),
        "a person's rows are hidden by the noise of one row",
        (
            "request.py",
            "        names = {name: Unit(one.kind, person.rows, person.column) for name, one in names.items()}\n",
            "        names = {name: Unit(one.kind, 1, person.column) for name, one in names.items()}\n",
        ),
        f"{RUNS}test_the_unit_follows_from_the_schema",
        f"{RUNS}test_the_noise_is_that_of_as_many_rows",
    ),
    one(
        "rows-and-persons-add-up",
        (16, 17),
        "a ledger adds the budgets of runs that protect rows and of runs that protect persons",
        (
            "ledger/ledger.py",
            "    known, unit = dataset.unit, settings.get",
            "    return\n    known, unit = dataset.unit, settings.get",
        ),
        f"{RUNS}test_budgets_of_rows_and_of_persons_are_not_added_up",
    ),
]
