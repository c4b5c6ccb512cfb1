"""Figures that the paper states in its text, and what ours are over the results at hand. Public, but for our errors."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from grid.cells import ABLATIONS, EPSILONS, ROUNDS
from grid.results import Results, Setting
from grid.significance import geometric_mean, larger, stouffer

TRIPLES = ("all-3way", "target", "skewed")


@dataclass(frozen=True)
class Found:
    """What ours is, as it is shown, and over what."""

    value: float
    over: str
    text: str = ""

    def __str__(self) -> str:
        return self.text or f"{self.value:.3g}"


@dataclass(frozen=True)
class Row:
    """One stated figure. ``better`` is which way is better where the figure is a merit, and None where it is not."""

    key: str
    what: str
    paper: float
    ours: Callable[[Results], Found | None]
    better: Literal["lower", "higher", "above 1"] | None = None
    said: str = ""
    """How the paper puts it, where that is not just the number."""
    absent: str = "not measured yet"
    """What stands in for our figure when there is none."""

    @property
    def stated(self) -> str:
        """The figure as the paper has it."""
        return self.said or f"{self.paper:g}"

    def rounded(self, value: float) -> float:
        """To as many decimals as the paper states, of per cent where it states that; as it is where it states words."""
        number = re.search(r"\d+(?:\.(\d+))?", self.stated)
        if number is None:
            return value
        return round(value, len(number[1] or "") + (2 if self.stated.endswith("%") else 0))

    def worse(self, found: Found) -> bool:
        """Whether ours is worse than the paper's, rounded alike."""
        if self.better is None:
            return False
        value, paper = self.rounded(found.value), self.rounded(self.paper)
        if self.better == "above 1":  # a ratio: the element that it judges does harm below 1
            return value < 1
        return value > paper if self.better == "lower" else value < paper


def rows() -> list[Row]:
    """All of them, in the order of the paper."""
    return [*_against_others(), *_ablations(), *_bounds(), *_subsampling(), *_zeros(), *_capacity(), *_rounds(), *_others()]


def over(settings: Sequence[Setting]) -> str:
    """Settings in a few words."""
    tables, workloads = (list(dict.fromkeys(s[k] for s in settings)) for k in (0, 1))
    epsilons = sorted({s[2] for s in settings})
    spread = f"ε = {epsilons[0]:g}" if len(epsilons) == 1 else f"{len(epsilons)} ε from {epsilons[0]:g} to {epsilons[-1]:g}"
    count = f"{len(settings)} setting{'s' * (len(settings) > 1)}"
    return f"{count}: {', '.join(map(str, tables))}; {', '.join(map(str, workloads))}; {spread}"


def ratios(results: Results, above: str, below: str = "aim", workloads: Sequence[str] = TRIPLES) -> dict[Setting, float]:
    """Error of ``above`` over that of ``below`` wherever both were run."""
    settings = [s for s in results.settings(above, below) if s[1] in workloads]
    return {s: results.ratio(s, above, below) for s in settings}


def _mean_ratio(above: str, workloads: Sequence[str], results: Results) -> Found | None:
    found = ratios(results, above, workloads=workloads)
    return Found(geometric_mean(list(found.values())), over(list(found))) if found else None


def _most(above: str, workload: str, results: Results) -> Found | None:
    found = ratios(results, above, workloads=[workload])
    return Found(max(found.values()), over(list(found))) if found else None


def _best(least: float, results: Results) -> Found | None:
    found = [s for s in _all_3way(results, "aim", "mwem") if s[2] >= least]
    return _share([_first(results, s, AWARE) == "aim" for s in found], found)


def _mwem_best(results: Results) -> Found | None:
    found = _all_3way(results, "aim", "mwem")
    return _share([_first(results, s, AWARE) == "mwem" for s in found], found)


def _best_of(name: str, among: Sequence[str], results: Results) -> Found | None:
    """How often ``name`` errs least, where all of ``among`` were run."""
    found = _all_3way(results, *among)
    return _share([_first(results, s, among) == name for s in found], found)


