"""The layout of the tests: what ``make quick`` leaves out is there, and what it runs is most of the suite's files."""

from pathlib import Path

from conftest import SLOW

TESTS = Path(__file__).parent


def test_what_is_slow_is_there() -> None:
    assert [name for name in SLOW if not (TESTS / name).exists()] == []


def test_most_files_are_quick() -> None:
    files = [path for path in TESTS.rglob("test_*.py") if path.relative_to(TESTS).parts[0] != "benchmarks"]
    slow = [path for path in files if any(path.is_relative_to(TESTS / name) for name in SLOW)]
    assert len(slow) < len(files) / 2
