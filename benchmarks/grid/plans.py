"""Plans: lists of cells by name, the most telling first, so that a run which stops early has the best part. Public."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import product

from grid.cells import ABLATIONS, CAPACITIES, EPSILONS, ESTIMATED, FAMILY, OURS, QUICK_FAMILY, ROUNDS, Cell
from peers import environments

TABLES = ("titanic", "adult", "salary", "fire", "msnbc")
PRACTICAL = (0.1, 1.0, 10.0)
COMPARED = ("aim", "mwem", "independent", "gaussian")
PEERS = {peer.name: peer.mechanisms for peer in environments.PEERS.values()}
"""The libraries that ``benchmarks/peers`` can run, and what each is asked for."""
SAME = {
    "aim": ["dpmm/aim", "smartnoise/aim", "opendp/aim", "mbi/aim"],
    "mst": ["dpmm/mst", "smartnoise/mst", "opendp/mst"],
    "privbayes+pgm": [
        "dpmm/privbayes",
        "dpmm/privbayes-pairs",
        "datasynthesizer/privbayes",
        "datasynthesizer/privbayes-pairs",
    ],
    "independent": ["datasynthesizer/independent"],
    "mwem": [],
    "privmrf": [],
    "privsyn+pgm": [],
    "rap": [],
    "gem": [],
}
"""Ours, and the peers' implementations of the same name that can be installed; of some there are none."""


def cross(
    tables: Iterable[str], workloads: Iterable[str], epsilons: Iterable[float], trials: int, mechanisms: Iterable[str]
) -> Iterator[Cell]:
    """All combinations; a whole trial of everything comes before the next."""
    spread = product(range(trials), tables, workloads, epsilons, mechanisms)
    return (Cell(table, workload, epsilon, trial, name) for trial, table, workload, epsilon, name in spread)


def quick() -> Iterator[Cell]:
    """Ten minutes on two cores: all our mechanisms on two tables."""
    return cross(("titanic", "adult"), ["all-3way"], PRACTICAL, 3, OURS)


def main_grid() -> Iterator[Cell]:
    """The practical range of ε on all five tables."""
    return cross(TABLES, ["all-3way"], PRACTICAL, 3, COMPARED)


def workloads() -> Iterator[Cell]:
    """The paper's other two workloads of triples."""
    yield from cross(["titanic", "adult", "fire"], ["target", "skewed"], PRACTICAL, 3, COMPARED)


def ablations() -> Iterator[Cell]:
    """AIM with one element replaced, against AIM; five trials where they are cheap."""
    yield from cross(["titanic"], ["all-3way", "target", "skewed"], PRACTICAL, 5, ["aim", *ABLATIONS])
    yield from cross(["adult"], ["all-3way"], PRACTICAL, 3, ["aim", *ABLATIONS])


def epsilons() -> Iterator[Cell]:
    """All nine values of ε."""
    yield from cross(["titanic", "adult"], ["all-3way"], EPSILONS, 3, COMPARED)


def rounds() -> Iterator[Cell]:
    """A fixed number of rounds instead of as many as the data ask for."""
    names = ["aim", "aim:fixed", *(f"aim:T={t}" for t in ROUNDS)]
    yield from cross(["titanic"], ["all-3way"], PRACTICAL, 5, names)
    yield from cross(["adult"], ["all-3way"], PRACTICAL, 1, names)


def capacity() -> Iterator[Cell]:
    """Model capacity against error and time, on the paper's table."""
    names = ["aim" if c == 80 else f"aim:{c:g}MB" for c in CAPACITIES if c <= 320]
    yield from cross(["fire"], ["all-3way"], PRACTICAL, 1, names)
    yield from cross(["fire"], ["all-3way"], [1.0], 1, ["aim:640MB", "aim:1280MB"])


def zeros() -> Iterator[Cell]:
    """Structural zeros on fire, as in the paper's table."""
    yield from cross(["fire"], ["all-3way"], PRACTICAL, 3, ["aim", "aim:zeros"])
    yield from cross(["fire"], ["all-3way"], EPSILONS, 1, ["aim", "aim:zeros"])