def _all_3way(results: Results, *mechanisms: str) -> list[Setting]:
    return [s for s in results.settings(*mechanisms) if s[1] == "all-3way"]


def _first(results: Results, setting: Setting, names: Sequence[str]) -> str:
    """Which of ``names`` errs least in a setting, of those that were run there."""
    means = {name: results.mean(setting, name) for name in names}
    return min((mean, name) for name, mean in means.items() if mean is not None)[1]


def _next_best(results: Results) -> dict[Setting, float]:
    """Error of the best other mechanism of the paper over AIM's, where all of them were run."""
    settings = [s for s in results.settings("aim", *REST) if s[1] in TRIPLES]
    return {s: min(results.ratio(s, name, "aim") for name in REST) for s in settings}


def _next_mean(results: Results) -> Found | None:
    found = _next_best(results)
    return Found(geometric_mean(list(found.values())), over(list(found))) if found else None


def _next_most(results: Results) -> Found | None:
    found = _next_best(results)
    return Found(max(found.values()), over(list(found))) if found else None


def _share(which: Sequence[bool], settings: Sequence[Setting]) -> Found | None:
    share = float(np.mean(which)) if which else 0.0
    return Found(share, over(settings), f"{100 * share:.0f} %") if which else None


def _msts(results: Results) -> dict[Setting, float]:
    """Error of the best MST, a peer's or ours, over that of AIM, wherever one finished."""
    named = [name for name in results.mechanisms() if name == "mst" or name.endswith("/mst")]
    each = [ratios(results, name, workloads=["all-3way"]) for name in named]
    known = [s for s in results.settings("aim") if any(s in found for found in each)]
    return {s: min(found[s] for found in each if s in found) for s in known}


def _mst_mean(results: Results) -> Found | None:
    found = _msts(results)
    return Found(geometric_mean(list(found.values())), over(list(found))) if found else None


def _mst_most(results: Results) -> Found | None:
    found = _msts(results)
    return Found(max(found.values()), over(list(found))) if found else None


OTHERS = {
    "PrivMRF": {"all-3way": (1.3, 3.6), "target": (1.4, 4.6), "skewed": (2.0, 5.7)},
    "PrivBayes+PGM": {"all-3way": (2.2, 14.7)},
    "RAP": {"all-3way": (5.6, 47.1)},
    "GEM": {"all-3way": (2.0, 11.7)},
}
"""AIM's improvement over other papers' mechanisms, by workload: on average, and at most."""
SHARES = {
    "mwem-before": ("MWEM+PGM", "without AIM", 0.72),
    "gem-before": ("GEM", "without AIM", 0.28),
    "rap-before": ("RAP", "without AIM", 0.0),
    "gem-best": ("GEM", "with AIM", 0.05),
}
AWARE = ("aim", "mwem", "gem", "rap")
"""The mechanisms that look at the workload when they choose."""
REST = ("mwem", "mst", "privbayes+pgm", "privmrf", "gem", "rap", "independent", "gaussian")
"""All mechanisms of the paper's comparison but AIM."""


def _of_the_family() -> Iterator[Row]:
    for name, workloads in OTHERS.items():
        for workload, figures in workloads.items():
            for kind, words, value in zip(("mean", "most"), ("mean", "most extreme case"), figures, strict=True):
                what = f"AIM's improvement over {name}, {workload}, {words}"
                key = f"{name.partition('+')[0].lower()}-{kind}-{workload}"
                own = name.lower()
                ours = partial(_mean_ratio, own, [workload]) if kind == "mean" else partial(_most, own, workload)
                yield Row(key, what, value, ours, "higher", f"{value:g}×")
    for key, (name, beside, share) in SHARES.items():
        what = f"settings where {name} is the best workload-aware mechanism, all-3way, {beside}"
        among = AWARE if beside == "with AIM" else AWARE[1:]
        ours = partial(_best_of, name.lower().partition("+")[0], among)
        yield Row(key, what, share, ours, None, f"{100 * share:.0f} %")
    for kind, words, value, found in (("mean", "mean", 1.6, _next_mean), ("most", "most extreme case", 5.7, _next_most)):
        what = f"AIM's improvement over the next best mechanism, {words}"
        yield Row(f"next-{kind}", what, value, found, "higher", f"{value:g}×")


