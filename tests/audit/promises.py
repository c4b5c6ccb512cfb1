"""The promises, numbered, in one sentence each. A test holds one when it is marked ``@pytest.mark.promise(number)``."""

from __future__ import annotations

PROMISES: dict[int, str] = {
    1: "Noise is exactly the discrete Gaussian, or Laplace, that is claimed.",
    2: "Selection is exactly the softmax of the exponential mechanism.",
    3: "A declared sensitivity of scores is true, in both directions.",
    4: "Counts are integers from the table to the noise.",
    5: "No sum wraps round: beyond int64 it stays at the nearest end.",
    6: "The conversion between rho and (epsilon, delta) never rounds to the unsafe side.",
    7: "A second, independent accountant agrees.",
    8: "What is spent never exceeds the budget, whatever path a run takes.",
    9: "What is over budget is refused before anything is read.",
    10: "Control flow depends on the table through released noise alone.",
    11: "Every declared sensitivity is at least the actual one.",
    12: "The domain is declared, and never read off the table.",
    13: "Null, NaN, infinite, unlisted and out-of-range values are handled alike for all tables.",
    14: "The exact number of rows never leaves.",
    15: "Logs, events, errors, files, their names and sizes carry nothing private.",
    16: "Where a person may have many rows, their contribution is limited, and not only assumed to be.",
    17: "What a neighbour is, is explicit: one record, or one person, added or removed, or replaced.",
    18: "Only the secure generator draws noise that may be released.",
    19: "Forked processes and threads never share noise.",
    20: "An end-to-end audit on worst-case neighbours finds no more than is claimed, and nearly as much.",
    21: "The auditor has teeth: every kept mutant is caught.",
    22: "A mechanism obeys its own inequality on many small tables.",
    23: "The ledger survives crashes and races, and never under-counts.",
    24: "The ledger shows tampering.",
    25: "What is saved holds released numbers only, and loading it runs no code.",
    26: "Sampling, querying and reporting never touch the table again; what compares with it is marked not private.",
    27: "A value is encoded alone: no record changes how another is read.",
    28: "A bad line, byte or cell costs only its own record.",
    29: "Nothing is read before it is reserved.",
    30: "Whatever ends a run, what it says was spent is what the ledger says.",
    31: "No text of another library reaches a user.",
    32: "A release that is not private says so in every file that can travel alone.",
    33: "A run is resumed only with the table that it began with.",
    34: "A released file carries nothing but what was released.",
    35: "A run that does not fit in memory is refused before it spends.",
    36: "Learning kinds, bounds, bins and texts costs what it says, and tells no text that too few share.",
    37: "A bound on an error holds with the probability that it states, whatever the run chose to measure.",
}

NOT_MADE: dict[int, str] = {}
"""Promises that no test holds because the product does not make them."""
