"""`linear_solve`: linear equations of a matrix, or of a function that multiplies by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from wengert.engine.boxes import concrete
from wengert.engine.control.subgraphs import (
    Flags,
    Values,
    batch_graph,
    jvp_graph,
    memoized,
    repeat,
    select,
    spread,
    subgraph,
    unchecked_graph,
    vjp_graph,
)
from wengert.engine.control.values import check_same_types, program_types, strong
from wengert.engine.core import tree
from wengert.engine.core.dtypes import dtype_of
from wengert.engine.core.errors import ArgumentError, ShapeError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.graph import Graph
from wengert.engine.ir.types import TensorType, type_of
from wengert.engine.nest.lowering import ControlFlow
from wengert.engine.ops.comparison import where
from wengert.engine.ops.linalg.square import solve
from wengert.engine.primitive import HigherOrder, Primitive, primitive
from wengert.engine.transforms.batching import Batched, vmap
from wengert.engine.transforms.callbacks import with_callbacks
from wengert.engine.transforms.staging import evaluate, stage
from wengert.implicit import krylov
from wengert.implicit.sparse import solve as solve_sparse
from wengert.implicit.vectors import Form, vector_of

SOLVERS = ("direct", *krylov.METHODS)


@with_callbacks
def linear_solve(
    matrix: Any,
    b: Any,
    *,
    solver: str = "direct",
    transpose: Callable[[Any], Any] | None = None,
    tol: float | None = None,
    maxiter: int | None = None,
) -> Any:
    """Solve ``A x = b``, where A is a matrix or a linear function.

    Derivatives are those of the equation: ``A x' = b' - A' x`` forward, and ``A^T l = c`` in reverse mode, by the same
    solver. They do not depend on the iterations, and have derivatives in turn.

    Args:
        matrix: a square matrix, a sparse one of SciPy, or a function of a container like ``b`` that multiplies by A:
            linear, without a constant term. Values that the function closes over have derivatives, too.
        b: the right side: a vector for a matrix; for a function real arrays and numbers, or a container of them.
        solver: "direct" factorises (a function is written out as a matrix first); "cg" is for symmetric positive
            definite matrices, "gmres" and "bicgstab" are for any, and multiply only.
        transpose: a function that multiplies by the transpose, where the derived one would be slow.
        tol: the residual that an iteration has to reach, relative to that of x = 0; by default 1e-10, or 1e-5 for
            float32.
        maxiter: the largest number of turns; by default ten times the number of unknowns.

    Returns:
        x, in the containers of ``b``.

    Raises:
        ArgumentError: there is no such solver, or the function is not linear.
        ShapeError: the matrix is not square, or does not fit ``b``.
        MatrixError: a direct solver finds a singular matrix.
        LimitError: an iteration does not reach the tolerance.

    Example:
        >>> import numpy as np
        >>> A = np.array([[4.0, 1.0], [1.0, 3.0]])
        >>> x = linear_solve(lambda v: A @ v, np.array([1.0, 2.0]), solver="cg")
        >>> np.allclose(A @ x, [1.0, 2.0])
        True
    """
    if solver not in SOLVERS:
        raise ArgumentError(message("linear_solve", f"the solver must be one of {SOLVERS}", repr(solver)))
    if not callable(matrix):
        matrix, b = (x if hasattr(x, "shape") else np.asarray(x) for x in (matrix, b))
    right, form = vector_of("linear_solve", "b", b)

    if callable(matrix):
        multiply = _of_function(matrix, form)
        _check_no_constant(multiply, right)
    else:
        multiply = _of_matrix(matrix, form)
    if solver == "direct" and not callable(matrix):
        is_sparse = hasattr(matrix, "tocsr")
        return form.container(solve_sparse(matrix, right) if is_sparse else _column(matrix, right))
    if solver == "direct":
        _check_slope(stage(lambda v: [multiply(v)], [strong(type_of(right))])[0])
        return form.container(solve_directly(multiply, [right])[0])
    limits = tolerance_of(right, tol), 10 * shape_of(right)[0] if maxiter is None else maxiter
    solution = solve_iteratively(solver, multiply, right, limits, transpose and _of_function(transpose, form))
    return form.container(solution)


def tolerance_of(vector: Any, tol: float | None) -> float:
    """Return the given tolerance, or the one for the precision of a vector."""
    if tol is not None:
        return float(tol)
    return 1e-10 if dtype_of(vector).itemsize >= 8 else 1e-5


def _of_function(function: Callable[[Any], Any], form: Form) -> Callable[[Any], Any]:
    requirement = "A must map a container like b to one of the same shapes"
    return lambda vector: form.vector(
        "linear_solve", "the product", requirement, function(form.container(vector))
    )


def _of_matrix(matrix: Any, form: Form) -> Callable[[Any], Any]:
    count = matrix.shape[0] if matrix.shape else 0
    is_vector = form.structure == tree.LEAF and form.shapes == [(count,)]
    if tuple(matrix.shape) != (count, count) or not is_vector:
        requirement = "the matrix must be square, and b a vector with an element for each row"
        got = f"a matrix of the shape {tuple(matrix.shape)}, and b of {', '.join(map(str, form.shapes))}"
        raise ShapeError(message("linear_solve", requirement, got, "a function takes a container, too"))
    return lambda vector: matrix @ vector


def _check_no_constant(multiply: Callable[[Any], Any], right: Any) -> None:
    """Raise `ArgumentError` if the product of zero is known and not zero."""
    constant = concrete(multiply(np.zeros(shape_of(right), dtype_of(right))))
    if constant is not None and np.any(constant):
        requirement = "the function must be linear: zero for a zero vector"
        hint = "move the constant term to b"
        raise ArgumentError(message("linear_solve", requirement, f"{np.max(np.abs(constant)):g}", hint))


def _check_slope(graph: Graph) -> None:
    """Raise `ArgumentError` if the derivative of a product depends on the vector, the last input."""
    count = len(graph.inputs) - 1
    forward, _ = jvp_graph(graph, [False] * count + [True])
    _without_vector(forward, forward.outputs[1:], count)


def _without_vector(program: Graph, outputs: Sequence[Any], position: int) -> Graph:
    """Return a program without the input that is the vector, or raise `ArgumentError` if the outputs depend on it."""
    whole = subgraph(program, (*program.inputs[:position], *program.inputs[position + 1 :]), outputs)
    vector = program.inputs[position]
    if any(vector in equation.operands for equation in whole.equations):
        requirement = "the function must be linear: its derivative must not depend on the vector"
        raise ArgumentError(message("linear_solve", requirement))
    return whole


def solve_directly(
    multiply: Callable[[Any], Any],
    rights: Sequence[Any],
    checked: Callable[[Any, Sequence[Any]], tuple[Any, Sequence[Any]]] = lambda *equations: equations,
) -> list[Any]:
    """Write a linear function out as a matrix, check the equations, and factorise."""
    columns = vmap(multiply)(np.eye(*shape_of(rights[0]), dtype=dtype_of(rights[0])))
    matrix, rights = checked(np.transpose(columns), rights)
    solutions = solve(matrix, np.stack(rights, axis=1))
    return [solutions[:, number] for number in range(len(rights))]


def _column(matrix: Any, right: Any) -> Any:
    return solve(matrix, right[:, None])[:, 0]


def solve_iteratively(
    solver: str,
    multiply: Callable[[Any], Any],
    right: Any,
    limits: tuple[float, int],
    transpose: Callable[[Any], Any] | None = None,
) -> Any:
    """Solve by products alone."""
    type_ = strong(type_of(right))
    functions = [multiply] if transpose is None else [multiply, transpose]
    staged = [stage(lambda v, f=f: [f(v)], [type_]) for f in functions]
    (graph, captured), *transposes = staged
    result = graph.output_types[0]
    if result.dtype != type_.dtype:
        return solve_iteratively(solver, multiply, right.astype(result.dtype), limits, transpose)
    operands, transposed = list(captured), _transpose(graph)  # raises if the function is not linear
    if transposes:
        (transposed, more) = transposes[0]
        operands += more
        graph = _padded(graph, [], list(transposed.input_types[:-1]))
        transposed = _padded(transposed, list(graph.input_types[: len(captured)]), [])
    (x,) = linear_solve_primitive(
        *operands, right, product=graph, transposed=transposed, solver=solver, limits=limits
    )
    return x


def _padded(graph: Graph, before: list[TensorType], after: list[TensorType]) -> Graph:
    """Return a graph with further inputs, which it does not read, before its own and before its last one."""
    start, count = len(before), len(graph.inputs) - 1

    def run(*values: Any) -> list[Any]:
        return evaluate(graph, *values[start : start + count], values[-1])

    types = graph.input_types
    return stage(run, [*before, *types[:-1], *after, types[-1]])[0]


# -- the primitive ---------------------------------------------------------------------------------------


@memoized
def _transpose(graph: Graph) -> Graph:
    """Return the graph of the transposed product."""
    count = len(graph.inputs) - 1
    back, reached = vjp_graph(graph, [False] * count + [True], [False] * count + [True])
    assert reached[-1]
    return _without_vector(back, back.outputs, count)


@memoized
def _program(product: Graph, solver: str, limits: tuple[float, int]) -> Graph:
    """Return the iteration as a program of the operands."""

    def run(*values: Any) -> list[Any]:
        *constants, b = values
        return [krylov.solve(solver, lambda v: evaluate(product, *constants, v)[0], b, *limits)]

    return stage(run, product.input_types)[0]


def _evaluate(*operands: Any, product: Graph, transposed: Any, solver: str, limits: Any) -> tuple[Any, ...]:
    return tuple(evaluate(_program(product, solver, limits), *operands))


def _push(primals: Values, tangents: Values, **params: Any) -> Any:
    """Solve ``A x' = b' - A' x``."""
    (x,) = linear_solve_primitive(*primals, **params)
    *constants, _ = primals
    *moving, change = tangents
    active = [tangent is not None for tangent in moving]
    if any(active):
        program, reached = jvp_graph(params["product"], [*active, False])
        if reached[0]:
            results = evaluate(program, *constants, x, *select(moving, active))
            change = -results[1] if change is None else change - results[1]
    if change is None:
        return (x,), [None]
    return (x,), list(linear_solve_primitive(*constants, change, **params))


