"""The array inside a transform: Python's operators, NumPy's protocols, and errors."""

from __future__ import annotations

import copy
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from tests.draws import HypothesisDraw, examples
from tests.modes import EAGER, TYPED, assert_gradient, assert_same, in_batch, in_graph, on_tape
from wengert.engine.boxes import inside_transform
from wengert.engine.core.errors import (
    ConcreteError,
    DtypeError,
    LostDerivativeError,
    ShapeError,
    UnsupportedError,
    WengertError,
)

ARITHMETIC = (
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.floordiv,
    operator.mod,
    operator.pow,
    divmod,
)
COMPARISON = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)
UNARY = (operator.neg, operator.pos, abs)
SCALARS = (2, 3, -1, 0.5, 2.0, -1.5, True, np.float32(1.5), np.int64(2), np.float64(0.5), np.int8(3))
DTYPES = ("float64", "float32", "float16", "int64", "int32", "uint8", "bool")


def draw_other(draw: HypothesisDraw, shape: tuple[int, ...]) -> Any:
    """Draw the other operand of an operator."""
    kind = draw.choice(["array", "array", "scalar", "list"])
    if kind == "scalar":
        return draw.choice(SCALARS)
    values = np.asarray(draw.array(shape, 0.5, 2.0)).astype(draw.choice(DTYPES))
    return values.tolist() if kind == "list" and values.ndim and values.size else values


@examples(300)
@given(data=st.data())
def test_operators_follow_numpy(data: st.DataObject) -> None:
    draw = HypothesisDraw(data)
    first, second = draw.broadcastable(2)
    x = draw.array(first, 0.5, 2.0).astype(draw.choice(["float64", "float32"]))
    other = draw_other(draw, second)
    combine = draw.choice(ARITHMETIC + COMPARISON)
    reflected = draw.choice([False, True])

    def function(x: Any) -> Any:
        return combine(other, x) if reflected else combine(x, other)

    with np.errstate(all="ignore"):
        expected = function(x)
        for run in (*EAGER, *TYPED):
            assert_same(run(function, x), expected)


@examples(100)
@given(data=st.data())
def test_python_numbers_stay_weak(data: st.DataObject) -> None:
    draw = HypothesisDraw(data)
    other = draw_other(draw, draw.shape(0, 2))
    if isinstance(other, list):
        other = np.asarray(other)
    combine = draw.choice(ARITHMETIC[:-1])

    def function(x: float) -> Any:
        return combine(x * 2.0, other), combine(other, x / 3)

    with np.errstate(all="ignore"):
        expected = tuple(map(np.asarray, function(0.75)))
        if expected[1].dtype.kind == "c":  # Python's, of a power of -1
            return
        for run in (*EAGER, in_graph):
            assert_same(tuple(map(np.asarray, run(function, 0.75))), expected)


@examples(40)
@given(data=st.data())
def test_unary_operators_follow_numpy(data: st.DataObject) -> None:
    draw = HypothesisDraw(data)
    x = draw.array(draw.shape())
    apply = draw.choice(UNARY)
    for run in (*EAGER, *TYPED):
        assert_same(run(apply, x), apply(x))


@examples(40)
@given(data=st.data())
def test_bits_follow_numpy(data: st.DataObject) -> None:
    draw = HypothesisDraw(data)
    first, second = draw.broadcastable(2)
    x, y = draw.integers(first, 0, 7), draw.integers(second, 0, 7)
    combine = draw.choice([operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift])
    for function in (lambda x: combine(x, y), lambda x: combine(y, x), lambda x: ~x, lambda x: combine(x, 3)):
        for run in TYPED:
            assert_same(run(function, x), function(x))


@pytest.mark.parametrize("combine", [*ARITHMETIC[:4], operator.pow])
def test_operators_have_derivatives_on_both_sides(combine: Callable[..., Any]) -> None:
    y = np.array([[0.5], [1.5]])
    x = np.array([0.75, 1.25, 2.0])
    for function in (lambda x: combine(x, y), lambda x: combine(y, x), lambda x: combine(1.5, x)):
        assert_gradient(lambda x, f=function: np.sum(np.sin(f(x))), x)


def test_matmul_operator_follows_numpy() -> None:
    A, x = np.arange(6.0).reshape(2, 3), np.array([1.0, 2.0, 3.0])
    for run in (*EAGER, *TYPED):
        assert_same(run(lambda x: A @ x, x), A @ x)
        assert_same(run(lambda x: x @ A.T, x), x @ A.T)


