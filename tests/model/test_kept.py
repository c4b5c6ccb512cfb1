"""Answers that are kept are those that would be given anew, nobody writes into them, and there is a limit to them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from understudy.domain import Domain
from understudy.model import GraphicalModel
from understudy.model.kept import Kept

DOMAIN = Domain.of({"a": 2, "b": 3, "c": 4})
PAIRS = [("a", "b"), ("b", "c"), ("a", "c")]


def model() -> GraphicalModel:
    rng = np.random.default_rng(0)
    return GraphicalModel(DOMAIN, {c: rng.normal(size=DOMAIN.shape(c)) for c in PAIRS}, 100.0)


def test_kept_answers_are_the_same_and_are_not_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    one, asked = model(), []
    wanted, real = one.marginals(PAIRS), GraphicalModel._answer
    one.keep_answers(18)  # (a, b) and (b, c), and no room for (a, c)
    monkeypatch.setattr(
        GraphicalModel, "_answer", lambda self, cliques, *how: (asked.append(list(cliques)), real(self, cliques, *how))[1]
    )
    for _ in range(2):
        for found, right in zip(one.marginals([*PAIRS, PAIRS[0]]), [*wanted, wanted[0]], strict=True):
            np.testing.assert_allclose(found, right, rtol=1e-12)
    assert asked == [PAIRS, [PAIRS[2]]]
    one.marginals(PAIRS, precision="single")
    one.forget_answers()
    one.marginals(PAIRS)
    assert asked[2:] == [PAIRS, PAIRS]


def test_nobody_writes_into_what_is_kept() -> None:
    one = model()
    one.keep_answers(100)
    (found,) = one.marginals([("a", "b")])
    with pytest.raises(ValueError, match="read-only"):
        found[0, 0] = 1.0


def test_another_mass_has_answers_of_its_own() -> None:
    one = model()
    one.keep_answers(100)
    one.marginals(PAIRS)
    (doubled,) = replace(one, total=200.0).marginals([("a", "b")])
    assert doubled.sum() == pytest.approx(200.0)


def test_the_first_to_come_stay() -> None:
    kept, sizes = Kept(), []

    def ask(cliques: list[tuple[str, ...]]) -> list[NDArray[np.float64]]:
        sizes.append(len(cliques))
        return [np.zeros(DOMAIN.cells(c)) for c in cliques]

    kept.room = 14
    for _ in range(2):
        kept.answer(PAIRS, ask)  # type: ignore[arg-type]
    assert sizes == [3, 1]  # 6 and 8 cells are kept, 12 are not
