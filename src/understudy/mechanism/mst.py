"""MST: a spanning tree of pairs (McKenna, Miklau, Sheldon 2021). Three steps, each with a third of the budget.

Sees no counts: the lines that need the table go through the door, and each says what it costs.

Where this departs from the printed text: nothing is compressed. A pair is measured on groups of values instead, and the
model spreads a group over its values as their one-way marginals do, which is what undoing a compression would do. A small
share of the budget is kept to compare the finished model with the table, which bounds rest on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations

from understudy.domain import Clique
from understudy.mechanism.aim import to_check
from understudy.mechanism.base import Mechanism
from understudy.mechanism.candidates import RANKING, allowed, estimates, require_tree
from understudy.mechanism.compression import measure_compressed
from understudy.mechanism.config import CheckedConfig
from understudy.mechanism.outcome import Outcome
from understudy.mechanism.running import Run
from understudy.model import Model
from understudy.privacy import Candidate, selection_epsilon_for
from understudy.workload import Workload


@dataclass(frozen=True)
class Mst(Mechanism):
    """One-way marginals, then the pairs of a maximum spanning tree of dependence."""

    config: CheckedConfig = field(default_factory=CheckedConfig)

    @property
    def name(self) -> str:
        """Its name in the registry."""
        return "mst"

    def expects(self, workload: Workload) -> Sequence[Clique]:
        """Return the marginals that a run may ask for: all columns and all pairs."""
        columns = workload.domain.attributes
        return (*((a,) for a in columns), *combinations(columns, 2))

    def execute(self, run: Run) -> Outcome:
        """Measure the columns, choose a tree, measure its pairs, fit."""
        columns = [(a,) for a in run.domain]
        require_tree(run.domain, [*columns, *run.model_cliques], self.config.max_size)
        run.reserve(self.config.kept)
        with run.running():
            third = run.rho / 3 if len(columns) > 1 else run.rho
            for clique in columns:  # costs a third
                scale = self.config.scale_for(third / len(columns), run.door.unit)
                run.measure(clique, scale=scale, noise=self.config.noise, round_index=0)
            model = run.estimate(0)
            tree = spanning_tree(run, self.config, model) if len(columns) > 1 else []  # costs a third
            for left, pair in zip(range(len(tree), 0, -1), tree, strict=True):  # costs what is left
                measure_compressed(run, self.config, pair, run.remaining / left)
            if tree:
                model = run.estimate(0)
            return run.outcome(checked=to_check(run, self.config, model))


def spanning_tree(run: Run, config: CheckedConfig, model: Model) -> list[Clique]:
    """Kruskal's algorithm with the exponential mechanism: d - 1 times one of the pairs that join two parts.

    A pair's score is how far it is from independence: ‖M_ab(D) - M_ab(p)‖₁, p the model of the columns. Costs ε²/8 each.
    """
    part = {a: a for a in run.domain}
    pairs = allowed(run.domain, run.model_cliques, list(combinations(run.domain, 2)), config.max_size)
    later = dict(zip(pairs, estimates(model, pairs, RANKING), strict=True))
    epsilon = selection_epsilon_for(run.rho / 3 / (len(run.domain) - 1))
    tree: list[Clique] = []
    while True:
        joining = [
            (a, b) for a, b in allowed(run.domain, [*run.model_cliques, *tree], pairs, config.max_size) if part[a] != part[b]
        ]
        if not joining:
            return tree
        found = run.select([Candidate(r, 1.0, 0.0, later[r]) for r in joining], epsilon=epsilon, round_index=0)
        tree.append(found.clique)
        kept, gone = (part[a] for a in found.clique)
        part = {a: kept if p == gone else p for a, p in part.items()}
