"""The linear equations of an implicit step, ``(shift M - J) x = b``: J is the Jacobian of the right-hand side.

The mass matrix M is the identity where there is none. Stages that depend on each other have a shift for each pair.
J is dense or sparse. A sparse one is computed along the colours of its columns (Curtis, Powell and Reid, 1974). Its
equations are banded where the order of Cuthill and McKee (1969, reversed) brings its elements near the diagonal; else
SuperLU factorises the matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from wengert.engine.boxes import concrete
from wengert.engine.control.checkpoint import stop_gradient
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
from wengert.integrate.masses import Mass
from wengert.numpy.selecting import take
from wengert.sparse.colouring import colour
from wengert.sparse.derivatives import sparse_jacobian
from wengert.sparse.packages import scipy_sparse

Solve = Callable[[Any], Any]
"""``b -> x``: vectors, or a row for each stage."""
Product = Callable[[Any], Any]
"""``x -> J x``. Of the derivative of a function it has the function's own cancellations, which no matrix has."""
Function = Callable[[Any, Any], Any]


class Equations(NamedTuple):
    """The linear equations of implicit steps."""

    form: Dense | Sparse
    elements: Function
    """The elements of J at a time and a state, as the form holds them."""
    derive: Callable[[Function], Function]
    """``rhs -> elements`` of its derivative, of the same pattern."""
    rhs: Function | None = None
    """The function whose derivative J is; None where the user gives J."""

    def of(self, rhs: Function) -> Equations:
        """Return the equations for the derivative of a function."""
        return Equations(self.form, self.derive(rhs), self.derive, rhs)

    def product(self, t: Any, y: Any, elements: Any) -> Product:
        """Return the product with J, whose elements are given."""
        if self.rhs is None:
            return self.form.product(elements)
        rhs = self.rhs
        return lambda x: jvp(lambda y: rhs(t, y), (y,), (x,))[1]


_LEAST_SPARSE = 32
"""The number of unknowns from which a pattern is looked for."""
_DENSE_SHARE = 0.1
"""The share of elements from which a matrix counts as dense."""
_WIDEST_BAND = 48
"""The number of diagonals up to which elimination within the band takes less time than a sparse factor."""


def equations_of(
    operation: str,
    rhs: Function,
    t: Any,
    y: Any,
    jac: Any,
    jac_sparsity: Any,
    args: Any,
    mass: Mass | None = None,
    container: Callable[[Any], Any] = lambda y: y,
) -> Equations:
    """Return the equations of the steps of an implicit method, at a time and a state of shape (n,).

    ``jac``: None for the derivative of ``rhs``, a function ``(t, y, *args)`` of the Jacobian, or a constant one.
    ``jac_sparsity``: where elements of the derivative may be other than zero; None: wherever the program says so.
    ``container``: how the function ``jac`` takes a state. Equations that ``mass`` combines have combined Jacobians.
    """
    count = shape_of(y)[0]
    left = None if mass is None else mass.left
    whole = Dense(None if mass is None else mass.matrix)

    def derivative(rhs: Function) -> Function:
        # Of a complex state the function is holomorphic, as for SciPy's implicit methods.
        return lambda t, y: jacfwd(lambda y: rhs(t, y), holomorphic=dtype_of(y).kind == "c")(y)

    def combined(matrix: Any) -> Any:
        return matrix if left is None else left @ matrix

    if callable(jac):

        def users(t: Any, y: Any) -> Any:
            found = called(operation, "jac", jac, t, container(y), *args)
            return combined(_checked(operation, found, count))

        _finite(operation, users(t, y), "look at jac(t0, y0)")
        return Equations(whole, users, derivative)
    if jac is not None and (left is not None or not hasattr(jac, "tocsr")):
        given = jac.toarray() if hasattr(jac, "toarray") else jac
        matrix = combined(_finite(operation, _checked(operation, given, count)))
        return Equations(whole, lambda t, y: matrix, derivative)
    if jac is not None:
        pattern = _pattern_of(operation, jac, count)
        return _constant(operation, jac, _with_mass(pattern, mass), mass)
    is_given = jac_sparsity is not None
    pattern = _pattern_of(operation, jac_sparsity, count) if is_given else _detected(rhs, t, y)
    if pattern is not None:
        if is_given and left is not None:
            pattern = _with_diagonal(scipy_sparse(operation).csr_array(abs(left)) @ pattern)
        pattern = _with_mass(pattern, mass)
    if pattern is None or pattern.nnz > _DENSE_SHARE * count**2:
        return Equations(whole, derivative(rhs), derivative, rhs)

    def coloured(rhs: Function) -> Function:
        return Coloured.of(pattern, rhs)

    return Equations(Sparse(pattern, mass), coloured(rhs), coloured, rhs)


