"""Generated records: exact rounding, stated distances, evidence, and the right distribution."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from understudy.domain import Domain, Zeros
from understudy.errors import SchemaError, UserError
from understudy.model import GraphicalModel, rounding_distance
from understudy.model.contraction import families
from understudy.model.generation import rounded, sampled, shuffle_inside

from .small import BruteForce, counts, models, subsets


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def chain(length: int, size: int = 3, seed: int = 0) -> GraphicalModel:
    names = [f"x{i}" for i in range(length)]
    draw = rng(seed)
    parameters = {pair: draw.normal(size=(size, size)) for pair in pairwise(names)}
    return GraphicalModel(Domain(tuple(names), (size,) * length), parameters, 1000.0)


rows_to_ask = st.sampled_from([0, 1, 2, 7, 100, 5000])
seeds = st.integers(0, 2**32)


@settings(deadline=None, max_examples=100)
@given(models(), rows_to_ask, seeds)
def test_each_family_is_rounded_given_its_parents(model: GraphicalModel, rows: int, seed: int) -> None:
    """A family's count is below 1 away from (count of the parents' values) × p(attribute | parents), computed apart."""
    domain, truth = model.domain, BruteForce(model)
    records = model.generate(rows, rng(seed))
    for family in families(model.network.plan):
        parents = domain.clique(domain.attributes[p] for p in family.parents)
        attribute = domain.attributes[family.attribute]
        clique = (*parents, attribute)
        log_above = truth.log_marginal(parents)[..., None]
        with np.errstate(invalid="ignore"):
            conditional = np.exp(truth.log_marginal(clique) - log_above)
        want = counts(domain, records, parents)[..., None] * np.where(np.isneginf(log_above), 0.0, conditional)
        assert np.all(np.abs(counts(domain, records, clique) - want) < 1 + 1e-6)


@settings(deadline=None, max_examples=100)
@given(models(), rows_to_ask, seeds, st.sampled_from(["round", "sample"]))
def test_what_cannot_occur_is_never_generated(model: GraphicalModel, rows: int, seed: int, method) -> None:  # type: ignore[no-untyped-def]
    records = model.generate(rows, rng(seed), method=method)
    assert records.dtype == np.int32
    assert records.shape == (rows, len(model.domain))
    assert np.all((records >= 0) & (records < np.array(model.domain.sizes)))
    assert np.all(np.isfinite(BruteForce(model).joint[tuple(records.T)]))


@settings(deadline=None, max_examples=100)
@given(models(), rows_to_ask, seeds)
def test_no_clique_is_farther_away_than_stated(model: GraphicalModel, rows: int, seed: int) -> None:
    records = model.generate(rows, rng(seed))
    truth = BruteForce(model)
    for clique in model.cliques:
        want = rows * np.exp(truth.log_marginal(clique))
        assert (
            np.abs(counts(model.domain, records, clique) - want).sum()
            <= rounding_distance(model, clique, rows).most * (1 + 1e-9) + 1e-6
        )


@pytest.mark.statistical
def test_the_mean_distance_is_below_what_is_stated() -> None:
    """False alarms: the mean of 60 draws above its bound by four of its standard errors, at most 1e-4."""
    model = chain(5, size=4)
    for clique in model.cliques:
        for rows in (30, 1000):
            want = rows * model.marginal(clique) / model.total
            seen = [np.abs(counts(model.domain, model.generate(rows, rng(s)), clique) - want).sum() for s in range(60)]
            slack = 4 * np.std(seen) / np.sqrt(len(seen))
            stated = rounding_distance(model, clique, rows)
            assert np.mean(seen) <= stated.mean + slack
            assert stated.mean <= stated.most


def test_a_distance_across_cliques_is_not_stated() -> None:
    with pytest.raises(SchemaError, match="share a clique"):
        rounding_distance(chain(3), ["x0", "x2"], 10)


def test_rounding_is_closer_than_sampling() -> None:
    model = chain(6)

    def error(method) -> float:  # type: ignore[no-untyped-def]
        records = model.generate(10_000, rng(5), method=method)
        wanted = subsets(model.domain, 2)
        tables = zip(wanted, model.marginals(wanted), strict=True)
        return float(sum(np.abs(counts(model.domain, records, c) / 10_000 - t / model.total).sum() for c, t in tables))

    assert error("round") < 0.7 * error("sample")


@pytest.mark.statistical
@pytest.mark.parametrize("method", ["round", "sample"])
def test_single_records_follow_the_joint_distribution(method) -> None:  # type: ignore[no-untyped-def]
    """One record a call, 3000 calls: independent draws of the joint, by either method. False alarms: 1e-5 each."""
    model = GraphicalModel(
        Domain.of({"a": 2, "b": 3, "c": 2}),
        {("a", "b"): rng(1).normal(size=(2, 3)), ("b", "c"): rng(2).normal(size=(3, 2))},
        1.0,
    )
    draw = rng(7)
    records = np.concatenate([model.generate(1, draw, method=method) for _ in range(3000)])
    seen = counts(model.domain, records, ("a", "b", "c")).ravel()
    want = 3000 * np.exp(BruteForce(model).log_marginal(("a", "b", "c"))).ravel()
    assert stats.chisquare(seen, want).pvalue > 1e-5


@pytest.mark.statistical
@pytest.mark.parametrize("method", ["round", "sample"])
def test_columns_are_independent_given_their_parents(method) -> None:  # type: ignore[no-untyped-def]
    """In a chain, the ends given the middle are independent: a χ² test for each value. False alarms: 3e-5."""
    model = chain(3, size=3, seed=4)
    records = model.generate(30_000, rng(8), method=method)
    table = counts(model.domain, records, ("x0", "x1", "x2"))
    for middle in range(3):
        assert stats.chi2_contingency(table[:, middle, :]).pvalue > 1e-5


@pytest.mark.statistical
def test_rounding_is_unbiased() -> None:
    """The mean of 4000 rounded draws of 3 records is the model's. False alarms: 12 cells at 5 sigma, below 1e-5."""
    model = chain(2, size=3, seed=3)
    draw = rng(11)
    tables = np.array([counts(model.domain, model.generate(3, draw), ("x0", "x1")) for _ in range(4000)])
    want = 3 * model.marginal(["x0", "x1"]) / model.total
    assert np.all(np.abs(tables.mean(axis=0) - want) <= 5 * tables.std(axis=0) / np.sqrt(4000) + 1e-9)


