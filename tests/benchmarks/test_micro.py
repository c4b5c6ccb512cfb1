"""The microbenchmark calls slower what costs more, and only that."""

from __future__ import annotations

from benchmarks.conftest import BENCHMARKS  # noqa: F401  (puts the benchmarks on the path)
from micro import Timing, calibrate, described, judged, kept, measure, prepared, shown
from micro_cases import cases


def case(clock: float, processor: float) -> dict[str, float]:
    return {"seconds": 0.01, "clock": clock, "processor": processor, "repeats": 7}


def test_what_costs_more_is_slower_and_what_only_waits_is_not() -> None:
    baseline = {"a": case(1.0, 1.0), "b": case(1.0, 1.0), "c": case(1.0, 1.0), "gone": case(1.0, 1.0)}
    now = {"a": case(2.0, 1.9), "b": case(3.0, 1.1), "c": case(0.5, 0.6), "fresh": case(1.0, 1.0)}
    verdicts = {verdict.name: verdict for verdict in judged(now, baseline)}
    assert {name for name, verdict in verdicts.items() if verdict.slower} == {"a"}
    assert "busy machine" in verdicts["b"].word
    assert verdicts["c"].word == ""
    text = shown(now, list(verdicts.values()))
    assert text.count("SLOWER") == 1
    assert "new" in text


def test_twice_the_work_is_found_by_measuring() -> None:
    """Not a matter of luck: three times the work against a threshold of 1.3, in processor time."""
    jobs = {"once": calibrate, "three times": lambda: [calibrate() for _ in range(3)]}
    timings, calibration = prepared(jobs), Timing()
    measure(jobs, 3, timings, calibration)
    found = described(timings, calibration)
    [verdict] = judged({"job": found["three times"]}, {"job": found["once"]})
    assert verdict.slower


def test_a_baseline_of_some_cases_keeps_the_others_as_they_were() -> None:
    stored = {"when": "then", "versions": {"commit": "old"}, "cases": {"a": case(1.0, 1.0), "b": case(1.0, 1.0)}}
    stamp = {"when": "now", "versions": {"commit": "new"}}
    part = kept(stored, {"b": case(2.0, 2.0)}, stamp, part=True)["cases"]
    assert {name: (one["clock"], one["when"], one["commit"]) for name, one in part.items()} == {
        "a": (1.0, "then", "old"),
        "b": (2.0, "now", "new"),
    }
    again = kept(kept(stored, {"b": case(2.0, 2.0)}, stamp, part=True), {}, stamp | {"when": "later"}, part=True)["cases"]
    assert again == part
    assert kept(stored, {"b": case(2.0, 2.0)}, stamp, part=False)["cases"].keys() == {"b"}


def test_every_hot_path_has_a_case() -> None:
    names = " ".join(name for name, _ in cases())
    for path in ("counting", "sizing", "inference", "scoring", "estimation", "generation", "noise"):
        assert path in names
