"""The kept mutants of questions, of linear queries, of the unit as a value, and of filters that doors share."""

from __future__ import annotations

from audit.mutant import one

MAPS, UNIT, FILTER = "tests/privacy/test_maps.py::", "tests/privacy/test_unit.py::", "tests/privacy/test_filter.py::"
CONTRACT = "tests/contracts/test_questions.py::test_a_question_keeps_the_contract"

SCORES = "tests/privacy/test_sensitivity.py::"

MUTANTS = [
    one(
        "products-at-the-price-of-a-marginal",
        (8, 11),
        "prefixes by group charged as if a record were in one of them alone",
        ("privacy/maps.py", "most = self._most(lambda m: (m**2).sum(axis=0))", "most = 1"),
        f"{MAPS}test_the_stated_sensitivity_is_that_of_the_columns",
        CONTRACT,
    ),
    one(
        "replaced-products-as-if-added",
        (8, 11, 17),
        "sums by group with weights below 0, under replacement, charged as if all weights were at least 0",
        ("privacy/maps.py", "(4 if signed else 2)", "2"),
        f"{MAPS}test_the_stated_sensitivity_is_that_of_the_columns",
    ),
    one(
        "a-score-by-sums-as-if-by-cells",
        (3, 11),
        "a score of prefixes taken to move by one record's weight, not by all the prefixes that it is in",
        (
            "privacy/scoring.py",
            "return unit.score if self.query is None else self.query.l1(unit)",
            "return unit.score",
        ),
        f"{SCORES}test_no_score_moves_by_more_than_its_declared_sensitivity",
        f"{SCORES}test_prefixes_move_a_score_by_as_many_as_a_record_is_in",
        CONTRACT,
    ),
    one(
        "a-choice-by-the-heaviest-alone",
        (3, 11),
        "the sensitivity of a choice taken from the heaviest candidate, when a lighter one moves farther",
        (
            "privacy/questions/choice.py",
            "max(w * c.moved(unit) for w, c in zip(self.weights.tolist(), self.candidates, strict=True))",
            "int(self.weights.max()) * self.candidates[int(self.weights.argmax())].moved(unit)",
        ),
        f"{SCORES}test_a_choice_states_the_farthest_that_any_score_moves",
        CONTRACT,
    ),
    one(
        "a-query-at-the-price-of-a-marginal",
        (8, 11),
        "a linear query charged as if its weights were 1",
        ("privacy/maps.py", "added = int(norms[0].max()), int(norms[1].max())", "added = 1, 1"),
        f"{MAPS}test_the_stated_sensitivity_is_that_of_the_columns",
        CONTRACT,
    ),
    one(
        "a-replaced-record-as-if-added",
        (11, 17),
        "a linear query under replacement charged for the largest column, not for the farthest two",
        ("privacy/maps.py", 'return added if unit.kind == "add-remove" else replaced', "return added"),
        f"{MAPS}test_the_stated_sensitivity_is_that_of_the_columns",
        CONTRACT,
    ),
    one(
        "prefix-sums-at-the-price-of-one",
        (8, 11),
        "prefix sums charged as if a record were in one of them alone",
        ("privacy/maps.py", "            return values\n", "            return 1\n"),
        f"{MAPS}test_the_stated_sensitivity_is_that_of_the_columns",
        CONTRACT,
    ),
    one(
        "residuals-at-the-price-of-one-value",
        (8, 11),
        "a residual charged as if a record moved its own cell alone",
        (
            "privacy/maps.py",
            "prod(size * (size - 1) for size in self.shape)",
            "prod((size - 1) ** 2 for size in self.shape)",
        ),
        f"{MAPS}test_the_stated_sensitivity_is_that_of_the_columns",
        CONTRACT,
    ),
    one(
        "replaced-residuals-as-if-at-right-angles",
        (8, 11, 17),
        "a residual under replacement charged as if the two records' columns were orthogonal",
        ("privacy/maps.py", "2 * norm // (least - 1) * least)", "2 * norm)"),
        f"{MAPS}test_the_stated_sensitivity_is_that_of_the_columns",
        CONTRACT,
    ),
    one(
        "products-that-wrap-round",
        (5, 11),
        "how far a replaced record moves a product of maps wraps round at the end of int64",
        ("privacy/maps.py", "if prod(self.shape) <= PAIRS and 4 * most < EXACT:", "if prod(self.shape) <= PAIRS:"),
        f"{MAPS}test_products_of_large_weights_do_not_wrap_round",
    ),
    one(
        "several-choices-at-the-price-of-one",
        (8, 11),
        "several choices charged as one",
        (
            "privacy/questions/choice.py",
            "return self.number * selection_cost(self.epsilon)",
            "return selection_cost(self.epsilon)",
        ),
        CONTRACT,
    ),
    one(
        "several-draws-checked-as-one",
        (8,),
        "the second opinion on the cost looks at one draw where several are made",
        (
            "privacy/door.py",
            "if not mask.draws * second_opinion(mask.kind, mask.scale, mask.sensitivity)",
            "if not second_opinion(mask.kind, mask.scale, mask.sensitivity)",
        ),
        "tests/privacy/test_door.py::test_several_draws_are_checked_together",
    ),
    one(
        "wrapping-query",
        (4, 5, 11),
        "the sums of a linear query wrap round at the end of int64",
        ("privacy/questions/linear.py", "return self.query.exact(counts[0])", "return self.query.apply(counts[0])"),
        CONTRACT,
    ),
    one(
        "many-rows-in-many-cells",
        (8, 11, 17),
        "the rows of a person are taken to lie in different cells",
        (
            "privacy/unit.py",
            'return self.rows**2 if self.kind == "add-remove"',
            'return self.rows if self.kind == "add-remove"',
        ),
        f"{UNIT}test_sensitivities_are_the_most_that_a_neighbour_moves",
        CONTRACT,
    ),
    one(
        "a-filter-for-each-door",
        (8, 9),
        "doors that are given one filter each spend all of it",
        ("privacy/door.py", "budget if isinstance(budget, Filter) else Filter(budget.rho)", "Filter(budget.rho)"),
        f"{FILTER}test_two_doors_with_one_filter_cannot_overspend_together",
    ),
    one(
        "any-size-of-answer",
        12,
        "the door does not compare the number of answers with what the question stated",
        ("privacy/door.py", 'if mask.kind != "selection" and exact.size != size:', "if False:"),
        "tests/contracts/test_questions.py::test_the_door_itself_refuses_an_answer_of_another_size",
    ),
    one(
        "a-bound-from-a-linear-query",
        37,
        "a bound reads the answers of a linear query as if they were cells",
        (
            "uncertainty/estimator.py",
            "for m in measurements if m.query is None and wanted",
            "for m in measurements if wanted",
        ),
        "tests/uncertainty/test_linear_queries.py::test_no_bound_rests_on_a_linear_query",
    ),
]
