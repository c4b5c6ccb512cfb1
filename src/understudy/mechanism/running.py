"""What all mechanisms share while they run: ask the door, fit a model, tell the listener, write the record.

Sees no counts: it holds a door, and what came out of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from functools import partial
from statistics import median
from time import monotonic
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique, Domain, Zeros
from understudy.errors import BudgetError, SchemaError, WorkloadError
from understudy.mechanism.anchors import LOOSE, anchored, columns_held, counted
from understudy.mechanism.candidates import estimates, units
from understudy.mechanism.estimators import PGM, Estimation
from understudy.mechanism.events import (
    Checked,
    Estimated,
    Event,
    Failed,
    Finished,
    Measured,
    OnEvent,
    RunStarted,
    Selected,
)
from understudy.mechanism.limits import too_far
from understudy.mechanism.looking import SUMS, Looking
from understudy.mechanism.outcome import ASKED_AGAIN, Outcome, PublicUse, Round
from understudy.mechanism.public import Prior, Public
from understudy.mechanism.schedule import RoundBudget
from understudy.mechanism.snapshot import light, parameters_of, remembered
from understudy.model import EngineFor, Fit, GraphicalModel, Model, Observation, on_cpu
from understudy.privacy import (
    Candidate,
    Choices,
    Distances,
    DistancesTo,
    Door,
    Journal,
    Linear,
    LinearMap,
    Marginal,
    Measurement,
    NoJournal,
    Selection,
    distances_sigma_for,
)
from understudy.privacy.noise import NoiseKind
from understudy.schema.column import Column, fine_name
from understudy.schema.gaps import Gap
from understudy.workload import Workload

Result = TypeVar("Result")
Prepared = Callable[[Sequence[Observation]], Sequence[Observation]]
"""What a fit is made to, out of the answers as they are."""

LATEST = 4
"""So many of the latest rounds keep their models, for bounds to choose from."""


class Run(Looking):
    """One run of one mechanism. ``rho`` is what was left in the door's budget when it began, less what is held back."""

    size = 0
    """Bytes of the junction tree of the last fit."""
    fit: Fit[Model] | None
    """The last fit."""
    prior: Prior | None = None
    """The public model that fits start from, once it has been found to be near."""
    _fit_before: dict[int, int]
    """The place of the fit that each round began with."""
    _last: dict[Clique, int]
    """The last round that each marginal was a candidate of."""
    unit_seconds = 0.0
    """How long a marginal takes to be worked out and compared, and as many of its cells again, by the last choice."""

    def __init__(
        self,
        name: str,
        door: Door,
        workload: Workload,
        *,
        zeros: Sequence[Zeros] = (),
        on_event: OnEvent | None = None,
        estimation: Estimation = PGM,
        clock: Callable[[], float] = monotonic,
        engine: EngineFor = on_cpu,
        inside: Fraction = Fraction(0),
        public: Public | None = None,
        columns: Sequence[Column] = (),
        gaps: Sequence[Gap] = (),
    ) -> None:
        if workload.domain != door.domain:
            raise WorkloadError("The workload was made for another schema than the table's; make it from the same one.")
        self.name, self.door, self.workload, self.zeros, self.public = name, door, workload, tuple(zeros), public
        self.gaps = tuple(gaps) if estimation.keeps_zeros else ()
        self.rho: Fraction = door.filter.remaining
        if self.rho <= 0:
            raise BudgetError("Nothing is left of the budget; make a door with a new one.")
        self._held, self._asides, self._ahead = Fraction(0), dict[str, Fraction](), 0.0
        self._keep_for_numbers(inside, columns)
        self.inside: list[Measurement] = []
        self.sums: list[Measurement] = []
        self._looks, self._charges_before, self.fit = 0, len(door.filter.charges), None
        self.measurements: list[Measurement] = []
        self.rounds: list[Round] = []
        self.selections: list[Selection] = []
        self.compared: list[Distances] = []
        self._journal: Journal = getattr(door, "journal", None) or NoJournal()
        self._fits, self._steps, self._gone = list[str](), list[float](), set[str]()
        self._fit_before, self._last = {}, {}
        self._tell: OnEvent = on_event or (lambda event: None)
        self._engine, self.estimation = engine, estimation
        self.clock: Callable[[], float] = door.timed(clock)
        self._began = self.clock()

    @property
    def domain(self) -> Domain:
        """The declared domain."""
        return self.door.domain

    @property
    def spent(self) -> Fraction:
        """What this run has spent so far."""
        return self.rho - self.remaining

    @property
    def remaining(self) -> Fraction:
        """What this run may still spend."""
        return self.door.filter.remaining - self._held - self._aside - self._inside

    @property
    def held(self) -> Fraction:
        """What is kept for ``distances``."""
        return self._held

    def reserve(self, share: Fraction) -> None:
        """Keep a share of the budget for ``distances``; before anything is spent."""
        self._held = share * self.rho
        self.rho -= self._held

    def set_aside(self, share: Fraction, purpose: str) -> None:
        """Keep a share of the budget for questions that come later; before anything is spent."""
        self._asides[purpose] = share * self.rho
        self.rho -= self._asides[purpose]

    def take(self, purpose: str) -> Fraction:
        """Return what was set aside for this, to be spent now."""
        taken = self._asides.pop(purpose, Fraction(0))
        self.rho += taken
        return taken

    @property
    def _aside(self) -> Fraction:
        return sum(self._asides.values(), Fraction(0))

    def share_with(self, budget: RoundBudget, times: int = 1) -> Fraction:
        """Return ρ_used / ρ once ``budget`` is spent so many times as well."""
        return (self.spent + times * budget.total) / self.rho

    def record(self, done: Round) -> None:
        """Keep a round; let go of the models that bounds will not rest on: neither some candidate's last nor a late one."""
        self.tell(done.ended(float(self.spent)))
        self.rounds.append(replace(done, before=light(done.before)))
        self._last.update(dict.fromkeys(done.candidates, done.index))
        needed = {*self._last.values(), *(r.index for r in self.rounds[-LATEST:])}
        self.rounds = [r if r.index in needed or r.before is None else replace(r, before=None) for r in self.rounds]
        self._fit_before[done.index] = len(self._fits) - 2  # the last fit is that of the round
        self._keep_only({self._fit_before[index] for index in needed})

    def _keep_only(self, needed: set[int]) -> None:
        """Have the journal discard the other models; the last one is always needed."""
        names = {parameters_of(name) for place, name in enumerate(self._fits[:-1]) if place not in needed}
        self._journal.discard(sorted(names - self._gone))
        self._gone |= names

    def estimated_rows(self) -> float:
        """How many rows the table has by the last model; 0 where there is none yet."""
        return 0.0 if self.fit is None else self.fit.model.total

    @property
    def step_seconds(self) -> float:
        """How long a step of a fit takes: the middle one of the last three fits, as is on record of them."""
        return median(self._steps[-3:]) if self._steps else 0.0

    @property
    def fits(self) -> int:
        """How many models were fitted so far."""
        return len(self._fits)

    @property
    def seconds(self) -> float:
        """Since the run began, without the time that the door spent on reading the table."""
        return self.clock() - self._began

    def look(self) -> float:
        """Look at the clock for a decision: a run that is resumed sees the same times again, and goes on from there."""
        seen: list[float] = []

        def now() -> float:
            seen.append(self.seconds)
            return seen[0]

        seconds = self.note(f"look {self._looks} at the clock", now)
        self._looks += 1
        if not seen:
            self._began = self.clock() - seconds
        return seconds

    @property
    def model_cliques(self) -> list[Clique]:
        """The cliques that the model must hold: those measured, those with structural zeros, and the public model's."""
        held = () if self.prior is None else self.prior.model.parameters
        return list(dict.fromkeys([*(m.clique for m in self.measurements), *(z.clique for z in self.zeros), *held]))

    @contextmanager
    def running(self) -> Iterator[None]:
        """Announce the run; when it fails, say what stays spent before the error goes on."""
        whole = self.door.filter.remaining
        self.tell(RunStarted(self.name, len(self.domain), self.workload.queries, float(whole)))
        try:
            if self._inside:
                self._look_inside(self._inside)
                self._inside = Fraction(0)
                self.rho = self.door.filter.remaining - self._held - self._aside  # what rounding has left is the mechanism's
            yield
        except BaseException as error:
            self.tell(Failed(self.name, float(whole - self.door.filter.remaining), type(error).__name__))
            raise

    def tell(self, event: Event) -> None:
        """Pass an event on to the listener."""
        self._tell(event)

    def measure(
        self, clique: Iterable[str], *, scale: float, noise: NoiseKind, round_index: int, query: LinearMap | None = None
    ) -> Measurement:
        """Measure a marginal, or a linear ``query`` of it, through the door and keep it."""
        on = self.domain.clique(clique)
        found = self.door.ask(Marginal(on, scale, noise) if query is None else Linear(on, query, scale, noise))
        self.measurements.append(found)
        self.tell(Measured(round_index, found.clique, found.values.size, scale, float(found.rho)))
        return found

    def select(self, candidates: Sequence[Candidate], *, epsilon: float, round_index: int) -> Selection:
        """Choose a candidate through the door."""
        return self.select_some(candidates, epsilon=epsilon, number=1, round_index=round_index)[0]

    def select_some(
        self, candidates: Sequence[Candidate], *, epsilon: float, number: int, round_index: int
    ) -> Sequence[Selection]:
        """Choose candidates through the door, each among those that are left; ``round_index`` is that of the first."""
        began, before = self.clock(), self._ahead
        chosen = self.door.ask(Choices(candidates, epsilon, number)).chosen
        self.selections += chosen
        seconds, self._ahead = self.clock() - began + before, 0.0
        self.unit_seconds = seconds / units(len(candidates), self._cells(c.clique for c in candidates))
        for k, found in enumerate(chosen):
            self.tell(Selected(round_index + k, found.clique, found.epsilon, float(found.rho)))
        return chosen

    def timed(self, work: Callable[[], Result]) -> Result:
        """Do some of the work of the next choice ahead of it: its time counts with the choice."""
        began = self.clock()
        done = work()
        self._ahead += self.clock() - began
        return done

    def _cells(self, cliques: Iterable[Clique]) -> int:
        return sum(self.domain.cells(clique) for clique in cliques)

    def compare(self, estimated: Sequence[Candidate], rho: Fraction) -> Distances:
        """Ask how far public estimates are from the table, for ``rho`` in all, and keep the noisy distances."""
        found = self.door.ask(DistancesTo(estimated, distances_sigma_for(rho, len(estimated), self.door.unit)))
        self.compared.append(found)
        self.tell(Checked(len(estimated), found.sigma, float(found.rho)))
        return found

    def distances(self, cliques: Sequence[Clique]) -> Distances:
        """Spend what was held back, and all that is left, on how far the last model is from the table on ``cliques``."""
        assert self.fit is not None
        self.rho, self._held = self.rho + self._held, Fraction(0)
        later = estimates(self.fit.model, cliques, "double")
        asked = [Candidate(r, 1.0, 0.0, estimate) for r, estimate in zip(cliques, later, strict=True)]
        scale = distances_sigma_for(self.remaining, len(asked), self.door.unit)
        found = self.door.ask(DistancesTo(asked, scale))
        self.tell(Checked(len(asked), scale, float(found.rho)))
        return found

    def estimate(self, round_index: int, prepared: Prepared = list) -> Model:
        """Fit a model to everything measured so far (to what ``prepared`` makes of it), starting from the last one."""
        return self._fit(round_index, self.estimation.in_rounds, prepared)

    def public_model(self, public: Public, max_size: int) -> GraphicalModel:
        """Return the model of the public table; a run that is resumed has it on record."""
        make = partial(public.model, self.workload, self.zeros, max_size, self._engine)
        found = remembered(self._journal, "public model", self.domain, self.zeros, make, engine=self._engine).fit.model
        assert isinstance(found, GraphicalModel)
        return found

    def adopt(self, prior: Prior) -> Model:
        """Let this fit and all later ones start from a public model."""
        self.prior, self.fit = prior, None
        return self.estimate(0)

    def _fit(
        self, round_index: int, estimator: Callable[..., Fit[Model]], prepared: Prepared = list, far: Sequence[Zeros] = ()
    ) -> Model:
        zeros = (*self.zeros, *far)
        began = self.clock()
        on: dict[str, Any] = {"engine": self._engine(self.size)} if self.estimation.engine else {}
        start = None if self.fit is None else self.fit.model
        observations = self.observations
        informed: Prepared = list
        if self.prior is not None:
            informed, on["prior"] = self.prior.drawn, self.prior.model.parameters
        self._fits.append(f"fit {len(self._fits)}")
        found = remembered(
            self._journal,
            self._fits[-1],
            self.domain,
            zeros,
            lambda: estimator(self.domain, prepared(informed(observations)), zeros=zeros, start=start, **on),
            engine=self._engine,
        )
        self.fit, self.size, fit = found.fit, found.size, found.fit
        seconds = self.clock() - began
        self._steps.append(fit.seconds / max(fit.iterations, 1))
        self.tell(Estimated(round_index, self.size, fit.iterations, fit.loss, str(fit.reason), seconds))
        return fit.model

    def _fit_at_the_end(self, total: float, last: Prepared, every_column: bool) -> None:
        """Ask for what was kept for sums, and fit once more, held to what all answers say of single columns."""
        if rho := self.take(SUMS):
            self._ask_sums(rho, counted(self.observations, last), total, len(self.rounds))
        numeric = [a for a in self.domain if self.inside and fine_name(a) in self.door.fine]
        far = too_far(self.domain, self.gaps, self.inside, self.model_cliques, self.zeros, total=total)
        firmly, loosely = columns_held(self.domain, numeric, far, every=every_column and self.prior is None)
        told = self._told(counted(self.observations, last), total)

        def prepared(found: Sequence[Observation]) -> Sequence[Observation]:
            return anchored(anchored([*last(found), *told], firmly, total), loosely, total, LOOSE)

        try:
            self._fit(len(self.rounds), self.estimation.at_the_end, prepared, far)
        except SchemaError:  # beside what is declared, such limits of several gaps may leave no record possible
            self._fit(len(self.rounds), self.estimation.at_the_end, prepared)

    def outcome(
        self,
        *,
        ended: Literal["budget", "time"] = "budget",
        most_rounds: int = 0,
        answers: Mapping[Clique, NDArray[np.int64]] | None = None,
        checked: Sequence[Clique] = (),
        last: Prepared = list,
        every_column: bool = False,
    ) -> Outcome:
        """Close the record. The model that is handed out is fitted once more, closer, to what ``last`` makes of the answers
        and to what they say of ``every_column`` (but where a public model says more), and compared on those ``checked``.
        """
        if self.fit is not None:
            self._fit_at_the_end(self.fit.model.total, last, every_column)
            self.fit.model.keep_answers(ASKED_AGAIN)
        distances = self.distances(checked) if checked else None
        model = None if self.fit is None else self.fit.model
        looked = sum((m.rho for m in self.inside), Fraction(0))
        self.tell(Finished(self.name, len(self.rounds), float(self.spent + looked), self.size, ended, self.seconds))
        return Outcome(
            mechanism=self.name,
            workload=self.workload,
            model=model,
            measurements=tuple(self.measurements),
            rounds=tuple(self.rounds),
            selections=tuple(self.selections),
            compared=tuple(self.compared),
            answers=dict(answers or {}),
            zeros=self.zeros,
            fit=self.fit,
            unit=self.door.unit,
            private=self.door.private,
            rho=self.rho + looked,
            charges=self.door.filter.charges[self._charges_before :],
            ended=ended,
            most_rounds=most_rounds,
            seconds=self.seconds,
            distances=distances,
            inside=(*self.inside, *self.sums),
            public=None if self.public is None else PublicUse(self.public.rows, self.public.digest, self.prior is not None),
        )
