"""Sparse matrices whose elements are followed: SciPy places them, Wengert computes with them.

A matrix is SciPy's matrix of *places*, the numbers of its elements from 1, and an array of the elements. So SciPy does
all that only moves elements: it converts, transposes, takes parts, joins blocks. The places are constants.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from wengert.engine.array import sparse as products
from wengert.engine.array.substitutes import SUBSTITUTES
from wengert.engine.boxes import Box, concrete
from wengert.engine.core import tree
from wengert.engine.core.dtypes import dtype_of
from wengert.engine.core.errors import ConcreteError, ShapeError, UnsupportedError, message
from wengert.engine.core.shapes import shape_of, size
from wengert.engine.ir.types import show
from wengert.engine.ops.comparison import where
from wengert.engine.ops.indexing import gather, scatter_add
from wengert.engine.ops.shape import broadcast_to, reshape
from wengert.numpy.creation import asarray
from wengert.numpy.registry import is_sequence, rank_of
from wengert.scipy.registry import array

#: Methods that only move elements: the places tell where to. Attributes of the places alone.
_PLACING = (
    "asformat diagonal getcol getrow reshape toarray tobsr tocoo tocsc tocsr todia todok tolil transpose"
)
_OF_PLACES = "blocksize col coords format indices indptr ndim nnz offsets row shape"
#: Functions of each element that keep zeros.
_OF_ELEMENTS = """arcsin arcsinh arctan arctanh ceil conj conjugate copy deg2rad expm1 floor log1p rad2deg rint sign sin
    sinh sqrt tan tanh trunc"""
_KINDS = ("bsr", "coo", "csc", "csr", "dia")
#: Formats for writes, whose followed matrices are held in rows.
_WRITTEN = ("dok", "lil")


def scipys(name: str) -> Any:
    """Return an object of `scipy.sparse`."""
    from scipy import sparse

    return getattr(sparse, name)


def is_sparse(value: Any) -> bool:
    """Return whether a value is a sparse matrix, SciPy's or a followed one."""
    return isinstance(value, Sparse) or products.is_sparse(value)


def is_followed(values: Any) -> bool:
    """Return whether a transform follows one of some values, or a part of one."""
    return any(
        isinstance(x, Sparse) or (isinstance(x, Box) and not x.owner.plain) for x in tree.leaves(values)
    )


def known(operation: str, values: Any) -> Any:
    """Return plain values: places, shapes and settings must be known."""

    def plain(value: Any) -> Any:
        found = concrete(value) if isinstance(value, Box) else value
        if found is None or isinstance(found, Sparse):
            hint = "only the elements may be followed: keep the places in arrays outside of the transform"
            got = show(value) if isinstance(value, Box) else "a matrix"
            raise ConcreteError(message(operation, "places must be known", got, hint))
        return found

    return tree.map_tree(plain, values)


def taken(elements: Any, numbers: Any) -> Any:
    """Return the elements with numbers from 1, and 0 for the number 0."""
    numbers = np.asarray(numbers).astype(np.int64)
    if not numbers.size:
        return np.zeros(numbers.shape, dtype_of(elements))
    found = gather(elements, np.maximum(numbers - 1, 0))
    return found if np.all(numbers > 0) else where(numbers > 0, found, 0.0)


