"""The counting kernel: exact, whatever the plan, the batches and the size of the numbers."""

from __future__ import annotations

import itertools
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from understudy.domain import Domain
from understudy.errors import InternalError, WorkloadError
from understudy.source.codes import Codes, chunk_rows, pack, rechunk
from understudy.source.compress import compress
from understudy.source.plan import plan_carriers
from understudy.source.tally import Tally, _Pass

SIZES = st.lists(st.integers(1, 6), min_size=1, max_size=6)


def domain_of(sizes: list[int]) -> Domain:
    return Domain(tuple(f"a{i}" for i in range(len(sizes))), tuple(sizes))


def random_codes(sizes: list[int], rows: int, seed: int) -> NDArray[np.int64]:
    rng = np.random.default_rng(seed)
    return rng.integers(0, sizes, (rows, len(sizes)))


def walk(codes: NDArray[np.int64], domain: Domain, clique: tuple[str, ...]) -> NDArray[np.int64]:
    result = np.zeros(domain.shape(clique), np.int64)
    for row in codes.tolist():
        result[tuple(row[domain.index(name)] for name in clique)] += 1
    return result


def all_cliques(domain: Domain, order: int) -> list[tuple[str, ...]]:
    return [c for k in range(order + 1) for c in itertools.combinations(domain, k)]


@given(SIZES, st.integers(0, 60), st.integers(0, 2**32), st.integers(1, 70))
@settings(max_examples=60, deadline=None)
def test_batches_add_up_to_a_walk_over_the_rows(sizes: list[int], rows: int, seed: int, step: int) -> None:
    domain, codes = domain_of(sizes), random_codes(sizes, rows, seed)
    cliques = all_cliques(domain, 4)
    tally = Tally(domain, cliques)
    for batch in rechunk([pack(codes, sizes)], step):
        tally.add(batch)
    for clique, count in zip(cliques, tally.counts(), strict=True):
        np.testing.assert_array_equal(count, walk(codes, domain, clique))


@given(SIZES, st.data(), st.integers(1, 3000))
@settings(max_examples=80, deadline=None)
def test_a_plan_covers_every_marginal_once_and_keeps_the_limit(sizes: list[int], data: st.DataObject, limit: int) -> None:
    possible = [c for k in range(len(sizes) + 1) for c in itertools.combinations(range(len(sizes)), k)]
    wanted = data.draw(st.lists(st.sampled_from(possible), unique=True))
    carriers = plan_carriers(sizes, wanted, limit)
    assert sorted(t for carrier in carriers for t in carrier.targets) == sorted(wanted)
    for carrier in carriers:
        cells = int(np.prod([sizes[i] for i in carrier.positions]))
        assert all(set(target) <= set(carrier.positions) for target in carrier.targets)
        assert cells <= limit or carrier.positions in carrier.targets


def test_four_attributes_carry_four_marginals_of_three() -> None:
    wanted = list(itertools.combinations(range(16), 3))
    assert len(plan_carriers([18] * 16, wanted, 2**17)) < len(wanted) / 2
    assert len(plan_carriers([18] * 16, wanted, 2**16)) == len(wanted)


