"""HTML pages about one run, or about several side by side."""

from __future__ import annotations

from wengert.report.compare import Comparison, comparison, comparison_report
from wengert.report.run import run_report

__all__ = ["Comparison", "comparison", "comparison_report", "run_report"]
__dir__ = __all__.copy