class Sparse:
    """A sparse matrix of followed elements, which works as that of SciPy's which its places are in.

    Args:
        places: SciPy's matrix of the numbers of the elements from 1; the number 0 is the element 0.
        elements: a vector.
    """

    #: NumPy's arrays leave operations with such an object to it.
    __array_ufunc__ = None
    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __init__(self, places: Any, elements: Any) -> None:
        numbers = np.asarray(places.data).astype(np.int64)
        following = np.arange(1, numbers.size + 1)
        if not (np.array_equal(numbers.ravel(), following) and shape_of(elements) == (numbers.size,)):
            elements = taken(elements, numbers.ravel())
            places = copy.copy(places)
            places.data = following.reshape(numbers.shape)
        self.places, self.elements = places, elements

    @property
    def dtype(self) -> Any:
        """The dtype of the elements."""
        return dtype_of(self.elements)

    @property
    def data(self) -> Any:
        """The elements in SciPy's order; those of diagonals and blocks have further axes."""
        return np.reshape(self.elements, np.shape(self.places.data))

    @data.setter
    def data(self, elements: Any) -> None:
        if shape_of(elements) != np.shape(self.places.data):
            raise ShapeError(message("data", f"{self.places.nnz} elements are required", show(elements)))
        self.elements = _vector(elements)

    @property
    def T(self) -> Any:  # noqa: N802
        """The transposed matrix."""
        return self.placed(lambda places: places.T)

    @property
    def is_array(self) -> bool:
        """Whether ``*`` multiplies element by element, as for SciPy's arrays."""
        return not isinstance(self.places, scipys("spmatrix"))

    def __getattr__(self, name: str) -> Any:
        places = vars(self).get("places")
        if places is None or not hasattr(places, name):
            raise AttributeError(f"{type(places).__name__!r} object has no attribute {name!r}")
        if name in _OF_PLACES.split():
            return getattr(places, name)
        if name in _PLACING.split():
            return lambda *args, **kwargs: self.placed(lambda matrix: getattr(matrix, name)(*args, **kwargs))  # pyright: ignore[reportUnknownVariableType]
        if name in _OF_ELEMENTS.split():
            return lambda: self.summed().mapped(getattr(np, name))
        self.refuse(name)

    def refuse(self, name: str) -> NoReturn:
        """Raise `UnsupportedError` for a method."""
        hint = "write A.toarray(), or compute with A.data and the places"
        got = "a matrix of followed elements"
        raise UnsupportedError(
            message(f"{type(self.places).__name__}.{name}", "this is not followed", got, hint)
        )

    # -- places ------------------------------------------------------------------------------------------

    def _coordinates(self) -> tuple[tuple[Any, ...], Any]:
        """Return the places of the elements along each axis, and the elements."""
        coo = self.places.tocoo()
        return tuple(axis.astype(np.int64) for axis in coo.coords), taken(self.elements, coo.data)

    def entries(self) -> tuple[Any, Any, Any]:
        """Return rows, columns and elements."""
        if self.ndim != 2:
            hint = "keep both axes, A[i : i + 1], or write A.toarray()"
            raise ShapeError(message("sparse", "a matrix must have two axes", f"{self.shape}", hint))
        (rows, columns), elements = self._coordinates()
        return rows, columns, elements

    def summed(self) -> Sparse:
        """Return the matrix with one element for each place: those with one place are added."""
        coordinates, elements = self._coordinates()
        unique, inverse = np.unique(np.ravel_multi_index(coordinates, self.shape), return_inverse=True)
        if len(unique) == len(inverse):
            return self
        elements = scatter_add(elements, inverse, shape=(len(unique),))
        kind = scipys("coo_array" if self.is_array else "coo_matrix")
        numbers = np.arange(1, len(unique) + 1), np.unravel_index(unique, self.shape)
        return Sparse(kind(numbers, shape=self.shape).asformat(self.format), elements)

    def placed(self, move: Callable[[Any], Any]) -> Any:
        """Return what a function that moves elements makes of the matrix: a matrix, an array or a number."""
        matrix = self.summed()
        moved, elements = move(matrix.places), matrix.elements
        if not products.is_sparse(moved):
            return taken(elements, moved)
        moved = moved.tocsr() if moved.format in _WRITTEN else moved
        is_shared = np.shares_memory(moved.data, matrix.places.data)
        return Sparse(moved, elements if is_shared else np.copy(elements))

    def mapped(self, function: Callable[[Any], Any]) -> Sparse:
        """Return the matrix of a function of each element."""
        return Sparse(self.places, function(self.elements))

    def of_entries(self, rows: Any, columns: Any, elements: Any, shape: Any = None) -> Sparse:
        """Return a matrix of the same kind in rows, from entries of which those with one place are added."""
        kind = scipys("coo_array" if self.is_array else "coo_matrix")
        numbers = np.arange(1, len(rows) + 1), (rows, columns)
        return Sparse(kind(numbers, shape=shape or self.shape), elements).summed().tocsr()

    def astype(self, dtype: Any, casting: Any = "unsafe", copy: bool = True) -> Sparse:
        """Return the matrix in another dtype."""
        return self.mapped(lambda elements: elements.astype(dtype))

    def __getitem__(self, key: Any) -> Any:
        key = known("getitem", key)
        return self.placed(lambda places: (places if hasattr(places, "__getitem__") else places.tocsr())[key])

    def __setitem__(self, key: Any, value: Any) -> None:
        matrix = self.summed()
        key, value = known("setitem", key), of(value).toarray() if is_sparse(value) else array(value)
        count, numbers = size(shape_of(matrix.elements)), matrix.places.tolil()
        shape = np.shape(numbers[key])
        new = np.broadcast_to(value, shape)
        numbers[key] = np.arange(count + 1, count + 1 + size(shape)).reshape(shape)
        elements = np.concatenate([matrix.elements, np.reshape(new, (size(shape),))])
        written = Sparse(numbers.asformat(matrix.format), elements)
        self.places, self.elements = written.places, written.elements

    def __bool__(self) -> bool:
        return bool(self.places)

    # -- arithmetic --------------------------------------------------------------------------------------

    def _joined(self, other: Any, factor: float) -> Any:
        """Return the sum with a multiple of another matrix, whose places are those of both."""
        if isinstance(other, (int, float)) and other == 0:
            return self.mapped(np.copy)
        if not is_sparse(other):
            if not self.is_array or not shape_of(array(other)):
                self.refuse("__add__")  # SciPy gives a `np.matrix`, or an error
            return self.toarray() + factor * array(other)
        (i, j, x), (k, n, y) = self.entries(), self._of_same_shape(other).entries()
        return self.of_entries(
            np.concatenate([i, k]), np.concatenate([j, n]), np.concatenate([x, factor * y])
        )

    def _of_same_shape(self, other: Any) -> Sparse:
        if self.shape != other.shape:
            raise ShapeError(message("sparse", "the shapes must agree", f"{self.shape} and {other.shape}"))
        return of(other)

    def __add__(self, other: Any) -> Any:
        return self._joined(other, 1.0)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._joined(other, -1.0)

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __neg__(self) -> Sparse:
        return self.mapped(lambda elements: -elements)

    def __abs__(self) -> Sparse:
        return self.summed().mapped(np.abs)

    def __mul__(self, other: Any) -> Any:
        return self.multiply(other) if self.is_array or _is_number(other) else self @ other

    def __rmul__(self, other: Any) -> Any:
        return self.multiply(other) if self.is_array or _is_number(other) else other @ self

    def __truediv__(self, other: Any) -> Any:
        return self.refuse("__truediv__") if is_sparse(other) else self.multiply(1.0 / array(other))

    def __pow__(self, n: Any) -> Any:
        if not (self.is_array and isinstance(n, (int, float)) and n > 0):
            self.refuse("__pow__")
        return self.summed().mapped(lambda elements: elements**n)

    def multiply(self, other: Any) -> Any:
        """Return products of elements with a number, with an array that broadcasts, or with a sparse matrix."""
        if _is_number(other):
            return self.mapped(lambda elements: elements * other)
        rows, columns, elements = self.summed().entries()
        if not is_sparse(other):
            dense = broadcast_to(array(other), shape=self.shape)
            return self.of_entries(rows, columns, elements * gather(dense, rows, columns))
        k, n, factors = self._of_same_shape(other).summed().entries()
        keys = rows * self.shape[1] + columns
        both, mine, others = np.intersect1d(keys, k * self.shape[1] + n, return_indices=True)
        products_ = taken(elements, mine + 1) * taken(factors, others + 1)
        return self.of_entries(*np.divmod(both, max(self.shape[1], 1)), products_)

    def __matmul__(self, other: Any) -> Any:
        if is_sparse(other):
            return _product(self, of(other))
        return products.times(self if self.format in ("csr", "csc") else self.tocsr(), array(other))

    def __rmatmul__(self, other: Any) -> Any:
        if is_sparse(other):
            return _product(of(other), self)
        return products.times_right(array(other), self if self.format in ("csr", "csc") else self.tocsr())

    def dot(self, other: Any) -> Any:
        """Return the product with a number, an array or a matrix."""
        return self.multiply(other) if _is_number(other) else self @ other

    def sum(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        """Return the sum, or those along an axis of an array; of a matrix of SciPy's they would be a `np.matrix`."""
        if out is not None:
            self.refuse("sum(out)")
        matrix = self.summed()
        extents = np.shape(matrix.places.sum(axis))  # which checks the axis
        coordinates, elements = matrix._coordinates()
        elements = elements if dtype is None else elements.astype(dtype)
        if not extents:
            return np.sum(elements)
        if not (self.is_array and isinstance(axis, (int, np.integer))):
            self.refuse("sum(axis)")
        return scatter_add(elements, coordinates[1 - axis % 2], shape=extents)

    def __eq__(self, other: object) -> Any:
        self.refuse("__eq__")

    def __ne__(self, other: object) -> Any:
        self.refuse("__ne__")


def of(matrix: Any) -> Sparse:
    """Return a matrix of SciPy's, or a dense one, as one of followed elements."""
    if isinstance(matrix, Sparse):
        return matrix
    if products.is_sparse(matrix):
        matrix = matrix if matrix.format in _KINDS else matrix.tocsr()
        places = matrix.copy()
        places.data = np.arange(1, matrix.data.size + 1).reshape(matrix.data.shape)
        return Sparse(places, np.ravel(matrix.data))
    elements = array(matrix)
    count = size(shape_of(elements))
    numbers = np.arange(1, count + 1).reshape(shape_of(elements))
    return Sparse(scipys("coo_array")(numbers), reshape(elements, shape=(count,)))


products.FOLLOWED.append(of)


def _vector(elements: Any) -> Any:
    """Return a view of elements along one axis: where SciPy shares the memory of an array, writes show."""
    return np.reshape(asarray(elements), (-1,))


def _is_number(value: Any) -> bool:
    return not is_sparse(value) and not is_sequence(value) and rank_of(array(value)) == 0


def _product(left: Sparse, right: Sparse) -> Sparse:
    """Return the product of two sparse matrices: each element of a row times the row of its column."""
    if left.shape[1] != right.shape[0]:
        raise ShapeError(message("matmul", "inner dimensions must agree", f"{left.shape} and {right.shape}"))
    rows = right.summed().tocsr()
    (i, k, x), (_, columns, y) = left.entries(), rows.entries()
    starts, lengths = rows.indptr[k].astype(np.int64), np.diff(rows.indptr)[k]
    first = np.repeat(np.arange(len(k)), lengths)
    second = np.arange(len(first)) - np.repeat(np.cumsum(lengths) - lengths, lengths) + starts[first]
    terms = taken(x, first + 1) * taken(y, second + 1)
    return left.of_entries(i[first], columns[second], terms, (left.shape[0], right.shape[1]))


# -- classes ---------------------------------------------------------------------------------------------


class _OfScipys(type):
    """The class of classes that stand for SciPy's: they make its matrices of plain numbers, and followed ones."""

    def __call__(
        cls, arg1: Any, shape: Any = None, dtype: Any = None, copy: bool = False, **options: Any
    ) -> Any:
        theirs, name = scipys(cls.__name__), f"scipy.sparse.{cls.__name__}"
        if not is_followed(arg1):
            return theirs(*known(name, (arg1, shape, dtype, copy)), **options)
        if cls.__name__[:3] in _WRITTEN:
            return CLASSES[f"csr{cls.__name__[3:]}"](arg1, shape, dtype, True, **options)
        options |= {} if shape is None else {"shape": known(name, shape)}
        parts = arg1 if isinstance(arg1, tuple) and len(arg1) in (2, 3) else (arg1,)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        elements, rest = parts[0], known(name, parts[1:])  # pyright: ignore[reportUnknownVariableType]
        if isinstance(elements, Sparse):
            made = elements.placed(lambda places: theirs(places, **options))
        else:
            vector, shape_ = _vector(elements), shape_of(asarray(elements))
            numbers = np.arange(1, size(shape_) + 1).reshape(shape_)
            has_pairs = len(rest) == 1 and cls.__name__[:3] != "dia"
            kind = scipys(f"coo_{cls.__name__[4:]}") if has_pairs else theirs
            places = kind((numbers, *rest) if rest else numbers, copy=copy, **options)
            made = Sparse(places, vector if np.shares_memory(places.data, numbers) else np.copy(vector))
            made = made if kind is theirs else made.placed(theirs)
        return made if dtype is None else made.astype(dtype)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance.places if isinstance(instance, Sparse) else instance, scipys(cls.__name__))

    def of_scipys(cls, theirs: Any) -> Any:
        """Return SciPy's matrix: it works with followed ones as it is."""
        return theirs


def _class(name: str) -> Any:
    doc = f"`scipy.sparse.{name}`, whose elements may be followed."
    SUBSTITUTES[f"scipy.sparse.{name}"] = _OfScipys(name, (), {"__doc__": doc, "__module__": __name__})
    return SUBSTITUTES[f"scipy.sparse.{name}"]


#: The classes by name, such as "csr_array".
CLASSES = {
    f"{kind}_{end}": _class(f"{kind}_{end}") for kind in (*_KINDS, *_WRITTEN) for end in ("array", "matrix")
}
