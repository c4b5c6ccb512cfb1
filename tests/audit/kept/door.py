"""The kept mutants of the privacy room and of what stands on it; those of the other rooms are beside this file."""

from __future__ import annotations

from audit.mutant import one

DOOR, FILTER, SAMPLERS = "tests/privacy/test_door.py::", "tests/privacy/test_filter.py::", "tests/privacy/test_samplers.py::"
SENSITIVITY, BUDGET = "tests/privacy/test_sensitivity.py::", "tests/privacy/test_budget.py::"
CONTRACT, RELEASES = "tests/contracts/test_mechanisms.py::", "tests/contracts/test_releases.py::"
SOURCES, AUDIT = "tests/contracts/test_sources.py::", "tests/statistical/test_audit.py::"
HISTOGRAMS, CANARY = "tests/statistical/test_histograms.py::", "tests/audit/test_canary.py::"
RANDOMNESS = "tests/audit/test_randomness.py::"
APART = f"{CONTRACT}test_a_neighbour_cannot_be_told_apart"
BYTES = f"{RELEASES}test_every_byte_of_a_release_is_the_same"

OPINION = "if not mask.draws * second_opinion(mask.kind, mask.scale, mask.sensitivity) <= request.cost * (1 + _ROUNDING):"
"""Where the door asks OpenDP what the noise costs."""

