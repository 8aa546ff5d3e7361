"""The object style in reverse mode: `Variable`, `Constant` and `no_grad`."""

from __future__ import annotations

import copy
import gc
import pickle
import sys
import threading
import weakref
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from wengert import Constant, Dual, Variable, no_grad
from wengert.engine.core.errors import ArgumentError, DtypeError, LeakError, LostDerivativeError, ShapeError
from wengert.engine.transforms.variables import Result

FINITE = st.integers(-(2**30), 2**30).map(lambda n: n / 1024)  # no overflow or underflow in products
A = np.array([0.5, -1.5, 2.0])


def program(x: Any, y: Any) -> Any:
    return np.sum(np.sin(x) * y) + np.max(x) * np.exp(-y[0])


def loss(w: Any, x: Any) -> Any:
    hidden = np.tanh(x @ w)
    hidden[0] *= 2.0
    return np.mean(hidden**2)


# -- Variable and backward -------------------------------------------------------------------------------


def test_the_papers_example():
    x, y, z = Variable(-2.0), Variable(5.0), Variable(-4.0)
    result = (x + y) * z
    result.backward()
    assert (result.value, x.grad, y.grad, z.grad) == (-12.0, -4.0, -4.0, 3.0)


def test_backward_gives_the_gradient():
    x, y = Variable(A), Variable(A[::-1])
    result = program(x, y)
    result.backward()
    value, (by_x, by_y) = wg.value_and_grad(program, argnums=(0, 1))(A, A[::-1])
    assert result.value == value
    np.testing.assert_array_equal(x.grad, by_x)
    np.testing.assert_array_equal(y.grad, by_y)


@given(a=FINITE, b=FINITE, calls=st.integers(1, 4))
def test_gradients_add_up(a, b, calls):
    x, y = Variable(a), Variable(b)
    results = [x * y + number * x for number in range(calls)]
    assert x.grad is None
    for result in results:
        result.backward()
    assert np.isclose(x.grad, calls * b + sum(range(calls)), rtol=1e-12)
    assert np.isclose(y.grad, calls * a, rtol=1e-12)
    x.zero_grad()
    results[0].backward()  # the record stays
    assert x.grad == b
    assert np.isclose(y.grad, (calls + 1) * a, rtol=1e-12)


def test_results_share_a_record():
    x = Variable(2.0)
    shared = np.exp(x)
    first, second = shared * x, shared / x
    first.backward()
    assert np.isclose(x.grad, 3 * np.exp(2.0))
    second.backward()
    assert np.isclose(x.grad, 3 * np.exp(2.0) + np.exp(2.0) / 4)
    shared.backward()
    assert np.isclose(x.grad, 4 * np.exp(2.0) + np.exp(2.0) / 4)


def test_only_what_leads_to_the_result_gets_a_gradient():
    x, y = Variable(2.0), Variable(3.0)
    (x * 1.0).backward()
    assert (x.grad, y.grad) == (1.0, None)
    x.backward()
    assert x.grad == 2.0


@pytest.mark.parametrize("cotangent", [np.array([1.0, 2.0, 3.0]), [1, 2, 3], np.array([1, 2, 3], "f4")])
def test_backward_with_a_cotangent(cotangent):
    x = Variable(A)
    (x**2).backward(cotangent)
    np.testing.assert_array_equal(x.grad, 2 * A * np.array([1, 2, 3]))


def test_kinds_and_dtypes_are_kept():
    single, number, scalar = Variable(A.astype("f4")), Variable(2.0), Variable(np.float32(3))
    (np.sum(single) * number * scalar).backward()
    assert single.grad.dtype == np.float32
    assert type(number.grad) is float
    assert scalar.grad.dtype == np.float32
    assert type(number.value) is float


def test_gradients_belong_to_the_user():
    x = Variable(A)
    (x * 2.0).sum().backward()
    first = x.grad
    first *= 10  # such as clipping
    (x * 2.0).sum().backward()
    np.testing.assert_array_equal(x.grad, 22.0 * np.ones(3))
    np.testing.assert_array_equal(first, 20.0 * np.ones(3))
    x.grad = np.zeros(3)
    (x * 2.0).sum().backward()
    np.testing.assert_array_equal(x.grad, 2.0 * np.ones(3))


def test_neither_the_users_array_nor_a_value_reaches_the_record():
    given, factor = A.copy(), A.copy()
    x = Variable(given)
    result = np.sum(x * x * factor)
    given[0] = factor[0] = 100.0
    for value in (x.value, (x * x).value):
        with pytest.raises(ValueError, match="read-only"):
            value[0] = 100.0
    result.backward()
    np.testing.assert_array_equal(x.grad, 2 * A * A)


