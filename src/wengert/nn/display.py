"""The display of a layer in a notebook: its arrays, and how many numbers they hold."""

from __future__ import annotations

from wengert.engine.control.values import is_number
from wengert.engine.core import tree
from wengert.engine.core.dtypes import dtype_of
from wengert.engine.core.markup import in_notebook, short_table
from wengert.engine.core.shapes import shape_of, size
from wengert.engine.ir.types import show


class Displayed:
    """A layer that a notebook shows as a table of its arrays."""

    def _repr_html_(self) -> str:
        leaves, structure = tree.flatten(self)
        arrays = [
            (path.lstrip("."), leaf)
            for path, leaf in zip(tree.paths(structure), leaves, strict=True)
            if is_number(leaf)
        ]
        rows = [(path, show(leaf), f"{size(shape_of(leaf)):,}") for path, leaf in arrays]
        count = sum(size(shape_of(leaf)) for _, leaf in arrays)
        memory = sum(size(shape_of(leaf)) * dtype_of(leaf).itemsize for _, leaf in arrays)
        title = f"{type(self).__name__}: {count:,} number{'' if count == 1 else 's'}, {memory:,} bytes"
        return in_notebook(short_table(title, ("array", "type", "numbers"), rows, texts=2))
