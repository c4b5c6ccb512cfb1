"""What an evaluation found in whole records: combinations, what can be learnt, attacks. NOT PRIVATE."""

from __future__ import annotations

from understudy.measures.nearest import Membership, Nearest
from understudy.measures.prediction import Learnt, Prediction
from understudy.quantities import percent
from understudy.report import evaluation_words as say
from understudy.report.evaluation_data import EvaluationData
from understudy.report.markup import Child, Html, spoken, tag, words
from understudy.report.numbers import count, data, plural
from understudy.report.tables import table

WITHOUT = (
    "No records were held out, so no one was attacked. Keep some back before the release is made, and give them with "
    "`--holdout` (and a column to predict with `--target`)."
)


def combinations(evaluation: EvaluationData) -> Html:
    """Return how many synthetic records have combinations that no real one has, or that were declared impossible."""
    found = evaluation.measured.combinations
    if not found.pairs:
        return tag("p", "There is one column, so there are no combinations.")
    over = (
        f"{percent(found.unseen_of_pairs)} of the synthetic records, averaged over {plural(found.pairs, 'pair')} of columns"
    )
    if found.triples:
        over += f", and {percent(found.unseen_of_triples)} over {plural(found.triples, 'set')} of three columns"
    said = (
        f"Combinations that no real record has: {over}. A rare combination may be unseen by chance; a large share says that "
        "the table has records which could not be."
    )
    rows = [
        (r.rule, data(r.rows.real, percent(r.rows.real)), data(r.rows.synthetic, percent(r.rows.synthetic)))
        for r in found.rules
    ]
    caption = "Records that break a rule on impossible combinations"
    return words(tag("p", said), table(("Rule", "Real", "Synthetic"), rows, caption=caption) if rows else None)


def learning(evaluation: EvaluationData) -> Html:
    """Return what a classifier learns from each table, and how well one tells them apart."""
    found = evaluation.measured
    parts: list[Child] = []
    if found.prediction is not None:
        parts.append(_prediction(found.prediction))
    if found.distinction is None:
        return words(parts, tag("p", "There are too few records to tell the tables apart."))
    told = found.distinction
    parts += [
        tag("h3", "Telling real from synthetic"),
        tag("p", say.telling(told)),
        tag("p", say.pmse(told)),
        tag(
            "p",
            f"Logistic regression on {count(told.rows)} records of each table; the AUC ({told.auc:.3f}) sees "
            f"{plural(told.pairs, 'pair')} of columns, is fitted to half of the records and tried on the others.",
            class_="note",
        ),
    ]
    return words(parts)


def _prediction(found: Prediction) -> Html:
    rows = [_learnt("Real", found.real), _learnt("Synthetic", found.synthetic)]
    rows.append(("Always the most frequent value", "", percent(found.most_frequent), ""))
    return words(
        tag("h3", f"Predicting {found.target}"),
        tag("p", say.predicted(found)),
        table(("Trained on", "Records", "Accuracy", "AUC"), rows, caption=f"Predicting {found.target}"),
        tag(
            "p",
            "Logistic regression on all other columns, in the schema's bins, tried on "
            f"{plural(found.tested, 'held-out record')}. Another learner may lose more or less.",
            class_="note",
        ),
    )


def _learnt(name: str, one: Learnt) -> tuple[Child, ...]:
    auc = "" if one.auc is None else data(one.auc, f"{one.auc:.3f}")
    return name, data(one.rows, count(one.rows)), data(one.accuracy, percent(one.accuracy)), auc


def records(evaluation: EvaluationData) -> Html:
    """Return how near synthetic records come to real ones, and what an attack makes of it."""
    found = evaluation.measured
    if found.nearest is None:
        return tag("p", "There are too few records to compare.")
    attacked = _attacked(found.membership, evaluation.private) if found.membership is not None else tag("p", spoken(WITHOUT))
    return words(_nearest(found.nearest), tag("h3", "Who was in the table?"), attacked)


def _nearest(found: Nearest) -> Html:
    beside = "held-out ones" if found.compared == "held-out" else "other real ones"
    whose = "to the nearest held-out record" if found.compared == "held-out" else "of a real record to the nearest other one"
    rows: list[tuple[Child, ...]] = [
        ("To the nearest real record", data(found.median, f"{found.median:g}"), percent(found.copies)),
        (
            f"For comparison, {whose}",
            data(found.median_compared, f"{found.median_compared:g}"),
            percent(found.copies_compared),
        ),
    ]
    said = (
        f"The distance of two records is the number of columns, of {found.columns}, whose values (or bins) differ. "
        f"{plural(found.asked, 'synthetic record')} were compared with {count(found.among)} records of the table, and with "
        f"as many {beside}. Copies equal a record in every column; in a table of few columns they are chance."
    )
    nearer = None
    if found.nearer is not None:
        nearer = tag(
            "p",
            f"{percent(found.nearer)} of the synthetic records are nearer to the table than to the held-out records, ties "
            "counted half. About 50% is what a table that copies nobody has.",
        )
    return words(
        tag("p", said), table(("Distance", "Median", "Copies"), rows, caption="Distances to the nearest record"), nearer
    )


def _attacked(found: Membership, private: bool) -> Html:
    return words(
        tag("p", say.attacked(found, private)),
        tag(
            "p",
            f"Of {count(found.rows)} records of the table and as many held-out ones, those nearest to a synthetic record "
            f"are said to be in the table. At its best threshold the attack names {percent(found.advantage)} more of the "
            f"members than of the others. {say.allowed(found, private)}",
            class_="note",
        ),
    )
