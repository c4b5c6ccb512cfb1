"""No registered mechanism reads a count but inside a question to the door, on a table where marginals drown in the noise."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from understudy.domain import Domain
from understudy.mechanism import aim, mechanism, pool
from understudy.mechanism.public import Public
from understudy.mechanism.sums import is_count
from understudy.model import fit
from understudy.privacy import Budget, Door, ResearchNoise
from understudy.schema import parse_schema
from understudy.source import MemorySource, open_source
from understudy.workload import Workload

from .mechanisms import informed, registered

DOMAIN = Domain.of({"a": 12, "b": 10, "c": 8, "d": 3})
ROWS = 1_000


CASES = [*((name, False) for name in registered()), *((name, True) for name in informed())]


@pytest.mark.promise(10)
@pytest.mark.parametrize(("name", "beside"), CASES, ids=[name + " beside public data" * beside for name, beside in CASES])
def test_counts_are_read_inside_a_question_alone(name: str, beside: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    codes = np.random.default_rng(0).integers(0, 12, (ROWS, 1)) % np.array(
        DOMAIN.sizes
    )  # each column follows from the first
    public = Public(MemorySource.of_codes(codes[: ROWS // 2], DOMAIN)) if beside else None
    door = Door(MemorySource.of_codes(codes, DOMAIN), Budget.of(rho=0.05), noise=ResearchNoise(0))
    watch(door, monkeypatch)
    mechanism(name).run(door, Workload.all_kway(DOMAIN, 3), estimator=partial(fit, max_iterations=25), public=public)


@pytest.mark.promise(10)
@pytest.mark.parametrize("name", ["aim", "aim2"])
def test_counts_are_read_inside_a_question_alone_where_sums_are_asked_for(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is measured, how, and what is measured again with how much noise: by noisy answers."""
    codes = np.random.default_rng(0).integers(0, 12, (ROWS, 1)) % np.array(DOMAIN.sizes)
    door = Door(MemorySource.of_codes(codes, DOMAIN), Budget.of(rho=0.5), noise=ResearchNoise(0))
    watch(door, monkeypatch)
    workload = Workload.of(DOMAIN, [{"attributes": (a, b), "prefixes": a} for a in ("a", "b") for b in ("c", "d")])
    outcome = mechanism(name).run(door, workload, estimator=partial(fit, max_iterations=25))
    assert any(m.query is not None for m in outcome.measurements)


