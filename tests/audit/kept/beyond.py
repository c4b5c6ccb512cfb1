"""The kept mutants of aim2: what it judges by must be public."""

from __future__ import annotations

from audit.mutant import one

OUTSIDE = "tests/contracts/test_reads.py::test_counts_are_read_inside_a_question_alone[aim2]"

MUTANTS = [
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
]
