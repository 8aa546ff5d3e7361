"""`sparse_jacobian` and `sparse_hessian`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.engine.boxes import Box
from wengert.engine.core.calls import advising
from wengert.engine.core.dtypes import NDARRAY
from wengert.engine.core.errors import ArgumentError, UnsupportedError, message, name_of
from wengert.engine.transforms.arguments import Argnums, check_function
from wengert.sparse.arguments import call_of
from wengert.sparse.colouring import Colouring
from wengert.sparse.linear_maps import LinearMap, OfFunction, OfGradient
from wengert.sparse.report import report
from wengert.sparse.structure import Structure

#: The structures that a derivative keeps; one more, and all are found anew when they are needed.
_MOST_STRUCTURES = 64


class SparseDerivative:
    """A function that computes a sparse matrix of derivatives, made by `sparse_jacobian` or `sparse_hessian`.

    The first call for arguments of new shapes finds the pattern, colours it, and compiles one sweep. Integers, truth
    values, texts and arrays of them belong to the structure: other values of them have a structure of their own.
    """

    def __init__(self, linear: LinearMap, mode: str) -> None:
        self._linear = linear
        self._mode = mode
        self._structures: dict[Any, Structure] = {}
        self._of_arrays: dict[Any, Structure] = {}
        """The structures for arguments that are floating-point arrays, by their types."""
        self.__wrapped__ = linear.fun
        self.__name__ = f"{linear.operation}({name_of(linear.fun)})"
        self.__doc__ = getattr(linear.fun, "__doc__", None)

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Return the matrix as a `scipy.sparse.csr_array`; with ``has_aux``, the pair of it and aux.

        Its ``indices`` and ``indptr`` are shared by all results, and read-only.
        """
        structure, leaves = self._structure(arguments, options)
        if any(isinstance(leaf, Box) for leaf in leaves):
            requirement = "inside a transform there are no sparse matrices"
            hint = "use .data(...), the array of the nonzero elements, whose places .pattern(...) gives"
            raise UnsupportedError(message(self._linear.operation, requirement, hint=hint))
        data = structure.elements(leaves)
        if self._linear.has_aux:
            return structure.matrix(data[0]), data[1]
        return structure.matrix(data)

    def data(self, *arguments: Any, **options: Any) -> Any:
        """Return the elements of the pattern, row by row: ``data`` of the matrix, also inside transforms.

        Returns:
            A vector with an element for each element of the pattern; with ``has_aux``, the pair of it and aux.
        """
        structure, leaves = self._structure(arguments, options)
        return structure.elements(leaves)

    def pattern(self, *arguments: Any, **options: Any) -> Any:
        """Return where elements may be other than zero, as a Boolean `scipy.sparse.csr_array`.

        The elements of ``data`` are in the order of its ``indices``.
        """
        structure, _ = self._structure(arguments, options)
        return structure.matrix(np.ones(structure.pattern.nnz, bool))

    def colours(self, *arguments: Any, **options: Any) -> Colouring:
        """Return the colours of the columns and rows of the pattern."""
        return self._structure(arguments, options)[0].colouring

    def report(self, *arguments: Any, **options: Any) -> str:
        """Describe the structure, and how long its parts took, and a call takes; a notebook shows a table."""
        return report(self.__name__, *self._structure(arguments, options))

    def __repr__(self) -> str:
        count = len(self._structures)
        return f"<{self.__name__}, {count} structure{'' if count == 1 else 's'}>"

    def _structure(
        self, arguments: tuple[Any, ...], options: dict[str, Any]
    ) -> tuple[Structure, Sequence[Any]]:
        """Return the structure for arguments, and those of their leaves that are not part of it."""
        types: Any = None
        if not options and all(type(argument) is NDARRAY for argument in arguments):
            types = tuple([(argument.dtype, argument.shape) for argument in arguments])
            structure = self._of_arrays.get(types)
            if structure is not None:
                return structure, arguments
        call = call_of(self._linear.operation, arguments, options)
        structure = self._structures.get(call.key)
        if structure is None:
            if len(self._structures) == _MOST_STRUCTURES:
                self._structures.clear()
                self._of_arrays.clear()
            structure = self._structures[call.key] = Structure(self._linear, call, self._mode)
        if types is not None and len(call.leaves) == len(arguments):
            self._of_arrays[types] = structure
        return structure, call.leaves


