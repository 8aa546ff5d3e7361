"""Trees: nested containers of arrays. The functions are those of `wengert.core.tree`."""

from wengert.core.tree import children, flatten, leaves, map_tree, paths, show, static, unflatten

__all__ = ["children", "flatten", "leaves", "map_tree", "paths", "show", "static", "unflatten"]