# -- Python's protocols ----------------------------------------------------------------------------------


def test_sequence_protocol() -> None:
    seen: list[Any] = []

    def function(x: Any) -> Any:
        seen.extend([len(x), x.shape, x.ndim, x.size, x.dtype, x.nbytes, x.itemsize, 2.0 in x, 5.0 in x])
        return sum(row @ row for row in x) + sum(x.flat) + x.T[0, 1] + x.mT[1, 0]

    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert_gradient(function, x)
    assert seen[:9] == [2, (2, 2), 2, 4, np.dtype(float), 32, 8, True, False]


def test_known_values_decide_branches() -> None:
    def function(x: Any) -> Any:
        while x < 10.0:
            x = x * x if x > 2.0 else x + 1.0
        return max(x, 3.0) if x > 0.0 and x != 5.0 else -x

    x = np.array(1.5)
    assert_same(on_tape(function, x), function(x))
    assert_gradient(function, x)


def test_copies_are_independent() -> None:
    def function(x: Any) -> Any:
        y = x * 1.0
        copies = [y.copy(), copy.copy(y), copy.deepcopy(y), np.copy(y), y.flatten(), y.astype(float)]
        same = y.astype(float, copy=False)
        y[0] = 100.0
        return copies, same

    copies, same = on_tape(function, np.array([1.0, 2.0]))
    for item in copies:
        assert_same(item, np.array([1.0, 2.0]))
    assert_same(same, np.array([100.0, 2.0]))


def test_boxes_print_their_value_and_type(capsys: pytest.CaptureFixture[str]) -> None:
    texts: list[str] = []

    def function(x: Any) -> Any:
        texts.extend([repr(x), f"{x[0]:.3f}", str(x[0])])
        return np.sum(x)

    def shown(x: Any) -> Any:
        print(x)
        return x

    wg.grad(function)(np.array([1.0, 2.0]))
    assert texts == ["Array([1. 2.], f64[2], grad)", "1.000", "Array(1.0, f64[], grad)"]
    wg.vmap(shown)(np.ones((3, 2), np.float32))
    assert capsys.readouterr().out == "Array(f32[2], vmap)\n"


def test_round_follows_numpy() -> None:
    for run in EAGER:
        assert_same(run(lambda x: (round(x), round(x, 1)), np.float64(2.567)), (3, np.float64(2.6)))


def test_boxes_are_not_hashable() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        wg.grad(lambda x: hash(x))(1.0)


# -- NumPy's protocols -----------------------------------------------------------------------------------


def test_ufuncs_give_strong_results() -> None:
    """A ufunc converts Python numbers to NumPy scalars, which promote float32 afterwards."""
    single = np.ones(2, np.float32)
    for run in (*EAGER, in_graph):
        assert run(lambda x: x * single, 2.0).dtype == np.float32
        assert run(lambda x: np.sin(x) * single, 2.0).dtype == np.float64


def test_out_may_be_a_box() -> None:
    def function(x: Any) -> Any:
        y = x * 1.0
        np.multiply(x, x, out=y)
        np.add(y, 1.0, y)
        return np.sum(y * x)

    assert_gradient(function, np.array([1.0, 2.0]))


def test_ufunc_options() -> None:
    x = np.array([1.0, 2.0])
    assert on_tape(lambda x: np.add(x, x, dtype=np.float32), x).dtype == np.float32
    assert_same(on_tape(lambda x: np.add(x, x, casting="same_kind"), x), x + x)
    np.testing.assert_array_equal(wg.grad(lambda x: np.sum(np.add(x, x, where=x > 1)))(x), [0.0, 2.0])
    with pytest.raises(TypeError, match="foo"):
        wg.grad(lambda x: np.sum(np.sin(x, foo=1)))(x)


# -- what would lose a derivative ------------------------------------------------------------------------


def into_zeros(x: Any) -> Any:
    result = np.zeros(3)
    result[0] = x[0]
    return result


def slice_into_zeros(x: Any) -> Any:
    result = np.zeros(3)
    result[:] = x
    return result


def add_to_plain(x: Any) -> Any:
    result = np.zeros(3)
    result += x
    return result


def out_is_plain(x: Any) -> Any:
    return np.add(x, 1.0, out=np.zeros(3))


