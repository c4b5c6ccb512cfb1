"""The sentences of an evaluation that depend on its numbers, for a terminal and for its page. NOT PRIVATE.

What a measure can show, and what it cannot, is said here once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from understudy.measures.columns import ColumnMeasures
from understudy.measures.distinction import Distinction
from understudy.measures.nearest import Membership, Nearest
from understudy.measures.prediction import Learnt, Prediction
from understudy.quantities import percent
from understudy.report.evaluation_data import Evaluation

NEAR_ZERO = 0.1
"""A mean of less than so many standard deviations is not a measure of its own error."""
FEW = 0.02
"""An area under the curve this near to another is called as good."""
KNOWN = {
    "KSComplement": "columns of numbers: 1 less the Kolmogorov-Smirnov distance (SDMetrics)",
    "BoundaryAdherence": "columns of numbers: the share of synthetic ones in the range of the real ones (SDMetrics)",
    "TVComplement": "columns of listed values: 1 less the total variation distance, without missing ones (SDMetrics)",
    "CategoryCoverage": "columns of listed values: the share of real values that the synthetic table has (SDMetrics)",
    "ContingencySimilarity": "pairs, in the schema's bins: 1 less the total variation distance (SDMetrics)",
    "CorrelationSimilarity": "pairs of numbers: 1 less half the difference of Pearson's correlations (SDMetrics)",
    "k-marginal, k=2": "pairs, in the schema's bins: 0 to 1000 (NIST)",
    "k-marginal, k=3": "triples, in the schema's bins: 0 to 1000 (NIST)",
    "pMSE": "propensity scores by logistic regression on columns: 0 to 0.25, and 0 is best",
    "pMSE ratio": "over what a draw from a right model would have: 1 or less is best",
}
"""What each score that people know is an average of."""


def summary(found: Evaluation) -> Iterator[tuple[str, str]]:
    """Yield a few lines: a name, and what was found."""
    worst = max(found.columns, key=lambda m: m.tvd)
    yield "Columns", f"total variation {percent(_mean([m.tvd for m in found.columns]))} on average, worst {_of(worst)}"
    if means := _off(found.columns):
        name, off = means[-1]
        yield "Means", f"off by {percent(_mean([o for _, o in means]))} on average, worst {name} by {percent(off)}"
    if found.pairs:
        apart = [abs(p.cramers_v.difference) for p in found.pairs]
        yield "Pairs", f"Cramér's V off by {_mean(apart):.3f} on average, worst {max(apart):.3f}"
    unseen = found.combinations
    if unseen.pairs:
        yield (
            "Unseen combinations",
            f"{percent(unseen.unseen_of_pairs)} of the synthetic rows, averaged over pairs of columns",
        )
    if found.distinction is not None:
        yield (
            "Telling them apart",
            f"AUC {found.distinction.auc:.3f} (0.5: cannot), pMSE ratio {found.distinction.pmse_ratio:.2f}",
        )
    if found.nearest is not None:
        yield "Nearest records", nearest(found.nearest)
    if (guess := found.membership) is not None:
        yield "Membership attack", f"AUC {guess.auc:.3f} (0.5: guessing; standard error {guess.error:.3f})"
    if (learnt := found.prediction) is not None:
        yield (
            f"Predicting {learnt.target}",
            f"{_learnt(learnt.synthetic)} from synthetic rows, {_learnt(learnt.real)} from real ones",
        )


def _of(column: ColumnMeasures) -> str:
    return f"{column.name} {percent(column.tvd)}"


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _off(columns: Sequence[ColumnMeasures]) -> list[tuple[str, float]]:
    """Return how far the means of columns are off, as shares of the real means, the worst last."""
    found = [(m.name, mean_off(m)) for m in columns]
    return sorted([(name, off) for name, off in found if off is not None], key=lambda pair: pair[1])


def mean_off(column: ColumnMeasures) -> float | None:
    """Return how far a mean is off as a share of the real one; None for moments, and for a mean near 0 for its spread."""
    numbers = column.numbers
    if (
        numbers is None
        or column.kind not in ("integer", "real")
        or abs(numbers.mean.real) <= NEAR_ZERO * numbers.stddev.real
    ):
        return None
    return abs(numbers.mean.difference / numbers.mean.real) if numbers.mean.real else None


def _learnt(one: Learnt) -> str:
    return f"accuracy {one.accuracy:.3f}" if one.auc is None else f"AUC {one.auc:.3f}"


def telling(found: Distinction) -> str:
    """Say how well the tables can be told apart."""
    if found.auc > 0.5 + FEW:
        return (
            f"The classifier picks the synthetic one of two records with probability {percent(found.auc)}, so it sees "
            "differences in columns or pairs of columns. Differences that need three columns or more it cannot see."
        )
    return (
        "The classifier cannot tell synthetic records from real ones by columns and pairs. That says nothing of differences "
        "that need three columns or more. Below 50% is no mistake: where two tables match, what one half of a table has too "
        "much of, its other half has too little of."
    )


def pmse(found: Distinction) -> str:
    """Say what the ratio of pMSE means."""
    times = f"{found.pmse_ratio:.3g} times"
    said = f"By single columns, propensity scores vary {times} as much as for a draw from a right model of the table."
    return said + (" The columns are nearer to the table than a draw would be." if found.pmse_ratio < 1 else "")


def nearest(found: Nearest) -> str:
    """Say how near synthetic rows come, in one line."""
    beside = "to held-out records" if found.compared == "held-out" else "of real records to each other"
    return (
        f"median distance {found.median:g} of {found.columns} columns ({beside}: {found.median_compared:g}); "
        f"copies {percent(found.copies)} ({percent(found.copies_compared)})"
    )


def attacked(found: Membership, private: bool) -> str:
    """Say what the attack found, and what that means."""
    chance = f"{0.5 + 3 * found.error:.3f}"
    if found.noticeable:
        return (
            f"The attack does better than guessing: AUC {found.auc:.3f}, where chance explains up to {chance}. Either the "
            "held-out records differ from the table (another year, other people), or the table shows through. Look into it "
            "before anything is released."
        )
    promise = " What holds against every attack is the promise." if private else ""
    return (
        f"The attack does no better than guessing (AUC {found.auc:.3f}; chance explains up to {chance}). This is one simple "
        f"attack, and that it fails proves nothing.{promise}"
    )


def allowed(found: Membership, private: bool) -> str:
    """Say what differential privacy allows an attacker, where it is promised."""
    if not private:
        return "Nothing limits that here: the run was seeded, and promises nothing."
    return f"The promise allows {percent(found.limit)} against one protected record (or person), whatever the attack."


def predicted(found: Prediction) -> str:
    """Say what training on synthetic rows costs."""
    real, made = found.real, found.synthetic
    if real.auc is None or made.auc is None:
        return f"The held-out records have one class of {found.target} alone, so there is nothing to tell apart."
    lost = real.auc - made.auc
    if lost <= FEW:
        return (
            f"A classifier trained on synthetic records does as well as one trained on real ones, within {FEW:g} of the AUC."
        )
    return f"A classifier trained on synthetic records loses {lost:.3f} of the AUC."
