"""What every test shares: the same examples and the same surroundings, whoever runs the tests and however busy the machine.

``--hypothesis-profile=search`` draws other examples every time, for whoever looks for a counterexample.
"""

import os
import signal

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
