"""Pages as text and as files.

Public for a release; what is written of an evaluation is as private as the table it looked at.
"""

from __future__ import annotations

from pathlib import Path

from understudy.report import evaluation_page, release_page
from understudy.report.data import report_data
from understudy.report.evaluation_data import Evaluation, evaluation_data
from understudy.report.page import write
from understudy.report.reported import Reported


def render_report(release: Reported, *, intervals: bool = False) -> str:
    """Return the report of ``release`` as one HTML page, the same for the same release.

    With ``intervals``, it says where the private table's means, totals and quantiles are expected: that takes some seconds.
    """
    return release_page.render(report_data(release, intervals=intervals))


def write_report(release: Reported, path: str | Path, *, intervals: bool = False) -> Path:
    """Write the report of ``release`` to the file ``path``; ``intervals`` as in ``render_report``."""
    return write(render_report(release, intervals=intervals), path)


def render_evaluation(evaluation: Evaluation) -> str:
    """Return an evaluation as one HTML page. NOT PRIVATE: it shows true counts, and says so."""
    return evaluation_page.render(evaluation_data(evaluation))


def write_evaluation(evaluation: Evaluation, path: str | Path) -> Path:
    """Write an evaluation to the file ``path``. NOT PRIVATE: keep the file with the table."""
    return write(render_evaluation(evaluation), path)
