"""Random programs of views, copies, orders and writes, drawn while NumPy runs them.

A program is a list of statements. Each takes the arrays that there are, and adds one or writes into one. All are
linear in the input up to a constant, so that a difference of two runs is a derivative.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import wengert.numpy as wnp
from tests.numpy.scipy_memory import fft, linalg, ndimage, signal

Array = np.ndarray[Any, Any]
Statement = Callable[[list[Any]], None]
Draw = np.random.Generator
einsum: Any = np.einsum


def _of_order(x: Array, order: tuple[int, ...]) -> Array:
    """Return a copy whose axes lie in an order, the first one slowest."""
    return np.array(x.transpose(order), order="C").transpose(np.argsort(order))


#: Arrays of the same numbers, whose memory differs.
LAYOUTS: dict[str, Callable[[Array], Array]] = {
    "rows": np.array,
    "columns": lambda x: np.array(x, order="F"),
    "permuted": lambda x: _of_order(x, tuple(np.roll(range(x.ndim), 1).tolist())),
    "swapped": lambda x: _of_order(x, (0, *range(x.ndim - 1, 0, -1))),
    "with gaps": lambda x: np.repeat(x, 2, -1)[..., ::2],
    "reversed": lambda x: np.array(x[::-1])[::-1],
    "columns with gaps": lambda x: np.repeat(x, 2, 0).copy("F")[::2],
    "columns reversed": lambda x: np.array(x[..., ::-1], order="F")[..., ::-1],
}


# -- statements ------------------------------------------------------------------------------------------


class Drawn:
    """What a statement may need, drawn for an array ``x``."""

    def __init__(self, draw: Draw, x: Array) -> None:
        def one(*options: Any) -> Any:
            return options[draw.integers(len(options))]

        self.x = x
        self.axis, self.other = (int(draw.integers(-x.ndim, x.ndim)) for _ in range(2))
        self.permutation = draw.permutation(x.ndim).tolist()
        self.order, self.reading, self.major = one(*"CFAK"), one(*"CFA"), one(*"CF")
        self.requirement = one(*"CFW")
        self.flag, self.number = one(False, True), one(0, 1, 2, 3)
        self.shape = _shape(draw, x)
        ends = (np.s_[:], np.s_[:-1], np.s_[1:], np.s_[::-1], np.s_[::2])
        self.slices = tuple(one(*ends) for _ in range(draw.integers(1, x.ndim + 1)))
        self.indices = _indices(draw, x)


def _shape(draw: Draw, x: Array) -> tuple[int, ...]:
    """Draw a shape of as many elements."""
    rest, shape = x.size, list[int]()
    while rest > 1 and len(shape) < 3:
        shape.append(int(draw.choice([n for n in range(1, rest + 1) if rest % n == 0])))
        rest //= shape[-1]
    return (*shape, -1)


def _indices(draw: Draw, x: Array) -> tuple[Any, ...]:
    axis = int(draw.integers(x.ndim))
    extent = x.shape[axis]
    kind = draw.random()
    index: Any = draw.integers(0, extent, int(draw.integers(1, 3)))
    if kind < 0.3:
        index = np.arange(extent) < max(1, extent - 1)
    elif kind < 0.6:
        index = draw.integers(0, extent, (2, 2))
    entries: list[Any] = [np.s_[:]] * axis + [index]
    if axis + 1 < x.ndim and draw.random() < 0.4 and kind >= 0.3:
        entries.append(draw.integers(0, x.shape[axis + 1], index.shape))
    return tuple(entries)


def _einsum(p: Drawn, y: Any) -> Any:
    letters = "abcd"[: p.x.ndim]
    result = "".join(letters[axis] for axis in p.permutation)
    if p.number == 0:
        return einsum(f"{letters}->{result}", y)
    if p.number == 1:
        return einsum(f"{letters},{letters[0]}->{result}", y, np.arange(1.0, 1 + p.x.shape[0]))
    if p.number == 2:
        return einsum(f"{letters},->{result}", y, 0.5, order=p.order)
    return einsum(f"{letters},{letters[-1]}z->z{letters[:-1]}", y, np.ones((p.x.shape[-1], 2)))


def matrix(y: Any) -> Any:
    """Return an array of at most two axes: stacks have other rules in each version of SciPy."""
    if y.ndim > 2:
        raise ValueError
    return y


Expression = Callable[[Drawn, Any], Any]
VIEWS: dict[str, Expression] = {
    "T": lambda p, y: y.T,
    "transpose": lambda p, y: np.transpose(y, p.permutation),
    "swapaxes": lambda p, y: y.swapaxes(p.axis, p.other),
    "moveaxis": lambda p, y: np.moveaxis(y, p.axis, p.other),
    "rollaxis": lambda p, y: np.rollaxis(y, p.axis),
    "slices": lambda p, y: y[p.slices],
    "new axis": lambda p, y: y[:, None],
    "an element": lambda p, y: y[..., 0],
    "expand_dims": lambda p, y: np.expand_dims(y, p.axis),
    "squeeze": lambda p, y: np.squeeze(y),
    "reshape": lambda p, y: np.reshape(y, p.shape, order=p.reading),
    "method reshape": lambda p, y: y.reshape(p.shape),
    "ravel": lambda p, y: np.ravel(y, p.order),
    "method ravel": lambda p, y: y.ravel(order=p.order),
    "flip": lambda p, y: np.flip(y, p.axis),
    "split": lambda p, y: np.array_split(y, 2, p.axis)[0],
    "unstack": lambda p, y: y[(np.s_[:],) * (p.axis % p.x.ndim) + (0,)],
    "rot90": lambda p, y: np.rot90(y, p.number),
    "diagonal": lambda p, y: np.diagonal(y),
    "einsum": _einsum,
    "atleast_3d": lambda p, y: np.atleast_3d(y),
    "broadcast_to": lambda p, y: np.broadcast_to(y, (2, *y.shape)),
    "real": lambda p, y: np.real(y),
    "view": lambda p, y: y.view(),
}  # fmt: skip
COPIES: dict[str, Expression] = {
    "copy": lambda p, y: np.copy(y, order=p.order),
    "method copy": lambda p, y: y.copy(order=p.order),
    "flatten": lambda p, y: y.flatten(p.order),
    "astype": lambda p, y: y.astype(float, order=p.order, copy=p.flag),
    "asarray": lambda p, y: wnp.asarray(y, order=p.order),
    "array": lambda p, y: wnp.array(y, order=p.order, copy=p.flag or None),
    "ascontiguousarray": lambda p, y: wnp.ascontiguousarray(y),
    "asfortranarray": lambda p, y: wnp.asfortranarray(y),
    "require": lambda p, y: wnp.require(y, requirements=p.requirement),
    "indices": lambda p, y: y[p.indices],
    "take": lambda p, y: np.take(y, [0, -1], p.axis),
    "repeat": lambda p, y: np.repeat(y, 2, p.axis),
    "tile": lambda p, y: np.tile(y, (1,) * p.number + (2 - p.flag,)),
    "roll": lambda p, y: np.roll(y, 1, p.axis),
    "delete": lambda p, y: np.delete(y, (0, [0], np.s_[:1], [0, -1])[p.number], p.axis),
    "copied": lambda p, y: (copy.copy, copy.deepcopy)[p.flag](y),
    "vectorize": lambda p, y: wnp.vectorize(lambda number: 2.0 * number)(y),
    "insert": lambda p, y: np.insert(y, 0, 1.0, p.axis),
    "pad": lambda p, y: np.pad(y, 1),
    "concatenate": lambda p, y: np.concatenate([y, 2 * y], p.axis),
    "stack": lambda p, y: np.stack([y, y], p.axis),
    "vstack": lambda p, y: np.vstack([y, y]),
    "times": lambda p, y: 0.5 * y,
    "plus reversed": lambda p, y: y + y[::-1],
    "plus columns": lambda p, y: y + np.ones(p.x.shape, order="F"),
    "plus a row": lambda p, y: y + y[0],
    "minus": lambda p, y: -y,
    "where": lambda p, y: np.where(np.arange(p.x.shape[-1]) > 0, y, 1.0),
    "sum": lambda p, y: np.sum(y, p.axis, keepdims=p.flag),
    "mean": lambda p, y: y.mean(p.axis, keepdims=p.flag),
    "cumsum": lambda p, y: np.cumsum(y, p.axis),
    "diff": lambda p, y: np.diff(y, axis=p.axis),
    "gradient": lambda p, y: np.gradient(y, axis=p.axis),
    "zeros_like": lambda p, y: np.zeros_like(y, order=p.order) + y,
    "full_like": lambda p, y: np.full_like(y, 2.0, order=p.order),
    "zeros": lambda p, y: wnp.zeros(p.x.shape, order=p.major),
    "matmul": lambda p, y: y @ np.ones((p.x.shape[-1], 2)),
    "solve_triangular": lambda p, y: linalg.solve_triangular(np.tri(p.x.shape[0]) + 1.0, matrix(y)),
    "lu_solve": lambda p, y: linalg.lu_solve(linalg.lu_factor(np.eye(p.x.shape[0]) * 3 + 0.5), matrix(y)),
    "solve": lambda p, y: linalg.solve(np.eye(p.x.shape[0]) * 3 + 0.5, matrix(y)),
    "lfilter": lambda p, y: signal.lfilter([1.0, 0.5], [1.0, 0.2], y, axis=p.axis),
    "sosfilt": lambda p, y: signal.sosfilt([[1.0, 0.5, 0.1, 1.0, 0.2, 0.1]], y, axis=p.axis),
    "detrend": lambda p, y: signal.detrend(y, axis=p.axis),
    "dct": lambda p, y: fft.dct(y, axis=p.axis),
    "correlate1d": lambda p, y: ndimage.correlate1d(y, [1.0, 2.0], axis=p.axis),
    "tensordot": lambda p, y: np.tensordot(np.ones((2, p.x.shape[0])), y, 1),
}  # fmt: skip


# -- writes ----------------------------------------------------------------------------------------------


def _assigned(y: Any, index: Any, value: Any) -> None:
    y[index] = value


def _added(y: Any) -> None:
    y += 1.0


def _scaled(y: Any, index: Any) -> None:
    y[index] *= 0.5


def _flat(y: Any) -> None:
    y.flat[::2] = 3.0


WRITES: dict[str, Expression] = {
    "all": lambda p, y: _assigned(y, ..., 0.5 * y + 1.0),
    "a number": lambda p, y: _assigned(y, 0, 4.0),
    "a part": lambda p, y: _scaled(y, p.slices),
    "in place": lambda p, y: _added(y),
    "indices": lambda p, y: _assigned(y, p.indices, 2.0),
    "itself": lambda p, y: _assigned(y, np.s_[:], y[::-1]),
    "copyto": lambda p, y: np.copyto(y, 2.0 * y),
    "out": lambda p, y: np.multiply(y, 0.5, out=y),
    "flat": lambda p, y: _flat(y),
    "put": lambda p, y: np.put(y, [0, p.x.size // 2], [5.0, 6.0]),
    "fill_diagonal": lambda p, y: np.fill_diagonal(y, 7.0),
    "putmask": lambda p, y: np.putmask(y, np.arange(p.x.size).reshape(p.x.shape) % 3 == 0, 8.0),
    "fill": lambda p, y: y.fill(9.0),
}


class Program:
    """The program of a seed.

    Args:
        seed: of the draws.
        shape: of the input.

    Attributes:
        text: the names of the statements.
        views: how many writes reached other arrays.
    """

    def __init__(self, seed: int, shape: tuple[int, ...]) -> None:
        draw = np.random.default_rng([seed, 43])
        self.layout = list(LAYOUTS)[draw.integers(len(LAYOUTS))]
        self.x = draw.standard_normal(shape)
        self.text = [self.layout]
        self._statements: list[Statement] = []
        self.views = self.copies = 0
        arrays: list[Any] = [self.input()]
        while len(arrays) < 6:
            self._add(draw, arrays)

    def input(self, offset: float = 0.0) -> Array:
        """Return a new input, in the memory that was drawn."""
        return LAYOUTS[self.layout](self.x + offset)

    def _add(self, draw: Draw, arrays: list[Any]) -> None:
        """Draw a statement, and keep it if NumPy runs it."""
        position = int(len(arrays) - 1 - min(draw.geometric(0.6) - 1, len(arrays) - 1))
        x, statement = arrays[position], None
        if draw.random() < 0.4 and len(arrays) > 1:
            name = list(WRITES)[draw.integers(len(WRITES))]
            if (
                x.ndim
                and x.size
                and not any(n > 1 and not step for n, step in zip(x.shape, x.strides, strict=True))
            ):
                statement = self._write(WRITES[name], Drawn(draw, x), position)
        else:
            table = VIEWS if draw.random() < 0.6 else COPIES
            name = list(table)[draw.integers(len(table))]
            if x.ndim and x.size:
                statement = self._expression(table[name], Drawn(draw, x), position)
        if statement is None:
            return
        before = [np.array(y) for y in arrays]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                statement(arrays)
        except (ValueError, IndexError, TypeError, Warning):
            for y, kept in zip(arrays, before, strict=False):
                if y.flags.writeable:
                    y[...] = kept
            del arrays[len(before) :]
            return
        if not all(
            0 < np.size(y) <= 64 and isinstance(y, np.ndarray) and y.ndim <= 4 for y in arrays[len(before) :]
        ):
            del arrays[len(before) :]
            return
        if len(arrays) == len(before):
            reached = sum(not np.array_equal(y, kept) for y, kept in zip(arrays, before, strict=True))
            self.views += reached > 1
            self.copies += reached == 1
        self._statements.append(statement)
        self.text.append(f"{name} of {position}")

    def _expression(self, function: Expression, drawn: Drawn, position: int) -> Statement:
        return lambda arrays: arrays.append(function(drawn, arrays[position]))

    def _write(self, function: Expression, drawn: Drawn, position: int) -> Statement:
        def write(arrays: list[Any]) -> None:
            function(drawn, arrays[position])

        return write

    def __call__(self, x: Any) -> tuple[Any, ...]:
        """Run the program, and return all its arrays."""
        arrays = [x]
        for statement in self._statements:
            statement(arrays)
        return tuple(arrays)
