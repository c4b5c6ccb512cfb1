"""A release as one self-contained HTML page, and an evaluation as a second one that is marked as not private.

The report shows released information alone. The evaluation shows true counts, and says so on every screen and sheet.
"""

from understudy.report.writing import render_evaluation, render_report, write_evaluation, write_report

__all__ = ["render_evaluation", "render_report", "write_evaluation", "write_report"]