def add_at_plain(x: Any) -> Any:
    result = np.zeros(3)
    np.add.at(result, [0, 1], x[:2])
    return result


LOST: list[tuple[Callable[[Any], Any], str]] = [
    (lambda x: float(x[0]), "wg.stop_gradient(x)"),
    (lambda x: complex(x[0]), "complex(wg.stop_gradient(x))"),
    (lambda x: math.sin(x[0]), "float(x)"),
    (lambda x: x[0].item(), "item()"),
    (lambda x: x.tolist(), "tolist()"),
    (np.asarray, "wg.stop_gradient(x)"),
    (np.array, "wengert.numpy.array"),
    (lambda x: np.array([x[0], x[1]]), "np.stack"),
    (lambda x: np.float64(x[0]), "plain array"),
    (lambda x: list(range(x[0])), "integer"),
    (lambda x: "abc"[x[0]], "integer"),
    (into_zeros, "wengert.numpy.zeros"),
    (slice_into_zeros, "wengert.numpy.zeros"),
    (add_to_plain, "plain array"),
    (out_is_plain, "plain array"),
    (add_at_plain, "plain array"),
    (lambda x: np.copyto(np.zeros(3), x), "plain array"),
    (lambda x: np.full(3, x[0]), "plain array"),
    (lambda x: np.fromiter(x, float), "float(x)"),
    (lambda x: np.random.default_rng(0).normal(x), "plain array"),
    (lambda x: np.sum(x, out=np.zeros(())), "out"),
]


@pytest.mark.parametrize(("function", "says"), LOST)
@pytest.mark.parametrize("transform", [wg.grad, wg.jacfwd, wg.vmap])
@pytest.mark.usefixtures("without_substitutes")
def test_nothing_loses_a_derivative_silently(
    transform: Callable[..., Any], function: Callable[[Any], Any], says: str
) -> None:
    x = np.ones((2, 3)) if transform is wg.vmap else np.ones(3)
    with pytest.raises((LostDerivativeError, UnsupportedError)) as caught:
        transform(lambda x: (function(x), 0.0)[1])(x)
    assert says in str(caught.value)
    assert isinstance(caught.value, TypeError)


@pytest.mark.parametrize(
    ("transform", "x", "error", "says"),
    [
        (wg.grad, np.ones(3), LostDerivativeError, "int(wg.stop_gradient(x))"),
        (wg.jacfwd, np.ones(3), LostDerivativeError, "int(wg.stop_gradient(x))"),
        (wg.vmap, np.ones((2, 3)), ConcreteError, "x.astype(int)"),
    ],
)
@pytest.mark.usefixtures("without_substitutes")
def test_integers_are_not_made_of_followed_floats(transform: Any, x: Any, error: Any, says: str) -> None:
    with pytest.raises(error) as caught:
        transform(lambda x: (int(x[0]), 0.0)[1])(x)
    assert says in str(caught.value)


REFUSED: list[tuple[Callable[[Any], Any], type[WengertError], str]] = [
    (lambda x: x + None, DtypeError, "NoneType"),
    (lambda x: "a" + x, DtypeError, "str"),
    (lambda x: len(x[0]), ShapeError, "a scalar has no length"),
    (lambda x: list(x[0]), ShapeError, "a scalar has no elements"),
    (lambda x: x + np.ones(2), ShapeError, "operands must broadcast together; got (3,), (2,)"),
    (lambda x: np.sqrt(x, x, x), TypeError, ""),
    (lambda x: np.frompyfunc(abs, 1, 1)(x), UnsupportedError, "abs (vectorized)"),
    (
        lambda x: x & 1,
        DtypeError,
        "bitwise_and: NumPy defines no such operation for these types; got f64[3], an integer",
    ),
]


