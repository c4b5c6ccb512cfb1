"""The promise of a release in words, and its numbers as text: one place for the card, the report and the console.

Public: it is written from the manifest alone. Its numbers are rounded up: nobody is promised more than is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from math import ceil, exp, log
from statistics import NormalDist
from typing import Any

from understudy.manifest.manifest import Manifest, MechanismEntry, PrivacyEntry, PublicEntry
from understudy.manifest.strength import CERTAIN, NOT_LITTLE, is_little, success
from understudy.privacy import Unit, epsilon_of
from understudy.privacy.amounts import parse_amount
from understudy.privacy.cost import float_below

DIGITS = 6
"""Significant digits of epsilon, delta and rho."""
FARTHEST = 2.0
"""The counts of two tables of as many rows differ by so many times the rows at most: a bound above that says nothing."""
LARGEST = 600
"""Beyond this epsilon, its factor is told by its power of ten."""


def rounded_up(value: float, digits: int = DIGITS) -> str:
    """Write a number with so many significant digits; never less than it is."""
    up = Context(prec=digits, rounding=ROUND_CEILING).create_decimal(repr(value))
    text = f"{float(up):.{digits}g}"
    mantissa, e, power = text.partition("e")
    return f"{mantissa}{e}{int(power)}" if e else text


def parameters(privacy: PrivacyEntry) -> str:
    """Return epsilon, delta and rho, as everything that shows a release shows them."""
    epsilon, delta, rho = rounded_up(privacy.epsilon), rounded_up(privacy.delta), rounded_up(privacy.rho.value)
    return f"epsilon = {epsilon}, delta = {delta} (zCDP rho = {rho})"


def factor(epsilon: float) -> str:
    """Return e^epsilon: how much likelier or less likely one row can make anything."""
    return rounded_up(exp(epsilon), 3) if epsilon < LARGEST else f"10^{ceil(epsilon / log(10)):,}"


def guess(epsilon: float, delta: float) -> str:
    """Return how often the best guess between two neighbours is right at even odds, rounded up."""
    up = ceil(success(epsilon, delta) * 1000 - 1e-9) / 10
    return "100%" if up >= 100 else f"{up:g}%"


def confidence(share: float) -> str:
    """Write a probability as it was asked for: 95%, 97.5%, 99.9%; rounding would promise more."""
    return f"{Decimal(repr(share)) * 100:f}".rstrip("0").rstrip(".") + "%"


@dataclass(frozen=True)
class _Told:
    """What neighbouring tables differ in, in the words of each sentence."""

    whom: str
    had: str
    knows: str
    whether: str
    when: str


_TOLD = {
    ("row", "add_remove"): _Told(
        "row",
        "any one row been left out (or one more been added)",
        "every other row",
        "one particular row was in the table",
        "one row is added or removed",
    ),
    ("row", "replace"): _Told(
        "row",
        "any one row been replaced by any other",
        "every other row",
        "one particular row was the one in the table or another",
        "one row is replaced by another",
    ),
    ("person", "add_remove"): _Told(
        "person",
        "any one person been left out (or one more been added), with all rows",
        "the rows of everybody else",
        "one particular person was in the table",
        "one person, with all rows, is added or removed",
    ),
    ("person", "replace"): _Told(
        "person",
        "the rows of any one person been replaced by as many others",
        "the rows of everybody else",
        "one particular person's rows were those in the table or others",
        "the rows of one person are replaced by as many others",
    ),
}


def _told(privacy: PrivacyEntry) -> _Told:
    return _TOLD["row" if privacy.person is None else "person", privacy.unit]


def unit_words(privacy: PrivacyEntry) -> str:
    """Say what neighbouring tables differ in, in a line."""
    added = privacy.unit == "add_remove"
    if privacy.person is None:
        return "one row added or removed" if added else "one row replaced"
    return (
        f"one person ({privacy.person}) {'added or removed' if added else 'replaced'}, "
        f"with at most {_rows(privacy.rows_per_person)}"
    )


def counted_words(privacy: PrivacyEntry) -> str:
    """Say which rows the counts are of, where that is not all of them; empty where it is."""
    if privacy.person is None:
        return ""
    return f'Counts are of the rows that were used: at most {privacy.rows_per_person:,} of each "{privacy.person}".'


def total_range(stddev: float | None, sure: float) -> str:
    """Return how far off the number of rows may be: "± 35 at 95%"; empty in releases that were made before that was kept."""
    if stddev is None:
        return ""
    return f"± {ceil(-NormalDist().inv_cdf((1 - sure) / 2) * stddev):,} at {confidence(sure)}"


def total_words(manifest: Manifest) -> str:
    """Say what noisy numbers tell of the number of rows: "7,870 ± 35 at 95%", or that it is unknown, and why."""
    counted = f"{manifest.table.total:,.0f} {total_range(manifest.table.total_stddev, manifest.confidence)}".rstrip()
    return counted if manifest.table.told else f"unknown, for the noise is as large as the counts: {counted}"


def _rows(rows: int) -> str:
    return f"{rows:,} row{'s' * (rows != 1)}"


def sentences(manifest: Manifest) -> list[str]:
    """Return the promise in paragraphs: for everybody, then as a guess, then exactly."""
    privacy, told = manifest.privacy, _told(manifest.privacy)
    delta, (epsilon, schema) = rounded_up(privacy.delta), _with_schema(manifest)
    return [
        _difference(epsilon, privacy.delta, told),
        f"Somebody who knows {told.knows}, and would guess with even odds whether {told.whether}, is right at most "
        f"{guess(epsilon, privacy.delta)} of the time after seeing everything in this release{schema}, instead of 50%. "
        f"That is the worst case, for any {told.whom} at all, whatever computers they may have, now or later.",
        f"Exactly: the probability of any outcome changes by a factor of at most e^epsilon = {factor(privacy.epsilon)}, but "
        f"for a probability of {delta}, when {told.when}. This is "
        f"(epsilon, delta) differential privacy with epsilon = {rounded_up(privacy.epsilon)} and delta = {delta}, kept by "
        f"spending at most rho = {rounded_up(privacy.rho.value)} of zero-concentrated differential privacy (zCDP).",
        "The promise holds for the whole release together: the synthetic table, the model, the noisy measurements, the "
        "bounds and the report. Drawing more rows or asking more questions of the model weakens nothing. Other releases "
        "from the same private table add up: whoever publishes several must add their budgets.",
    ]


def _with_schema(manifest: Manifest) -> tuple[float, str]:
    """Return epsilon of all that a release holds, its schema where this was learnt, too; and words that say so."""
    alone = manifest.privacy.epsilon
    if manifest.declaration.get("table", {}).get("learnt") is None:
        return alone, ""
    whole = _summed(manifest)
    return (alone, " but its schema, which was learnt") if whole is None else (whole, ", the learnt schema too")


def assumptions(manifest: Manifest) -> list[str]:
    """Return what the promise rests on, and what it does not protect."""
    timed = " A time limit ended this run, so its number of rounds depends on how long it took."
    return [
        *_who(manifest.privacy),
        _schema(manifest),
        "The names and types of the table's columns, the workload, epsilon, delta and all settings are public.",
        "How long the run took, how much memory it used, and whether it ended with an error were seen by nobody but the "
        f"table's owner. No times are in this release.{timed if manifest.mechanism.ended == 'time' else ''}",
        _neighbours(manifest.privacy),
        *([] if manifest.public is None else [_public(manifest.public)]),
    ]


def chosen_words(how: MechanismEntry) -> str:
    """Say why this mechanism, where nobody named it: "for the least error forecast for 900 rows: aim2 0.16, aim 0.19"."""
    if not how.forecasts:
        return ""
    why = "the least error forecast" if len(how.forecasts) > 1 else "being the only one for these settings; forecast"
    rows = "" if how.forecast_rows is None else f" for {how.forecast_rows:,} row{'s' * (how.forecast_rows != 1)}"
    return f"for {why}{rows}: {errors_listed(how.forecasts)}"


def errors_listed(forecasts: Mapping[str, float]) -> str:
    """Return each mechanism with the error that was forecast for it."""
    return ", ".join(f"{name} {error:.2g}" for name, error in forecasts.items())


def public_words(public: PublicEntry) -> str:
    """Say in a line what public data a run was given, and what became of it."""
    become = "the model starts from them" if public.used else "compared with the table under the budget, and left out"
    return f"{_rows(public.rows)} of public data ({become}); the promise does not cover them"


def _public(public: PublicEntry) -> str:
    """Say what is not promised of public data."""
    return (
        f"The run was given {public_words(public)}: anything about these rows may show in this release. They were public "
        "already, and were chosen without looking at the private rows."
    )


def _schema(manifest: Manifest) -> str:
    """Say where the schema comes from: people, or the rows, under a budget of its own."""
    learnt = manifest.declaration.get("table", {}).get("learnt")
    if learnt is None:
        return (
            "The schema was written or reviewed without disclosing anything about the rows. It is part of this release and "
            f"is not protected: the columns, their possible values and their ranges are public.{_opened(manifest)}"
        )
    unit = Unit.of(learnt.get("unit", Unit.ADD_REMOVE.value))
    return (
        f"The schema was learnt from the rows under differential privacy with epsilon = {rounded_up(learnt['epsilon'])} and "
        f"delta = {rounded_up(learnt['delta'])}, which protects {unit.protects}. That budget is not part of the one stated "
        f"here, and adds to it{_sum_of(manifest, ': with this release it is ', '')}. "
        f"{_texts(learnt)}What a person has changed in the schema since is not protected.{_opened(manifest)}"
    )


def opened_words(manifest: Manifest) -> str:
    """Say which columns were open, and who has learnt their values; empty where none was."""
    opened = manifest.declaration.get("table", {}).get("opened") or {"columns": []}
    names = ", ".join(f'"{name}"' for name in opened["columns"])
    by = "this run, under the budget stated here" if manifest.opened else "an earlier run, whose budget adds to this one"
    return f"the values of {names} were learnt by {by}" if names else ""


def _opened(manifest: Manifest) -> str:
    """Say what is not declared of open columns, and below which number of rows no text of theirs is shown."""
    words = opened_words(manifest)
    shown = "".join(
        f' A text of "{one.column}" is shown only where its count with noise reached {one.threshold:,}: one that no more '
        f"than {_rows(one.rare)} have is shown with a chance of {rounded_up(manifest.privacy.delta)} at most."
        for one in manifest.opened
    )
    return f" But {words}.{shown}" if words else ""


def _texts(learnt: Mapping[str, Any]) -> str:
    """Say below which number of rows no text is shown."""
    if learnt.get("threshold") is None or learnt.get("rare") is None:
        return ""
    return (
        f"A text is shown only where its count with noise reached {learnt['threshold']:,}: one that no more than "
        f"{_rows(learnt['rare'])} have is shown with a chance of {rounded_up(learnt['delta'])} at most. Words "
        "such as yes and no, or male and female, in pairs that are known before any table, are told by noisy counts without "
        "that limit. "
    )


def learning(manifest: Manifest) -> str | None:
    """Say what it cost to learn the schema, and what that is together with the release; None where it was not learnt."""
    learnt = manifest.declaration.get("table", {}).get("learnt")
    if learnt is None:
        return None
    cost = f"learnt for epsilon = {rounded_up(learnt['epsilon'])}, delta = {rounded_up(learnt['delta'])}"
    return f"{cost}{_sum_of(manifest, '; with this release ', ', which adds to the above')}"


def _sum_of(manifest: Manifest, before: str, otherwise: str) -> str:
    """Say what the schema and the release cost together, at the release's delta, where these budgets add up."""
    epsilon = _summed(manifest)
    if epsilon is None:
        return otherwise
    return f"{before}epsilon = {rounded_up(epsilon)}, delta = {rounded_up(manifest.privacy.delta)}"