@given(SIZES, st.integers(0, 80), st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_folding_keeps_every_row_and_its_number(sizes: list[int], rows: int, seed: int) -> None:
    codes = random_codes(sizes, rows, seed)
    folded = compress(pack(codes, sizes), sizes)
    weights = np.ones(folded.rows, np.int64) if folded.weights is None else folded.weights
    distinct = np.stack([c.astype(np.int64) for c in folded.columns], axis=1)
    unfolded = np.repeat(distinct, weights, axis=0)
    np.testing.assert_array_equal(sorted(unfolded.tolist()), sorted(codes.tolist()))


def test_folding_leaves_alone_what_does_not_repeat_or_does_not_fit_in_a_key() -> None:
    different = pack(np.arange(100).reshape(-1, 1), [100])
    assert compress(different, [100]) is different
    sizes = [2**31 - 1] * 3
    wide = pack(np.tile(np.arange(3000).reshape(-1, 1) * 700_001, (2, 3)), sizes)
    assert compress(wide, sizes) is wide


def test_folding_takes_a_column_of_very_many_codes_as_it_is() -> None:
    sizes = [2**31 - 1, 5, 2**24]
    codes = np.array([[2**31 - 2, 4, 2**24 - 1], [7, 0, 3]] * 5)
    folded = compress(pack(codes, sizes), sizes)
    assert [column.tolist() for column in folded.columns] == [[7, 2**31 - 2], [0, 4], [3, 2**24 - 1]]
    assert folded.weights is not None
    assert folded.weights.tolist() == [5, 5]


def test_folding_a_workload_gives_the_counts_of_the_rows() -> None:
    sizes = [4] * 12
    domain, codes = domain_of(sizes), np.repeat(random_codes(sizes, 300, 5), 9, axis=0)
    cliques = list(itertools.combinations(domain, 3))
    tally = Tally(domain, cliques)
    tally.add(pack(codes, sizes))
    for clique, count in zip(cliques[::20], tally.counts()[::20], strict=True):
        np.testing.assert_array_equal(count, walk(codes, domain, clique))


def test_totals_beyond_32_bits_by_merging() -> None:
    domain, cliques = Domain.of({"a": 2, "b": 3}), [("a", "b"), ()]
    tally = Tally(domain, cliques)
    tally.add(pack(np.array([[1, 2], [1, 2], [0, 0]]), domain.sizes))
    for _ in range(40):
        tally.merge(tally)
    joint, total = tally.counts()
    assert joint[1, 2] == 2**41
    assert joint[0, 0] == 2**40
    assert total == 3 * 2**40


@pytest.mark.parametrize("big", [2**24 + 1, 2**31 + 1, 2**53 + 1, 2**61 + 1])
def test_weights_are_integers_to_the_last_unit(big: int) -> None:
    domain = Domain.of({"a": 2, "b": 2})
    weights = np.array([big, 1, 1, big], np.int64)
    columns = tuple(np.array(c, np.uint8) for c in ([0, 0, 1, 1], [0, 0, 1, 0]))
    tally = Tally(domain, [("a", "b"), ("a",), ("b",), ()])
    tally.add(Codes(4, columns, weights))
    joint, a, b, total = tally.counts()
    assert joint.tolist() == [[big + 1, 0], [big, 1]]
    assert a.tolist() == [big + 1, big + 1]
    assert b.tolist() == [2 * big + 1, 1]
    assert total == 2 * big + 2


def test_tallies_of_different_cliques_do_not_merge() -> None:
    domain = Domain.of({"a": 2})
    with pytest.raises(InternalError):
        Tally(domain, [("a",)]).merge(Tally(domain, [()]))


def test_cells_beyond_32_bits_are_numbered_without_wrapping() -> None:
    sizes = (300, 2**33, 5, 2**20)
    last = tuple(size - 1 for size in sizes)
    codes = pack(np.array([last, (0, 0, 0, 1), last]), sizes)
    numbered = _Pass(codes, sizes)._mixed_radix((0, 1, 2))
    assert numbered.dtype == np.int64
    assert numbered.tolist() == [300 * 2**33 * 5 - 1, 0, 300 * 2**33 * 5 - 1]


def test_a_marginal_too_large_to_number_is_refused() -> None:
    domain = Domain.of({f"a{i}": 2**30 for i in range(3)})
    with pytest.raises(WorkloadError, match="smaller"):
        Tally(domain, [tuple(domain)])


def test_a_large_marginal_takes_no_more_than_its_counts_and_small_blocks() -> None:
    domain = Domain.of({"a": 500, "b": 76, "c": 330})
    codes = random_codes(list(domain.sizes), 5000, 7)
    batch = pack(codes, domain.sizes)
    tally = Tally(domain, [tuple(domain)])
    tracemalloc.start()
    for _ in range(20):
        tally.add(batch)
    counts = tally.counts()[0]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1_000_000 < counts.nbytes
    assert counts.sum() == 100_000
    assert counts[tuple(codes[0])] >= 20


def test_codes_are_narrow_and_wrong_codes_go_to_the_edge() -> None:
    packed = pack(np.array([[-7, 256], [5, 2**40], [1, 3]]), [3, 257])
    assert [column.dtype for column in packed.columns] == [np.uint8, np.uint16]
    assert packed.columns[0].tolist() == [0, 2, 1]
    assert packed.columns[1].tolist() == [256, 256, 3]


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.uint64, np.int64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_any_integer_type_and_memory_order_packs(kind: type[np.integer], order: str) -> None:
    codes = random_codes([100, 3, 300], 20_000, 3) % 100
    packed = pack(np.asarray(codes.astype(kind), order=order), [100, 3, 300])  # type: ignore[call-overload]
    for i, column in enumerate(packed.columns):
        np.testing.assert_array_equal(column, codes[:, i])


@given(st.lists(st.integers(0, 20), max_size=12), st.integers(1, 25))
@settings(max_examples=60, deadline=None)
def test_chunks_hold_all_rows_in_order(lengths: list[int], rows: int) -> None:
    starts = np.cumsum([0, *lengths])
    batches = [Codes(n, (np.arange(s, s + n, dtype=np.uint16),)) for s, n in zip(starts, lengths, strict=False)]
    chunks = list(rechunk(batches, rows))
    assert all(chunk.rows == len(chunk.columns[0]) == rows for chunk in chunks[:-1])
    assert [v for chunk in chunks for v in chunk.columns[0].tolist()] == list(range(sum(lengths)))


def test_wide_tables_are_counted_in_shorter_chunks() -> None:
    assert chunk_rows([2] * 4) == 2**20
    assert chunk_rows([1000] * 1000) * 2000 <= 2**26
    assert chunk_rows([]) == 2**20
