"""Hints where a number is needed and only a type is known, for the user's own line."""

from __future__ import annotations

import contextlib
import io
import math
from collections.abc import Callable
from math import hypot as length
from typing import Any

import numpy as np
import pytest

import wengert as wg
import wengert.numpy as wnp
from wengert.engine.core.errors import (
    ConcreteError,
    DtypeError,
    LeakError,
    LostDerivativeError,
    ScalarError,
    UnsupportedError,
)

X = np.array([3.0, 1.0, 2.0])
TABLE = [1.0, 2.0, 4.0]
SIZE = "a size must be known: name it in static_argnums of wg.jit, or take it from a shape"
AS_IT_IS = "leave an array as it is, or write wengert.numpy.asarray"


def loop(x: Any, n: Any) -> Any:
    while n > 0:
        n = n - 1
    return x


def into_slice(x: Any, n: Any) -> Any:
    buffer = np.zeros(3)
    buffer[:n] = 1.0
    return x + buffer


INSTEAD: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "math": (lambda x, n: math.sin(x[0]), "write np.sin for math.sin."),
    "math by another name": (lambda x, n: length(x[0], x[1]), "write np.hypot for math.hypot."),
    "math unlike NumPy's": (lambda x, n: math.remainder(x[0], 2.0), "write it with NumPy: math computes"),
    "math of special functions": (lambda x, n: math.erf(x[0]), "write wengert.special.erf for math.erf."),
    "power": (lambda x, n: math.pow(x[0], 2), "write np.power for math.pow."),
    "over lines": (
        lambda x, n: (
            1.0
            + (
                math.exp(
                    x[0],
                )
            )
            * 2
        ),
        "write np.exp for math.exp.",
    ),
    "float": (lambda x, n: float(x[0]), "leave x as it is, or write x.astype(float)"),
    "int": (lambda x, n: int(x[0]), "write x.astype(int)"),
    "int of an integer": (lambda x, n: int(n), "write x.astype(int)"),
    "range": (lambda x, n: [x for _ in range(n)], "write wg.fori_loop(0, n, body, init)"),
    "if": (lambda x, n: x if n > 0 else -x, "write np.where(condition, a, b), wg.cond("),
    "while": (loop, "or wg.while_loop for while"),
    "maximum": (lambda x, n: max(x), "write np.max for max, np.maximum of two values"),
    "sorted": (lambda x, n: sorted(x), "write np.sort for sorted"),
    "item": (lambda x, n: x[0].item(), "return the array and convert it outside"),
    "arange": (lambda x, n: np.arange(n), SIZE),
    "step": (lambda x, n: np.arange(0.0, 1.0, x[0]), SIZE),
    "zeros": (lambda x, n: np.zeros(n), SIZE),
    "zeros of Wengert's": (lambda x, n: wnp.zeros((2, n)), SIZE),
    "full": (lambda x, n: np.full((n, 2), 1.0), SIZE),
    "linspace": (lambda x, n: np.linspace(0, 1, n), SIZE),
    "tile": (lambda x, n: np.tile(x, n), SIZE),
    "repeat": (lambda x, n: np.repeat(TABLE, n), SIZE),
    "reshape": (lambda x, n: x.reshape(n, 1), "a size or a count must be known: name it in static_argnums"),
    "arange of Wengert's": (lambda x, n: wnp.arange(n), "write start + step * np.arange(n) for a known n"),
    "slice": (lambda x, n: x[:n], "the length of a slice must be known: write x[start + np.arange(length)]"),
    "end of a slice": (lambda x, n: x[n:], "or name n in static_argnums of wg.jit"),
    "slice made before": (lambda x, n: x[slice(0, n)], "or name n in static_argnums of wg.jit"),
    "slice of a list": (lambda x, n: TABLE[slice(n)], "or name n in static_argnums of wg.jit"),
    "slice by a float": (lambda x, n: x[: x[1]], "or name n in static_argnums of wg.jit"),
    "written slice": (
        lambda x, n: x.copy().__setitem__(slice(n), 0.0),
        "or name n in static_argnums of wg.jit",
    ),
    "written slice of a buffer": (into_slice, "or name n in static_argnums of wg.jit"),
    "element of a list": (lambda x, n: TABLE[n], "write wengert.numpy.take(x, i)"),
    "element of an array": (lambda x, n: X[n], "write wengert.numpy.take(x, i)"),
    "column of an array": (lambda x, n: X[None][:, n], "write wengert.numpy.take(x, i)"),
    "repeated list": (lambda x, n: [0.0] * n, "name it in static_argnums of wg.jit"),
    "repeated tuple": (lambda x, n: n * (0.0, 1.0), "name it in static_argnums of wg.jit"),
    "asarray": (lambda x, n: np.asarray(x), AS_IT_IS),
    "ascontiguousarray": (lambda x, n: np.ascontiguousarray(x), AS_IT_IS),
    "array": (lambda x, n: np.array([x[0], 1.0]), "write wengert.numpy.array for np.array, np.stack"),
    "vectorize": (
        lambda x, n: np.vectorize(lambda x: x + 1)(x),
        "write wg.vmap(f)(x), f of whole arrays, or wengert.numpy.vectorize(f)",
    ),
    "bincount": (lambda x, n: np.bincount(x.astype(int)), "give minlength=, below which all lie"),
    "index": (lambda x, n: x[x[0]], "must hold integers|an integer is needed"),
}


