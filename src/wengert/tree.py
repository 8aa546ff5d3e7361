"""Trees: nested containers of arrays, flattened into leaves and unflattened again."""

from wengert.core.tree import children, flatten, leaves, map_tree, paths, show, static, unflatten

__all__ = ["children", "flatten", "leaves", "map_tree", "paths", "show", "static", "unflatten"]
