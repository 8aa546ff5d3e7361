"""Every primitive where its slope is infinite, undefined or a choice: all modes and nestings agree."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.draws import CASES
from wengert import special
from wengert.engine.primitive import REGISTRY, Partials, Primitive

INF, NAN = np.inf, np.nan
NUMBERS = (-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0)
PARAMS: dict[str, list[dict[str, Any]]] = {
    "carlson": [{"exponents": (0.5, 0.5, 0.5, 1.0), "power": 0}],
    "polygamma": [{"order": 1}],
    "i_over_power": [{"order": n} for n in (0, 1, 2)],
    "digamma_difference": [{"order": 0}],
    "integer_power": [{"exponent": n} for n in (-2, -1, 0, 1, 2, 3)],
}
Function = Callable[..., Any]


def stated() -> dict[str, tuple[Function, Partials]]:
    """Return all primitives that state partials, as functions of their operands."""
    found: dict[str, tuple[Function, Partials]] = {}
    for primitive in REGISTRY:
        if isinstance(primitive.derivative, Partials):
            for params in PARAMS.get(primitive.name, [{}]):
                name = "".join((primitive.name, *(f" {value}" for value in params.values())))
                found[name] = (with_params(primitive, params), primitive.derivative)
    return found


def with_params(primitive: Primitive, params: dict[str, Any]) -> Function:
    return lambda *operands: primitive(*operands, **params)


STATED = stated()


def grid(rule: Partials) -> list[np.ndarray]:
    """Return an array for each operand: all combinations of numbers, and the points that the primitive states."""
    count = len(rule.partials)
    points = [*itertools.product(NUMBERS, repeat=count), *rule.singular, *rule.kinks]
    return [np.array(column) for column in zip(*points, strict=True)]


# -- derivatives of elementwise functions, by every mode ---------------------------------------------------


def reverse(f: Function, i: int) -> Function:
    return lambda *x: wg.grad(lambda *x: np.sum(f(*x)), i)(*x)


def backward(f: Function, i: int) -> Function:
    def slope(*x: Any) -> Any:
        value, pullback = wg.vjp(f, *x)
        return pullback(np.ones_like(value))[i]

    return slope


def forward(f: Function, i: int) -> Function:
    return lambda *x: wg.jvp(f, x, directions(x, i))[1]


def linearized(f: Function, i: int) -> Function:
    return lambda *x: wg.linearize(f, *x)[1](*directions(x, i))


def directions(x: Sequence[Any], i: int) -> tuple[Any, ...]:
    return tuple(np.ones_like(one) if i == j else np.zeros_like(one) for j, one in enumerate(x))


def batched(f: Function, i: int) -> Function:
    return wg.vmap(wg.grad(f, i))


def batched_forward(f: Function, i: int) -> Function:
    return wg.vmap(forward(f, i))


FIRST = {
    "reverse": reverse,
    "vjp": backward,
    "forward": forward,
    "linearize": linearized,
    "vmap of reverse": batched,
    "vmap of forward": batched_forward,
}
NESTED = {
    "forward over reverse": (forward, reverse),
    "reverse over reverse": (reverse, reverse),
    "reverse over forward": (reverse, forward),
    "forward over forward": (forward, forward),
    "forward over linearize": (forward, linearized),
}


def gradient(mode: Function, f: Function, count: int) -> Function:
    return lambda *x: [mode(f, i)(*x) for i in range(count)]


def hessian(outer: Function, inner: Function, f: Function, count: int) -> Function:
    return lambda *x: [outer(inner(f, i), j)(*x) for i in range(count) for j in range(count)]


def whole_hessian(f: Function, count: int) -> Function:
    """Return the second derivatives at each point by `wg.hessian`."""
    every = wg.hessian(f, tuple(range(count)))
    return lambda *x: [one for row in wg.vmap(every)(*x) for one in row]


def assert_same(found: Any, expected: Any, said: str) -> None:
    np.testing.assert_allclose(np.array(found), np.array(expected), rtol=1e-9, atol=1e-13, err_msg=said)


@pytest.fixture(autouse=True)
def silent() -> Any:
    with np.errstate(all="ignore"):
        yield


@pytest.mark.parametrize("name", STATED)
def test_each_mode_and_nesting_gives_the_same_derivatives(name: str) -> None:
    f, rule = STATED[name]
    points, count = grid(rule), len(rule.partials)
    if name == "log_f_density":  # outside of its domain the order of products decides between NaN and 0
        inside = np.all([column > 0 for column in points], axis=0)
        points = [column[inside] for column in points]
    first = gradient(reverse, f, count)(*points)
    for said, mode in FIRST.items():
        assert_same(gradient(mode, f, count)(*points), first, said)
    second = hessian(forward, reverse, f, count)(*points)
    for said, (outer, inner) in NESTED.items():
        assert_same(hessian(outer, inner, f, count)(*points), second, said)
    assert_same(whole_hessian(f, count)(*points), second, "hessian")


def by_reverse(f: Function, count: int) -> Function:
    """Return the first derivatives, and the second ones of a pair of operands in one order."""
    pairs = [(i, j) for i in range(count) for j in range(i + 1)]
    second = lambda *x: [reverse(forward(f, i), j)(*x) for i, j in pairs]  # noqa: E731
    return lambda *x: (gradient(reverse, f, count)(*x), second(*x))


def by_forward(f: Function, count: int) -> Function:
    """Return the same, and the second derivatives in the other order."""
    pairs = [(i, j) for i in range(count) for j in range(i, count)]
    second = lambda *x: [forward(reverse(f, i), j)(*x) for i, j in pairs]  # noqa: E731
    return lambda *x: (gradient(forward, f, count)(*x), second(*x))


@pytest.mark.parametrize("share", range(8))
@pytest.mark.parametrize("turn", [0, 1])
def test_compiled_derivatives_are_those_of_eager_ones(share: int, turn: int) -> None:
    """A share of the primitives is compiled at once: every second one by reverse mode, the others by forward mode."""
    names = [*STATED][share::8]
    points = {name: grid(STATED[name][1]) for name in names}
    parts = {
        name: (by_forward if (number + turn + CASES) % 2 else by_reverse)(f, len(rule.partials))
        for number, (name, (f, rule)) in enumerate((name, STATED[name]) for name in names)
    }

    def function(points: dict[str, list[Any]]) -> dict[str, Any]:
        return {name: parts[name](*points[name]) for name in parts}

    found, expected = wg.jit(function)(points), function(points)
    for name in names:
        for one, other in zip(found[name], expected[name], strict=True):
            assert_same(one, other, name)


# -- what a primitive must state ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", STATED)
def test_singular_points_are_stated(name: str) -> None:
    """A primitive states the points at which a partial is infinite or NaN, and no others."""
    f, rule = STATED[name]
    points = np.array(grid(rule)).T
    slopes = np.array(gradient(reverse, f, len(rule.partials))(*points.T)).T
    broken = ~np.isfinite(slopes).all(axis=1)
    if broken.any():
        assert rule.singular, f"singular at {points[broken][0]}, which the primitive does not state"
    if rule.singular and name.partition(" ")[2] not in ("0", "1", "2", "3"):
        at_stated = broken[len(NUMBERS) ** len(rule.partials) :][: len(rule.singular)]
        assert at_stated.all(), f"regular at {np.array(rule.singular)[~at_stated]}"


@pytest.mark.parametrize("name", STATED)
def test_kinks_are_stated(name: str) -> None:
    """A primitive states the points at which the one-sided differences disagree, and no others."""
    f, rule = STATED[name]
    points = np.array([*itertools.product(NUMBERS, repeat=len(rule.partials)), *rule.kinks])
    is_kink = np.any([differs(f, points.T, i) for i in range(len(rule.partials))], axis=0)
    if is_kink.any() and not rule.singular:
        assert rule.kinks, f"a kink at {points[is_kink][0]}, which the primitive does not state"
    assert is_kink[len(points) - len(rule.kinks) :].all()


def differs(f: Function, points: np.ndarray, i: int, step: float = 1e-6) -> Any:
    """Return at which points the one-sided slopes of f in operand i differ, or f jumps."""
    above, below = points.copy(), points.copy()
    above[i] += step
    below[i] -= step
    here = f(*points)
    after, before = (f(*above) - here) / step, (here - f(*below)) / step
    return (np.abs(after - before) > 1e-2 + 1e-3 * np.abs(after)) | (np.abs(after) > 1e4)


# -- products along a path ---------------------------------------------------------------------------------


def pair(x: Any) -> Any:
    return np.stack([x, x])


#: Programs in which an infinite slope meets a zero one: the function, the point, the slope.
PATHS: dict[str, tuple[Function, float, float]] = {
    "sqrt(x * x)": (lambda x: np.sqrt(x * x), 0.0, 0.0),
    "sqrt(x) * 0": (lambda x: np.sqrt(x) * 0.0, 0.0, 0.0),
    "sqrt(x) ** 2": (lambda x: np.sqrt(x) ** 2, 0.0, 0.0),
    "sqrt(x) * sqrt(x)": (lambda x: np.sqrt(x) * np.sqrt(x), 0.0, 0.0),
    "sqrt(1 - cos x)": (lambda x: np.sqrt(1 - np.cos(x)), 0.0, 0.0),
    "sqrt(sin(x) ** 2)": (lambda x: np.sqrt(np.sin(x) ** 2), 0.0, 0.0),
    "sqrt(1 - tanh x)": (lambda x: np.sqrt(1 - np.tanh(x)), 400.0, 0.0),
    "cbrt(x ** 3)": (lambda x: np.cbrt(x**3), 0.0, 0.0),
    "exp(log x)": (lambda x: np.exp(np.log(x)), 0.0, 0.0),
    "log(x) * 0": (lambda x: np.log(x) * 0.0, 0.0, 0.0),
    "x * sqrt(x)": (lambda x: x * np.sqrt(x), 0.0, 0.0),
    "x * log(x)": (lambda x: x * np.log(x), 0.0, -INF),
    "1 / x * x": (lambda x: 1 / x * x, 0.0, INF),
    "arccos(cos x)": (lambda x: np.arccos(np.cos(x)), 0.0, 0.0),
    "arcsin(1 - x * x)": (lambda x: np.arcsin(1 - x * x), 0.0, 0.0),
    "sqrt(x * x) - sqrt(x)": (lambda x: np.sqrt(x * x) - np.sqrt(x), 0.0, -INF),
    "where(x > 0, x * log(x), 0)": (lambda x: np.where(x > 0, x * np.log(x), 0.0), 0.0, 0.0),
    "the same left of 0": (lambda x: np.where(x > 0, x * np.log(x), 0.0), -1.0, 0.0),
    "where(x > 0, exp(log x), 0)": (lambda x: np.where(x > 0, np.exp(np.log(x)), 0.0), -1.0, 0.0),
    "logsumexp([x, log x])": (lambda x: special.logsumexp(np.stack([x, np.log(x)])), 0.0, 1.0),
    "sqrt(x @ x)": (lambda x: np.sqrt(pair(x) @ pair(x)), 0.0, 0.0),
    "sqrt(vdot(x, x))": (lambda x: np.sqrt(np.vdot(pair(x), pair(x))), 0.0, 0.0),
    "sqrt(x @ A @ x)": (lambda x: np.sqrt(pair(x) @ np.array([[2.0, 1.0], [1.0, 3.0]]) @ pair(x)), 0.0, 0.0),
    "lengths of rows": (
        lambda x: np.sum(np.sqrt(np.einsum("ij,ij->i", pair(x)[:, None], pair(x)[:, None]))),
        0.0,
        0.0,
    ),
    "prod([sqrt x, x])": (lambda x: np.prod(np.stack([np.sqrt(x), x])), 0.0, 0.0),
    "cumprod([x, sqrt x])[1]": (lambda x: np.cumprod(np.stack([x, np.sqrt(x)]))[1], 0.0, 0.0),
    "norm": (lambda x: np.linalg.norm(pair(x)), 0.0, 0.0),
    "std": (lambda x: np.std(pair(x)), 0.0, 0.0),
    "arccos": (np.arccos, 1.0, -INF),
    "arcsin": (np.arcsin, 1.0, INF),
    "arccosh": (np.arccosh, 1.0, INF),
    "arctanh": (np.arctanh, 1.0, INF),
    "logit": (special.logit, 1.0, INF),
    "x ** 3.0": (lambda x: x**3.0, -2.0, 12.0),
    "a sum of infinities": (lambda x: np.sqrt(x) - np.log(x), 0.0, NAN),
}


@pytest.mark.parametrize("path", PATHS)
def test_a_product_along_a_path_is_the_same_in_any_order(path: str) -> None:
    f, x, slope = PATHS[path]
    at = np.array([x])

    def everything(at: Any) -> Any:
        each = wg.vmap(f)
        first = [mode(each, 0)(at) for mode in FIRST.values() if mode not in (batched, batched_forward)]
        second = [outer(inner(each, 0), 0)(at) for outer, inner in NESTED.values()]
        return first, second, wg.vmap(wg.hessian(f))(at)

    for first, second, hessian in (everything(at), wg.jit(everything)(at)):
        np.testing.assert_allclose(first, np.full((len(first), 1), slope), rtol=1e-12)
        np.testing.assert_allclose(second, np.broadcast_to(hessian, (len(second), 1)), rtol=1e-9)


@pytest.mark.parametrize("compiled", [False, True])
def test_second_derivatives_of_a_power_of_a_negative_number(compiled: bool) -> None:
    """The derivative in the exponent is NaN; the derivative in the base stays finite."""
    both = (0, 1)

    def f(x: Any, y: Any) -> Any:
        return x**y

    for second in (
        wg.hessian(f, both),
        wg.jacfwd(wg.jacfwd(f, both), both),
        wg.jacrev(wg.jacrev(f, both), both),
        wg.jacrev(wg.jacfwd(f, both), both),
    ):
        found = (wg.jit(second) if compiled else second)(-2.0, 3.0)
        np.testing.assert_allclose(np.array(found), [[-12.0, NAN], [NAN, NAN]], rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("compiled", [False, True])
def test_multiply_no_nan_is_a_product_in_which_zero_is_strong(dtype: str, compiled: bool) -> None:
    numbers = np.array([0.0, -0.0, 1.5, -2.0, INF, -INF, NAN], dtype)
    x, y = np.meshgrid(numbers, numbers)
    multiply_no_nan = REGISTRY["multiply_no_nan"]
    found = (wg.jit(multiply_no_nan) if compiled else multiply_no_nan)(x, y)
    expected = np.where((x == 0) | (y == 0), np.copysign(1, x) * np.copysign(1, y) * 0, x * y)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, expected)
    ordinary = np.isfinite(x) & np.isfinite(y)
    np.testing.assert_array_equal(np.signbit(found)[ordinary], np.signbit(expected)[ordinary])
    np.testing.assert_array_equal(multiply_no_nan(found, x), multiply_no_nan(x, found))
