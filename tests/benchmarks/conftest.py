"""The benchmarks are scripts that import each other by name, so their folder goes on the path."""

import sys
from pathlib import Path

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
sys.path.append(str(BENCHMARKS))
