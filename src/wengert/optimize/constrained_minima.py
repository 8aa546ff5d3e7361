"""Minima with bounds and constraints as functions of parameters, with the derivatives of the implicit function theorem.

At a regular minimum the conditions ``f_x + g_xᵀ v + z = 0`` and ``g = limit``, of the limits that are reached, define x
and the multipliers v and z: a parameter moves them by the linear equations of the derivatives of these conditions.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from wengert.engine.boxes import Box
from wengert.engine.control.custom_derivatives import custom_jvp
from wengert.engine.core.dtypes import BOOL, FLOAT64, INT64
from wengert.engine.core.errors import ArgumentError, LimitError, UnsupportedError, message
from wengert.engine.core.shapes import shape_of
from wengert.engine.ir.graph import Graph
from wengert.engine.ir.types import TensorType, type_of
from wengert.engine.nest.lowering import OnHost
from wengert.engine.ops.comparison import require_end, where
from wengert.engine.ops.conversion import stop_gradient_primitive as stop_gradient
from wengert.engine.primitive import NonDifferentiable, Primitive, primitive
from wengert.engine.transforms.arguments import objective_value
from wengert.engine.transforms.batching import Batched
from wengert.engine.transforms.forward_mode import jvp
from wengert.engine.transforms.reverse_mode import grad
from wengert.engine.transforms.staging import evaluate, stage
from wengert.engine.transforms.vectors import joined
from wengert.implicit.definitions import linear_solver, unknowns_of
from wengert.implicit.linear import tolerance_of
from wengert.implicit.sparse import solve as sparse_solution
from wengert.optimize.active_sets import MOST_WRITTEN, REASONS, polished
from wengert.optimize.constraints import limits_of, parts_of
from wengert.optimize.flat import Flat
from wengert.optimize.limits import flat_bounds
from wengert.optimize.multipliers import Multipliers, as_vectors
from wengert.optimize.problems import Problem
from wengert.optimize.programs import Program
from wengert.optimize.scipys import as_tuple, scipy_optimize
from wengert.optimize.searches import search
from wengert.sparse.derivatives import sparse_hessian, sparse_jacobian
from wengert.sparse.packages import scipy_sparse

_OPERATION = "minimize"


def followed_minimum(
    fun: Callable[..., Any],
    x0: Any,
    args: Any,
    method: Any,
    jac: Any,
    hess: Any,
    hessp: Any,
    bounds: Any,
    constraints: Any,
    tol: float | None,
    callback: Any,
    options: Any,
    sparse: Any,
    multipliers: Any,
) -> Any:
    """Return the result of a search whose functions a transform follows, or None where it follows none of them.

    The result has ``x``, ``fun`` and ``multipliers``, with derivatives by what the functions depend on.
    """
    optimize, flat = scipy_optimize(_OPERATION), Flat(_OPERATION, x0)
    parts = parts_of(optimize, flat, constraints)
    forms: list[Flat] = []

    def every(x: Any, *args: Any) -> Any:
        forms.clear()
        rows = [np.reshape(objective_value(_OPERATION, fun(x, *args)), (1,))]
        for part in parts:
            forms.append(Flat(_OPERATION, part.fun(x), "the constraint"))
            rows.append(forms[-1].start)
        return joined(rows, FLOAT64)

    equations = unknowns_of(_OPERATION, every, flat.container(flat.start), as_tuple(args))
    parameters = equations.parameters
    if not any(isinstance(value, Box) for value in (equations.start, *parameters)):
        return None
    _check_given(
        {"jac": jac, "hess": hess, "hessp": hessp, "callback": callback, "multipliers": multipliers}, method
    )
    start = equations.start
    program, captured = stage(
        lambda x, *values: [equations.residual(x, *values)], [type_of(start), *map(type_of, parameters)]
    )
    assert not captured
    limits = _limits(optimize, flat, bounds, parts, forms)
    solution = _solution(program, limits, _settings(method, tol, options, sparse))
    found = solution(start, *parameters)
    return _result(optimize, flat, forms, found)


def _result(optimize: Any, flat: Flat, forms: list[Flat], found: Any) -> Any:
    """Return SciPy's result, with containers."""
    ends = np.cumsum([form.size for form in forms]).tolist()
    v: list[Any] = [
        form.users(found["v"][end - form.size : end]) for form, end in zip(forms, ends, strict=True)
    ]
    return optimize.OptimizeResult(
        x=flat.users(found["x"]),
        fun=found["fun"],
        multipliers=Multipliers(v, flat.users(found["z"])),
        success=True,
        status=0,
        message="A minimum, as a function of parameters.",
    )


def _check_given(given: dict[str, Any], method: Any) -> None:
    """Raise `ArgumentError` for what a minimum with derivatives cannot take."""
    excess = [name for name, value in given.items() if value is not None]
    if excess or callable(method):
        requirement = "a minimum with derivatives has exact ones, and the default of " + ", ".join(given)
        raise ArgumentError(message(_OPERATION, requirement, ", ".join(excess) or "a method of yours"))


