"""Kept mutants of the bounds."""

from __future__ import annotations

from audit.mutant import Mutant, one

BOUNDS, SUPPORTED, ROUNDS = "uncertainty/bounds.py", "uncertainty/supported.py", "uncertainty/rounds.py"
ESTIMATOR, ZEROS, TAILS = "uncertainty/estimator.py", "uncertainty/zeros.py", "uncertainty/tails.py"
SHARES, WITH_ZEROS = "tests/uncertainty/test_shares.py::", "tests/uncertainty/test_zeros.py::"
AVERAGES, RADII = "tests/uncertainty/test_supported.py::", "tests/uncertainty/test_tails.py::"
ADDED_UP = f"{SHARES}test_all_that_might_serve_a_marginal_adds_up_to_the_failure_probability"
WHOLE = f"{SHARES}test_the_shares_are_settled_beforehand_and_make_up_the_whole"
INTERVALS = f"{SHARES}test_intervals_pay_for_every_measurement_that_they_may_rest_on"
ADVERSARY = f"{AVERAGES}test_no_choice_of_measurements_spoils_the_radius_of_their_average"
PART = f"{WITH_ZEROS}test_the_smallest_part_that_determines_the_rest"

MUTANTS: list[Mutant] = [
    one(
        "cells-bounded-by-a-choice-of-sums",
        37,
        "bounds on cells rest on scores that compared sums of them",
        ("uncertainty/evidence.py", "rounds=() if outcome.workload.asked else outcome.rounds,", "rounds=outcome.rounds,"),
        "tests/uncertainty/test_evidence.py::test_no_bound_rests_on_a_choice_by_sums",
    ),
    one(
        "sums-bounded-by-their-mean-error",
        37,
        "the bound on measured sums adds no more than half of what their noise may do",
        (
            "uncertainty/sums.py",
            "return norms * sqrt(2 * (log(2) + log(1 / beta) / blocks))",
            "return norms * sqrt(log(2) / 2)",
        ),
        "tests/uncertainty/test_sums.py::test_a_bound_on_sums_holds_as_often_as_it_says",
    ),
    one(
        "check-and-theorem-both-in-full",
        37,
        "the check and the other theorems each take the whole failure probability",
        (
            BOUNDS,
            '"check": check, "supported": (1 - check) * SUPPORTED_SHARE, "rounds": (1 - check) * (1 - SUPPORTED_SHARE)',
            '"check": 2 * check, "supported": SUPPORTED_SHARE, "rounds": 1 - SUPPORTED_SHARE',
        ),
        ADDED_UP,
        WHOLE,
    ),
    one(
        "whichever-theorem-serves-takes-all",
        37,
        "measurements and rounds each take all that the check leaves, as if it were known beforehand which of them serves",
        (
            BOUNDS,
            '"supported": (1 - check) * SUPPORTED_SHARE, "rounds": (1 - check) * (1 - SUPPORTED_SHARE)',
            '"supported": 1 - check, "rounds": 1 - check',
        ),
        ADDED_UP,
        WHOLE,
    ),
    one(
        "rounds-unpaid",
        37,
        "every round takes the failure probability of all rounds, and the least bound wins",
        (ROUNDS, "return FINAL_SHARE if r.final else (1 - FINAL_SHARE) * float(r.rho / evidence.rho)", "return 1.0"),
        ADDED_UP,
        WHOLE,
    ),
    one(
        "rows-unpaid",
        37,
        "the bound on the rows takes a failure probability that the others have as well",
        (BOUNDS, "theirs, (1 - TOTAL_SHARE) * (1 - confidence))", "theirs, 1 - confidence)"),
        WHOLE,
    ),
    one(
        "both-sides-of-the-check",
        37,
        "a radius for one side of the noise is taken at twice the failure probability that a side has",
        (
            BOUNDS,
            'cell_radius(noise, 2 * _share(evidence, way, "check"))',
            'cell_radius(noise, 4 * _share(evidence, way, "check"))',
        ),
        WHOLE,
    ),
    one(
        "one-side-of-an-interval",
        37,
        "intervals have two sides, and pay for one",
        (SUPPORTED, "cell_radius((term,), part * share)", "cell_radius((term,), 2 * part * share)"),
        INTERVALS,
        WHOLE,
    ),
    one(
        "average-unpaid",
        37,
        "the average takes a failure probability that the single measurements have as well",
        (SUPPORTED, "mean.precision, AVERAGE * beta)", "mean.precision, beta)"),
        f"{SHARES}test_a_bound_from_many_measurements_pays_for_each_and_for_their_average",
    ),
    one(
        "average-as-if-settled",
        37,
        "the radius of an average as if the measurements had not been chosen by looking at earlier noise",
        (
            SUPPORTED,
            "most = float(np.log1p(u).sum()) + 2 * log(1 / beta)\n    return sqrt(most * float(((1 + u) / (u * v)).sum()))",
            "return sqrt(2 / np.pi) * float((v**-0.5).sum()) + sqrt(0.73 * log(1 / beta) * float((1 / v).sum()))",
        ),
        ADVERSARY,
    ),
    one(
        "half-the-radius",
        37,
        "a radius for half the noise that there is",
        (TAILS, "(exponent - log(beta)) * unit / _U", "(exponent - log(beta)) * unit / _U / 2"),
        f"{RADII}test_l1_radius_holds",
    ),
    one(
        "empty-cells-taken-for-impossible",
        37,
        "cells that look empty are taken for impossible where no zeros are declared",
        (
            ESTIMATOR,
            "cells = None if possible is None else possible.cells(measurement.clique)",
            "cells = measurement.values > 0",
        ),
        "tests/uncertainty/test_bounds.py::test_weighted_average_is_the_papers_estimator",
        f"{AVERAGES}test_without_zeros_a_cell_that_looks_empty_has_its_noise",
    ),
    one(
        "forbidden-with-some-taken-for-forbidden-with-all",
        37,
        "a value that some combinations are forbidden with is taken for impossible by itself",
        (ZEROS, "forbidden.all(axis=_outside(zero.clique, clique))", "forbidden.any(axis=_outside(zero.clique, clique))"),
        f"{WITH_ZEROS}test_possible_cells_are_those_that_no_zero_forbids",
    ),
    one(
        "nearly-determined",
        37,
        "two possible values are taken for one that follows",
        (ZEROS, ".max() <= 1:", ".max() <= 2:"),
        PART,
    ),
    one(
        "part-unpaid",
        37,
        "a marginal and the part that determines it each take the whole failure probability",
        (
            BOUNDS,
            "[_Way(clique, clique, values, 0.0, beta / 2), _Way(clique, part, target, left, beta / 2)]",
            "[_Way(clique, clique, values, 0.0, beta), _Way(clique, part, target, left, beta)]",
        ),
        f"{SHARES}test_a_part_that_determines_the_rest_has_its_share_too",
    ),
    one(
        "impossible-rows-for-free",
        37,
        "what a public table has in impossible cells is no error",
        (BOUNDS, "left = float(np.abs(values * ~cells).sum())", "left = 0.0"),
        f"{WITH_ZEROS}test_a_public_table_need_not_obey_the_zeros",
    ),
]
