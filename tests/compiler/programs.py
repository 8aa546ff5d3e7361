"""Random NumPy programs whose choices depend on shapes only, so that one seed is one program in every mode."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import wengert as wg
from wengert import nn
from wengert.engine.core.shapes import shape_of

EXTENTS = (1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33)
MOST = 700
MAX_RANK = 4

#: All keep values of moderate size and have bounded derivatives, so that rounding errors stay small.
UNARY: tuple[Callable[[Any], Any], ...] = (
    np.sin,
    np.tanh,
    np.negative,
    np.arctan,
    lambda x: np.sqrt(x * x + 1.0),
    lambda x: np.exp(-np.abs(x)),
    lambda x: np.log1p(x * x),
    lambda x: 0.25 * x**2,
    lambda x: np.tanh(x) ** 3,
    lambda x: 1.0 / (1.0 + np.abs(x)),
    lambda x: np.maximum(x, 0.1) - 0.5,
    lambda x: np.clip(x, -0.9, 1.1),
    lambda x: wg.special.expit(x),
    lambda x: np.cosh(np.tanh(x)),
)
BINARY: tuple[Callable[[Any, Any], Any], ...] = (
    lambda x, y: x + y,
    lambda x, y: x - y,
    lambda x, y: np.tanh(x) * y,
    lambda x, y: x / (1.0 + y * y),
    np.maximum,
    np.minimum,
    lambda x, y: np.arctan2(x, 2.0 + np.tanh(y)),
    lambda x, y: np.hypot(x, y + 3.0) - 3.0,
)


class Program:
    """The program of a seed: a function of two integer arrays and any number of floating-point ones.

    Args:
        seed: chooses the operations.
        length: how many operations there are.
        differentiable: leave out what reverse mode does not go through.
    """

    def __init__(self, seed: int, length: int, *, differentiable: bool = True) -> None:
        self.seed = seed
        self.length = length
        self.differentiable = differentiable

    def arguments(self, dtype: Any) -> tuple[list[Any], list[Any]]:
        """Return the integer arrays and the floating-point arrays to run it on."""
        rng = np.random.default_rng(self.seed)
        shapes = [tuple(rng.choice(EXTENTS[:8], size=rng.integers(1, 4)).tolist()) for _ in range(3)]
        floats = [rng.uniform(-1.5, 1.5, size=shape).astype(dtype) for shape in [*shapes, ()]]
        return [rng.integers(-2, 3, size=(6,)), rng.integers(0, 2, size=(17,))], floats

    def __call__(self, integers: Sequence[Any], floats: Sequence[Any]) -> list[Any]:
        """Run it and return some of its values."""
        self.random = random.Random(self.seed)
        self.integers = integers
        self.sources = list(floats)
        values = list(floats)
        for _ in range(self.length):
            kinds = [kind for kind in KINDS if not (self.differentiable and kind is repeat_while)]
            values.append(smaller(self, self.random.choice(kinds)(self, self.pick(values), values)))
        return [values[-1], *self.random.sample(values, 2)]

    # -- choices -----------------------------------------------------------------------------------------

    def pick(self, values: Sequence[Any]) -> Any:
        """Return one of the values, more often a late one."""
        return values[max(self.random.randrange(len(values)), self.random.randrange(len(values)))]

    def array(self, x: Any) -> Any:
        """Return a value with at least one axis."""
        return x if shape_of(x) else np.reshape(x, (1,))

    def axis(self, x: Any) -> int:
        return self.random.randrange(len(shape_of(x)))

    def axes(self, x: Any) -> tuple[int, ...]:
        rank = len(shape_of(x))
        return tuple(self.random.sample(range(rank), self.random.randint(0, rank)))

    def positions(self, extent: int) -> Any:
        """Return indices into an axis that depend on an argument, some of them negative."""
        return np.clip(self.integers[0], -extent, extent - 1)

    def flags(self, shape: tuple[int, ...]) -> Any:
        """Return truth values that do not depend on rounding."""
        flat = np.resize(np.array([False, True, True, False, True]), math.prod(shape)).reshape(shape)
        return flat ^ (self.integers[1][self.random.randrange(17)] > 0)


def smaller(program: Program, x: Any) -> Any:
    """Return a value with few elements and axes, close to 1 in size."""
    while len(shape_of(x)) > MAX_RANK or math.prod(shape_of(x)) > MOST:
        x = np.mean(x, axis=program.axis(x))
    return x


# -- steps: (program, value, values) -> value ------------------------------------------------------------


def unary(program: Program, x: Any, values: Sequence[Any]) -> Any:
    return program.random.choice(UNARY)(x)


def binary(program: Program, x: Any, values: Sequence[Any]) -> Any:
    y = fitted(program, program.pick(values), shape_of(x))
    pair = (x, y) if program.random.random() < 0.5 else (y, x)
    return program.random.choice(BINARY)(*pair)


def fitted(program: Program, y: Any, shape: tuple[int, ...]) -> Any:
    """Return a value that broadcasts with a shape: slices of its axes, or a mean where they do not fit."""
    while len(shape_of(y)) > len(shape):
        y = np.mean(y, axis=0)
    lead = len(shape) - len(shape_of(y))
    for axis, extent in enumerate(shape_of(y)):
        wanted = shape[lead + axis]
        if extent in (1, wanted):
            continue
        if extent > wanted:
            y = y[(slice(None),) * axis + (slice(extent - wanted, None),)]
        else:
            y = np.mean(y, axis=axis, keepdims=True)
    return y


def reduce(program: Program, x: Any, values: Sequence[Any]) -> Any:
    axes, keep = program.axes(x), program.random.random() < 0.4
    kind = program.random.randrange(6)
    if kind == 0:
        return np.tanh(np.sum(x, axis=axes, keepdims=keep))
    if kind == 1:
        return np.max(x, axis=axes, keepdims=keep)
    if kind == 2:
        return np.min(x, axis=axes, keepdims=keep)
    if kind == 3:
        return np.prod(np.cos(0.1 * x), axis=axes, keepdims=keep)
    if kind == 4:
        return wg.special.logsumexp(x, axis=axes, keepdims=keep)
    return np.mean(x, axis=axes, keepdims=keep)


def softmax(program: Program, x: Any, values: Sequence[Any]) -> Any:
    x = program.array(x)
    return wg.special.softmax(x, axis=program.axis(x))


def accumulate(program: Program, x: Any, values: Sequence[Any]) -> Any:
    x = program.array(x)
    axis = program.axis(x)
    if program.random.random() < 0.3:
        return np.cumprod(np.cos(0.2 * x), axis=axis)
    return np.tanh(np.cumsum(x, axis=axis))


def reshape(program: Program, x: Any, values: Sequence[Any]) -> Any:
    size = math.prod(shape_of(x))
    first = program.random.choice([d for d in range(1, size + 1) if size % d == 0])
    second = program.random.choice([d for d in range(1, size // first + 1) if size // first % d == 0])
    return np.reshape(x, (first, second, size // first // second))


def transpose(program: Program, x: Any, values: Sequence[Any]) -> Any:
    rank = len(shape_of(x))
    return np.transpose(x, program.random.sample(range(rank), rank))


def part(program: Program, x: Any, values: Sequence[Any]) -> Any:
    entries: list[Any] = []
    for extent in shape_of(x):
        start, step = program.random.randrange(extent), program.random.choice([1, 1, 2, 3, -1, -2])
        kind = program.random.randrange(4)
        entries.append(
            start if kind == 0 else slice(start, None, step) if kind == 1 else slice(None, None, step)
        )
    return x[tuple(entries)]


def join(program: Program, x: Any, values: Sequence[Any]) -> Any:
    x = program.array(x)
    y = np.broadcast_to(fitted(program, program.pick(values), shape_of(x)), shape_of(x))
    constant = np.full(shape_of(x), 0.25, x.dtype)
    return np.concatenate(program.random.sample([x, y, constant, -x], 3), axis=program.axis(x))


def pad(program: Program, x: Any, values: Sequence[Any]) -> Any:
    widths = [(program.random.randint(0, 2), program.random.randint(0, 2)) for _ in shape_of(x)]
    return np.pad(x, widths) if widths else x


def write(program: Program, x: Any, values: Sequence[Any]) -> Any:
    """Write into a part of a copy."""
    y = wg.numpy.array(program.array(x))
    axis = program.axis(y)
    step = program.random.choice([1, 2, -1])
    place = (slice(None),) * axis + (slice(program.random.randrange(shape_of(y)[axis]), None, step),)
    if program.random.random() < 0.5:
        y[place] = 0.5 * np.sin(y[place])
    else:
        y[place] += fitted(program, program.pick(values), shape_of(y[place]))
    return y


def rows(x: Any) -> Any:
    return np.reshape(x, (-1, shape_of(x)[-1]))


def product(program: Program, x: Any, values: Sequence[Any]) -> Any:
    x = rows(program.array(x))
    others = [rows(program.array(y)) for y in values]
    fitting = [y for y in others if shape_of(y)[1] == shape_of(x)[1]]
    y = program.random.choice(fitting)
    kind = program.random.randrange(3)
    if kind == 0:
        return np.tanh(x @ y.T / shape_of(x)[1])
    if kind == 1:
        return np.einsum("ik,jk->ji", x, y) / shape_of(x)[1]
    return np.einsum("ik,jk->k", x, y) / (shape_of(x)[0] * shape_of(y)[0])


def images(x: Any) -> Any:
    """Return a value with a batch axis, channels, and two spatial axes."""
    shape = shape_of(x)
    return np.reshape(x, ((1,) * (4 - len(shape)) + shape)[:4]) if len(shape) <= 4 else x


def convolve(program: Program, x: Any, values: Sequence[Any]) -> Any:
    x = images(x)
    taps = [program.random.randint(1, min(3, extent)) for extent in shape_of(x)[2:]]
    channels = shape_of(x)[1]
    count = program.random.choice([1, 2, 5]) * channels * math.prod(taps)
    source = np.reshape(program.array(program.pick(values)), (-1,))
    weight = np.reshape(np.resize(source, count), (-1, channels, *taps)) / count
    stride, padding = program.random.choice([1, 1, 2]), program.random.choice([0, 0, 1])
    return nn.convolve(x, weight, stride=stride, padding=padding)


def pool(program: Program, x: Any, values: Sequence[Any]) -> Any:
    x = images(x)
    size = [program.random.randint(1, min(3, extent)) for extent in shape_of(x)[2:]]
    stride = program.random.choice([None, 1, 2])
    return program.random.choice([nn.max_pool, nn.average_pool])(x, tuple(size), stride)


def gather(program: Program, x: Any, values: Sequence[Any]) -> Any:
    x = program.array(x)
    axis = program.axis(x)
    before = (slice(None),) * axis
    first = program.positions(shape_of(x)[axis])
    if axis + 1 < len(shape_of(x)) and program.random.random() < 0.5:
        return x[(*before, first, program.positions(shape_of(x)[axis + 1])[::-1])]
    return x[(*before, program.random.choice([first, first.reshape(2, 3), first[2]]))]


def scatter(program: Program, x: Any, values: Sequence[Any]) -> Any:
    y = wg.numpy.array(program.array(x))
    places = program.positions(shape_of(y)[0])
    y[places] = 0.5 * y[places] + 0.1
    return y


def choose(program: Program, x: Any, values: Sequence[Any]) -> Any:
    y = fitted(program, program.pick(values), shape_of(x))
    return np.where(program.flags(shape_of(x)), x, y)


def branch(program: Program, x: Any, values: Sequence[Any]) -> Any:
    y = program.pick(values)
    predicate = program.integers[1][program.random.randrange(17)] > 0
    first, second = program.random.sample(UNARY, 2)
    bias = np.mean(y)
    return wg.cond(predicate, lambda x: first(x) + bias, lambda x: second(x) * bias, x)


def scan(program: Program, x: Any, values: Sequence[Any]) -> Any:
    x = program.array(x)
    function, reverse = program.random.choice(UNARY), program.random.random() < 0.5
    bias = np.mean(program.pick(values))

    def step(carry: Any, row: Any) -> Any:
        first, second = carry
        return (0.5 * second + row, function(first) + bias), first * 0.5

    start = np.zeros(shape_of(x)[1:], x.dtype)
    (first, second), stack = wg.scan(step, (start, start + 0.5), x, reverse=reverse)
    return program.random.choice([first + second, stack])


def repeat(program: Program, x: Any, values: Sequence[Any]) -> Any:
    function = program.random.choice(UNARY)
    return wg.fori_loop(0, program.random.randint(0, 3), lambda i, y: 0.5 * function(y) + 0.1 * i, x)


def repeat_while(program: Program, x: Any, values: Sequence[Any]) -> Any:
    function, limit = program.random.choice(UNARY), program.integers[1][program.random.randrange(17)] + 2

    def step(state: Any) -> Any:
        return state[0] + 1, 0.5 * function(state[1])

    return wg.while_loop(lambda state: state[0] < limit, step, (0, x))[1]


KINDS: tuple[Callable[[Program, Any, Sequence[Any]], Any], ...] = (
    *(
        unary,
        unary,
        unary,
        binary,
        binary,
        binary,
        binary,
        reduce,
        reduce,
        softmax,
        accumulate,
        reshape,
        transpose,
    ),
    *(
        part,
        join,
        pad,
        write,
        product,
        product,
        convolve,
        pool,
        gather,
        scatter,
        choose,
        branch,
        scan,
        repeat,
    ),
    repeat_while,
)