def _summed(manifest: Manifest) -> float | None:
    """Return epsilon of the learnt schema and the release together, at its delta; None where these do not add up."""
    learnt, privacy = manifest.declaration["table"]["learnt"], manifest.privacy
    unit = Unit("replace" if privacy.unit == "replace" else "add-remove", privacy.rows_per_person, privacy.person)
    rho, left = learnt.get("rho"), Fraction(privacy.delta) - Fraction(learnt.get("texts", 0))
    if rho is None or left <= 0 or not unit.adds_to(Unit.of(learnt.get("unit", Unit.ADD_REMOVE.value))):
        return None
    return epsilon_of(Fraction(rho) + parse_amount(privacy.rho.exact), float_below(left))


def _who(privacy: PrivacyEntry) -> list[str]:
    """Say who a person is, and what is not protected of the numbers of rows."""
    added = privacy.unit == "add_remove"
    if privacy.person is None:
        return [
            "A person is one row. Where a person has several rows, the promise is for each row, and is weaker for the "
            "person: for k rows, rho is to be read k² times as large, which makes epsilon about k times as large.",
            "The number of rows is protected too."
            if added
            else "The number of rows is treated as known, and is not protected.",
        ]
    return [
        f'A person is all rows with one value of "{privacy.person}". At most {_rows(privacy.rows_per_person)} of each were '
        "used, each of the person's rows with the same chance; the rest count for nothing in this release. A row "
        "without a value counts as a person of its own. Somebody with two values counts as two, and is promised less.",
        "The number of persons and the number of rows are protected too."
        if added
        else "The number of persons, and how many rows each has, are treated as known, and are not protected.",
    ]


