"""Conditions outside of which a store changes nothing, and a sum adds nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.engine.core.dtypes import BOOL, FLOAT64, INT64
from wengert.engine.nest.expression import Apply, Buffer, Const, Expression, Iota, Load, Reduce, zero
from wengert.engine.nest.index import Dim, Index
from wengert.engine.nest.limits import Limit, of_reduction, of_store
from wengert.engine.nest.nest import Store

D, K = Dim(20, "i"), Dim(20, "k")
X, Y = Buffer(FLOAT64, (20,), "x"), Buffer(FLOAT64, (20,), "y")
HERE = (Index.of(D),)


def compared(operation: str, x: Expression, y: Expression) -> Apply:
    return Apply(operation, (x, y), BOOL)


def chosen(condition: Expression, x: Expression, y: Expression) -> Apply:
    return Apply("where", (condition, x, y), FLOAT64)


BELOW = compared("less", Iota(Index.of(D)), Iota(Index.of(K) + 1))
FROM = compared("less_equal", Const(3, INT64), Iota(Index.of(D) + 1))
LIMITS = {BELOW: Limit(D, False, Index.of(K) + 1, None), FROM: Limit(D, True, Index(2), None)}


def along(limits: Any) -> set[Limit]:
    """Return the conditions on the dimension of the loop, not on the counter around it."""
    return {limit for limit in limits if limit.dim is D}


def test_a_store_that_keeps_elements_has_the_conditions_of_those_it_changes() -> None:
    kept = chosen(BELOW, chosen(FROM, Load(Y, HERE), Load(X, HERE)), Load(X, HERE))
    assert along(of_store(Store(X, HERE, kept))) == {LIMITS[BELOW], LIMITS[FROM]}


@pytest.mark.parametrize(
    "otherwise",
    [Load(Y, HERE), Load(X, (Index.of(D) * -1 + 19,)), zero(FLOAT64)],
    ids=["y", "x reversed", "zero"],
)
def test_a_store_that_changes_the_elements_elsewhere_has_none(otherwise: Expression) -> None:
    assert not of_store(Store(X, HERE, chosen(BELOW, Load(Y, HERE), otherwise)))


def test_a_sum_has_the_conditions_of_each_term() -> None:
    x, y = (chosen(BELOW, Load(buffer, HERE), zero(FLOAT64)) for buffer in (X, Y))

    def limits(body: Expression, combiner: str = "add") -> Any:
        return along(of_reduction(Reduce(combiner, (D,), body, FLOAT64)))

    assert limits(Apply("multiply", (x, y), FLOAT64)) == {LIMITS[BELOW]}
    assert limits(Apply("multiply_no_nan", (x, Load(Y, HERE)), FLOAT64)) == {LIMITS[BELOW]}
    # The other factor may be infinite or NaN.
    assert not limits(Apply("multiply", (x, Load(Y, HERE)), FLOAT64))
    assert not limits(Apply("add", (x, Load(Y, HERE)), FLOAT64))
    assert not limits(Apply("exp", (x,), FLOAT64))
    assert not limits(x, "maximum")


def test_an_error_at_a_place_that_no_element_needs_stays() -> None:
    """The part is empty, and the column does not exist: NumPy raises."""

    def program(x: Any, k: Any, n: int) -> Any:
        x = x.copy()
        for i in range(n):
            if x[0, 0] < 10:
                x[20 + i :, k[i]] = x[20 + i :, 0] * 2.0
        return x

    x = np.ones((20, 20))
    with pytest.raises(IndexError):
        wg.jit(program)(x, np.array([3, 25]), 2)
    np.testing.assert_array_equal(wg.jit(program)(x, np.array([3, 5]), 2), x)


@pytest.mark.parametrize("size", [16, 19, 64, 131])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_loops_go_through_what_is_selected(size: int, dtype: Any) -> None:
    def program(a: Any, b: Any, n: int) -> Any:
        a, b, s = a.copy(), b.copy(), a[0, 0] * 0
        for i in range(n):
            a[i:, i] = a[i:, i] * 0.5 + b[i:] * a[0, 0]
            a[i, : i + 1] += b[: i + 1]
            b[i : 2 * i] -= a[i, i] * b[i : 2 * i]
            s = s + a[i, :i] @ b[:i] + np.sum(a[i:, i] * a[i:, 0]) + np.sum(a[i:, i:])
        return s, a, b

    rng = np.random.default_rng(size)
    a, b = rng.normal(size=(size, size)).astype(dtype) / 9, rng.normal(size=size).astype(dtype) / 9
    tolerance = 1e-11 if dtype is np.float64 else 2e-3
    for found, wanted in zip(wg.jit(program)(a, b, size), program(a, b, size), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)
