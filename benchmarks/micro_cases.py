"""The hot paths as small repeatable jobs: each case prepares once and is then called many times.

Made-up tables with a fixed seed; real sets of public noisy marginals where they are present. Nothing here is private.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

import reference_sets
from understudy import example
from understudy.domain import Clique, Domain
from understudy.mechanism import AimConfig
from understudy.mechanism.candidates import as_candidates
from understudy.model import GraphicalModel, Observation, fit, tree_sizes_with
from understudy.privacy import Budget, Door, ResearchNoise, SecureNoise
from understudy.source import MemorySource
from understudy.workload import Workload

Job = Callable[[], object]
ROWS = 50_000
SIZES = (4, 9, 16, 2, 25, 7, 12, 3, 20, 6)
CHAIN = 3
"""Attributes so near each other are measured together."""
SIGMA = 40.0


@cache
def domain() -> Domain:
    return Domain(tuple(f"a{k}" for k in range(len(SIZES))), SIZES)


@cache
def codes() -> NDArray[np.int32]:
    """Rows in which every attribute leans on the one before it."""
    rng = np.random.default_rng(7)
    made = np.empty((ROWS, len(SIZES)), dtype=np.int32, order="F")
    level = rng.random(ROWS)
    for k, size in enumerate(SIZES):
        level = np.clip(0.7 * level + 0.3 * rng.random(ROWS), 0, 1 - 1e-9)
        made[:, k] = (level**1.5 * size).astype(np.int32)
    return made


@cache
def source() -> MemorySource:
    return MemorySource.of_codes(codes(), domain())


def near() -> list[Clique]:
    names = domain().attributes
    return [tuple(names[k : k + CHAIN]) for k in range(len(names) - CHAIN + 1)]


@cache
def measured() -> list[Observation]:
    rng = np.random.default_rng(8)
    counts = source().count(near())
    return [Observation(c, m + SIGMA * rng.normal(size=m.shape), SIGMA) for c, m in zip(near(), counts, strict=True)]


@cache
def model() -> GraphicalModel:
    return fit(domain(), measured(), max_iterations=60).model


def fresh() -> GraphicalModel:
    """The same model with nothing worked out yet."""
    return GraphicalModel(domain(), model().parameters, model().total)


def counting() -> Job:
    cliques = Workload.all_kway(domain(), 3).closure
    table = source()
    return lambda: table.count(cliques)


def counting_example() -> Job:
    """From Arrow columns to counts, encoding included."""
    schema, table = example.schema(), example.people(20_000)
    cliques = list(combinations(schema.domain.attributes, 2))
    return lambda: MemorySource.of_codes(schema.encode(table), schema.domain).count(cliques)


def sizing() -> Job:
    """JT-SIZE of every candidate on a graph not seen before: what was asked already is remembered, and costs nothing."""
    rng = np.random.default_rng(9)
    names = tuple(f"b{k:02}" for k in range(24))

    def one_round() -> object:
        wide = Domain(names, tuple(int(size) for size in rng.integers(2, 40, len(names))))
        pairs = [wide.clique(rng.choice(names, 2, replace=False)) for _ in range(30)]
        return tree_sizes_with(wide, pairs, list(combinations(names, 2)))

    return one_round


def inference() -> Job:
    model()
    return lambda: fresh().log_z


def estimation() -> Job:
    given = measured()
    return lambda: fit(domain(), given, max_iterations=25)


def scoring() -> Job:
    """Judge every candidate of a round and choose one, as line 13 of the algorithm."""
    workload = Workload.all_kway(domain(), 3)
    door = Door(source(), Budget.of(rho=Fraction(10**6)), noise=ResearchNoise(1), expect=workload.closure)

    def one_round() -> object:
        return door.select(as_candidates(fresh(), workload.closure, workload, AimConfig(), SIGMA), epsilon=0.1)

    one_round()  # the first one counts; that has a case of its own
    return one_round


def generation() -> Job:
    made = model()
    made.generate(10, np.random.default_rng(0))
    return lambda: made.generate(ROWS, np.random.default_rng(0))


def settling() -> Job:
    """Rows drawn and then settled on all triples, as for a release."""
    made, near = model(), Workload.all_kway(domain(), 3).importance
    made.generate(10, np.random.default_rng(0), near=near)
    return lambda: made.generate(2_000, np.random.default_rng(0), near=near)


def noise_gaussian() -> Job:
    counts, noise = np.zeros(4_000, dtype=np.int64), SecureNoise()
    return lambda: noise.gaussian(counts, SIGMA)


def noise_select() -> Job:
    scores, noise = np.arange(2_000, dtype=np.int64), SecureNoise()
    return lambda: noise.select(scores, 200.0)


def reference_estimation(name: str) -> Job:
    sizes, found = reference_sets.read(name)
    given = [Observation(clique, values, sigma) for clique, values, sigma in found]
    return lambda: fit(Domain.of(sizes), given, max_iterations=15)


def reference_inference(name: str) -> Job:
    sizes, found = reference_sets.read(name)
    given = [Observation(clique, values, sigma) for clique, values, sigma in found]
    made = fit(Domain.of(sizes), given, max_iterations=3).model
    return lambda: GraphicalModel(made.domain, made.parameters, made.total).log_z


def cases() -> Iterator[tuple[str, Callable[[], Job]]]:
    """Names and how to prepare them; real sets only where they are."""
    engine = (sizing, inference, estimation, scoring, generation, settling)
    own = (counting, counting_example, *engine, noise_gaussian, noise_select)
    yield from ((job.__name__.replace("_", " "), job) for job in own)
    for name in ("adult", "salary"):
        if (reference_sets.REFERENCE / f"{name}-eps1.json").exists():
            yield f"estimation {name}", lambda name=name: reference_estimation(name)  # type: ignore[misc]
            yield f"inference {name}", lambda name=name: reference_inference(name)  # type: ignore[misc]
