"""What every peer's script shares: its arguments, the files of a table, how far it got, and the small report at the end.

Plain Python and NumPy, so that any peer's environment can import it; nothing of Understudy. The tables are benchmark
data: nothing here is private.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import math
import os
import platform
import resource
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parent.parent.parent
DEGREES = {"all-2way": 2, "all-3way": 3}
MAX_SIZE_MB = 80.0
"""Size of the model, for every library that has such a setting."""
NO_CELL_LIMIT = 10**12
"""For libraries that silently drop marginals with many cells from the workload."""
BEAT_SECONDS = 2.0


@dataclass(frozen=True)
class Cell:
    """One run: a table of codes (rows × attributes), the sizes in column order, and what to run on it."""

    codes: NDArray[np.int64]
    domain: dict[str, int]
    mechanism: str
    epsilon: float
    delta: float
    workload: str
    seed: int

    @property
    def degree(self) -> int:
        """How many attributes a marginal of the workload has."""
        return DEGREES[self.workload]

    @property
    def rho(self) -> float:
        """The zCDP budget of ε and δ, for libraries that ask for it."""
        return rho_of(self.epsilon, self.delta)

    def columns(self) -> dict[str, NDArray[np.int64]]:
        """Return the table by column."""
        return {name: np.ascontiguousarray(self.codes[:, k]) for k, name in enumerate(self.domain)}


@dataclass(frozen=True)
class Made:
    """What a library made: codes (rows × attributes), where it deviates from the cell asked for, further figures."""

    codes: NDArray[Any]
    notes: list[str]
    figures: dict[str, Any] = field(default_factory=dict)


def write_table(folder: Path, codes: NDArray[Any], domain: dict[str, int]) -> tuple[Path, Path]:
    """Write the two files a script reads; return their paths (codes, domain)."""
    codes_path, domain_path = folder / "codes.npz", folder / "domain.json"
    np.savez_compressed(codes_path, codes=np.asarray(codes, dtype=np.int32))
    domain_path.write_text(json.dumps({name: int(size) for name, size in domain.items()}))
    return codes_path, domain_path


def read_table(codes_path: Path, domain_path: Path) -> tuple[NDArray[np.int64], dict[str, int]]:
    """Read what ``write_table`` wrote; complain about codes outside the domain."""
    domain: dict[str, int] = json.loads(domain_path.read_text())
    with np.load(codes_path) as arrays:
        codes = arrays["codes"].astype(np.int64)
    check_codes(codes, domain)
    return codes, domain


def check_codes(codes: NDArray[Any], domain: dict[str, int]) -> None:
    """Raise ValueError unless the codes are rows × attributes of the domain."""
    if codes.ndim != 2 or codes.shape[1] != len(domain):
        raise ValueError(f"codes have shape {codes.shape}, the domain has {len(domain)} attributes")
    if not np.issubdtype(codes.dtype, np.integer):
        raise ValueError(f"codes are {codes.dtype}, not integers")
    for k, (name, size) in enumerate(domain.items()):
        if len(codes) and not (codes[:, k].min() >= 0 and codes[:, k].max() < size):
            raise ValueError(f"codes of {name!r} go beyond 0 to {size - 1}")


def rho_of(epsilon: float, delta: float) -> float:
    """Return the largest ρ, within rounding, for which ρ-zCDP implies (ε, δ)-DP (Canonne, Kamath and Steinke, 2020)."""
    low, high = 0.0, epsilon + 1.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if _delta_of(middle, epsilon) <= delta else (low, middle)
    return low


def _delta_of(rho: float, epsilon: float) -> float:
    """Return the least δ over orders α > 1; the logarithm is convex in α, so a ternary search finds it."""

    def log_delta(log_excess: float) -> float:
        a = 1 + math.exp(log_excess)
        return (a - 1) * (a * rho - epsilon) - math.log(a - 1) + a * math.log1p(-1 / a)

    low, high = math.log(1e-6), math.log(1e6)
    for _ in range(200):
        third = (high - low) / 3
        low, high = (low, high - third) if log_delta(low + third) < log_delta(high - third) else (low + third, high)
    return math.exp(min(log_delta((low + high) / 2), 0.0))


def peak_mb() -> float:
    """Return the largest resident size so far: this process, or a child of its own if that was larger.

    Not ``ru_maxrss`` of the process itself, which begins at the peak of whatever started it. That of its children begins
    at its own peak, and is 0 where it had none.
    """
    line = next(x for x in Path("/proc/self/status").read_text().splitlines() if x.startswith("VmHWM"))
    return max(int(line.split()[1]), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) / 1024


def memory() -> dict[str, float]:
    """Return the peak as it is reported; ``peak_mb`` alone, in older results, has the launching process's as a floor."""
    peak = round(peak_mb(), 1)
    return {"peak_mb": peak, "own_peak_mb": peak}


