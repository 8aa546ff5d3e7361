"""Python scalars from higher-order primitives promote as Python scalars, for many examples, too."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.engine.core.errors import OutOfRangeError, RangeError

XS = np.array([[1.0, 0.5], [-3.0, 2.5], [4.0, 1.25]], np.float32)


@wg.custom_jvp
def halved_forward(y: Any, t: Any) -> Any:
    return y * 0.5, t * 0.5


@halved_forward.defjvp
def _(primals: Any, tangents: Any) -> Any:
    (y, t), (dy, dt) = primals, tangents
    return halved_forward(y, t), (dy * 0.5, dt * 0.5)


@wg.custom_vjp
def halved_reverse(y: Any, t: Any) -> Any:
    return y * 0.5, t * 0.5


halved_reverse.defvjp(
    lambda y, t: ((y * 0.5, t * 0.5), t), lambda t, cotangents: (cotangents[0] * (t / 1.2), cotangents[1] / 2)
)


def _while(y: Any) -> Any:
    """Continue as long as examples disagree."""
    return wg.while_loop(lambda c: c[0] < y[1], lambda c: (c[0] + 1, c[1] * 0.5), (0, 0.6))[1]


#: Functions of one float32 example that return a Python scalar, by different operations.
SCALARS: dict[str, Callable[[Any], Any]] = {
    "checkpoint": lambda y: wg.checkpoint(lambda y, t: (y, t * 0.5))(y, 0.6)[1],
    "cond": lambda y: wg.cond(y[0] > 0, lambda: 0.3, lambda: 0.7),
    "cond of integers": lambda y: wg.cond(y[0] > 0, lambda: 3, lambda: 7),
    "cond, all alike": lambda y: wg.cond(
        wg.stop_gradient(0.3) > 0, lambda t, y: t, lambda t, y: 2 * t, 0.6, y
    ),
    "scan": lambda y: wg.scan(lambda c, x: ((c[0] * x, c[1] * 0.5), x), (y[0], 0.6), y)[0][1],
    "fori_loop": lambda y: wg.fori_loop(0, 3, lambda i, c: (c[0] * y[1], c[1] * 0.5), (y[0], 0.6))[1],
    "while_loop": _while,
    "custom_jvp": lambda y: halved_forward(y, 0.6)[1],
    "custom_vjp": lambda y: halved_reverse(y, 0.6)[1],
    "within one another": lambda y: wg.checkpoint(lambda y: halved_reverse(y, SCALARS["cond"](y))[1])(y),
    "computed with": lambda y: (SCALARS["cond"](y) + SCALARS["while_loop"](y)) ** 2 / 1.5,
}
#: Operations on an example and a scalar.
USES: dict[str, Callable[[Any, Any], Any]] = {
    "product": lambda y, t: y * t,
    "branch": lambda y, t: wg.cond(np.sum(y) < 9, lambda y, t: y * t, lambda y, t: y, y, t),
    "loop": lambda y, t: wg.fori_loop(0, 2, lambda i, y: y * t, y),
    "checkpoint": lambda y, t: wg.checkpoint(lambda y, t: y * t + t)(y, t),
    "rule": lambda y, t: halved_forward(y, t)[0] * halved_reverse(y, t)[1],
    "choice": lambda y, t: np.where(y > t, y, t),
}


def program(scalar: str, use: str) -> Callable[[Any], Any]:
    return lambda y: USES[use](y, SCALARS[scalar](y))


def one_by_one(f: Callable[[Any], Any], xs: Any) -> Any:
    return np.stack([f(x) for x in xs])


def same(actual: Any, expected: Any) -> None:
    assert actual.dtype == expected.dtype
    np.testing.assert_allclose(actual, expected, rtol=1e-6)


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("scalar", SCALARS)
def test_mapped_as_one_by_one(scalar: str, use: str) -> None:
    f = program(scalar, use)
    expected = one_by_one(f, XS)
    assert expected.dtype == np.float32
    same(wg.vmap(f)(XS), expected)
    same(wg.vmap(wg.checkpoint(f))(XS), expected)
    twice = np.stack([XS, XS[::-1]])
    same(wg.vmap(wg.vmap(f))(twice), np.stack([expected, expected[::-1]]))


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("scalar", SCALARS)
def test_derivatives_of_mapped_as_one_by_one(scalar: str, use: str) -> None:
    f = program(scalar, use)
    gradient = wg.grad(lambda y: np.sum(f(y)))
    expected = one_by_one(gradient, XS)
    same(wg.vmap(gradient)(XS), expected)
    same(wg.grad(lambda xs: np.sum(wg.vmap(f)(xs)))(XS), expected)
    directions = np.cos(XS)
    moved = np.stack([wg.jvp(f, (x,), (d,))[1] for x, d in zip(XS, directions, strict=True)])
    same(wg.jvp(wg.vmap(f), (XS,), (directions,))[1], moved)


@pytest.mark.parametrize(
    ("scalar", "use"), [(scalar, "branch") for scalar in SCALARS] + [("cond", use) for use in USES]
)
def test_compiled_as_one_by_one(scalar: str, use: str) -> None:
    f = program(scalar, use)
    same(wg.jit(wg.vmap(f))(XS), one_by_one(f, XS))


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.int32, np.uint64, np.bool_])
@pytest.mark.parametrize(
    "operation",
    [np.add, np.multiply, np.true_divide, np.maximum, np.less, np.equal, np.power, np.floor_divide],
)
@pytest.mark.parametrize("scalars", [(2, 3), (True, False), (0.1, 0.7)])
def test_operations_of_scalars_of_examples_are_numpys(scalars: Any, operation: Any, dtype: Any) -> None:
    xs = np.array([0.1, 1, 3, 7]).astype(dtype)

    def f(x: Any) -> Any:
        return operation(x, wg.cond(x > 1, lambda: scalars[0], lambda: scalars[1]))

    try:
        with np.errstate(all="ignore"):
            expected = np.stack([operation(x, scalars[0] if x > 1 else scalars[1]) for x in xs])
    except TypeError:
        pytest.skip("NumPy has no such operation")
    with np.errstate(all="ignore"):
        same(wg.vmap(f)(xs), expected)


def test_two_truth_values_of_examples_are_numbers_where_they_are_added() -> None:
    actual = wg.vmap(
        lambda x: wg.cond(x > 1, lambda: True, lambda: False) + wg.cond(x > 0, lambda: True, lambda: False)
    )
    assert np.array_equal(actual(np.array([-1.0, 0.5, 2.0])), [0, 1, 2])


def test_a_python_integer_of_an_example_must_be_one_of_the_dtype_it_meets() -> None:
    def f(x: Any) -> Any:
        return x * wg.cond(x > 1, lambda: 300, lambda: 3)

    with pytest.raises(RangeError, match="int8"):
        wg.vmap(f)(np.array([1, 2], np.int8))
    with pytest.raises(OutOfRangeError, match="int8"):
        wg.jit(wg.vmap(f))(np.array([1, 2], np.int8))
    for dtype in (np.int8, np.uint64, np.uint16):
        low = np.array([0, 1], dtype)
        same(wg.jit(wg.vmap(f))(low), low * 3)


@pytest.mark.parametrize("turns", [3, 300])
def test_a_carry_stays_a_python_number_where_turns_are_carried_out_again(turns: int) -> None:
    """Else a float32 that a counter scales is float64 in the pass backward."""

    def program(x: Any, m: Any, k: int) -> Any:
        s = x[0] * 0.1
        if m[0] < 100:
            for i in range(k, turns + 3):
                s = s * 0.7 + 0.01 * (i * 0.1)
                if s > 0.3:
                    m = m * 0.3
        return s + m[0]

    x = np.ones(4, np.float32)
    wanted = wg.grad(program, argnums=(0, 1))(x, x, 3)
    for found, one in zip(wg.jit(wg.grad(program, argnums=(0, 1)))(x, x, 3), wanted, strict=True):
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, one, rtol=1e-5)
