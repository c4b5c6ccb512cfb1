"""Every marginal and the log-partition function, against multiplying everything out."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from understudy.domain import Domain, Zeros
from understudy.errors import SchemaError
from understudy.model import GraphicalModel
from understudy.model.engine.on_numpy import answers, pairs
from understudy.model.engine.on_numpy.inference import Inference
from understudy.model.engine.on_numpy.pairs import Pairs
from understudy.model.engine.on_numpy.semirings import LOGARITHMIC, Scratch
from understudy.model.network import Network

from .small import BruteForce, models, subsets

RELATIVE = 1e-9
BELOW_DOUBLES = 1e-250
"""Probabilities so small that the products they come from may underflow."""


@settings(deadline=None, max_examples=150)
@given(models())
def test_log_partition_function(model: GraphicalModel) -> None:
    truth = BruteForce(model)
    assert np.isclose(model.log_z, truth.log_z, rtol=RELATIVE, atol=1e-9)


@settings(deadline=None, max_examples=150)
@given(models())
def test_every_marginal_of_up_to_three_attributes(model: GraphicalModel) -> None:
    truth = BruteForce(model)
    wanted = subsets(model.domain)
    for clique, got in zip(wanted, model.marginals(wanted), strict=True):
        want = truth.marginal(clique)
        np.testing.assert_allclose(got, want, rtol=RELATIVE, atol=model.total * BELOW_DOUBLES, err_msg=str(clique))
        assert np.all(got[np.isneginf(truth.log_marginal(clique))] == 0), f"{clique}: a forbidden cell is not 0"


@pytest.mark.parametrize("spread_up_to", [0.0, 1.0])
@settings(deadline=None, max_examples=150)
@given(models())
def test_all_pairs_at_once(spread_up_to: float, model: GraphicalModel) -> None:
    truth = BruteForce(model)
    wanted = subsets(model.domain, 2)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(answers, "PAIRS_FROM", 1)
        patched.setattr(answers, "SPREAD_UP_TO", spread_up_to)
        found = model.marginals(wanted)
    for clique, got in zip(wanted, found, strict=True):
        np.testing.assert_allclose(got, truth.marginal(clique), rtol=1e-9, atol=model.total * 1e-12, err_msg=str(clique))


@pytest.mark.parametrize("spread_up_to", [0.0, 1.0])
@pytest.mark.parametrize("seed", range(6))
def test_all_pairs_of_long_and_bushy_trees(seed: int, spread_up_to: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path, a star or a tree of triples, beside a part that shares nothing with it: as each pair by itself."""
    rng = np.random.default_rng(seed)
    domain = Domain.of({f"x{i}": int(rng.integers(2, 6)) for i in range(40)})
    names = list(domain)
    earlier = {0: lambda i: i - 1, 1: lambda i: int(rng.integers(0, 2)), 2: lambda i: int(rng.integers(0, i))}[seed % 3]
    cliques = [domain.clique([names[earlier(i)], names[i]]) for i in range(1, 30)]
    cliques += [domain.clique([names[i] for i in rng.choice(30, 3, replace=False)]) for _ in range(6 if seed > 2 else 0)]
    cliques += list(pairwise(names[32:])) if seed % 2 else []
    model = GraphicalModel(domain, {r: rng.standard_normal(domain.shape(r)) for r in cliques}, 1e3)
    wanted = [r for r in subsets(domain, 2) if len(r) == 2 and rng.random() < 0.8]
    alone = [model.marginal(r) for r in wanted]
    monkeypatch.setattr(answers, "SPREAD_UP_TO", spread_up_to)
    monkeypatch.setattr(pairs, "AT_ONCE", 64)
    for got, want in zip(GraphicalModel(*_parts(model)).marginals(wanted), alone, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9)


def test_the_cells_of_all_messages_are_known_before_they_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    domain = Domain.of({f"x{i}": int(rng.integers(2, 6)) for i in range(20)})
    names = list(domain)
    cliques = [domain.clique([names[int(rng.integers(0, i))], names[i]]) for i in range(1, 18)]
    cliques += [domain.clique([names[i] for i in rng.choice(18, 3, replace=False)]) for _ in range(3)]
    model = GraphicalModel(domain, {r: rng.standard_normal(domain.shape(r)) for r in cliques}, 1e3)
    made, foretold, send, cells = list[int](), list[int](), Pairs._message, Pairs.cells
    monkeypatch.setattr(Pairs, "cells", lambda *given: foretold.append(cells(*given)) or foretold[-1])
    monkeypatch.setattr(Pairs, "_message", lambda *given: [found := send(*given), made.append(found[1].size)][0])
    wanted = [r for r in subsets(domain, 2) if len(r) == 2]
    found = model.marginals(wanted)
    assert foretold == [sum(made)]
    monkeypatch.setattr(answers, "MOST_TOGETHER", foretold[0] - 1)
    for got, want in zip(GraphicalModel(*_parts(model)).marginals(wanted), found, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-9)
    assert foretold == [sum(made)] * 2  # no other message was made