class Progress:
    """How far a run got, rewritten as it goes, so that a run that is stopped has still said it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.state: dict[str, Any] = {"stage": "starting", "rounds": 0, "message": ""}
        self.began = time.perf_counter()
        self._lock = threading.Lock()

    def begin(self) -> None:
        """Start the clock of the mechanism, and rewrite the file now and then from here on."""
        self.began = time.perf_counter()
        self.note(stage="running")
        threading.Thread(target=self._beat, daemon=True).start()

    def note(self, **what: Any) -> None:
        """Take note and write; ``rounds``, ``stage`` and ``message`` are the usual ones."""
        with self._lock:
            self.state.update(what, seconds=round(time.perf_counter() - self.began, 2), **memory())
            beside = self.path.with_suffix(".part")
            beside.write_text(json.dumps(self.state) + "\n")
            beside.replace(self.path)

    def round_done(self, message: str = "") -> None:
        """Count a round."""
        self.note(rounds=self.state["rounds"] + 1, message=message or self.state["message"])

    def _beat(self) -> None:
        while self.state["stage"] == "running":
            time.sleep(BEAT_SECONDS)
            self.note()


class Lines(io.TextIOBase):
    """Standard output of a library: the last line becomes the message of the progress, all of it goes to stderr."""

    def __init__(self, progress: Progress, on_line: Callable[[str], None] = lambda line: None) -> None:
        self.progress, self.on_line, self._rest = progress, on_line, ""

    def write(self, text: str) -> int:
        """Take text; a line that ends is noted."""
        sys.stderr.write(text)
        *lines, self._rest = (self._rest + text).split("\n")
        for line in filter(str.strip, lines):
            self.progress.note(message=line.strip()[:300])
            self.on_line(line)
        return len(text)


def parse(argv: Sequence[str] | None, mechanisms: Sequence[str]) -> argparse.Namespace:
    """Read the arguments that all scripts share."""
    parser = argparse.ArgumentParser(description="Run a peer library on one cell and write the synthetic codes.")
    parser.add_argument("--table", type=Path, required=True, help='.npz with the integer array "codes", rows × attributes')
    parser.add_argument("--domain", type=Path, required=True, help='JSON such as {"age": 32}, in column order')
    parser.add_argument("--mechanism", choices=mechanisms, required=True)
    parser.add_argument("--epsilon", type=float, required=True)
    parser.add_argument("--delta", type=float, required=True)
    parser.add_argument("--workload", choices=sorted(DEGREES), default="all-3way")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True, help=".npy of synthetic codes; the report goes beside it, .json")
    parser.add_argument("--progress", type=Path, required=True, help="JSON, rewritten as the run goes")
    return parser.parse_args(argv)


def main(
    library: str,
    mechanisms: Sequence[str],
    synthesise: Callable[[Cell, Progress], Made],
    argv: Sequence[str] | None = None,
) -> int:
    """Run a script: read the cell, time the library, write codes and report. 0 when done, 1 when the library failed."""
    given = parse(argv, mechanisms)
    codes, domain = read_table(given.table, given.domain)
    cell = Cell(codes, domain, given.mechanism, given.epsilon, given.delta, given.workload, given.seed)
    progress = Progress(given.progress)
    compiled = compile_clock()
    progress.begin()
    try:
        with contextlib.redirect_stdout(Lines(progress)):
            made = synthesise(cell, progress)
        check_codes(made.codes, domain)
    except Exception as error:  # whatever a library raises is the result of this run
        traceback.print_exc()
        progress.note(stage="failed", message=message_of(error))
        return 1
    np.save(given.out, np.asarray(made.codes, dtype=np.int32))
    report = report_of(library, cell, progress, made, compiled())
    given.out.with_suffix(".json").write_text(json.dumps(report, indent=1) + "\n")
    progress.note(stage="done")
    return 0


def message_of(error: BaseException) -> str:
    """Return an error in one line: of a traceback within a message its last line alone, and no path of this machine."""
    lines = [line.strip() for line in str(error).splitlines() if any(c.isalnum() for c in line)]
    if any(line.startswith("Traceback") for line in lines):
        lines = lines[-1:]
    text = " ".join(" ".join(lines).split())
    return f"{type(error).__name__}: {text}".replace(f"{ROOT}/", "")[:500]


def report_of(library: str, cell: Cell, progress: Progress, made: Made, compiling: float | None) -> dict[str, Any]:
    """Describe a run that ended well."""
    return {
        "library": library,
        "version": version(library),
        "mechanism": cell.mechanism,
        "workload": cell.workload,
        "epsilon": cell.epsilon,
        "delta": cell.delta,
        "seed": cell.seed,
        "seconds": time.perf_counter() - progress.began,
        "compile_seconds": compiling,
        "rounds": progress.state["rounds"],
        **memory(),
        "rows": len(made.codes),
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "notes": made.notes,
        **made.figures,
    }


def compile_clock() -> Callable[[], float | None]:
    """Add up JAX's own account of compiling, over all threads, from now on; None where JAX is not in use."""
    if "jax" not in sys.modules:
        return lambda: None
    import jax.monitoring

    spent: list[float] = []

    def listen(event: str, seconds: float, **_: Any) -> None:
        if event.endswith("backend_compile_duration"):
            spent.append(seconds)

    jax.monitoring.register_event_duration_secs_listener(listen)
    return lambda: sum(spent)