@pytest.mark.parametrize(("function", "error", "says"), REFUSED)
@pytest.mark.parametrize("transform", [wg.grad, wg.jacfwd])
def test_errors_say_what_came_and_where(
    transform: Callable[..., Any], function: Callable[[Any], Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error) as caught:
        transform(lambda x: np.sum(function(x)))(np.ones(3))
    assert says in str(caught.value)
    if says:
        assert str(caught.value).endswith("]")
        assert "[test_array.py:" in str(caught.value)


@pytest.mark.usefixtures("without_substitutes")
@pytest.mark.parametrize("run", [in_batch, in_graph])
def test_values_that_are_not_known_decide_nothing(run: Callable[..., Any]) -> None:
    x = np.array([1.0, -2.0])
    for function in (lambda x: x[0] if x[0] > 0 else x[1], lambda x: 0.0 < x[0] < 1.0, lambda x: not x[0]):
        with pytest.raises(ConcreteError, match=r"np\.where.*\[test_array\.py:"):
            run(function, x)
    with pytest.raises(ConcreteError, match="knows only the type"):
        run(lambda x: [1, 2, 3][np.argmax(x)], x)


@pytest.mark.usefixtures("without_substitutes")
def test_errors_end_a_transform_cleanly() -> None:
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            wg.grad(lambda x: wg.grad(lambda y: y * x / (1 // 0))(x))(2.0)
        with pytest.raises(LostDerivativeError):
            wg.vmap(wg.grad(lambda x: math.exp(x)))(np.ones(3))
    assert wg.grad(lambda x: x**3)(2.0) == 12.0
    assert not inside_transform()


def test_formats_are_for_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    def loss(x: Any) -> Any:
        assert f"{x[0]:.2f} {x[1]:>6.1e} {np.argmax(x):d}" == "1.50 2.0e+00 1"
        with pytest.raises(
            TypeError, match=r"format '\.3f': a number is required; got f64\[2\].*test_array\.py"
        ):
            f"{x:.3f}"
        return np.sum(x)

    wg.grad(loss)(np.array([1.5, 2.0]))

    def shown(x: Any) -> Any:
        print(f"{x:.3f} {x[0]:.3f}")
        return x

    wg.jit(shown)(np.ones(2))
    assert capsys.readouterr().out == "Array(f64[2], jit) Array(f64[], jit)\n"  # there are no numbers


def test_elements_one_after_another() -> None:
    """``x.flat`` reads and writes like an array of one axis, and changes the array."""

    def function(x: Any) -> Any:
        y = x.T.copy().T
        y.flat[1] = 5.0
        y.flat[[0, -1]] *= 2.0
        z = x * 1.0
        z.flat = 3.0
        y.T.flat[2:4] = y.flat[0]
        return np.sum(y.flat) + np.sum(y * y) + y.flat[2] * len(y.flat) + sum(y.flat) + np.sum(z), y

    x = np.arange(1.0, 7.0).reshape(2, 3)
    for run in (on_tape, in_batch, in_graph):
        assert_same(run(function, x), function(x), rtol=1e-14)
    assert_gradient(lambda x: function(x)[0], x)


def test_elements_as_numpy_takes_them() -> None:
    def function(x: Any) -> Any:
        y, z, u, v = (x * 1.0 for _ in range(4))
        y.flat = [1.0, 2.0]  # repeated
        z.flat[:4] = [1.0, 2.0]
        u.flat = np.arange(9.0)  # cut
        v.flat[:] = np.ones((3, 2))
        elements = x.flat
        first, second = next(elements), next(elements)
        told = (x.flat == x.flat, x.flat > 2, x.flat <= x.flat)
        joined = np.concatenate([x.flat, x.flat]), np.add(x.flat, 1.0), np.max(a=x.flat), list(x.flat)
        return y, z, u, v, first, second, told, joined

    x = np.arange(6.0).reshape(2, 3) + 0.5
    for run in (on_tape, in_batch, in_graph):
        assert_same(run(function, x), function(x))


@pytest.mark.parametrize("sequence", [[2.0], (2.0, 1.0)])
def test_an_integer_that_only_a_run_knows_repeats_no_list(sequence: Any) -> None:
    """Python repeats a list by a number of NumPy's, too; only an array multiplies its elements."""
    counts = np.array([2, 3])
    assert len(sequence * counts[0]) == 2 * len(sequence)
    for function in (lambda n: np.sum(sequence * n), lambda n: np.sum(n * sequence)):
        for call in (
            wg.vmap(function),
            wg.jit(lambda n, f=function: f(n[0])),
            wg.jit(lambda n, f=function: f(n.sum())),
        ):
            with pytest.raises(ConcreteError, match=f"needed to repeat a {type(sequence).__name__}"):
                call(counts)
    doubled = wg.jit(lambda n: np.sum(np.array(sequence) * n[0]))
    assert doubled(counts) == 2 * sum(sequence)
