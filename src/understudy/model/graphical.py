"""A fitted graphical model: potentials on cliques, a mass, and answers to any marginal. Public numbers only.

A model is a small frozen value; what it costs to answer with (a calibrated junction tree) is made when first asked for.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique, Domain, Zeros
from understudy.errors import SchemaError
from understudy.model.engine import NUMPY, Calibrated, Engine, Precision
from understudy.model.evidence import evidence
from understudy.model.generation import Method, generate
from understudy.model.kept import Kept
from understudy.model.model import Model, impossible
from understudy.model.network import Flat, Network
from understudy.model.refinement import refine
from understudy.model.threads import one_thread


@dataclass(frozen=True, eq=False)
class GraphicalModel(Model):
    """A distribution over ``domain`` with mass ``total``: p(x) ∝ exp(Σ parameters[clique][x]), 0 on ``zeros``."""

    domain: Domain
    parameters: Mapping[Clique, NDArray[np.float64]]
    total: float
    zeros: tuple[Zeros, ...] = ()
    engine: Engine = field(default=NUMPY, kw_only=True, repr=False)
    """What infers and answers."""
    _known: dict[str, tuple[Network, Calibrated]] = field(default_factory=dict, repr=False)
    _kept: Kept = field(default_factory=Kept, init=False, repr=False)

    def calibrated_as(self, network: Network, calibrated: Calibrated) -> GraphicalModel:
        """Keep the calibration that a fit ended with, to save doing it again."""
        self._known["calibrated"] = (network, calibrated)
        return self

    @property
    def cliques(self) -> tuple[Clique, ...]:
        """The maximal cliques of the model."""
        return self._calibrated[0].cliques

    @property
    def network(self) -> Network:
        """The tables of the model and the plan that contracts them."""
        return self._calibrated[0]

    @property
    def size(self) -> int:
        """JT-SIZE of the paper: bytes of the junction tree's cliques."""
        return self._calibrated[0].tree.size

    @property
    def log_z(self) -> float:
        """The log-partition function of the potentials."""
        return self._calibrated[1].log_z

    def told(self) -> Iterator[bytes]:
        """Yield each clique with its potentials."""
        for clique, table in self.parameters.items():
            yield json.dumps(clique).encode() + table.tobytes()

    def marginals(self, cliques: Sequence[Clique], *, precision: Precision = "double") -> list[NDArray[np.float64]]:
        """Return the marginals on ``cliques`` (each in domain order), sharing the work among them."""
        if precision == "double":
            return self._kept.answer(cliques, self._answer)
        return self._answer(cliques, precision)

    def _answer(self, cliques: Sequence[Clique], precision: Precision = "double") -> list[NDArray[np.float64]]:
        with one_thread():
            return self._calibrated[1].marginals(cliques, self.total, precision)

    def keep_answers(self, cells: int) -> None:
        """Keep the next marginals in double precision, so many cells at most: several steps will ask for the same."""
        self._kept.room = cells

    def forget_answers(self) -> None:
        """Let go of them again."""
        self._kept.forget()

    def forget_work(self) -> None:
        """Let go of what answers share; it is worked out again where it is needed."""
        if "calibrated" in self._known:
            self._known["calibrated"][1].forget()

    def given(self, fixed: Mapping[str, int]) -> GraphicalModel:
        """Return the model of the records with these codes (``{"sex": 1}``), exactly; its mass is theirs."""
        log_z = self.log_z
        zeros = (*self.zeros, *evidence(self.domain, fixed))
        held = GraphicalModel(self.domain, self.parameters, self.total, zeros, engine=self.engine)
        try:
            share = float(np.exp(held.log_z - log_z))
        except SchemaError:
            raise impossible(fixed) from None
        return replace(held, total=self.total * share)

    def generate(
        self,
        rows: int,
        rng: np.random.Generator,
        given: Mapping[str, int] | None = None,
        method: Method = "round",
        near: Mapping[Clique, float] | None = None,
    ) -> NDArray[np.int32]:
        """Return records; how near ``"round"`` keeps the counts to the model's, ``rounding_distance`` says.

        They are then refined towards the marginals on ``near``; not those of columns alone: all that there is
        to keep between these is that they are independent. That saves nearly all of the time, for a hundredth of the error.
        """
        model = self.given(given) if given else self
        with one_thread():
            codes = generate(*model._calibrated, rows, rng, method=method)
            if near and any(len(clique) > 1 for clique in (*model.parameters, *(zero.clique for zero in model.zeros))):
                refine(model, codes, near, rng, model.engine.refiner)
            return codes

    def __repr__(self) -> str:
        return f"GraphicalModel({len(self.domain)} attributes, {len(self.parameters)} cliques, total {self.total:.0f})"

    @cached_property
    def _calibrated(self) -> tuple[Network, Calibrated]:
        if "calibrated" not in self._known:
            network = Network(self.domain, list(self.parameters), self.zeros)
            with one_thread():
                self._known["calibrated"] = (network, self.engine.calibrate(network, self._potentials(network)))
        return self._known["calibrated"]

    def _potentials(self, network: Network) -> Flat:
        """Return the log-potentials of ``network``'s tables (minus infinity in forbidden cells)."""
        flat = network.floor.copy()
        for clique, table in self.parameters.items():
            network.add(flat, clique, table)
        return flat