MUTANTS = [
    one(
        "half-the-gaussian-noise",
        (1, 20),
        "Gaussian noise of half the scale that is paid for",
        ("privacy/secure.py", "_drawn(_gaussian(sigma), ", "_drawn(_gaussian(sigma / 2), "),
        f"{SAMPLERS}test_noise_is_the_one_claimed",
        f"{AUDIT}test_measurements_cost_what_is_claimed[secure-Unit.ADD_REMOVE]",
    ),
    one(
        "half-the-laplace-noise",
        1,
        "Laplace noise of half the scale that is paid for",
        ("privacy/secure.py", "_drawn(_laplace(scale), ", "_drawn(_laplace(scale / 2), "),
        f"{SAMPLERS}test_noise_is_the_one_claimed",
    ),
    one(
        "monotone-scores",
        (2, 20),
        "selection with the coefficient that only monotone scores allow",
        ("privacy/secure.py", "int(_noisy_max(scale)(", "int(_noisy_max(scale / 2)("),
        f"{SAMPLERS}test_selection_is_the_exact_softmax",
        f"{AUDIT}test_selection_costs_what_is_claimed[secure-Unit.ADD_REMOVE]",
    ),
    one(
        "monotone-scores-in-the-door",
        (2, 11),
        "the door asks for the monotone coefficient, and nobody asks OpenDP what it costs",
        [
            ("privacy/questions/choice.py", "float_above(2 * sensitivity / ", "float_above(sensitivity / "),
            ("privacy/door.py", OPINION, "if False:"),
        ],
        f"{SAMPLERS}test_a_door_selects_by_epsilon_over_twice_the_sensitivity",
        f"{DOOR}test_what_is_charged_is_what_is_stated",
    ),
    one(
        "permute-and-flip",
        2,
        "another private selection than the one that is claimed",
        (
            "privacy/secure.py",
            "return int(_noisy_max(scale)(require_int64(scores)))",
            "rng = np.random.default_rng()\n"
            "        for i in rng.permutation(scores.size):\n"
            "            if rng.random() < np.exp((scores[i] - scores.max()) / scale):\n"
            "                return int(i)\n"
            "        return 0",
        ),
        f"{SAMPLERS}test_selection_is_the_exact_softmax",
        f"{RANDOMNESS}test_a_private_run_draws_no_noise_from_an_ordinary_generator",
    ),
    one(
        "lightest-weight",
        (3, 11),
        "the sensitivity of a selection taken from the lightest candidate",
        (
            "privacy/questions/choice.py",
            "max(w * c.moved(unit) for w, c in",
            "min(w * c.moved(unit) for w, c in",
        ),
        "tests/contracts/test_questions.py::test_a_question_keeps_the_contract",
    ),
    one(
        "unrounded-estimates",
        3,
        "estimates cut to whole numbers after the distance is taken",
        (
            "privacy/scoring.py",
            "    cells -= rounded(estimate)\n",
            "    cells = np.rint(1.5 * (cells - estimate)).astype(np.int64)\n",
        ),
        f"{SENSITIVITY}test_no_score_moves_by_more_than_its_declared_sensitivity",
    ),
    one(
        "a-neighbour-s-cell",
        3,
        "of distances taken together, each has the first cell of the next",
        (
            "privacy/scoring.py",
            "    sums = np.add.reduceat(apart, np.append(0, ends[:-1]))\n",
            "    sums = np.add.reduceat(apart, np.append(0, ends[:-1])) + np.append(apart[ends[:-1]], 0)\n",
        ),
        f"{SENSITIVITY}test_many_distances_at_once_are_each_its_own",
    ),
    one(
        "wrong-unit-of-a-marginal",
        (11, 17),
        "replacing a record charged as if it were added",
        (
            "privacy/unit.py",
            "return self.rows**2 if self.kind",
            "return self.rows**2 if True or self.kind",
        ),
        APART,
        f"{FILTER}test_costs_are_the_textbook_ones",
    ),
    one(
        "wrong-unit-of-a-score",
        (3, 11, 17),
        "the scores of a replaced record declared to move half as far as they do",
        ("privacy/unit.py", "return self.l1", "return 1"),
        APART,
        f"{SENSITIVITY}test_no_score_moves_by_more_than_its_declared_sensitivity",
    ),
    one(
        "float32-counts",
        4,
        "counts on their way to the noise through float32",
        (
            "privacy/secure.py",
            "return _drawn(_gaussian(sigma), require_int64(counts))",
            "return _drawn(_gaussian(sigma), require_int64(counts).astype(np.float32).astype(np.int64))",
        ),
        f"{DOOR}test_large_counts_pass_unharmed",
    ),
    one(
        "float64-counts",
        4,
        "counts on their way to the noise through float64",
        (
            "privacy/secure.py",
            "return _drawn(_gaussian(sigma), require_int64(counts))",
            "return _drawn(_gaussian(sigma), require_int64(counts).astype(float).astype(np.int64))",
        ),
        f"{DOOR}test_large_counts_pass_unharmed",
    ),
    one(
        "float-tallies",
        4,
        "tables counted in float32",
        (
            "privacy/door.py",
            "    counts = source.count(cliques)\n",
            "    counts = [c.astype(np.float32).astype(np.int64) for c in source.count(cliques)]\n",
        ),
        f"{DOOR}test_large_counts_pass_unharmed",
    ),
    one(
        "wrapping-sums",
        5,
        "noise drawn apart and added in arithmetic that wraps round",
        (
            "privacy/secure.py",
            "return _drawn(_gaussian(sigma), require_int64(counts))",
            "return counts + _drawn(_gaussian(sigma), np.zeros_like(require_int64(counts)))",
        ),
        f"{DOOR}test_sums_saturate_and_never_wrap",
    ),
    one(
        "rho-rounded-up",
        6,
        "the rho of an (epsilon, delta) rounded to the unsafe side",
        (
            "privacy/conversion.py",
            "rho = float_below(Fraction(value) * (1 - Fraction(1, 10**50)))",
            "rho = float_above(Fraction(value)) * (1 + 2**-52)",
        ),
        f"{BUDGET}test_rho_is_safe_and_tight",
    ),
    one(
        "epsilon-rounded-down",
        6,
        "the epsilon of a rho rounded to the unsafe side",
        (
            "privacy/conversion.py",
            "return max(0.0, float_above(Fraction(value)))",
            "return max(0.0, float_below(Fraction(value)))",
        ),
        f"{BUDGET}test_epsilon_is_safe_and_tight",
    ),
    one(
        "wrong-conversion",
        (6, 7),
        "a conversion without its term in log(1 - 1/alpha)",
        (
            "privacy/conversion.py",
            "return u, (-u.ln(), log_alpha, log_alpha / u,",
            "return u, (Decimal(3), log_alpha, log_alpha / u,",
        ),
        f"{BUDGET}test_a_second_accountant_agrees",
        f"{BUDGET}test_epsilon_is_safe_and_tight",
    ),
    one(
        "cheap-selection",
        (8, 11),
        "selection charged at half its cost, and nobody asks OpenDP what it costs",
        [
            (
                "privacy/cost.py",
                'return positive(epsilon, "epsilon") ** 2 / 8',
                'return positive(epsilon, "epsilon") ** 2 / 16',
            ),
            ("privacy/door.py", OPINION, "if False:"),
        ],
        f"{FILTER}test_costs_are_the_textbook_ones",
        f"{CONTRACT}test_a_neighbour_cannot_be_told_apart",
    ),
    one(
        "floating-sums",
        8,
        "what is left compared in floats",
        (
            "privacy/budget.py",
            "        if cost > self.remaining:\n",
            "        if float(cost) > float(self.remaining) * (1 + 1e-9):\n",
        ),
        f"{FILTER}test_a_hair_too_much_shows_in_the_message",
    ),
    one(
        "missing-debit",
        (8, 11),
        "a question that is checked and never charged",
        (
            "privacy/door.py",
            "        self._filter.charge(request.cost, request.purpose)\n\n    def _masked",
            "\n    def _masked",
        ),
        f"{DOOR}test_what_is_charged_is_what_is_stated",
        APART,
    ),
    one(
        "a-check-at-the-price-of-one",
        (8, 11),
        "many distances are charged as if a record could move only one of them, and nobody asks OpenDP",
        [
            (
                "privacy/cost.py",
                "return count * unit.score**2 / (2 * positive(sigma",
                "return unit.score**2 / (2 * positive(sigma",
            ),
            ("privacy/door.py", OPINION, "if False:"),
        ],
        f"{DOOR}test_distances_are_charged_one_by_one",
        APART,
    ),
    one(
        "read-before-refusal",
        9,
        "the table is counted before the budget is asked",
        (
            "privacy/door.py",
            "        self._pay(request, mask)\n        outcome =",
            "        self._read(question.reads)\n        self._pay(request, mask)\n        outcome =",
        ),
        f"{DOOR}test_over_budget_is_refused_and_the_source_never_touched",
    ),
    one(
        "peeking-mechanism",
        (10, 12),
        "a run that measures nothing it would find empty",
        (
            "mechanism/gaussian.py",
            "    for position, (clique, rho) in enumerate(zip(cliques, budgets, strict=True), start=1):\n",
            "    for position, (clique, rho) in enumerate(zip(cliques, budgets, strict=True), start=1):\n"
            "        if not all(run.door._read([clique])[0].flat[:2]):\n"
            "            continue\n",
        ),
        APART,
    ),
    one(
        "domain-from-data",
        12,
        "marginals end at the last value that occurs",
        (
            "privacy/door.py",
            '        if mask.kind != "selection" and exact.size != size:\n',
            '        if mask.kind != "selection":\n'
            "            exact = exact[: int(np.flatnonzero(exact).max(initial=0)) + 1]\n"
            "        if False:\n",
        ),
        APART,
        f"{DOOR}test_values_are_the_counts_in_their_shape",
    ),
    one(
        "noise-where-somebody-is",
        (1, 12, 22),
        "noise on occupied cells alone",
        (
            "privacy/secure.py",
            "    return require_int64(noisy).reshape(counts.shape)",
            "    return np.where(counts == 0, 0, require_int64(noisy).reshape(counts.shape))",
        ),
        f"{SAMPLERS}test_noise_is_the_one_claimed",
        f"{HISTOGRAMS}test_no_event_breaks_the_inequality",
    ),
    one(
        "exact-total",
        (14, 22),
        "the number of rows without noise",
        (
            "privacy/door.py",
            "return (self._noise.gaussian if mask",
            "return exact if exact.size == 1 else (self._noise.gaussian if mask",
        ),
        APART,
    ),
    one(
        "row-count-leaked",
        14,
        "as many synthetic rows as the table has, by default",
        (
            "synthesize.py",
            '"rows": rows, "memory"',
            '"rows": len(data) if rows is None and hasattr(data, "__len__") else rows, "memory"',
        ),
        BYTES,
        f"{CANARY}test_the_library_tells_nothing",
    ),
    one(
        "nulls-dropped",
        13,
        "records with a missing value left out",
        (
            "source/tables.py",
            "            yield encode_batch(batch, columns, domain, self._gaps)",
            "            yield encode_batch(batch.drop_null(), columns, domain, self._gaps)",
        ),
        f"{SOURCES}test_counts_are_those_of_a_walk_over_the_rows",
    ),
    one(
        "unlisted-raises",
        (13, 15),
        "an unlisted value stops the run, and is quoted",
        (
            "schema/column.py",
            "        if not reading.faults.any():\n",
            "        if reading.faults.any():\n"
            "            raise ValueError(values.to_pylist()[int(reading.faults.argmax())])\n"
            "        if not reading.faults.any():\n",
        ),
        APART,
        f"{RELEASES}test_the_command_prints_the_same",
    ),
    one(
        "faults-that-quote",
        15,
        "the text of an unforeseen error on the screen",
        ("cli/ending.py", "said = str(error) if isinstance(error, InternalError) else ", "said = str(error) or "),
        "tests/cli/test_commands.py::test_a_failure_outside_the_door_quotes_nothing_either",
    ),
    one(
        "types-from-data",
        15,
        "synthetic columns in whatever type the private frame has",
        (
            "release/frames.py",
            "        return lambda made: to_pandas(made.arrow, schema)\n",
            "        kept = {name: dtype for name, dtype in data.dtypes.items() if name in schema.domain}\n"
            "        return lambda made: to_pandas(made.arrow, schema).astype(kept)\n",
        ),
        f"{RELEASES}test_one_odd_value_does_not_change_the_type_of_a_column",
    ),
    one(
        "reused-seed",
        (18, 19),
        "production noise from a generator with a fixed seed",
        (
            "privacy/secure.py",
            "return _drawn(_gaussian(sigma), require_int64(counts))",
            "from understudy.privacy.research import ResearchNoise\n        return ResearchNoise(0).gaussian(counts, sigma)",
        ),
        f"{DOOR}test_forked_workers_never_share_noise",
        f"{RANDOMNESS}test_threads_never_share_noise",
        f"{RANDOMNESS}test_a_private_run_draws_no_noise_from_an_ordinary_generator",
    ),
    one(
        "seeded-by-default",
        18,
        "runs without a seed take one all the same",
        ("synthesize.py", "SecureNoise() if asked.seed is None else", "ResearchNoise(0) if asked.seed is None else"),
        f"{RANDOMNESS}test_a_private_run_draws_no_noise_from_an_ordinary_generator",
    ),
    one(
        "private-by-its-own-word",
        18,
        "noise that calls itself private is believed",
        ("privacy/door.py", "return type(self._noise) is SecureNoise", "return self._noise.private"),
        f"{DOOR}test_a_recording_noise_is_never_private",
    ),
    one(
        "forked-budgets",
        (8, 19),
        "a forked copy of a filter spends the budget again",
        ("privacy/budget.py", "        if os.getpid() != self.__process:\n", "        if False:\n"),
        f"{DOOR}test_a_forked_door_refuses_to_spend_the_same_budget_again",
    ),
    one(
        "copied-budgets",
        8,
        "a filter can be copied",
        ("privacy/budget.py", "    def __reduce_ex__(self", "    def _not_reduce_ex(self"),
        f"{FILTER}test_a_filter_cannot_be_copied_refilled_or_edited",
    ),
    one(
        "rows-kept",
        (25, 26),
        "a release that keeps the table to draw from it again",
        (
            "synthesize.py",
            "    convert = converter_for(data, asked.schema)\n    with ",
            '    convert = converter_for(data, asked.schema)\n    setattr(Release, "_kept", data)\n    with ',
        ),
        f"{CANARY}test_a_release_keeps_no_table",
    ),
    one(
        "unmarked-evaluation",
        26,
        "an evaluation that does not say that it is not private",
        ("cli/evaluate.py", "    warn(NOT_PRIVATE)\n", ""),
        f"{CANARY}test_what_is_not_private_says_so",
    ),
    one(
        "unmarked-evaluation-page",
        26,
        "the page of an evaluation without its banner",
        ("report/evaluation_page.py", "        warning=INTERNAL,\n", "        warning=None,\n"),
        "tests/test_evaluate.py::test_its_page_says_that_it_is_not_private",
    ),
    one(
        "unmarked-evaluation-json",
        26,
        "the figures of an evaluation as data that does not say that it is not private",
        ("evaluate.py", '            "notice": NOT_PRIVATE,\n', ""),
        "tests/test_evaluate.py::test_it_says_that_it_is_not_private",
    ),
    one(
        "questions-without-their-unit",
        17,
        "an answer on record may be taken for one that protects something else",
        (
            "privacy/door.py",
            """{**question.terms(self._unit), "unit": self._unit.value}""",
            "{**question.terms(self._unit)}",
        ),
        "tests/privacy/test_door.py::test_what_is_on_record_of_a_question_tells_what_it_protects",
    ),
]
