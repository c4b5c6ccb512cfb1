"""The promise of a release in words, and its numbers as text: one place for the card, the report and the console.

Public: it is written from the manifest alone. Its numbers are rounded up: nobody is promised more than is kept.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, Context, Decimal
from math import ceil, exp, log

from understudy.manifest.manifest import Manifest, PrivacyEntry

DIGITS = 6
"""Significant digits of epsilon, delta and rho."""
LARGEST = 600
"""Beyond this epsilon, its factor is told by its power of ten."""

UNITS = {"add_remove": "one row added or removed", "replace": "one row replaced"}


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
    """Return how often the best guess between two neighbours is right at even odds: (e^ε + δ) / (e^ε + 1), rounded up."""
    tiny = exp(-epsilon)
    share = (1 + delta * tiny) / (1 + tiny)
    up = ceil(min(share, 1.0) * 1000 - 1e-9) / 10
    return "100%" if up >= 100 else f"{up:g}%"


def confidence(share: float) -> str:
    """Write a probability as it was asked for: 95%, 97.5%, 99.9%; rounding would promise more."""
    return f"{Decimal(repr(share)) * 100:f}".rstrip("0").rstrip(".") + "%"


def sentences(manifest: Manifest) -> list[str]:
    """Return the promise in paragraphs: for everybody, then as a guess, then exactly."""
    privacy, added = manifest.privacy, manifest.privacy.unit == "add_remove"
    delta = rounded_up(privacy.delta)
    changed = "been left out (or one more been added)" if added else "been replaced by any other"
    return [
        f"{_difference(privacy.epsilon)} Whatever can be seen in this release could also have been seen, with a probability "
        f"not far off, had any one row {changed}. How far at most, the next lines say.",
        "Somebody who knows every other row, and would guess with even odds "
        f"whether one particular row was {'in the table' if added else 'the one in the table or another'}, is right at most "
        f"{guess(privacy.epsilon, privacy.delta)} of the time after seeing everything in this release, instead of 50%. "
        "That is the worst case, for any row at all, whatever computers they may have, now or later.",
        f"Exactly: the probability of any outcome changes by a factor of at most e^epsilon = {factor(privacy.epsilon)}, but "
        f"for a probability of {delta}, when one row is {'added or removed' if added else 'replaced by another'}. This is "
        f"(epsilon, delta) differential privacy with epsilon = {rounded_up(privacy.epsilon)} and delta = {delta}, kept by "
        f"spending at most rho = {rounded_up(privacy.rho.value)} of zero-concentrated differential privacy (zCDP).",
        "The promise holds for the whole release together: the synthetic table, the model, the noisy measurements, the "
        "bounds and the report. Drawing more rows or asking more questions of the model weakens nothing. Other releases "
        "from the same private table add up: whoever publishes several must add their budgets.",
    ]


def assumptions(manifest: Manifest) -> list[str]:
    """Return what the promise rests on, and what it does not protect."""
    added = manifest.privacy.unit == "add_remove"
    timed = " A time limit ended this run, so its number of rounds depends on how long it took."
    return [
        "A person is one row. Where a person has several rows, the promise is for each row, and is weaker for the person: "
        "for k rows, rho is to be read k² times as large, which makes epsilon about k times as large.",
        "The number of rows is protected too." if added else "The number of rows is treated as known, and is not protected.",
        "The schema was written or reviewed without disclosing anything about the rows. It is part of this release and is "
        "not protected: the columns, their possible values and their ranges are public.",
        "The names and types of the table's columns, the workload, epsilon, delta and all settings are public.",
        "How long the run took, how much memory it used, and whether it ended with an error were seen by nobody but the "
        f"table's owner. No times are in this release.{timed if manifest.mechanism.ended == 'time' else ''}",
        f"Neighbouring tables {'add or remove' if added else 'replace'} one row, whatever its values: values outside the "
        "schema are counted where the schema says, and no row is dropped.",
    ]


def _difference(epsilon: float) -> str:
    """Say how much one row can matter; no kind words for a large epsilon."""
    if epsilon <= 2:
        return "No single row makes much difference to this table."
    if epsilon <= 6:
        return "How much difference a single row makes to this table is limited, though not to little."
    return "How much difference a single row makes to this table is limited, but the limit is weak: the budget is large."
