"""The door: the only way from exact counts to public numbers. It charges the budget, then reads, then adds
noise, then puts the answer on record, and only then hands it out.

Holds private counts and hands out none: what leaves is the answer to a question, noisy and paid for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NoReturn, SupportsIndex, TypeVar, overload

import numpy as np

from understudy.domain import NOTHING, Clique, Domain
from understudy.errors import BudgetError, FormatError, InternalError
from understudy.privacy.budget import Budget, Filter
from understudy.privacy.fingerprint import fingerprint, fingerprinted
from understudy.privacy.journal import Inquiry, Journal, NoJournal
from understudy.privacy.noise import Counts, Noise, NoiseKind
from understudy.privacy.questions import (
    WHOLE,
    Asked,
    Choices,
    Distances,
    DistancesTo,
    Marginal,
    Mask,
    Measurement,
    Question,
    Receipt,
    Rest,
    Selection,
    Shared,
)
from understudy.privacy.scoring import Candidate
from understudy.privacy.secure import SecureNoise, second_opinion
from understudy.privacy.stopwatch import Stopwatch
from understudy.privacy.unit import Unit

if TYPE_CHECKING:
    from understudy.source import Source

A = TypeVar("A")
Read = Callable[[Sequence[Clique]], list[Counts]]
"""Reads exact counts."""

_ROUNDING = Fraction(1, 10**12)
"""How far OpenDP's stated cost may lie above our exact one, relatively: it rounds floats up, a few units in
the last place.
"""

HELD_BYTES = 2**28
"""Exact counts that are held for the next question take at most so much memory …"""
BLOCK_CELLS = 2**22
"""… and those that one question reads are taken about so many cells at a time."""


class Door:
    """Answers questions about a private table, within a budget.

    ``budget`` may be a filter that other doors spend from as well: they then share one budget, and none can overspend it.

    ``expect`` lists marginals that may be asked for: the first accepted question counts them all in one pass,
    and their exact counts stay inside, within a limit. A question that is refused, or wrong, reads nothing. A question that
    was paid for stays paid for, even if the source then fails.

    ``fine`` are attributes of the source beside its domain, which may be asked for by themselves alone: where inside its
    bins a column's values lie.

    ``journal`` has every answer on record before it leaves. Of a run that is resumed it knows the first answers: these
    are charged again to this door's own budget, and given as they were, without a read and without fresh noise. The
    first fresh question then reads the table, and is refused when it is not the table that the run began with.

    ``after`` is the door that the same run asked before, of the same table: that one knows which table it began with.
    """

    __slots__ = ("_clocks", "_domain", "_filter", "_fine", "_journal", "_noise", "_read", "_texts", "_unit")

    def __init__(
        self,
        source: Source,
        budget: Budget | Filter,
        *,
        unit: Unit = Unit.ADD_REMOVE,
        noise: Noise | None = None,
        expect: Iterable[Clique] = (),
        journal: Journal | None = None,
        fine: Domain = NOTHING,
        after: Door | None = None,
    ) -> None:
        self._domain: Domain = source.domain
        self._fine = fine
        self._unit = unit
        self._noise: Noise = SecureNoise() if noise is None else noise
        self._filter = budget if isinstance(budget, Filter) else Filter(budget.rho)
        self._journal: Journal = NoJournal() if journal is None else journal
        self._clocks: list[Stopwatch] = []
        expected = [*(self._domain.clique(clique) for clique in expect), *((name,) for name in fine)]
        self._read: Read = _reader(
            source, fine, expected, self._journal, self._clocks, before=None if after is None else after._read
        )
        self._texts = _texts_of(source)

    @property
    def domain(self) -> Domain:
        """The declared domain."""
        return self._domain

    @property
    def fine(self) -> Domain:
        """The attributes that may be asked for by themselves alone."""
        return self._fine

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
    def journal(self) -> Journal:
        """Where answers are put on record."""
        return self._journal

    def timed(self, clock: Callable[[], float]) -> Stopwatch:
        """Return a clock that stands still while this door reads, and while it draws a choice.

        How long these take depends on the rows, on the exact scores, and so may decide nothing.
        """
        self._clocks.append(Stopwatch(clock))
        return self._clocks[-1]

    def ask(self, question: Asked[A]) -> A:
        """Answer ``question``: the answer on record if it was asked before, else a fresh one that is paid for first."""
        request = self._inquired(question)
        domain = _domain_of(question, self._domain, self._fine)
        outcome = self._recalled(question, request, domain)
        if outcome is None:
            question.require(domain)  # here, since what was answered before need not be estimated again
            outcome = self._drawn(question, request, domain)
        outcome.setflags(write=False)
        return question.answer(outcome, Receipt(domain, self._unit, request.cost, self.private))

    def measure(self, clique: Iterable[str], *, scale: float, noise: NoiseKind = "gaussian") -> Measurement:
        """Ask for a marginal."""
        return self.ask(Marginal(self._domain.clique(clique), scale, noise))

    def select(self, candidates: Sequence[Candidate], *, epsilon: float) -> Selection:
        """Ask for a choice."""
        return self.ask(Choices(candidates, epsilon)).chosen[0]

    def distances(self, estimates: Sequence[Candidate], *, sigma: float) -> Distances:
        """Ask for distances."""
        return self.ask(DistancesTo(estimates, sigma))

    def _inquired(self, question: Asked[object]) -> Inquiry:
        """Return the question as it is put on record."""
        terms = {**question.terms(self._unit), "unit": self._unit.value}
        return Inquiry(question.cost(self._unit), question.purpose, terms)

    def _recalled(self, question: Asked[object], request: Inquiry, domain: Domain) -> Counts | None:
        """Return the answer on record, if this was asked before. It was paid for then; the filter counts it now."""
        kept = self._journal.recall(request)
        if kept is None:
            return None
        sized = not isinstance(question, Question) or kept.size == question.size(domain)
        if not sized or not question.fits(kept):
            raise FormatError(f"{request.purpose}: the answer on record does not fit the question. Start a new run.")
        self._filter.charge(request.cost, request.purpose)
        return kept

    def _drawn(self, question: Asked[object], request: Inquiry, domain: Domain) -> Counts:
        """Charge, read and draw, put on record, and only then hand out: what is not on record, nobody has seen."""
        if not isinstance(question, Question | Shared | Rest):
            raise InternalError(f"{request.purpose}: a question is about counts, or about texts. Report this.")
        mask = question.mask(self._unit)
        self._pay(request, mask)
        outcome = (
            self._of_counts(question, mask, domain) if isinstance(question, Question) else self._of_texts(question, mask)
        )
        self._journal.commit(request, outcome)
        return outcome

    def _of_counts(self, question: Question[object], mask: Mask, domain: Domain) -> Counts:
        """Return the noisy outcome of a question about counts, which has as many numbers as it stated."""
        size = question.size(domain)
        exact = question.exact(_Counted(self._read, question.reads, domain)).reshape(-1)
        if mask.kind != "selection" and exact.size != size:
            raise InternalError(
                f"{question.purpose}: the question has another number of answers than it stated. Report this."
            )
        return self._masked(exact, mask)

    def _of_texts(self, question: Shared | Rest, mask: Mask) -> Counts:
        """Return the texts whose noisy counts reach the threshold, with these."""
        self._read(())  # the journal learns which table this is
        texts, exact = self._texts(question)
        return question.told(texts, self._masked(exact, mask), self._unit)

    def _pay(self, request: Inquiry, mask: Mask) -> None:
        """Charge, unless it is over budget or OpenDP states a higher cost for the noise that will be drawn."""
        self._filter.check(request.cost, request.purpose)
        if not mask.draws * second_opinion(mask.kind, mask.scale, mask.sensitivity) <= request.cost * (1 + _ROUNDING):
            raise InternalError("The noise would cost more than is charged for it. Nothing was read; report this.")
        if self._journal.bound:
            self._read(())  # of a run that goes on: another table is refused before anything is spent on it
        self._filter.charge(request.cost, request.purpose)

    def _masked(self, exact: Counts, mask: Mask) -> Counts:
        """Return the numbers with their noise, or the places of those that were selected, one after another."""
        if mask.kind == "selection":
            places, left = [], np.arange(exact.size)
            with _standing(self._clocks):
                for _ in range(mask.draws):
                    places.append(left[self._noise.select(exact[left], mask.scale)])
                    left = left[left != places[-1]]
            return np.array(places, dtype=np.int64)
        return (self._noise.gaussian if mask.kind == "gaussian" else self._noise.laplace)(exact, mask.scale)

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise BudgetError("A door cannot be copied or pickled: it holds private counts, and a budget that is spent once.")

    def __repr__(self) -> str:
        note = "" if self.private else ", NOT PRIVATE"
        return f"Door({len(self._domain)} attributes, {self._unit.value}, {self._filter!r}{note})"


class _Counted(Sequence[Counts]):
    """The exact counts of ``cliques``, read when they are taken: one by one, or a block after another."""

    def __init__(self, read: Read, cliques: Sequence[Clique], domain: Domain) -> None:
        self._read, self._cliques, self._domain = read, cliques, domain

    def __len__(self) -> int:
        return len(self._cliques)

    @overload
    def __getitem__(self, place: int) -> Counts: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[Counts]: ...

    def __getitem__(self, place: int | slice) -> Counts | Sequence[Counts]:
        return self._read(self._cliques[place]) if isinstance(place, slice) else self._read([self._cliques[place]])[0]

    def __iter__(self) -> Iterator[Counts]:
        block: list[Clique] = []
        cells = 0
        for clique in self._cliques:
            block.append(clique)
            cells += self._domain.cells(clique)
            if cells >= BLOCK_CELLS:
                yield from self._read(block)
                block, cells = [], 0
        yield from self._read(block)


def _domain_of(question: Asked[object], domain: Domain, fine: Domain) -> Domain:
    """Return the domain that a question is about: the declared one, unless it reads an attribute inside bins alone."""
    reads = question.reads if isinstance(question, Question) else ()
    return fine if len(reads) == 1 and _is_fine(reads[0], fine) else domain


def _is_fine(clique: Clique, fine: Domain) -> bool:
    return len(clique) == 1 and clique[0] in fine


def _reader(
    source: Source, fine: Domain, expect: list[Clique], journal: Journal, clocks: list[Stopwatch], *, before: Read | None
) -> Read:
    """Return the function that reads exact counts; it alone holds the source and the counts already read.

    The counts that were asked for last are held, within a limit; others are counted again.
    The first read also tells the journal which table this is, where one is kept; or has what reads ``before`` tell it.
    """
    known: dict[Clique, Counts] = {}
    marks = [*fingerprinted(source.domain), *((name,) for name in fine)] if journal.keeps and before is None else []
    first = [*expect, *marks]
    earlier = [] if before is None else [before]
    spelled: Callable[[], Iterable[tuple[list[str], Counts]]] = getattr(source, "spelled", tuple)

    def read(cliques: Sequence[Clique]) -> list[Counts]:
        for told in earlier:
            with _standing(clocks):
                told(())
        earlier.clear()
        missing = [c for c in dict.fromkeys([*cliques, *first]) if c not in known]
        if missing:
            with _standing(clocks):
                known.update(zip(missing, _counted(source, fine, missing), strict=True))
        if marks:
            with _standing(clocks):
                journal.bind(lambda key: fingerprint(key, marks, [known[c] for c in marks], spelled()))
            for clique in {*marks} - {*cliques, *expect}:
                del known[clique]
            marks.clear()
        first.clear()
        found = [known.pop(c) for c in dict.fromkeys(cliques)]
        known.update(zip(dict.fromkeys(cliques), found, strict=True))  # last in line to be let go
        asked = dict(zip(dict.fromkeys(cliques), found, strict=True))
        _let_go(known)
        return [asked[c] for c in cliques]

    return read


@contextmanager
def _standing(clocks: Sequence[Stopwatch]) -> Iterator[None]:
    """Have all clocks stand still."""
    with ExitStack() as still:
        for clock in clocks:
            still.enter_context(clock.still())
        yield


def _texts_of(source: Source) -> Callable[[Shared | Rest], tuple[list[Any], Counts]]:
    """Return what reads the texts that a question is about; only a table without a declaration can tell them."""
    of_one: Callable[[str], tuple[list[Any], Counts]] | None = getattr(source, "texts", None)
    of_rest: Callable[..., tuple[list[Any], Counts]] | None = getattr(source, "rest", None)

    def read(question: Shared | Rest) -> tuple[list[Any], Counts]:
        if isinstance(question, Shared) and of_one is not None:
            return of_one(question.attribute)
        if isinstance(question, Rest) and of_rest is not None:
            return of_rest(dict(question.known), WHOLE)
        raise InternalError("Texts can be asked for only before anything is declared. Report this.")

    return read


def _let_go(known: dict[Clique, Counts]) -> None:
    """Forget the counts that were not asked for the longest, until the rest is within the limit."""
    held = sum(counts.nbytes for counts in known.values())
    for clique in list(known):
        if held <= HELD_BYTES:
            break
        held -= known.pop(clique).nbytes


def _counted(source: Source, fine: Domain, cliques: Sequence[Clique]) -> list[Counts]:
    """Count, and check that the source keeps its contract: int64 all the way, in the declared shapes."""
    counts = source.count(cliques)
    shapes = [(fine if _is_fine(clique, fine) else source.domain).shape(clique) for clique in cliques]
    if [c.shape for c in counts] != shapes or any(c.dtype != np.int64 for c in counts):
        raise InternalError("A source must count in int64, one array per marginal, in its declared shape.")
    return counts
