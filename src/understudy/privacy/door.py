"""The door: the only way from exact counts to public numbers. It charges the budget, then reads, then adds
noise, then puts the answer on record, and only then hands it out.

Holds private counts and hands out none: what leaves is a ``Measurement``, a ``Selection`` or a ``Check``, noisy
and paid for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from fractions import Fraction
from math import exp, sinh, sqrt
from typing import TYPE_CHECKING, NoReturn, SupportsIndex

import numpy as np

from understudy.domain import Clique, Domain
from understudy.errors import BudgetError, FormatError, InternalError, WorkloadError, did_you_mean
from understudy.privacy.budget import Budget, Filter
from understudy.privacy.cost import distances_cost, float_above, gaussian_cost, laplace_cost, positive, selection_cost
from understudy.privacy.fingerprint import fingerprint, fingerprinted
from understudy.privacy.log import Log, NoLog, Request
from understudy.privacy.noise import Counts, Noise, NoiseKind
from understudy.privacy.scoring import Candidate, distance, integer_weights, scores
from understudy.privacy.secure import SecureNoise, second_opinion
from understudy.privacy.stopwatch import Stopwatch
from understudy.privacy.unit import Unit

if TYPE_CHECKING:
    from understudy.source import Source

_ROUNDING = Fraction(1, 10**12)
"""How far OpenDP's stated cost may lie above our exact one, relatively: it rounds floats up, a few units in
the last place.
"""


@dataclass(frozen=True, eq=False)
class Measurement:
    """A noisy marginal, and all that is public about how it was made."""

    clique: Clique
    values: Counts
    """Shaped as the marginal; may be negative."""
    noise: NoiseKind
    scale: float
    """The parameter of the noise: sigma of a discrete Gaussian, b of a discrete Laplace."""
    rho: Fraction
    private: bool
    """False when the noise came from a seeded generator."""

    @property
    def sigma(self) -> float:
        """The standard deviation of the noise on each cell."""
        return gaussian_deviation(self.scale) if self.noise == "gaussian" else laplace_deviation(self.scale)


@dataclass(frozen=True, eq=False)
class Selection:
    """A private choice among candidates, and all that is public about how it was made."""

    index: int
    clique: Clique
    epsilon: float
    rho: Fraction
    weights: Counts
    """The integer weights actually used, one per candidate."""
    sensitivity: int
    """How far any score could move between neighbours, in the units of ``weights``."""
    scale: float
    """P(candidate) ∝ exp(score / scale)."""
    private: bool


@dataclass(frozen=True, eq=False)
class Check:
    """How far public estimates are from the table's marginals: noisy L1 distances, and all that is public about them."""

    cliques: tuple[Clique, ...]
    values: Counts
    """One a clique; may be negative."""
    sigma: float
    """The scale of the discrete Gaussian noise on each."""
    rho: Fraction
    private: bool


