"""Texts that many share: paid for before they are read, masked as stated, told only above a threshold that delta sets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from math import exp
from traceback import format_exception
from typing import Any

import numpy as np
import pytest

from contracts.questions import Kept
from privacy.fakes import ForbiddenSource, RecordingNoise
from understudy.domain import Clique, Domain
from understudy.errors import BudgetError, BudgetExceeded, FormatError, InternalError, SchemaError
from understudy.privacy import Budget, Door, Filter, Shared, Unit, gaussian_cost
from understudy.privacy.noise import Counts
from understudy.schema.person import Person
from understudy.source.undeclared import UndeclaredSource

DOMAIN = Domain.of({"town": 3})
ASKED = Shared("town", 3.0, 1e-6)
UNITS = [Unit(kind, rows) for kind in ("add-remove", "replace") for rows in (1, 4)]  # type: ignore[arg-type]


class Towns(ForbiddenSource):
    """Tells texts; counts nothing."""

    def __init__(self, texts: Sequence[str]) -> None:
        super().__init__(DOMAIN)
        self.found = Counter(texts)
        self.asked = 0

    def count(self, cliques: Sequence[Clique]) -> list[Counts]:
        assert not list(cliques)
        return []

    def texts(self, column: str) -> tuple[list[str], Counts]:
        self.asked += 1
        return sorted(self.found), np.array([self.found[text] for text in sorted(self.found)], np.int64)


@pytest.mark.promise(36)
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.value)
@pytest.mark.parametrize(("sigma", "delta"), [(0.3, 1e-3), (1.0, 1e-9), (3.0, 1e-6), (40.0, 1e-12)])
def test_what_one_unit_alone_has_is_told_with_a_chance_of_delta_at_most(unit: Unit, sigma: float, delta: float) -> None:
    threshold = Shared("town", sigma, delta).threshold(unit)
    weight = {k: exp(-(k * k) / (2 * sigma * sigma)) for k in range(-int(45 * sigma) - 45, int(45 * sigma) + 46)}
    tail = sum(p for k, p in weight.items() if k >= threshold - unit.rows) / sum(weight.values())
    apart = 2 * unit.rows if unit.kind == "replace" else unit.rows  # so many texts, with all rows in each: more than can be
    assert apart * tail <= delta


@pytest.mark.promise(36)
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.value)
@pytest.mark.parametrize(("sigma", "delta"), [(0.3, 1e-3), (1.0, 1e-9), (3.0, 1e-6), (40.0, 1e-12)])
def test_a_text_with_as_many_rows_as_are_stated_is_told_with_no_more_than_the_stated_chance(
    unit: Unit, sigma: float, delta: float
) -> None:
    asked, chance = Shared("town", sigma, delta), 4 * delta
    weight = {k: exp(-(k * k) / (2 * sigma * sigma)) for k in range(-int(45 * sigma) - 45, int(45 * sigma) + 46)}

    def told(rows: int) -> float:
        return sum(p for k, p in weight.items() if k >= asked.threshold(unit) - rows) / sum(weight.values())

    stated = asked.rare(unit, chance)
    assert told(stated) <= chance
    assert told(stated + 3) > chance  # and it is not stated far too low
    assert asked.rare(unit, 0.6) == asked.threshold(unit) - 1
    assert asked.rare(unit, 1e-300) == 0


@pytest.mark.promise(36)
@pytest.mark.promise(11)
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.value)
def test_it_costs_what_neighbours_move(unit: Unit) -> None:
    rng = np.random.default_rng(3)
    rest = ["a"] * 5 + ["b"] * 5 + ["c"] * 5
    for alike in (True, False):
        mine, other = (["a"] * unit.rows if alike else rng.choice(["a", "b", "c"], unit.rows).tolist() for _ in range(2))
        changed = [*rest, *(["b"] * unit.rows if alike else other)] if unit.kind == "replace" else rest
        one, two = (np.array([Counter(t)[x] for x in "abc"]) for t in ([*rest, *mine], changed))
        moved = int(((one - two) ** 2).sum())
        assert Fraction(moved) / (2 * Fraction(3.0) ** 2) <= ASKED.cost(unit) == gaussian_cost(3.0, unit)


@pytest.mark.promise(36)
def test_the_door_gives_the_exact_counts_to_the_noise_that_was_paid_for_and_tells_what_reaches_the_threshold() -> None:
    noise = RecordingNoise()
    door = Door(Towns(["x"] * 9 + ["y"] * 4), Budget.of(rho=10), noise=noise)
    found = door.ask(ASKED)
    ((kind, exact, scale),) = noise.exact
    assert (kind, exact.tolist(), scale) == ("gaussian", [9, 4], 3.0)
    drawn = np.random.default_rng(0).integers(-50, 50, 2)  # what this noise answers
    told = [(text, int(value)) for text, value in zip("xy", drawn, strict=True) if value >= ASKED.threshold(Unit.ADD_REMOVE)]
    assert list(zip(found.texts, found.values.tolist(), strict=True)) == told
    assert found.rho == door.filter.spent == ASKED.cost(Unit.ADD_REMOVE)
    assert (found.private, found.values.flags.writeable) == (False, False)


@pytest.mark.promise(36)
def test_no_rare_text_is_told_whatever_the_noise() -> None:
    texts = ["often"] * 400 + [f"rare {i}" for i in range(300)]
    for _ in range(20):
        found = Door(Towns(texts), Budget.of(rho=10)).ask(ASKED)
        assert found.texts == ("often",)
        assert found.private


@pytest.mark.promise(9)
def test_what_is_over_budget_is_refused_unread() -> None:
    source = Towns(["x"])
    door = Door(source, Filter(ASKED.cost(Unit.ADD_REMOVE) * (1 - Fraction(1, 10**30))))
    with pytest.raises(BudgetExceeded, match="Nothing was read"):
        door.ask(ASKED)
    with pytest.raises(SchemaError):
        Door(source, Budget.of(rho=10)).ask(Shared("city", 3.0, 1e-6))
    assert (source.asked, door.filter.spent) == (0, 0)


@pytest.mark.promise(7)
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.value)
def test_the_second_accountant_is_asked_about_all_that_neighbours_move(unit: Unit, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[object, ...]] = []

    def opinion(*about: object) -> Fraction:
        asked.append(about)
        return Fraction(0)

    monkeypatch.setattr("understudy.privacy.door.second_opinion", opinion)
    Door(Towns(["x"]), Budget.of(rho=100), unit=unit).ask(ASKED)
    assert asked == [("gaussian", 3.0, unit.l2_squared)]


@pytest.mark.promise(36)
def test_free_text_and_what_cannot_be_seen_is_never_told() -> None:
    """However many have it: a long text may hold anything, and marks that hide or turn text would hide it from a reader."""
    told = ["x" * 100, "a\u00e9", '"', "=1+1"]
    never = ["x" * 101, "a\nb", "a\x00", "\u202eabc", "a\u200b", "\ue000", "", "  "]
    texts, counts = UndeclaredSource({"town": (told + never) * 50}, ["town"], None).texts("town")
    assert (texts, counts.tolist()) == (sorted(told), [50] * len(told))


@pytest.mark.promise(31)
def test_a_table_that_fails_while_its_texts_are_read_is_not_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: object, values: object) -> None:
        raise ValueError(f"CANARY {values}")

    monkeypatch.setattr("understudy.source.undeclared.Speller.encode", fail)
    with pytest.raises(InternalError) as caught:
        UndeclaredSource({"town": ["CANARY"]}, ["town"], None).texts("town")
    shown = "".join(format_exception(caught.value))
    assert "ValueError" in str(caught.value)
    assert "CANARY [" not in shown
    assert caught.value.__context__ is None


def test_an_answer_on_record_comes_back_unread_and_is_counted_again() -> None:
    log = Kept()
    first = Door(Towns(["Köln"] * 900), Budget.of(rho=10), journal=log).ask(ASKED)
    source = Towns([])
    again = Door(source, Budget.of(rho=10), journal=log)
    found = again.ask(ASKED)
    assert (found.texts, found.values.tolist()) == (first.texts, first.values.tolist()) == (("Köln",), first.values.tolist())
    assert (source.asked, again.filter.spent) == (0, first.rho)
    (name,) = log.kept
    log.kept[name] = log.kept[name][:-1]
    with pytest.raises(FormatError, match="does not fit"):
        again.ask(ASKED)


def test_a_declared_table_has_no_texts_to_tell() -> None:
    with pytest.raises(InternalError, match="before anything is declared"):
        Door(DeclaredTable(DOMAIN), Budget.of(rho=10)).ask(ASKED)


class DeclaredTable(ForbiddenSource):
    def count(self, cliques: Sequence[Clique]) -> list[Counts]:
        return []


@pytest.mark.parametrize("wrong", [{"sigma": 0.0}, {"delta": 0.0}, {"delta": 1.0}])
def test_what_cannot_be_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(BudgetError):
        Shared(**{"attribute": "town", "sigma": 1.0, "delta": 1e-6, **wrong})


@pytest.mark.promise(16)
def test_a_person_counts_with_so_many_rows_whatever_the_others_have(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("understudy.source.undeclared.secrets.token_bytes", bytes)
    people = [{"who": f"p{i}", "town": ["x", "y", "z"][i % 3]} for i in range(30)]
    mine = [{"who": "me", "town": "mine" if i % 2 else "x"} for i in range(1000)]

    def told(rows: list[dict[str, str]]) -> Counter[str]:
        table = {name: [row[name] for row in rows] for name in ("who", "town")}
        texts, counts = UndeclaredSource(table, ["town"], Person("who", 5, ())).texts("town")
        return Counter(dict(zip(texts, counts.tolist(), strict=True)))

    rest = told(people)
    assert sum((told([*people, *mine]) - rest).values()) == 5
    assert told([*mine, *people]) == told([*people, *mine])
    more = told([{"who": "first", "town": "aaa"}, *people, *mine])
    assert more - told([*people, *mine]) == Counter({"aaa": 1})  # which rows of mine are used depends on me alone
