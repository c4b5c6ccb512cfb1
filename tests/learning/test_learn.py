"""A schema that is learnt: right about what is plain, private about what is rare, paid for, and on record."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

from contracts.tape import Tape, differences, frozen_entropy
from understudy import Csv, Ledger, check_schema, learn_schema, load_schema, synthesize
from understudy.cli.ledger import describe
from understudy.errors import BudgetExceeded, SchemaError, SourceError, UserError
from understudy.manifest.promise import rounded_up
from understudy.privacy import WHOLE, Budget, Door, Inquiry, Rest, Unit, epsilon_of, rho_of
from understudy.privacy.cost import float_below
from understudy.release.toml import schema_toml
from understudy.request import TEXTS_SHARE
from understudy.schema.ladder import Climber, ladder
from understudy.schema.listed import Listed
from understudy.schema.person import Person
from understudy.schema.spelling import spelled_name
from understudy.source.undeclared import UndeclaredSource

ROWS = 6_000


def table(rows: int = ROWS, seed: int = 0) -> dict[str, list[Any]]:
    rng = np.random.default_rng(seed)
    return {
        "age": rng.normal(40, 12, rows).round().clip(0, 95).astype(int).tolist(),
        "gain": np.where(rng.random(rows) < 0.5, 0, rng.integers(1000, 90_000, rows)).tolist(),
        "price": rng.uniform(-2, 9, rows).round(2).tolist(),
        "town": [["Paris", "Lyon", "Nice", None][i % 4] if i % 100 else f"rare {i}" for i in range(rows)],
        "day": [date(2010, 1, 1) + timedelta(int(i)) for i in rng.integers(0, 2000, rows)],
        "seen": [str(datetime(2020, 5, 1, 7) + timedelta(hours=int(i))) for i in rng.integers(0, 9000, rows)],
        "paid": ["yes" if x else "no" for x in rng.random(rows) < 0.3],
        "name": [f"somebody {i}" for i in range(rows)],
    }


@pytest.mark.promise(36)
def test_kinds_bounds_bins_and_texts(tmp_path: Path) -> None:
    rows = table()
    learnt = learn_schema(rows, epsilon=8)
    kinds = {column.name: column.kind for column in learnt.columns}
    assert kinds == {
        **{"age": "integer", "gain": "integer", "price": "real", "town": "categorical", "day": "date"},
        **{"seen": "datetime", "paid": "categorical"},
    }  # no name is shared by many
    town = learnt["town"]
    assert isinstance(town, Listed)
    assert town.values == ("Lyon", "Nice", "Paris")
    assert (town.other_value, town.nullable) == ("(other)", True)
    assert "0" in learnt["gain"].labels  # half of the rows have it: a bin of its own, whatever noise puts below it
    wide = np.bincount(learnt["age"].encode(pa.array(rows["age"])))
    assert len(wide) > 10
    assert wide[:-1].max() < 0.15 * ROWS
    assert {m.column: m.rows for m in check_schema(rows, learnt) if m.rows > 0.05 * ROWS} == {}
    (tmp_path / "s.toml").write_text(schema_toml(learnt.declaration))
    again = load_schema(tmp_path / "s.toml")
    assert again.declaration == learnt.declaration
    release = synthesize(rows, again, epsilon=1, workload="all-2way", mechanism="independent", rows=100)
    assert "learnt from the rows under differential privacy with epsilon = 8" in " ".join(release.card.split())


@pytest.mark.promise(36)
def test_it_spends_what_it_says_and_its_ledger_knows(tmp_path: Path) -> None:
    book = Ledger.create(tmp_path / "l")
    book.declare("t", Budget.of(epsilon=1, delta=1e-9))
    rows = {name: values for name, values in table().items() if name in ("age", "town", "paid")}
    learn_schema(rows, epsilon=0.5, ledger=book, dataset="t")
    spent = book.state().dataset("t").spent
    assert 0 < spent <= Budget.of(epsilon=0.5, delta=1e-9).rho
    with pytest.raises(BudgetExceeded):
        learn_schema(rows, epsilon=1, ledger=book, dataset="t")
    assert book.state().dataset("t").spent == spent
    with pytest.raises(SchemaError, match="Nothing could be learnt"):
        learn_schema({"age": [1, 2]}, epsilon=0.1)


@pytest.mark.promise(36)
def test_the_ledger_adds_up_what_texts_take_of_delta(tmp_path: Path) -> None:
    """The promise over all runs holds at the dataset's own delta: rho is turned into epsilon at what texts leave of it."""
    book = Ledger.create(tmp_path / "l")
    book.declare("t", Budget.of(epsilon=2, delta=1e-9))
    rows = {"town": table()["town"]}
    learnt = learn_schema(rows, epsilon=1, ledger=book, dataset="t")
    taken, cost = Fraction(0), learnt.table.learnt
    assert cost is not None
    assert cost.rho is not None
    for times in (1, 2, 3):
        found = book.state().dataset("t")
        taken += Fraction(cost.texts)
        assert found.delta_beside == taken
        assert found.most(taken) == Fraction(rho_of(2, float_below(Fraction(1e-9) - taken)))
        assert found.left == (found.most(taken) or 0) - found.spent
        shown = describe(found)
        assert Fraction(shown["cap"]["exact"]) == Fraction(shown["spent"]["exact"]) + Fraction(shown["left"]["exact"])
        assert shown["cap"]["epsilon"] == 2
        assert found.epsilon_of(found.spent) == epsilon_of(found.spent, float_below(Fraction(1e-9) - taken))
        if times < 3:
            learn_schema(rows, epsilon=0.1, ledger=book, dataset="t")
    spent = book.state().dataset("t").spent
    with pytest.raises(BudgetExceeded, match="of delta for texts"):
        learn_schema(rows, epsilon=0.1, delta=2e-9, ledger=book, dataset="t")
    with pytest.raises(BudgetExceeded, match="spent or reserved"):
        book.cap("t", Budget.of(epsilon=2, delta=7e-10))
    assert book.state().dataset("t").spent == spent
    release = synthesize(rows, learnt, epsilon=1, workload="all-1way", mechanism="independent", rows=50)
    left = float_below(Fraction(1e-9) - Fraction(cost.texts))
    together = epsilon_of(Fraction(cost.rho) + Budget.of(epsilon=1, delta=1e-9).rho, left)
    assert 1 < together < 2
    said = f"with this release epsilon = {rounded_up(together)}, delta = 1e-9"
    assert said in str(release)
    assert said.replace("release ", "release it is ") in " ".join(release.card.split())


