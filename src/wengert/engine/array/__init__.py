"""The array inside a transform: Python's operators, subscripts and NumPy's protocols."""

from wengert.engine.array import notes as notes  # enters itself
from wengert.engine.array.array import Array as Array

__all__ = ["Array"]
