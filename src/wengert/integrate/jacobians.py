"""The linear equations of an implicit step, ``(shift - J) x = b`` with the Jacobian J of the right-hand side.

J is dense or sparse. A sparse one is computed along the colours of its columns (Curtis, Powell and Reid, 1974). Its
equations are banded where the order of Cuthill and McKee (1969, reversed) brings its elements near the diagonal; else
SuperLU factorises the matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, cast

import numpy as np

from wengert.engine.boxes import concrete
from wengert.engine.core.dtypes import FLOAT64, dtype_of
from wengert.engine.core.errors import (
    ConcreteError,
    DtypeError,
    LostDerivativeError,
    MissingExtraError,
    ShapeError,
    UnsupportedError,
    message,
)
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.types import show
from wengert.engine.ops.comparison import where
from wengert.engine.ops.indexing import gather, scatter_add
from wengert.engine.ops.linalg.banded import solve_banded
from wengert.engine.ops.linalg.sparse_solution import sparse_solve
from wengert.engine.transforms.batching import vmap
from wengert.engine.transforms.forward_mode import jvp
from wengert.engine.transforms.jacobians import jacfwd
from wengert.integrate.arguments import array_of, called, required
from wengert.numpy.selecting import take
from wengert.sparse.colouring import colour
from wengert.sparse.derivatives import sparse_jacobian
from wengert.sparse.packages import scipy_sparse

Solve = Callable[[Any], Any]
"""``b -> x`` with ``(shift - J) x = b``."""
Product = Callable[[Any], Any]
"""``x -> J x``. Of the derivative of a function it has the function's own cancellations, which no matrix has."""
Equations = Callable[[Any, Any, Any], tuple[Solve, Product]]
"""``(t, y, shift) -> (Solve, Product)``, with the Jacobian at a time and state."""
Function = Callable[[Any, Any], Any]

_LEAST_SPARSE = 32
"""The number of unknowns from which a pattern is looked for."""
_DENSE_SHARE = 0.1
"""The share of elements from which a matrix counts as dense."""
_WIDEST_BAND = 48
"""The number of diagonals up to which elimination within the band takes less time than a sparse factor."""


def equations_of(
    operation: str, rhs: Function, t: Any, y: Any, jac: Any, jac_sparsity: Any, args: Any
) -> Equations:
    """Return the equations of the steps of an implicit method, at a time and a state of shape (n,).

    ``jac``: None for the derivative of ``rhs``, a function ``(t, y, *args)`` of the Jacobian, or a constant one.
    ``jac_sparsity``: where elements of the derivative may be other than zero; None: wherever the program says so.
    """
    count = shape_of(y)[0]
    if callable(jac):

        def users(t: Any, y: Any) -> Any:
            return _checked(operation, called(operation, "jac", jac, t, y, *args), count)

        _finite(operation, users(t, y), "look at jac(t0, y0)")
        return dense(users)
    if jac is not None:
        if not hasattr(jac, "tocsr"):
            matrix = _finite(operation, _checked(operation, jac, count))
            return dense(lambda t, y: matrix)
        return _constant(operation, jac, count)
    is_given = jac_sparsity is not None
    pattern = _pattern_of(operation, jac_sparsity, count) if is_given else _detected(rhs, t, y)
    if pattern is None or pattern.nnz > _DENSE_SHARE * count**2:
        # Of a complex state the function is holomorphic, as for SciPy's implicit methods.
        holomorphic = dtype_of(y).kind == "c"
        return dense(lambda t, y: jacfwd(lambda y: rhs(t, y), holomorphic=holomorphic)(y), rhs)
    return sparse(Structure.of(pattern), Coloured.of(pattern, rhs), rhs)