@pytest.mark.promise(36)
def test_the_card_says_below_which_number_of_rows_no_text_is_shown() -> None:
    rows = {"town": table()["town"], "ward": table(seed=1)["town"]}
    learnt = learn_schema(rows, epsilon=1)
    cost = learnt.table.learnt
    assert cost is not None
    assert cost.threshold is not None
    assert cost.rare is not None
    assert 0 < cost.rare < cost.threshold
    release = synthesize(rows, learnt, epsilon=1, workload="all-1way", mechanism="independent", rows=50)
    said = f"reached {cost.threshold}: one that no more than {cost.rare} rows have is shown with a chance of 1e-9 at most."
    assert said in " ".join(release.card.split())
    numbers = learn_schema({"age": table()["age"]}, epsilon=1).table.learnt
    assert numbers is not None
    assert (numbers.threshold, numbers.rare) == (None, None)


@pytest.mark.promise(36)
def test_what_is_stated_of_texts_is_so_of_every_column(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Rest] = []
    ask = Door.ask

    def kept(door: Door, question: Any) -> Any:
        asked.extend([question] if isinstance(question, Rest) else [])
        return ask(door, question)

    monkeypatch.setattr(Door, "ask", kept)
    rows = {name: table(seed=i)["town"] for i, name in enumerate("abc")}
    cost = learn_schema(rows, epsilon=1).table.learnt
    assert cost is not None
    assert len(asked) == 3
    assert cost.threshold == min(one.threshold(Unit.ADD_REMOVE) for one in asked) // WHOLE
    assert cost.rare == min(one.rare(Unit.ADD_REMOVE, cost.delta / 3) for one in asked)  # a text may be told in each round