def _limits(optimize: Any, flat: Flat, bounds: Any, parts: list[Any], forms: list[Flat]) -> list[Any]:
    """Return the bounds, and the limits of all constraints, as vectors."""
    known = [limits_of(part, form) for part, form in zip(parts, forms, strict=True)]
    bound = flat_bounds(optimize, flat, bounds)
    infinite = np.full(flat.size, np.inf)
    low, high = (-infinite, infinite) if bound is None else (bound.lb, bound.ub)
    lower, upper = (np.concatenate([np.zeros(0), *(pair[n] for pair in known)]) for n in range(2))
    return [low, high, lower, upper]


def _solution(program: Graph, limits: list[Any], settings: str) -> Callable[..., Any]:
    """Return the minimum and its multipliers as a function of the start and the parameters.

    Args:
        program: takes x and the parameters, and returns the objective and the values of all constraints.
        limits: the bounds, and the limits of the constraints.
        settings: of the search.
    """

    def residual(x: Any, *values: Any) -> Any:
        return evaluate(program, x, *values)[0]

    @custom_jvp
    def solution(start: Any, *values: Any) -> Any:
        x, v, z, *more = search_primitive(
            stop_gradient(start), *limits, *values, program=program, settings=settings, batched=()
        )
        return {"x": x, "v": v, "z": z, "fun": residual(x, *values)[0], "more": more}

    @solution.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        start, *values = primals
        found = solution(start, *values)
        rows, held, state = found["more"]
        x, v = found["x"], found["v"]
        for number, reason in enumerate(REASONS):
            if number:
                requirement = f"a derivative of a constrained minimum needs a regular one: {reason}"
                x = require_end(x, state != number, operation=_OPERATION, requirement=requirement)
        moved, turned = _moves(residual, x, v, values, tangents[1:], rows, held)

        def slope(x: Any, v: Any, *values: Any) -> Any:
            def lagrangian(x: Any) -> Any:
                return np.sum(residual(x, *values) * np.concatenate([np.ones(1), v]))

            return grad(lagrangian)(x)

        change = jvp(slope, (x, v, *values), (moved, turned, *tangents[1:]))[1]
        fall = jvp(lambda x, *values: residual(x, *values)[0], (x, *values), (moved, *tangents[1:]))[1]
        zeros = [np.zeros(shape_of(rows)), np.zeros(shape_of(held)), np.float64(0.0)]
        return found, {
            "x": moved,
            "v": turned,
            "z": where(held, -change, 0.0),
            "fun": fall,
            "more": zeros,
        }

    return solution


def _moves(
    residual: Callable[..., Any],
    x: Any,
    v: Any,
    values: Sequence[Any],
    tangents: Sequence[Any],
    rows: Any,
    held: Any,
) -> tuple[Any, Any]:
    """Return how x and the multipliers of the constraints move with the parameters."""
    size, count = shape_of(x)[0], shape_of(v)[0]

    def conditions(x: Any, v: Any, *values: Any) -> Any:
        def lagrangian(x: Any) -> Any:
            return np.sum(residual(x, *values) * np.concatenate([np.ones(1), v]))

        return np.concatenate([grad(lagrangian)(x), residual(x, *values)[1:]])

    chosen = np.concatenate([~held, rows])
    direct = jvp(lambda *values: conditions(x, v, *values), tuple(values), tuple(tangents))[1]
    right = where(chosen, -direct, 0.0)
    if size + count <= MOST_WRITTEN:

        def product(move: Any) -> Any:
            image = jvp(lambda x, v: conditions(x, v, *values), (x, v), (move[:size], move[size:]))[1]
            return where(chosen, image, move)

        solve = linear_solver(_OPERATION, "direct", x, tolerance_of(x, None))
        (move,) = solve(product, [right])
    else:
        move = _sparse_moves(residual, x, v, values, chosen, right)
    return move[:size], move[size:]


def _sparse_moves(
    residual: Callable[..., Any], x: Any, v: Any, values: Sequence[Any], chosen: Any, right: Any
) -> Any:
    """Solve the same equations by a sparse factor."""
    sparse, size, count = scipy_sparse(_OPERATION), shape_of(x)[0], shape_of(v)[0]
    weights = np.concatenate([np.ones(1), v])
    hessian = sparse_hessian(lambda x, w, *values: np.sum(w * residual(x, *values)))
    jacobian = sparse_jacobian(lambda x, *values: residual(x, *values)[1:])
    curved, slopes = hessian.pattern(x, weights, *values), jacobian.pattern(x, *values)
    numbers = [_numbered(sparse, curved, 1), _numbered(sparse, slopes, 1 + curved.nnz)]
    whole = sparse.block_array([[numbers[0], numbers[1].T], [numbers[1], None]], format="csr")
    diagonal = sparse.diags_array(np.full(size + count, 1 << 40), dtype=np.int64, format="csr")
    whole = (whole + diagonal).tocsr()
    whole.sort_indices()
    is_diagonal, places = whole.data >= 1 << 40, whole.data % (1 << 40)
    elements = np.concatenate([np.zeros(1), hessian.data(x, weights, *values), jacobian.data(x, *values)])
    row_of = np.repeat(np.arange(size + count), np.diff(whole.indptr))
    data: Any = where(chosen[row_of], elements[places], np.where(is_diagonal, 1.0, 0.0))
    matrix = sparse.csr_array((np.zeros(whole.nnz), whole.indices, whole.indptr), shape=whole.shape)
    return sparse_solution(matrix, right, data=data)


