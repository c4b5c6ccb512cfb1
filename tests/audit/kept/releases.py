"""Kept mutants of what a release carries, of what is said of it, and of the budgets that are accepted."""

from __future__ import annotations

from audit.mutant import one

MARKS, TRACES, EXTREMES = "tests/test_release_marks.py::", "tests/test_release_traces.py::", "tests/test_extremes.py::"
BUDGET, WORDS = "tests/privacy/test_budget.py::", "tests/test_release_words.py::"
EACH = f"{MARKS}test_every_file_says_it_alone[False-csv]"
FRAMES = f"{TRACES}test_of_the_frame_only_its_kind_and_types_come_back"

MUTANTS = [
    one(
        "unmarked-table",
        32,
        "the table of a seeded run under the name of a private one",
        ("release/storage.py", 'synthetic.{format}", release.private)', 'synthetic.{format}", True)'),
        EACH,
    ),
    one(
        "sums-that-are-not-listed",
        25,
        "a release is loaded with sums over finer bins that release.json does not list",
        (
            "release/storage.py",
            "1) for entry in manifest.sums]",
            "1) for entry in manifest.sums or manifest.inside]",
        ),
        "tests/test_inside.py::test_a_sum_that_is_not_listed_or_not_there_is_refused[listed]",
    ),
    one(
        "unmarked-model",
        32,
        "the model of a seeded run saved without a word",
        ("release/storage.py", 'folder / "model", notice=release.notice)', 'folder / "model")'),
        EACH,
    ),
    one(
        "unmarked-arrays",
        32,
        "the arrays of a model that is not private under the names of a private one",
        ("model/storage.py", "'.NOT-PRIVATE' if notice else ''", "''"),
        EACH,
    ),
    one(
        "unmarked-measurements",
        32,
        "the noisy marginals of a seeded run saved without a word",
        ("release/storage.py", 'folder / "measurements", release.notice)', 'folder / "measurements", "")'),
        EACH,
    ),
    one(
        "unmarked-schema-file",
        32,
        "the schema file of a seeded run without its first line",
        ("release/toml.py", "    if notice:\n", "    if False:\n"),
        EACH,
    ),
    one(
        "unmarked-frames",
        32,
        "a frame of a seeded run that does not say so",
        ("release/as_pandas.py", "    made.attrs = mark_of(table)\n", ""),
        f"{MARKS}test_the_frame_says_it[False]",
    ),
    one(
        "unmarked-samples",
        32,
        "rows drawn from a seeded release written under any name",
        ("cli/sample.py", "    target = marked_path(path, release.private)\n", "    target = path\n"),
        f"{MARKS}test_what_is_made_of_it_later_says_it",
    ),
    one(
        "unmarked-parts",
        32,
        "a long sample of a seeded release whose files do not say so in their names",
        (
            "release/parts.py",
            'marked_path(self.folder / f"part-{part:06d}.parquet", self.sample.private)',
            'self.folder / f"part-{part:06d}.parquet"',
        ),
        "tests/test_sample_parts.py::test_parts_of_a_seeded_release_say_that_they_are_not_private",
    ),
    one(
        "kept-arrow-metadata",
        (34, 14),
        "the metadata of the private table in the synthetic one: pandas writes there where its index stops",
        (
            "release/frames.py",
            "    return to_arrow\n",
            "    return lambda made: made.arrow.replace_schema_metadata(data.schema.metadata)\n",
        ),
        f"{FRAMES}[arrow_table]",
        f"{TRACES}test_a_private_table_has_no_metadata_at_all",
    ),
    one(
        "kept-field-metadata",
        34,
        "the metadata of the private table's columns in the synthetic one",
        (
            "release/frames.py",
            "    return to_arrow\n",
            "    kept = {field.name: field.metadata for field in data.schema}\n"
            "    return lambda m: m.arrow.cast(pa.schema([f.with_metadata(kept[f.name]) for f in m.arrow.schema]))\n",
        ),
        f"{FRAMES}[arrow_table]",
    ),
    one(
        "kept-attrs",
        34,
        "the attributes of the private frame in the synthetic one",
        [
            ("release/frames.py", "        return lambda made: to_pandas(made.arrow, schema)\n", "        return kept\n"),
            (
                "release/frames.py",
                "        from understudy.release.as_pandas import to_pandas\n",
                "        from understudy.release.as_pandas import to_pandas\n\n"
                "        def kept(rows):\n"
                "            made = to_pandas(rows.arrow, schema)\n"
                "            made.attrs.update(data.attrs)\n"
                "            return made\n",
            ),
        ],
        f"{FRAMES}[pandas_frame]",
        f"{TRACES}test_a_private_table_has_no_metadata_at_all",
    ),
    one(
        "kept-index-name",
        34,
        "the name of the private frame's index in the synthetic one",
        (
            "release/frames.py",
            "        return lambda made: to_pandas(made.arrow, schema)\n",
            "        return lambda made: to_pandas(made.arrow, schema).rename_axis(data.index.name)\n",
        ),
        f"{FRAMES}[pandas_frame]",
    ),
    one(
        "shared-categories",
        34,
        "a polars Categorical, whose codes count the categories of every frame in the process",
        ("release/as_polars.py", "cast(pl.Enum([str(value) for value in values.to_pylist()]))", "cast(pl.Categorical)"),
        f"{TRACES}test_the_codes_of_categories_do_not_count_those_of_other_frames",
    ),
    one(
        "any-budget",
        6,
        "budgets that no run can end well with are accepted",
        ("privacy/budget.py", "if not Fraction(least) <= value <= Fraction(most):", "if False:"),
        f"{EXTREMES}test_other_budgets_are_refused",
    ),
    one(
        "margin-on-the-wrong-side",
        6,
        "the conversion with its margin on the unsafe side",
        ("privacy/conversion.py", '_MARGIN = Decimal("1e-50")', '_MARGIN = Decimal("-1e-14")'),
        f"{BUDGET}test_rho_is_safe_and_tight",
        f"{BUDGET}test_epsilon_is_safe_and_tight",
    ),
    one(
        "large-epsilon-fails-late",
        6,
        "a factor that overflows where the report is written, after the budget is spent",
        ("manifest/promise.py", "if epsilon < LARGEST else", "if True else"),
        f"{EXTREMES}test_the_ends_of_what_is_accepted_work",
    ),
    one(
        "tails-of-tiny-noise",
        6,
        "tails of very small noise that are not numbers",
        ("uncertainty/tails.py", "    seen = p > 0", "    seen = p >= 0"),
        f"{EXTREMES}test_the_ends_of_what_is_accepted_work",
    ),
    one(
        "rehearsal-of-another-unit",
        17,
        "a plan for replaced records that rehearses added ones",
        ("planning.py", "rho=rho, unit=unit, ", "rho=rho, "),
        f"{EXTREMES}test_a_rehearsal_is_of_the_unit_that_is_planned",
    ),
    one(
        "options-ignored",
        15,
        "a mechanism accepts an option that it does nothing with, and the release says that it was used",
        ("mechanism/registry.py", "Kind(Independent, ModelConfig)", "Kind(Independent, RoundsConfig)"),
        "tests/test_options.py::test_a_mechanism_takes_its_own_options_only",
    ),
    one(
        "promise-rounded-down",
        6,
        "an epsilon that is shown smaller than it is",
        ("manifest/promise.py", "rounding=ROUND_CEILING", 'rounding="ROUND_FLOOR"'),
        f"{WORDS}test_no_number_of_the_promise_is_rounded_down",
    ),
]
