"""The sections of the results page about the family: ours beside the peers of the same name, and the paper's ratios."""

from __future__ import annotations

from typing import Any

from benchmarks.lines import line
from grid.page_ratios import ratio_section
from grid.page_same import same_section, worse_than_same
from grid.plans import SAME
from grid.results import Evidence, Results
from peers import environments


def adult(mechanism: str, error: float, cpu: float = 2.0, **changes: Any) -> dict[str, Any]:
    made = line(mechanism, error, dataset="adult", **changes)
    if made["status"] == "done":
        made["result"] |= {"cpu_seconds": cpu}
    return made


def evidence(*, family: Any = (), same: Any = (), binary: Any = (), peers: Any = ()) -> Evidence:
    return Evidence(Results([]), Results([]), Results(peers), None, Results(family), Results(same), Results(binary))


def test_ours_and_the_peers_of_that_name_stand_in_one_row() -> None:
    ours = [adult("mst", 0.2), adult("mst", 0.4, trial=1), adult("privmrf", 0.1)]
    late = adult("opendp/mst", 0.0, status="timeout", message="", result={}, progress={"seconds": 90.0})
    text = same_section(evidence(same=[*ours, adult("dpmm/mst", 0.6, cpu=40.0)], peers=[adult("smartnoise/mst", 0.3), late]))
    assert "| `mst` | 0.3000 (2) | 2.0 | dpmm/mst | 0.6000 (1) | 40 | 2.00 | 20 |" in text
    assert "| `mst` | 0.3000 (2) | 2.0 | smartnoise/mst | 0.3000 (1) | 2 | 1.00 | 1 |" in text
    assert "| `mst` | 0.3000 (2) | 2.0 | opendp/mst | not finished | > 90 | | > 45 |" in text
    assert "| `privmrf` | 0.1000 (1) | 2.0 | none | | | | |" in text
    assert same_section(evidence()) == ""


def test_a_peer_that_is_better_than_ours_of_its_name_is_told() -> None:
    same = [adult("mst", 0.2), adult("dpmm/mst", 0.1), adult("opendp/mst", 0.3, cpu=1.0), adult("privmrf", 0.1)]
    assert list(worse_than_same(evidence(same=same))) == [
        "error (L1) of dpmm/mst is below that of our mst: adult, all-3way, ε = 1: 0.1 against 0.2",
        "CPU seconds of opendp/mst is below that of our mst: adult, all-3way, ε = 1: 1 against 2",
    ]


def test_the_plan_asks_for_no_peer_that_is_not_there() -> None:
    known = {f"{peer.name}/{name}" for peer in environments.PEERS.values() for name in peer.mechanisms}
    assert {name for names in SAME.values() for name in names} <= known


def test_ratios_are_geometric_means_by_epsilon_and_by_table() -> None:
    family = [line("aim", 1.0, epsilon=e) for e in (0.1, 1.0, 10.0)]
    family += [line("mst", error, epsilon=e) for e, error in ((0.1, 1.0), (1.0, 2.0), (10.0, 4.0))]
    family += [adult("aim", 1.0), adult("mst", 8.0), line("rap", 9.0, workload="target")]
    two = [line("aim", 1.0, dataset="binary", epsilon=100.0), line("mst", 50.0, dataset="binary", epsilon=100.0)]
    text = ratio_section(evidence(family=family, same=[adult("aim", 0.5)], peers=[adult("dpmm/mst", 1.0)], binary=two))
    assert "| `mst` | 2.6 | 2.83 (4) | 1.00 | 4.00 | 4.00 | 2.00 | 8.00 | 9.28 (3) | dpmm/mst 2.00 |" in text
    assert "`rap`" not in text
    assert "| `mst` | 50.00 |" in text
    assert ratio_section(evidence()) == ""