def _against_others() -> Iterator[Row]:
    general = partial(_mean_ratio, "mwem", ["all-3way"])
    yield Row("mwem-mean", "AIM's improvement over MWEM+PGM, all-3way, mean", 1.5, general, "higher", "1.5×")
    yield Row(
        "mwem-most",
        "AIM's improvement over MWEM+PGM, all-3way, most extreme case",
        16.0,
        partial(_most, "mwem", "all-3way"),
        "higher",
        "16×",
    )
    yield Row("mst-mean", "AIM's improvement over MST, all-3way, mean", 2.6, _mst_mean, "higher", "2.6×")
    yield Row("mst-most", "AIM's improvement over MST, all-3way, most extreme case", 118.0, _mst_most, "higher", "118×")
    yield Row("best-share", "settings where AIM is best, all-3way", 0.76, partial(_best, 0.0), "higher", "76 %")
    yield Row("best-share-1", "settings where AIM is best, all-3way, ε ≥ 1", 1.0, partial(_best, 1.0), "higher", "100 %")
    yield Row("mwem-best", "settings where MWEM+PGM is best, all-3way, with AIM", 0.18, _mwem_best, "lower", "18 %")
    yield from _of_the_family()


STATED = {
    "aim:laplace": (1.18, "Gaussian noise"),
    "aim:bounded": (1.13, "unbounded privacy"),
    "aim:even": (1.08, "10/90 budget split"),
    "aim:uniform": (1.03, "independent initialisation"),
    "aim:mwem-selection": (1.37, "selection criterion and candidates"),
    "aim:fixed": (1.48, "adaptive rounds and budget"),
}


def combined_p(results: Results, above: str) -> tuple[float, int] | None:
    """The combined p-value that ``above`` errs more than AIM, as log10, and of how many settings."""
    settings = [s for s in results.settings(above, "aim") if s[1] in TRIPLES]
    tests = [larger(results.trials(s, above), results.trials(s, "aim")) for s in settings]
    known = [z for z in tests if z is not None]
    return (stouffer(known), len(known)) if known else None


def _none(results: Results) -> None:
    """A figure that this project cannot have."""


def _combined(name: str, results: Results) -> Found | None:
    found = combined_p(results, name)
    return Found(found[0], f"{found[1]} t-tests", scientific(found[0])) if found else None


def scientific(exponent: float) -> str:
    """A number given as its base-10 logarithm."""
    if exponent > -4:
        return f"{10**exponent:.2g}"
    return f"10^{exponent:.0f}"


def _ablations() -> Iterator[Row]:
    for name, (stated, element) in STATED.items():
        code, instead, _ = ABLATIONS[name]
        ours = partial(_mean_ratio, name, TRIPLES)
        what = f"{code}: {element}, error without it (with {instead}) over error with it"
        yield Row(f"ablation-{code}", what, stated, ours, "above 1")
    ours = partial(_mean_ratio, "aim:relaxed", TRIPLES)
    yield Row("ablation-O1", "O1: Private-PGM, error with relaxed projection over error with it", 2.36, ours, "above 1")
    yield Row("p-A1", "A1: Stouffer's combined p-value", -22.0, partial(_combined, "aim:uniform"), "lower", "10^-22")
    yield Row("p-A3", "A3: Stouffer's combined p-value", -166.0, partial(_combined, "aim:fixed"), "lower", "10^-166")


def _bound(kind: str, results: Results) -> Found | None:
    found = results.mean(("fire", "all-3way", 10.0), "aim", "bounds", "medians", kind)
    return None if found is None else Found(found, "fire, all-3way, ε = 10")


