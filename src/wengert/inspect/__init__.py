"""Looking at programs: the Wengert list, the evaluation trace, pictures, and NumPy source."""

from __future__ import annotations

from wengert.inspect.dot import GraphvizError
from wengert.inspect.evaluation_trace import Table
from wengert.inspect.listing import Listing, trace
from wengert.inspect.picture import draw_tape
from wengert.inspect.source import Program, source

__all__ = ["GraphvizError", "Listing", "Program", "Table", "draw_tape", "source", "trace"]
__dir__ = __all__.copy
