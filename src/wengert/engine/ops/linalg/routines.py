"""Operations that are calls of routines of BLAS and LAPACK, for matrices stacked along leading axes.

They stand in compiled programs only, which call the routines without Python where the matrices are real. The routines
store arrays by columns: they see each matrix transposed. They report a failure in a result, and programs of other
operations raise its error (see `wengert.engine.ops.linalg.lapack_programs`).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from wengert.engine.core.dtypes import Dtype
from wengert.engine.core.errors import DtypeError, ShapeError, message
from wengert.engine.core.shapes import broadcast
from wengert.engine.ir.types import TensorType, show, type_of
from wengert.engine.kernels import lapack
from wengert.engine.nest.routine import Given, Made, Memory, Routine, RoutineCall
from wengert.engine.ops.elementwise import align
from wengert.engine.ops.linalg.square import check_matrices, check_square, matrices
from wengert.engine.primitive import OF_PROGRAMS, Draw, Primitive, primitive

_INT32 = np.dtype(np.int32)
_INFO = Memory(0)
_FREE = Memory(64)
"""The memory behind the number that says whether a routine failed."""
_COLUMNS = 64
"""The columns that the routines take together, where they are given the memory for it."""


def name_for(dtype: Dtype, routine: str) -> str:
    """Return the name of a routine for a dtype: ``dgetrf``."""
    return lapack.LETTERS[dtype.char] + routine


def _memory(type_: TensorType, count: int) -> int:
    return _FREE.offset + count * type_.dtype.itemsize


def _evaluate(operation: Primitive, arrays: Sequence[Any], params: Any) -> Any:
    """Call the routine for one matrix after the other."""
    operands = [np.ascontiguousarray(array) for array in arrays]
    types = operation.infer(*map(type_of, operands), **params)
    types = (types,) if isinstance(types, TensorType) else types
    results = [np.empty(type_.shape, type_.dtype) for type_ in types]
    assert isinstance(operation.lowering, Routine)
    calls = operation.lowering.stacked([type_of(x) for x in operands], types, params)
    call, starts = calls.call, [x.ctypes.data for x in (*operands, *results)]
    memory = np.empty(max(call.memory, 1), np.uint8)
    scalars = [_scalar(argument, call.name) for argument in call.arguments]
    fixed = [_fixed_address(*each, memory) for each in zip(call.arguments, scalars, strict=True)]
    program = ctypes.CFUNCTYPE(None, *(ctypes.c_void_p for _ in fixed))(lapack.address(call.name))
    for number in range(calls.matrices):
        places = [start + calls.offset(k, number) for k, start in enumerate(starts)]
        inputs, made = places[: len(operands)], places[len(operands) :]
        for source, target in call.copies:
            ctypes.memmove(made[target], inputs[source], calls.sizes[source])
        for place, argument in enumerate(call.arguments):
            if isinstance(argument, (Given, Made)):
                fixed[place] = (inputs if isinstance(argument, Given) else made)[argument.number]
        program(*fixed)
    return tuple(results) if len(results) > 1 else results[0]


def _scalar(argument: Any, routine: str) -> Any:
    """Return the array that holds a number or a letter; None for an address."""
    match argument:
        case str():
            return np.array([ord(argument)], np.uint8)
        case float():
            return np.array([argument], np.float32 if routine[0] == "s" else np.float64)
        case int():
            return np.array([argument], np.int32)
        case _:
            return None


def _fixed_address(argument: Any, scalar: Any, memory: Any) -> int:
    """Return the address that all calls share; 0 for that of a matrix."""
    if isinstance(argument, Memory):
        return memory.ctypes.data + argument.offset
    return 0 if scalar is None else scalar.ctypes.data


def _stated(
    name: str,
    doc: str,
    type_rule: Callable[..., Any],
    routine: Routine,
    samples: Callable[[Draw], Any],
) -> Primitive:
    def evaluate(*arrays: Any, **params: Any) -> Any:
        return _evaluate(stated, arrays, params)

    def batch(
        operation: Primitive,
        size: int,
        operands: Sequence[Any],
        batched: Sequence[bool],
        params: Mapping[str, Any],
    ) -> Any:
        return operation(*align(size, operands, batched, routine.given), **params)

    stated = primitive(
        name=name,
        doc=doc,
        type_rule=type_rule,
        evaluate=evaluate,
        derivative=OF_PROGRAMS,
        batch=batch,
        lowering=routine,
        source=lambda *operands, **params: f"{name}({', '.join(operands)})",
        samples=samples,
    )
    return stated


def _check_floats(operation: str, *types: TensorType, letters: str = "fd") -> None:
    if any(type_.dtype.char not in letters or type_.dtype != types[0].dtype for type_ in types):
        requirement = "floats" if "D" in letters else "real floats"
        raise DtypeError(message(operation, f"{requirement} of one precision are required", show(*types)))


def _check_exchanges(operation: str, exchanges: TensorType, count: int) -> None:
    if exchanges.dtype != _INT32 or exchanges.ndim < 1 or exchanges.shape[-1] != count:
        raise ShapeError(message(operation, "the exchange of each row is required", show(exchanges)))


# -- LU factors ------------------------------------------------------------------------------------------


def _lu_type(a: TensorType) -> Any:
    check_square("lapack_lu", a)
    _check_floats("lapack_lu", a, letters="fdFD")
    return a, TensorType(_INT32, a.shape[:-1])


def _lu_call(a: TensorType, factors: TensorType, exchanges: TensorType) -> RoutineCall:
    n = a.shape[-1]
    arguments = (n, n, Made(0), max(n, 1), Made(1), _INFO)
    return RoutineCall(name_for(a.dtype, "getrf"), arguments, ((0, 0),), _FREE.offset, 2 * n**3 // 3)


lapack_lu = _stated(
    "lapack_lu",
    "L and U with P A^T = L U, with partial pivoting, in one matrix, transposed; and the row, from 1, that each row "
    "was exchanged with",
    _lu_type,
    Routine(_lu_call, (2,), (2, 1)),
    lambda draw: ((matrices(draw),), {}),
)


def _lu_solution_type(
    factors: TensorType, exchanges: TensorType, b: TensorType, transposed: bool
) -> TensorType:
    check_square("lapack_lu_solution", factors)
    return _solution_type("lapack_lu_solution", factors, exchanges, b, factors.shape[-1])


def _solution_type(
    operation: str, factors: TensorType, exchanges: TensorType, b: TensorType, count: int
) -> TensorType:
    _check_floats(operation, factors, b, letters="fdFD")
    _check_exchanges(operation, exchanges, count)
    if b.ndim < 2 or b.shape[-1] != count:
        raise ShapeError(message(operation, "a column for each equation is required", show(factors, b)))
    lead = broadcast(operation, factors.shape[:-2], exchanges.shape[:-1], b.shape[:-2])
    return TensorType(b.dtype, (*lead, *b.shape[-2:]))


def _lu_solution_call(
    factors: TensorType, exchanges: TensorType, b: TensorType, x: TensorType, transposed: bool
) -> RoutineCall:
    count, n = b.shape
    letter = "N" if transposed else "T"
    arguments = (letter, n, count, Given(0), max(n, 1), Given(1), Made(0), max(n, 1), _INFO)
    name, work = name_for(b.dtype, "getrs"), 2 * n * n * count
    return RoutineCall(name, arguments, ((2, 0),), _FREE.offset, work, is_product=count > 1)


def _lu_equations(draw: Draw) -> Any:
    a = matrices(draw)
    b = draw.array((*draw.choice([a.shape[:-2], ()]), draw.integer(1, 2), a.shape[-1]))
    return (*lapack_lu(a), b), {"transposed": draw.choice([False, True])}


lapack_lu_solution = _stated(
    "lapack_lu_solution",
    "x with A x = b, or with A^T x = b, from the factors of A; b and x are transposed",
    _lu_solution_type,
    Routine(_lu_solution_call, (2, 1, 2), (2,)),
    _lu_equations,
)


def _lu_inverse_type(factors: TensorType, exchanges: TensorType) -> TensorType:
    check_square("lapack_lu_inverse", factors)
    _check_floats("lapack_lu_inverse", factors, letters="fdFD")
    _check_exchanges("lapack_lu_inverse", exchanges, factors.shape[-1])
    lead = broadcast("lapack_lu_inverse", factors.shape[:-2], exchanges.shape[:-1])
    return TensorType(factors.dtype, (*lead, *factors.shape[-2:]))


def _lu_inverse_call(factors: TensorType, exchanges: TensorType, x: TensorType) -> RoutineCall:
    n = factors.shape[-1]
    length = max(n * _COLUMNS, 1)
    arguments = (n, Made(0), max(n, 1), Given(1), _FREE, length, _INFO)
    name = name_for(factors.dtype, "getri")
    return RoutineCall(name, arguments, ((0, 0),), _memory(factors, length), 4 * n**3 // 3, is_product=True)


lapack_lu_inverse = _stated(
    "lapack_lu_inverse",
    "the inverse of A from the factors of A",
    _lu_inverse_type,
    Routine(_lu_inverse_call, (2, 1), (2,)),
    lambda draw: (lapack_lu(matrices(draw)), {}),
)

# -- Cholesky factor and triangular equations ------------------------------------------------------------------


def _cholesky_type(a: TensorType) -> Any:
    check_square("lapack_cholesky", a)
    _check_floats("lapack_cholesky", a)
    return a, TensorType(_INT32, a.shape[:-2])


def _cholesky_call(a: TensorType, factor: TensorType, failed: TensorType) -> RoutineCall:
    n = a.shape[-1]
    arguments = ("U", n, Made(0), max(n, 1), Made(1))
    return RoutineCall(name_for(a.dtype, "potrf"), arguments, ((0, 0),), 0, n**3 // 3)


def _positive(draw: Draw) -> Any:
    a = matrices(draw)
    return (a @ np.swapaxes(a, -1, -2),), {}


lapack_cholesky = _stated(
    "lapack_cholesky",
    "the lower triangular L with L L^T = A, below the diagonal of A; and the order of the first leading minor of A "
    "that is not positive, or 0",
    _cholesky_type,
    Routine(_cholesky_call, (2,), (2, 0)),
    _positive,
)


def _triangular_type(a: TensorType, b: TensorType, lower: bool, unit: bool, transposed: bool) -> TensorType:
    check_square("lapack_triangular", a)
    _check_floats("lapack_triangular", a, b)
    if b.ndim < 2 or b.shape[-2] != a.shape[-1]:
        raise ShapeError(message("lapack_triangular", "a row for each equation is required", show(a, b)))
    return TensorType(b.dtype, (*broadcast("lapack_triangular", a.shape[:-2], b.shape[:-2]), *b.shape[-2:]))


def _triangular_call(
    a: TensorType, b: TensorType, x: TensorType, lower: bool, unit: bool, transposed: bool
) -> RoutineCall:
    n, columns = b.shape
    triangle, diagonal = "U" if lower else "L", "U" if unit else "N"
    if columns == 1:
        letters = (triangle, "N" if transposed else "T", diagonal)
        return RoutineCall(
            name_for(b.dtype, "trsv"), (*letters, n, Given(0), max(n, 1), Made(0), 1), ((1, 0),), 0, n * n
        )
    letters = ("R", triangle, "T" if transposed else "N", diagonal)
    sizes = (max(n, 1), Made(0), max(columns, 1))
    arguments = (*letters, columns, n, 1.0, Given(0), *sizes)
    name, work = name_for(b.dtype, "trsm"), n * n * columns
    return RoutineCall(name, arguments, ((1, 0),), 0, work, is_product=True)


def _triangular_samples(draw: Draw) -> Any:
    a = matrices(draw)
    b = draw.array((*draw.choice([a.shape[:-2], ()]), a.shape[-1], draw.integer(1, 2)))
    return (a, b), {name: draw.choice([False, True]) for name in ("lower", "unit", "transposed")}


lapack_triangular = _stated(
    "lapack_triangular",
    "x with A x = b, or with A^T x = b, for matrices A of which only one triangle is read, and with unit only what "
    "lies off the diagonal",
    _triangular_type,
    Routine(_triangular_call, (2, 2), (2,)),
    _triangular_samples,
)

# -- QR factors ------------------------------------------------------------------------------------------


def _check_long(operation: str, a: TensorType) -> None:
    _check_floats(operation, a)
    if a.ndim < 2 or a.shape[-2] > a.shape[-1]:
        raise ShapeError(message(operation, "transposed matrices with no fewer rows than columns", show(a)))


def _reflections_type(a: TensorType) -> Any:
    _check_long("lapack_reflections", a)
    return a, TensorType(a.dtype, a.shape[:-1])


def _reflections_call(a: TensorType, packed: TensorType, factors: TensorType) -> RoutineCall:
    n, m = a.shape
    length = max(n * _COLUMNS, 1)
    arguments = (m, n, Made(0), max(m, 1), Made(1), _FREE, length, _INFO)
    work = 2 * n * n * m
    return RoutineCall(name_for(a.dtype, "geqrf"), arguments, ((0, 0),), _memory(a, length), work)


def _transposed_matrices(draw: Draw) -> Any:
    columns, lead = draw.integer(1, 3), draw.choice([(), (2,), (1, 2)])
    return draw.array((*lead, columns, columns + draw.integer(0, 2)))


lapack_reflections = _stated(
    "lapack_reflections",
    "R and below it the vectors of reflections, for the QR factors of A, transposed; and the factors of the "
    "reflections; A is given transposed",
    _reflections_type,
    Routine(_reflections_call, (2,), (2, 1)),
    lambda draw: ((_transposed_matrices(draw),), {}),
)


def _orthogonal_type(packed: TensorType, factors: TensorType) -> TensorType:
    _check_long("lapack_orthogonal", packed)
    _check_floats("lapack_orthogonal", packed, factors)
    if factors.ndim < 1 or factors.shape[-1] != packed.shape[-2]:
        requirement = "a factor for each reflection is required"
        raise ShapeError(message("lapack_orthogonal", requirement, show(packed, factors)))
    lead = broadcast("lapack_orthogonal", packed.shape[:-2], factors.shape[:-1])
    return TensorType(packed.dtype, (*lead, *packed.shape[-2:]))


def _orthogonal_call(packed: TensorType, factors: TensorType, q: TensorType) -> RoutineCall:
    n, m = packed.shape
    length = max(n * _COLUMNS, 1)
    arguments = (m, n, n, Made(0), max(m, 1), Given(1), _FREE, length, _INFO)
    work = 2 * n * n * m
    return RoutineCall(name_for(packed.dtype, "orgqr"), arguments, ((0, 0),), _memory(packed, length), work)


lapack_orthogonal = _stated(
    "lapack_orthogonal",
    "Q, with orthonormal columns, from the reflections of QR factors; transposed",
    _orthogonal_type,
    Routine(_orthogonal_call, (2, 1), (2,)),
    lambda draw: (lapack_reflections(_transposed_matrices(draw)), {}),
)

# -- eigenvalues and singular values ---------------------------------------------------------------------


def _number_type(a: TensorType) -> TensorType:
    """Return the type of the number that is 0 where a routine succeeded."""
    return TensorType(_INT32, a.shape[:-2])


def _eigh_type(a: TensorType, half: str, vectors: bool) -> Any:
    check_square("lapack_eigh", a)
    _check_floats("lapack_eigh", a)
    return a, TensorType(a.dtype, a.shape[:-1]), _number_type(a)


def _eigh_call(
    a: TensorType, packed: TensorType, values: TensorType, failed: TensorType, half: str, vectors: bool
) -> RoutineCall:
    n = a.shape[-1]
    length = max(1 + 6 * n + 2 * n * n if vectors else 2 * n + 1, n * _COLUMNS)
    integers, after = 3 + 5 * n, _memory(a, length)
    memory = (_FREE, length, Memory(after), integers)
    arguments = ("V" if vectors else "N", half, n, Made(0), max(n, 1), Made(1), *memory, Made(2))
    work = (9 if vectors else 4) * n**3 // 3
    return RoutineCall(name_for(a.dtype, "syevd"), arguments, ((0, 0),), after + 4 * integers, work)


lapack_eigh = _stated(
    "lapack_eigh",
    "the eigenvectors of symmetric matrices, which are rows, where they are wanted; the eigenvalues, ascending; and 0, "
    "or another number where they did not converge; the matrix is given transposed",
    _eigh_type,
    Routine(_eigh_call, (2,), (2, 1, 0)),
    lambda draw: ((matrices(draw),), {"half": draw.choice("LU"), "vectors": True}),
)


def _svd_type(a: TensorType, vectors: bool) -> Any:
    check_matrices("lapack_svd", a)
    _check_floats("lapack_svd", a)
    *lead, n, m = a.shape
    k = min(n, m)
    kept = k if vectors else 0
    made = [TensorType(a.dtype, (*lead, *shape)) for shape in ((n, m), (k,), (kept, m), (n, kept))]
    return (*made, _number_type(a))


def _svd_call(
    a: TensorType,
    packed: TensorType,
    values: TensorType,
    u: TensorType,
    v: TensorType,
    failed: TensorType,
    vectors: bool,
) -> RoutineCall:
    (n, m), k = a.shape, min(a.shape)
    least = 4 * k * k + 7 * k if vectors else 3 * k + max(n, m, 7 * k)
    length, integers = least + _COLUMNS * (n + m), 8 * max(k, 1)
    after = _memory(a, length)
    factors = (Made(1), Made(2), max(m, 1), Made(3), max(k if vectors else 0, 1))
    memory = (_FREE, length, Memory(after), Made(4))
    arguments = ("S" if vectors else "N", m, n, Made(0), max(m, 1), *factors, *memory)
    work = (20 if vectors else 4) * max(n, m) * k * k
    return RoutineCall(name_for(a.dtype, "gesdd"), arguments, ((0, 0),), after + 4 * integers, work)


lapack_svd = _stated(
    "lapack_svd",
    "memory; the singular values, descending; U, transposed, and V, where they are wanted; and 0, or another number "
    "where they did not converge; the matrix is given transposed",
    _svd_type,
    Routine(_svd_call, (2,), (2, 1, 2, 2, 0)),
    lambda draw: ((_transposed_matrices(draw),), {"vectors": True}),
)

# -- banded matrices -------------------------------------------------------------------------------------


def _check_width(operation: str, columns: TensorType, lower: int, upper: int) -> None:
    _check_floats(operation, columns, letters="fdFD")
    if columns.ndim < 2 or columns.shape[-1] != 2 * lower + upper + 1:
        requirement = f"{lower} lower and {upper} upper diagonals and as many again are required"
        raise ShapeError(message(operation, requirement, show(columns)))


def _banded_lu_type(columns: TensorType, lower: int, upper: int) -> Any:
    _check_width("lapack_banded_lu", columns, lower, upper)
    return columns, TensorType(_INT32, columns.shape[:-1])


def _banded_lu_call(
    columns: TensorType, factors: TensorType, exchanges: TensorType, lower: int, upper: int
) -> RoutineCall:
    n, width = columns.shape
    arguments = (n, n, lower, upper, Made(0), width, Made(1), _INFO)
    work = 2 * n * lower * width
    return RoutineCall(name_for(columns.dtype, "gbtrf"), arguments, ((0, 0),), _FREE.offset, work)


def _bands(draw: Draw) -> Any:
    lower, upper = draw.integer(1, 2), draw.integer(1, 2)
    width, lead = 2 * lower + upper + 1, draw.choice([(), (2,)])
    columns = draw.array((*lead, draw.integer(1, 4), width), -0.5, 0.5)
    return columns + 3 * (np.arange(width) == lower + upper), {"lower": lower, "upper": upper}


def _banded_samples(draw: Draw) -> Any:
    columns, params = _bands(draw)
    return (columns,), params


lapack_banded_lu = _stated(
    "lapack_banded_lu",
    "L and U with P A = L U, with partial pivoting, of banded matrices A; and the row, from 1, that each row was "
    "exchanged with; element [i, j] of A is columns[j, lower + upper + i - j]",
    _banded_lu_type,
    Routine(_banded_lu_call, (2,), (2, 1)),
    _banded_samples,
)


def _banded_solution_type(
    factors: TensorType, exchanges: TensorType, b: TensorType, lower: int, upper: int
) -> TensorType:
    _check_width("lapack_banded_solution", factors, lower, upper)
    return _solution_type("lapack_banded_solution", factors, exchanges, b, factors.shape[-2])


def _banded_solution_call(
    factors: TensorType, exchanges: TensorType, b: TensorType, x: TensorType, lower: int, upper: int
) -> RoutineCall:
    (count, n), width = b.shape, factors.shape[-1]
    arguments = ("N", n, lower, upper, count, Given(0), width, Given(1), Made(0), max(n, 1), _INFO)
    work = 4 * n * width * count
    return RoutineCall(name_for(b.dtype, "gbtrs"), arguments, ((2, 0),), _FREE.offset, work)


def banded_equations(draw: Draw) -> Any:
    """Draw the factors of a banded matrix, and right-hand sides."""
    columns, params = _bands(draw)
    b = draw.array((*draw.choice([columns.shape[:-2], ()]), draw.integer(1, 2), columns.shape[-2]))
    return (*lapack_banded_lu(columns, **params), b), params


lapack_banded_solution = _stated(
    "lapack_banded_solution",
    "x with A x = b from the factors of a banded matrix A; b and x are transposed",
    _banded_solution_type,
    Routine(_banded_solution_call, (2, 1, 2), (2,)),
    banded_equations,
)
