"""SciPy's functions that make sparse matrices of others, of arrays and of diagonals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.engine.array.substitutes import enter_caller
from wengert.engine.core import tree
from wengert.engine.core.errors import ShapeError, UnsupportedError, message
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
        "expand_dims permute_dims swapaxes tril triu": "A",
    }.items()
    for name in names.split()
}


def kron(A: Any, B: Any, format: Any = None) -> Any:
    """Return the matrix of the products of all elements of A with all of B."""
    if not is_followed((A, B)):
        return scipys("kron")(*known("scipy.sparse.kron", (A, B)), format)
    left, right = of(A), of(B)
    (i, j, x), (k, n, y) = left.summed().entries(), right.summed().entries()
    height, width = right.shape
    elements = reshape(x[:, None] * y, shape=(len(i) * len(k),))
    places = np.add.outer(i * height, k).ravel(), np.add.outer(j * width, n).ravel()
    made = left.of_entries(*places, elements, (left.shape[0] * height, left.shape[1] * width))
    return made if format is None else made.asformat(format)


def kronsum(A: Any, B: Any, format: Any = None) -> Any:
    """Return the Kronecker sum of two square matrices, ``kron(I, A) + kron(B, I)``."""
    if not is_followed((A, B)):
        return scipys("kronsum")(*known("scipy.sparse.kronsum", (A, B)), format)
    left, right = of(A), of(B)
    if any(len(x.shape) != 2 or x.shape[0] != x.shape[1] for x in (left, right)):
        got = f"{left.shape} and {right.shape}"
        raise ShapeError(message("scipy.sparse.kronsum", "square matrices are required", got))
    units = [scipys("eye_array")(x.shape[0]) for x in (left, right)]
    made = kron(units[1], left) + kron(right, units[0])
    return made if format is None else made.asformat(format)


FUNCTIONS.update(kron=kron, kronsum=kronsum)
for _name in ("kron", "kronsum"):
    enter_caller(f"scipy.sparse.{_name}", FUNCTIONS[_name])


def _refusing(name: str) -> Callable[..., Any]:
    """Return a function of SciPy's that refuses followed matrices by name."""

    def call(*args: Any, **options: Any) -> Any:
        if is_followed((args, options)):
            hint = "write A.toarray(), or compute with A.data and the places"
            requirement = "matrices with followed elements are not supported"
            raise UnsupportedError(message(f"scipy.sparse.{name}", requirement, hint=hint))
        return scipys(name)(*known(f"scipy.sparse.{name}", args), **known(f"scipy.sparse.{name}", options))

    return call


for _name in ("find", "save_npz"):
    enter_caller(f"scipy.sparse.{_name}", _refusing(_name))


def issparse(x: Any) -> bool:
    """Return whether a value is a sparse matrix, followed or not."""
    return is_sparse(x)


for _name in ("scipy.sparse.issparse", "scipy.issparse"):  # newer versions define it in a private module
    enter_caller(_name, issparse)