def test_writes_in_place_are_recorded():
    x = Variable(A)
    w = Variable(np.eye(3))
    y = x * 1.0
    y[1:] *= x[0]
    y[0] = w[0] @ x
    np.sum(y).backward()
    expected = wg.grad(lambda x: x[0] * (x[1] + x[2]) + x[0])(A)
    np.testing.assert_allclose(x.grad, expected)
    np.testing.assert_array_equal(w.grad, [A, np.zeros(3), np.zeros(3)])


def test_gradient_descent_as_a_user_writes_it():
    rng = np.random.default_rng(0)
    x, weight, bias = rng.standard_normal((50, 3)), Variable(np.zeros(3)), Variable(0.0)
    y = x @ A + 0.5
    for _ in range(300):
        weight.zero_grad()
        bias.zero_grad()
        np.mean((x @ weight + bias - y) ** 2).backward()
        with no_grad():
            weight -= 0.1 * weight.grad
        bias.update(bias.value - 0.1 * bias.grad)
    np.testing.assert_allclose(weight.value, A, atol=1e-6)
    assert abs(bias.value - 0.5) < 1e-6


def test_update_leaves_what_was_recorded():
    x = Variable(A)
    before = np.sum(x**2)
    x.update([1, 1, 1])
    assert x.value.dtype == np.float64
    before.backward()  # the gradient of the value that was
    assert x.grad is None
    np.sum(x**2).backward()
    np.testing.assert_array_equal(x.grad, [2.0, 2.0, 2.0])
    x.update(x.value * 2)
    np.testing.assert_array_equal(x.grad, [2.0, 2.0, 2.0])


def test_copies_are_variables_of_their_own():
    x = Variable(A)
    np.sum(x).backward()
    for again in (copy.copy(x), copy.deepcopy({"x": x})["x"], pickle.loads(pickle.dumps(x))):
        assert type(again) is Variable
        assert again.grad is None
        np.sum(again * x.value).backward()
        np.testing.assert_array_equal(again.grad, A)
    np.testing.assert_array_equal(x.grad, np.ones(3))


def test_a_variable_shows_its_value():
    x = Variable(3.0)
    assert repr(x) == str(x) == "Variable(3.0)"
    assert f"{x:.2f} {x * x:.1f}" == "3.00 9.0"
    assert repr(x * x) == "Array(9.0, f64*[], Variable)"


# -- errors ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [2, True, np.array([1, 2]), [1, 2], "x", None, np.longdouble(1)])
def test_what_cannot_be_a_variable(value):
    with pytest.raises(DtypeError, match="Variable"):
        Variable(value)


def test_variables_and_duals_are_made_of_plain_values():
    for kind in (Variable, Dual):
        for box in (Variable(1.0), Dual(1.0), Variable(1.0) * 2.0):
            with pytest.raises(DtypeError, match="plain number or array"):
                kind(box)
        with pytest.raises(DtypeError, match="plain number or array"):
            wg.grad(lambda x, kind=kind: kind(x))(1.0)


def test_backward_says_what_is_wrong():
    x = Variable(A)
    with pytest.raises(ArgumentError, match=r"a scalar is needed; got f64\[3\]; reduce it"):
        (x * 2.0).backward()
    with pytest.raises(ShapeError, match="shape of the value"):
        (x * 2.0).backward(np.ones(2))
    with pytest.raises(DtypeError, match="plain number"):
        (x * 2.0).backward(x)
    assert x.grad is None
    with pytest.raises(LostDerivativeError, match="stop_gradient"):
        float(x[0])
    with pytest.raises(LostDerivativeError, match=r"wengert\.numpy\.asarray"):
        np.asarray(x)


def test_update_says_what_is_wrong():
    x = Variable(A)
    with pytest.raises(ShapeError, match="shape must stay"):
        x.update(1.0)
    with pytest.raises(DtypeError, match="the dtype must stay"):
        x.update(A.astype(complex))
    with pytest.raises(DtypeError, match="plain"):
        wg.grad(lambda t: x.update(t * A))(1.0)
    np.testing.assert_array_equal(x.value, A)


# -- no_grad ---------------------------------------------------------------------------------------------


def test_nothing_is_recorded_under_no_grad():
    x = Variable(A)
    with no_grad():
        y = np.sum(np.sin(x) * x[::-1])
    assert isinstance(y, np.float64)
    assert y == np.sum(np.sin(A) * A[::-1])
    assert isinstance(x * 2.0, Result)


def test_no_grad_ends_with_its_block_whatever_happens():
    x = Variable(2.0)
    with pytest.raises(KeyError), no_grad(), no_grad():
        raise KeyError
    assert isinstance(x * x, Result)
    with no_grad():
        with no_grad():
            pass
        assert type(x * x) is float

    @no_grad()
    def evaluate() -> Any:
        return x * x

    assert type(evaluate()) is float
    assert isinstance(x * x, Result)


