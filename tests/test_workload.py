import json
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.domain import Domain
from understudy.errors import SchemaError, WorkloadError
from understudy.workload import Workload

ABCD = Domain.of({"a": 2, "b": 3, "c": 4, "d": 5})


def test_all_kway_lists_each_combination_once_with_weight_one() -> None:
    workload = Workload.all_kway(ABCD, 2)
    assert tuple(workload.cliques) == tuple(combinations("abcd", 2))
    assert set(workload.query_weights) == {1.0}
    assert workload.queries == 6


def test_k_beyond_the_attributes_is_the_full_table() -> None:
    assert list(Workload.all_kway(ABCD, 9).cliques) == [("a", "b", "c", "d")]
    assert list(Workload.target(ABCD, "c", 9).cliques) == [("a", "b", "c", "d")]
    assert list(Workload.all_kway(Domain.of({"a": 2}), 3).cliques) == [("a",)]


def test_target_contains_its_attribute() -> None:
    workload = Workload.target(ABCD, "c")
    assert list(workload.cliques) == [("a", "b", "c"), ("a", "c", "d"), ("b", "c", "d")]


def test_closure_is_every_non_empty_subset_smallest_first() -> None:
    workload = Workload.of(ABCD, [(["d", "a"], 1), (["b"], 1)])
    assert workload.closure == (("a",), ("b",), ("d",), ("a", "d"))


queries = st.lists(
    st.tuples(st.sets(st.sampled_from("abcd"), min_size=1), st.floats(0, 100)), min_size=1, max_size=8
).filter(lambda found: any(weight > 0 for _, weight in found))


@given(queries)
def test_weights_are_the_papers_sum_over_queries(found: list[tuple[set[str], float]]) -> None:
    workload = Workload.of(ABCD, found)
    for r in workload.closure:
        expected = sum(c * len(set(r) & set(s)) for s, c in found)
        assert workload.weights[r] == pytest.approx(expected, rel=1e-12)


@given(queries)
def test_duplicates_are_doubled_weights_exactly(found: list[tuple[set[str], float]]) -> None:
    twice = Workload.of(ABCD, found + found)
    doubled = Workload.of(ABCD, [(attributes, 2 * weight) for attributes, weight in found])
    assert (twice.cliques, twice.query_weights, twice.weights) == (doubled.cliques, doubled.query_weights, doubled.weights)
    assert twice.queries == 2 * doubled.queries


def test_skewed_is_fixed_by_its_seed_and_is_skewed() -> None:
    domain = Domain.of({f"x{i}": 3 for i in range(12)})
    one, same, other = Workload.skewed(domain, 1), Workload.skewed(domain, 1), Workload.skewed(domain, 2)
    assert one == same
    assert one != other
    assert one.queries == sum(one.query_weights) == 256
    assert all(len(r) == 3 for r in one.cliques)
    singles = sorted(w for r, w in one.weights.items() if len(r) == 1)
    assert singles[-1] > 5 * singles[0]


def test_parse_names_and_files(tmp_path) -> None:  # type: ignore[no-untyped-def]
    assert Workload.parse("all-2way", ABCD) == Workload.all_kway(ABCD, 2)
    assert Workload.parse("target:b", ABCD) == Workload.target(ABCD, "b")
    assert Workload.parse("skewed:3", ABCD) == Workload.skewed(ABCD, 3)
    listed = Workload.of(ABCD, [(["a", "b"], 2), (["c"], 1)])
    (tmp_path / "w.toml").write_text('[[query]]\nattributes = ["a", "b"]\nweight = 2\n[[query]]\nattributes = ["c"]\n')
    assert Workload.parse(str(tmp_path / "w.toml"), ABCD) == listed
    (tmp_path / "w.json").write_text(json.dumps(listed.describe()))
    assert Workload.parse(str(tmp_path / "w.json"), ABCD) == listed


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[[query]]\nattributes = 'a'\n", "list of names"),
        ("[[query]]\nattribute = ['a']\n", 'Did you mean "attributes"'),
        ("query = 3\n", "lists its queries"),
        ("[[query]]\nattributes = ['a']\nweight = 'much'\n", "must be a number"),
        ("[[query]\n", "cannot be read"),
        ("query = []\n", "empty"),
    ],
)
def test_bad_files_say_what_is_wrong(tmp_path, text: str, says: str) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "w.toml").write_text(text)
    with pytest.raises(WorkloadError, match=says):
        Workload.parse(str(tmp_path / "w.toml"), ABCD)