def pairs() -> Iterator[Cell]:
    """The workload of all pairs."""
    yield from cross(["titanic", "adult"], ["all-2way"], PRACTICAL, 3, OURS)


def mwem() -> Iterator[Cell]:
    """MWEM+PGM's number of rounds, the paper's sensitivity experiment."""
    names = ["mwem", *(f"mwem:T={t}" for t in ROUNDS if t <= 128)]
    yield from cross(["titanic", "adult"], ["all-3way"], (EPSILONS[1], *PRACTICAL), 1, names)


def family() -> Iterator[Cell]:
    """Other papers' mechanisms, and AIM with other estimators; on large tables and other workloads those that are quick."""
    yield from cross(("titanic", "adult"), ["all-3way"], PRACTICAL, 3, [*FAMILY, *(f"aim:{name}" for name in ESTIMATED)])
    yield from cross(("salary", "fire", "msnbc"), ["all-3way"], PRACTICAL, 1, QUICK_FAMILY)
    yield from cross(("titanic", "adult"), ["target", "skewed"], PRACTICAL, 1, QUICK_FAMILY)
    yield from cross(("titanic", "adult"), ["all-3way"], EPSILONS, 1, QUICK_FAMILY)
    yield from cross(["titanic"], ["all-3way"], EPSILONS, 1, ["rap", "aim:relaxed"])
    yield from cross(("titanic", "adult"), ["all-3way"], PRACTICAL, 1, ["rap:T=1"])


def binary() -> Iterator[Cell]:
    """A table of sixteen attributes of two values, as nltcs is, at all nine ε: where the paper's largest ratios are."""
    yield from cross(["binary"], ["all-3way"], EPSILONS, 1, ["aim", *QUICK_FAMILY, "mwem", "rap", "aim:relaxed"])


def stored() -> Iterator[Cell]:
    """Everything, in order of priority."""
    for part in (main_grid, workloads, ablations, epsilons, zeros, rounds, pairs, capacity, mwem):
        yield from part()


def peers() -> Iterator[Cell]:
    """The quick cells of AIM for every peer, ours measured in the same run; titanic before adult."""
    names = ["aim", "independent", *(f"{peer}/{name}" for peer, known in PEERS.items() for name in known)]
    yield from cross(["titanic"], ["all-3way"], PRACTICAL, 3, names)
    yield from cross(["adult"], ["all-3way"], PRACTICAL, 3, names)


def same() -> Iterator[Cell]:
    """Each mechanism beside the peers' of the same name: adult, ε = 1, ours five times."""
    yield from cross(["adult"], ["all-3way"], [1.0], 5, SAME)
    yield from cross(["adult"], ["all-3way"], [1.0], 3, [name for names in SAME.values() for name in names])


@dataclass(frozen=True)
class Plan:
    """A named list of cells, the file that they are kept in, and the most seconds that one may take."""

    name: str
    make: Callable[[], Iterator[Cell]]
    file: str = "grid.jsonl"
    limit: float = 1800.0
    beside: str | None = "quick.jsonl"
    """Another file of results: a cell that is done there with the same seed is not run again."""

    @property
    def cells(self) -> list[Cell]:
        """Each cell once, where it comes first."""
        return list(dict.fromkeys(self.make()))

    @property
    def about(self) -> str:
        """The plan in a sentence."""
        return (self.make.__doc__ or "").strip()


PLANS = {
    plan.name: plan
    for plan in (
        Plan("quick", quick, "quick.jsonl", 300.0, beside=None),
        Plan("peers", peers, "peers.jsonl", 300.0, beside=None),
        Plan("family", family, "family.jsonl", beside=None),
        Plan("binary", binary, "binary.jsonl", beside=None),
        Plan("same", same, "same.jsonl", 600.0, beside=None),
        Plan("stored", stored),
        Plan("main", main_grid),
        Plan("workloads", workloads),
        Plan("ablations", ablations),
        Plan("epsilons", epsilons),
        Plan("rounds", rounds),
        Plan("capacity", capacity),
        Plan("zeros", zeros),
        Plan("pairs", pairs),
        Plan("mwem", mwem),
    )
}
