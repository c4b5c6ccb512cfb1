"""Compares the pinned dependencies with public databases of known vulnerabilities, and never passes over that in silence.

Needs pip-audit and a network. Three endings: none known (0), some known (1), and NOT CHECKED: no database could be reached,
which is printed as such and fails (3) only where ``UNDERSTUDY_REQUIRE_ADVISORIES`` is set, as it should be before a release.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from .marks import ROOT

REQUIRE = "UNDERSTUDY_REQUIRE_ADVISORIES"
DATABASES = ("pypi", "osv")
PINS = ROOT / "constraints.txt"
NONE, SOME, UNCHECKED = 0, 1, 3


def check(pip_audit: str, pins: Path = PINS) -> int:
    """Ask the databases in turn until one answers; print the verdict."""
    problems = []
    for database in DATABASES:
        found, said = ask(pip_audit, database, pins)
        if found is not None:
            return verdict(found, database)
        problems.append(f"  {database}: {said}")
    print("\n".join(["VULNERABILITIES NOT CHECKED: no database of advisories could be asked.", *problems]))
    return UNCHECKED if os.environ.get(REQUIRE) else NONE


def ask(pip_audit: str, database: str, pins: Path) -> tuple[list[dict[str, Any]] | None, str]:
    """Return what a database says of every pin; None, and the last words of pip-audit, where it did not answer."""
    with TemporaryDirectory() as folder:
        answer = Path(folder, "answer.json")
        asked = ["--vulnerability-service", database, "--requirement", str(pins), "--no-deps", "--disable-pip"]
        command = [
            pip_audit,
            *asked,
            "--progress-spinner",
            "off",
            "--timeout",
            "20",
            "--format",
            "json",
            "--output",
            str(answer),
        ]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
            found = json.loads(answer.read_text(encoding="utf-8"))["dependencies"]
            answered = any("skip_reason" not in entry for entry in found)  # unreachable, it "skips" every one of them
            return (found, "") if answered else (None, f"looked up none of the {len(found)} pins")
        except subprocess.TimeoutExpired:
            return None, "no answer within ten minutes"
        except (OSError, ValueError, KeyError):
            return None, (done.stderr.strip().splitlines() or ["no answer"])[-1][:200]


def verdict(found: list[dict[str, Any]], database: str) -> int:
    """Print what is known; a pin that the database could not look up is said too."""
    skipped = [entry["name"] for entry in found if "skip_reason" in entry]
    known = [
        (entry["name"], entry["version"], v["id"], v["fix_versions"]) for entry in found for v in entry.get("vulns", [])
    ]
    for name, version, advisory, fixed in known:
        print(f"  {name} {version}: {advisory}, fixed in {', '.join(fixed) or 'no version yet'}")
    if skipped:
        print(f"  NOT CHECKED, for {database} did not know them: {', '.join(skipped)}")
    count = f"{len(found) - len(skipped)} of {len(found)} pins were looked up ({database})"
    print(f"VULNERABILITIES KNOWN: {len(known)}; {count}." if known else f"No vulnerability is known; {count}.")
    if known:
        return SOME
    return UNCHECKED if skipped and os.environ.get(REQUIRE) else NONE


if __name__ == "__main__":
    sys.exit(check(*sys.argv[1:2]))
