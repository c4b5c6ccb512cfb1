"""Where a result comes from: versions, the state of this code, and the machine without its name. Public."""

from __future__ import annotations

import os
import platform
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from reference_sets import ROOT
from understudy.model.threads import workers

PACKAGES = ("understudy", "numpy", "opendp", "pyarrow", "duckdb")


def versions() -> dict[str, str]:
    """Versions of what a cell runs on; ``commit`` has a + when src differs from it."""
    found = {"python": platform.python_version(), "commit": commit()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "absent"
    return found


def commit() -> str:
    """The commit of this code, or "unknown" outside a clone."""
    try:
        short = _git("rev-parse", "--short=12", "HEAD")
        changed = _git("status", "--porcelain", "--", "src")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return short + ("+" if changed else "")


@cache
def machine() -> dict[str, Any]:
    """Cores that may be used, processor and memory."""
    return {"cores": workers(), "cpu": _cpu(), "memory_gb": round(_memory() / 2**30, 1), "system": platform.system()}


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
