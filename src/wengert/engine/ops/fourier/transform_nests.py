"""The nests of a fast Fourier transform: many short transforms, and factors of absolute value 1 between them.

A transform of n = r m points takes r parts of the sequence through short transforms of r points, multiplies by powers
of the root of unity, and transforms the m results that belong together (J. W. Cooley and J. W. Tukey, 1965). The order
of the elements is T. G. Stockham's (1966): each step reads and writes rows; the last one leaves the result in order.

A length with a large prime factor is a convolution with a chirp, ``e^(pi i k^2 / n)``, since ``j k`` is half of
``j^2 + k^2 - (k - j)^2`` (L. I. Bluestein, 1970); two longer transforms in short steps carry it out.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from wengert.engine.core.dtypes import Dtype
from wengert.engine.core.named_tuples import NamedTuple
from wengert.engine.core.shapes import Shape
from wengert.engine.ir.types import TensorType
from wengert.engine.nest.expression import Buffer, Const, Expression
from wengert.engine.nest.index import Dim, Index
from wengert.engine.nest.lowering import Operand, Pieces, Stages
from wengert.engine.ops.fourier.short_transforms import Complex, short_transform, times, turn

#: A nest of a stage: the buffer that it writes, and what it stores.
Nest = tuple[Buffer, Pieces]
Stores = list[tuple[tuple[Index, ...], Expression]]


def is_convolved(count: int, radices: Sequence[int]) -> bool:
    """Return whether steps make a longer transform than that of ``count`` points, to convolve with a chirp."""
    return math.prod(radices) != count


def tables(count: int, radices: Sequence[int], dtype: Dtype) -> list[Any]:
    """Return the constants of a transform: the factors between its steps; for a convolution also both chirps."""
    remaining, arrays = math.prod(radices), list[Any]()
    for radix in radices[:-1]:
        remaining //= radix
        arrays.append(_factors(radix, remaining, dtype))
    return [*arrays, *_chirps(count, math.prod(radices), dtype)] if is_convolved(count, radices) else arrays


def _factors(radix: int, remaining: int, dtype: Dtype) -> Any:
    """Return the factors between two steps, ``e^(-2 pi i k p / (radix rest))``: parts, k from 1 on, p."""
    k, p = np.arange(1, radix)[:, None], np.arange(remaining)
    cosines, sines = turn(k * p, radix * remaining)
    return np.stack([cosines, -sines]).astype(dtype)


def _chirps(count: int, longer: int, dtype: Dtype) -> list[Any]:
    """Return ``c_k = e^(-pi i k^2 / count)``, and the transform of its conjugate on a circle, over ``longer``."""
    cosines, sines = turn(np.arange(count) ** 2, 2 * count)
    circle = np.zeros(longer, complex)
    circle[:count] = cosines + 1j * sines
    circle[longer - count + 1 :] = circle[count - 1 : 0 : -1]
    spectrum = np.fft.fft(circle) / longer
    return [np.stack(parts).astype(dtype) for parts in ((cosines, -sines), (spectrum.real, spectrum.imag))]


def symmetry(half: int, dtype: Dtype) -> Any:
    """Return ``cos(pi k / half) / 2`` and ``sin(pi k / half) / 2`` for k from 1 to half - 1."""
    return (np.stack(turn(np.arange(1, half), 2 * half)) / 2).astype(dtype)


# -- where the points lie --------------------------------------------------------------------------------


class Place(NamedTuple):
    """The place of the points of a transform in an array; the parts lie along a first axis, or along a last one."""

    before: tuple[Index, ...]
    after: tuple[Index, ...]
    paired: bool = False

    def at(self, point: Index, part: int | None = None) -> tuple[Index, ...]:
        """Return the indices of a point, or of one part of it."""
        number = () if part is None else (Index(part),)
        place = (*self.before, point, *self.after)
        return (*place, *number) if self.paired else (*number, *place)


class Frame(NamedTuple):
    """The loops over the rows of an array, or over blocks of its columns."""

    counters: tuple[Dim, ...]
    column: Dim
    """The column of a block; of extent 1 where there are rows."""
    outside: Place
    inside: Place

    def stages(self, nests: Sequence[Nest]) -> Stages:
        """Return the nests in the loops."""
        # Threads share the outermost loop: the longest one.
        return Stages(tuple(sorted(self.counters, key=lambda counter: -counter.extent)), tuple(nests))

    def buffer(self, dtype: Dtype, count: int) -> Operand:
        """Return a new buffer for the parts of some points of a row, or of the rows of a block."""
        shape = (2, count, *([self.column.extent] if self.inside.after else []))
        return Operand(TensorType(dtype, shape), Buffer(dtype, shape))


def _frames(shape: Shape, columns: int) -> list[Frame]:
    """Return the loops over the rows, or over blocks of columns, and over the columns that are less than a block."""
    if not columns:
        counters = tuple(map(Dim, shape[:-1]))
        return [Frame(counters, Dim(1), Place(tuple(map(Index.of, counters)), ()), Place((), ()))]
    frames: list[Frame] = []
    blocks, remainder = divmod(shape[-1], columns)
    for count, size, start in ((blocks, columns, 0), (1, remainder, blocks * columns)):
        if not count * size:
            continue
        counters = (*map(Dim, shape[:-2]), Dim(count))
        *before, block = map(Index.of, counters)
        column = Dim(size)
        mine = Index.of(column)
        outside = Place(tuple(before), (block * columns + mine + start,))
        frames.append(Frame(counters, column, outside, Place((), (mine,))))
    return frames


def in_frames(rule: Callable[..., Stages]) -> Callable[..., Stages]:
    """Return the lowering that carries out a rule in the loops of each frame of an operation."""

    def lowering(i: Any, result: Operand, *operands: Operand, columns: int, **params: Any) -> Stages:
        remainder: Stages | None = None
        for frame in reversed(_frames(operands[0].shape, columns)):
            remainder = replace(rule(frame, result, *operands, **params), remainder=remainder)
        assert remainder is not None
        return remainder

    return lowering


def buffer_of(operand: Operand) -> Buffer:
    """Return the buffer that holds an operand."""
    assert isinstance(operand.source, Buffer)
    return operand.source


def stored(x: Operand, place: Place, point: Index) -> Complex:
    """Return a point of a buffer."""
    return Complex(x.at(place.at(point, 0)), x.at(place.at(point, 1)))


def exchanged(x: Complex) -> Complex:
    """Return ``i`` times the conjugate: between two such exchanges a transform becomes the one with the other sign."""
    assert x.im is not None
    return Complex(x.im, x.re)


def transform_nests(
    load: Callable[[Index], Complex],
    write: Callable[[Index, Complex], Stores],
    target: Buffer,
    frame: Frame,
    count: int,
    radices: Sequence[int],
    constants: Sequence[Operand],
) -> list[Nest]:
    """Return the nests of a transform."""
    if is_convolved(count, radices):
        return _by_convolution(load, write, target, frame, count, radices, constants)
    return _in_steps(load, write, target, frame, radices, constants)


def _by_convolution(
    load: Callable[[Index], Complex],
    write: Callable[[Index, Complex], Stores],
    target: Buffer,
    frame: Frame,
    count: int,
    radices: Sequence[int],
    constants: Sequence[Operand],
) -> list[Nest]:
    """Return the nests of a transform as a convolution: forward, times the chirp's transform, and back."""
    *factors, chirp, spectrum = constants
    longer, dtype = math.prod(radices), chirp.dtype
    padded, product, convolved = (frame.buffer(dtype, longer) for _ in range(3))
    k, beyond = Index.of(inner := Dim(count)), Index.of(outer := Dim(longer - count)) + count
    nothing = Const(dtype.type(0), dtype)
    y = exchanged(stored(convolved, frame.inside, k))
    stores = (
        (inner, parts_at(frame.inside, k, _times_entry(load(k), chirp, k))),
        (outer, parts_at(frame.inside, beyond, Complex(nothing, nothing))),
    )

    def multiplied(point: Index, y: Complex) -> Stores:
        return parts_at(frame.inside, point, exchanged(_times_entry(y, spectrum, point)))

    return [
        *((buffer_of(padded), Pieces((dim, frame.column), tuple(points))) for dim, points in stores),
        *_in_steps(
            functools.partial(stored, padded, frame.inside),
            multiplied,
            buffer_of(product),
            frame,
            radices,
            factors,
        ),
        *_in_steps(
            functools.partial(stored, product, frame.inside),
            functools.partial(parts_at, frame.inside),
            buffer_of(convolved),
            frame,
            radices,
            factors,
        ),
        (target, Pieces((inner, frame.column), tuple(write(k, _times_entry(y, chirp, k))))),
    ]


