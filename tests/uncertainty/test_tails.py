from itertools import product
from math import exp, log, pi, sqrt

import numpy as np
import pytest
from scipy import stats

from understudy.uncertainty.tails import (
    Term,
    _log_price,
    _theta,
    cell_radius,
    deviation,
    half,
    l1_radius,
    log_mgf,
)


def draws(term: Term, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    k, p = half(term.noise, term.scale)
    z = rng.choice(k, size=(*shape, term.repeats), p=p) * rng.choice([-1, 1], size=(*shape, term.repeats))
    return term.factor * z.sum(axis=-1)


CASES = [
    (Term(1.0, "gaussian", 0.7, 1),),
    (Term(1.0, "gaussian", 9.0, 1),),
    (Term(1.0, "gaussian", 2.0, 6),),
    (Term(0.3, "gaussian", 3.0, 2), Term(0.7, "gaussian", 2.0, 1)),
    (Term(1.0, "laplace", 4.0, 1),),
    (Term(0.4, "laplace", 4.0, 3), Term(0.6, "laplace", 2.0, 1)),
]


MANY: dict[str, tuple[tuple[Term, int], ...]] = {
    "one": ((Term(1.0, "gaussian", 0.7, 1), 1),),
    "three": ((Term(1.0, "gaussian", 9.0, 1), 3),),
    "sums": ((Term(1.0, "gaussian", 2.0, 6), 40),),
    "unequal sums": (
        (Term(1.0, "gaussian", 2.0, 6), 3),
        (Term(1.0, "gaussian", 2.0, 1), 30),
        (Term(1.0, "gaussian", 2.0, 40), 1),
    ),
    "laplace": ((Term(1.0, "laplace", 4.0, 1), 40),),
    "unequal laplace": ((Term(1.0, "laplace", 4.0, 3), 5), (Term(1.0, "laplace", 4.0, 1), 1)),
}


@pytest.mark.statistical
@pytest.mark.parametrize("case", MANY)
def test_l1_radius_holds(case: str) -> None:
    """20,000 draws at 5 %: a false alarm needs 5.5 % or more, three standard errors, about 1 in 1,000 a case
    at worst; Chernoff's bound leaves far more room than that, and the seed is fixed.
    """
    rng = np.random.default_rng(3)
    norm = sum(np.abs(draws(term, (20_000, cells), rng)).sum(axis=1) for term, cells in MANY[case])
    assert float((norm > l1_radius(MANY[case], 0.05)).mean()) < 0.055


def test_no_noisy_cells_have_no_radius() -> None:
    assert l1_radius((), 0.05) == 0


@pytest.mark.statistical
@pytest.mark.parametrize("terms", CASES)
@pytest.mark.parametrize("beta", [0.3, 0.05, 0.01])
def test_cell_radius_holds(terms: tuple[Term, ...], beta: float) -> None:
    """40,000 draws: a false alarm needs four standard errors above beta, below 1 in 10,000 a case; the seed
    is fixed.
    """
    rng = np.random.default_rng(7)
    x = sum(draws(term, (40_000,), rng) for term in terms)
    missed = float((np.abs(x) > cell_radius(terms, beta) + 1e-9).mean())
    assert missed < beta + 4 * sqrt(beta / 40_000)


@pytest.mark.parametrize("cells", [50, 1000, 20_000])
@pytest.mark.parametrize("scale", [0.8, 3.0, 40.0])
def test_radius_is_tighter_than_the_paper_and_than_the_lipschitz_form(cells: int, scale: float) -> None:
    term = Term(1.0, "gaussian", scale, 1)
    lipschitz = sqrt(2 / pi) * scale * cells + sqrt(log(20)) * scale * sqrt(2 * cells)
    printed = sqrt(2 * log(2)) * scale * cells + sqrt(log(20)) * scale * sqrt(2 * cells)
    assert l1_radius(((term, cells),), 0.05) < lipschitz < printed


def test_many_cells_approach_the_mean() -> None:
    assert l1_radius(((Term(1.0, "gaussian", 30.0, 1), 10**6),), 0.05) == pytest.approx(sqrt(2 / pi) * 30 * 10**6, rel=0.002)


@pytest.mark.parametrize(("s1", "s2"), [(0.6, 0.6), (1.0, 0.5), (2.0, 3.0)])
@pytest.mark.parametrize("extra", [0.05, 0.3, 1.0])
def test_lemma_1_by_summing_every_pair(s1: float, s2: float, extra: float) -> None:
    """E h(x) ≤ Π(1+δ) E h(N(0, v+c)) for h = exp(t|x|), both sides computed outright."""
    terms = (Term(0.35, "gaussian", s1, 1), Term(1.0, "gaussian", s2, 1))
    reach = 30
    z = np.arange(-reach, reach + 1)
    p1, p2 = (np.exp(-0.5 * (z / s) ** 2) for s in (s1, s2))
    p1, p2 = p1 / p1.sum(), p2 / p2.sum()
    x = 0.35 * z[:, None] + z[None, :]
    sigma = sqrt(deviation(terms) ** 2 + extra)
    for u in (0.01, 0.5, 2.0):
        t = u / sigma
        discrete = float((p1[:, None] * p2[None, :] * np.exp(t * np.abs(x))).sum())
        gaussian = 2 * stats.norm.cdf(u) * exp(u * u / 2)
        assert discrete <= exp(_log_price(terms, extra)) * gaussian * (1 + 1e-12)


def test_lemma_1_fails_without_its_price_or_its_variance() -> None:
    """The lemma is not idle: a coarse lattice with no variance added breaks the plain Gaussian bound."""
    term = Term(1.0, "gaussian", 1.0, 1)
    k, p = half("gaussian", 1.0)
    off_lattice = float((p / 2) @ (np.abs(k + 0.5) + np.abs(k - 0.5)))  # E|z + ½|, ½ standing for another term
    gaussian = stats.norm.expect(lambda x: abs(x + 0.5))
    assert off_lattice > gaussian
    assert off_lattice <= (1 + _theta(term, 0.3)) * stats.norm.expect(lambda x: abs(x + 0.5), scale=sqrt(1.3))


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
@pytest.mark.parametrize("scale", [0.4, 1.0, 7.0])
def test_moment_generating_functions(noise, scale: float) -> None:  # type: ignore[no-untyped-def]
    k, p = half(noise, scale)
    t = np.array([0.01, 0.1, 0.4]) / scale
    exact = np.array([log(float(p @ np.cosh(s * k))) for s in t])
    bound = log_mgf(noise, scale, t)
    assert (exact <= bound * (1 + 1e-9)).all()
    if noise == "laplace":
        np.testing.assert_allclose(exact, bound, rtol=1e-6)


def test_exact_cell_radius_is_the_quantile() -> None:
    for scale, beta in product((0.5, 2.0, 11.0), (0.2, 0.05, 1e-4)):
        k, p = half("gaussian", scale)
        h = cell_radius((Term(1.0, "gaussian", scale, 1),), beta)
        assert p[k > h].sum() <= beta
        assert h <= 1 or p[k > h - 1].sum() > beta