def _numbered(sparse: Any, pattern: Any, first: int) -> Any:
    """Return a matrix whose elements are their places in a vector, counted from a first one."""
    data = cast("Any", np).arange(first, first + pattern.nnz)
    return sparse.csr_array((data, pattern.indices, pattern.indptr), shape=pattern.shape)


# -- the search as an operation -------------------------------------------------------------------------


def _settings(method: Any, tol: float | None, options: Any, sparse: Any) -> str:
    """Return the settings of a search as a text: a parameter of the operation."""
    chosen = {"method": method, "tol": tol, "options": dict(options or {}), "sparse": sparse}
    try:
        return json.dumps(chosen, sort_keys=True)
    except TypeError:
        requirement = "the options of a minimum with derivatives must be numbers and texts"
        raise ArgumentError(message(_OPERATION, requirement, repr(options))) from None


def _evaluate(*operands: Any, program: Graph, settings: str, batched: tuple[bool, ...]) -> tuple[Any, ...]:
    """Search, for each example of a batch."""
    if not batched:
        return _searched(*operands, program=program, settings=settings)
    size = next(len(operand) for operand, flag in zip(operands, batched, strict=True) if flag)
    rows = (
        [operand[n] if flag else operand for operand, flag in zip(operands, batched, strict=True)]
        for n in range(size)
    )
    ends = [_searched(*row, program=program, settings=settings) for row in rows]
    return tuple(map(np.stack, zip(*ends, strict=True)))


def _searched(
    start: Any, low: Any, high: Any, lower: Any, upper: Any, *values: Any, program: Graph, settings: str
) -> tuple[Any, ...]:
    """Return a minimum, its multipliers, the limits that it reaches, and whether it is regular."""

    def every(x: Any) -> Any:
        return evaluate(program, x, *values)[0]

    def objective(x: Any) -> Any:
        return every(x)[0]

    constraints: Any = [(lambda x: every(x)[1:], lower, upper)] if len(lower) else []
    chosen = json.loads(settings)
    optimize, start = scipy_optimize(_OPERATION), np.asarray(start, np.float64)
    bounds = optimize.Bounds(low, high) if np.any(np.isfinite(low) | np.isfinite(high)) else None
    found = search(objective, start, (), bounds=bounds, constraints=constraints, **chosen)
    if not found.success:
        hint = "call minimize without derivatives to see its result"
        raise LimitError(message(_OPERATION, "the search must end at a minimum", found.message, hint))
    problem = Problem(
        objective, found.x, constraints, bounds, (), sparse=chosen["sparse"], operation=_OPERATION
    )
    nonlinear = Program(problem)
    multipliers = found.get("multipliers")
    if multipliers is None:
        v, z = np.zeros(len(lower)), np.zeros(len(start))
    else:
        v, z = as_vectors(nonlinear, multipliers)
    end = polished(nonlinear, found.x, v, z)
    return end.x, end.v, end.z, end.rows, end.held, np.int64(end.state)


def _infer(
    start: TensorType,
    low: TensorType,
    high: TensorType,
    lower: TensorType,
    *types: TensorType,
    program: Graph,
    settings: str,
    batched: tuple[bool, ...],
) -> tuple[TensorType, ...]:
    lead = ()
    if batched:
        operands = (start, low, high, lower, *types)
        lead = next(kind.shape[:1] for kind, flag in zip(operands, batched, strict=True) if flag)
    sizes = [kind.shape[-1:] for kind in (start, lower)]
    floats = [TensorType(FLOAT64, (*lead, *sizes[n])) for n in (0, 1, 0)]
    flags = [TensorType(BOOL, (*lead, *sizes[n])) for n in (1, 0)]
    return (*floats, *flags, TensorType(INT64, lead))


def _batch(
    op: Primitive, size: int, operands: Sequence[Any], batched: Sequence[bool], params: dict[str, Any]
) -> Any:
    if params["batched"]:
        requirement = "a constrained minimum takes one wg.vmap, or wg.vmap of loops"
        raise UnsupportedError(message(_OPERATION, requirement, "a second one around it"))
    ends = op(*operands, **{**params, "batched": tuple(batched)})
    return tuple(map(Batched, ends))


search_primitive = primitive(
    name="search_minimum",
    doc="the minimum of a program with bounds and limits, its multipliers, and what it reaches, by SciPy or IPOPT",
    type_rule=_infer,
    evaluate=_evaluate,
    derivative=NonDifferentiable("the conditions of a minimum have the derivatives"),
    batch=_batch,
    lowering=OnHost("SciPy and IPOPT search"),
    source=lambda *operands, **params: f"search_minimum({', '.join(operands)})",
    samples=None,
)