def _exceeded(results: Results) -> Found | None:
    setting = ("fire", "all-3way", 10.0)
    found = results.trials(setting, "aim", "bounds", "exceeded")
    counts = [results.trials(setting, "aim", "bounds", "counts", kind) for kind in ("supported", "unsupported")]
    total = sum(map(sum, counts))
    return Found(sum(found), f"{total:.0f} bounds in {len(found)} runs", f"{sum(found):.0f}") if found else None


def _bounds() -> Iterator[Row]:
    yield Row("bound-supported", "median bound over true error, supported", 4.4, partial(_bound, "supported"), "lower")
    yield Row("bound-unsupported", "median bound over true error, unsupported", 8.3, partial(_bound, "unsupported"), "lower")
    yield Row("bound-exceeded", "marginals whose error exceeds its 95 % bound", 0.0, _exceeded, "lower", "none")


def _fraction(workload: str, epsilon: float, results: Results) -> Found | None:
    settings = [s for s in results.settings("aim") if s[1:] == (workload, epsilon)]
    means = {s: results.fraction(s, "aim") for s in settings}
    known = {s: m for s, m in means.items() if m is not None}
    return Found(float(np.median(list(known.values()))), over(list(known))) if known else None


def _subsampling() -> Iterator[Row]:
    stated = {10.0: (0.37, 0.62, 0.85), 1.0: (0.13, 0.15, 0.21)}
    for epsilon, figures in stated.items():
        for workload, value in zip(TRIPLES, figures, strict=True):
            what = f"median subsampling fraction, {workload}, ε = {epsilon:g}"
            yield Row(f"subsampling-{workload}-{epsilon:g}", what, value, partial(_fraction, workload, epsilon), "higher")


FIRE = (0.613, 0.303, 0.141, 0.087, 0.052, 0.044, 0.038, 0.029, 0.025)
FIRE_ZEROS = (0.542, 0.263, 0.153, 0.077, 0.053, 0.045, 0.032, 0.026, 0.025)
FIRE_RATIOS = (1.130, 1.151, 0.924, 1.124, 0.979, 0.964, 1.170, 1.149, 1.004)


def _error(dataset: str, epsilon: float, mechanism: str, results: Results) -> Found | None:
    trials = results.trials((dataset, "all-3way", epsilon), mechanism)
    if not trials:
        return None
    mean = float(np.mean(trials))
    return Found(mean, f"{len(trials)} trial{'s' * (len(trials) > 1)}", f"{mean:.3f}")


def _zeros() -> Iterator[Row]:
    for name, words, figures in (("aim", "AIM", FIRE), ("aim:zeros", "AIM with structural zeros", FIRE_ZEROS)):
        for epsilon, value in zip(EPSILONS, figures, strict=True):
            what = f"error of {words}, fire, all-3way, ε = {epsilon:g}"
            ours = partial(_error, "fire", epsilon, name)
            yield Row(f"{name}-fire-{epsilon:g}", what, value, ours, "lower", f"{value:.3f}")
    for epsilon, value in zip(EPSILONS, FIRE_RATIOS, strict=True):
        what = f"error of AIM over error with structural zeros, fire, all-3way, ε = {epsilon:g}"
        yield Row(f"zeros-ratio-{epsilon:g}", what, value, partial(_zeros_ratio, epsilon), "higher", f"{value:.3f}")


def _zeros_ratio(epsilon: float, results: Results) -> Found | None:
    setting = ("fire", "all-3way", epsilon)
    if setting not in results.settings("aim", "aim:zeros"):
        return None
    ratio = results.ratio(setting, "aim", "aim:zeros")
    counts = [len(results.trials(setting, name)) for name in ("aim", "aim:zeros")]
    return Found(ratio, f"{counts[0]} and {counts[1]} trials", f"{ratio:.3f}")


def _against_default(name: str, results: Results) -> Found | None:
    setting = ("fire", "all-3way", 1.0)
    if setting not in results.settings(name, "aim"):
        return None
    change = results.ratio(setting, name, "aim") - 1
    return Found(change, over([setting]), f"{100 * change:+.0f} %")


