"""Random programs of views, copies, orders and writes, drawn while NumPy runs them.

A program is a list of statements. Each takes the arrays that there are, and adds one or writes into one. All are linear in the input up to a
constant, so that a difference of two runs is a derivative.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import wengert.numpy as wnp

Array = np.ndarray[Any, Any]
Statement = Callable[[list[Any]], None]
Draw = np.random.Generator
einsum: Any = np.einsum
ORDERS = ("C", "F", "A", "K")


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


# -- expressions: each draws its parameters for a shape, and returns a function of the array -----------------


def _axis(draw: Draw, x: Array) -> int:
    return int(draw.integers(-x.ndim, x.ndim))


def _shape(draw: Draw, x: Array) -> tuple[int, ...]:
    """Draw a shape of as many elements."""
    rest, shape = x.size, list[int]()
    while rest > 1 and len(shape) < 3:
        factors = [n for n in range(1, rest + 1) if rest % n == 0]
        shape.append(int(draw.choice(factors)))
        rest //= shape[-1]
    shape.append(-1)
    return tuple(shape)


def _slices(draw: Draw, x: Array) -> tuple[Any, ...]:
    choices = [np.s_[:], np.s_[:-1], np.s_[1:], np.s_[::-1], np.s_[::2]]
    return tuple(choices[draw.integers(len(choices))] for _ in range(draw.integers(1, x.ndim + 1)))


def _indices(draw: Draw, x: Array) -> tuple[Any, ...]:
    axis = int(draw.integers(x.ndim))
    index: Any = draw.integers(0, x.shape[axis], int(draw.integers(1, 3)))
    if draw.random() < 0.3:
        index = np.arange(x.shape[axis]) < max(1, x.shape[axis] - 1)
    elif draw.random() < 0.3:
        index = draw.integers(0, x.shape[axis], (2, 2))
    entries: list[Any] = [np.s_[:]] * axis + [index]
    if axis + 1 < x.ndim and draw.random() < 0.4 and index.dtype != bool:
        entries.append(draw.integers(0, x.shape[axis + 1], index.shape))
    return tuple(entries)


def _permutation(draw: Draw, x: Array) -> tuple[int, ...]:
    return tuple(draw.permutation(x.ndim).tolist())


def _order(draw: Draw, orders: tuple[str, ...] = ORDERS) -> Any:
    return orders[draw.integers(len(orders))]


def _einsum(draw: Draw, x: Array) -> Callable[[Any], Any]:
    letters = "abcd"[: x.ndim]
    result = "".join(letters[axis] for axis in _permutation(draw, x))
    order = _order(draw)
    match draw.integers(4):
        case 0:
            return lambda y: einsum(f"{letters}->{result}", y)
        case 1:
            return lambda y: einsum(f"{letters},{letters[0]}->{result}", y, np.arange(1.0, 1 + x.shape[0]))
        case 2:
            return lambda y: einsum(f"{letters},->{result}", y, 0.5, order=order)
        case _:
            return lambda y: einsum(
                f"{letters},{letters[-1]}z->z{letters[:-1]}", y, np.ones((x.shape[-1], 2))
            )


Expression = Callable[[Draw, Array], Callable[[Any], Any]]
VIEWS: dict[str, Expression] = {
    "T": lambda draw, x: lambda y: y.T,
    "transpose": lambda draw, x: lambda y, p=_permutation(draw, x): np.transpose(y, p),
    "swapaxes": lambda draw, x: lambda y, a=_axis(draw, x), b=_axis(draw, x): y.swapaxes(a, b),
    "moveaxis": lambda draw, x: lambda y, a=_axis(draw, x), b=_axis(draw, x): np.moveaxis(y, a, b),
    "rollaxis": lambda draw, x: lambda y, a=_axis(draw, x): np.rollaxis(y, a),
    "slices": lambda draw, x: lambda y, i=_slices(draw, x): y[i],
    "new axis": lambda draw, x: lambda y: y[:, None],
    "an element": lambda draw, x: lambda y: y[..., 0],
    "expand_dims": lambda draw, x: lambda y, a=_axis(draw, x): np.expand_dims(y, a),
    "squeeze": lambda draw, x: lambda y: np.squeeze(y),
    "reshape": lambda draw, x: lambda y, s=_shape(draw, x), o=_order(draw, ("C", "F", "A")): np.reshape(y, s, order=o),
    "method reshape": lambda draw, x: lambda y, s=_shape(draw, x): y.reshape(s),
    "ravel": lambda draw, x: lambda y, o=_order(draw): np.ravel(y, o),
    "method ravel": lambda draw, x: lambda y, o=_order(draw): y.ravel(order=o),
    "flip": lambda draw, x: lambda y, a=_axis(draw, x): np.flip(y, a),
    "split": lambda draw, x: lambda y, a=_axis(draw, x): np.array_split(y, 2, a)[0],
    "unstack": lambda draw, x: lambda y, a=_axis(draw, x): y[(np.s_[:],) * (a % x.ndim) + (0,)],
    "rot90": lambda draw, x: lambda y, k=int(draw.integers(4)): np.rot90(y, k),
    "diagonal": lambda draw, x: lambda y: np.diagonal(y),
    "einsum": _einsum,
    "atleast_3d": lambda draw, x: lambda y: np.atleast_3d(y),
    "broadcast_to": lambda draw, x: lambda y: np.broadcast_to(y, (2, *y.shape)),
    "real": lambda draw, x: lambda y: np.real(y),
    "view": lambda draw, x: lambda y: y.view(),
}  # fmt: skip
COPIES: dict[str, Expression] = {
    "copy": lambda draw, x: lambda y, o=_order(draw): np.copy(y, order=o),
    "method copy": lambda draw, x: lambda y, o=_order(draw): y.copy(order=o),
    "flatten": lambda draw, x: lambda y, o=_order(draw): y.flatten(o),
    "astype": lambda draw, x: lambda y, o=_order(draw), c=bool(draw.integers(2)): y.astype(float, order=o, copy=c),
    "asarray": lambda draw, x: lambda y, o=_order(draw, (*ORDERS, "C", "F")): wnp.asarray(y, order=o),
    "array": lambda draw, x: lambda y, o=_order(draw), c=[True, None][draw.integers(2)]: wnp.array(y, order=o, copy=c),
    "ascontiguousarray": lambda draw, x: wnp.ascontiguousarray,
    "asfortranarray": lambda draw, x: wnp.asfortranarray,
    "require": lambda draw, x: lambda y, r=["C", "F", "W"][draw.integers(3)]: wnp.require(y, requirements=r),
    "indices": lambda draw, x: lambda y, i=_indices(draw, x): y[i],
    "take": lambda draw, x: lambda y, a=_axis(draw, x): np.take(y, [0, -1], a),
    "repeat": lambda draw, x: lambda y, a=_axis(draw, x): np.repeat(y, 2, a),
    "tile": lambda draw, x: lambda y: np.tile(y, 2),
    "roll": lambda draw, x: lambda y, a=_axis(draw, x): np.roll(y, 1, a),
    "delete": lambda draw, x: lambda y, a=_axis(draw, x): np.delete(y, 0, a),
    "insert": lambda draw, x: lambda y, a=_axis(draw, x): np.insert(y, 0, 1.0, a),
    "pad": lambda draw, x: lambda y: np.pad(y, 1),
    "concatenate": lambda draw, x: lambda y, a=_axis(draw, x): np.concatenate([y, 2 * y], a),
    "stack": lambda draw, x: lambda y, a=_axis(draw, x): np.stack([y, y], a),
    "vstack": lambda draw, x: lambda y: np.vstack([y, y]),
    "times": lambda draw, x: lambda y: 0.5 * y,
    "plus reversed": lambda draw, x: lambda y: y + y[::-1],
    "plus columns": lambda draw, x: lambda y: y + np.ones(x.shape, order="F"),
    "plus a row": lambda draw, x: lambda y: y + y[0],
    "minus": lambda draw, x: lambda y: -y,
    "where": lambda draw, x: lambda y: np.where(np.arange(x.shape[-1]) > 0, y, 1.0),
    "sum": lambda draw, x: lambda y, a=_axis(draw, x), k=bool(draw.integers(2)): np.sum(y, a, keepdims=k),
    "mean": lambda draw, x: lambda y, a=_axis(draw, x), k=bool(draw.integers(2)): y.mean(a, keepdims=k),
    "cumsum": lambda draw, x: lambda y, a=_axis(draw, x): np.cumsum(y, a),
    "diff": lambda draw, x: lambda y, a=_axis(draw, x): np.diff(y, axis=a),
    "gradient": lambda draw, x: lambda y, a=_axis(draw, x): np.gradient(y, axis=a),
    "zeros_like": lambda draw, x: lambda y, o=_order(draw): np.zeros_like(y, order=o) + y,
    "full_like": lambda draw, x: lambda y, o=_order(draw): np.full_like(y, 2.0, order=o),
    "zeros": lambda draw, x: lambda y, o=_order(draw, ("C", "F")): wnp.zeros(x.shape, order=o),
    "matmul": lambda draw, x: lambda y: y @ np.ones((x.shape[-1], 2)),
    "tensordot": lambda draw, x: lambda y: np.tensordot(np.ones((2, x.shape[0])), y, 1),
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


Write = Callable[[Draw, Array], Callable[[Any], Any]]
WRITES: dict[str, Write] = {
    "all": lambda draw, x: lambda y: _assigned(y, ..., 0.5 * y + 1.0),
    "a number": lambda draw, x: lambda y: _assigned(y, 0, 4.0),
    "a part": lambda draw, x: lambda y, i=_slices(draw, x): _scaled(y, i),
    "in place": lambda draw, x: _added,
    "indices": lambda draw, x: lambda y, i=_indices(draw, x): _assigned(y, i, 2.0),
    "itself": lambda draw, x: lambda y: _assigned(y, np.s_[:], y[::-1]),
    "copyto": lambda draw, x: lambda y: np.copyto(y, 2.0 * y),
    "out": lambda draw, x: lambda y: np.multiply(y, 0.5, out=y),
    "flat": lambda draw, x: _flat,
    "put": lambda draw, x: lambda y: np.put(y, [0, x.size // 2], [5.0, 6.0]),
    "fill_diagonal": lambda draw, x: lambda y: np.fill_diagonal(y, 7.0),
    "putmask": lambda draw, x: lambda y: np.putmask(y, np.arange(x.size).reshape(x.shape) % 3 == 0, 8.0),
    "fill": lambda draw, x: lambda y: y.fill(9.0),
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
                statement = self._write(WRITES[name](draw, x), position)
        else:
            table = VIEWS if draw.random() < 0.6 else COPIES
            name = list(table)[draw.integers(len(table))]
            if x.ndim and x.size:
                statement = self._expression(table[name](draw, x), position)
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

    def _expression(self, function: Callable[[Any], Any], position: int) -> Statement:
        return lambda arrays: arrays.append(function(arrays[position]))

    def _write(self, function: Callable[[Any], Any], position: int) -> Statement:
        def write(arrays: list[Any]) -> None:
            function(arrays[position])

        return write

    def __call__(self, x: Any) -> tuple[Any, ...]:
        """Run the program, and return all its arrays."""
        arrays = [x]
        for statement in self._statements:
            statement(arrays)
        return tuple(arrays)
