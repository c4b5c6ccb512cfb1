"""Kept mutants of gaps between columns in order, which let a record move more than was paid for; and of a learnt schema that
is decided by the table.
"""

from __future__ import annotations

from audit.mutant import one

COUNTED = "tests/contracts/test_sources.py::test_how_far_apart_columns_in_order_are_is_counted_as_in_a_walk"
READ = "tests/contracts/test_reads.py::test_how_far_apart_columns_are_is_read_inside_a_question"
MOVES = "tests/contracts/test_persons.py::test_a_person_with_a_thousand_rows_moves_five"

MUTANTS = [
    one(
        "gaps-counted-twice",
        11,
        "a record is in two counts of what lies inside bins, and of how far apart columns are",
        (
            "source/tables.py",
            "        alone.add(Codes(batch.rows, batch.columns[last:]))\n",
            "        alone.add(Codes(batch.rows, batch.columns[last:]))\n"
            "        alone.add(Codes(batch.rows, batch.columns[last:]))\n",
        ),
        f"{COUNTED}[arrow_table-random]",
        f"{MOVES}[pandas_frame-front]",
    ),
    one(
        "gaps-not-charged",
        (9, 10),
        "how far apart columns are is read past the accountant",
        (
            (
                "mechanism/looking.py",
                "from fractions import Fraction\n",
                "from dataclasses import replace\nfrom fractions import Fraction\n",
            ),
            (
                "mechanism/looking.py",
                "        found = self.door.ask(question)\n        self.inside",
                "        name = question.clique[0]\n"
                "        found = (\n"
                "            replace(self.inside[0], clique=(name,), values=self.door._read([(name,)])[0])\n"
                "            if ' above ' in name\n"
                "            else self.door.ask(question)\n"
                "        )\n"
                "        self.inside",
            ),
        ),
        READ,
    ),
    one(
        "gaps-from-the-middle-of-a-batch",
        27,
        "how far apart two values are is told from the values of other rows",
        (
            "schema/gaps.py",
            "distances = self.high.of(high) - self.low.of(low)\n",
            "distances = self.high.of(high) - np.nanmedian(np.append(self.low.of(low), 0.0))\n",
        ),
        f"{COUNTED}[arrow_table-random]",
        "tests/schema/test_gaps.py::test_a_row_has_the_same_cell_whatever_stands_beside_it",
    ),
    one(
        "too-far-by-the-table",
        10,
        "which bins are too far apart follows from the table's own counts",
        (
            "mechanism/running.py",
            "too_far(self.domain, self.gaps, self.inside, self.model_cliques, self.zeros, total=total)",
            "too_far(\n"
            "            self.domain,\n"
            "            self.gaps,\n"
            "            [replace(m, values=self.door._read([m.clique])[0]) for m in self.inside],\n"
            "            self.model_cliques,\n"
            "            self.zeros,\n"
            "            total=total,\n"
            "        )",
        ),
        READ,
    ),
    one(
        "a-fingerprint-without-gaps",
        33,
        "a table of which columns are otherwise apart, and all else is the same, may go on with a run",
        (
            "privacy/door.py",
            "*((name,) for name in fine)] if journal.keeps",
            "*((name,) for name in fine if ' above ' not in name)] if journal.keeps",
        ),
        "tests/ledger/test_fingerprint.py::test_a_table_whose_columns_are_otherwise_apart_is_another",
    ),
    one(
        "a-glance-at-the-table",
        (10, 36),
        "which columns are taken for texts at a glance is decided by the exact counts",
        (
            "learning/tree.py",
            "first.sure(float(found.values[TEXT] - found.values[-1]), 2)",
            "first.sure(float(2 * (exact := door._read([(column,)])[0])[TEXT] - exact.sum()), 2)",
        ),
        "tests/learning/test_reads.py::test_counts_are_read_inside_a_question_alone",
    ),
    one(
        "bins-only-where-the-table-has-rows",
        (10, 36),
        "a column has bins only where its exact counts come to enough rows",
        (
            "learning/columns.py",
            "    if not found or _beyond(leaves, families):\n",
            "    if not found or door._read([(column,)])[0].sum() < 100:\n",
        ),
        "tests/learning/test_reads.py::test_counts_are_read_inside_a_question_alone",
    ),
]
