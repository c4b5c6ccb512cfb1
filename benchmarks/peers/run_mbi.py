"""AIM written against the public API of mbi 2.0, on one cell; run with the Python of .venv-mbi (see cell.py for arguments).

mbi is a library of inference and has no AIM of its own to call: this follows the paper's Algorithms 2 to 4 and leaves
counting, fitting, marginals, the size of the junction tree and generation to mbi, with its defaults.
"""

from __future__ import annotations

import itertools
import math
import sys
import time
from typing import Any

import jax

jax.config.update("jax_enable_x64", True)  # both as mbi itself advises
jax.config.update("jax_enable_compilation_cache", False)

import mbi  # noqa: E402
import numpy as np  # noqa: E402
from cell import MAX_SIZE_MB, Cell, Made, Progress, main  # noqa: E402
from numpy.typing import NDArray  # noqa: E402

ALPHA = 0.9
"""Share of the budget for measuring."""
Clique = tuple[str, ...]
NOTES = [
    "AIM is the harness's own, after the paper, on mbi's public API: mbi has none in its package",
    "unit of privacy: add or remove a record; rows generated: the model's estimate of the total",
    "the noise is NumPy's, in floating point: a research implementation",
]


def flat(factor: Any) -> NDArray[np.float64]:
    """Return a marginal's values, flat; without JAX, which would compile that for every shape."""
    return np.asarray(factor.values).ravel()


class Aim:
    """The state of a run: what has been measured, the model, and the budget."""

    def __init__(self, cell: Cell, progress: Progress) -> None:
        self.progress, self.rng, self.rho = progress, np.random.default_rng(cell.seed), cell.rho
        self.domain = mbi.Domain(tuple(cell.domain), tuple(cell.domain.values()))
        self.columns = cell.columns()
        workload = list(itertools.combinations(self.domain.attributes, min(cell.degree, len(cell.domain))))
        closure = [c for k in range(1, cell.degree + 1) for c in itertools.combinations(self.domain.attributes, k)]
        self.weights = {r: float(sum(len(set(r) & set(s)) for s in workload)) for r in closure}
        self.exact = {r: self.counted(r) for r in closure}
        rounds = 16 * len(cell.domain)
        self.sigma = math.sqrt(rounds / (2 * ALPHA * self.rho))
        self.epsilon = math.sqrt(8 * (1 - ALPHA) * self.rho / rounds)
        self.spent = 0.0
        self.measured: list[Any] = []
        self.model: Any = None
        self.seconds = {"score": 0.0, "fit": 0.0}

    def counted(self, clique: Clique) -> NDArray[np.float64]:
        """Return the exact counts of a marginal, flat."""
        columns = {name: self.columns[name] for name in clique}
        return np.asarray(mbi.Dataset(columns, self.domain.project(clique)).datavector(), dtype=np.float64)

    def measure(self, clique: Clique) -> None:
        """Measure a marginal at the present σ."""
        noisy = self.exact[clique] + self.rng.normal(0.0, self.sigma, self.exact[clique].size)
        self.measured.append(mbi.LinearMeasurement(noisy, clique, stddev=self.sigma))

    def fit(self) -> None:
        """Fit a model to everything measured, warm from the last one, as many steps as mbi takes by default."""
        start = time.perf_counter()
        self.model = mbi.estimation.MirrorDescent().estimate(self.domain, self.measured, warm_start=self.model)
        jax.block_until_ready(self.model.potentials)
        self.seconds["fit"] += time.perf_counter() - start

    def estimates(self, cliques: list[Clique]) -> dict[Clique, NDArray[np.float64]]:
        """Ask the model for many marginals, through mbi's function for that."""
        start = time.perf_counter()
        found = mbi.marginal_oracles.bulk_variable_elimination(self.model.potentials, cliques, float(self.model.total))
        answers = {r: flat(found[r]) for r in cliques}
        self.seconds["score"] += time.perf_counter() - start
        return answers

    def candidates(self) -> list[Clique]:
        """Return the marginals whose junction tree is within the share of the size that the budget spent allows."""
        limit = MAX_SIZE_MB * self.spent / self.rho
        sized = mbi.junction_tree.hypothetical_model_size
        present = list(self.model.cliques)
        return [r for r in self.weights if sized(self.domain, [*present, r]) <= limit]

    def expected_noise(self, clique: Clique) -> float:
        """Return the L1 error that measuring the marginal is expected to have."""
        return math.sqrt(2 / math.pi) * self.sigma * self.exact[clique].size

    def select(self, estimates: dict[Clique, NDArray[np.float64]]) -> Clique:
        """Choose by the exponential mechanism."""
        cliques = list(estimates)
        gaps = {r: float(np.abs(self.exact[r] - estimates[r]).sum()) - self.expected_noise(r) for r in cliques}
        scores = np.array([self.weights[r] * gaps[r] for r in cliques])
        sensitivity = max(self.weights[r] for r in cliques)
        noisy = self.epsilon / (2 * sensitivity) * scores + self.rng.gumbel(size=len(cliques))
        return cliques[int(np.argmax(noisy))]

    def initialise(self) -> None:
        """Measure every attribute and fit."""
        for clique in (r for r in self.weights if len(r) == 1):
            self.measure(clique)
            self.spent += 1 / (2 * self.sigma**2)
        self.fit()

    def round_cost(self) -> float:
        """Return what a round at the present ε and σ costs."""
        return self.epsilon**2 / 8 + 1 / (2 * self.sigma**2)

    def round(self) -> None:
        """One round: select, measure, estimate, and say so."""
        self.spent += self.round_cost()
        estimates = self.estimates(self.candidates())
        chosen = self.select(estimates)
        self.measure(chosen)
        self.fit()
        moved = float(np.abs(flat(self.model.project(chosen)) - estimates[chosen]).sum())
        if moved <= self.expected_noise(chosen):
            self.epsilon, self.sigma = 2 * self.epsilon, self.sigma / 2
        self.progress.round_done(f"chose {', '.join(chosen)}; {self.spent / self.rho:.1%} of the budget spent")

    def run(self) -> None:
        """Go on until the budget is spent; the last round takes what is left."""
        self.initialise()
        last = False
        while not last:
            remaining = self.rho - self.spent
            last = remaining <= 2 * self.round_cost()
            if last:
                self.epsilon, self.sigma = math.sqrt(8 * (1 - ALPHA) * remaining), math.sqrt(1 / (2 * ALPHA * remaining))
            self.round()


def synthesise(cell: Cell, progress: Progress) -> Made:
    np.random.seed(cell.seed)  # noqa: NPY002 - mbi generates from NumPy's global state
    aim = Aim(cell, progress)
    aim.run()
    table = aim.model.synthetic_data().to_dict()
    codes = np.stack([np.asarray(table[name], dtype=np.int64) for name in cell.domain], axis=1)
    figures = {"score_seconds": aim.seconds["score"], "fit_seconds": aim.seconds["fit"]}
    return Made(codes, NOTES, figures)


if __name__ == "__main__":
    sys.exit(main("mbi", ["aim"], synthesise))
