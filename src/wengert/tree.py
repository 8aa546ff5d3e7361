"""Trees: nested containers of arrays, flattened into leaves and unflattened again."""

from typing import TYPE_CHECKING, Any

from wengert.engine.core.other_libraries import absent
from wengert.engine.core.tree import children, flatten, leaves, map_tree, paths, show, static, unflatten

__all__ = ["children", "flatten", "leaves", "map_tree", "paths", "show", "static", "unflatten"]
__dir__ = __all__.copy


if not TYPE_CHECKING:  # type checkers report such names themselves

    def __getattr__(name: str) -> Any:
        raise absent(__name__, name)