def holomorphic(operation: str, rhs: Function, t: Any, y: Any) -> Any:
    """Return a complex state, or raise an error if the right-hand side is not holomorphic in it.

    Its derivative along ``i d`` must be ``i`` times the one along d, also beside the state, which may be 0.
    """
    places, point = np.arange(1.0, shape_of(y)[0] + 1), stop_gradient(y)
    direction, holds = np.exp(1j * places**0.5), np.True_
    for at in (point, point + 1e-3 * (1.0 + np.abs(point)) * np.exp(2j * places**0.5)):
        slopes = [jvp(lambda y: rhs(t, y), (at,), (d,))[1] for d in (1j * direction, direction)]
        gap, size = np.abs(slopes[0] - 1j * slopes[1]), np.abs(slopes[0]) + np.abs(slopes[1])
        holds = np.logical_and(holds, np.logical_not(np.sum(gap) > 1e-8 * np.sum(size)))
    requirement = "fun must be holomorphic in a complex y, for an implicit method"
    hint = "take a real state of np.real(y) and np.imag(y), or an explicit method"
    return required(operation, y, holds, requirement, "a derivative that depends on the direction", hint)


def _with_mass(pattern: Any, mass: Mass | None) -> Any:
    """Return a pattern with the elements of a mass matrix."""
    if mass is None:
        return pattern
    return _with_diagonal(pattern + scipy_sparse("solve_ivp").csr_array(mass.matrix != 0))


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


def _constant(operation: str, jac: Any, pattern: Any, mass: Mass | None) -> Equations:
    """Return the equations of a constant sparse Jacobian."""
    elements = _on_pattern(pattern, jac.tocsr())
    _finite(operation, elements)
    return Equations(Sparse(pattern, mass), lambda t, y: elements, lambda rhs: Coloured.of(pattern, rhs))


def _on_pattern(pattern: Any, matrix: Any) -> Any:
    """Return the elements of a matrix, 0 where it has none, at the places of a pattern, which has all of its places."""
    matrix = matrix.tocoo()
    data = np.zeros(pattern.nnz, matrix.dtype)
    keys, rows = _rows(pattern) * pattern.shape[1] + pattern.indices, matrix.row.astype(np.int64)
    np.add.at(data, np.searchsorted(keys, rows * pattern.shape[1] + matrix.col), matrix.data)
    return data


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

    def solver(self, data: Any) -> Solve:
        """Return the solution of equations whose matrix has elements, row by row."""
        if self.is_banded:
            return _within_band(self, data)
        return lambda b: sparse_solve(b, data, self.columns, self.pointers, transposed=False)

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


# -- matrices --------------------------------------------------------------------------------------------


class Dense(NamedTuple):
    """Matrices whose elements are arrays of shape (n, n)."""

    mass: Any = None
    """M, None for the identity."""

    def solver(self, shift: Any, elements: Any) -> Solve:
        """Return the solution of the equations with ``shift M - J``."""
        matrix = self.matrix(shift, elements)
        return lambda b: np.linalg.solve(matrix, b)

    def matrix(self, shift: Any, elements: Any) -> Any:
        """Return ``shift M - J``."""
        return shift * self._mass(shape_of(elements)[0]) - elements

    def coupled(self, shifts: Sequence[Sequence[Any]], elements: Sequence[Any]) -> Solve:
        """Return the solution for several stages, each with a Jacobian; ``b`` has a row for each."""
        count = shape_of(elements[0])[0]
        mass = self._mass(count)
        rows = [[shift * mass for shift in row] for row in shifts]
        for stage, own in enumerate(elements):
            rows[stage][stage] = rows[stage][stage] - own
        matrix = np.concatenate([np.concatenate(row, axis=1) for row in rows], axis=0)
        return lambda b: np.reshape(np.linalg.solve(matrix, np.reshape(b, (-1,))), shape_of(b))

    def product(self, elements: Any) -> Product:
        """Return the product with J."""
        return lambda x: elements @ x

    def weighed(self, x: Any) -> Any:
        """Return M x, of a vector or of rows."""
        return x if self.mass is None else x @ self.mass.T

    def rows(self, flags: Any, elements: Any) -> Any:
        """Return the elements of a Jacobian whose other rows are zero."""
        return where(flags[:, None], elements, 0.0)

    def _mass(self, count: int) -> Any:
        return np.eye(count) if self.mass is None else self.mass