@pytest.mark.promise(29)
def test_nothing_is_read_before_it_is_reserved_and_paid_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    book = Ledger.create(tmp_path / "l")
    book.declare("t", Budget.of(epsilon=1, delta=1e-9))

    def read(*_: object) -> None:
        raise SourceError(f"It was read when {len(book.state().runs)} run was on record.")

    monkeypatch.setattr(UndeclaredSource, "count", read)
    with pytest.raises(SourceError, match="when 1 run"):
        learn_schema({"age": [1, 2]}, epsilon=0.5, ledger=book, dataset="t")
    (run,) = book.state().runs
    assert run.state == "stopped"
    assert run.counts > 0


@pytest.mark.parametrize("form", ["csv", "parquet", "pandas", "lazy", "category", "run ends"])
def test_every_form_of_a_table_gives_the_same_schema(form: str, tmp_path: Path) -> None:
    rows = {name: values for name, values in table(2000).items() if name in ("town", "day")}
    arrow = pa.table(rows)
    csv.write_csv(arrow, tmp_path / "t.csv")
    pq.write_table(arrow, tmp_path / "t.parquet")
    forms = {
        **{"csv": tmp_path / "t.csv", "parquet": tmp_path / "t.parquet", "pandas": pd.DataFrame(rows)},
        **{"lazy": pl.DataFrame(rows).lazy(), "category": pd.DataFrame(rows).astype({"town": "category"})},
        "run ends": arrow.set_column(0, "town", [pa.compute.run_end_encode(arrow["town"].combine_chunks())]),
    }
    found = learn_schema(forms[form], epsilon=2, columns=["town", "day"], seed=1)
    assert found.declaration.columns == learn_schema(rows, epsilon=2, seed=1).declaration.columns
    assert list(found.domain) == ["town", "day"]


def recorded(monkeypatch: pytest.MonkeyPatch, rows: dict[str, list[Any]], tape: Tape) -> tuple[str, list[Inquiry]]:
    """Learn with the answers of ``tape``; return the schema, and what was charged for."""
    charges: list[Inquiry] = []
    with monkeypatch.context() as patch:
        frozen_entropy(patch)
        tape.install(patch)
        charged = Door._pay
        patch.setattr(Door, "_pay", lambda door, request, mask: (charges.append(request), charged(door, request, mask))[1])
        return schema_toml(learn_schema(rows, epsilon=2).declaration), charges


