"""The kept mutants of mechanisms beside AIM: what they judge by must be public."""

from __future__ import annotations

from audit.mutant import one

OUTSIDE = "tests/contracts/test_reads.py::test_counts_are_read_inside_a_question_alone[aim2]"

READS = "tests/contracts/test_reads.py::test_counts_are_read_inside_a_question_alone"

PUBLIC = "tests/test_public.py::test"

MUTANTS = [
    one(
        "nearness-without-noise",
        10,
        "Whether a public table is near is decided by the table's exact counts",
        (
            "mechanism/starting.py",
            "found = run.compare(both, rho).values.astype(np.float64).reshape(2, len(cliques))",
            "exact, _ = run.door._read(cliques), run.compare(both, rho)\n"
            "    found = np.array([[abs(x - e()).sum() for x, e in zip(exact, es, strict=True)] for es in (theirs, ours)])",
        ),
        f"{READS}[aim beside public data]",
        f"{READS}[aim2 beside public data]",
    ),
    one(
        "resumed-with-other-public-data",
        33,
        "A run goes on with another public table than it began with",
        ("request.py", '{"public": self.public.digest}', "{}"),
        f"{PUBLIC}_a_run_is_resumed_with_the_public_table_that_it_began_with",
    ),
    one(
        "private-table-as-public",
        15,
        "The private table is taken for a public one",
        ("synthesize.py", "if public is not None and same:", "if False:"),
        f"{PUBLIC}_the_private_table_is_no_public_one",
    ),
    one(
        "public-data-unsaid",
        17,
        "A release does not say that the promise leaves public data out",
        ("manifest/promise.py", "[] if manifest.public is None else [_public(manifest.public)]", "[]"),
        f"{PUBLIC}_it_is_said_wherever_the_promise_is",
    ),
    one(
        "rare-by-true-counts",
        10,
        "MST merges rare values by the table's counts",
        (
            "mechanism/compression.py",
            "stands_out = measured.values >= ",
            "stands_out = run.door._read([(attribute,)])[0] >= ",
        ),
        f"{READS}[mst]",
    ),
    one(
        "useful-by-the-rows-of-the-table",
        (10, 14),
        "PrivBayes and PrivMRF take the exact number of rows to say which marginals are useful",
        (
            "mechanism/dependence.py",
            'measurements", lambda: model.total',
            'measurements", lambda: float(run.door._read([()])[0])',
        ),
        f"{READS}[privbayes+pgm]",
        f"{READS}[privmrf]",
    ),
    one(
        "dependence-without-noise",
        10,
        "PrivMRF and PrivSyn go by the exact counts of pairs",
        (
            "mechanism/dependence.py",
            "zip(found.cliques, found.values, ",
            "zip(pairs, [c.max() for c in run.door._read(pairs)], ",
        ),
        f"{READS}[privmrf]",
        f"{READS}[privsyn+pgm]",
    ),
    one(
        "penalties-of-the-table",
        10,
        "aim2 judges what a measurement would err by from the table instead of the model",
        ("mechanism/aim2.py", "lambda: [c.estimate for c in by_noise]", "lambda: run.door._read(choices)"),
        OUTSIDE,
    ),
    one(
        "drowned-by-the-table",
        10,
        "aim2 leaves marginals out that drown in the table's own counts",
        (
            "mechanism/aim2.py",
            "fitted_errors(model.marginals(small, precision=RANKING), ",
            "fitted_errors(run.door._read(small), ",
        ),
        OUTSIDE,
    ),
    one(
        "shrunk-towards-the-table",
        10,
        "aim2 draws its noisy answers towards the exact counts",
        ("mechanism/aim2.py", "lambda: chosen.estimate)", "lambda: run.door._read([chosen.clique])[0])"),
        OUTSIDE,
    ),
    one(
        "chance-of-the-table",
        10,
        "What chance does, which says when a sweep has shown nothing, is worked out from the exact counts",
        (
            "mechanism/aim.py",
            "lambda: by_chance(chosen.estimate)",
            "lambda: by_chance(run.door._read([chosen.clique])[0])",
        ),
        f"{READS}_where_pairs_take_turns[aim]",
        f"{READS}_where_pairs_take_turns[aim2]",
    ),
    one(
        "again-by-the-table",
        10,
        "What is left of the budget of a wide table goes to marginals by their exact counts",
        (
            "mechanism/aim.py",
            "allocate(run.remaining, [run.domain.cells(clique) ** (2 / 3) for clique in cliques])",
            "allocate(run.remaining, [float(c.max()) + 1 for c in run.door._read(cliques)])",
        ),
        f"{READS}_where_pairs_take_turns[aim]",
    ),
    one(
        "sums-by-the-table",
        10,
        "which sums of columns are asked for, and where they are clipped, follows from the table's own counts",
        (
            "mechanism/looking.py",
            "Within.of(self.columns[name], told.counts, looks)",
            "Within.of(self.columns[name], self.door._read([(name,)])[0], looks)",
        ),
        "tests/contracts/test_reads.py::test_which_sums_are_asked_for_is_decided_without_reading[aim]",
    ),
    one(
        "numbers-by-the-table",
        10,
        "which finer bins are cut into numbers follows from the table's own counts",
        (
            "mechanism/looking.py",
            "made = partial(_with_many, seen)",
            "made = partial(_with_many, seen if self.door._read([(name,)])[0].any() else seen)",
        ),
        "tests/contracts/test_reads.py::test_which_finer_bins_are_cut_is_decided_without_reading[aim]",
    ),
    one(
        "measured-again-by-the-table",
        10,
        "aim2 splits what is kept for the end by the table's own counts",
        (
            "mechanism/again.py",
            "marginals = model.marginals(listed, precision=RANKING)",
            "marginals = run.door._read(listed)",
        ),
        OUTSIDE,
    ),
    one(
        "sums-again-by-the-table",
        10,
        "aim2 splits what is kept for the end, where sums are asked for, by the table's own counts",
        (
            "mechanism/again.py",
            "needs_of(workload, run.measurements, ways, unit, config.noise).split(float(run.remaining))",
            "np.array([float(c.max()) + 1 for c in run.door._read(list(ways))])",
        ),
        f"{READS}_where_sums_are_asked_for[aim2]",
    ),
    one(
        "residuals-by-the-table",
        10,
        "what residuals are expected to be, which says what is measured next, is the table's own counts",
        (
            "mechanism/residuals.py",
            "heard = zip(listed, model.marginals(listed), strict=True)",
            "heard = zip(listed, self.run.door._read(listed), strict=True)",
        ),
        f"{READS}[residuals]",
    ),
    one(
        "worst-by-the-table",
        10,
        "RAP takes the marginals with the largest exact counts instead of choosing privately",
        (
            "mechanism/rap.py",
            "run.select(scored, epsilon=epsilon, round_index=0).clique",
            "max(later, key=lambda r: run.door._read([r])[0].max())",
        ),
        f"{READS}[rap]",
    ),
    one(
        "compared-with-the-table",
        10,
        "GEM scores marginals by what the table says of them, outside of a question",
        ("mechanism/gem.py", "estimates(model, choices, RANKING)", "run.door._read(choices)"),
        f"{READS}[gem]",
    ),
]