def dense(jacobian: Function, rhs: Function | None = None) -> Equations:
    """Return the equations of a dense Jacobian, which is the derivative of a function if there is one."""

    def equations(t: Any, y: Any, shift: Any) -> tuple[Solve, Product]:
        elements = jacobian(t, y)
        matrix = shift * np.eye(shape_of(y)[0]) - elements
        product = _matrix(elements) if rhs is None else _derivative(rhs, t, y)
        return lambda b: np.linalg.solve(matrix, b), product

    return equations


def _matrix(elements: Any) -> Product:
    return lambda x: elements @ x


def _derivative(rhs: Function, t: Any, y: Any) -> Product:
    return lambda x: jvp(lambda y: rhs(t, y), (y,), (x,))[1]


def _checked(operation: str, jacobian: Any, count: int) -> Any:
    if hasattr(jacobian, "tocsr"):
        hint = "return an array and let jac_sparsity say where its elements are, or leave jac out"
        raise DtypeError(message(operation, "jac must return an array", type(jacobian).__name__, hint))
    matrix = array_of(operation, "jac", jacobian)
    if shape_of(matrix) != (count, count):
        raise ShapeError(message(operation, f"jac must have the shape ({count}, {count})", show(matrix)))
    return matrix


def _finite(operation: str, elements: Any, hint: str = "") -> Any:
    """Return the elements of a Jacobian, or raise an error if one is NaN: no step would be accepted."""
    holds = np.isfinite(elements)
    flags = concrete(holds)
    got = "" if flags is None else f"{np.size(flags) - np.count_nonzero(flags)} elements that are not"
    return required(operation, elements, holds, "jac must be finite", got, hint)


def _constant(operation: str, jac: Any, count: int) -> Equations:
    """Return the equations of a constant sparse Jacobian."""
    pattern = _pattern_of(operation, jac, count)
    matrix, zeros = jac.tocsr(), pattern.astype(np.float64)
    zeros.data[:] = 0
    data = (zeros + matrix).tocsr()
    data.sort_indices()
    _finite(operation, data.data)
    return sparse(Structure.of(pattern), lambda t, y: data.data)


# -- patterns --------------------------------------------------------------------------------------------


def _pattern_of(operation: str, sparsity: Any, count: int) -> Any:
    """Return a pattern that a user gives, with the diagonal."""
    scipy = scipy_sparse(operation)
    matrix = scipy.csr_array(
        sparsity if hasattr(sparsity, "tocsr") else array_of(operation, "jac_sparsity", sparsity)
    )
    if matrix.shape != (count, count):
        requirement = f"jac_sparsity must have the shape ({count}, {count})"
        raise ShapeError(message(operation, requirement, str(matrix.shape)))
    return _with_diagonal(matrix)


def _detected(rhs: Function, t: Any, y: Any) -> Any:
    """Return the pattern that follows from the program, or None where it is dense for all that is known."""
    if shape_of(y)[0] < _LEAST_SPARSE or dtype_of(y) != FLOAT64:
        return None
    try:
        pattern = sparse_jacobian(rhs, 1, mode="forward").pattern(t, y)
    except (ConcreteError, LostDerivativeError, MissingExtraError, UnsupportedError):
        return None  # the function asks for values, or SciPy is not installed
    return _with_diagonal(pattern)


def _with_diagonal(matrix: Any) -> Any:
    scipy = scipy_sparse("solve_ivp")
    pattern = scipy.csr_array((np.ones(matrix.nnz), matrix.indices, matrix.indptr), shape=matrix.shape)
    pattern = (pattern + scipy.eye_array(matrix.shape[0])).tocsr()
    pattern.sort_indices()
    return pattern


def _rows(pattern: Any) -> Any:
    """Return the row of each element."""
    count: int = pattern.shape[0]
    return np.repeat(np.arange(count, dtype=np.int64), np.diff(pattern.indptr))