def _pull(primals: Values, active: Flags, **params: Any) -> Any:
    """Solve ``A^T l = c``: l is the cotangent of b, and A has the cotangent ``- l x^T``."""
    (x,) = linear_solve_primitive(*primals, **params)
    *constants, _ = primals
    product = params["product"]

    def pullback(cotangents: Values) -> list[Any]:
        (cotangent,) = cotangents
        if cotangent is None:
            return [None] * len(primals)
        (solution,) = linear_solve_primitive(
            *constants, cotangent, **{**params, "product": params["transposed"], "transposed": product}
        )
        results: list[Any] = [None] * len(constants)
        if any(active[:-1]):
            back, reached = vjp_graph(product, [*active[:-1], False])
            results = spread(evaluate(back, *constants, x, -solution), reached)[:-1]
        return [*results, solution if active[-1] else None]

    return (x,), pullback


def _batch(op: Primitive, size: int, operands: Values, batched: Flags, params: Mapping[str, Any]) -> Any:
    """Solve the equations of all examples side by side."""
    flags = [*batched[:-1], True]
    right = operands[-1] if batched[-1] else repeat(operands[-1], size)
    graphs = {name: params[name] for name in ("product", "transposed")}
    wide = {name: batch_graph(graph, size, flags, [True])[0] for name, graph in graphs.items()}
    (x,) = op(*operands[:-1], right, **{**params, **wide})
    return (Batched(x),)