@settings(deadline=None, max_examples=60)
@given(models(), st.randoms(use_true_random=False))
def test_a_marginal_of_any_attributes_in_any_order(model: GraphicalModel, random) -> None:  # type: ignore[no-untyped-def]
    names = [a for a in model.domain if random.random() < 0.7]
    random.shuffle(names)
    got = model.marginal(names)
    clique = model.domain.clique(names)
    want = BruteForce(model).marginal(clique).transpose([clique.index(a) for a in names])
    np.testing.assert_allclose(got, want, rtol=RELATIVE, atol=model.total * BELOW_DOUBLES)


@settings(deadline=None, max_examples=60)
@given(models(attributes=4, magnitude=10.0))
def test_the_batch_and_single_questions_agree(model: GraphicalModel) -> None:
    wanted = subsets(model.domain)
    for clique, got in zip(wanted, model.marginals(wanted), strict=True):
        np.testing.assert_allclose(GraphicalModel(*_parts(model)).marginal(clique), got, rtol=1e-12, atol=0)


def test_the_cores_share_many_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    domain = Domain.of({f"x{i}": 3 for i in range(6)})
    rng = np.random.default_rng(2)
    model = GraphicalModel(domain, {pair: rng.standard_normal((3, 3)) for pair in pairwise(domain)}, 10.0)
    wanted = subsets(domain)
    alone = model.marginals(wanted)
    monkeypatch.setattr(answers, "THREADED_ABOVE", 0)
    monkeypatch.setattr(answers, "workers", lambda: 3)
    for got, want in zip(GraphicalModel(*_parts(model)).marginals(wanted), alone, strict=True):
        np.testing.assert_array_equal(got, want)


def _parts(model: GraphicalModel):  # type: ignore[no-untyped-def]
    return model.domain, model.parameters, model.total, model.zeros


@settings(deadline=None, max_examples=60)
@given(models(magnitude=10.0))
def test_single_precision_is_right_to_five_digits(model: GraphicalModel) -> None:
    truth = BruteForce(model)
    wanted = subsets(model.domain)
    for clique, got in zip(wanted, model.marginals(wanted, precision="single"), strict=True):
        np.testing.assert_allclose(got, truth.marginal(clique), rtol=1e-4, atol=1e-5 * model.total)


def test_a_model_of_nothing_is_uniform() -> None:
    model = GraphicalModel(Domain.of({"a": 2, "b": 3}), {}, 12.0)
    np.testing.assert_allclose(model.marginal(["a", "b"]), np.full((2, 3), 2.0))
    assert model.log_z == pytest.approx(np.log(6))


def test_the_empty_marginal_is_the_mass() -> None:
    model = GraphicalModel(Domain.of({"a": 2, "b": 3}), {("a",): np.array([1.0, 2.0])}, 12.0)
    assert model.marginal([]) == pytest.approx(12.0)


def test_an_attribute_named_twice_is_refused() -> None:
    with pytest.raises(SchemaError, match="twice"):
        GraphicalModel(Domain.of({"a": 2}), {}, 1.0).marginal(["a", "a"])


def test_hundreds_of_attributes_far_apart() -> None:
    """A chain of 300 binary attributes that copy each other: the ends still agree as powers of the step say."""
    names = [f"x{i}" for i in range(300)]
    domain = Domain(tuple(names), (2,) * 300)
    link = np.log(np.array([[0.999, 0.001], [0.001, 0.999]]))
    model = GraphicalModel(domain, dict.fromkeys(pairwise(names), link), 1.0)
    same = 0.5 + 0.5 * 0.998**299
    np.testing.assert_allclose(
        model.marginal(["x0", "x299"]), [[same / 2, (1 - same) / 2], [(1 - same) / 2, same / 2]], rtol=1e-9
    )


def test_zeros_that_leave_nothing_in_one_table() -> None:
    zeros = (Zeros(("a",), np.array([[0], [1]])),)
    with pytest.raises(SchemaError, match="forbid every combination"):
        _ = GraphicalModel(Domain.of({"a": 2, "b": 2}), {}, 1.0, zeros).log_z


