"""What answers share is kept within a limit: forgetting changes what it costs, and no answer."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest

from understudy.domain import Domain
from understudy.model import GraphicalModel
from understudy.model.engine.on_numpy import answers
from understudy.model.engine.on_numpy.answers import Answers
from understudy.model.engine.on_numpy.pieces import Piece


def chained() -> GraphicalModel:
    rng = np.random.default_rng(0)
    names = tuple("abcdefgh")
    domain = Domain(names, (4,) * 8)
    cliques = [(names[i], names[i + 1], names[i + 2]) for i in range(6)]
    return GraphicalModel(domain, {c: rng.normal(size=(4, 4, 4)) for c in cliques}, 1000.0)


@pytest.mark.parametrize("precision", ["single", "double"])
def test_answers_are_the_same_when_all_is_forgotten(monkeypatch: pytest.MonkeyPatch, precision: str) -> None:
    cliques = [c for k in (1, 2, 3) for c in combinations("abcdefgh", k)]
    whole = chained().marginals(cliques, precision=precision)  # type: ignore[arg-type]
    monkeypatch.setattr(answers, "KEPT", 0)
    monkeypatch.setattr(answers, "KEPT_ALWAYS", 100)
    again = chained().marginals(cliques, precision=precision)  # type: ignore[arg-type]
    for one, other in zip(whole, again, strict=True):
        np.testing.assert_array_equal(one, other)


def test_no_more_is_kept_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    most: list[int] = []
    keep = Answers._forget_some

    def watched(self: Answers, coming: Piece) -> None:
        keep(self, coming)
        kept = [*self._inside.values(), *self._messages.values()]
        most.append(sum(piece.table.nbytes for piece in kept) + coming.table.nbytes)

    monkeypatch.setattr(Answers, "_forget_some", watched)
    monkeypatch.setattr(answers, "KEPT", 1)
    monkeypatch.setattr(answers, "KEPT_ALWAYS", 0)
    model = chained()
    model.marginals([*combinations("abcdefgh", 3)])
    assert max(most) <= max(model.size, 8 * 4**4)
    assert sum(b < a for a, b in pairwise(most)) > 3  # it did forget


def test_one_precision_is_kept_at_a_time() -> None:
    model = chained()
    model.marginals([("a", "h")], precision="single")
    _, calibrated = model._calibrated
    assert calibrated._answers[0] == "single"  # type: ignore[attr-defined]
    model.marginals([("a", "h")])
    assert calibrated._answers[0] == "double"  # type: ignore[attr-defined]


def test_no_message_is_larger_than_all_cliques_where_it_need_not_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names follow from a code of three values: what is told of them at the other end should be gathered there."""
    domain = Domain.of({"name": 400, "code": 3, "year": 20, "place": 25, "pay": 8, "fee": 12})
    cliques = [("name", "code"), ("code", "year", "place", "pay"), ("year", "place", "pay", "fee")]
    draws = np.random.default_rng(3)
    model = GraphicalModel(domain, {c: draws.normal(size=domain.shape(c)) for c in map(domain.clique, cliques)}, 1.0)
    largest, keep = list[int](), Answers._forget_some

    def watched(self: Answers, coming: Piece) -> None:
        largest.append(coming.table.size)
        keep(self, coming)

    monkeypatch.setattr(Answers, "_forget_some", watched)
    found = model.marginal(domain.clique(("name", "place", "fee")))
    assert max(largest) <= model.network.tree.cells
    code, fee = (model.marginal(domain.clique(c)) for c in [("name", "code"), ("code", "place", "fee")])
    np.testing.assert_allclose(found, np.einsum("nc,cpf->npf", code / code.sum(axis=0), fee), rtol=1e-9)
