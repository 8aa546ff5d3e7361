"""Trees: nested containers of arrays, flattened into leaves and unflattened again."""

from typing import TYPE_CHECKING

from wengert.engine.core.other_libraries import absent_from
from wengert.engine.core.tree import children, flatten, leaves, map_tree, paths, show, static, unflatten

__all__ = ["children", "flatten", "leaves", "map_tree", "paths", "show", "static", "unflatten"]
__dir__ = __all__.copy


if not TYPE_CHECKING:  # type checkers report such names themselves
    __getattr__ = absent_from(__name__)
