"""Messages about the arguments of a compiled function: their names, and missing ones."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.compiler.runtime.arguments import names_of
from wengert.engine.core import tree
from wengert.engine.core.errors import ArgumentError, DtypeError

X = np.ones(3)


def names(function: Any, *args: Any, static: tuple[int, ...] = (), **kwargs: Any) -> list[str]:
    rest = tuple(arg for number, arg in enumerate(args) if number not in static)
    return names_of(function, tree.flatten((rest, kwargs))[1], static)


def test_leaves_are_named_by_argument() -> None:
    def function(params: Any, mode: str, *rest: Any, scale: float = 1.0) -> None: ...

    assert names(function, {"w": [X, X]}) == ["argument 0 (params)['w'][0]", "argument 0 (params)['w'][1]"]
    assert names(function, X, X, (X,)) == ["argument 0 (params)", "argument 1 (mode)", "argument 2[0]"]
    assert names(lambda x, k, y: x, X, "k", X, static=(1,)) == ["argument 0 (x)", "argument 2 (y)"]
    assert names(lambda x, scale: x, X, scale={"a": X}) == ["argument 0 (x)", "argument scale['a']"]
    assert names(wg.grad(lambda loss, y: loss), X, X) == ["argument 0 (loss)", "argument 1 (y)"]


def test_errors_name_the_argument() -> None:
    with pytest.raises(
        DtypeError, match=r"got str in argument 1 \(y\)\['a'\]; name other arguments in static_argnums"
    ):
        wg.jit(lambda x, y: x)(X, {"a": "text"})
    with pytest.raises(DtypeError, match=r"got NoneType in argument 2 \(y\)|got object in argument 2 \(y\)"):
        wg.jit(lambda x, k, y: x, static_argnums=1)(X, "k", object())


@pytest.mark.parametrize("value", [np.eye(2).view(np.matrix), np.ma.array(X, mask=[True, False, False])])
def test_arrays_of_classes_of_their_own(value: Any) -> None:
    name = type(value).__name__
    compiled = wg.jit(lambda x, y=X: np.sum(x * x))
    compiled(np.asarray(value))
    with pytest.raises(
        DtypeError,
        match=rf"^jit: arrays must be plain .* got {name} in argument 0 \(x\); .* np\.(asarray|ma)",
    ):
        compiled(value)
    for transform in (wg.jit, wg.grad):
        with pytest.raises(
            DtypeError, match=rf"^multiply: arrays must be plain .* got {name}; .*test_arguments.py"
        ):
            transform(lambda x: np.sum(x * value))(np.asarray(value))


@pytest.mark.parametrize(
    "call",
    [
        lambda x, m: wg.vjp(np.sin, x)[1](m),
        lambda x, m: wg.jvp(np.sin, (x,), (m,)),
        lambda x, m: wg.linearize(np.sin, x)[1](m),
        lambda x, m: wg.vmap(np.sin)(m),
        lambda x, m: wg.scan(lambda c, row: (c, row), 0.0, m),
        lambda x, m: wg.while_loop(lambda v: False, lambda v: v, m),
        lambda x, m: wg.jit(lambda x: wg.cond(x[0, 0] > 0, lambda: x * m, lambda: x))(x),
    ],
)
def test_arrays_of_classes_of_their_own_in_transforms(call: Any) -> None:
    x = np.ones((2, 2))
    for value in (x.view(np.matrix), np.ma.array(x)):
        with pytest.raises(
            DtypeError, match=r"arrays must be plain NumPy arrays; got \w+; .*test_arguments.py"
        ):
            call(x, value)


@pytest.mark.parametrize("option", ["static_argnums", "donate"])
def test_options_beyond_the_arguments(option: str) -> None:
    with pytest.raises(
        ArgumentError, match=rf"jit: there is no argument 2; got {option}=2; positions count from 0"
    ):
        wg.jit(lambda x, y: x, **{option: 2})
    with pytest.raises(ArgumentError, match=rf"no argument 3; got {option}=\(3, 4\)"):
        wg.jit(lambda x, y, z: x, **{option: (1, 3, 4)})
    with pytest.raises(
        ArgumentError, match=rf"the call has 2 by position, and no argument 5; got {option}=5"
    ):
        wg.jit(wg.grad(lambda x, y: np.sum(x)), **{option: 5})(X, X)
    with pytest.raises(ArgumentError, match="the call has 1 by position, and no argument 1"):
        wg.jit(lambda *all_: all_[0], **{option: 1})(X)


def test_options_within_the_arguments() -> None:
    def scaled(x: Any, power: int = 2, *, shift: float = 0.0) -> Any:
        return x**power + shift

    for function in (
        scaled,
        functools.partial(scaled),
        functools.wraps(scaled)(lambda *a, **k: scaled(*a, **k)),
    ):
        compiled = wg.jit(function, static_argnums=1)
        np.testing.assert_array_equal(compiled(2 * X), 4 * X)  # left out: it has a default
        np.testing.assert_array_equal(compiled(2 * X, 3), 8 * X)
        np.testing.assert_array_equal(compiled(2 * X, power=3, shift=1.0), 9 * X)
    np.testing.assert_array_equal(wg.jit(lambda *all_: all_[0] + all_[1], static_argnums=1)(X, 2), 3 * X)

    @functools.wraps(scaled)
    def longer(first: Any, x: Any, y: Any, z: Any) -> Any:
        return first + x + y + z

    np.testing.assert_array_equal(wg.jit(longer, donate=3)(X, X, X, X.copy()), 4 * X)