@settings(deadline=None, max_examples=80)
@given(models(magnitude=30.0), st.data(), seeds)
def test_evidence_is_exact(model: GraphicalModel, data: st.DataObject, seed: int) -> None:
    """Conditioning slices the joint: the same marginals as brute force, all records with the values."""
    fixed = data.draw(st.lists(st.sampled_from(model.domain.attributes), unique=True, min_size=1, max_size=3))
    codes = {a: data.draw(st.integers(0, model.domain[a] - 1)) for a in fixed}
    truth = BruteForce(model)
    index = tuple(codes.get(a, slice(None)) for a in model.domain)
    if np.all(np.isneginf(truth.joint[index])):
        with pytest.raises(SchemaError, match="No record can have"):
            model.given(codes)
        return
    held = model.given(codes)
    for clique in subsets(model.domain, 2):
        whole = model.domain.clique([*clique, *codes])
        want = np.zeros(model.domain.shape(clique))
        table = truth.marginal(whole)
        slots = tuple(codes.get(a, slice(None)) for a in clique)
        part = table[tuple(codes.get(a, slice(None)) for a in whole)]
        want[slots] = part
        np.testing.assert_allclose(held.marginal(clique), want, rtol=1e-9, atol=1e-200)
    records = model.generate(50, rng(seed), given=codes)
    assert all(np.all(records[:, model.domain.index(a)] == code) for a, code in codes.items())
    assert np.all(np.isfinite(truth.joint[tuple(records.T)]))


def test_evidence_that_cannot_be() -> None:
    zeros = (Zeros(("a", "b"), np.array([[1, 0], [1, 1]])),)
    model = GraphicalModel(Domain.of({"a": 2, "b": 2}), {}, 10.0, zeros)
    with pytest.raises(SchemaError, match="No record can have a = 1"):
        model.generate(5, rng(), given={"a": 1})


@pytest.mark.parametrize("code", [-1, 2, 1.0, "x", None])
def test_evidence_that_is_no_code(code) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(SchemaError, match="give a code, 0 to 1"):
        GraphicalModel(Domain.of({"a": 2}), {}, 1.0).given({"a": code})