class Sparse:
    """Matrices whose elements lie on a pattern, row by row.

    Args:
        pattern: the places of the elements of both matrices.
        mass: M, None for the identity.
    """

    def __init__(self, pattern: Any, mass: Mass | None) -> None:
        self._pattern = pattern
        self._structure = Structure.of(pattern)
        self._weights = self._structure.is_diagonal.astype(np.float64)
        self._is_identity = mass is None
        if mass is not None:
            self._weights = _on_pattern(pattern, scipy_sparse("solve_ivp").csr_array(mass.matrix))
        self._stages: dict[int, tuple[Structure, Any, Any, Any]] = {}

    def solver(self, shift: Any, elements: Any) -> Solve:
        """Return the solution of the equations with ``shift M - J``."""
        return self._structure.solver(shift * self._weights - elements)

    def coupled(self, shifts: Sequence[Sequence[Any]], elements: Sequence[Any]) -> Solve:
        """Return the solution for several stages, each with a Jacobian; ``b`` has a row for each."""
        count = len(elements)
        if count not in self._stages:
            self._stages[count] = self._of_stages(count)
        structure, places, pairs, own = self._stages[count]
        flat = np.stack([shift * np.float64(1.0) for row in shifts for shift in row])
        partials = np.concatenate([*elements, np.zeros(1)])
        solve = structure.solver(take(flat, pairs) * self._weights[places] - take(partials, own))
        return lambda b: np.reshape(solve(np.reshape(b.T, (-1,))), (-1, count)).T

    def _of_stages(self, count: int) -> tuple[Structure, Any, Any, Any]:
        """Return the structure of several stages, whose unknowns alternate, and where its elements come from.

        For each element: its number in M, that of its pair of stages, and its number among the elements of all
        Jacobians, the last of which stands for none.
        """
        rows, columns = _rows(self._pattern), np.asarray(self._pattern.indices)
        size: int = self._pattern.nnz
        parts: list[Any] = []
        for row in range(count):
            for column in range(count):
                places: Any = np.arange(size) if row == column else np.flatnonzero(self._weights)
                own: Any = places + row * size if row == column else np.full(len(places), count * size)
                pair = np.full(len(places), row * count + column)
                parts.append(
                    (rows[places] * count + row, columns[places] * count + column, places, pair, own)
                )
        row, column, *sources = (np.concatenate(part) for part in zip(*parts, strict=True))
        order = np.lexsort((column, row))
        wide = count * self._pattern.shape[0]
        pointers = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=wide))])
        scipy = scipy_sparse("solve_ivp")
        pattern = scipy.csr_array((np.ones(len(order)), column[order], pointers), shape=(wide, wide))
        places, pairs, own = (np.asarray(source[order], np.int64) for source in sources)
        return Structure.of(pattern), places, pairs, own

    def product(self, elements: Any) -> Product:
        """Return the product with J."""
        return self._structure.product(elements)

    def weighed(self, x: Any) -> Any:
        """Return M x, of a vector or of rows."""
        if self._is_identity:
            return x
        product = self._structure.product(self._weights)
        return product(x) if len(shape_of(x)) == 1 else np.stack([product(row) for row in x])

    def rows(self, flags: Any, elements: Any) -> Any:
        """Return the elements of a Jacobian whose other rows are zero."""
        return where(flags[_rows(self._pattern)], elements, 0.0)


def _within_band(structure: Structure, data: Any) -> Solve:
    bands = gather(np.concatenate([data, np.zeros(1)]), structure.places)
    order, lower, upper = structure.order, structure.lower, structure.upper

    def solve(b: Any) -> Any:
        right = b if order is None else take(b, order)
        x = solve_banded(bands, right[:, None], lower=lower, upper=upper)[:, 0]
        return x if order is None else take(x, np.argsort(order))

    return solve
