"""The engine against mbi 2.0, written by others: marginals and log-partition function of random models, and a fit.

Runs only where mbi is installed (``make test-oracle``).
"""

import warnings
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from understudy.domain import Clique, Domain
from understudy.model import Dual, GraphicalModel, Observation, fit, tree_size

from .small import BruteForce, subsets

pytestmark = pytest.mark.oracle

SEEDS = range(12)


@pytest.fixture(scope="module", autouse=True)
def mbi() -> Any:
    """Import mbi in double precision; skip where it is not installed."""
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("mbi")


def random_model(seed: int, magnitude: float) -> GraphicalModel:
    """Return a model on 4 to 7 attributes; odd seeds leave the last attribute alone."""
    rng = np.random.default_rng(seed)
    names = tuple("abcdefg"[: rng.integers(4, 8)])
    domain = Domain(names, tuple(int(k) for k in rng.integers(1, 6, size=len(names))))
    connected = names[:-1] if seed % 2 else names
    cliques = [domain.clique(rng.choice(connected, size=rng.integers(1, 4), replace=False)) for _ in range(6)]
    tables = {c: magnitude * rng.uniform(-1, 1, domain.shape(c)) for c in dict.fromkeys(cliques)}
    return GraphicalModel(domain, tables, float(rng.uniform(1, 1e5)))


def as_mbi(mbi: Any, model: GraphicalModel) -> Any:
    """Return the model's potentials as mbi's; an attribute without a clique gets one of zeros, as mbi needs."""
    domain = mbi.Domain(model.domain.attributes, model.domain.sizes)
    tables: dict[Clique, np.ndarray[Any, Any]] = dict(model.parameters)
    for a in model.domain:
        tables.setdefault((a,), np.zeros(model.domain[a]))
    factors = {c: mbi.Factor(domain.project(c), np.asarray(t)) for c, t in tables.items()}
    return mbi.CliqueVector(domain, list(factors), factors)


@pytest.mark.parametrize("magnitude", [1.0, 1e3])
@pytest.mark.parametrize("seed", SEEDS)
def test_clique_marginals(mbi: Any, seed: int, magnitude: float) -> None:
    model = random_model(seed, magnitude)
    theirs = mbi.marginal_oracles.message_passing_shafer_shenoy(as_mbi(mbi, model), total=model.total)
    for clique in model.parameters:
        want = np.asarray(theirs.project(clique).datavector()).reshape(model.domain.shape(clique))
        np.testing.assert_allclose(model.marginal(clique), want, rtol=1e-9, atol=1e-12 * model.total)


@pytest.mark.parametrize("magnitude", [1.0, 1e3])
@pytest.mark.parametrize("seed", SEEDS)
def test_marginals_across_cliques(mbi: Any, seed: int, magnitude: float) -> None:
    model = random_model(seed, magnitude)
    theirs = as_mbi(mbi, model)
    wanted = subsets(model.domain, 2)[:: max(1, len(subsets(model.domain, 2)) // 6)]
    for clique, got in zip(wanted, model.marginals(wanted), strict=True):
        want = mbi.marginal_oracles.variable_elimination(theirs, clique, total=model.total)
        np.testing.assert_allclose(got, np.asarray(want.values).reshape(got.shape), rtol=1e-9, atol=1e-12 * model.total)


@pytest.mark.parametrize("magnitude", [1.0, 1e3])
@pytest.mark.parametrize("seed", SEEDS)
def test_log_partition_function(mbi: Any, seed: int, magnitude: float) -> None:
    """mbi has it through the joint table: the sum of its factors, summed out in logarithms."""
    model = random_model(seed, magnitude)
    parts = as_mbi(mbi, model)
    joint = sum((parts[c].expand(parts.domain) for c in parts.cliques[1:]), parts[parts.cliques[0]].expand(parts.domain))
    want = float(joint.logsumexp())
    assert model.log_z == pytest.approx(want, rel=1e-9, abs=1e-9)
    assert BruteForce(model).log_z == pytest.approx(want, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_tree_sizes(mbi: Any, seed: int) -> None:
    """Elimination orders differ; on trees this small neither library's tree is twice the other's."""
    model = random_model(seed, 1.0)
    jtree = mbi.junction_tree.make_junction_tree(as_mbi(mbi, model).domain, as_mbi(mbi, model).cliques)[0]
    theirs = 8 * sum(model.domain.cells(c) for c in mbi.junction_tree.maximal_cliques(jtree))
    assert theirs / 2 <= tree_size(model.domain, list(model.parameters)) <= 2 * theirs


def test_a_fit_is_as_good(mbi: Any) -> None:
    """With little smoothing, the loss is that of 2,000 of mbi's mirror-descent steps, within 1 % either way."""
    rng = np.random.default_rng(0)
    domain = Domain.of({"a": 4, "b": 5, "c": 3, "d": 2})
    truth = GraphicalModel(domain, {p: rng.normal(size=domain.shape(p)) for p in pairwise("abcd")}, 2000.0)
    noisy = [
        Observation(p, t + rng.normal(scale=10, size=t.shape), 10.0)
        for p, t in zip(pairwise("abcd"), truth.marginals(list(pairwise("abcd"))), strict=True)
    ]
    found = fit(domain, noisy, total=2000.0, solver=Dual(smoothing=0.01, tolerance=1e-6))
    measured = [mbi.LinearMeasurement(o.values.ravel(), o.clique, stddev=o.sigma) for o in noisy]
    there = mbi.Domain(domain.attributes, domain.sizes)
    theirs = mbi.estimation.MirrorDescent().estimate(there, measured, known_total=2000.0, iters=2000)
    loss = 0.0
    for o in noisy:
        answer = np.asarray(theirs.project(o.clique).datavector()).reshape(o.values.shape)
        loss += float(((answer - o.values) ** 2).sum()) / (2 * o.sigma**2)
    assert found.loss <= 1.01 * loss
    assert loss <= 1.01 * found.loss