@pytest.mark.parametrize(
    ("queries", "says"),
    [
        ([], "empty"),
        ([(["a"], 0), (["b"], 0.0)], "zero"),
        ([(["a"], -1)], "at least 0"),
        ([(["a"], float("nan"))], "finite"),
        ([(["a"], float("inf"))], "finite"),
        ([(["a"], True)], "number"),
        ([([], 1)], "no attribute"),
        ([("ab", 1)], "list of attributes"),
        ([(["a"], 1e308), (["b"], 1e308), (["a", "b"], 1e308)], "infinity"),
    ],
)
def test_bad_queries(queries, says: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(WorkloadError, match=says):
        _ = Workload.of(ABCD, queries).weights


def test_unknown_names() -> None:
    with pytest.raises(SchemaError, match='"e"'):
        Workload.of(ABCD, [(["a", "e"], 1)])
    with pytest.raises(SchemaError):
        Workload.parse("target:z", ABCD)
    with pytest.raises(WorkloadError, match='Did you mean "all-3way"'):
        Workload.parse("all-3ways", ABCD)
    with pytest.raises(WorkloadError, match="at least 1"):
        Workload.parse("all-0way", ABCD)


def test_too_many_queries_are_refused_before_they_are_listed() -> None:
    wide = Domain.of({f"x{i}": 2 for i in range(200)})
    with pytest.raises(WorkloadError, match="smaller k"):
        Workload.all_kway(wide, 6)


def test_sixteen_attributes_three_way() -> None:
    domain = Domain.of({f"x{i}": 18 for i in range(16)})
    workload = Workload.all_kway(domain, 3)
    assert len(workload.closure) == 16 + 120 + 560
    assert workload.weights[("x0",)] == 105  # C(15, 2) triples hold x0
    assert workload.weights[("x0", "x1", "x2")] == 315


def test_a_list_of_names_is_a_query_of_weight_one() -> None:
    assert Workload.of(ABCD, [["a", "b"], ("c",), ["a", "b", "d"]]) == Workload.of(
        ABCD, [(["a", "b"], 1.0), (["c"], 1.0), (["a", "b", "d"], 1.0)]
    )


@pytest.mark.parametrize("queries", [["a"], 5, {"a": 1}, [{"attributes": "a"}], [["a", 1, 2]], [(3, 1.0)], "a", [5]])
def test_what_is_no_list_of_queries_is_refused_in_words(queries: Any) -> None:
    with pytest.raises(WorkloadError, match=r"quer"):
        Workload.of(ABCD, queries)


RULES = [
    Workload.all_kway,
    lambda d, k: Workload.target(d, "c", k),
]


@pytest.mark.parametrize("rule", RULES, ids=["all", "target"])
@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
def test_a_rule_is_the_list_that_it_stands_for(rule: Callable[[Domain, int], Workload], k: int) -> None:
    domain = Domain.of({"a": 2, "b": 3, "c": 4, "d": 5, "e": 2})
    ruled = rule(domain, k)
    listed = Workload.of(domain, [(r, 1.0) for r in combinations("abcde", k) if rule is RULES[0] or "c" in r])
    assert (tuple(ruled.cliques), tuple(ruled.closure)) == (listed.cliques, listed.closure)
    assert (tuple(ruled.query_weights), ruled.queries) == (listed.query_weights, listed.queries)
    assert (ruled.weights, ruled.importance, tuple(ruled.shares)) == (listed.weights, listed.importance, listed.shares)
    assert (ruled.attributes, ruled.cells) == (listed.attributes, listed.cells)
    for size in range(1, 6):
        assert tuple(ruled.closure_of(size)) == tuple(listed.closure_of(size))
    assert [ruled.closure[i] for i in range(len(ruled.closure))] == list(listed.closure)
    assert (ruled.closure[-1], ruled.closure[:2]) == (listed.closure[-1], listed.closure[:2])
    every = [r for size in range(6) for r in combinations("abcde", size)] + [("c", "a"), ("c", "c"), ("z",), "abc", 3]
    assert [r in ruled.closure for r in every] == [r in listed.closure for r in every]


def test_all_triples_of_five_hundred_columns_are_never_listed() -> None:
    workload = Workload.all_kway(Domain.of({f"x{i}": 10 for i in range(500)}), 3)
    assert workload.queries == len(workload.cliques) == 20_708_500
    assert workload.cells == 500 * 10 + 124_750 * 100 + 20_708_500 * 1000
    assert workload.weights["x3", "x7", "x499"] == 3 * 499 * 498 / 2
    assert workload.closure[20_000_000] in workload.closure_of(3)
    with pytest.raises(KeyError):
        _ = workload.weights["x7", "x3"]


def test_a_rule_and_a_list_are_told_apart_from_others() -> None:
    told = [w.told for w in (Workload.all_kway(ABCD, 2), Workload.all_kway(ABCD, 3), Workload.target(ABCD, "a", 2))]
    told += [Workload.of(ABCD, [["a"]]).told, Workload.of(ABCD, [(["a"], 2)]).told]
    assert len({json.dumps(one) for one in told}) == len(told)


# Sums of cells.

PEOPLE = Domain.of({"age": 4, "sex": 2, "town": 3})
BY_SEX = {"attributes": ["sex", "age"], "prefixes": "age"}


def test_prefixes_by_group_are_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "w.toml"
    file.write_text(
        '[[query]]\nattributes = ["sex", "age"]\nprefixes = "age"\n'
        '[[query]]\nattributes = ["age", "town"]\nranges = ["age"]\nweights = { town = [0.5, -1, 0] }\nweight = 2\n'
        '[[query]]\nattributes = ["town"]\n'
    )
    workload = Workload.load(file, PEOPLE)
    table = np.arange(8).reshape(4, 2)
    prefixes = workload.query(("age", "sex"))
    assert prefixes is not None
    assert np.array_equal(prefixes.apply(table).reshape(4, 2), np.cumsum(table, axis=0))
    ranges = workload.query(("age", "town"))
    assert ranges is not None
    assert ranges.parts == (10, 1)
    other = np.arange(12).reshape(4, 3)
    lowest_two = ranges.apply(other)[1]
    assert lowest_two == (other[:2] @ [2048, -4096, 0]).sum()
    assert workload.query(("town",)) is None
    again = Workload.of(PEOPLE, workload.describe())  # type: ignore[arg-type]
    assert again == workload
    assert again.told == workload.told


def test_what_is_told_of_a_workload_names_its_maps() -> None:
    plain, asked = Workload.of(PEOPLE, [["sex", "age"]]), Workload.of(PEOPLE, [BY_SEX])
    assert plain.told != asked.told
    assert plain != asked
    assert plain.asked == plain.queried == {}


def test_a_part_of_a_query_is_asked_for_all_that_any_query_asks() -> None:
    workload = Workload.of(PEOPLE, [BY_SEX, ["age", "town"]])
    both = workload.queried["age",]
    assert both.parts == (8,)
    assert set(workload.queried) == {("age",), ("age", "sex")}
    only = Workload.of(PEOPLE, [BY_SEX]).queried["age",]
    assert np.array_equal(only.apply(np.arange(4)), [0, 1, 3, 6])


def test_an_error_of_sums_is_for_each_that_a_record_is_in() -> None:
    workload = Workload.of(PEOPLE, [BY_SEX])
    gap = np.zeros((4, 2))
    gap[0, 0] = 3.0
    assert np.abs(workload.errors(("age", "sex"), gap)).sum() == 3.0
    gap[0, 0], gap[3, 0] = 0.0, 3.0
    assert np.abs(workload.errors(("age", "sex"), gap)).sum() == 3.0 / 4
    assert np.array_equal(Workload.of(PEOPLE, [["age", "sex"]]).errors(("age", "sex"), gap), gap)


WRONG_SUMS = [
    ({"attributes": ["age"], "prefixes": "sex"}, "not among the attributes"),
    ({"attributes": ["age"], "prefixes": 3}, "names one attribute"),
    ({"attributes": ["age"], "weights": {"age": [10**400, 1, 1, 1]}}, "list of 4 numbers"),
    ({"attributes": ["age"], "prefix": "age"}, "Did you mean"),
    ({"attributes": ["age"], "prefixes": "age", "ranges": ["age"]}, "two ways"),
    ({"attributes": ["age"], "weights": {"age": [1, 2]}}, "list of 4 numbers"),
    ({"attributes": ["age"], "weights": {"age": [1, 2, 3, float("nan")]}}, "list of 4 numbers"),
    ({"attributes": ["age"], "weights": {"age": [0, 0, 0, 0]}}, "all 0"),
    ({"attributes": ["age"], "weights": [1, 2, 3, 4]}, "are a table"),
    ({"attributes": ["age"], "weights": {"sex": [1, 2]}}, "not among the attributes"),
]


@pytest.mark.parametrize(("entry", "words"), WRONG_SUMS, ids=range(len(WRONG_SUMS)))
def test_sums_that_make_no_sense_are_refused_in_words(entry: dict[str, Any], words: str) -> None:
    with pytest.raises(WorkloadError, match=words):
        Workload.of(PEOPLE, [entry])


def test_one_marginal_in_two_ways_is_refused() -> None:
    with pytest.raises(WorkloadError, match="in two ways"):
        Workload.of(PEOPLE, [BY_SEX, ["age", "sex"]])


def test_too_many_ranges_are_refused() -> None:
    with pytest.raises(WorkloadError, match="too many ranges"):
        Workload.of(Domain.of({"a": 200}), [{"attributes": ["a"], "ranges": "a"}])


def test_sums_that_are_too_large_together_are_refused_where_they_are_listed() -> None:
    domain = Domain.of({"a": 100, "b": 100, "c": 100})
    heavy = [1.0] * 100
    apart = [{"attributes": ["a", "b"], "weights": {"a": heavy}}, {"attributes": ["a", "b", "c"], "weights": {"b": heavy}}]
    with pytest.raises(WorkloadError, match="weights of a, b are too large together"):
        Workload.of(domain, apart)
    with pytest.raises(WorkloadError, match="25,502,500 answers"):
        Workload.of(domain, [{"attributes": ["a", "b"], "ranges": ["a", "b"]}])


def test_weights_that_add_up_to_infinity_are_refused_where_they_are_listed() -> None:
    with pytest.raises(WorkloadError, match="add up to infinity"):
        Workload.of(PEOPLE, [(["age", "sex"], 1e308), (["sex"], 1e308)])