def _unchecked(counts: Any, operands: Values, params: dict[str, Any]) -> tuple[Values, dict[str, Any]]:
    """Solve ``I x = 0`` for examples that do not count, whose matrix may be singular or hold NaN."""
    *constants, b = operands
    changed = {name: _identity_elsewhere(params[name]) for name in ("product", "transposed")}
    return [counts, *constants, where(counts, b, 0.0)], {**params, **changed}


@memoized
def _identity_elsewhere(product: Graph) -> Graph:
    """Return the product by a matrix, or by the identity where a first input, ``counts``, is false."""
    checked = unchecked_graph(product)

    def run(counts: Any, *values: Any) -> list[Any]:
        return [where(counts, *evaluate(checked, counts, *values), values[-1])]

    return stage(run, checked.input_types)[0]


def _infer(
    *types: TensorType, product: Graph, transposed: Graph, solver: str, limits: tuple[float, int]
) -> tuple[TensorType, ...]:
    results = [strong(types[-1])]
    for program in (product, transposed):
        outputs = program_types("linear_solve", program, types)
        check_same_types("linear_solve", "the product", outputs, results)
    if solver not in SOLVERS:
        raise ArgumentError(message("linear_solve", f"the solver must be one of {SOLVERS}", repr(solver)))
    return tuple(results)


linear_solve_primitive = primitive(
    name="linear_solve",
    doc="x with A x = b, by an iteration that multiplies by A; its operands are what A closes over, and b",
    type_rule=_infer,
    evaluate=_evaluate,
    derivative=HigherOrder(push=_push, pull=_pull),
    batch=_batch,
    lowering=ControlFlow(lambda product, transposed, solver, limits: _program(product, solver, limits)),
    source=lambda *operands, product, transposed, solver, limits: (
        f"linear_solve(product, [{', '.join(operands[:-1])}], {operands[-1]}, {solver!r})"
    ),
    samples=None,
    unchecked_programs=_unchecked,
)