class Door:
    """Answers questions about a private table, within a budget.

    ``expect`` lists marginals that may be asked for: the first accepted question counts them all in one pass,
    and their exact counts stay inside. A question that is refused, or wrong, reads nothing. A question that
    was paid for stays paid for, even if the source then fails.

    ``log`` has every answer on record before it leaves. Of a run that is resumed it knows the first answers: these
    are charged again to this door's own budget, and given as they were, without a read and without fresh noise. The
    first fresh question then reads the table, and is refused when it is not the table that the run began with.
    """

    __slots__ = ("_clocks", "_domain", "_filter", "_log", "_noise", "_read", "_unit")

    def __init__(
        self,
        source: Source,
        budget: Budget,
        *,
        unit: Unit = Unit.ADD_REMOVE,
        noise: Noise | None = None,
        expect: Iterable[Clique] = (),
        log: Log | None = None,
    ) -> None:
        self._domain: Domain = source.domain
        self._unit = unit
        self._noise: Noise = SecureNoise() if noise is None else noise
        self._filter = Filter(budget.rho)
        self._log: Log = NoLog() if log is None else log
        self._clocks: list[Stopwatch] = []
        self._read = _reader(source, [self._domain.clique(clique) for clique in expect], self._log, self._clocks)

    @property
    def domain(self) -> Domain:
        """The declared domain."""
        return self._domain

    @property
    def unit(self) -> Unit:
        """Which tables count as neighbours."""
        return self._unit

    @property
    def private(self) -> bool:
        """Whether the answers may be released: only when the secure generator, and nothing else, draws the
        noise.
        """
        return type(self._noise) is SecureNoise

    @property
    def filter(self) -> Filter:
        """What was spent, and what is left."""
        return self._filter

    @property
    def log(self) -> Log:
        """Where answers are put on record."""
        return self._log

    def timed(self, clock: Callable[[], float]) -> Stopwatch:
        """Return a clock that stands still while this door reads: the time that takes may decide nothing."""
        self._clocks.append(Stopwatch(clock))
        return self._clocks[-1]

    def measure(self, clique: Iterable[str], *, sigma: float, noise: NoiseKind = "gaussian") -> Measurement:
        """Return the marginal on ``clique`` with noise of scale ``sigma`` on each cell (of Laplace noise: its
        scale b).

        Costs ``unit.l2_squared / (2 sigma²)`` with Gaussian noise, ``(unit.l1 / sigma)² / 2`` with Laplace
        noise.
        """
        clique, scale = self._domain.clique(clique), float(positive(sigma, "sigma"))
        cost = _marginal_cost(noise, scale, self._unit)
        purpose = f"measure ({', '.join(clique)}), {noise} noise of scale {scale:.6g}"
        request = Request(cost, purpose, {"measure": clique, "noise": noise, "scale": scale.hex(), "unit": self._unit.value})

        def draw() -> Counts:
            (counts,) = self._read([clique])
            return (self._noise.gaussian if noise == "gaussian" else self._noise.laplace)(counts, scale)

        values = self._recalled(request, self._domain.cells(clique))
        if values is None:
            moved = self._unit.l2_squared if noise == "gaussian" else self._unit.l1
            values = self._drawn(request, lambda: second_opinion(noise, scale, moved), draw)
        values = values.reshape(self._domain.shape(clique))
        values.setflags(write=False)
        return Measurement(clique, values, noise, scale, cost, self.private)

    def select(self, candidates: Sequence[Candidate], *, epsilon: float) -> Selection:
        """Choose a candidate by the exponential mechanism: P ∝ exp(epsilon · score / (2 · sensitivity)).

        Costs ``epsilon² / 8``. The sensitivity is the largest weight times ``unit.score``; the scores are not
        monotone in the table, hence the 2.
        """
        weights = integer_weights([candidate.weight for candidate in candidates])
        sensitivity = int(weights.max()) * self._unit.score
        cost = selection_cost(epsilon)
        scale = float_above(2 * sensitivity / positive(epsilon, "epsilon"))
        purpose = f"select one of {len(candidates)} marginals, epsilon = {float(epsilon):.6g}"
        request = Request(cost, purpose, {**_terms(candidates, weights), "scale": scale.hex(), "unit": self._unit.value})

        def draw() -> Counts:
            exact = self._read([candidate.clique for candidate in candidates])
            return np.array([self._noise.select(scores(exact, candidates), scale)], dtype=np.int64)

        chosen = self._recalled(request, 1, below=len(candidates))
        if chosen is None:
            self._check(candidates)  # here, since what was chosen before need not be estimated again
            chosen = self._drawn(request, lambda: second_opinion("selection", scale, sensitivity), draw)
        index = int(chosen[0])
        clique = candidates[index].clique
        return Selection(index, clique, float(epsilon), cost, weights, sensitivity, scale, self.private)

    def check(self, estimates: Sequence[Candidate], *, sigma: float) -> Check:
        """Return ‖M_r(D) - round(estimate)‖₁ of each estimate, with Gaussian noise of scale ``sigma`` on each.

        Costs ``k · unit.score² / (2 sigma²)`` for k estimates: one record moves each distance by at most ``unit.score``.
        Weights and penalties do not matter.
        """
        if not estimates:
            raise WorkloadError("There is nothing to check: give at least one estimate.")
        scale, count = float(positive(sigma, "sigma")), len(estimates)
        cost = distances_cost(scale, count, self._unit)
        purpose = f"check {count} marginals, gaussian noise of scale {scale:.6g}"
        cliques = tuple(estimate.clique for estimate in estimates)
        request = Request(cost, purpose, {"check": cliques, "scale": scale.hex(), "unit": self._unit.value})

        def draw() -> Counts:
            exact = self._read(cliques)
            found = [distance(counts, e.estimate) for counts, e in zip(exact, estimates, strict=True)]
            return self._noise.gaussian(np.array(found, dtype=np.int64), scale)

        values = self._recalled(request, count)
        if values is None:
            self._check(estimates)
            moved = count * self._unit.score**2
            values = self._drawn(request, lambda: second_opinion("gaussian", scale, moved), draw)
        values.setflags(write=False)
        return Check(cliques, values, scale, cost, self.private)

    def _recalled(self, request: Request, size: int, below: int | None = None) -> Counts | None:
        """Return the answer on record, if this was asked before. It was paid for then; the filter counts it now."""
        kept = self._log.recall(request)
        if kept is None:
            return None
        if kept.size != size or (below is not None and not 0 <= int(kept[0]) < below):
            raise FormatError(f"{request.purpose}: the answer on record does not fit the question. Start a new run.")
        self._filter.charge(request.cost, request.purpose)
        return kept

    def _drawn(self, request: Request, stated: Callable[[], float], draw: Callable[[], Counts]) -> Counts:
        """Charge, read and draw, put on record, and only then hand out: what is not on record, nobody has seen."""
        self._pay(request.cost, request.purpose, stated)
        outcome = draw()
        self._log.commit(request, outcome)
        return outcome

    def _pay(self, cost: Fraction, purpose: str, stated: Callable[[], float]) -> None:
        """Charge ``cost``, unless it is over budget or OpenDP states more for the measurement to be drawn
        from.
        """
        self._filter.check(cost, purpose)
        if not stated() <= cost * (1 + _ROUNDING):
            raise InternalError("The noise would cost more than is charged for it. Nothing was read; report this.")
        if self._log.bound:
            self._read(())  # of a run that goes on: another table is refused before anything is spent on it
        self._filter.charge(cost, purpose)

    def _check(self, candidates: Sequence[Candidate]) -> None:
        for candidate in candidates:
            name = f"Candidate ({', '.join(candidate.clique)})"
            if candidate.clique != self._domain.clique(candidate.clique):
                raise WorkloadError(f"{name} is not in the order of the schema; make it with Domain.clique.")
            if candidate.estimate.shape != self._domain.shape(candidate.clique):
                raise WorkloadError(f"{name}: the estimate's shape {candidate.estimate.shape} is not the marginal's.")

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise BudgetError("A door cannot be copied or pickled: it holds private counts, and a budget that is spent once.")

    def __repr__(self) -> str:
        note = "" if self.private else ", NOT PRIVATE"
        return f"Door({len(self._domain)} attributes, {self._unit.value}, {self._filter!r}{note})"