def test_evidence_about_nothing_known() -> None:
    with pytest.raises(SchemaError, match='Did you mean "sex"'):
        GraphicalModel(Domain.of({"sex": 2}), {}, 1.0).given({"sexx": 1})


@pytest.mark.parametrize("method", ["round", "sample"])
def test_a_seed_repeats(method) -> None:  # type: ignore[no-untyped-def]
    model = chain(5)
    assert np.array_equal(model.generate(999, rng(3), method=method), model.generate(999, rng(3), method=method))
    assert not np.array_equal(model.generate(999, rng(3), method=method), model.generate(999, rng(4), method=method))


def test_one_attribute_of_one_value() -> None:
    assert np.array_equal(GraphicalModel(Domain.of({"a": 1}), {}, 5.0).generate(3, rng()), np.zeros((3, 1)))


def test_five_hundred_attributes() -> None:
    model = chain(500, size=2)
    records = model.generate(1000, rng())
    for pair in list(pairwise(model.domain.attributes))[::50]:
        want = 1000 * model.marginal(pair) / model.total
        assert np.abs(counts(model.domain, records, pair) - want).max() < 25


def test_more_groups_than_fit_in_sixteen_bits() -> None:
    """A family with 90,000 combinations of its parents: grouped by more than one pass, and chunk by chunk."""
    domain = Domain.of({"a": 300, "b": 300, "c": 5})
    model = GraphicalModel(domain, {("a", "b", "c"): rng(1).normal(size=(300, 300, 5))}, 1.0)
    records = model.generate(200_000, rng(2))
    table = counts(domain, records, ("a", "b", "c"))
    last = families(model.network.plan)[-1].attribute
    p = model.marginal(["a", "b", "c"])
    want = table.sum(axis=last, keepdims=True) * p / p.sum(axis=last, keepdims=True)
    assert np.abs(table - want).max() < 1 + 1e-9
    sampled = model.generate(200_000, rng(2), method="sample")
    assert np.abs(counts(domain, sampled, ("c",)) - 200_000 * model.marginal(["c"])).max() < 6 * 200_000**0.5


@pytest.mark.parametrize(("rows", "method"), [(-1, "round"), (3, "rounded")])
def test_what_makes_no_sense_is_refused(rows, method) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UserError):
        GraphicalModel(Domain.of({"a": 2}), {}, 1.0).generate(rows, rng(), method=method)


class Extreme:
    """A generator whose uniform numbers are all at one end of what a generator may give."""

    def __init__(self, value: float) -> None:
        self.value = value

    def random(self, size: object) -> np.ndarray[Any, Any]:
        return np.full(size, self.value)  # type: ignore[call-overload,no-any-return]


@pytest.mark.parametrize("value", [0.0, np.nextafter(1.0, 0.0)])
@pytest.mark.parametrize("draw", [rounded, sampled])
def test_rounding_errors_never_reach_a_cell_of_probability_0(draw, value: float) -> None:  # type: ignore[no-untyped-def]
    """Groups of every size with impossible cells in front and behind, drawn with the numbers most likely to slip."""
    sizes = np.arange(1, 2000)
    weights = rng(1).random((sizes.size, 7)) * [0, 1, 1, 0, 1, 0, 0]
    values = draw(np.cumsum(weights, axis=1), sizes, Extreme(value))
    assert values.size == sizes.sum()
    assert set(np.unique(values)) <= {1, 2, 4}


@pytest.mark.statistical
@pytest.mark.parametrize("sizes", [[300_000], [3, 1, 40_000, 2, 60_000, 70_000, 5, 5]])
def test_values_are_put_in_random_order_inside_their_group(sizes: list[int]) -> None:
    """Large and small groups keep their own values, spread evenly over their places. False alarms: 1e-5 a group."""
    starts = np.concatenate([[0], np.cumsum(sizes)])
    values = np.concatenate([np.arange(n, dtype=np.int32) + s for n, s in zip(sizes, starts, strict=False)])
    shuffle_inside(values, starts, rng(1))
    for start, end in pairwise(starts):
        group = values[start:end]
        assert np.array_equal(np.sort(group), np.arange(start, end))
        if group.size > 1000:
            where = np.histogram2d(np.arange(group.size), group, bins=10)[0]
            assert stats.chi2_contingency(where).pvalue > 1e-5