@advising("wg.sparse_jacobian(f)(x)")
def sparse_jacobian(
    fun: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, *, mode: str = "auto"
) -> SparseDerivative:
    """Return a function that computes the Jacobian as a sparse matrix.

    ``sparse_jacobian(f)(x)[i, j] = d f(x)[i] / d x[j]``. Rows are the elements of the outputs and columns those of the
    arguments, in row-major order; containers are taken one leaf after the other.

    The first call for arguments of new shapes traces the function, as `jit` does. It finds which elements may be other
    than zero from what the operations read. An index or a condition that depends on an argument reads whatever it might
    read, so the pattern holds at every point. Then it colours the pattern (Curtis, Powell and Reid, 1974) and compiles
    one sweep, which carries one direction for each colour.

    Args:
        fun: a function of arrays or containers of them.
        argnums: the positional argument to differentiate, or several.
        has_aux: the function returns ``(output, aux)``.
        mode: ``forward`` (colours of columns), ``reverse`` (colours of rows), ``both``, or ``auto``, which takes the
            fewest colours.

    Returns:
        A function with the arguments of ``fun`` that returns a `scipy.sparse.csr_array`, or ``(matrix, aux)``. Its
        methods ``pattern``, ``colours``, ``report`` and ``data`` take the same arguments.

    Raises:
        ArgumentError: argnums names no argument, there is no such mode, or the matrix is too full.
        DtypeError: an argument or an output is not real and floating-point.
        MissingExtraError: SciPy is not installed.
        UnsupportedError: the call is inside another transform; ``data`` is supported there.

    Example:
        >>> import numpy as np
        >>> jacobian = sparse_jacobian(lambda x: x[1:] * x[:-1])
        >>> jacobian(np.array([2.0, 3.0, 5.0])).toarray()
        array([[3., 2., 0.],
               [0., 5., 3.]])
        >>> jacobian.colours(np.ones(1000)).count
        2
    """
    return _made(OfFunction("sparse_jacobian", fun, argnums, has_aux), mode)


@advising("wg.sparse_hessian(f)(x)")
def sparse_hessian(
    fun: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, *, mode: str = "auto"
) -> SparseDerivative:
    """Return a function that computes the second derivatives of a scalar function as a sparse matrix.

    ``sparse_hessian(f)(x)[i, j] = d^2 f / d x[i] d x[j]``, symmetric. The rows and columns are the elements of the
    arguments, as in `sparse_jacobian`. The pattern is that of the Jacobian of the gradient. It gets a star colouring
    (Gebremedhin, Manne and Pothen, 2005), and a sweep computes one Hessian-vector product for each colour, by forward
    over reverse mode.

    Args:
        fun: a function that returns a floating-point scalar.
        argnums: the positional argument to differentiate, or several.
        has_aux: the function returns ``(scalar, aux)``.
        mode: ``auto`` or ``both`` for a star colouring; ``forward`` for colours of columns that share no row, which
            uses no symmetry.

    Returns:
        A function with the results and the methods of `sparse_jacobian`.

    Raises:
        ArgumentError: argnums names no argument, there is no such mode, or the matrix is too full.
        DtypeError: an argument or the output is not real and floating-point.
        MissingExtraError: SciPy is not installed.
        UnsupportedError: the call is inside another transform; ``data`` is supported there.

    Example:
        >>> import numpy as np
        >>> sparse_hessian(lambda x: np.sum(x[1:] * x[:-1] ** 2))(np.array([2.0, 3.0, 5.0])).toarray()
        array([[ 6.,  4.,  0.],
               [ 4., 10.,  6.],
               [ 0.,  6.,  0.]])
    """
    return _made(OfGradient("sparse_hessian", fun, argnums, has_aux), mode)


def _made(linear: LinearMap, mode: str) -> SparseDerivative:
    check_function(linear.operation, linear.fun, linear.argnums)
    if mode not in linear.modes:
        requirement = f"mode must be one of {', '.join(linear.modes)}"
        raise ArgumentError(message(linear.operation, requirement, repr(mode)))
    return SparseDerivative(linear, mode)
