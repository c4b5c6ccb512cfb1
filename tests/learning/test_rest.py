"""Texts of several columns beside those that are known: a row adds one at most, however many columns there are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product
from math import exp
from traceback import format_exception
from typing import Any

import numpy as np
import pytest

from contracts.questions import Kept
from privacy.fakes import ForbiddenSource, RecordingNoise
from understudy.domain import Clique, Domain
from understudy.errors import BudgetError, BudgetExceeded, FormatError, InternalError, SchemaError
from understudy.privacy import WHOLE, Budget, Door, Filter, Rest, Unit, gaussian_cost
from understudy.privacy.noise import Counts
from understudy.privacy.questions.shared import packed
from understudy.schema.person import Person
from understudy.source.undeclared import UndeclaredSource

NAMES = ("town", "ward", "job")
KNOWN = (("town", ("x",)), ("ward", ()), ("job", ("y", "z")))
ASKED = Rest(KNOWN, 3.0, 1e-6)
UNITS = [Unit(kind, rows) for kind in ("add-remove", "replace") for rows in (1, 4)]  # type: ignore[arg-type]
NOISES = [(0.3, 1e-3), (1.0, 1e-9), (3.0, 1e-6), (40.0, 1e-12)]
Row = tuple[str | None, ...]


def rest(rows: Sequence[Row], person: Person | None = None, known: Any = KNOWN) -> Counter[tuple[str, str]]:
    """Count by the source; what a row says last is who it is of."""
    table = {name: [row[i] for row in rows] for i, name in enumerate((*NAMES, "who"))}
    texts, counts = UndeclaredSource(table, NAMES, person).rest(dict(known), WHOLE)
    return Counter(dict(zip(texts, counts.tolist(), strict=True)))


def squared(one: Mapping[Any, int], two: Mapping[Any, int]) -> int:
    return sum((one.get(key, 0) - two.get(key, 0)) ** 2 for key in {*one, *two})


class Tells(ForbiddenSource):
    """Tells texts of a small table; counts nothing."""

    def __init__(self, rows: Sequence[Row]) -> None:
        super().__init__(Domain.of(dict.fromkeys(NAMES, 3)))
        self.rows, self.asked = rows, 0

    def count(self, cliques: Sequence[Clique]) -> list[Counts]:
        assert not list(cliques)
        return []

    def rest(self, known: Mapping[str, Sequence[str]], whole: int) -> tuple[list[tuple[str, str]], Counts]:
        self.asked += 1
        found = rest(self.rows, known=known)
        return [*found], np.array([*found.values()], np.int64)


def test_a_row_counts_for_what_is_not_known_of_it_and_whole_where_that_is_one_text() -> None:
    assert rest([("x", "a", "y", "")]) == {("ward", "a"): WHOLE}
    assert rest([("b", "a", "y", "")]) == {("town", "b"): WHOLE}  # nothing is known of wards: they come last
    assert rest([("b", "a", "c", "")]) == {("town", "b"): 724, ("job", "c"): 724}  # WHOLE / √2, rounded down
    assert rest([(None, "a", "y", "")]) == {("town", ""): WHOLE}  # a missing value is a text of its own
    assert rest([("x", "x" * 101, "z", "")]) == {}
    assert rest([("b", "a", "c", "")], known=[(name, ()) for name in NAMES]) == dict.fromkeys(
        [("town", "b"), ("ward", "a"), ("job", "c")], 591
    )
    assert rest([("b", "a", "c", "")] * 3 + [("b", "d", "y", "")]) == {("town", "b"): 3 * 724 + WHOLE, ("job", "c"): 3 * 724}


@pytest.mark.promise(36)
@pytest.mark.promise(11)
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.value)
def test_it_costs_what_neighbours_move(unit: Unit) -> None:
    """Every row against every other, with what was known or not; rows of a unit alike, which adds up to most."""
    others: list[Row] = [("x", "a", "y", "o"), ("b", "a", "c", "o"), (None, "q", "r", "o")]
    kinds: list[Row] = [(*texts, "me") for texts in product(("x", "b", None), ("a", None), ("y", "c", "n"))]
    for mine in kinds:
        more = [*others, *[mine] * unit.rows]
        for changed in [[]] if unit.kind == "add-remove" else [[other] * unit.rows for other in kinds]:
            moved = squared(rest(more), rest([*others, *changed]))
            assert moved <= ASKED.mask(unit).sensitivity
            assert Fraction(moved, WHOLE**2) / (2 * Fraction(3.0) ** 2) <= ASKED.cost(unit)
    assert ASKED.cost(unit) == gaussian_cost(3.0, unit)
    assert ASKED.mask(unit).scale == 3.0 * WHOLE


@pytest.mark.promise(36)
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.value)
@pytest.mark.parametrize(("sigma", "delta"), NOISES)
def test_what_one_unit_alone_has_is_told_with_a_chance_of_delta_at_most(unit: Unit, sigma: float, delta: float) -> None:
    threshold = Rest(KNOWN, sigma, delta).threshold(unit)
    apart = 2 * unit.rows if unit.kind == "replace" else unit.rows
    assert len(KNOWN) * apart * tail(threshold - unit.rows * WHOLE, sigma) <= delta


@pytest.mark.promise(36)
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.value)
@pytest.mark.parametrize(("sigma", "delta"), NOISES)
def test_a_text_with_as_many_rows_as_are_stated_is_told_with_no_more_than_the_stated_chance(
    unit: Unit, sigma: float, delta: float
) -> None:
    asked, chance = Rest(KNOWN, sigma, delta), 4 * delta
    stated = asked.rare(unit, chance)
    assert stated >= 0
    assert tail(asked.threshold(unit) - stated * WHOLE, sigma) <= chance
    assert tail(asked.threshold(unit) - (stated + 2) * WHOLE, sigma) > chance  # and it is not stated far too low
    assert asked.rare(unit, 1e-300) == 0


def tail(least: int, sigma: float) -> float:
    """Return the chance that discrete noise of ``sigma`` rows reaches so many parts of a row."""
    scale = sigma * WHOLE
    steps = np.arange(-int(45 * scale), int(45 * scale) + 1, dtype=np.float64)
    weight = np.exp(-(steps**2) / (2 * scale**2))
    return float(weight[steps >= least].sum() / weight.sum()) if least <= steps[-1] else exp(-700)


@pytest.mark.promise(36)
def test_the_door_gives_the_exact_counts_to_the_noise_that_was_paid_for_and_tells_what_reaches_the_threshold() -> None:
    noise, small = RecordingNoise(), Rest(KNOWN, 1e-3, 0.9)
    rows: list[Row] = [("b", "a", "y", "")] * 9 + [("x", "a", "y", "")] * 4
    door = Door(Tells(rows), Budget.of(rho=10**7), noise=noise)
    found = door.ask(small)
    ((kind, exact, scale),) = noise.exact
    assert (kind, exact.tolist(), scale) == ("gaussian", [9 * WHOLE, 4 * WHOLE], 1e-3 * WHOLE)
    drawn = np.random.default_rng(0).integers(-50, 50, 2)  # what this noise answers
    assert max(drawn) < small.threshold(Unit.ADD_REMOVE)
    assert found.texts == ()
    assert found.rho == door.filter.spent == small.cost(Unit.ADD_REMOVE)
    assert (found.private, found.values.flags.writeable) == (False, False)
    texts = [("town", "b"), ("ward", "a"), ("job", "c")]
    least = ASKED.threshold(Unit.ADD_REMOVE)
    told = ASKED.told(texts, np.array([least, least - 1, least + 1]), Unit.ADD_REMOVE)
    assert told.tolist() == packed([(("town", "b"), least), (("job", "c"), least + 1)]).tolist()


@pytest.mark.promise(36)
def test_no_rare_text_is_told_whatever_the_noise() -> None:
    rows: list[Row] = [("often", "a", "y", "")] * 400 + [(f"rare {i}", f"own {i}", f"job {i}", "") for i in range(300)]
    for _ in range(20):
        found = Door(Tells(rows), Budget.of(rho=10)).ask(ASKED)
        assert found.texts == (("town", "often"),)  # wards come last, and all other rows have a town of their own
        assert found.private


@pytest.mark.promise(9)
def test_what_is_over_budget_is_refused_unread() -> None:
    source = Tells([("x", "a", "y", "")])
    door = Door(source, Filter(ASKED.cost(Unit.ADD_REMOVE) * (1 - Fraction(1, 10**30))))
    with pytest.raises(BudgetExceeded, match="Nothing was read"):
        door.ask(ASKED)
    with pytest.raises(SchemaError):
        Door(source, Budget.of(rho=10)).ask(Rest((("city", ()),), 3.0, 1e-6))
    assert (source.asked, door.filter.spent) == (0, 0)


@pytest.mark.promise(7)
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.value)
def test_the_second_accountant_is_asked_about_all_that_neighbours_move(unit: Unit, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[object, ...]] = []

    def opinion(*about: object) -> Fraction:
        asked.append(about)
        return Fraction(0)

    monkeypatch.setattr("understudy.privacy.door.second_opinion", opinion)
    Door(Tells([("x", "a", "y", "")]), Budget.of(rho=100), unit=unit).ask(ASKED)
    assert asked == [("gaussian", 3.0 * WHOLE, unit.l2_squared * WHOLE**2)]


def test_an_answer_on_record_comes_back_unread_and_is_counted_again() -> None:
    log = Kept()
    first = Door(Tells([("Köln", "a", "y", "")] * 900), Budget.of(rho=10), journal=log).ask(ASKED)
    source = Tells([])
    again = Door(source, Budget.of(rho=10), journal=log)
    found = again.ask(ASKED)
    assert (found.texts, found.values.tolist()) == (first.texts, first.values.tolist())
    assert found.texts == (("town", "Köln"),)
    assert (source.asked, again.filter.spent) == (0, first.rho)
    (name,) = log.kept
    for wrong in (log.kept[name][:-1], packed([(("city", "Köln"), 9)]), packed([(("town", 3), 9)]), packed([1])):
        log.kept[name] = wrong
        with pytest.raises(FormatError, match="does not fit"):
            again.ask(ASKED)


def test_a_declared_table_has_no_texts_to_tell() -> None:
    class Declared(ForbiddenSource):
        def count(self, cliques: Sequence[Clique]) -> list[Counts]:
            return []

    with pytest.raises(InternalError, match="before anything is declared"):
        Door(Declared(Domain.of(dict.fromkeys(NAMES, 3))), Budget.of(rho=10)).ask(ASKED)


@pytest.mark.parametrize("wrong", [{"sigma": 0.0}, {"delta": 0.0}, {"delta": 1.0}, {"known": ()}, {"known": KNOWN + KNOWN}])
def test_what_cannot_be_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(BudgetError):
        Rest(**{"known": KNOWN, "sigma": 1.0, "delta": 1e-6, **wrong})


@pytest.mark.promise(31)
def test_a_table_that_fails_while_its_texts_are_read_is_not_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: object, values: object) -> None:
        raise ValueError(f"CANARY {values}")

    monkeypatch.setattr("understudy.source.undeclared.Speller.encode", fail)
    with pytest.raises(InternalError) as caught:
        rest([("CANARY", "a", "y", "")])
    assert "CANARY [" not in "".join(format_exception(caught.value))
    assert caught.value.__context__ is None


@pytest.mark.promise(16)
def test_a_person_counts_with_so_many_rows_whatever_the_others_have(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("understudy.source.undeclared.secrets.token_bytes", bytes)
    person = Person("who", 5, ())
    people: list[Row] = [(["x", "b", "c"][i % 3], "a", "yzr"[i % 3], f"p{i}") for i in range(30)]
    mine: list[Row] = [("mine" if i % 2 else "b", "a", "y", "me") for i in range(1000)]
    others = rest(people, person)
    assert sum((rest([*people, *mine], person) - others).values()) == 5 * WHOLE
    assert squared(rest([*mine, *people], person), others) <= 25 * WHOLE**2
    assert rest([*mine, *people], person) == rest([*people, *mine], person)
