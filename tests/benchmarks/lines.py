"""Made-up result lines, as the runner writes them."""

from __future__ import annotations

from typing import Any


def line(mechanism: str, error: float, **changes: Any) -> dict[str, Any]:
    given = {"dataset": "titanic", "workload": "all-3way", "epsilon": 1.0, "trial": 0} | changes
    key = f"{given['dataset']} {given['workload']} {mechanism} {given['epsilon']:g} {given['trial']}"
    result = {"error": {"l1": error, "l2": error / 8, "max": error / 4}, "seconds": 2.0, "cpu_seconds": 1.5}
    result |= {"peak_mb": 180.0, "rounds": 9, "tree_mb": 0.5, "subsampling": 0.1}
    machine = {"cores": 2, "cpu": "a processor", "memory_gb": 24.0, "system": "Linux"}
    made = {"cell": key, "mechanism": mechanism, **given, "base_seed": 0, "seed": 1, "private": False, "limit": 300.0}
    made |= {"started": "2026-01-01T00:00:00+00:00", "jobs": 1, "machine": machine, "versions": {"commit": "abc"}}
    return made | {"seconds": 3.0, "status": "done", "message": "", "result": result} | changes
