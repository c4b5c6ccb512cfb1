"""What every test shares: the same examples and the same surroundings, whoever runs the tests and however busy the machine.

``--hypothesis-profile=search`` draws other examples every time, for whoever looks for a counterexample.
"""

import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("repeatable", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("search", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("repeatable")

SCREEN = ("COLUMNS", "LINES", "FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE")
"""How wide and how colourful output is would follow whoever runs the tests."""
OURS = ("UNDERSTUDY_DEBUG", "UNDERSTUDY_REQUIRE_ADVISORIES")
for name in (*SCREEN, *OURS):
    os.environ.pop(name, None)
os.environ["TERM"] = "xterm"
signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # where it is ignored, the exit status of a child is lost


def pytest_make_parametrize_id(config: object, val: object) -> str | None:
    """Name the unit of privacy in a test's name, where pytest would number it."""
    from understudy.privacy import Unit  # not before: the mutants of the audit are made while it is loaded

    return f"Unit.{val.value.upper()}" if isinstance(val, Unit) else None


@pytest.fixture(autouse=True)
def _small_mixtures(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fit mixtures of few components in few steps, but in tests of how well they fit: most of what is tested of a mechanism
    does not depend on that.
    """
    if request.node.get_closest_marker("fitted"):
        return
    from understudy.model import generator, relaxation

    monkeypatch.setattr(relaxation, "COMPONENTS", 20)
    monkeypatch.setattr(generator, "HIDDEN", (8,))
    for module in (generator, relaxation):
        monkeypatch.setattr(module, "STEPS", 3)
        monkeypatch.setattr(module, "FIRST_STEPS", 5)


SLOW = (
    "audit/test_canary.py",
    "audit/test_numbers.py",
    "cli/test_commands.py",
    "cli/test_dialect.py",
    "cli/test_ends.py",
    "cli/test_ledger.py",
    "cli/test_review.py",
    "cli/test_schema_cli.py",
    "contracts",
    "docs",
    "learning",
    "ledger/test_bytes.py",
    "ledger/test_fingerprint.py",
    "ledger/test_kills.py",
    "ledger/test_ledger.py",
    "mechanism/test_aim.py",
    "mechanism/test_spend.py",
    "model/test_estimation.py",
    "model/test_generation.py",
    "model/test_inference.py",
    "privacy/test_budget.py",
    "privacy/test_samplers.py",
    "report/test_page.py",
    "review/test_any_draft.py",
    "review/test_tables.py",
    "source/test_databases.py",
    "source/test_sql.py",
    "statistical",
    "test_extremes.py",
    "test_memory.py",
    "test_release_traces.py",
    "test_release_wide.py",
    "test_sample_parts.py",
    "test_synthesize.py",
    "test_synthesize_kills.py",
    "uncertainty",
)
"""Files and folders that take most of the time of the suite. ``make quick`` leaves them out, ``make test`` runs them."""
HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is slow, by its place, so that one list says what ``make quick`` leaves out."""
    slow = [HERE / name for name in SLOW]
    for item in items:
        if any(item.path.is_relative_to(place) for place in slow):
            item.add_marker(pytest.mark.slow)
