"""Every registered mechanism, recorded on a table and replayed on its neighbours: a stranger sees no difference."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from understudy.domain import Clique
from understudy.mechanism import Mechanism, Outcome, registry
from understudy.mechanism.config import AimConfig
from understudy.mechanism.running import Run
from understudy.privacy import Unit
from understudy.workload import Workload

from .forms import FORMS
from .mechanisms import informed, registered, violations
from .neighbours import PAIRS, QUICK, WRONG_TYPES, Pair, pairs
from .people import arrow, ordered
from .tape import Draw, Parted, cost, differences

pytestmark = [pytest.mark.promise(n) for n in (10, 11, 12, 13, 17)]
HERE = Path(__file__).parent
LONG = [pytest.param(pair, marks=pytest.mark.audit) for pair in PAIRS if pair not in QUICK]
EACH = pytest.mark.parametrize("pair", [*QUICK, *LONG], ids=lambda pair: pair.name)
PUBLIC = [*max((pair.table for pair in QUICK), key=len)]
OPTIONS: dict[str, dict[str, Any]] = {"as it is": {}, "laplace": {"noise": "laplace"}}


@EACH
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", registered())
def test_a_neighbour_cannot_be_told_apart(name: str, options: str, pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    assert violations(name, pair, monkeypatch, **OPTIONS[options]) == []


@EACH
@pytest.mark.parametrize("name", informed())
def test_a_neighbour_cannot_be_told_apart_beside_public_data(name: str, pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """The public table holds rows of the private one, and so is near to it."""
    assert violations(name, pair, monkeypatch, public=arrow(PUBLIC)) == []


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_a_neighbour_cannot_be_told_apart_by_how_far_apart_its_values_are(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two columns in order: a record moves one cell of their gap, and the last fit follows from noisy counts of it."""
    assert violations("mst", pair, monkeypatch, declared=ordered()) == []


LOOSE = ("pandas_objects", "dict_of_lists", "dict_of_arrays", "csv_file", "csv_windows", "csv_gzip", "tsv_glob")
"""Forms whose columns may hold anything."""
CHEAP = ("arrow_table", "pandas_objects", "csv_file")


def of_forms() -> list[Any]:
    found = []
    for form in FORMS:
        for pair in [*PAIRS, *(pairs(WRONG_TYPES) if form in LOOSE else [])]:
            quick = form in CHEAP and (pair in QUICK or pair not in PAIRS)
            found.append(pytest.param(form, pair, id=f"{form}: {pair.name}", marks=() if quick else pytest.mark.audit))
    return found


@pytest.mark.parametrize(("form", "pair"), [case for case in of_forms() if case.values[0] != "partitions"])
def test_whatever_the_table_comes_as(form: str, pair: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def made(rows: Any) -> Any:
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        return FORMS[form](rows, folder)

    assert violations("independent", pair, monkeypatch, made) == []


# The contract itself: who joins, and who fails.


@dataclass(frozen=True)
class Honest(Mechanism):
    """Measures one column with all that there is."""

    config: AimConfig = field(default_factory=AimConfig)

    @property
    def name(self) -> str:
        return "honest"

    def expects(self, workload: Workload) -> tuple[Clique, ...]:
        return (("city",),)

    def execute(self, run: Run) -> Outcome:
        with run.running():
            scale = self.config.scale_for(run.remaining, run.door.unit)
            run.measure(("city",), scale=scale, noise="gaussian", round_index=0)
            return run.outcome()


class Peeking(Honest):
    """Leaves a column out when nobody has its first value, which it looks up for free."""

    def execute(self, run: Run) -> Outcome:
        (exact,) = run.door._read([("city",)])
        clique = ("city",) if exact[2] else ("age",)
        with run.running():
            scale = self.config.scale_for(run.remaining, run.door.unit)
            run.measure(clique, scale=scale, noise="gaussian", round_index=0)
            return run.outcome()


class Quoting(Honest):
    """Fails on an empty table, and says how many rows it has."""

    def execute(self, run: Run) -> Outcome:
        (exact,) = run.door._read([()])
        raise ValueError(f"{exact} rows are too few")


DUMMIES: dict[str, type[Honest]] = {"honest": Honest, "peeking": Peeking, "quoting": Quoting}


def register(monkeypatch: Any) -> None:
    made = {name: registry.Kind(kind, AimConfig) for name, kind in DUMMIES.items()}
    monkeypatch.setattr(registry, "MECHANISMS", {**registry.MECHANISMS, **made})


def test_a_mechanism_joins_by_being_registered_and_a_leaky_one_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    (pair,) = [p for p in PAIRS if p.name == "one fewer: the only one of a category"]
    register(monkeypatch)
    assert set(DUMMIES) <= set(registered())
    assert violations("honest", pair, monkeypatch) == []
    with pytest.raises(Parted, match="not asked before"):
        violations("peeking", pair, monkeypatch)
    assert violations("quoting", pair, monkeypatch) == ["error"]


@pytest.mark.audit
def test_the_suite_itself_picks_up_what_is_registered_and_fails_it(tmp_path: Path) -> None:
    """Another process registers the dummies before the tests are collected, and runs this file."""
    plugin = (
        "import sys\n"
        "from contracts import test_mechanisms\n"
        "test_mechanisms.register(type('Set', (), {'setattr': staticmethod(setattr)}))\n"
        "del sys.modules['contracts.test_mechanisms']\n"
    )
    (tmp_path / "dummies.py").write_text(plugin)
    chosen = "test_a_neighbour_cannot_be_told_apart and (honest or peeking) and not laplace"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "dummies", str(HERE / "test_mechanisms.py"), "-k", chosen]
    path = f"{tmp_path}:{HERE.parent}"
    done = subprocess.run(
        command, capture_output=True, text=True, env={"PYTHONPATH": path}, cwd=HERE.parent.parent, check=False
    )
    failed = {line for line in done.stdout.splitlines() if line.startswith("FAILED")}
    assert done.returncode == 1, done.stdout + done.stderr
    assert failed
    assert all("peeking" in line for line in failed), failed
    assert f"{len(QUICK) * 2 - len(failed)} passed" in done.stdout


def draw(kind: Any, exact: list[int], scale: float) -> Draw:
    import numpy as np

    return Draw(kind, np.array(exact), scale, None)


def test_what_a_neighbour_costs() -> None:
    assert cost(draw("gaussian", [3, 4], 2.0), draw("gaussian", [3, 5], 2.0)) * 8 == 1
    assert cost(draw("laplace", [3, 4], 2.0), draw("laplace", [2, 5], 2.0)) * 2 == 1
    assert cost(draw("select", [0, 0, 0], 4.0), draw("select", [1, -1, 0], 4.0)) * 32 == 1


def test_too_little_paid_is_found() -> None:
    from fractions import Fraction

    before, after = [draw("gaussian", [3], 1.0)], [draw("gaussian", [4], 1.0)]
    assert differences(before, after, [Fraction(1, 2)], Unit.ADD_REMOVE) == []
    assert len(differences(before, after, [Fraction(49, 100)], Unit.ADD_REMOVE)) == 1
    assert len(differences(before, [draw("gaussian", [5], 1.0)], [Fraction(2)], Unit.ADD_REMOVE)) == 1
    assert len(differences(before, after, [], Unit.ADD_REMOVE)) == 1
