"""Combinations of values: those that the synthetic table has and the real one has not, and those declared impossible.

NOT PRIVATE where one of the tables is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from understudy.domain import Clique, Domain
from understudy.measures.columns import Both, Counts, total_variation
from understudy.measures.pairs import PairMeasures, unseen
from understudy.schema.zeros import DeclaredZeros


@dataclass(frozen=True)
class TripleMeasures:
    """Three columns, real against synthetic."""

    clique: Clique
    similarity: float
    """1 less the total variation distance of the two tables of codes."""
    unseen: float
    """The share of the synthetic rows whose combination no real row has."""


@dataclass(frozen=True)
class Broken:
    """A rule on impossible combinations, and the share of the rows that break it."""

    rule: str
    rows: Both


@dataclass(frozen=True)
class CombinationMeasures:
    """All combinations that were looked at."""

    pairs: int
    unseen_of_pairs: float
    """The share of the synthetic rows with a combination that no real row has, averaged over the pairs of columns."""
    triples: int
    unseen_of_triples: float
    rules: tuple[Broken, ...]

    @property
    def broken(self) -> float:
        """The largest share of the synthetic rows that break one rule."""
        return max((rule.rows.synthetic for rule in self.rules), default=0.0)


def measure_triple(clique: Clique, real: Counts, made: Counts) -> TripleMeasures:
    """Compare two tables by the counts of the codes of three columns."""
    return TripleMeasures(clique, 1 - total_variation(real, made), unseen(real, made))


def measure_combinations(
    pairs: Sequence[PairMeasures], triples: Sequence[TripleMeasures], rules: Sequence[Broken]
) -> CombinationMeasures:
    """Average over pairs and triples."""
    means = [float(np.mean([m.unseen for m in found])) if found else 0.0 for found in (pairs, triples)]
    return CombinationMeasures(len(pairs), means[0], len(triples), means[1], tuple(rules))


def broken(zeros: DeclaredZeros, domain: Domain, real: Counts, made: Counts) -> Broken:
    """Say how many rows of each table are in forbidden cells; counts follow the rule's columns."""
    forbidden = zeros.table(domain)
    shares = [float(counts[forbidden].sum() / max(counts.sum(), 1)) for counts in (real, made)]
    return Broken(zeros.rule or "listed: " + ", ".join(zeros.clique), Both(shares[0], shares[1]))


def k_marginal(similarities: Sequence[float]) -> float | None:
    """Return the k-marginal score of NIST: 1000 for the same marginals, 0 for disjoint ones; None without any.

    It is 1000 (1 - d/2), d the L1 distance of the shares, averaged over marginals of k columns (in the bins of the schema).
    """
    return 1000 * float(np.mean(similarities)) if similarities else None
