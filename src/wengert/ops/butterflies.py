"""Steps of fast Fourier transforms: many short transforms, and factors of absolute value 1 between them.

A transform of n = r m points takes r parts of the sequence through short transforms of r points, multiplies by powers
of the root of unity, and transforms the m results that belong together (J. W. Cooley and J. W. Tukey, 1965). The order
of the elements is T. G. Stockham's (1966): each step reads and writes rows; the last one leaves the result in order.
An even number of real points is half as many complex ones: the transform of these is taken apart by its symmetry, and
put together from it.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from wengert.core.dtypes import COMPLEX_DTYPE, Dtype, dtype_of
from wengert.core.errors import DtypeError, ShapeError, message
from wengert.core.shapes import Shape, shape_of
from wengert.ir.types import TensorType, show, type_of
from wengert.nest.expression import Apply, Buffer, Const, Expression
from wengert.nest.index import Dim, Index
from wengert.nest.lowering import Operand, Pieces, Pointwise, Stages
from wengert.ops.shape import move_batch, slice_, whole
from wengert.ops.short_transforms import Complex, minus, plus, short_transform, times, turn
from wengert.primitive import Draw, NonDifferentiable, Primitive, primitive

#: A nest of a stage: the buffer that it writes, and what it stores.
_Nest = tuple[Buffer, Pieces]
_Stores = list[tuple[tuple[Index, ...], Expression]]


def tables(radices: Sequence[int], dtype: Dtype) -> list[Any]:
    """Return the factors between the steps of a transform."""
    rest, found = math.prod(radices), list[Any]()
    for radix in radices[:-1]:
        rest //= radix
        found.append(_factors(radix, rest, dtype))
    return found


def _factors(radix: int, rest: int, dtype: Dtype) -> Any:
    """Return the factors between two steps, ``e^(-2 pi i k p / (radix rest))``: parts, k from 1 on, p."""
    k, p = np.arange(1, radix)[:, None], np.arange(rest)
    cosines, sines = turn(k * p, radix * rest)
    return np.stack([cosines, -sines]).astype(dtype)


def symmetry(half: int, dtype: Dtype) -> Any:
    """Return ``cos(pi k / half) / 2`` and ``sin(pi k / half) / 2`` for k from 1 to half - 1."""
    return (np.stack(turn(np.arange(1, half), 2 * half)) / 2).astype(dtype)


# -- where the points lie --------------------------------------------------------------------------------


class _Place(NamedTuple):
    """Where the points of a transform lie in an array; the parts lie along a first axis, or along a last one."""

    before: tuple[Index, ...]
    after: tuple[Index, ...]
    paired: bool = False

    def at(self, point: Index, part: int | None = None) -> tuple[Index, ...]:
        """Return the indices of a point, or of one part of it."""
        number = () if part is None else (Index(part),)
        place = (*self.before, point, *self.after)
        return (*place, *number) if self.paired else (*number, *place)


class _Frame(NamedTuple):
    """The loops over the rows of an array, or over blocks of its columns."""

    counters: tuple[Dim, ...]
    column: Dim
    """The column of a block; of extent 1 where there are rows."""
    outside: _Place
    inside: _Place

    def stages(self, nests: Sequence[_Nest]) -> Stages:
        # Threads share the outermost loop: the longest one.
        return Stages(tuple(sorted(self.counters, key=lambda counter: -counter.extent)), tuple(nests))

    def buffer(self, dtype: Dtype, count: int) -> Operand:
        """Return a new buffer for the parts of some points of a row, or of the rows of a block."""
        shape = (2, count, *([self.column.extent] if self.inside.after else []))
        return Operand(TensorType(dtype, shape), Buffer(dtype, shape))


def _frames(shape: Shape, columns: int) -> list[_Frame]:
    """Return the loops over the rows, or over blocks of columns, and over the columns that are less than a block."""
    if not columns:
        counters = tuple(map(Dim, shape[:-1]))
        return [_Frame(counters, Dim(1), _Place(tuple(map(Index.of, counters)), ()), _Place((), ()))]
    found: list[_Frame] = []
    blocks, rest = divmod(shape[-1], columns)
    for count, size, start in ((blocks, columns, 0), (1, rest, blocks * columns)):
        if not count * size:
            continue
        counters = (*map(Dim, shape[:-2]), Dim(count))
        *before, block = map(Index.of, counters)
        column = Dim(size)
        mine = Index.of(column)
        outside = _Place(tuple(before), (block * columns + mine + start,))
        found.append(_Frame(counters, column, outside, _Place((), (mine,))))
    return found


def _in_frames(rule: Callable[..., Stages]) -> Callable[..., Stages]:
    """Return the lowering that carries out a rule in the loops of each frame of an operation."""

    def lowering(i: Any, result: Operand, *operands: Operand, columns: int, **params: Any) -> Stages:
        found: Stages | None = None
        for frame in reversed(_frames(operands[0].shape, columns)):
            found = replace(rule(frame, result, *operands, **params), rest=found)
        assert found is not None
        return found

    return lowering


def _buffer_of(operand: Operand) -> Buffer:
    assert isinstance(operand.source, Buffer)
    return operand.source


def _stored(x: Operand, place: _Place, point: Index) -> Complex:
    """Return a point of a buffer."""
    return Complex(x.at(place.at(point, 0)), x.at(place.at(point, 1)))


def _exchanged(x: Complex) -> Complex:
    """Return ``i`` times the conjugate: between two such exchanges a transform becomes the one with the other sign."""
    assert x.im is not None
    return Complex(x.im, x.re)


def _in_steps(
    load: Callable[[Index], Complex],
    write: Callable[[Index, Complex], _Stores],
    target: Buffer,
    frame: _Frame,
    radices: Sequence[int],
    factors: Sequence[Operand],
) -> list[_Nest]:
    """Return the nests of a transform.

    Args:
        load: the point at an index.
        write: what stores the result at an index.
        target: the buffer that it stores in.
        frame: the loops around.
        radices: the lengths of the short transforms.
        factors: the tables between the steps.
    """
    count, done = math.prod(radices), 1
    nests: list[_Nest] = []
    for step, radix in enumerate(radices):
        rest = count // (radix * done)
        p, q = Dim(rest), Dim(done)
        values = _step(load, radix, factors[step] if rest > 1 else None, p, q)
        first = Index.of(p) * (radix * done) + Index.of(q)
        buffer, written = target, write
        if rest > 1:
            between = frame.buffer(values[0].re.dtype, count)
            buffer, written = _buffer_of(between), functools.partial(_parts_at, frame.inside)
            load = functools.partial(_stored, between, frame.inside)
        stores = [store for k, y in enumerate(values) for store in written(first + k * done, y)]
        nests.append((buffer, Pieces((p, q, frame.column), tuple(stores))))
        done *= radix
    return nests


def _step(
    load: Callable[[Index], Complex], radix: int, table: Operand | None, p: Dim, q: Dim
) -> list[Complex]:
    """Return the results of a step at one point: short transforms, times the factors of a table."""
    point, part = Index.of(p) * q.extent + Index.of(q), p.extent * q.extent
    found = short_transform([load(point + j * part) for j in range(radix)], -1)
    if table is None:
        return found
    turned = [
        times(y, table.at((Index(0), Index(k), Index.of(p))), table.at((Index(1), Index(k), Index.of(p))))
        for k, y in enumerate(found[1:])
    ]
    return [found[0], *turned]


def _parts_at(place: _Place, point: Index, y: Complex) -> _Stores:
    """Return the stores of both parts of a value."""
    dtype = y.re.dtype
    values = (y.re, Const(dtype.type(0), dtype) if y.im is None else y.im)
    return [(place.at(point, part), value) for part, value in enumerate(values)]


# -- complex points --------------------------------------------------------------------------------------


def _axis(operation: str, operands: Sequence[TensorType], columns: int, count: int) -> int:
    """Return the axis that is transformed, or raise an error."""
    x = operands[0]
    if x.dtype not in COMPLEX_DTYPE or any(other.dtype != x.dtype for other in operands):
        raise DtypeError(message(operation, "operands of one precision are required", show(*operands)))
    axis = len(x.shape) - (2 if columns else 1)
    if axis < 0 or x.shape[axis] != count:
        raise ShapeError(message(operation, f"{count} points are required", show(x)))
    return axis


def _type(
    *operands: TensorType, radices: tuple[int, ...], sign: int, has_im: bool, columns: int
) -> TensorType:
    _axis("fast_dft", operands, columns, math.prod(radices))
    return TensorType(operands[0].dtype, (*operands[0].shape, 2))


def _paired(z: Any, dtype: Dtype) -> Any:
    return np.stack([z.real, z.imag], -1).astype(dtype)


def _evaluate(*operands: Any, radices: tuple[int, ...], sign: int, has_im: bool, columns: int) -> Any:
    _type(*map(type_of, operands), radices=radices, sign=sign, has_im=has_im, columns=columns)
    x = operands[0] + 1j * operands[1] if has_im else operands[0] + 0j
    axis = -2 if columns else -1
    found = np.fft.fft(x, axis=axis) if sign < 0 else np.fft.ifft(x, axis=axis, norm="forward")
    return _paired(found, operands[0].dtype)


@_in_frames
def _lowering(
    frame: _Frame,
    result: Operand,
    *operands: Operand,
    radices: tuple[int, ...],
    sign: int,
    has_im: bool,
) -> Stages:
    """Transform each row, or a block of columns, in all steps before the next: it stays in the cache."""
    parts, factors = operands[: 1 + has_im], operands[1 + has_im :]
    target = frame.outside._replace(paired=True)

    def load(point: Index) -> Complex:
        values = [part.at(frame.outside.at(point)) for part in parts]
        found = Complex(values[0], values[1] if has_im else None)
        return _exchanged(found) if sign > 0 and has_im else found

    def write(point: Index, y: Complex) -> _Stores:
        if sign > 0:  # of real numbers, the conjugate
            y = _exchanged(y) if has_im and y.im is not None else Complex(y.re, minus(None, y.im))
        return _parts_at(target, point, y)

    return frame.stages(_in_steps(load, write, _buffer_of(result), frame, radices, factors))


def _source(*operands: str, sign: int, has_im: bool, columns: int, radices: tuple[int, ...]) -> str:
    x = f"{operands[0]} + 1j * {operands[1]}" if has_im else operands[0]
    name, norm = ("fft", "") if sign < 0 else ("ifft", ", norm='forward'")
    return _with_tables(f"np.fft.{name}({x}, axis={-2 if columns else -1}{norm})", operands[1 + has_im :])


def _with_tables(transform: str, factors: Sequence[str], *, paired: bool = True) -> str:
    """Return the source of a transform, which also names the tables that it has no use for."""
    found = f"np.stack([(y := {transform}).real, y.imag], -1)" if paired else transform
    return f"({', '.join([found, *factors])}, None)[0]"


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
    """Return the first example, or zeros where there is none."""
    shape = shape_of(x)
    return slice_(x, index=(0, *whole(shape)[1:])) if size else np.zeros(shape[1:], dtype_of(x))


def _samples(parts: int, kind: str) -> Callable[[Draw], Any]:
    """Return the samples of a transform with so many parts."""

    def samples(draw: Draw) -> Any:
        radices, columns = draw.choice([(2, 3), (4,), (5, 2, 2)]), draw.choice([0, 2])
        count, half, dtype = math.prod(radices), [], np.dtype(np.float64)
        params: dict[str, Any] = {"radices": radices, "columns": columns}
        if kind == "complex":
            params.update(sign=draw.choice([-1, 1]), has_im=True)
        else:
            half = [symmetry(count, dtype)]
            count = 2 * count if kind == "real" else count + 1
        shape = (*draw.shape(0, 2), count, *([5] if columns else []))
        return (*(draw.array(shape) for _ in range(parts)), *tables(radices, dtype), *half), params

    return samples


_OF_PROGRAMS = NonDifferentiable("it stands in compiled programs only, whose derivatives are taken before")

fast_dft = primitive(
    name="fast_dft",
    doc="the Fourier transforms of rows, or of columns, given as real and imaginary parts: pairs along a new last axis",
    type_rule=_type,
    evaluate=_evaluate,
    derivative=_OF_PROGRAMS,
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


def _rdft_type(*operands: TensorType, radices: tuple[int, ...], columns: int) -> TensorType:
    half, x = math.prod(radices), operands[0]
    axis = _axis("fast_rdft", operands, columns, 2 * half)
    return TensorType(x.dtype, (*_resized(x.shape, axis, half + 1), 2))


def _rdft(*operands: Any, radices: tuple[int, ...], columns: int) -> Any:
    _rdft_type(*map(type_of, operands), radices=radices, columns=columns)
    return _paired(np.fft.rfft(operands[0], axis=-2 if columns else -1), operands[0].dtype)


@_in_frames
def _rdft_lowering(frame: _Frame, result: Operand, *operands: Operand, radices: tuple[int, ...]) -> Stages:
    """Transform the even points as real parts and the odd ones as imaginary parts, z; then take these apart.

    With ``s_k = (z_k + conj z_(h-k)) / 2`` and ``d_k = (z_k - conj z_(h-k)) / 2`` the transform of the even points is
    ``s_k``, that of the odd ones ``-i d_k``, and the result ``s_k - i e^(-pi i k / h) d_k``.
    """
    x, *factors, table = operands
    half, dtype = math.prod(radices), result.dtype
    target = frame.outside._replace(paired=True)
    between = frame.buffer(dtype, half)

    def load(point: Index) -> Complex:
        return Complex(x.at(frame.outside.at(point * 2)), x.at(frame.outside.at(point * 2 + 1)))

    if len(radices) == 1:
        z = short_transform([load(Index(k)) for k in range(half)], -1)
        stores = [
            store for k, y in enumerate(_taken_apart(z, dtype)) for store in _parts_at(target, Index(k), y)
        ]
        return frame.stages([(_buffer_of(result), Pieces((frame.column,), tuple(stores)))])
    write = functools.partial(_parts_at, frame.inside)
    nests = _in_steps(load, write, _buffer_of(between), frame, radices, factors)
    k = Dim(half - 1)
    point = _stored(between, frame.inside, Index.of(k) + 1)
    mirrored = _stored(between, frame.inside, Index.of(k) * -1 + (half - 1))
    y = _even_and_odd(point, mirrored, *(table.at((Index(part), Index.of(k))) for part in range(2)))
    nests.append(
        (_buffer_of(result), Pieces((k, frame.column), tuple(_parts_at(target, Index.of(k) + 1, y))))
    )
    first, last = _edges(_stored(between, frame.inside, Index(0)))
    edges = (*_parts_at(target, Index(0), first), *_parts_at(target, Index(half), last))
    nests.append((_buffer_of(result), Pieces((frame.column,), edges)))
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
    derivative=_OF_PROGRAMS,
    batch=_batched(1),
    lowering=Pointwise(_rdft_lowering),
    source=lambda *xs, radices, columns: _with_tables(
        f"np.fft.rfft({xs[0]}, axis={-2 if columns else -1})", xs[1:]
    ),
    samples=_samples(1, "real"),
)


def _irdft_type(*operands: TensorType, radices: tuple[int, ...], columns: int) -> TensorType:
    half, x = math.prod(radices), operands[0]
    axis = _axis("fast_irdft", operands, columns, half + 1)
    return TensorType(x.dtype, _resized(x.shape, axis, 2 * half))


def _irdft(*operands: Any, radices: tuple[int, ...], columns: int) -> Any:
    _irdft_type(*map(type_of, operands), radices=radices, columns=columns)
    x, axis = operands[0] + 1j * operands[1], -2 if columns else -1
    return np.fft.irfft(x, 2 * math.prod(radices), axis=axis, norm="forward").astype(operands[0].dtype)


@_in_frames
def _irdft_lowering(frame: _Frame, result: Operand, *operands: Operand, radices: tuple[int, ...]) -> Stages:
    """Put the coefficients of half as many complex points together, and transform these back.

    They are ``(y_k + conj y_(h-k)) + i e^(pi i k / h) (y_k - conj y_(h-k))``.
    """
    re, im, *factors, table = operands
    half, dtype = math.prod(radices), result.dtype
    between = frame.buffer(dtype, half)

    def given(point: Index) -> Complex:
        return Complex(re.at(frame.outside.at(point)), im.at(frame.outside.at(point)))

    def write_real(point: Index, x: Complex) -> _Stores:
        assert x.im is not None
        return [(frame.outside.at(point * 2), x.im), (frame.outside.at(point * 2 + 1), x.re)]

    first, last = given(Index(0)).re, given(Index(half)).re
    edge = _number(plus(first, last), minus(first, last))
    if len(radices) == 1:
        numbers = symmetry(half, dtype)
        points = [edge] + [
            _put_together(
                given(Index(k)), given(Index(half - k)), *(Const(x, dtype) for x in 2 * numbers[:, k - 1])
            )
            for k in range(1, half)
        ]
        found = short_transform([_exchanged(z) for z in points], -1)
        stores = [store for k, x in enumerate(found) for store in write_real(Index(k), x)]
        return frame.stages([(_buffer_of(result), Pieces((frame.column,), tuple(stores)))])
    k = Dim(half - 1)
    two = Const(dtype.type(2), dtype)
    c, s = (Apply("multiply", (table.at((Index(part), Index.of(k))), two), dtype) for part in range(2))
    z = _put_together(given(Index.of(k) + 1), given(Index.of(k) * -1 + (half - 1)), c, s)
    write = functools.partial(_parts_at, frame.inside)
    nests: list[_Nest] = [
        (_buffer_of(between), Pieces((k, frame.column), tuple(write(Index.of(k) + 1, z)))),
        (_buffer_of(between), Pieces((frame.column,), tuple(write(Index(0), edge)))),
    ]

    def load(point: Index) -> Complex:
        return _exchanged(_stored(between, frame.inside, point))

    nests += _in_steps(load, write_real, _buffer_of(result), frame, radices, factors)
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
    derivative=_OF_PROGRAMS,
    batch=_batched(2),
    lowering=Pointwise(_irdft_lowering),
    source=lambda *xs, radices, columns: _with_tables(
        f"np.fft.irfft({xs[0]} + 1j * {xs[1]}, {2 * math.prod(radices)}, axis={-2 if columns else -1}, norm='forward')",
        xs[2:],
        paired=False,
    ),
    samples=_samples(2, "hermitian"),
)
