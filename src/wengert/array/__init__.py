"""The array that a user meets inside a transform, with Python's operators, subscripts and NumPy's protocols."""

from wengert.array.array import Array as Array

__all__ = ["Array"]
