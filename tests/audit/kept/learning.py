"""The kept mutants of schemas that are learnt under a budget."""

from __future__ import annotations

from audit.mutant import one

NUMBERS = "tests/contracts/test_numbers.py::test_neighbours_cannot_be_told_apart_by_what_is_asked_of_numbers"
SHARED, LEARN = "tests/learning/test_shared.py::", "tests/learning/test_learn.py::"
OPEN = "tests/test_open.py::"
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
        ("privacy/questions/shared.py", "inv_cdf(self.delta / unit.l1)", "inv_cdf(self.delta * unit.l1)"),
        CHANCE,
    ),
    one(
        "a-threshold-of-the-normal-distribution",
        36,
        "the threshold of texts takes the discrete noise for the normal distribution, which has less far out",
        ("privacy/questions/shared.py", "ceil(self.sigma * far) + 1", "ceil(self.sigma * far)"),
        CHANCE,
    ),
    one(
        "a-number-of-rows-that-is-stated-too-high",
        36,
        "a schema states that texts with fewer rows than the threshold are not shown, whatever the noise",
        ("privacy/questions/shared.py", "self.threshold(unit) - 1 - ceil(self.sigma * far)", "self.threshold(unit) - 1"),
        f"{SHARED}test_a_text_with_as_many_rows_as_are_stated_is_told_with_no_more_than_the_stated_chance",
    ),
    one(
        "a-number-of-rows-at-even-chances",
        36,
        "the number of rows below which no text is shown is one that is shown every second time",
        ("learning/learn.py", "one.rare(unit, delta)", "one.rare(unit, 0.5)"),
        f"{LEARN}test_what_is_stated_of_texts_is_so_of_every_column",
    ),
    one(
        "each-column-takes-all-of-delta",
        36,
        "the texts of every column have the delta that is for all of them",
        ("learning/learn.py", "float_below(Fraction(delta) / len(texts))", "delta"),
        f"{LEARN}test_noise_and_texts_of_all_columns_share_the_budget_and_a_person_is_what_it_says[None]",
    ),
    one(
        "texts-take-their-delta-twice",
        36,
        "the noise takes all of delta, and the texts their quarter beside it",
        ("learning/learn.py", "float_below(Fraction(delta) - Fraction(texts)), None)", "delta, None)"),
        f"{LEARN}test_noise_and_texts_of_all_columns_share_the_budget_and_a_person_is_what_it_says[None]",
    ),
    one(
        "a-delta-that-is-not-on-the-books",
        36,
        "the ledger does not hear of the part of delta that learnt texts take",
        ("learning/learn.py", "BESIDE: texts}", "BESIDE: 0.0}"),
        f"{LEARN}test_the_ledger_adds_up_what_texts_take_of_delta",
    ),
    one(
        "a-cap-that-forgets-delta",
        (28, 36),
        "a cap in epsilon is turned into rho at the whole of delta, whatever texts take of it",
        ("ledger/state.py", "or not beside:", "or beside >= 0:"),
        f"{LEARN}test_the_ledger_adds_up_what_texts_take_of_delta",
    ),
    one(
        "learning-takes-a-person-for-a-row",
        16,
        "where persons have several rows, a learnt schema costs as if each had one",
        ("learning/learn.py", 'Unit("add-remove", whom.rows, whom.column)', "Unit.ADD_REMOVE"),
        f"{LEARN}test_noise_and_texts_of_all_columns_share_the_budget_and_a_person_is_what_it_says[3]",
    ),
    one(
        "learning-reads-before-it-reserves",
        29,
        "a schema is learnt from a table that is read before its budget is reserved",
        (
            "learning/learn.py",
            "        log = run.begin(place, ",
            "        source.count([(names[0],)])\n        log = run.begin(place, ",
        ),
        f"{LEARN}test_nothing_is_read_before_it_is_reserved_and_paid_for",
    ),
    one(
        "learning-quotes-the-table",
        31,
        "what fails while the texts of a column are read is told as it is",
        ("source/undeclared.py", '    with unforeseen("The table"):\n', "    if True:\n"),
        f"{SHARED}test_a_table_that_fails_while_its_texts_are_read_is_not_quoted",
    ),
    one(
        "a-failed-draft-keeps-quiet",
        30,
        "a schema that could not be learnt does not say what was spent on it",
        ("cli/ending.py", 'return "\\n".join([message, *notes])', "return message"),
        "tests/cli/test_schema_cli.py::test_a_draft_that_could_not_be_learnt_says_what_was_spent",
    ),
    one(
        "free-text-is-told",
        36,
        "texts of any length, and with characters that cannot be seen, are told where many have them",
        ("source/undeclared.py", " or len(text) > LONGEST or not text.isprintable()", ""),
        f"{SHARED}test_free_text_and_what_cannot_be_seen_is_never_told",
    ),
    one(
        "the-second-accountant-hears-of-one-row",
        7,
        "of texts that many share, the second accountant is told that neighbours move one count by one",
        ("privacy/questions/shared.py", "self.sigma, unit.l2_squared", "self.sigma, 1"),
        f"{SHARED}test_the_second_accountant_is_asked_about_all_that_neighbours_move[add_remove of 4 rows]",
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
            "self._masked(exact, mask), self._unit)",
            "self._masked(exact, Mask(mask.kind, mask.scale / 2, mask.sensitivity)), self._unit)",
        ),
        MASKED,
    ),
    one(
        "texts-by-exact-counts",
        36,
        "texts are told by their exact counts",
        (
            "privacy/door.py",
            "question.told(texts, self._masked(exact, mask), self._unit)",
            "question.told(texts, exact, self._unit)",
        ),
        MASKED,
    ),
    one(
        "texts-for-nothing",
        (8, 9, 36),
        "texts are read without being paid for",
        (
            "privacy/door.py",
            "        self._pay(request, mask)\n",
            "        if isinstance(question, Question):\n            self._pay(request, mask)\n",
        ),
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
            '    if kind == "boolean":\n',
            '    rho /= 1 + int(door._read([(column,)])[0][TEXT])\n    if kind == "boolean":\n',
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
    one(
        "open-columns-take-their-delta-twice",
        36,
        "a run with open columns has the rho of all of delta, and their texts take a quarter of it beside",
        ("request.py", "delta=rest).rho), texts", "delta=budget.delta).rho), texts"),
        f"{OPEN}test_texts_and_all_the_rest_share_one_budget_and_one_delta[None]",
    ),
    one(
        "open-columns-have-a-budget-of-their-own",
        (9, 36),
        "what a run asks after its open columns is charged to a second budget of the same size",
        ("synthesize.py", "budget = asked.budget if run.filter is None else run.filter", "budget = asked.budget"),
        f"{OPEN}test_texts_and_all_the_rest_share_one_budget_and_one_delta[None]",
    ),
    one(
        "each-open-column-takes-all-of-delta",
        36,
        "the texts of every open column have the delta that is for all of them",
        ("request.py", "float_below(Fraction(self.beside) / max(len(names), 1))", "self.beside"),
        f"{OPEN}test_texts_and_all_the_rest_share_one_budget_and_one_delta[None]",
    ),
    one(
        "the-delta-of-open-columns-is-not-on-the-books",
        (28, 36),
        "the ledger does not hear of the part of delta that the texts of open columns take",
        ("request.py", "**({BESIDE: self.beside} if self.beside else {})", "**{}"),
        f"{OPEN}test_the_ledger_counts_the_rho_and_the_delta_of_texts_with_the_run",
    ),
    one(
        "another-table-after-open-columns",
        30,
        "a run that goes on after its open columns does not look whether the table is the one that it began with",
        ("privacy/door.py", "earlier = [] if before is None else [before]", "earlier: list[Read] = []"),
        f"{OPEN}test_a_run_that_was_stopped_goes_on_and_asks_nothing_twice[2]",
    ),
    one(
        "delta-rounded-up",
        (9, 36),
        "the delta of texts and that of all the rest are more than delta together, by a rounding",
        (
            "request.py",
            "rest = float_below(Fraction(budget.delta) - Fraction(texts))",
            "rest = budget.delta - texts",
        ),
        f"{OPEN}test_texts_and_all_the_rest_are_within_delta_to_the_last_digit",
    ),
    one(
        "other-texts-in-open-columns",
        (30, 33),
        "a run goes on with a table that differs in the texts of its open columns alone",
        ("privacy/door.py", "[known[c] for c in marks], spelled())", "[known[c] for c in marks])"),
        f"{OPEN}test_a_run_that_was_stopped_goes_on_and_asks_nothing_twice[1]",
    ),
    one(
        "open-columns-forget-persons",
        16,
        "the texts of open columns are counted in all rows of a person",
        ("source/opened.py", "declared=declared), schema.person, schema.csv)", "declared=declared), None, schema.csv)"),
        f"{OPEN}test_a_person_counts_with_so_many_rows",
    ),
    one(
        "one-row-too-many-of-a-persons-texts",
        16,
        "the texts of open columns are counted in one row more of a person than is paid for",
        (
            "source/opened.py",
            "declared=declared), schema.person, schema.csv)",
            "declared=declared), schema.person and type(schema.person)(schema.person.column, schema.person.rows + 1), "
            "schema.csv)",
        ),
        f"{NUMBERS}[add_remove of 5 rows of one who open]",
    ),
    one(
        "the-number-of-texts-in-a-log",
        (10, 12),
        "a line of a log says how many different texts an open column has",
        (
            "source/undeclared.py",
            "    found.pop(NOTHING, None)\n",
            '    found.pop(NOTHING, None)\n    __import__("logging").getLogger().error("%d texts", len(found))\n',
        ),
        f"{NUMBERS}[add_remove open]",
    ),
    one(
        "open-columns-are-read-before-they-are-reserved",
        29,
        "a table with open columns is read before the budget of the run is reserved",
        (
            "synthesize.py",
            "    log = run.begin(place, asked.budget",
            "    if questions:\n        first.count([()])\n    log = run.begin(place, asked.budget",
        ),
        f"{OPEN}test_nothing_is_read_before_it_is_reserved_and_paid_for",
    ),
]