def _hours(name: str, results: Results) -> Found | None:
    seconds = results.mean(("fire", "all-3way", 1.0), name, "seconds")
    return None if seconds is None else Found(seconds / 3600, "fire, all-3way, ε = 1", f"{seconds:.0f} s")


def _capacity() -> Iterator[Row]:
    large, small = partial(_against_default, "aim:1280MB"), partial(_against_default, "aim:5MB")
    yield Row("capacity-1280-error", "error with 1.28 GB beside 80 MB, fire, ε = 1", -0.13, large, "lower", "−13 %")
    yield Row("capacity-5-error", "error with 5 MB beside 80 MB, fire, ε = 1", 0.75, small, "lower", "+75 %")
    for name, words, hours, said in (
        ("aim", "80 MB", 9.0, "9 hours"),
        ("aim:1280MB", "1.28 GB", 168.0, "7 days"),
        ("aim:5MB", "5 MB", 1.0, "less than an hour"),
    ):
        yield Row(f"time-{words}", f"time of AIM, fire, ε = 1, {words}", hours, partial(_hours, name), "lower", said)


def _in_hindsight(results: Results) -> Found | None:
    """AIM over the best fixed T of each setting: geometric mean; settings with every T."""
    names = [*(f"aim:T={t}" for t in ROUNDS), "aim:fixed"]
    settings = [s for s in results.settings("aim", *names) if s[1] in TRIPLES]
    best = [min(results.ratio(s, name, "aim") for name in names) for s in settings]
    return Found(1 / geometric_mean(best), over(settings)) if settings else None


def _rounds() -> Iterator[Row]:
    stated = dict(zip(ROUNDS, (5.07, 3.87, 2.36, 1.46, 1.13, 1.06, 1.17, 1.27), strict=True))
    for t, value in stated.items():
        ours = partial(_mean_ratio, f"aim:T={t}", TRIPLES)
        yield Row(f"rounds-{t}", f"error with {t} fixed rounds over error with adaptive ones", value, ours, "above 1")
    yield Row(
        "rounds-d",
        "error with d fixed rounds over error with adaptive ones",
        1.48,
        partial(_mean_ratio, "aim:fixed", TRIPLES),
        "above 1",
    )
    yield Row("rounds-best", "the best fixed number of rounds, with its ratio", 64.0, _best_fixed, None, "64 (1.06)")
    yield Row("rounds-hindsight", "error of AIM over that with the best T of each setting", 1.1, _in_hindsight, "lower")


def _best_fixed(results: Results) -> Found | None:
    found = {t: _mean_ratio(f"aim:T={t}", TRIPLES, results) for t in ROUNDS}
    known = {t: f for t, f in found.items() if f is not None}
    if not known:
        return None
    best = min(known, key=lambda t: known[t].value)
    return Found(best, known[best].over, f"{best} ({known[best].value:.3g})")


def _passing(workloads: Sequence[str], results: Results) -> Found | None:
    """The least ε at which Gaussian answers err less than AIM's table does, on any table and workload at hand."""
    found = ratios(results, "gaussian", workloads=workloads)
    passed = [s[2] for s, r in found.items() if r < 1]
    if not found:
        return None
    return Found(min(passed, default=np.inf), over(list(found)), f"{min(passed):g}" if passed else "none measured")


def _others() -> Iterator[Row]:
    sixteen = partial(_error, "adult", 0.1, "mwem:T=16")
    yield Row("mwem-16", "error of MWEM+PGM with 16 rounds, adult, all-3way, ε = 0.1", 0.62, sixteen, "lower")
    eight = partial(_error, "adult", EPSILONS[1], "mwem:T=8")
    yield Row("mwem-8", "error of MWEM+PGM with 8 rounds, adult, all-3way, ε = 0.032", 0.86, eight, "lower")
    for key, workloads, value in (("gaussian-pairs", ["all-2way"], 1.0), ("gaussian-triples", TRIPLES, 31.0)):
        what = f"ε from which Gaussian answers err less than AIM's table, {', '.join(workloads)}"
        yield Row(key, what, value, partial(_passing, workloads), "higher")
