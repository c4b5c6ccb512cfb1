"""Kept mutants of how values become codes: each lets one value decide how others are read."""

from __future__ import annotations

from audit.mutant import one

VALUES = "tests/contracts/test_values.py::test_a_value_is_encoded_alone"
LISTS, PANDAS, TEXT = f"{VALUES}[dict of lists]", f"{VALUES}[pandas]", f"{VALUES}[Arrow text of any bytes]"
ATTACK = "tests/contracts/test_values.py::test_one_odd_record_in_front_cannot_be_told_from_the_release"
NULLS = "tests/schema/test_schema_spellings.py::test_a_missing_code_changes_how_no_other_value_is_read"

MUTANTS = [
    one(
        "one-missing-code-hides-the-column",
        27,
        "where one number means missing, every number of the batch does",
        (
            "schema/binned.py",
            "        reading.faults[np.isin(numbers, self._null_digits)] = Fault.MISSING\n",
            "        if np.isin(numbers, self._null_digits).any():\n            reading.faults[:] = Fault.MISSING\n",
        ),
        NULLS,
    ),
    one(
        "one-spelled-code-hides-the-column",
        27,
        "where one text spells a number that means missing, unreadable texts count as values",
        (
            "schema/binned.py",
            "            reading.faults[np.isin(digits, self._null_digits)] = Fault.MISSING\n",
            "            reading.faults[:] = np.isin(digits, self._null_digits).any()\n",
        ),
        NULLS,
    ),
    one(
        "one-missing-code-hides-the-list",
        27,
        "where one number of a list means missing, every unlisted number does",
        (
            "schema/listed.py",
            "        return _reading(found, np.isin(numbers, self._null_numbers) & (found < 0))\n",
            "        return _reading(found, np.isin(numbers, self._null_numbers).any() & (found < 0))\n",
        ),
        NULLS,
    ),
    one(
        "one-stray-cuts-all",
        27,
        "where one text is unlisted, every text counts as its first characters",
        (
            "schema/listed.py",
            "            found = np.where((found < 0) & ~missing_text(text, self.nulls), self._match(cut), found)\n",
            "            found = self._match(cut)\n",
        ),
        NULLS,
    ),
    one(
        "a-column-has-one-class",
        27,
        "where classes are mixed, everything is spelled as text",
        (
            "schema/objects.py",
            "        for part in _reader(type(mine[0]))(mine):\n",
            "        for part in (_others if len(number) > 1 else _reader(type(mine[0])))(mine):\n",
        ),
        LISTS,
    ),
    one(
        "the-first-object-decides",
        (27, 20),
        "all objects are read as the class of the first",
        (
            "schema/objects.py",
            "    for which in range(len(number)):\n",
            "    classes[:] = 0\n    for which in range(1):\n",
        ),
        LISTS,
    ),
    one(
        "a-batch-of-strays-is-unreadable",
        27,
        "more than two unreadable numbers in a batch make the whole batch unreadable",
        (
            "schema/reading.py",
            "    lower = pc.utf8_lower(trimmed)\n",
            "    if (~missing & ~spelled).sum() > 2:\n"
            "        return Values(numbers, missing, ~missing)\n"
            "    lower = pc.utf8_lower(trimmed)\n",
        ),
        TEXT,
    ),
    one(
        "one-stray-trims-all",
        27,
        "where one value is unlisted, every value is trimmed",
        (
            "schema/listed.py",
            "            found = np.where(found < 0, self._match(pc.utf8_trim_whitespace(text)), found)\n",
            "            found = self._match(pc.utf8_trim_whitespace(text))\n",
        ),
        TEXT,
        LISTS,
    ),
    one(
        "one-number-makes-all-numbers",
        27,
        "where one text is unlisted, texts that spell numbers count as those numbers",
        (
            "schema/listed.py",
            "            found = np.where(found < 0, self._match_otherwise(text), found)\n",
            "            found = np.maximum(self._match_otherwise(text), -1)\n",
        ),
        TEXT,
    ),
    one(
        "one-null-nulls-all",
        27,
        "where one text is blank, unreadable ones count as missing too",
        (
            "schema/binned.py",
            "        reading.faults[values.missing] = Fault.MISSING\n",
            "        reading.faults[values.missing] = Fault.MISSING\n"
            "        if values.missing.any():\n"
            "            reading.faults[values.unreadable] = Fault.FITS\n",
        ),
        "tests/schema/test_alone.py::test_declared_columns_read_each_text_alone",
    ),
    one(
        "bad-bytes-empty-the-batch",
        (27, 28),
        "one text that is not UTF-8 makes every text of its batch unreadable",
        (
            "schema/typed.py",
            "        return _bytes_as_text(pc.cast(text, pa.large_binary()))\n",
            '        return pa.array(["?"] * len(text), pa.large_string())\n',
        ),
        TEXT,
    ),
    one(
        "dictionaries-by-their-first-value",
        27,
        "categories are read as the class of the first",
        (
            "source/frames.py",
            "        return Categories(_pandas_column(categories.categories), np.asarray(categories.codes))\n",
            "        return Categories(Objects([str(c) for c in categories.categories]), np.asarray(categories.codes))\n"
            "    if False:\n"
            "        pass\n",
        ),
        f"{VALUES}[pandas category]",
    ),
    one(
        "derived-codes-by-the-batch",
        10,
        "the codes of a derived column depend on how many rows are read with it: one row moves all its counts",
        (
            "source/tables.py",
            "column.follow([found[parent] for parent in column.parents])\n    return Codes(batch",
            "column.follow([found[parent] for parent in column.parents]) * (batch.num_rows % 2 < 1)\n    return Codes(batch",
        ),
        "tests/contracts/test_numbers.py::test_neighbours_cannot_be_told_apart_by_what_is_asked_of_numbers[add_remove open]",
    ),
]