def _times_entry(x: Complex, table: Operand, point: Index) -> Complex:
    """Return a number times the one at a point of a table."""
    return times(x, *(table.at((Index(part), point)) for part in range(2)))


def _in_steps(
    load: Callable[[Index], Complex],
    write: Callable[[Index, Complex], Stores],
    target: Buffer,
    frame: Frame,
    radices: Sequence[int],
    factors: Sequence[Operand],
) -> list[Nest]:
    """Return the nests of a transform in short steps."""
    count, done = math.prod(radices), 1
    nests: list[Nest] = []
    for step, radix in enumerate(radices):
        remaining = count // (radix * done)
        p, q = Dim(remaining), Dim(done)
        values = _step(load, radix, factors[step] if remaining > 1 else None, p, q)
        first = Index.of(p) * (radix * done) + Index.of(q)
        buffer, written = target, write
        if remaining > 1:
            between = frame.buffer(values[0].re.dtype, count)
            buffer, written = buffer_of(between), functools.partial(parts_at, frame.inside)
            load = functools.partial(stored, between, frame.inside)
        stores = [store for k, y in enumerate(values) for store in written(first + k * done, y)]
        nests.append((buffer, Pieces((p, q, frame.column), tuple(stores))))
        done *= radix
    return nests


def _step(
    load: Callable[[Index], Complex], radix: int, table: Operand | None, p: Dim, q: Dim
) -> list[Complex]:
    """Return the results of a step at one point: short transforms, times the factors of a table."""
    point, part = Index.of(p) * q.extent + Index.of(q), p.extent * q.extent
    points = short_transform([load(point + j * part) for j in range(radix)], -1)
    if table is None:
        return points
    turned = [
        times(y, table.at((Index(0), Index(k), Index.of(p))), table.at((Index(1), Index(k), Index.of(p))))
        for k, y in enumerate(points[1:])
    ]
    return [points[0], *turned]


def parts_at(place: Place, point: Index, y: Complex) -> Stores:
    """Return the stores of both parts of a value."""
    dtype = y.re.dtype
    values = (y.re, Const(dtype.type(0), dtype) if y.im is None else y.im)
    return [(place.at(point, part), value) for part, value in enumerate(values)]
