"""Fast Fourier transforms of the parts of complex numbers, and of real numbers, in compiled programs.

An even number of real points is half as many complex ones: the transform of these is taken apart by its symmetry, and
put together from it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.engine.core.dtypes import COMPLEX_DTYPE, Dtype, dtype_of
from wengert.engine.core.errors import DtypeError, ShapeError, message
from wengert.engine.core.shapes import Shape, shape_of
from wengert.engine.ir.types import TensorType, show, type_of
from wengert.engine.nest.expression import Apply, Const, Expression
from wengert.engine.nest.index import Dim, Index
from wengert.engine.nest.lowering import Operand, Pieces, Pointwise, Stages
from wengert.engine.ops.fourier.short_transforms import Complex, minus, plus, short_transform
from wengert.engine.ops.fourier.transform_nests import (
    Frame,
    Nest,
    Stores,
    buffer_of,
    exchanged,
    in_frames,
    parts_at,
    stored,
    symmetry,
    tables,
    transform_nests,
)
from wengert.engine.ops.shape import move_batch, slice_, whole
from wengert.engine.primitive import OF_PROGRAMS, Draw, Primitive, primitive

# -- complex points --------------------------------------------------------------------------------------


def _axis(operation: str, operands: Sequence[TensorType], columns: int, count: int) -> int:
    """Return the axis that is transformed, or raise an error."""
    x = operands[0]
    if x.dtype not in COMPLEX_DTYPE or any(operand.dtype != x.dtype for operand in operands):
        raise DtypeError(message(operation, "operands of one precision are required", show(*operands)))
    axis = len(x.shape) - (2 if columns else 1)
    if axis < 0 or x.shape[axis] != count:
        raise ShapeError(message(operation, f"{count} points are required", show(x)))
    return axis


def _type(
    *operands: TensorType, points: int, radices: tuple[int, ...], sign: int, has_im: bool, columns: int
) -> TensorType:
    _axis("fast_dft", operands, columns, points)
    return TensorType(operands[0].dtype, (*operands[0].shape, 2))


def _paired(z: Any, dtype: Dtype) -> Any:
    return np.stack([z.real, z.imag], -1).astype(dtype)


def _evaluate(*operands: Any, sign: int, has_im: bool, columns: int, **steps: Any) -> Any:
    _type(*map(type_of, operands), sign=sign, has_im=has_im, columns=columns, **steps)
    x = operands[0] + 1j * operands[1] if has_im else operands[0] + 0j
    axis = -2 if columns else -1
    spectrum = np.fft.fft(x, axis=axis) if sign < 0 else np.fft.ifft(x, axis=axis, norm="forward")
    return _paired(spectrum, operands[0].dtype)


@in_frames
def _lowering(
    frame: Frame,
    result: Operand,
    *operands: Operand,
    points: int,
    radices: tuple[int, ...],
    sign: int,
    has_im: bool,
) -> Stages:
    """Transform each row, or a block of columns, in all steps before the next: it stays in the cache."""
    parts, constants = operands[: 1 + has_im], operands[1 + has_im :]
    target = frame.outside._replace(paired=True)

    def load(point: Index) -> Complex:
        values = [part.at(frame.outside.at(point)) for part in parts]
        value = Complex(values[0], values[1] if has_im else None)
        return exchanged(value) if sign > 0 and has_im else value

    def write(point: Index, y: Complex) -> Stores:
        if sign > 0:  # of real numbers, the conjugate
            y = exchanged(y) if has_im and y.im is not None else Complex(y.re, minus(None, y.im))
        return parts_at(target, point, y)

    return frame.stages(transform_nests(load, write, buffer_of(result), frame, points, radices, constants))


def _source(*operands: str, sign: int, has_im: bool, columns: int, **steps: Any) -> str:
    x = f"{operands[0]} + 1j * {operands[1]}" if has_im else operands[0]
    name, norm = ("fft", "") if sign < 0 else ("ifft", ", norm='forward'")
    return _with_tables(f"np.fft.{name}({x}, axis={-2 if columns else -1}{norm})", operands[1 + has_im :])


def _with_tables(transform: str, factors: Sequence[str], *, paired: bool = True) -> str:
    """Return the source of a transform, which also names the tables that it has no use for."""
    text = f"np.stack([(y := {transform}).real, y.imag], -1)" if paired else transform
    return f"({', '.join([text, *factors])}, None)[0]"


def _batched(parts: int) -> Callable[..., Any]:
    """Return the batching of an operation whose first operands are parts; all examples have the same tables."""

    def batch(op: Primitive, size: int, operands: Sequence[Any], flags: Sequence[bool], params: Any) -> Any:
        count = parts or 1 + params["has_im"]
        shared = [
            _first_of(size, x) if flag else x for x, flag in zip(operands[count:], flags[count:], strict=True)
        ]
        return op(*move_batch(operands[:count], flags[:count], size), *shared, **params)

    return batch


def _first_of(size: int, x: Any) -> Any:
    """Return the first example, or zeros for no example."""
    shape = shape_of(x)
    return slice_(x, index=(0, *whole(shape)[1:])) if size else np.zeros(shape[1:], dtype_of(x))


def _samples(parts: int, kind: str) -> Callable[[Draw], Any]:
    """Return the samples of a transform with so many parts."""

    def samples(draw: Draw) -> Any:
        points, radices = draw.choice([(6, (2, 3)), (4, (4,)), (20, (5, 2, 2)), (5, (3, 3))])
        columns, dtype = draw.choice([0, 2]), np.dtype(np.float64)
        count, half = points, list[Any]()
        params: dict[str, Any] = {"points": points, "radices": radices, "columns": columns}
        if kind == "complex":
            params.update(sign=draw.choice([-1, 1]), has_im=True)
        else:
            half = [symmetry(count, dtype)]
            count = 2 * count if kind == "real" else count + 1
        shape = (*draw.shape(0, 2), count, *([5] if columns else []))
        return (*(draw.array(shape) for _ in range(parts)), *tables(points, radices, dtype), *half), params

    return samples


fast_dft = primitive(
    name="fast_dft",
    doc="the Fourier transforms of rows, or of columns, given as real and imaginary parts: pairs along a new last axis",
    type_rule=_type,
    evaluate=_evaluate,
    derivative=OF_PROGRAMS,
    batch=_batched(0),
    lowering=Pointwise(_lowering),
    source=_source,
    samples=_samples(2, "complex"),
)


# -- real points -----------------------------------------------------------------------------------------


def _resized(shape: Shape, axis: int, count: int) -> Shape:
    return (*shape[:axis], count, *shape[axis + 1 :])


def _product(x: Expression | None, y: Expression) -> Expression | None:
    return None if x is None else Apply("multiply", (x, y), y.dtype)


def _number(re: Expression | None, im: Expression | None) -> Complex:
    assert re is not None
    return Complex(re, im)


def _rdft_type(*operands: TensorType, points: int, radices: tuple[int, ...], columns: int) -> TensorType:
    x = operands[0]
    axis = _axis("fast_rdft", operands, columns, 2 * points)
    return TensorType(x.dtype, (*_resized(x.shape, axis, points + 1), 2))


def _rdft(*operands: Any, points: int, radices: tuple[int, ...], columns: int) -> Any:
    _rdft_type(*map(type_of, operands), points=points, radices=radices, columns=columns)
    return _paired(np.fft.rfft(operands[0], axis=-2 if columns else -1), operands[0].dtype)


@in_frames
def _rdft_lowering(
    frame: Frame, result: Operand, *operands: Operand, points: int, radices: tuple[int, ...]
) -> Stages:
    """Transform the even points as real parts and the odd ones as imaginary parts, z; then take these apart.

    With ``s_k = (z_k + conj z_(h-k)) / 2`` and ``d_k = (z_k - conj z_(h-k)) / 2`` the transform of the even points is
    ``s_k``, that of the odd ones ``-i d_k``, and the result ``s_k - i e^(-pi i k / h) d_k``.
    """
    x, *constants, table = operands
    half, dtype = points, result.dtype
    target = frame.outside._replace(paired=True)
    between = frame.buffer(dtype, half)

    def load(point: Index) -> Complex:
        return Complex(x.at(frame.outside.at(point * 2)), x.at(frame.outside.at(point * 2 + 1)))

    if len(radices) == 1:
        z = short_transform([load(Index(k)) for k in range(half)], -1)
        stores = [
            store for k, y in enumerate(_taken_apart(z, dtype)) for store in parts_at(target, Index(k), y)
        ]
        return frame.stages([(buffer_of(result), Pieces((frame.column,), tuple(stores)))])
    write = functools.partial(parts_at, frame.inside)
    nests = transform_nests(load, write, buffer_of(between), frame, points, radices, constants)
    k = Dim(half - 1)
    point = stored(between, frame.inside, Index.of(k) + 1)
    mirrored = stored(between, frame.inside, Index.of(k) * -1 + (half - 1))
    y = _even_and_odd(point, mirrored, *(table.at((Index(part), Index.of(k))) for part in range(2)))
    nests.append((buffer_of(result), Pieces((k, frame.column), tuple(parts_at(target, Index.of(k) + 1, y)))))
    first, last = _edges(stored(between, frame.inside, Index(0)))
    edges = (*parts_at(target, Index(0), first), *parts_at(target, Index(half), last))
    nests.append((buffer_of(result), Pieces((frame.column,), edges)))
    return frame.stages(nests)


def _even_and_odd(z: Complex, mirrored: Complex, c: Expression, s: Expression) -> Complex:
    """Return the result of two points, with half the cosine and the sine of their angle."""
    one_half = Const(z.re.dtype.type(0.5), z.re.dtype)
    d_re, d_im = minus(z.re, mirrored.re), plus(z.im, mirrored.im)
    re = minus(_product(plus(z.re, mirrored.re), one_half), _product(d_re, s))
    im = minus(_product(minus(z.im, mirrored.im), one_half), _product(d_im, s))
    return _number(plus(re, _product(d_im, c)), minus(im, _product(d_re, c)))


def _edges(z: Complex) -> tuple[Complex, Complex]:
    """Return the first and the last result, which are real."""
    return _number(plus(z.re, z.im), None), _number(minus(z.re, z.im), None)


def _taken_apart(z: Sequence[Complex], dtype: Dtype) -> list[Complex]:
    """Return the results of a transform of few points."""
    half = len(z)
    table = symmetry(half, dtype)
    first, last = _edges(z[0])
    between = [
        _even_and_odd(z[k], z[half - k], *(Const(number, dtype) for number in table[:, k - 1]))
        for k in range(1, half)
    ]
    return [first, *between, last]


fast_rdft = primitive(
    name="fast_rdft",
    doc="the first n / 2 + 1 coefficients of the transforms of n real numbers each: pairs along a new last axis",
    type_rule=_rdft_type,
    evaluate=_rdft,
    derivative=OF_PROGRAMS,
    batch=_batched(1),
    lowering=Pointwise(_rdft_lowering),
    source=lambda *xs, points, radices, columns: _with_tables(
        f"np.fft.rfft({xs[0]}, axis={-2 if columns else -1})", xs[1:]
    ),
    samples=_samples(1, "real"),
)


def _irdft_type(*operands: TensorType, points: int, radices: tuple[int, ...], columns: int) -> TensorType:
    x = operands[0]
    axis = _axis("fast_irdft", operands, columns, points + 1)
    return TensorType(x.dtype, _resized(x.shape, axis, 2 * points))


def _irdft(*operands: Any, points: int, radices: tuple[int, ...], columns: int) -> Any:
    _irdft_type(*map(type_of, operands), points=points, radices=radices, columns=columns)
    x, axis = operands[0] + 1j * operands[1], -2 if columns else -1
    return np.fft.irfft(x, 2 * points, axis=axis, norm="forward").astype(operands[0].dtype)


@in_frames
def _irdft_lowering(
    frame: Frame, result: Operand, *operands: Operand, points: int, radices: tuple[int, ...]
) -> Stages:
    """Put the coefficients of half as many complex points together, and transform these back.

    They are ``(y_k + conj y_(h-k)) + i e^(pi i k / h) (y_k - conj y_(h-k))``.
    """
    re, im, *constants, table = operands
    half, dtype = points, result.dtype
    between = frame.buffer(dtype, half)

    def given(point: Index) -> Complex:
        return Complex(re.at(frame.outside.at(point)), im.at(frame.outside.at(point)))

    def write_real(point: Index, x: Complex) -> Stores:
        assert x.im is not None
        return [(frame.outside.at(point * 2), x.im), (frame.outside.at(point * 2 + 1), x.re)]

    first, last = given(Index(0)).re, given(Index(half)).re
    edge = _number(plus(first, last), minus(first, last))
    if len(radices) == 1:
        numbers = symmetry(half, dtype)
        values = [edge] + [
            _put_together(
                given(Index(k)), given(Index(half - k)), *(Const(x, dtype) for x in 2 * numbers[:, k - 1])
            )
            for k in range(1, half)
        ]
        signal = short_transform([exchanged(z) for z in values], -1)
        stores = [store for k, x in enumerate(signal) for store in write_real(Index(k), x)]
        return frame.stages([(buffer_of(result), Pieces((frame.column,), tuple(stores)))])
    k = Dim(half - 1)
    two = Const(dtype.type(2), dtype)
    c, s = (Apply("multiply", (table.at((Index(part), Index.of(k))), two), dtype) for part in range(2))
    z = _put_together(given(Index.of(k) + 1), given(Index.of(k) * -1 + (half - 1)), c, s)
    write = functools.partial(parts_at, frame.inside)
    nests: list[Nest] = [
        (buffer_of(between), Pieces((k, frame.column), tuple(write(Index.of(k) + 1, z)))),
        (buffer_of(between), Pieces((frame.column,), tuple(write(Index(0), edge)))),
    ]

    def load(point: Index) -> Complex:
        return exchanged(stored(between, frame.inside, point))

    nests += transform_nests(load, write_real, buffer_of(result), frame, points, radices, constants)
    return frame.stages(nests)


def _put_together(y: Complex, mirrored: Complex, c: Expression, s: Expression) -> Complex:
    """Return the point of two coefficients, with the cosine and the sine of their angle."""
    d_re, d_im = minus(y.re, mirrored.re), plus(y.im, mirrored.im)
    re = minus(plus(y.re, mirrored.re), _product(d_re, s))
    im = plus(minus(y.im, mirrored.im), _product(d_re, c))
    return _number(minus(re, _product(d_im, c)), minus(im, _product(d_im, s)))


fast_irdft = primitive(
    name="fast_irdft",
    doc="n real numbers whose transforms, divided by n, have the given first n / 2 + 1 coefficients",
    type_rule=_irdft_type,
    evaluate=_irdft,
    derivative=OF_PROGRAMS,
    batch=_batched(2),
    lowering=Pointwise(_irdft_lowering),
    source=lambda *xs, points, radices, columns: _with_tables(
        f"np.fft.irfft({xs[0]} + 1j * {xs[1]}, {2 * points}, axis={-2 if columns else -1}, norm='forward')",
        xs[2:],
        paired=False,
    ),
    samples=_samples(2, "hermitian"),
)
