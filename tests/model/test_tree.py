"""Junction trees: what makes one a junction tree, and how large it is."""

from itertools import combinations, permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.domain import Clique, Domain
from understudy.model import JunctionTree, candidates_within, junction_tree, tree, tree_size, tree_sizes_with

from .small import clique_sets, domains


@st.composite
def problems(draw: st.DrawFn, attributes: int = 8) -> tuple[Domain, list[Clique]]:
    domain = draw(domains(attributes))
    return domain, draw(clique_sets(domain))


def eliminated(domain: Domain, cliques: list[Clique], order: tuple[str, ...]) -> list[frozenset[str]]:
    """Eliminate in ``order`` on sets, as a textbook would; return the maximal cliques that this makes."""
    graph = {a: {b for c in cliques if a in c for b in c} - {a} for a in domain}
    made: list[frozenset[str]] = []
    for a in order:
        around = graph.pop(a)
        made.append(frozenset(around | {a}))
        for b in around:
            graph[b] = (graph[b] | around) - {a, b}
    return [c for c in made if not any(c < other for other in made)]


def connected(tree: JunctionTree, attribute: str) -> bool:
    """Say whether the cliques with ``attribute`` hang together: all but one have their parent among them."""
    holders = [i for i, clique in enumerate(tree.cliques) if attribute in clique]
    return sum(tree.parents[i] not in holders for i in holders) == 1


@settings(deadline=None, max_examples=200)
@given(problems())
def test_it_is_a_junction_tree_of_the_cliques(problem: tuple[Domain, list[Clique]]) -> None:
    domain, cliques = problem
    tree = junction_tree(domain, cliques)
    assert all(connected(tree, a) for a in domain)
    assert all(any(set(c) <= set(made) for made in tree.cliques) for c in cliques)
    assert all(parent < i for i, parent in enumerate(tree.parents))
    assert sorted(tree.order) == sorted(domain.attributes)
    assert not any(set(a) < set(b) for a in tree.cliques for b in tree.cliques)
    assert all(clique == domain.clique(clique) for clique in tree.cliques)


@settings(deadline=None, max_examples=200)
@given(problems())
def test_the_order_makes_exactly_the_trees_cliques(problem: tuple[Domain, list[Clique]]) -> None:
    domain, cliques = problem
    tree = junction_tree(domain, cliques)
    assert {frozenset(c) for c in tree.cliques} == set(eliminated(domain, cliques, tree.order))
    assert tree.size == 8 * sum(domain.cells(c) for c in tree.cliques) == tree_size(domain, cliques)


@settings(deadline=None, max_examples=200)
@given(problems(), st.data())
def test_sizes_with_a_candidate_are_sizes_of_the_larger_set(
    problem: tuple[Domain, list[Clique]], data: st.DataObject
) -> None:
    domain, cliques = problem
    candidates = data.draw(clique_sets(domain))
    want = [tree_size(domain, [*cliques, candidate]) for candidate in candidates]
    assert tree_sizes_with(domain, cliques, candidates) == want


@settings(deadline=None, max_examples=200)
@given(problems(), st.data(), st.integers(1, 4000))
def test_what_fits_is_what_is_inside_or_within_the_limit(
    problem: tuple[Domain, list[Clique]], data: st.DataObject, limit: int
) -> None:
    domain, cliques = problem
    candidates = data.draw(clique_sets(domain))
    homes = [set(home) for home in junction_tree(domain, cliques).cliques]
    inside = [any(set(candidate) <= home for home in homes) for candidate in candidates]
    sizes = tree_sizes_with(domain, cliques, candidates)
    exact = [held or size <= limit for held, size in zip(inside, sizes, strict=True)]
    assert candidates_within(domain, cliques, candidates, limit) == exact
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(tree, "SIZED", 1)
        near = candidates_within(domain, cliques, candidates, limit)
    assert all(fits for fits, held in zip(near, inside, strict=True) if held)
    assert all(size <= limit for size, fits, held in zip(sizes, near, inside, strict=True) if fits and not held)


def test_of_many_candidates_those_far_below_the_limit_are_all_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    domain = Domain.of({f"x{i}": 4 for i in range(30)})
    chain = [(f"x{i}", f"x{i + 1}") for i in range(9)]
    pairs = [domain.clique(pair) for pair in combinations(domain, 2)]
    most = max(tree_sizes_with(domain, chain, pairs))
    monkeypatch.setattr(tree, "SIZED", 0)
    assert all(candidates_within(domain, chain, pairs, 3 * most))
    assert not any(candidates_within(domain, [], pairs, 8))


@settings(deadline=None, max_examples=60)
@given(problems(attributes=5))
def test_small_trees_are_near_the_smallest_possible(problem: tuple[Domain, list[Clique]]) -> None:
    """Greedy elimination need not be optimal; on five attributes it never loses a factor of 1.5.

    Of attributes with several values: one with a single value makes a merged clique smaller than its parts.
    """
    domain, cliques = problem
    domain = Domain.of({attribute: max(2, domain[attribute]) for attribute in domain})
    best = min(
        sum(domain.cells(domain.clique(c)) for c in set(eliminated(domain, cliques, order)))
        for order in permutations(domain.attributes)
    )
    assert tree_size(domain, cliques) <= 8 * 1.5 * best


def test_a_candidate_inside_a_clique_costs_nothing() -> None:
    domain = Domain.of(dict.fromkeys("abcdef", 4))
    cliques = [("a", "b", "c"), ("c", "d"), ("e", "f")]
    now = tree_size(domain, cliques)
    assert tree_sizes_with(domain, cliques, [("a", "c"), ("c", "d"), ("e",)]) == [now] * 3


def test_the_size_is_that_of_the_tree_not_of_the_cliques() -> None:
    """A cycle of four pairs needs a chord: two cliques of three, not four of two."""
    domain = Domain.of(dict.fromkeys("abcd", 10))
    cycle = [("a", "b"), ("b", "c"), ("c", "d"), ("a", "d")]
    assert tree_size(domain, cycle) == 8 * 2 * 10**3


def test_hundreds_of_attributes() -> None:
    names = [f"x{i}" for i in range(500)]
    domain = Domain(tuple(names), tuple(2 + i % 3 for i in range(500)))
    cliques = [(names[i], names[i + 1], names[i + 2]) for i in range(0, 300)]
    tree = junction_tree(domain, cliques)
    assert len(tree.cliques) == 300 + 198
    assert all(connected(tree, a) for a in names)
    assert tree_sizes_with(domain, cliques, [("x0", "x499")]) == [tree_size(domain, [*cliques, ("x0", "x499")])]


def test_sizes_beyond_any_memory_are_exact() -> None:
    domain = Domain.of({f"x{i}": 1000 for i in range(20)})
    assert tree_size(domain, [domain.attributes]) == 8 * 1000**20
