"""A draft of any width leaves few decisions: columns of which the same is asked are one, and each can be answered alone."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from understudy.review import draft_schema
from understudy.review.groups import QUESTIONS, accept_all, asked, columns_of, groups_of, is_cut, leave_all_out
from understudy.review.marks import accept, finish, marks_of
from understudy.schema import parse_schema

MOST = 15
ROWS = 3000


def messy(path: Path, width: int, seed: int = 0) -> Path:
    """A CSV file with columns of all kinds, each as messy as such columns are."""
    rng = np.random.default_rng(seed)

    def some(texts: list[str]) -> list[str]:
        return [texts[i] for i in rng.integers(0, len(texts), ROWS)]

    def odd(values: list[str], word: str) -> list[str]:
        return [word if gone else value for gone, value in zip(rng.random(ROWS) < 0.05, values, strict=True)]

    makers = (
        lambda: some([f"{'abc'[i % 3]}{i}" for i in range(2 + int(rng.integers(20)))]),
        lambda: odd([str(i) for i in rng.integers(0, 400, ROWS)], "lost"),
        lambda: [f"{i:05}" for i in rng.integers(1000, 1050, ROWS)],
        lambda: [f"{x:.2f}" for x in rng.lognormal(5, 1, ROWS)],
        lambda: odd([str(i) for i in rng.integers(0, 9000, ROWS)], "-9"),
        lambda: odd(odd(some(["low", "mid", "high"]), "NA"), "?"),
        lambda: [f"2021-{m:02}-{d:02}" for m, d in zip(rng.integers(1, 13, ROWS), rng.integers(1, 29, ROWS), strict=True)],
        lambda: [f"{d:02}/{m:02}/2021" for m, d in zip(rng.integers(1, 13, ROWS), rng.integers(1, 29, ROWS), strict=True)],
        lambda: some([f"code {i * 7919 % 10007}" for i in range(900)]),
        lambda: [f"note {i} {rng.integers(10**9)}" for i in range(ROWS)],
        lambda: [*some(["A", "B", "C"])[:-1], "once"],
        lambda: some(["x", "y", "-"]),
        lambda: [str(i if i % 15 else 999) for i in rng.integers(0, 990, ROWS)],
        lambda: [str(i) for i in rng.integers(1, 9, ROWS)],
        lambda: some(["yes", "no"]),
        lambda: [f'"{x:.1f}"'.replace(".", ",") for x in rng.uniform(0, 90, ROWS)],
        lambda: odd([f"{x:.1f}" for x in rng.uniform(0, 900, ROWS)], "<0.5"),
        lambda: [f"{x:.1f} %" if x < 50 else f"${x:.1f}" for x in rng.uniform(0, 90, ROWS)],
        lambda: odd([f"{100 * (i % 23) + i % 59:04}" for i in range(ROWS)], "2400"),
    )
    columns = {"degree": (degrees := some(["a", "b", "c", "d"])), "years": [str(9 + ord(d) - ord("a")) for d in degrees]}
    columns |= {f"c{i}": makers[i % len(makers)]() for i in range(width)}
    columns |= {"visit_id": some([f"v{i}" for i in range(700)]), "bed_no": some([str(i) for i in range(5000, 5400)])}
    lines = [",".join(columns), *(",".join(row) for row in zip(*columns.values(), strict=True))]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_wide_messy_table_leaves_few_decisions(tmp_path: Path) -> None:
    text = draft_schema(messy(tmp_path / "a.csv", 60))
    assert len(marks_of(text)) > 40
    assert len(groups_of(text)) <= MOST
    wider = draft_schema(messy(tmp_path / "b.csv", 140, seed=1))
    assert len(marks_of(wider)) > 100
    assert len(groups_of(wider)) <= MOST


def test_every_question_of_a_draft_has_its_place(tmp_path: Path) -> None:
    """A mark of a column that fits no question would be a decision of its own in every column."""
    marks = [mark for mark in marks_of(draft_schema(messy(tmp_path / "a.csv", 60))) if mark.column is not None]
    assert None not in {asked(mark) for mark in marks}
    drafted = {question for question in QUESTIONS if not re.match(r"\^left out: |\^nulls", question.form)}
    assert {asked(mark) for mark in marks} == drafted
    assert len(drafted) + 2 <= MOST  # and those about no column: where values are missing, and the header


def test_all_that_is_asked_of_a_column_is_shown_with_it(tmp_path: Path) -> None:
    text = draft_schema(messy(tmp_path / "a.csv", 30))
    said = "\n".join(line for group in groups_of(text) if group.question for line in columns_of(text, group))
    for expected in (
        '"lost" seems to mean "missing"',
        '-9 seems to mean "missing"',
        'if "-" means "missing"',
        'if 999 means "missing"',
        "1 of them in fewer than 10 rows",
        'follows from "degree"',
        "whether the day or the month comes first",
        "different texts",
    ):
        assert expected in said, expected
    assert "code " not in said
    assert all(mark.column in said for mark in marks_of(text) if mark.column)


def test_two_doubts_about_missing_values_of_one_column_are_both_shown() -> None:
    """An age of 99 may mean "missing" beside -9, which seems to: accepted with others, both must have been on the screen."""
    ages = [-9] * 40 + [99] * 200 + [i % 90 for i in range(2000)]
    text = draft_schema({"alter": ages, "dose": ages})
    [group] = [group for group in groups_of(text) if group.question]
    for line in columns_of(text, group):
        assert '-9 seems to mean "missing"' in line
        assert 'if 99 means "missing"' in line


def test_what_means_missing_is_shown_where_that_is_asked() -> None:
    """An import leaves the nulls that were seen to be decided, and nothing else."""
    block = 'kind = "categorical"\nvalues = ["x", "y"]\nnulls = ["", "?", "lost"]\nnullable = true\n'
    mark = "# REVIEW: nulls were seen in the table; keep those that you know without it."
    text = "[table]\ndraft = true\n" + "".join(f"\n{mark}\n[columns.{name}]\n{block}" for name in "ab")
    parse_schema(text)
    [group] = groups_of(text)
    assert columns_of(text, group) == [f'{name}: "?", "lost" mean "missing"; 2 values: "x", "y"' for name in "ab"]


def test_groups_accepted_one_after_another_are_marks_accepted_one_after_another(tmp_path: Path) -> None:
    text = one = draft_schema(messy(tmp_path / "a.csv", 30))
    for _ in range(MOST):
        if groups := groups_of(text):
            text = accept_all(text, groups[0])
    while marks := marks_of(one):
        one = accept(one, marks[0])
    assert finish(text) == finish(one)
    assert not parse_schema(finish(text)).draft


def test_a_group_is_left_out_whole(tmp_path: Path) -> None:
    text = draft_schema(messy(tmp_path / "a.csv", 30))
    group = next(group for group in groups_of(text) if len(group.marks) > 1 and not group.left_out)
    names = {mark.column for mark in group.marks}
    before, after = parse_schema(text), parse_schema(leave_all_out(text, group))
    assert set(before.domain) - set(after.domain) == names


def test_what_was_seen_cannot_steer_a_terminal() -> None:
    text = draft_schema({"a": ["x\x1b[2J", "y", "z"] * 40, "b": ["x\nnulls = 1", "y"] * 60})
    [group] = groups_of(text)
    lines = columns_of(text, group)
    assert len(lines) == 2
    assert all(line.isprintable() for line in lines)


def test_a_width_of_bins_is_not_called_a_step() -> None:
    """A step is another setting: values are its multiples."""
    block = 'kind = "date"\nmin = 2023-01-01\nmax = 2024-12-31\nwidth = "1 month"\nnullable = true\n'
    mark = "# REVIEW: the first and the last day were seen, and rounded; write those that you know."
    text = "[table]\ndraft = true\n" + "".join(f"\n{mark}\n[columns.{name}]\n{block}" for name in "ab")
    [group] = groups_of(text)
    assert columns_of(text, group) == [f"{name}: from 2023-01-01 to 2024-12-31, in bins of 1 month" for name in "ab"]


def test_bins_of_one_value_and_what_bins_start_at_are_on_the_screen() -> None:
    """A wage that many rows have is read from the rows, and so is every bin."""
    rng = np.random.default_rng(0)
    wages = np.round(np.where(rng.random(ROWS) < 0.2, 1800, rng.normal(3000, 900, ROWS)), 2)
    text = draft_schema(
        {"wage": wages, "pay": wages, "hours": np.where(rng.random(ROWS) < 0.5, 40, rng.integers(1, 98, ROWS))}
    )
    [group] = groups_of(text)
    wage, _, hours = columns_of(text, group)
    assert "of one value 1800.0," in wage
    assert "decimals 2" in wage
    assert "of one value 40," in hours
    assert "which start at 0, 5, 10, 15," in hours
    assert is_cut(text, group) == any(line.endswith(" …") for line in (wage, hours))


def test_no_setting_that_follows_from_the_rows_is_kept_from_the_screen() -> None:
    """What does not fit counts as the first value, or as the bin in the middle: the commonest would be told by no mark."""
    rng = np.random.default_rng(0)

    def drafted(share: float) -> str:
        high = rng.random(ROWS) < share
        columns = {
            "sex": np.where(high, "männlich", "Frau").tolist() + ["divers"] * 20,
            "size": np.where(high, rng.integers(7, 9, ROWS), rng.integers(0, 3, ROWS)).tolist() + [3, 4, 5, 6] * 5,
            "code": np.where(high, 2500, 250).tolist() + [500] * 20,
            "wage": np.where(high, rng.integers(300, 900, ROWS), rng.integers(1, 90, ROWS)).tolist() + [1, 899] * 10,
        }
        return re.sub(r"# REVIEW.*", "", draft_schema(columns))

    few, many = drafted(0.1), drafted(0.9)
    assert [re.findall(r"other = (.*)", text) for text in (few, many)] == [['"Frau"', "4", "250", "450"]] * 2