@pytest.mark.parametrize("name", INSTEAD)
@pytest.mark.usefixtures("without_substitutes")
def test_the_way_out_is_named(name: str) -> None:
    function, remedy = INSTEAD[name]
    for compiled in (wg.jit(function), wg.jit(lambda x, n: wg.checkpoint(function)(x, n))):
        with pytest.raises((TypeError, IndexError)) as caught:
            compiled(X, 2)
        assert isinstance(caught.value, wg.WengertError)
        assert any(leaf in str(caught.value) for leaf in remedy.split("|"))
        assert "[test_suggestions.py:" in str(caught.value)


def written(x: Any) -> Any:
    buffer = np.zeros(3)
    buffer[:2] = x[1:]
    return buffer


FOLLOWED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "math": (lambda x: math.sin(x[0]), "write np.sin for math.sin"),
    "copy": (lambda x: np.array(x), "x.copy() for a copy"),
    "asarray": (lambda x: np.asarray(x), AS_IT_IS),
    "written": (
        written,
        "with np.zeros_like(x) of a differentiated or traced value x (an argument,",
    ),
}


@pytest.mark.parametrize("name", FOLLOWED)
@pytest.mark.usefixtures("without_substitutes")
def test_it_is_named_where_a_derivative_would_be_lost(name: str) -> None:
    function, remedy = FOLLOWED[name]
    with pytest.raises(LostDerivativeError) as caught:
        wg.grad(lambda x: np.sum(function(x)))(X)
    assert remedy in str(caught.value)
    assert "or give up the derivative" in str(caught.value)


@pytest.mark.parametrize("transform", [wg.grad, wg.jit])
@pytest.mark.parametrize("ask", [float, np.asarray, lambda x: x.item()])
def test_a_value_that_leaked_says_so(transform: Any, ask: Callable[[Any], Any]) -> None:
    kept: list[Any] = []
    transform(lambda x: (kept.append(x), x * x)[1])(2.0)
    with pytest.raises(LeakError, match=r"of a (grad|jit) that has ended"):
        ask(kept[0])


@pytest.mark.parametrize("transform", [wg.grad, wg.jit])
def test_the_hint_for_masked_arrays_gives_their_sum(transform: Any) -> None:
    x = np.ma.masked_array([1.0, 2.0, 3.0], [False, True, False])
    with pytest.raises(DtypeError, match="without the masked elements") as caught:
        transform(np.sum)(x)
    advised = str(caught.value).split("write ")[1].split(" for sums")[0]
    assert np.sum(eval(advised)) == np.sum(x)


def test_the_hints_work() -> None:
    def advised(x: Any, n: Any) -> Any:
        part = x[n + np.arange(2)]
        first = np.where(np.arange(len(x)) < n, x, 0)
        total = wg.fori_loop(0, n, lambda i, total: total + x[i], 0.0)
        entries = wnp.take(TABLE, n), wnp.array(TABLE)[n], np.sort(x), np.max(x), wnp.asarray([x[0], 1.0])
        return part, first, total, entries, n.astype(float)

    actual = wg.jit(advised)(X, 1)
    expected = X[1:3], np.array([3.0, 0, 0]), 3.0, (2.0, 2.0, np.sort(X), 3.0, np.array([3.0, 1.0])), 1.0
    for leaf, other in zip(wg.tree.leaves(actual), wg.tree.leaves(expected), strict=True):
        np.testing.assert_array_equal(leaf, other)
    static = wg.jit(lambda x, n: (np.zeros(n) + x[:n], [x[0]] * n), static_argnums=1)
    assert [len(part) for part in static(X, 2)] == [2, 2]