def _marginal_cost(noise: NoiseKind, scale: float, unit: Unit) -> Fraction:
    if noise not in ("gaussian", "laplace"):
        hint = did_you_mean(str(noise), ("gaussian", "laplace"))
        raise BudgetError(f'There is no noise called "{noise}"; choose "gaussian" or "laplace".{hint}')
    return (gaussian_cost if noise == "gaussian" else laplace_cost)(scale, unit)


def _terms(candidates: Sequence[Candidate], weights: Counts) -> dict[str, object]:
    """What a choice was made from, as plain data."""
    penalties = [float(candidate.penalty).hex() for candidate in candidates]
    return {"select": [c.clique for c in candidates], "weights": weights.tolist(), "penalties": penalties}


def gaussian_deviation(sigma: float) -> float:
    """Return the standard deviation of the discrete Gaussian of scale ``sigma``: a little less, when that is
    small.
    """
    if sigma > 4:  # the difference is below 1e-130 relatively
        return sigma
    weight = [(k, exp(-(k * k) / (2 * sigma * sigma))) for k in range(1, 160)]
    return sqrt(2 * sum(k * k * p for k, p in weight) / (1 + 2 * sum(p for _, p in weight)))


def laplace_deviation(scale: float) -> float:
    """Return the standard deviation of the discrete Laplace of ``scale`` b: 1 / (√2 sinh(1 / 2b))."""
    return 0.0 if scale < 1e-3 else 1 / (sqrt(2) * sinh(1 / (2 * scale)))


def _reader(
    source: Source, expect: list[Clique], log: Log, clocks: list[Stopwatch]
) -> Callable[[Sequence[Clique]], list[Counts]]:
    """Return the function that reads exact counts; it alone holds the source and the counts already read.

    The first read also tells the log which table this is, where one is kept.
    """
    known: dict[Clique, Counts] = {}
    marks = fingerprinted(source.domain) if log.keeps else []

    def read(cliques: Sequence[Clique]) -> list[Counts]:
        missing = [c for c in dict.fromkeys([*cliques, *expect, *marks]) if c not in known]
        if missing:
            with ExitStack() as still:
                for clock in clocks:
                    still.enter_context(clock.still())
                known.update(zip(missing, _counted(source, missing), strict=True))
        if marks:
            log.bind(lambda key: fingerprint(key, marks, [known[c] for c in marks]))
            for clique in {*marks} - {*cliques, *expect}:
                del known[clique]
            marks.clear()
        return [known[c] for c in cliques]

    return read


def _counted(source: Source, cliques: Sequence[Clique]) -> list[Counts]:
    """Count, and check that the source keeps its contract: int64 all the way, in the declared shapes."""
    counts = source.count(cliques)
    shapes = [source.domain.shape(clique) for clique in cliques]
    if [c.shape for c in counts] != shapes or any(c.dtype != np.int64 for c in counts):
        raise InternalError("A source must count in int64, one array per marginal, in its declared shape.")
    return counts
