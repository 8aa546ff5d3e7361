"""Pages about runs: one HTML file that shows a run, or several beside one another."""

from __future__ import annotations

from wengert.report.comparison import Comparison, comparison, comparison_report
from wengert.report.run import run_report

__all__ = ["Comparison", "comparison", "comparison_report", "run_report"]