def _neighbours(privacy: PrivacyEntry) -> str:
    changed = "add or remove" if privacy.unit == "add_remove" else "replace"
    if privacy.person is None:
        whom, dropped = "row, whatever its values", "no row is dropped"
    else:
        whom, dropped = "person, whatever the rows", "of the rows that are used none is dropped"
    placed = "values outside the schema are counted where the schema says"
    return f"Neighbouring tables {changed} one {whom}: {placed}, and {dropped}."


def _difference(epsilon: float, delta: float, told: _Told) -> str:
    """Say how much one row or person can matter, by how often an attacker is right; no kind words where that is often."""
    right = success(epsilon, delta)
    if is_little(epsilon, delta):
        return (
            f"No single {told.whom} makes much difference to this table. Whatever can be seen in this release could also "
            f"have been seen, with a probability not far off, had {told.had}. How far at most, the next lines say."
        )
    much = f"How much difference a single {told.whom} makes to this table is"
    if right >= CERTAIN:
        much += " hardly limited: the budget is so large that next to nothing is promised."
    elif right > NOT_LITTLE:
        much += (
            f" limited, but the limit is weak: {'the budget' if success(epsilon, 0.0) > NOT_LITTLE else 'delta'} is large."
        )
    else:
        much += " limited, though not to little."
    return (
        f"{much} Whatever can be seen in this release might have been far less likely, or far likelier, had {told.had}. How "
        "far at most, the next lines say."
    )
