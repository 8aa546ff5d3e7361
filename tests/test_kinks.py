"""The choice at every kink, the same in every mode of differentiation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import special
from wengert.engine.ir.types import type_of
from wengert.engine.transforms.staging import evaluate, stage

INF, NAN = np.inf, np.nan
Scalar = Callable[..., Any]


def staged(f: Scalar, *point: float) -> Any:
    graph, _ = stage(lambda *x: wg.grad(f, tuple(range(len(point))))(*x), [type_of(x) for x in point])
    return tuple(evaluate(graph, *point))


def batched(f: Scalar, *point: float) -> Any:
    argnums = tuple(range(len(point)))
    return tuple(part[1] for part in wg.vmap(wg.grad(f, argnums))(*(np.array([x, x]) for x in point)))


def in_array(f: Scalar, *point: float) -> Any:
    """Differentiate at the point as an element of an array."""
    argnums = tuple(range(len(point)))
    arrays = [np.array([1.5, x]) for x in point]
    return tuple(part[1] for part in wg.grad(lambda *x: np.sum(f(*x)), argnums)(*arrays))


def columns(f: Scalar, *point: float) -> Any:
    return tuple(
        wg.jvp(f, point, tuple(float(i == j) for j in range(len(point))))[1] for i in range(len(point))
    )


def linearised(f: Scalar, *point: float) -> Any:
    linear = wg.linearize(f, *point)[1]
    return tuple(linear(*(float(i == j) for j in range(len(point)))) for i in range(len(point)))


MODES: dict[str, Callable[..., Any]] = {
    "reverse": lambda f, *x: wg.grad(f, tuple(range(len(x))))(*x),
    "forward": columns,
    "linearize": linearised,
    "vmap": batched,
    "array": in_array,
    "staged": staged,
    "compiled": lambda f, *x: wg.jit(wg.grad(f, tuple(range(len(x)))))(*x),
    "jacfwd": lambda f, *x: wg.jacfwd(f, tuple(range(len(x))))(*x),
    "jacrev": lambda f, *x: wg.jacrev(f, tuple(range(len(x))))(*x),
}
every_mode = pytest.mark.parametrize("mode", MODES)

#: Each choice that the documentation of a primitive makes: the function, the point, the derivatives.
CHOICES: dict[str, tuple[Scalar, tuple[float, ...], tuple[float, ...]]] = {
    "abs at 0": (np.abs, (0.0,), (0.0,)),
    "fabs at 0": (np.fabs, (0.0,), (0.0,)),
    "abs at -0": (abs, (-0.0,), (0.0,)),
    "sign at 0": (np.sign, (0.0,), (0.0,)),
    "copysign at 0": (lambda x: np.copysign(x, -2.0), (0.0,), (0.0,)),
    "floor at 1": (np.floor, (1.0,), (0.0,)),
    "rint at 1/2": (np.rint, (0.5,), (0.0,)),
    "heaviside at 0": (np.heaviside, (0.0, 0.5), (0.0, 1.0)),
    "maximum of NaN": (lambda x: np.maximum(x, 1.0), (np.nan,), (0.0,)),
    "max of NaN": (lambda x: np.max(np.stack([x, np.ones_like(x)]), axis=0), (np.nan,), (0.0,)),
    "maximum tie": (np.maximum, (1.0, 1.0), (0.5, 0.5)),
    "minimum tie": (np.minimum, (1.0, 1.0), (0.5, 0.5)),
    "fmax tie": (np.fmax, (1.0, 1.0), (0.5, 0.5)),
    "fmin tie": (np.fmin, (1.0, 1.0), (0.5, 0.5)),
    "fmax with NaN": (np.fmax, (1.0, NAN), (1.0, 0.0)),
    "relu by maximum at 0": (lambda x: np.maximum(x, 0.0), (0.0,), (0.5,)),
    "relu by where at 0": (lambda x: np.where(x > 0, x, 0.0), (0.0,), (0.0,)),
    "maximum of one with itself": (lambda x: np.maximum(x, x), (1.0,), (1.0,)),
    "max of ties": (lambda x, y: np.max(np.stack([x, y, x]), axis=0), (1.0, 1.0), (2 / 3, 1 / 3)),
    "min of ties": (lambda x, y: np.min(np.stack([x, y]), axis=0), (1.0, 1.0), (0.5, 0.5)),
    "clip at its bound": (lambda x: np.clip(x, 0.0, 1.0), (0.0,), (0.5,)),
    "sqrt at 0": (np.sqrt, (0.0,), (INF,)),
    "cbrt at 0": (np.cbrt, (0.0,), (INF,)),
    "power 1/2 at 0": (lambda x: x**0.5, (0.0,), (INF,)),
    "log at 0": (np.log, (0.0,), (INF,)),
    "log1p at -1": (np.log1p, (-1.0,), (INF,)),
    "1/x at 0": (lambda x: 1.0 / x, (0.0,), (-INF,)),
    "reciprocal at 0": (np.reciprocal, (0.0,), (-INF,)),
    "x^-2 at 0": (lambda x: x**-2, (0.0,), (-INF,)),
    "arcsin at 1": (np.arcsin, (1.0,), (INF,)),
    "arccos at -1": (np.arccos, (-1.0,), (-INF,)),
    "arccosh at 1": (np.arccosh, (1.0,), (INF,)),
    "arctanh at 1": (np.arctanh, (1.0,), (INF,)),
    "erfinv at 1": (special.erfinv, (1.0,), (INF,)),
    "x^2 at 0": (lambda x: x**2, (0.0,), (0.0,)),
    "x^1 at 0": (lambda x: x**1, (0.0,), (1.0,)),
    "x^0 at 0": (lambda x: x**0, (0.0,), (0.0,)),
    "x^2.0 at 0": (lambda x: x**2.0, (0.0,), (0.0,)),
    "x^1.0 at 0": (lambda x: x**1.0, (0.0,), (1.0,)),
    "x^0.0 at 0": (lambda x: x**0.0, (0.0,), (0.0,)),
    "x^0 of an unsigned 0": (lambda x: x ** np.uint8(0), (30.0,), (0.0,)),
    "x^3 at -1": (lambda x: x**3.0, (-1.0,), (3.0,)),
    "x^y at (0, 2)": (lambda x, y: x**y, (0.0, 2.0), (0.0, 0.0)),
    "x^y at (0, 1)": (lambda x, y: x**y, (0.0, 1.0), (1.0, 0.0)),
    "x^y at (0, 0)": (lambda x, y: x**y, (0.0, 0.0), (0.0, 0.0)),
    "x^y at (2, 0)": (lambda x, y: x**y, (2.0, 0.0), (0.0, np.log(2.0))),
    "0^y at 2": (lambda y: 0.0**y, (2.0,), (0.0,)),
    "hypot at 0": (np.hypot, (0.0, 0.0), (0.0, 0.0)),
    "hypot on an axis": (np.hypot, (0.0, -2.0), (0.0, -1.0)),
    "remainder at a jump": (np.remainder, (4.0, 2.0), (1.0, -2.0)),
    "remainder of negatives": (np.remainder, (-3.5, 2.0), (1.0, 2.0)),
    "fmod of negatives": (np.fmod, (-3.5, 2.0), (1.0, 1.0)),
    "logaddexp of infinities": (np.logaddexp, (INF, INF), (0.5, 0.5)),
    "logaddexp of -infinities": (np.logaddexp, (-INF, -INF), (0.5, 0.5)),
    "logaddexp of both": (np.logaddexp, (-INF, INF), (0.0, 1.0)),
    "logaddexp of one": (np.logaddexp, (-INF, 3.0), (0.0, 1.0)),
    "logaddexp2 of infinities": (np.logaddexp2, (INF, INF), (0.5, 0.5)),
    "logaddexp2 of large ones": (np.logaddexp2, (1e30, 1e30), (0.5, 0.5)),
    "logaddexp of far ones": (np.logaddexp, (1e4, -1e4), (1.0, 0.0)),
    "expit far away": (special.expit, (-1e4,), (0.0,)),
    "where taken": (lambda x: np.where(x > 0, np.log(x), x), (0.0,), (1.0,)),
}


@every_mode
@pytest.mark.parametrize("choice", CHOICES)
def test_choices(choice: str, mode: str) -> None:
    function, point, expected = CHOICES[choice]
    with np.errstate(all="ignore"):
        found = MODES[mode](function, *point)
    np.testing.assert_allclose(np.array(found, float), expected, rtol=1e-15)


#: Programs that avoid a singularity by a choice: neither the other value nor an infinite slope behind the choice may
#: affect the derivative.
GUARDED: dict[str, Scalar] = {
    "log": lambda x: np.where(x > 0, np.log(x), 0.0),
    "sqrt": lambda x: np.where(x > 0, np.sqrt(x), 0.0),
    "division": lambda x: np.where(x == 0, 0.0, 1.0 / x),
    "quotient": lambda x: np.where(x == 0, 0.0, (x + 1.0) / x),
    "power": lambda x: np.where(x > 0, x**0.5, 0.0),
    "negative power": lambda x: np.where(x > 0, x**-1, 0.0),
    "log of a square": lambda x: np.where(x > 0, np.log(x**2), 0.0),
    "arctan2": lambda x: np.where(x > 0, np.arctan2(x, x), 0.0),
    "sinc": lambda x: np.where(x == 0, 1.0, np.sin(x) / x),
    "lgamma": lambda x: np.where(x > 0, special.gammaln(x), 0.0),
    "nested": lambda x: np.where(x > 0, np.sqrt(np.where(x > 0, np.log(x), 1.0)), 0.0),
    "maximum": lambda x: np.sqrt(np.maximum(x - 1.0, 0.0)),
    "minimum": lambda x: np.cbrt(np.minimum(0.0, x + 1.0)),
    "fmax": lambda x: np.sqrt(np.fmax(0.0, x - 1.0)),
    "clip": lambda x: np.sqrt(np.clip(x - 1.0, 0.0, 1.0)),
    "magnitude": lambda x: np.sqrt(np.abs(x)),
    "fabs": lambda x: np.log1p(np.fabs(x) - 1.0),
    "copysign": lambda x: np.cbrt(np.copysign(x, -1.0)),
    "hypot": lambda x: np.sqrt(np.hypot(x, 0.0)),
    "remainder": lambda x: np.sqrt(np.remainder(0.0, x + 2.0)),
    "heaviside": lambda x: np.sqrt(np.heaviside(-1.0, x)),
}


@every_mode
@pytest.mark.parametrize("guarded", GUARDED)
def test_a_value_not_taken_does_not_count(guarded: str, mode: str) -> None:
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(np.array(MODES[mode](GUARDED[guarded], 0.0), float), [0.0])


SECOND = {
    "forward over reverse": lambda f: wg.derivative(wg.grad(f)),
    "reverse over reverse": lambda f: wg.grad(wg.grad(f)),
    "reverse over forward": lambda f: wg.grad(wg.derivative(f)),
    "forward over forward": lambda f: wg.derivative(wg.derivative(f)),
    "hessian of an array": lambda f: lambda x: wg.hessian(lambda x: np.sum(f(x)))(np.array([x, 1.5]))[0, 0],
}


@pytest.mark.parametrize("way", SECOND)
@pytest.mark.parametrize("guarded", GUARDED)
def test_nor_does_it_for_second_derivatives(guarded: str, way: str) -> None:
    with np.errstate(all="ignore"):
        assert SECOND[way](GUARDED[guarded])(0.0) == 0.0


@pytest.mark.parametrize("way", SECOND)
@pytest.mark.parametrize(
    ("function", "point", "expected"),
    [
        (lambda x: x**2, 0.0, 2.0),
        (lambda x: x**2.0, 0.0, 2.0),
        (lambda x: x * np.abs(x), 0.0, 0.0),
        (lambda x: x**3, 0.0, 0.0),
        (lambda x: np.abs(x) ** 2, 0.0, 0.0),
        (lambda x: np.hypot(x, x), 0.0, 0.0),
        (lambda x: np.hypot(x, 0.0) ** 2, 0.0, 0.0),
        (lambda x: np.linalg.norm(np.stack([x, 0 * x]), axis=0) ** 2, 0.0, 0.0),
        (lambda x: np.std(np.stack([x, 0 * x]), axis=0) ** 2, 0.0, 0.0),
        (lambda x: np.var(np.stack([x, 0 * x]), axis=0), 0.0, 0.5),
        (lambda x: np.logaddexp(x, x), INF, 0.0),
        (lambda x: np.maximum(x, 1.0) ** 2, 1.0, 0.5),
    ],
)
def test_second_derivatives_at_kinks(way: str, function: Scalar, point: float, expected: float) -> None:
    if way == "hessian of an array" and np.isinf(point):
        return
    assert SECOND[way](function)(point) == expected


# -- mixed derivatives at zero factors -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "point", "expected"),
    [
        (lambda x, y: y * np.log(x), (2.0, 0.0), [[0.0, 0.5], [0.5, 0.0]]),
        (lambda x, y: y * np.sqrt(x), (4.0, 0.0), [[0.0, 0.25], [0.25, 0.0]]),
        (lambda x, y: y / x, (2.0, 0.0), [[0.0, -0.25], [-0.25, 0.0]]),
        (lambda x, y: x**-1 * y**2, (2.0, 0.0), [[0.0, 0.0], [0.0, 1.0]]),
        (lambda x, y: x**y, (2.0, 0.0), [[0.0, 0.5], [0.5, np.log(2.0) ** 2]]),
        (lambda x, y: np.arctan2(y, x), (2.0, 0.0), [[0.0, -0.25], [-0.25, 0.0]]),
        (lambda x, y: np.log(x) * np.sin(y), (2.0, 0.0), [[0.0, 0.5], [0.5, 0.0]]),
    ],
)
def test_a_zero_factor_does_not_hide_mixed_derivatives(function: Scalar, point: Any, expected: Any) -> None:
    both = (0, 1)
    for second in (
        wg.hessian(function, both),
        wg.jacfwd(wg.jacfwd(function, both), both),
        wg.jacrev(wg.jacrev(function, both), both),
        wg.jacrev(wg.jacfwd(function, both), both),
    ):
        np.testing.assert_allclose(second(*point), expected, rtol=1e-14, atol=1e-16)


# -- products with zeros ---------------------------------------------------------------------------------

ZEROS = [np.array([2.0, 3.0, 4.0]), np.array([2.0, 0.0, 4.0, -1.0]), np.array([0.0, 3.0, 0.0]), np.zeros(4)]


def leave_out(x: Any, *positions: int) -> float:
    return float(np.prod(np.delete(x, positions)))


@pytest.mark.parametrize("x", ZEROS)
def test_products_of_zeros(x: Any) -> None:
    n = len(x)
    gradient = [leave_out(x, i) for i in range(n)]
    hessian = [[0.0 if i == j else leave_out(x, i, j) for j in range(n)] for i in range(n)]
    for first in (wg.grad(np.prod), wg.jacfwd(np.prod), wg.jacrev(np.prod)):
        np.testing.assert_array_equal(first(x), gradient)
    for second in (wg.hessian(np.prod), wg.jacrev(wg.jacrev(np.prod)), wg.jacfwd(wg.jacfwd(np.prod))):
        np.testing.assert_array_equal(second(x), hessian)


@pytest.mark.parametrize("x", ZEROS)
def test_running_products_of_zeros(x: Any) -> None:
    n = len(x)
    expected = np.zeros((n, n))
    second = np.zeros((n, n, n))
    for end in range(n):
        for i in range(end + 1):
            expected[end, i] = leave_out(x[: end + 1], i)
            for j in range(end + 1):
                second[end, i, j] = 0.0 if i == j else leave_out(x[: end + 1], i, j)
    for transform in (wg.jacfwd, wg.jacrev):
        np.testing.assert_array_equal(transform(np.cumprod)(x), expected)
        np.testing.assert_array_equal(transform(wg.jacrev(np.cumprod))(x), second)


# -- infinite slopes -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_one_infinite_slope_in_an_array_leaves_the_others_alone(dtype: str) -> None:
    x = np.array([0.0, 4.0, 1.0], dtype)
    np.testing.assert_array_equal(wg.grad(lambda x: np.sum(np.sqrt(x)))(x), [INF, 0.25, 0.5])
    np.testing.assert_array_equal(wg.grad(lambda x: np.sqrt(x)[1])(x), [0.0, 0.25, 0.0])
    np.testing.assert_array_equal(wg.jacfwd(np.sqrt)(x), np.diag([INF, 0.25, 0.5]))
    np.testing.assert_array_equal(wg.jacrev(np.sqrt)(x), np.diag([INF, 0.25, 0.5]))


def test_nan_is_not_hidden() -> None:
    """A strong zero belongs to a zero direction: an undefined derivative stays NaN."""
    with np.errstate(all="ignore"):
        assert np.isnan(wg.grad(lambda x: np.log(x))(NAN))
        assert np.isnan(wg.grad(lambda x: np.arctan2(x, 0.0 * x))(0.0))
        assert np.isnan(wg.grad(lambda x: np.sqrt(x) / x)(0.0))
