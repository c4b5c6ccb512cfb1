"""Virtual environments of the peers, one each, set up by a command: ``python benchmarks/peers/environments.py [PEER ...]``.

Makes .venv-PEER in the project root with the pinned versions where it is not there yet, and says what is installed or
why it could not be. Standard library only.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PROBE = "import importlib.metadata as m, json; print(json.dumps({d.name.lower(): d.version for d in m.distributions()}))"


@dataclass(frozen=True)
class Peer:
    """A library to compare with: what to install, which Pythons it supports (from, below), which mechanisms it has."""

    name: str
    distribution: str
    version: str
    mechanisms: tuple[str, ...]
    extra: str = ""
    beside: tuple[str, ...] = ()
    pythons: tuple[tuple[int, int], tuple[int, int]] = ((3, 11), (3, 14))

    @property
    def requirements(self) -> list[str]:
        """What pip is asked for; every further version is held by the peer's file of pins."""
        return [f"{self.distribution}{self.extra}=={self.version}", *self.beside]

    @property
    def pins(self) -> Path:
        """The versions of everything, as pip resolved them once."""
        return HERE / "pins" / f"{self.name}.txt"

    @property
    def script(self) -> Path:
        """What runs one cell, with the environment's Python."""
        return HERE / f"run_{self.name}.py"

    @property
    def folder(self) -> Path:
        """The environment."""
        return ROOT / f".venv-{self.name}"

    @property
    def python(self) -> Path:
        """The environment's Python."""
        return self.folder / "bin" / "python"


PEERS = {
    peer.name: peer
    for peer in (
        Peer("mbi", "mbi", "2.0.0", ("aim",), beside=("pyarrow",)),
        Peer("opendp", "opendp", "0.16.0", ("aim", "mst"), extra="[mbi]", beside=("pandas==2.3.3",)),
        Peer("dpmm", "dpmm", "0.1.9", ("aim", "mst", "privbayes", "privbayes-pairs"), pythons=((3, 10), (3, 12))),
        Peer("smartnoise", "smartnoise-synth", "1.0.8", ("aim", "mst")),
        Peer("datasynthesizer", "datasynthesizer", "0.1.13", ("privbayes", "privbayes-pairs", "independent")),
    )
}


@dataclass(frozen=True)
class Environment:
    """An environment that is there (a Python and what is installed), or the message that says why it is not."""

    peer: str
    python: Path | None
    installed: dict[str, str] = field(default_factory=dict)
    message: str = ""


def ensure(name: str) -> Environment:
    """Return a peer's environment, made now if it is missing; never raises for a peer that cannot be installed."""
    if name not in PEERS:
        raise ValueError(f"there is no peer {name!r}; the peers are {', '.join(PEERS)}")
    return ensure_peer(PEERS[name])


def ensure_peer(peer: Peer) -> Environment:
    """Do the same for a peer described by the caller."""
    installed = installed_in(peer.python)
    if not satisfied(peer, installed):
        message = install(peer)
        if message:
            return Environment(peer.name, None, message=f"did not install: {message}")
        installed = installed_in(peer.python)
    if not (peer.folder / "installed.json").exists():
        (peer.folder / "installed.json").write_text(json.dumps(installed, indent=1, sort_keys=True) + "\n")
    return Environment(peer.name, peer.python, installed)


def satisfied(peer: Peer, installed: dict[str, str]) -> bool:
    """Whether everything that is asked for by name is there, in the version that is asked for."""
    wanted = {peer.distribution: peer.version} | {name: pin for name, _, pin in (r.partition("==") for r in peer.beside)}
    return all(name in installed and pin in ("", installed[name]) for name, pin in wanted.items())


def installed_in(python: Path) -> dict[str, str]:
    """Return the distributions that a Python has; none when it does not run."""
    try:
        done = subprocess.run([str(python), "-c", PROBE], check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        return {}
    found: dict[str, str] = json.loads(done.stdout)
    return found


def install(peer: Peer) -> str:
    """Make the environment from nothing; return why it failed, or nothing."""
    base = interpreter(peer)
    if base is None:
        low, high = (".".join(map(str, bound)) for bound in peer.pythons)
        return f"{peer.distribution} {peer.version} needs Python >= {low}, < {high}; none was found"
    shutil.rmtree(peer.folder, ignore_errors=True)
    constraints = ["--constraint", str(peer.pins)] if peer.pins.exists() else []
    for command in (
        [base, "-m", "venv", str(peer.folder)],
        [str(peer.python), "-m", "pip", "install", "--quiet", *constraints, *peer.requirements],
    ):
        message = failure(command)
        if message:
            shutil.rmtree(peer.folder, ignore_errors=True)
            return message
    return ""


def failure(command: Sequence[str]) -> str:
    """Run a command; return nothing when it went well, else its errors in one line."""
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True)
    except OSError as error:
        return str(error)
    return "" if done.returncode == 0 else telling(done.stderr + done.stdout, done.returncode)


def telling(output: str, status: int) -> str:
    """Return the lines of a failed command that say why: those marked as errors, or else the last one."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.lower().startswith("error")]
    chosen = errors or lines[-1:] or [f"exit status {status}"]
    return " | ".join(chosen).replace(f"{ROOT}/", "")[:500]


def interpreter(peer: Peer) -> str | None:
    """Return a Python that the peer supports: this one, else one on the path, newest first."""
    low, high = peer.pythons
    if low <= sys.version_info[:2] < high:
        return sys.executable
    for minor in range(high[1] - 1, low[1] - 1, -1):
        found = shutil.which(f"python{low[0]}.{minor}")
        if found and not failure([found, "-c", "import venv"]):
            return found
    return None


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Set up the environments of the peers; say what each one has.")
    parser.add_argument("peers", nargs="*", metavar="PEER", help=f"which ones: {', '.join(PEERS)}; all when none is named")
    given = parser.parse_args(argv)
    unknown = [name for name in given.peers if name not in PEERS]
    if unknown:
        parser.error(f"there is no peer {unknown[0]!r}; the peers are {', '.join(PEERS)}")
    found = [ensure(name) for name in given.peers or PEERS]
    for one in found:
        said = f"{PEERS[one.peer].distribution} {PEERS[one.peer].version}, {len(one.installed)} distributions"
        print(f"{one.peer}: {one.message or said}", flush=True)
    return os.EX_OK if all(one.python for one in found) else 1


if __name__ == "__main__":
    sys.exit(main())
