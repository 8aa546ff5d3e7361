"""Steps of fast Fourier transforms: many short transforms, and factors of absolute value 1 between them.

A transform of n = r m points takes r parts of the sequence through short transforms of r points, multiplies by powers
of the root of unity, and transforms the m results that belong together (J. W. Cooley and J. W. Tukey, 1965). The order
of the elements is T. G. Stockham's (1966): each step reads and writes rows; the last one leaves the result in order.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.core.dtypes import Dtype
from wengert.core.errors import ShapeError, message
from wengert.ir.types import TensorType, show
from wengert.nest.expression import Apply, Buffer, Const, Expression
from wengert.nest.index import Dim, Index
from wengert.nest.lowering import Operand, Pieces, Pointwise, Stages
from wengert.ops.shape import move_batch
from wengert.primitive import Draw, NonDifferentiable, primitive

_TINY = 1e-12


# -- a short transform as an expression ------------------------------------------------------------------


class _Complex(NamedTuple):
    """A complex number as expressions; the imaginary part None is 0."""

    re: Expression
    im: Expression | None


def _plus(x: Expression | None, y: Expression | None) -> Expression | None:
    if x is None or y is None:
        return y if x is None else x
    return Apply("add", (x, y), x.dtype)


def _minus(x: Expression | None, y: Expression | None) -> Expression | None:
    if y is None:
        return x
    if x is None:
        return Apply("negative", (y,), y.dtype)
    return Apply("subtract", (x, y), x.dtype)


def _scaled(x: Expression | None, factor: float) -> Expression | None:
    if x is None or abs(factor) < _TINY:
        return None
    if abs(abs(factor) - 1) < _TINY:
        return x if factor > 0 else Apply("negative", (x,), x.dtype)
    return Apply("multiply", (x, Const(x.dtype.type(factor), x.dtype)), x.dtype)


def _number(re: Expression | None, im: Expression | None) -> _Complex:
    assert re is not None
    return _Complex(re, im)


def _sum(x: _Complex, y: _Complex) -> _Complex:
    return _number(_plus(x.re, y.re), _plus(x.im, y.im))


def _difference(x: _Complex, y: _Complex) -> _Complex:
    return _number(_minus(x.re, y.re), _minus(x.im, y.im))


def _turned(x: _Complex, factor: complex) -> _Complex:
    """Multiply by a constant of absolute value 1."""
    c, s = factor.real, factor.imag
    if x.im is not None and abs(abs(c) - abs(s)) < _TINY:  # an odd eighth of a turn: one sum, one product
        plus = _plus(x.re, x.im)
        re, im = (_minus(x.re, x.im), plus) if c * s > 0 else (plus, _minus(x.im, x.re))
        return _number(_scaled(re, c), _scaled(im, c))
    re = _minus(_scaled(x.re, c), _scaled(x.im, s))
    im = _plus(_scaled(x.im, c), _scaled(x.re, s))
    if re is None:  # a quarter of a turn of a real number
        re = Const(x.re.dtype.type(0), x.re.dtype)
    return _Complex(re, im)


def _root(count: int, power: int, sign: int) -> complex:
    """Return ``e^(sign 2 pi i power / count)``."""
    cosine, sine = _turn(np.array(power), count)
    return complex(cosine, sign * sine)


def _turn(powers: Any, count: int) -> tuple[Any, Any]:
    """Return the cosines and sines of ``2 pi powers / count``, from angles of at most an eighth of a turn."""
    eighth, place = np.divmod(8 * (powers % count), count)
    folded = place + eighth % 2 * (count - 2 * place)
    angles = folded * (2 * np.pi / (8 * count))
    near, far = np.cos(angles), np.sin(angles)
    cosines = np.choose(eighth, (near, far, -far, -near, -near, -far, far, near))
    sines = np.choose(eighth, (far, near, near, far, -far, -near, -near, -far))
    return cosines, sines


def _transform(xs: Sequence[_Complex], sign: int) -> list[_Complex]:
    """Transform a few numbers."""
    count = len(xs)
    if count == 1:
        return list(xs)
    if count == 2:
        return [_sum(*xs), _difference(*xs)]
    first = next((factor for factor in (4, 2) if count > factor and count % factor == 0), 0)
    if count == 4:
        first = 2
    return _composite(xs, sign, first) if first else _prime(xs, sign)


def _composite(xs: Sequence[_Complex], sign: int, first: int) -> list[_Complex]:
    count, second = len(xs), len(xs) // first
    columns = [_transform(xs[column::second], sign) for column in range(second)]
    found: list[_Complex | None] = [None] * count
    for k in range(first):
        row = [_turned(columns[column][k], _root(count, k * column, sign)) for column in range(second)]
        found[k::first] = _transform(row, sign)
    return [x for x in found if x is not None]


def _prime(xs: Sequence[_Complex], sign: int) -> list[_Complex]:
    """Transform a prime number of points: pairs of points have the same cosines, and sines of opposite signs."""
    count = len(xs)
    half = range(1, (count + 1) // 2)
    sums = {j: _sum(xs[j], xs[count - j]) for j in half}
    differences = {j: _difference(xs[j], xs[count - j]) for j in half}
    found = [functools.reduce(_sum, sums.values(), xs[0])] * count
    for k in half:
        even = xs[0]
        odd: tuple[Expression | None, Expression | None] = (None, None)
        for j in half:
            root = _root(count, j * k, sign)
            even = _number(
                _plus(_scaled(sums[j].re, root.real), even.re), _plus(_scaled(sums[j].im, root.real), even.im)
            )
            turned = (_scaled(differences[j].re, root.imag), _scaled(differences[j].im, root.imag))
            odd = (_plus(turned[0], odd[0]), _plus(turned[1], odd[1]))
        # i times the odd part
        found[k] = _number(_minus(even.re, odd[1]), _plus(even.im, odd[0]))
        found[count - k] = _number(_plus(even.re, odd[1]), _minus(even.im, odd[0]))
    return found


# -- the operation ---------------------------------------------------------------------------------------


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
    cosines, sines = _turn(k * p, radix * rest)
    return np.stack([cosines, -sines]).astype(dtype)


def _type(
    *operands: TensorType, radices: tuple[int, ...], sign: int, has_im: bool, columns: int
) -> TensorType:
    x = operands[0]
    axis = len(x.shape) - (2 if columns else 1)
    if axis < 0 or x.shape[axis] != math.prod(radices) or (columns and x.shape[-1] % columns):
        requirement = f"{math.prod(radices)} points, and a multiple of {columns or 1} columns, are required"
        raise ShapeError(message("fast_dft", requirement, show(x)))
    return TensorType(x.dtype, (*x.shape, 2))


def _evaluate(*operands: Any, radices: tuple[int, ...], sign: int, has_im: bool, columns: int) -> Any:
    x = operands[0] + 1j * operands[1] if has_im else operands[0] + 0j
    axis = -2 if columns else -1
    found = np.fft.fft(x, axis=axis) if sign < 0 else np.fft.ifft(x, axis=axis, norm="forward")
    return np.stack([found.real, found.imag], -1).astype(operands[0].dtype)


class _Place(NamedTuple):
    """Where the points of a transform lie in arrays, of each part or of pairs."""

    before: tuple[Index, ...]
    after: tuple[Index, ...]
    paired: bool = False
    """Whether the parts lie side by side along a last axis, not along a first one."""

    def at(self, point: Index, part: int | None = None) -> tuple[Index, ...]:
        """Return the indices of a point, or of one part of it."""
        number = () if part is None else (Index(part),)
        place = (*self.before, point, *self.after)
        return (*place, *number) if self.paired else (*number, *place)


def _lowering(
    i: Any,
    result: Operand,
    *operands: Operand,
    radices: tuple[int, ...],
    sign: int,
    has_im: bool,
    columns: int,
) -> Stages:
    """Transform each row, or a block of columns, in all steps before the next: it stays in the cache.

    The transform with the other sign exchanges real and imaginary parts before and after; of real numbers it is the
    conjugate.
    """
    parts, factors = operands[: 1 + has_im], operands[1 + has_im :]
    shape, dtype = parts[0].shape, result.dtype
    counters = [Dim(extent) for extent in shape[: len(shape) - (2 if columns else 1)]]
    before = tuple(map(Index.of, counters))
    column = Dim(columns or 1)
    outside, inside = _Place(before, (), True), _Place((), ())
    if columns:
        counters.append(Dim(shape[-1] // columns))
        block = Index.of(counters[-1]) * columns
        outside, inside = _Place(before, (block + Index.of(column),), True), _Place((), (Index.of(column),))
    assert isinstance(result.source, Buffer)
    exchanged = sign > 0 and has_im
    load = functools.partial(_given, parts[::-1] if exchanged else parts, outside)
    count, done = math.prod(radices), 1
    nests: list[tuple[Buffer, Pieces]] = []
    for step, radix in enumerate(radices):
        rest = count // (radix * done)
        p, q = Dim(rest), Dim(done)
        values = _step(load, radix, factors[step] if rest > 1 else None, p, q)
        target, place = result.source, outside
        if rest > 1:
            target, place = Buffer(dtype, (2, count, *((columns,) if columns else ()))), inside
            load = functools.partial(_stored, Operand(TensorType(dtype, target.shape), target), inside)
        elif sign > 0:
            values = [_Complex(y.im, y.re) if has_im and y.im else _conjugate(y) for y in values]
        first = Index.of(p) * (radix * done) + Index.of(q)
        stores = [
            (place.at(first + k * done, part), Const(dtype.type(0), dtype) if value is None else value)
            for k, y in enumerate(values)
            for part, value in enumerate(y)
        ]
        nests.append((target, Pieces((p, q, column), tuple(stores))))
        done *= radix
    # Threads share the outermost loop: the longest one.
    counters.sort(key=lambda counter: -counter.extent)
    return Stages(tuple(counters), tuple(nests))


def _conjugate(x: _Complex) -> _Complex:
    return _Complex(x.re, _minus(None, x.im))


def _given(parts: Sequence[Operand], place: _Place, point: Index) -> _Complex:
    """Return a point of the operands."""
    values = [part.at(place.at(point)) for part in parts]
    return _Complex(values[0], values[1] if len(values) > 1 else None)


def _stored(x: Operand, place: _Place, point: Index) -> _Complex:
    """Return a point of what the step before has made."""
    return _Complex(x.at(place.at(point, 0)), x.at(place.at(point, 1)))


def _step(
    load: Callable[[Index], _Complex], radix: int, table: Operand | None, p: Dim, q: Dim
) -> list[_Complex]:
    """Return the results of a step at one point: short transforms, times the factors of a table."""
    point, part = Index.of(p) * q.extent + Index.of(q), p.extent * q.extent
    found = _transform([load(point + j * part) for j in range(radix)], -1)
    if table is None:
        return found
    turned = [
        _times(y, table.at((Index(0), Index(k), Index.of(p))), table.at((Index(1), Index(k), Index.of(p))))
        for k, y in enumerate(found[1:])
    ]
    return [found[0], *turned]


def _batch(op: Any, size: int, operands: Sequence[Any], flags: Sequence[bool], params: Any) -> Any:
    count = 1 + params["has_im"]
    return op(*move_batch(operands[:count], flags[:count], size), *operands[count:], **params)


def _source(*operands: str, sign: int, has_im: bool, columns: int, radices: tuple[int, ...]) -> str:
    x = f"{operands[0]} + 1j * {operands[1]}" if has_im else operands[0]
    name, norm = ("fft", "") if sign < 0 else ("ifft", ", norm='forward'")
    found = f"np.fft.{name}({x}, axis={-2 if columns else -1}{norm})"
    return f"np.stack([{found}.real, {found}.imag], -1)"


def _times(x: _Complex, c: Expression, s: Expression) -> _Complex:
    def product(a: Expression | None, b: Expression) -> Expression | None:
        return None if a is None else Apply("multiply", (a, b), b.dtype)

    return _number(_minus(product(x.re, c), product(x.im, s)), _plus(product(x.im, c), product(x.re, s)))


def _samples(draw: Draw) -> Any:
    radices, columns = draw.choice([(2, 3), (4,), (5, 2, 2)]), draw.choice([0, 2])
    shape = (*draw.shape(0, 2), math.prod(radices), *([4] if columns else []))
    dtype = np.dtype(np.float64)
    params = {"radices": radices, "sign": draw.choice([-1, 1]), "has_im": True, "columns": columns}
    return (draw.array(shape), draw.array(shape), *tables(radices, dtype)), params


fast_dft = primitive(
    name="fast_dft",
    doc="the Fourier transforms of rows, or of columns, given as real and imaginary parts: pairs along a new last axis",
    type_rule=_type,
    evaluate=_evaluate,
    derivative=NonDifferentiable("it stands in compiled programs only, whose derivatives are taken before"),
    batch=_batch,
    lowering=Pointwise(_lowering),
    source=_source,
    samples=_samples,
)