@pytest.mark.promise(10)
@pytest.mark.parametrize("name", ["aim", "aim2"])
def test_counts_are_read_inside_a_question_alone_where_pairs_take_turns(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """When a sweep ends, what it has shown, and what is measured again: noisy answers decide."""
    monkeypatch.setattr(pool, "LISTED", 50)
    monkeypatch.setattr(pool, "PAIRS", 50)
    monkeypatch.setattr(aim, "TOGETHER", 4)
    domain, rng = Domain.of({f"x{i:02}": 2 + i % 2 for i in range(16)}), np.random.default_rng(0)
    codes = rng.integers(0, 2, (ROWS, 16))
    codes[:, 1] = codes[:, 0]
    door = Door(MemorySource.of_codes(codes, domain), Budget.of(rho=5), noise=ResearchNoise(0))
    watch(door, monkeypatch)
    outcome = mechanism(name).run(door, Workload.all_kway(domain, 2))
    again = [m.clique for m in outcome.measurements[-18:]]
    assert {(a,) for a in domain} < {*again}, "nothing was left to find, and what was found is measured again"
    assert outcome.spent <= door.filter.rho


@pytest.mark.promise(10)
@pytest.mark.parametrize("name", ["aim", "mst"])
def test_which_sums_are_asked_for_is_decided_without_reading(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where to clip, and for how much: by noisy answers."""
    text = '[columns.pay]\nkind = "integer"\nmin = 0\nmax = 9999\nbins = 12\nother = 0\n'
    schema = parse_schema(text + text.replace("pay", "debt"))
    rng = np.random.default_rng(0)
    table = {name: np.minimum(rng.lognormal(6, 1.5, ROWS), 9999).astype(int) for name in ("pay", "debt")}
    door = Door(open_source(table, schema), Budget.of(rho=0.5), noise=ResearchNoise(0), fine=schema.fine)
    watch(door, monkeypatch)
    outcome = mechanism(name).run(door, Workload.all_kway(schema.domain, 2), columns=schema.columns)
    kept = door.filter.rho * mechanism(name).config.for_inside / 2
    sums = [m for m in outcome.inside if not is_count(m)]
    last = sums or [m for m in outcome.measurements[-2:] if len(m.clique) == 1]
    assert bool(sums) == (name != "mst")  # which has sums of both columns already, and asks for their counts
    assert 0.999 * kept < sum(m.rho for m in last) <= kept


@pytest.mark.promise(10)
@pytest.mark.parametrize("name", ["aim", "mst"])
def test_which_finer_bins_are_cut_is_decided_without_reading(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of which the first noisy count is high, and no others, are counted number by number."""
    schema = parse_schema('[columns.x]\nkind = "integer"\nmin = 0\nmax = 999\nbins = 5\nother = 0\n')
    table = {"x": np.append(np.full(5 * ROWS, 137), np.arange(ROWS))}
    door = Door(open_source(table, schema), Budget.of(rho=5), noise=ResearchNoise(0), fine=schema.fine)
    watch(door, monkeypatch)
    outcome = mechanism(name).run(door, Workload.all_kway(schema.domain, 1), columns=schema.columns)
    once, again = (m for m in outcome.inside if is_count(m))
    assert again.values.size == once.values.size + 8  # 131 to 139
    assert once.rho == again.rho
    assert again.values.max() == pytest.approx(5 * ROWS, rel=0.1)


@pytest.mark.promise(10)
@pytest.mark.promise(9)
def test_how_far_apart_columns_are_is_read_inside_a_question(monkeypatch: pytest.MonkeyPatch) -> None:
    """And what bins are too far apart is decided by the noisy answer."""
    text = '[columns.{}]\nkind = "integer"\nmin = 0\nmax = 999\nbins = 10\nother = 0\n'
    schema = parse_schema(text.format("came") + text.format("left") + '[[zeros]]\nalways = "came <= left"\n')
    came = np.random.default_rng(0).integers(0, 990, ROWS)
    table = {"came": came, "left": came + came % 7}
    door = Door(open_source(table, schema), Budget.of(rho=0.5), noise=ResearchNoise(0), fine=schema.fine)
    watch(door, monkeypatch)
    outcome = mechanism("mst").run(
        door, Workload.all_kway(schema.domain, 2), zeros=schema.zeros, columns=schema.columns, gaps=schema.gaps
    )
    counted = [m for m in outcome.inside if is_count(m)]
    assert [m.clique for m in counted][-1] == ("left above came",)
    costs = [sum(m.rho for m in counted if m.clique == clique) for clique in dict.fromkeys(m.clique for m in counted)]
    assert [float(cost) for cost in costs] == pytest.approx([float(costs[0])] * 3)
    charged = [c.rho for c in door.filter.charges if "above" in c.purpose]
    assert charged == [counted[-1].rho]
    assert outcome.model is not None
    pair = outcome.model.marginal(("came", "left"))
    assert np.triu(pair, 2).sum() < 1e-6 * pair.sum() < np.triu(pair, 1).sum()


def watch(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a door fail where counts are read outside a question."""
    asking, ask, read = [False], Door.ask, door._read

    def asked(self: Door, question: Any) -> Any:
        asking[0] = True
        try:
            return ask(self, question)
        finally:
            asking[0] = False

    def watched(cliques: Any) -> Any:
        assert asking[0], "counts were read outside a question"
        return read(cliques)

    monkeypatch.setattr(Door, "ask", asked)
    door._read = watched
