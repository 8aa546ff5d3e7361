"""Branches, loops and rules in plain Python: the meaning of ``wg``'s names for NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

import wengert as wg


def taken(tree: Any, i: int) -> Any:
    """Return example i of an array or a tuple of arrays."""
    return tuple(taken(item, i) for item in tree) if isinstance(tree, tuple) else tree[i]


def stacked(trees: Sequence[Any]) -> Any:
    """Join examples along a new first axis."""
    if isinstance(trees[0], tuple):
        return tuple(stacked(parts) for parts in zip(*trees, strict=True))
    return None if trees[0] is None else np.stack(trees)


def extent(tree: Any) -> int:
    return extent(tree[0]) if isinstance(tree, tuple) else len(tree)


def own(tree: Any) -> Any:
    """Return copies of arrays, because transformed functions do not return arrays of their caller."""
    if isinstance(tree, tuple):
        return tuple(map(own, tree))
    return tree.copy() if hasattr(tree, "copy") else tree


def cond(predicate: Any, true_fun: Any, false_fun: Any, *operands: Any) -> Any:
    return own(true_fun(*operands) if predicate else false_fun(*operands))


def scan(
    f: Any, carry: Any, xs: Any = None, length: Any = None, reverse: bool = False, unroll: int = 1
) -> Any:
    count = extent(xs) if length is None else length
    ys: list[Any] = []
    for i in reversed(range(count)) if reverse else range(count):
        carry, y = f(carry, None if xs is None else taken(xs, i))
        ys.append(y)
    return own(carry), stacked(ys[::-1] if reverse else ys)


def while_loop(unfinished: Any, step: Any, value: Any) -> Any:
    while unfinished(value):
        value = step(value)
    return own(value)


def fori_loop(lower: Any, upper: Any, body: Any, value: Any) -> Any:
    for i in range(lower, upper):
        value = body(i, value)
    return own(value)


def vmap(function: Any, in_axes: Any = 0) -> Any:
    def mapped(*arguments: Any) -> Any:
        axes = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(arguments)
        pairs = list(zip(arguments, axes, strict=True))
        count = next(np.shape(item)[axis] for item, axis in pairs if axis is not None)
        rows = [
            function(*(item if axis is None else np.take(item, i, axis) for item, axis in pairs))
            for i in range(count)
        ]
        return stacked(rows)

    return mapped


class Ruled:
    """A function whose rules are ignored."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, *arguments: Any) -> Any:
        return own(self.function(*arguments))

    def defvjp(self, *rules: Any) -> None: ...

    def defjvp(self, rule: Any) -> None: ...


def same(function: Any) -> Any:
    return lambda *arguments: own(function(*arguments))


#: The module ``wg`` of programs. Derivatives inside programs are those of the library, of plain arrays.
PLAIN = SimpleNamespace(
    cond=cond,
    scan=scan,
    while_loop=while_loop,
    fori_loop=fori_loop,
    vmap=vmap,
    checkpoint=same,
    jit=same,
    custom_vjp=Ruled,
    custom_jvp=Ruled,
    grad=wg.grad,
    jvp=wg.jvp,
    vjp=wg.vjp,
    special=wg.special,
    stop_gradient=own,
)


class Exact:
    """NumPy with every floating-point dtype in double precision."""

    float16 = float32 = np.float64

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


#: The names of a program that are not variables.
MODULES = ("np", "wg", "wnp", "__builtins__")


def namespace(exact: bool = False) -> dict[str, Any]:
    """Return the names of a program without Wengert."""
    numpy = Exact() if exact else np
    return {"np": numpy, "wg": PLAIN, "wnp": numpy}


def exactly(value: Any) -> Any:
    """Return a value in double precision, and integers unchanged."""
    return np.float64(value) if np.asarray(value).dtype.kind == "f" and type(value) is not float else value
