"""SciPy's functions that make sparse matrices of others, of arrays and of diagonals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.engine.array.substitutes import enter_caller
from wengert.engine.core import tree
from wengert.engine.core.shapes import shape_of, size
from wengert.engine.ops.shape import reshape
from wengert.scipy.registry import array
from wengert.scipy.sparse.matrices import Sparse, is_followed, is_sparse, known, of, scipys


def _placing(name: str, first: str) -> Callable[..., Any]:
    """Return a function of SciPy's that only places the elements of a first parameter: it gets their numbers."""

    def call(*args: Any, dtype: Any = None, **options: Any) -> Any:
        function, operation = scipys(name), f"scipy.sparse.{name}"
        args = (options.pop(first), *args) if first in options else args
        if not is_followed((args, options)):
            settings = {} if dtype is None else {"dtype": dtype}
            return function(*known(operation, args), **known(operation, options), **settings)
        parts: list[Any] = []

        def numbered(value: Any) -> Any:
            start = sum(size(shape_of(part)) for part in parts)
            if is_sparse(value):
                matrix = of(value).summed()
                parts.append(matrix.elements)
                places = matrix.places.copy()
                places.data = places.data.astype(float) + start
                return places
            shape = shape_of(array(value))
            parts.append(reshape(array(value), shape=(size(shape),)))
            return np.arange(start + 1.0, start + 1.0 + size(shape)).reshape(shape)[()]

        places = function(
            tree.map_tree(numbered, args[0]), *known(operation, args[1:]), **known(operation, options)
        )
        made = Sparse(places, np.concatenate(parts))
        return made if dtype is None else made.astype(dtype)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"`scipy.sparse.{name}`, whose elements may be followed."
    enter_caller(f"scipy.sparse.{name}", call)
    return call


#: SciPy's functions by name, such as "diags".
FUNCTIONS = {
    name: _placing(name, first)
    for names, first in {
        "diags diags_array": "diagonals",
        "block_array bmat hstack vstack": "blocks",
        "block_diag": "mats",
        "spdiags": "data",
        "tril triu": "A",
    }.items()
    for name in names.split()
}


def issparse(x: Any) -> bool:
    """Return whether a value is a sparse matrix, followed or not."""
    return is_sparse(x)


for _name in ("scipy.sparse.issparse", "scipy.issparse"):  # newer versions define it in a private module
    enter_caller(_name, issparse)