def test_no_grad_holds_in_its_thread():
    x, actual = Variable(2.0), []
    with no_grad():
        thread = threading.Thread(target=lambda: actual.append(x * x))
        thread.start()
        thread.join()
        assert type(x * x) is float
    actual[0].backward()
    assert x.grad == 4.0


def test_threads_gather_gradients_of_their_own():
    rng = np.random.default_rng(0)
    points = rng.standard_normal((8, 3))
    actual: dict[int, Any] = {}

    def work(number: int) -> None:
        for _ in range(20):
            x = Variable(points[number])
            program(x, x * 2.0).backward()
            actual[number] = x.grad

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, point in enumerate(points):
        np.testing.assert_array_equal(actual[number], wg.grad(lambda x: program(x, x * 2.0))(point))


def test_a_result_written_while_nothing_is_recorded_has_no_history():
    x = Variable(A)
    y = x * 2.0
    with no_grad():
        y[0] = 1.0
    np.testing.assert_array_equal(y.value, [1.0, *(2 * A[1:])])
    with pytest.raises(ArgumentError, match="no variable leads to this value"):
        y.backward(np.ones(3))


# -- transforms inside -----------------------------------------------------------------------------------


def test_transforms_inside_of_a_record():
    x = Variable(2.0)
    slope = wg.grad(lambda t: t**3 * x)(3.0)  # 3 t² x
    slope.backward()
    assert (slope.value, x.grad) == (54.0, 27.0)
    x.zero_grad()
    wg.grad(lambda t: t**3)(x).backward()  # d/dx 3 x²
    assert x.grad == 12.0
    x.zero_grad()
    wg.jvp(lambda t: t**3, (x,), (1.0,))[1].backward()
    assert x.grad == 12.0
    x.zero_grad()
    wg.derivative(wg.grad(lambda t: t**4))(x).backward()
    assert np.isclose(x.grad, 48.0)


def test_vmap_inside_of_a_record():
    w, x = Variable(A), np.arange(6.0).reshape(2, 3)
    np.sum(wg.vmap(lambda row: np.sin(row @ w))(x)).backward()
    np.testing.assert_allclose(w.grad, wg.grad(lambda w: np.sum(np.sin(x @ w)))(A))
    y = Variable(x)
    np.sum(wg.vmap(lambda row: row**2)(y)).backward()
    np.testing.assert_array_equal(y.grad, 2 * x)


def test_models_of_variables():
    x = np.random.default_rng(0).standard_normal((4, 3))
    w = Variable(np.outer(A, A))
    loss(w, x).backward()
    np.testing.assert_array_equal(w.grad, wg.grad(loss)(np.outer(A, A), x))


def test_a_variable_written_in_a_transform_is_not_used_after_it():
    x = Variable(A)

    def leak(t: Any) -> Any:
        x[0] = t
        return t * 1.0

    wg.grad(leak)(1.0)
    for use in (lambda: x.value, lambda: x * 2.0):
        with pytest.raises(LeakError):
            use()


# -- memory ----------------------------------------------------------------------------------------------


def test_the_record_goes_with_its_results():
    gc.disable()
    try:
        x = Variable(A)
        y = np.sum(np.sin(x) * x)
        nodes, walk = [], [y.state.node]
        while walk:
            node = walk.pop()
            nodes.append(weakref.ref(node))
            walk += [parent for parent in node.parents if parent is not None]
        y.backward()
        del y, node
        assert [ref() for ref in nodes if ref() is not None and ref() is not x.leaf] == []
        assert x.leaf.gradient is not None
    finally:
        gc.enable()


def test_a_long_record_is_walked_and_freed_without_recursion():
    x = Variable(1.0)
    y = x
    for _ in range(5 * sys.getrecursionlimit()):
        y = y + 1e-6
    y.backward()
    assert x.grad == 1.0
    del y


# -- Constant --------------------------------------------------------------------------------------------


def test_a_constant_is_a_copy_without_gradient():
    given = A.copy()
    c, x = Constant(given), Variable(A)
    result = np.sum(c * x)
    given[0] = 100.0
    result.backward()
    np.testing.assert_array_equal(x.grad, A)
    c[0] = x[1]  # is writable
    np.sum(c).backward()
    np.testing.assert_array_equal(x.grad, A + np.array([0, 1, 0]))


def test_constants_keep_numpys_dtypes():
    single = Variable(np.ones(2, "f4"))
    assert (Constant(2.0) * single).dtype == np.float32
    assert (Constant(np.float64(2.0)) * single).dtype == np.float64
    with pytest.raises(DtypeError, match="a number"):
        Constant("x")
