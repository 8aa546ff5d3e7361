"""Functions that an equation defines, with the derivatives of the implicit function theorem."""

from __future__ import annotations

from wengert.implicit.equations import fixed_point, root
from wengert.implicit.minima import minimum

__all__ = ["fixed_point", "minimum", "root"]
__dir__ = __all__.copy
