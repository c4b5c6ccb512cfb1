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