class Coloured(NamedTuple):
    """The elements of a sparse Jacobian, as a function of time and state."""

    rhs: Function
    directions: Any
    """For each colour ones where its columns are."""
    colours: Any
    """The colour of each element."""
    rows: Any
    """The row of each element."""

    @classmethod
    def of(cls, pattern: Any, rhs: Function) -> Coloured:
        """Return the elements of the derivative of a function."""
        colours = np.asarray(colour(pattern, "forward").columns, np.int64)
        rows = _rows(pattern)
        directions = np.eye(int(colours.max()) + 1)[:, colours]
        return cls(rhs, directions, colours[pattern.indices], rows)

    def __call__(self, t: Any, y: Any) -> Any:
        """Return the elements, row by row."""

        def push(direction: Any) -> Any:
            return jvp(lambda y: self.rhs(t, y), (y,), (direction.astype(dtype_of(y)),))[1]

        return gather(vmap(push)(self.directions), self.colours, self.rows)


class Structure(NamedTuple):
    """A sparse matrix of fixed pattern, and its form for a solver."""

    columns: Any
    pointers: Any
    is_diagonal: Any
    """Which elements lie on the diagonal."""
    order: Any
    """The order of the unknowns within the band, None for the natural one."""
    lower: int
    upper: int
    places: Any
    """The number of the element at each place of the band; where there is none, of the first one behind them."""

    @property
    def is_banded(self) -> bool:
        """Whether elimination within the band takes less time than a sparse factor."""
        return self.lower + self.upper < _WIDEST_BAND

    def product(self, data: Any) -> Product:
        """Return the product of the matrix with a vector."""
        rows = np.repeat(np.arange(len(self.pointers) - 1), np.diff(self.pointers))
        return lambda x: scatter_add(data * take(x, self.columns), rows, shape=(len(self.pointers) - 1,))

    @classmethod
    def of(cls, pattern: Any) -> Structure:
        """Return the structure of a pattern with a diagonal."""
        count = pattern.shape[0]
        columns, pointers = (np.asarray(x, np.int64) for x in (pattern.indices, pattern.indptr))
        rows = _rows(pattern)
        order, distance = None, columns - rows
        if np.ptp(distance) >= _WIDEST_BAND:
            order = _order(pattern)
            place = np.argsort(order)
            distance = place[columns] - place[rows]
            if np.ptp(distance) >= _WIDEST_BAND:
                return cls(columns, pointers, columns == rows, None, count, count, None)
        lower, upper = int(-distance.min()), int(distance.max())
        places = np.full((lower + upper + 1, count), len(columns))
        at = columns if order is None else np.argsort(order)[columns]
        places[upper - distance, at] = np.arange(len(columns))
        return cls(columns, pointers, columns == rows, order, lower, upper, places)


def _order(pattern: Any) -> Any:
    from scipy.sparse import csgraph

    return np.asarray(cast("Any", csgraph).reverse_cuthill_mckee(pattern), np.int64)


def sparse(structure: Structure, elements: Function, rhs: Function | None = None) -> Equations:
    """Return the equations of a sparse Jacobian, whose elements are a function of time and state."""

    def equations(t: Any, y: Any, shift: Any) -> tuple[Solve, Product]:
        partials = elements(t, y)
        product = structure.product(partials) if rhs is None else _derivative(rhs, t, y)
        data = where(structure.is_diagonal, shift, 0.0) - partials
        if structure.is_banded:
            return _within_band(structure, data), product
        columns, pointers = structure.columns, structure.pointers
        return lambda b: sparse_solve(b, data, columns, pointers, transposed=False), product

    return equations


def _within_band(structure: Structure, data: Any) -> Solve:
    bands = gather(np.concatenate([data, np.zeros(1)]), structure.places)
    order, lower, upper = structure.order, structure.lower, structure.upper

    def solve(b: Any) -> Any:
        right = b if order is None else take(b, order)
        x = solve_banded(bands, right[:, None], lower=lower, upper=upper)[:, 0]
        return x if order is None else take(x, np.argsort(order))

    return solve
