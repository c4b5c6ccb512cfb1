"""The kept mutants of schemas that are learnt under a budget."""

from __future__ import annotations

from audit.mutant import one

SHARED, LEARN = "tests/learning/test_shared.py::", "tests/learning/test_learn.py::"
CHANCE = f"{SHARED}test_what_one_unit_alone_has_is_told_with_a_chance_of_delta_at_most"
MASKED = f"{SHARED}test_the_door_gives_the_exact_counts_to_the_noise_that_was_paid_for_and_tells_what_reaches_the_threshold"

MUTANTS = [
    one(
        "a-threshold-lower-by-the-rows-of-a-person",
        36,
        "the threshold of texts does not count the rows that one person may have",
        ("privacy/questions/shared.py", "return unit.rows + ceil(", "return ceil("),
        CHANCE,
    ),
    one(
        "a-threshold-for-one-text",
        36,
        "the threshold of texts is set as if a person could have one text of their own, and not several",
        ("privacy/questions/shared.py", "log(unit.l1 / self.delta)", "log(1 / (unit.l1 * self.delta))"),
        CHANCE,
    ),
    one(
        "rare-texts",
        36,
        "every text with a noisy count above zero is told",
        ("privacy/questions/shared.py", "if value >= self.threshold(unit)]", "if value > 0]"),
        MASKED,
        f"{SHARED}test_no_rare_text_is_told_whatever_the_noise",
    ),
    one(
        "texts-with-half-the-noise",
        (1, 36),
        "texts are counted with half the noise that was paid for",
        (
            "privacy/door.py",
            "self._noise.gaussian(exact, question.sigma)",
            "self._noise.gaussian(exact, question.sigma / 2)",
        ),
        MASKED,
    ),
    one(
        "texts-by-exact-counts",
        36,
        "texts are told by their exact counts",
        (
            "privacy/door.py",
            "question.packed(texts, self._noise.gaussian(exact, question.sigma), self._unit)",
            "question.packed(texts, exact, self._unit)",
        ),
        MASKED,
    ),
    one(
        "texts-for-nothing",
        (8, 9, 36),
        "texts are read without being paid for",
        ("privacy/door.py", '            self._pay(request, Mask("gaussian", question.sigma, self._unit.l2_squared))\n', ""),
        f"{SHARED}test_what_is_over_budget_is_refused_unread",
    ),
    one(
        "texts-of-all-rows",
        16,
        "texts are counted in all rows of a person",
        (
            ("source/undeclared.py", "rows = rows_of(open_reader(", "rows = AllRows(open_reader("),
            ("source/undeclared.py", "tables import rows_of", "tables import AllRows"),
        ),
        f"{SHARED}test_a_person_counts_with_so_many_rows_whatever_the_others_have",
        f"{LEARN}test_persons_count_with_so_many_rows",
    ),
    one(
        "a-ladder-for-the-whole-column",
        27,
        "texts are read as numbers only where all of a column are",
        (
            "schema/ladder.py",
            "        codes[fits] = ladder().of_numbers(",
            "        fits &= fits.all()\n        codes[fits] = ladder().of_numbers(",
        ),
        f"{LEARN}test_a_value_climbs_the_ladder_alone",
    ),
    one(
        "noise-by-an-exact-count",
        (10, 36),
        "how much noise a column's bins get follows from its exact number of texts",
        (
            "learning/columns.py",
            "    rest = rho * (1 - FIRST_SHARE)\n",
            "    rest = rho * (1 - FIRST_SHARE) / (1 + int(door._read([(column,)])[0][TEXT]))\n",
        ),
        f"{LEARN}test_on_a_neighbour_the_same_answers_give_the_same_questions_and_the_same_schema",
    ),
    one(
        "a-seeded-schema-in-a-private-run",
        32,
        "a schema that was learnt with seeded noise is taken by a private run",
        ("synthesize.py", "        require_learnt_privately(found)\n", "        pass\n"),
        f"{LEARN}test_a_seeded_schema_is_not_for_a_private_run",
    ),
]