def test_zeros_that_leave_nothing_only_together() -> None:
    zeros = (
        Zeros(("a", "b"), np.array([[0, 0], [0, 1]])),
        Zeros(("b", "c"), np.array([[0, 0], [0, 1], [1, 0], [1, 1]])[:, ::1][:2]),
        Zeros(("a", "c"), np.array([[1, 0]])),
        Zeros(("b", "c"), np.array([[1, 1]])),
    )
    with pytest.raises(SchemaError, match="forbid every record"):
        _ = GraphicalModel(Domain.of({"a": 2, "b": 2, "c": 2}), {}, 1.0, zeros).log_z


@pytest.mark.parametrize(
    ("magnitude", "rings"),
    [(0.5, ["Unscaled"]), (7.0, ["Unscaled"]), (14.0, ["Unscaled", "Linear"]), (900.0, ["Linear", "Logarithmic"])],
)
def test_however_far_the_potentials_reach(magnitude: float, rings: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Proved safe; not proved, and seen to be; seen not to be; hopeless: each is right, the same memory or not."""
    domain = Domain.of({f"x{i:02d}": 3 for i in range(80)})
    inference, rng, scratch = Inference(Network(domain, list(pairwise(domain)))), np.random.default_rng(3), Scratch()
    run, used = Inference._run, []
    monkeypatch.setattr(Inference, "_run", lambda *given: (used.append(type(given[3]).__name__), run(*given))[1])
    for _ in range(3):
        potentials = magnitude * rng.standard_normal(inference.network.cells)
        used.clear()
        for got in (inference.infer(potentials, scratch), inference.infer(potentials)):
            assert used == [*rings, *rings]
            want = run(inference, potentials, 0.0, LOGARITHMIC, None)
            assert np.isclose(got.log_z, want.log_z, rtol=RELATIVE)
            np.testing.assert_allclose(got.marginals, want.marginals, rtol=1e-8, atol=BELOW_DOUBLES)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(models(), st.integers(1, 40))
def test_a_marginal_worked_out_value_by_value(monkeypatch: pytest.MonkeyPatch, model: GraphicalModel, largest: int) -> None:
    """However few cells a message may have: as brute force says."""
    monkeypatch.setattr(answers, "LARGEST", largest)
    brute = BruteForce(model)
    for clique, got in zip(subsets(model.domain), model.marginals(subsets(model.domain)), strict=True):
        np.testing.assert_allclose(got, brute.marginal(clique), rtol=RELATIVE, atol=model.total * BELOW_DOUBLES)


def test_no_message_has_more_cells_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two wide ends of a chain of triples meet in its middle: their message would have 20 x 20 x 4 x 4 cells."""
    domain = Domain.of({"a": 20, "b": 20, **{f"x{i}": 4 for i in range(8)}, "c": 20})
    names = list(domain)[2:-1]
    cliques = [("a", "x0"), ("b", "x0", "x1"), *zip(names, names[1:], names[2:], strict=False), ("c", "x6", "x7")]
    rng = np.random.default_rng(5)
    tables = {(r := domain.clique(clique)): rng.standard_normal(domain.shape(r)) for clique in cliques}
    model, wanted = GraphicalModel(domain, tables, 1e3), [domain.clique(["a", "b", "c"])]
    whole = model.marginals(wanted)
    made = list[int]()
    send = answers.Answers._message
    monkeypatch.setattr(
        answers.Answers, "_message", lambda *given: [found := send(*given), made.append(found.table.size)][0]
    )
    monkeypatch.setattr(answers, "LARGEST", 400)
    np.testing.assert_allclose(GraphicalModel(*_parts(model)).marginals(wanted), whole, rtol=1e-12)
    assert 0 < max(made) <= 400


@pytest.mark.parametrize(
    ("largest", "sizes", "cliques", "wanted"),
    [
        (1, (3, 1, 4, 2, 1), "ab ac ad ae", "bd"),
        (2, (4, 4, 4, 3, 1, 2), "ab bc bd bde bf", "cd"),
        (1, (2, 2, 4, 2, 2, 4), "ab ac cd bce bcf", "ade"),
    ],
)
def test_all_of_a_marginal_may_come_by_messages_value_by_value(
    monkeypatch: pytest.MonkeyPatch, largest: int, sizes: tuple[int, ...], cliques: str, wanted: str
) -> None:
    domain, rng = Domain(tuple("abcdef"[: len(sizes)]), sizes), np.random.default_rng(0)
    tables = {tuple(clique): rng.uniform(-1, 1, domain.shape(tuple(clique))) for clique in cliques.split()}
    model = GraphicalModel(domain, tables, 1.0)
    monkeypatch.setattr(answers, "LARGEST", largest)
    np.testing.assert_allclose(model.marginal(tuple(wanted)), BruteForce(model).marginal(tuple(wanted)), rtol=1e-9)
