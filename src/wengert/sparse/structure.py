"""The structure of a sparse derivative for arguments of certain types: pattern, colours, and the compiled sweep."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.compiler.jit import jit
from wengert.engine.core import tree
from wengert.engine.core.dtypes import FLOAT64
from wengert.engine.core.errors import ArgumentError, UnsupportedError, message
from wengert.engine.core.progress import Bar
from wengert.engine.core.shapes import shape_of, size
from wengert.engine.ir.types import TensorType
from wengert.engine.ops.comparison import equal
from wengert.engine.ops.conversion import cast
from wengert.engine.ops.indexing import gather
from wengert.engine.ops.shape import concatenate, reshape
from wengert.engine.passes.dead import eliminate_dead
from wengert.engine.transforms.staging import stage
from wengert.sparse.accesses import UNKNOWN, Value
from wengert.sparse.arguments import Call
from wengert.sparse.colouring import Colouring, colour, colour_star
from wengert.sparse.compression import Compression, compress
from wengert.sparse.dependence import Dependence
from wengert.sparse.index_sets import EMPTY, IndexSets
from wengert.sparse.linear_maps import Arguments, LinearMap, Product
from wengert.sparse.packages import scipy_sparse

#: The largest number of elements of a pattern.
_MOST_ELEMENTS = 1 << 28
#: A product of the matrix with directions from one side.
Multiply = Callable[[Arguments, Any], Product]


class Structure:
    """The pattern of a matrix of derivatives, its colours, and the function that computes its elements.

    Args:
        linear: the matrix.
        call: the arguments.
        mode: the directions that may be taken.
    """

    def __init__(self, linear: LinearMap, call: Call, mode: str) -> None:
        scipy_sparse(linear.operation)
        self._linear = linear
        self._rebuild = call.rebuild
        start = time.perf_counter()
        with Bar(linear.operation) as bar:
            bar.stage("pattern")
            self.pattern, mode = self._detected(call.types, mode)
            detected = time.perf_counter()
            bar.stage(f"colours of {self.pattern.nnz:,} elements")
            self.colouring = self._coloured(call.types, mode)
        # A compiled function reads arrays in a tuple faster than in other containers.
        arrays, self._form = tree.flatten(compress(self.pattern, self.colouring))
        self._arrays = tuple(arrays)
        self.seconds = detected - start, time.perf_counter() - detected
        self._model = _read_only(self.pattern)
        self._sweep = jit(self._elements)

    def elements(self, leaves: Sequence[Any]) -> Any:
        """Return the elements of the pattern, row by row; with aux, the pair of them and aux."""
        return self._sweep(self._arrays, *leaves)

    def matrix(self, data: Any) -> Any:
        """Return the matrix with given elements; all matrices share their indices."""
        matrix = _bare(type(self._model))  # the constructor would check all indices again
        vars(matrix).update(vars(self._model), data=data)
        return matrix

    # -- pattern -----------------------------------------------------------------------------------------

    def _detected(self, types: Sequence[TensorType], mode: str) -> tuple[Any, str]:
        """Return the pattern and the mode, which is reverse where a rule has no forward mode."""
        shape: list[tuple[int, int]] = []

        def outputs(*values: Any) -> list[Any]:
            shape.append(self._linear.shape(self._rebuild(values)))
            return []

        stage(outputs, types, self._linear.operation)
        ((height, width),) = shape
        if mode != "reverse":
            try:
                pattern = self._dependence(types, self._linear.forward, width, height)
            except UnsupportedError:
                if mode != "auto":
                    raise
                mode = "reverse"
            else:
                if self._linear.symmetric:
                    pattern = _sorted(pattern + pattern.T.tocsr())
                return pattern, mode
        return _sorted(self._dependence(types, self._linear.reverse, height, width).T.tocsr()), mode

    def _dependence(self, types: Sequence[TensorType], multiply: Multiply, inputs: int, result: int) -> Any:
        """Return the pattern of products with a direction: one row for each element of the result."""

        def product(*values: Any) -> list[Any]:
            *leaves, direction = values
            rows = multiply(self._rebuild(leaves), reshape(direction, shape=(1, inputs))).rows
            return [reshape(rows, shape=(result,))]

        graph, captured = stage(product, [*types, TensorType(FLOAT64, (inputs,))], self._linear.operation)
        sets = IndexSets(inputs)
        unknown = [UNKNOWN] * (len(captured) + len(types))
        direction = Value(sets=sets.single(np.arange(inputs)))
        (value,) = Dependence(sets).graph(eliminate_dead(graph), [*unknown, direction])
        numbers = np.full(result, EMPTY, np.int64) if value.sets is None else value.sets
        self._check_count(int(sets.lengths(numbers).sum()), inputs, result)
        return _sorted(sets.rows(numbers))

    def _check_count(self, count: int, *shape: int) -> None:
        """Raise `ArgumentError` for a pattern that does not fit in memory."""
        if count > _MOST_ELEMENTS:
            requirement = (
                f"the matrix must have at most {_MOST_ELEMENTS:,} elements that are not zero for certain"
            )
            got = f"{count:,} of {math.prod(shape):,}"
            hint = "use products with it: wg.jvp, wg.vjp, or wg.hvp for a Hessian"
            raise ArgumentError(message(self._linear.operation, requirement, got, hint))

    # -- colours and the sweep ---------------------------------------------------------------------------

    def _coloured(self, types: Sequence[TensorType], mode: str) -> Colouring:
        if self._linear.symmetric and mode != "forward":
            return colour_star(self.pattern)
        colouring = colour(self.pattern, mode)
        if mode == "auto" and colouring.rows is not None and not self._has_reverse_mode(types):
            return colour(self.pattern, "forward")
        return colouring

    def _has_reverse_mode(self, types: Sequence[TensorType]) -> bool:
        """Return whether the function has a reverse mode: a loop that may end after any turn has none."""

        def product(*values: Any) -> list[Any]:
            return [self._linear.reverse(self._rebuild(values), np.ones((1, self.pattern.shape[0]))).rows]

        try:
            stage(product, types, self._linear.operation)
        except UnsupportedError:
            return False
        return True

    def _elements(self, arrays: Sequence[Any], *leaves: Any) -> Any:
        """Carry one direction for each colour, and take the elements from the products."""
        compression: Compression = tree.unflatten(self._form, arrays)
        arguments, colouring = self._rebuild(leaves), self.colouring
        products: list[Product] = []
        if compression.columns is not None:
            directions = _directions(compression.columns, colouring.column_count)
            products.append(self._linear.forward(arguments, directions))
        if compression.rows is not None:
            directions = _directions(compression.rows, colouring.row_count)
            products.append(self._linear.reverse(arguments, directions))
        elements = [reshape(product.rows, shape=(size(shape_of(product.rows)),)) for product in products]
        every = elements[0] if len(elements) == 1 else concatenate(*elements, axis=0)
        data = gather(every, compression.places)
        return (data, products[0].aux) if self._linear.has_aux else data


def _directions(colours: Any, count: int) -> Any:
    """Return a direction for each colour: ones where the colour is, zeros elsewhere."""
    return cast(equal(np.arange(count)[:, None], colours), dtype=FLOAT64)


def _bare(kind: Any) -> Any:
    """Return an object of a class without a call of its constructor."""
    return kind.__new__(kind)


def _sorted(pattern: Any) -> Any:
    pattern.sort_indices()
    return pattern


def _read_only(pattern: Any) -> Any:
    """Return the matrix whose attributes all results have: a change of its indices, which all share, is an error."""
    model = pattern.copy()
    model.has_canonical_format = True
    for indices in (model.indices, model.indptr):
        indices.flags.writeable = False
    return model