@pytest.mark.usefixtures("without_substitutes")
def test_where_there_is_no_source() -> None:
    names: dict[str, Any] = {}
    exec("def f(x):\n    import math\n    return math.sin(x)", names)
    with pytest.raises(
        ConcreteError, match=r"such as np\.sin for math\.sin; return the value and convert it"
    ):
        wg.jit(names["f"])(1.0)


def test_errors_of_the_users_own_stay() -> None:
    def wrong(x: Any) -> Any:
        with contextlib.suppress(TypeError):
            float(x)
        raise TypeError("of my own")

    with pytest.raises(TypeError, match=r"^of my own$"):
        wg.jit(wrong)(1.0)


UNKNOWN: dict[str, Callable[[Any], Any]] = {
    r"abs \(vectorized\)": np.frompyfunc(abs, 1, 1),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_functions_that_are_not_known_do_not_speak_of_derivatives(name: str) -> None:
    """The hint of a custom rule appears only for known numbers, where it can help."""
    function = UNKNOWN[name]
    outside = rf"^{name}: this needs concrete values, and a \w+ knows .* or compute it outside and pass .*\[test_sugg"
    for transform in (wg.jit, wg.trace, lambda f: wg.jit(wg.grad(lambda x: np.sum(f(x))))):
        with pytest.raises(UnsupportedError, match=outside):
            transform(function)(X)
    with pytest.raises(UnsupportedError, match=outside):
        wg.vmap(function)(X[None])
    with pytest.raises(
        UnsupportedError, match=rf"^{name}: Wengert has no derivative for this; .* wg.custom_vjp"
    ):
        wg.grad(lambda x: np.sum(function(x)))(X)


def test_a_scalar_is_not_iterable_as_python_has_it() -> None:
    for use in (len, iter, list):
        with pytest.raises(ScalarError) as caught:
            wg.jit(lambda x: use(x))(1.0)  # noqa: B023
        assert isinstance(caught.value, TypeError)
        assert isinstance(caught.value, ValueError)
    assert wg.jit(lambda x: x if np.iterable(x) else 2 * x)(1.0) == 2.0


# -- functions without derivatives -------------------------------------------------------------------------

PLAIN: dict[str, tuple[Callable[[Any], Any], str, str]] = {
    "save": (
        lambda x: np.save(io.BytesIO(), x),
        "save its numbers: wg.stop_gradient(x)",
        "return it and save the result",
    ),
    "savez": (
        lambda x: np.savez(io.BytesIO(), x=x),
        "save its numbers: wg.stop_gradient(x)",
        "return it and",
    ),
    "savetxt": (
        lambda x: np.savetxt(io.BytesIO(), x),
        "save its numbers: wg.stop_gradient(x)",
        "return it and",
    ),
    "busday_offset": (lambda x: np.busday_offset(x, 1), "wg.stop_gradient(x)", "compute it"),
}


@pytest.mark.parametrize("name", PLAIN)
def test_functions_without_derivatives_have_their_own_message(name: str) -> None:
    call, known, unknown = PLAIN[name]
    for run, says in (
        (lambda: wg.grad(lambda x: (call(x), np.sum(x))[1])(X), known),
        (lambda: wg.jit(call)(X), unknown),
    ):
        with pytest.raises(UnsupportedError) as caught:
            run()
        assert str(caught.value).startswith(f"np.{name}: ")
        assert says in str(caught.value)
        assert "Wengert has no derivative" not in str(caught.value)


def test_the_numbers_of_a_value_are_saved() -> None:
    file = io.BytesIO()
    wg.grad(lambda x: (np.save(file, wg.stop_gradient(x)), np.sum(x))[1])(X)
    file.seek(0)
    np.testing.assert_array_equal(np.load(file), X)


# -- lists of values ---------------------------------------------------------------------------------------

LISTS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "one argument": (lambda x: np.sum([x[0], x[1]]), "write np.sum(np.stack([...])), "),
    "an option": (lambda x: np.sum([x[0], x[1]], axis=0), "write np.sum(np.stack([...]), ...), "),
    "first of two": (lambda x: np.dot([x[0], x[1]], [1.0, 2.0]), "write np.dot(np.stack([...]), ...), "),
    "second of two": (lambda x: np.dot(X[:2], [x[0], x[1]]), "write np.dot(..., np.stack([...])), "),
    "two of three": (
        lambda x: np.where([x[0] > 0, x[1] > 0], [x[0], 1.0], 0.0),
        "write np.where(np.stack([...]), np.stack([...]), ...), ",
    ),
    "by name": (lambda x: (lambda rows: np.dot(rows, X[:2]))([x[0], x[1]]), "np.dot(np.stack([...]), ...), "),
    "made by a call": (lambda x: np.dot(list(x), X), "write np.dot(np.stack([...]), ...), "),
    "comprehension": (lambda x: np.dot(X, [leaf for leaf in x]), "write np.dot(..., np.stack([...])), "),  # noqa: C416
    "nested": (
        lambda x: np.linalg.solve([[x[0], 0.0], [0.0, x[1]]], X[:2]),
        "write np.linalg.solve(wengert.numpy.array([...]), ...), ",
    ),
}


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.usefixtures("without_substitutes")
def test_the_advice_for_lists_keeps_the_other_arguments(name: str) -> None:
    function, remedy = LISTS[name]
    for transform in (wg.grad, wg.jit):
        with pytest.raises((LostDerivativeError, ConcreteError)) as caught:
            transform(lambda x: np.sum(function(x)))(X)
        assert remedy in str(caught.value)


