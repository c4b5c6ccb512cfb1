"""Kept mutants of how a run begins and ends: what is read first, what was spent, which table it goes on with, the clock."""

from __future__ import annotations

from audit.mutant import Mutant, one

READING, ENDS = "tests/test_synthesize_reading.py::", "tests/cli/test_ends.py::"
FINGERPRINT = "tests/ledger/test_fingerprint.py::"
MEMORY = "tests/test_memory.py::"
PACE = "tests/test_pace.py::"
FILTER = "tests/privacy/test_filter.py::"

MUTANTS: list[Mutant] = [
    one(
        "other-values-in-the-same-bins",
        33,
        "a run goes on with a table that differs inside the bins alone",
        (
            "privacy/door.py",
            "*fingerprinted(source.domain), *((name,) for name in fine)]",
            "*fingerprinted(source.domain)]",
        ),
        f"{FINGERPRINT}test_another_table_is_refused_before_anything_is_spent_on_it",
    ),
    one(
        "opened-before-it-is-reserved",
        29,
        "The table is opened, and coded, before the budget is reserved",
        (
            "source/unopened.py",
            "    return Unopened(schema.domain, lambda: open_source(data, schema), schema.fine if _has",
            "    opened = open_source(data, schema)\n    return Unopened(schema.domain, lambda: opened, schema.fine if _has",
        ),
        f"{READING}test_a_table_that_fails_on_its_first_read_leaves_a_run_on_record",
        f"{READING}test_until_the_budget_is_reserved_no_table_is_asked_for_anything",
    ),
    one(
        "types-of-a-lazy-frame-asked-for",
        29,
        "The types of a lazy frame are worked out before the budget is reserved",
        (
            "release/frames.py",
            '        lazy = type(data).__name__ == "LazyFrame"\n',
            '        lazy = type(data).__name__ == "LazyFrame"\n        _ = data.collect_schema()\n',
        ),
        f"{READING}test_until_the_budget_is_reserved_no_table_is_asked_for_anything[a lazy frame over a broken file]",
    ),
    one(
        "a-killed-run-begun-anew",
        23,
        "A run that was killed after it had spent is begun anew, and spends again",
        ("ledger/keeping.py", 'if run.state != "finished" and run.private', 'if run.state == "stopped" and run.private'),
        "tests/ledger/test_keeping.py::test_nor_is_one_that_was_killed",
    ),
    one(
        "a-failed-first-read-is-free",
        29,
        "A run whose first read fails gives back what it had paid for the question",
        ("ledger/keeping.py", "            self.log.stop(self.rho)", "            self.log.stop(self.log.charged)"),
        f"{READING}test_a_table_that_fails_on_its_first_read_leaves_a_run_on_record",
    ),
    one(
        "a-fixed-sentence",
        30,
        "The command always says that nothing was spent",
        ("cli/ending.py", "        return in_words(spent)\n", '        return "Nothing was spent."\n'),
        f"{ENDS}test_what_is_said_to_be_spent_is_what_the_ledger_says[a fault of ours]",
    ),
    one(
        "learning-is-gone-on-with",
        30,
        "A schema that was learnt in part tells to go on with it, though its answers are lost",
        ("ledger/keeping.py", "resumable=self._private and not self._learns)", "resumable=self._private)"),
        "tests/ledger/test_keeping.py::test_learning_that_stopped_is_not_said_to_be_gone_on_with",
    ),
    one(
        "a-closed-output-is-a-failed-run",
        30,
        "A command whose output is closed after the release was saved knows nothing of the run",
        ("cli/ending.py", "        mark(error, spent)\n", "        pass\n"),
        f"{ENDS}test_what_is_said_to_be_spent_is_what_the_ledger_says[| true]",
    ),
    one(
        "signals-kill",
        30,
        "SIGTERM and SIGHUP end the process on the spot",
        (
            "cli/ending.py",
            "            with stoppable(), escaped():\n                return super().invoke(ctx)",
            "            return super().invoke(ctx)",
        ),
        f"{ENDS}test_what_is_said_to_be_spent_is_what_the_ledger_says[SIGTERM while fitting]",
    ),
    one(
        "what-could-not-be-settled-is-not-told",
        30,
        "A run that could not be settled says that the ledger counts what it spent",
        (
            "ledger/keeping.py",
            "        except BaseException:\n            return self._budget",
            "        except BaseException:\n            return self.rho",
        ),
        "tests/ledger/test_keeping.py::test_where_the_ledger_cannot_be_asked_the_whole_budget_counts",
    ),
    one(
        "charge-without-a-lock",
        8,
        "Two threads may both be told that the last of a budget is theirs",
        ("privacy/budget.py", "        with self.__lock:\n", "        if self.__lock:\n"),
        f"{FILTER}test_threads_that_race_never_overspend",
    ),
    one(
        "any-table-may-go-on",
        33,
        "A run that is resumed does not compare the table with the one that it began with",
        ("ledger/journal.py", "        if not hmac.compare_digest(", "        if False and not hmac.compare_digest("),
        f"{FINGERPRINT}test_another_table_is_refused_before_anything_is_spent_on_it",
    ),
    one(
        "only-columns-one-by-one-are-compared",
        33,
        "The fingerprint is of single columns, so that records may be put together from others",
        (
            "privacy/fingerprint.py",
            "    return [*((name,) for name in domain), *pairs]",
            "    return [(name,) for name in domain]",
        ),
        f"{FINGERPRINT}test_another_table_is_refused_before_anything_is_spent_on_it[paired otherwise]",
    ),
    one(
        "paid-before-the-table-is-compared",
        33,
        "Another table is refused only after a question about it was paid for",
        ("privacy/door.py", "        if self._journal.bound:\n", "        if False:\n"),
        f"{FINGERPRINT}test_another_table_is_refused_before_anything_is_spent_on_it",
    ),
    one(
        "the-fingerprint-stays",
        (15, 33),
        "What a ledger drops stays in its file",
        (
            "ledger/store.py",
            '        connection.execute("PRAGMA secure_delete = ON")',
            '        connection.execute("PRAGMA secure_delete = OFF")',
        ),
        f"{FINGERPRINT}test_what_a_ledger_drops_is_not_in_its_file_any_more",
    ),
    one(
        "memory-is-not-asked-for",
        35,
        "A run begins whether it fits in memory or not",
        ("mechanism/memory.py", "    if left is not None and needed > left:\n", "    if left is not None and False:\n"),
        f"{MEMORY}test_a_run_that_would_not_fit_is_refused_with_nothing_on_record",
        f"{MEMORY}test_the_refusal_says_how_much_what_is_there_and_what_to_do",
    ),
    one(
        "counts-take-no-memory",
        35,
        "The estimate forgets the marginals that are counted",
        (
            "mechanism/memory.py",
            "CELL_BYTES * min(workload.cells, COMPARED)\n",
            "0 * min(workload.cells, COMPARED)\n",
        ),
        f"{MEMORY}test_the_estimate_grows_with_what_is_asked_for",
    ),
    one(
        "a-limit-on-memory-changes-nothing",
        35,
        "The model grows as large as ever, whatever memory was allowed",
        ("request.py", "partial(_sized, room=room,", "partial(_sized, room=None,"),
        f"{MEMORY}test_a_limit_makes_the_model_smaller_and_is_kept",
    ),
    one(
        "candidates-of-any-size-at-once",
        35,
        "The estimates of all candidates are held at once, whatever they take",
        ("mechanism/candidates.py", "        return held_at_once(domain, found)\n", "        return found\n"),
        f"{MEMORY}test_candidates_whose_estimates_would_take_too_much_are_left_out",
    ),
    one(
        "regions-that-fit-one-by-one",
        35,
        "Regions that are chosen together may take more memory than a model may, together",
        (
            "mechanism/estimators.py",
            'return self.name != "regions" or regions_size(domain, [*known, *new]) <= limit',
            "return bool(limit) or not new",
        ),
        f"{MEMORY}test_regions_that_are_chosen_together_fit_together",
    ),
    one(
        "rows-by-what-is-free",
        14,
        "As many synthetic rows as fit into what is free, which depends on the table",
        (
            "mechanism/memory.py",
            "    room = min((limit for limit in limits if limit is not None), default=None)",
            "    room = memory_left(memory)",
        ),
        f"{MEMORY}test_no_more_rows_are_drawn_than_the_limit_allows_whatever_is_free",
    ),
    one(
        "the-clock-runs-while-counting",
        10,
        "How long it takes to count the table decides when a run ends",
        ("privacy/stopwatch.py", "            self._lost += self._clock() - began", "            self._lost += 0.0"),
        f"{PACE}test_how_long_counting_takes_decides_nothing",
    ),
    one(
        "the-clock-runs-while-a-choice-is-drawn",
        10,
        "How long a choice takes to draw, which depends on the exact scores, decides when a run ends",
        ("privacy/door.py", "with _standing(self._clocks):", "with _standing([]):"),
        f"{PACE}test_how_long_a_choice_takes_to_draw_decides_nothing",
    ),
    one(
        "the-model-by-what-is-free",
        14,
        "A model as large as fits into what is free, which depends on the table",
        ("mechanism/memory.py", 'if line.startswith("MemTotal:")]', 'if line.startswith("MemAvailable:")]'),
        f"{MEMORY}test_how_much_memory_is_free_decides_nothing_about_the_model",
    ),
    one(
        "the-model-by-the-time-of-counting",
        10,
        "How long it takes to count the table decides how large the model grows",
        ("privacy/stopwatch.py", "            self._lost += self._clock() - began", "            self._lost += 0.0"),
        f"{PACE}test_how_long_counting_takes_does_not_decide_how_large_the_model_grows",
    ),
    one(
        "a-demo-takes-a-ledger-away",
        30,
        "a demo removes the ledger of a stopped run on another table, and with it what that has spent",
        ("cli/demo.py", "        if path.exists() and not own:\n", "        if False:\n"),
        "tests/cli/test_commands.py::test_a_demo_takes_no_release_and_no_ledger_of_another_table_away[release.ledger]",
    ),
]