@pytest.mark.promise(10)
@pytest.mark.promise(11)
@pytest.mark.promise(36)
def test_on_a_neighbour_the_same_answers_give_the_same_questions_and_the_same_schema(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = {name: values for name, values in table(1500).items() if name in ("price", "town", "day")}
    rows["clock"] = [100 * (i % 24) + i % 60 for i in range(1500)]
    rows["born"] = [f"{day.day}.{day.month}.{day.year}" for day in rows["day"]]
    rows["seen"] = [f"{day.month}/{day.day}/{day.year} 7:30" for day in rows["day"]]
    rows["left"] = [f"{day:%b %d, %Y}" for day in rows["day"]]
    rows["at"] = [f"{i % 24}:{i % 60:02}" for i in range(1500)]
    first = Tape()
    text, charges = recorded(monkeypatch, rows, first)
    odd = {"price": "?", "town": "Paris", "day": float("nan"), "clock": 1799}
    odd |= {"born": "31/1/2020", "seen": "14/3/2020 7:30", "at": "7:30:15", "left": "8. May 20"}
    assert all(line in text for line in ('kind = "time"', 'format = "%-d.%-m.%Y"', 'format = "%-m/%-d/%Y %-H:%M"'))
    costs = [one.cost for one in charges]
    together = [at for at, one in enumerate(charges, start=1) if "rest" in one.terms]  # in parts of a row
    assert together
    for place in (0, 1500):
        second = Tape(frozen=first.draws)
        neighbour = {name: [*values[:place], odd[name], *values[place:]] for name, values in rows.items()}
        other, _ = recorded(monkeypatch, neighbour, second)
        assert other == text
        assert differences(first.draws, second.draws, costs, Unit.ADD_REMOVE, together) == []


@pytest.mark.promise(27)
def test_a_value_climbs_the_ladder_alone() -> None:
    values = [
        "1",
        "-3",
        "0.5",
        "2020-01-01",
        "2020-01-01 10:00",
        "abc",
        "",
        "nan",
        "1e400",
        "yes",
        "T",
        " 7 ",
        "-0.0",
        "9" * 30,
        "0012",
        *("31.01.2020", "03/04/2020", "03/14/2020", "14/03/2020", "2020/02/29", "14/03/2020 12:30"),
        *("12:30", "1:02:03", "03-04-1850", "2020/02/30", "25:00"),  # three before it are texts, and it is a length
    ]
    alone = [int(Climber("a").encode(pa.array([value]))[0]) for value in values]
    assert Climber("a").encode(pa.array(values)).tolist() == alone
    assert Climber("a").encode(pa.array(values[::-1]).dictionary_encode()).tolist() == alone[::-1]
    assert len(set(alone)) == 23  # 1e400 and 9…9 are beyond, "" and "nan" missing, "0012" is padded, 25:00 is a length
    assert max(alone) < ladder().size


def test_codes_with_leading_zeros_are_texts() -> None:
    learnt = learn_schema({"code": ["0012", "0150", "1203"] * 1_000, "size": [0, 10, "0"] * 1_000}, epsilon=4, seed=0)
    assert {"0012", "0150", "1203"} <= set(learnt["code"].labels)
    assert learnt["size"].kind == "integer"


def test_whole_numbers_that_are_times_of_day_are_learnt_as_such() -> None:
    rng = np.random.default_rng(4)
    hours, minutes = rng.integers(5, 24, ROWS), rng.integers(0, 60, ROWS)
    rows = {
        "departs": (100 * hours + minutes).tolist(),
        "known": [
            None if i % 7 == 0 else f"{100 * h + 5 * (m // 5)}.0"
            for i, (h, m) in enumerate(zip(hours, minutes, strict=True))
        ],
        "year": rng.integers(1900, 2059, ROWS).tolist(),
        "hundreds": (100 * rng.integers(1, 24, ROWS)).tolist(),
        "any": rng.integers(100, 2400, ROWS).tolist(),
    }
    learnt = learn_schema(rows, epsilon=4, seed=0)
    kinds = {column.name: column.kind for column in learnt.columns}
    assert kinds == {"departs": "time", "known": "time", "year": "integer", "hundreds": "integer", "any": "integer"}
    assert (learnt["departs"].nullable, learnt["known"].nullable) == (False, True)
    assert {m.column for m in check_schema(rows, learnt)} <= {"year", "hundreds", "any"}
    made = synthesize(rows, learnt, epsilon=4, workload="all-1way", mechanism="independent", rows=500, seed=0).table
    assert all(value % 100 < 60 for value in made["departs"])


def test_a_column_of_which_most_rows_are_the_catch_all_is_left_out() -> None:
    often = [["Paris", "Lyon"][i % 2] if i % 10 < 3 else f"rare {i}" for i in range(ROWS)]
    rows = {"code": often, "town": ["Nice" if i % 10 < 6 else f"rare {i}" for i in range(ROWS)]}
    assert list(learn_schema(rows, epsilon=4, seed=0).domain) == ["town"]


def test_a_seeded_schema_is_not_for_a_private_run() -> None:
    rows = {"paid": table()["paid"]}
    learnt = learn_schema(rows, epsilon=1, seed=1)
    assert learn_schema(rows, epsilon=1, seed=1).declaration == learnt.declaration
    with pytest.raises(SchemaError, match="learnt with a seed"):
        synthesize(rows, learnt, epsilon=1)
    synthesize(rows, learnt, epsilon=1, workload="all-1way", mechanism="independent", seed=1, rows=5)


def test_a_huge_budget_is_no_error() -> None:
    """Its noise moves no count, and has no deviation."""
    found = learn_schema(pd.DataFrame({"age": list(range(90)) * 9, "sex": list("MFX") * 270}), epsilon=1e6)
    assert found.domain.attributes == ("age", "sex")
    assert found.domain["sex"] == 4


def test_another_separator_is_told_before_anything_is_spent(tmp_path: Path) -> None:
    """No schema says how the file is written: all its columns would be one text, and the budget gone."""
    (tmp_path / "a.csv").write_text("age;town\n" + "3;x\n4;y\n" * 500)
    book = Ledger.create(tmp_path / "l")
    book.declare("t", Budget.of(epsilon=9, delta=1e-9))
    with pytest.raises(SourceError, match="--separator") as refused:
        learn_schema(tmp_path / "a.csv", epsilon=1, ledger=book, dataset="t")
    assert "town" not in str(refused.value)  # the first line may be a record
    assert book.state().runs == ()
    for right in (Csv(tmp_path / "a.csv", separator=";"), Csv(tmp_path / "a.csv", header=["age;town"])):
        assert learn_schema(right, epsilon=4).domain


def test_what_cannot_be_learnt_from_is_refused() -> None:
    with pytest.raises(UserError, match="Name both"):
        learn_schema(table(5), epsilon=1, person="name")
    with pytest.raises(UserError, match="no column to learn"):
        learn_schema({"name": ["a", "b"]}, epsilon=1, person="name", rows_per_person=1)
    with pytest.raises(UserError, match="a list of names"):
        learn_schema(table(5), epsilon=1, columns="age")
    with pytest.raises(SourceError, match="read once only"):
        learn_schema(pa.table({"a": [1]}).to_reader(), epsilon=1)
    with pytest.raises(SourceError, match="name those that you want"):
        learn_schema(np.zeros((3, 2), int), epsilon=1)


@pytest.mark.promise(16)
@pytest.mark.promise(36)
@pytest.mark.parametrize("most", [None, 3])
def test_noise_and_texts_of_all_columns_share_the_budget_and_a_person_is_what_it_says(
    most: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[Door, Rest]] = []
    ask = Door.ask

    def recorded_too(door: Door, question: Any) -> Any:
        if isinstance(question, Rest):
            asked.append((door, question))
        return ask(door, question)

    monkeypatch.setattr(Door, "ask", recorded_too)
    rows = {"who": [f"p{i}" for i in range(2000)], **{name: ["left", "right"] * 1000 for name in "abc"}}
    person: dict[str, Any] = {} if most is None else {"person": "who", "rows_per_person": most}
    learn_schema(rows, epsilon=4, delta=1e-6, columns=[*"abc"], **person)
    doors, questions = zip(*asked, strict=True)
    told = ("left", "right")
    assert questions[0].known == tuple((name, ()) for name in "abc")
    assert [{*question.known} for question in questions[1:]] == [{(name, told) for name in "abc"}] * 2
    texts = sum(Fraction(question.delta) for question in questions)
    assert texts <= Fraction(1e-6 * TEXTS_SHARE)
    noise = 1e-6 - float(texts)
    assert noise > 0
    for door in doors:
        assert epsilon_of(door.filter.rho, noise * (1 + 1e-9)) <= 4
        assert door.unit == (Unit.ADD_REMOVE if most is None else Unit("add-remove", most, "who"))


@pytest.mark.promise(16)
def test_persons_count_with_so_many_rows() -> None:
    rows = {"who": [f"p{i}" for i in range(3000)], "town": ["Paris", "Lyon"] * 1500}
    rows = {"who": [*rows["who"], *["me"] * 3000], "town": [*rows["town"], *["mine"] * 3000]}
    learnt = learn_schema(rows, epsilon=4, person="who", rows_per_person=2)
    town = learnt["town"]
    assert isinstance(town, Listed)
    assert town.values == ("Lyon", "Paris")
    assert learnt.person is not None
    assert learnt.person.rows == 2


@pytest.mark.promise(16)
@pytest.mark.parametrize("attribute", ["day", spelled_name("day")])
def test_a_person_moves_each_count_of_learning_by_so_many_rows(attribute: str) -> None:
    mine = [("me", f"{day:02}/{day:02}/2020") for day in range(1, 13)]
    others = [(f"p{i}", "1/5/2020") for i in range(5)]
    with_me, without = (
        UndeclaredSource(pa.table({"who": [w for w, _ in rows], "day": [d for _, d in rows]}), ["day"], Person("who", 2, ()))
        for rows in (others + mine, others)
    )
    assert int((with_me.count([(attribute,)])[0] - without.count([(attribute,)])[0]).sum()) == 2


def test_a_name_that_learning_needs_is_refused_before_anything_is_spent() -> None:
    with pytest.raises(UserError, match="rename it"):
        learn_schema({"a": ["x"], spelled_name("a"): ["y"]}, epsilon=1)


@pytest.mark.parametrize(
    "texts",
    [
        [f"{day:02}/02/2020 {hour} PM" for day in range(10, 29) for hour in range(1, 12)] * 15,
        ["11:30 PM"] * 800 + ["9:05 AM"] * 800 + ["24:00"] * 300,
        ["29.02.00"] * 500 + [f"{1 + i % 28:02}.{1 + i % 12:02}.{i % 80:02}" for i in range(2000)],
    ],
    ids=["hours without minutes", "24:00 beside AM and PM", "29 February of 1900"],
)
def test_no_column_costs_all_others(texts: list[str]) -> None:
    learnt = learn_schema(
        {"odd": texts, "sure": ["Paris", "Lyon", "Nice"] * (len(texts) // 3) + ["Nice"] * (len(texts) % 3)}, epsilon=20
    )
    assert "sure" in learnt.domain


def test_codes_some_of_which_begin_with_a_zero_are_texts() -> None:
    codes = ["20095", "01055", "10115", "80331", "50667", "04109"]
    plain = ["5", "10", "20", "400"]
    rows = {"code": [codes[i % 6] for i in range(ROWS)], "size": [plain[i % 4] for i in range(ROWS)]}
    learnt = learn_schema(rows, epsilon=8)
    assert {column.name: column.kind for column in learnt.columns} == {"code": "categorical", "size": "integer"}
    assert set(codes) <= set(learnt["code"].labels)


def test_numbers_beyond_the_ladder_are_left_out_and_large_ones_are_not() -> None:
    """All numbers from ten digits on share a cell: bins of these would make up numbers that nobody has."""
    rng, rows = np.random.default_rng(5), 6_000
    learnt = learn_schema(
        {
            "chip": (276_000_000_000_000 + rng.integers(0, 10**9, rows)).tolist(),
            "debt": (-(10.0 ** rng.uniform(10, 13, rows))).tolist(),
            "large": rng.integers(10**8, 5 * 10**9, rows).tolist(),
            "real": rng.uniform(0, 9e8, rows).tolist(),
        },
        epsilon=8,
        seed=1,
    )
    assert {column.name: column.kind for column in learnt.columns} == {"large": "integer", "real": "real"}