@pytest.mark.usefixtures("without_substitutes")
def test_the_functions_of_linear_algebra_that_take_lists_are_named() -> None:
    with pytest.raises(LostDerivativeError, match=r"wengert\.numpy\.linalg\.det takes lists as they are"):
        wg.grad(lambda x: np.linalg.det([[x[0], 0.0], [0.0, x[1]]]))(X)
    slope = wg.grad(lambda x: wnp.linalg.det([[x[0], 0.0], [0.0, x[1]]]))(X)
    np.testing.assert_allclose(slope, [X[1], X[0], 0.0])


# -- where there is no jit ---------------------------------------------------------------------------------

WITHOUT_JIT: dict[str, tuple[Callable[[], Any], str]] = {
    "step in grad": (
        lambda: wg.grad(lambda a: np.sum(np.arange(0.0, 1.0, a)))(0.25),
        "write start + step * np.arange(n) for a known n; a size must be known: let it be a number that no transform",
    ),
    "end in jvp": (
        lambda: wg.jvp(lambda a: np.arange(a), (2.0,), (1.0,)),
        "a number that no transform follows",
    ),
    "slice": (
        lambda: wg.vmap(lambda i: X[i : i + 2])(np.arange(2)),
        "or let n be a number that no transform",
    ),
    "slice of a value": (
        lambda: wg.vmap(lambda x, i: x[i : i + 2], in_axes=(None, 0))(X, np.arange(2)),
        "write x[start + np.arange(length)] for a part that starts anywhere",
    ),
    "zeros": (
        lambda: wg.vmap(lambda i: np.zeros(i))(np.arange(2)),
        "let it be a number that no transform follows",
    ),
    "arange of Wengert's": (
        lambda: wg.vmap(lambda i: wnp.arange(i))(np.arange(2)),
        "a number that no transform",
    ),
    "range": (
        lambda: wg.vmap(lambda i: sum(range(i)))(np.arange(2)),
        "or let n be a number that no transform",
    ),
    "int": (lambda: wg.vmap(lambda i: int(i))(np.arange(2)), "let it be a number that no transform follows"),
    "reshape": (
        lambda: wg.vmap(lambda i: X.reshape(i, 3))(np.arange(2)),
        "let it be a number that no transform",
    ),
    "bins": (lambda: wg.vmap(lambda i: np.histogram(X, bins=i))(np.arange(2)), "let it be a number that no"),
    "tolerance": (
        lambda: wg.vmap(lambda t: np.linalg.pinv(t * np.eye(2), t))(np.ones(2)),
        "let it be a number",
    ),
}


@pytest.mark.parametrize("name", WITHOUT_JIT)
@pytest.mark.usefixtures("without_substitutes")
def test_static_arguments_are_advised_where_there_are_some(name: str) -> None:
    call, remedy = WITHOUT_JIT[name]
    with pytest.raises((LostDerivativeError, ConcreteError)) as caught:
        call()
    assert remedy in str(caught.value)
    assert "static_argnums" not in str(caught.value)


def test_sizes_that_no_transform_follows_work() -> None:
    n, x = 2, np.arange(2)
    assert wg.grad(lambda a: np.sum(a * np.arange(n)))(0.25) == 1.0
    np.testing.assert_array_equal(wg.vmap(lambda i: wnp.array(X)[i + np.arange(n)])(x), [X[:2], X[1:]])
    assert wg.jit(wg.grad(lambda x: np.sum(np.zeros_like(x) + x)))(1.0) == 1.0
