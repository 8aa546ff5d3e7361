"""Options and methods of ufuncs: `out`, `where`, `dtype`, `casting`, and `reduce`, `accumulate`, `reduceat`, `at`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
import wengert.numpy as wnp
from wengert.engine.boxes import CONSTANT
from wengert.engine.core.errors import (
    DtypeError,
    IndexingError,
    LostDerivativeError,
    ShapeError,
    WengertError,
)

RNG = np.random.default_rng(8)
A, B = RNG.uniform(0.3, 2.0, (2, 3, 4))
K, OTHER = RNG.integers(1, 7, (2, 3, 4))
MASK = RNG.integers(0, 2, (3, 4)) > 0
BINARY = [np.add, np.subtract, np.multiply, np.divide, np.maximum, np.fmin, np.logaddexp]
BINARY += [np.hypot, np.copysign, np.fmod, np.remainder, np.logaddexp2, np.minimum, np.float_power]
OF_INTEGERS = [np.bitwise_and, np.bitwise_xor, np.left_shift, np.subtract, np.multiply, np.floor_divide]
OF_INTEGERS += [np.maximum, np.logical_xor, np.add]


def name(ufunc: Any) -> str:
    return ufunc.__name__


# -- options of calls ------------------------------------------------------------------------------------


def test_where_and_out(check: Any) -> None:
    def filled(x: Any, y: Any) -> Any:
        out = np.zeros_like(x)
        returned = np.multiply(x, y, out=out, where=MASK)
        assert returned is out
        return out

    check(filled, A, B)
    check(lambda x, y: np.exp(x, out=y.copy(), where=MASK), A, B)
    check(lambda x: np.add(x, x[0], out=np.zeros_like(x, shape=(2, 3, 4)), where=MASK), A)
    check(lambda x, y: np.divide(x, y, out=np.ones_like(x), where=x > y), A, B)
    check(lambda x: np.modf(x, out=(np.zeros_like(x), None)), A)
    check(lambda x: np.modf(x, out=(np.zeros_like(x), np.ones_like(x)), where=MASK), A)


def test_where_without_out_is_zero_elsewhere() -> None:
    actual = wg.vjp(lambda x: np.sqrt(x, where=MASK), A)[0]
    np.testing.assert_array_equal(actual, np.where(MASK, np.sqrt(A), 0.0))


def test_where_guards() -> None:
    x = np.array([-1.0, 0.0, 4.0])
    slope = wg.grad(lambda x: np.sum(np.sqrt(x, out=np.zeros_like(x), where=x > 0)))
    np.testing.assert_array_equal(slope(x), [0.0, 0.0, 0.25])
    np.testing.assert_array_equal(wg.jit(slope)(x), [0.0, 0.0, 0.25])


def test_out_of_a_number_is_written() -> None:
    def f(x: Any) -> Any:
        total = np.zeros_like(x)
        np.multiply(x, 3.0, out=total)
        return total

    assert wg.grad(f)(np.array(2.0)) == 3.0


FUNCTIONS = {
    "sum": lambda x, o: np.sum(x, axis=0, out=o),
    "mean": lambda x, o: np.mean(x, 0, None, o),
    "max": lambda x, o: np.max(x, axis=0, out=o),
    "std": lambda x, o: np.std(x, axis=0, out=o),
    "nansum": lambda x, o: np.nansum(x, axis=0, out=o),
    "median": lambda x, o: np.median(x, axis=0, out=o),
    "quantile": lambda x, o: np.quantile(x, 0.3, axis=0, out=o),
    "take": lambda x, o: np.take(x, 1, axis=0, out=o),
    "dot": lambda x, o: np.dot(x[0], x.T @ x, out=o),
    "clip": lambda x, o: np.clip(x[0], 0.5, 1.0, out=o),
    "round": lambda x, o: np.round(x[0], 1, out=o),
    "einsum": lambda x, o: np.einsum("ij->j", x, out=o),
    "reduce": lambda x, o: np.logaddexp.reduce(x, out=o),
    "accumulate": lambda x, o: np.add.accumulate(x[0], out=o),
    "concatenate": lambda x, o: np.concatenate([x[0, :2], x[1, 2:]], out=o),
    "method": lambda x, o: x.sum(axis=0, out=o),
}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_out_of_functions(check: Any, function: str) -> None:
    call = FUNCTIONS[function]

    def both(x: Any) -> Any:
        out = np.zeros_like(x[0])
        returned = call(x, out)
        assert returned is out
        return 2.0 * out

    check(both, A)


def test_out_has_numpys_errors(agrees: Any) -> None:
    agrees(lambda x: np.sum(x, axis=0, out=np.zeros_like(x[0], dtype=np.float32)), A, rtol=1e-6)
    agrees(lambda x: np.add(x, 1, out=np.zeros_like(x, dtype=int), casting="unsafe"), A)
    agrees(lambda x: np.add(x, 1, out=np.zeros_like(x[0])), A)
    agrees(lambda x: np.add(x, 1, out=np.zeros_like(x), where=x), A)
    box = CONSTANT.constant(A)
    with pytest.raises(ShapeError, match=r"np\.add: the result must fit out="):
        np.add(box, 1.0, out=np.zeros_like(box[:1]))
    with pytest.raises(DtypeError, match=r"casting='same_kind' does not allow a result of int64"):
        np.add(box, 1.0, out=np.zeros_like(box, dtype=int))


def test_a_plain_array_as_out_is_refused() -> None:
    for call in (lambda x, z: np.add(x, 1, out=z), lambda x, z: np.add(x, 1, out=z, where=MASK)):
        remedy = r"write y = np\.add\(\.\.\.\) without out=, .* wengert\.numpy\.zeros"
        with pytest.raises(LostDerivativeError, match=rf"out= would lose .*{remedy}"):
            call(CONSTANT.constant(A), np.zeros((3, 4)))


def same_or_type_error(agrees: Any, function: Any, *arguments: Any, **options: Any) -> None:
    """NumPy's own errors of casting have classes that are private to it."""
    try:
        function(*arguments)
    except TypeError:
        with pytest.raises(DtypeError, match="casting"):
            function(*map(CONSTANT.constant, arguments))
    else:
        agrees(function, *arguments, **options)


@pytest.mark.parametrize("casting", ["no", "equiv", "safe", "same_kind", "unsafe"])
@pytest.mark.parametrize("dtype", [None, "float32", "float64", "int64", "int8"])
def test_dtype_and_casting(agrees: Any, dtype: Any, casting: Any) -> None:
    same_or_type_error(agrees, lambda x, y: np.add(x, y, dtype=dtype, casting=casting), A, B, rtol=1e-6)
    same_or_type_error(
        agrees,
        lambda k, j: np.multiply(k, j, dtype=dtype, casting=casting),
        K.astype(np.int8),
        OTHER.astype(np.int8),
    )
    same_or_type_error(
        agrees, lambda x: np.sqrt(x, dtype=dtype, casting=casting), A.astype(np.float32), rtol=1e-6
    )
    if casting not in ("no", "equiv"):
        add = lambda x: np.add(x, 2, dtype=dtype, casting=casting)  # noqa: E731
        same_or_type_error(agrees, add, A.astype(np.float32), rtol=1e-6)


def test_dtype_is_that_of_the_computation() -> None:
    small = np.array([100, 120], np.int8)
    for transform in (wg.jit, wg.vmap):
        np.testing.assert_array_equal(transform(lambda x: np.add(x, x, dtype=np.int32))(small), [200, 240])


# -- methods ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ufunc", BINARY, ids=name)
def test_methods(check: Any, ufunc: Any) -> None:
    check(lambda x: ufunc.reduce(x), A)
    check(lambda x: ufunc.reduce(x, axis=1, keepdims=True, initial=1.5), A, order=1)
    check(lambda x: ufunc.reduce(x, 1, where=MASK, initial=0.5), A, order=1)
    check(lambda x: ufunc.accumulate(x, axis=1), A)
    check(lambda x: ufunc.reduceat(x, [0, 2, 1], axis=1), A, order=1)
    check(lambda x, y: ufunc.outer(x[0], y[:, 0]), A, B, order=1)


@pytest.mark.parametrize("ufunc", [np.power, np.arctan2], ids=name)
def test_methods_go_from_left_to_right(ufunc: Any) -> None:
    """NumPy's vectorised loops of these two reduce contiguous lines in another order."""
    expected = ufunc(ufunc(ufunc(A[:, 0], A[:, 1]), A[:, 2]), A[:, 3])
    for transform in (wg.jit, lambda f: lambda x: wg.vjp(f, x)[0]):
        np.testing.assert_allclose(transform(lambda x: ufunc.reduce(x, axis=1))(A), expected)
        np.testing.assert_allclose(transform(lambda x: ufunc.accumulate(x, axis=1)[:, -1])(A), expected)


@pytest.mark.parametrize("ufunc", [*BINARY, np.power, np.arctan2], ids=name)
def test_at(check: Any, ufunc: Any) -> None:
    def at(x: Any, y: Any) -> Any:
        z = x.copy()
        ufunc.at(z, ([0, 0, 2], [1, 1, 3]), y[:, 0])
        ufunc.at(z, 1, y[0])
        ufunc.at(z, (slice(None), 2), 1.25)
        ufunc.at(z, MASK, y[0, 0])
        return z

    check(at, A, B, order=1)


def test_at_of_one_operand(check: Any) -> None:
    def at(x: Any) -> Any:
        z = x.copy()
        np.exp.at(z, [0, 2])
        np.negative.at(z, ([1, 1, 1], [0, 0, 2]))
        return z

    check(at, A)


@pytest.mark.parametrize("ufunc", [np.multiply, np.maximum, np.subtract, np.power], ids=name)
def test_at_positions_that_are_not_known(ufunc: Any) -> None:
    def at(x: Any, i: Any, y: Any) -> Any:
        z = x.copy()
        ufunc.at(z, i, y)
        return z

    x, y, i = A[0], B[:, 0], np.array([1, 3, 1])
    np.testing.assert_allclose(wg.jit(at)(x, i, y), at(x, i, y))
    twice = wg.vmap(at)(np.stack([x, x]), np.stack([i, [0, 0, 0]]), np.stack([y, y]))
    np.testing.assert_allclose(twice, [at(x, i, y), at(x, np.array([0, 0, 0]), y)])
    slope = wg.grad(lambda x, i, y: np.sum(at(x, i, y) ** 2), (0, 2))
    for actual, expected in zip(wg.jit(slope)(x, i, y), slope(x, i, y), strict=True):
        np.testing.assert_allclose(actual, expected)
    if ufunc is not np.subtract:
        with pytest.raises(IndexingError, match="unknown positions cannot stand beside slices"):
            wg.jit(lambda x, i: ufunc.at(x.copy(), (slice(None), i), 1.0))(A, i)


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, bool, np.float32])
@pytest.mark.parametrize("ufunc", OF_INTEGERS, ids=name)
def test_methods_of_integers_are_numpys(agrees: Any, ufunc: Any, dtype: Any) -> None:
    k = K.astype(dtype)
    for call in (
        lambda k: ufunc.reduce(k),
        lambda k: ufunc.reduce(k, axis=1, initial=1),
        lambda k: ufunc.reduce(k, axis=1, initial=1, where=MASK),
        lambda k: ufunc.reduce(k, axis=(0, 1)),
        lambda k: ufunc.reduce(k[:0]),
        lambda k: ufunc.accumulate(k, axis=1),
        lambda k: ufunc.reduceat(k, [0, 2, 1], axis=1),
    ):
        agrees(call, k, rtol=1e-6)


@pytest.mark.parametrize("ufunc", [np.heaviside, np.floor_divide], ids=name)
def test_reductions_that_numpy_refuses(agrees: Any, ufunc: Any) -> None:
    agrees(lambda x: ufunc.reduce(x), A)
    agrees(lambda x: ufunc.accumulate(x), A)
    agrees(lambda x: ufunc.reduce(x, axis=None), A)
    agrees(lambda x: ufunc.reduce(x[:0]), A)


def test_results_must_be_operands() -> None:
    with pytest.raises(DtypeError, match=r"np\.less\.reduce: "):
        np.less.reduce(CONSTANT.constant(A))


def test_at_has_numpys_errors() -> None:
    box = wnp.array(CONSTANT.constant(A))
    for call in (
        lambda: np.multiply.at(box, [7], 1.0),
        lambda: np.multiply.at(box, ([0, 1], [0, 1, 2]), 1.0),
        lambda: np.multiply.at(box, [0], np.ones(3)),
        lambda: np.multiply.at(box.astype(int), [0], 0.5),
    ):
        with pytest.raises(WengertError):
            call()


# -- reductions where a condition holds ------------------------------------------------------------------

REDUCTIONS = {
    "sum": lambda x, m: np.sum(x, axis=1, where=m),
    "sum initial": lambda x, m: np.sum(x, axis=0, where=m, initial=2.0, keepdims=True),
    "prod": lambda x, m: np.prod(x, axis=1, where=m),
    "mean": lambda x, m: np.mean(x, axis=1, where=m),
    "mean all": lambda x, m: np.mean(x, where=m),
    "var": lambda x, m: np.var(x, axis=1, where=m),
    "var ddof": lambda x, m: np.var(x, axis=1, where=m, ddof=1, keepdims=True),
    "std": lambda x, m: np.std(x, axis=1, where=m),
    "max": lambda x, m: np.max(x, axis=1, where=m, initial=0.0),
    "min": lambda x, m: np.min(x, where=m, initial=5.0),
    "any": lambda x, m: np.any(x > 1, axis=1, where=m),
    "all": lambda x, m: np.all(x > 1, axis=1, where=m),
    "nansum": lambda x, m: np.nansum(x, axis=1, where=m),
    "nanmean": lambda x, m: np.nanmean(x, axis=1, where=m),
    "nanvar": lambda x, m: np.nanvar(x, axis=1, where=m, ddof=1),
    "nanstd": lambda x, m: np.nanstd(x, where=m),
    "nanmax": lambda x, m: np.nanmax(x, axis=1, where=m, initial=0.0),
    "nanprod": lambda x, m: np.nanprod(x, axis=1, where=m),
    "method": lambda x, m: x.sum(axis=1, where=m) + x.mean(axis=1, where=m),
}
AT_LEAST_TWO = np.array([[True, False, True, True], [False, True, True, True], [True, True, False, True]])


@pytest.mark.parametrize("function", REDUCTIONS)
def test_reductions_where_a_condition_holds(check: Any, function: str) -> None:
    check(lambda x: REDUCTIONS[function](x, AT_LEAST_TWO), A)
    check(lambda x: REDUCTIONS[function](x, AT_LEAST_TWO[0]), A, order=1)
    check(lambda x: REDUCTIONS[function](x, x > 0.1), A, order=1)


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, bool, np.float32, np.float16])
def test_reductions_where_a_condition_holds_have_numpys_dtypes(agrees: Any, dtype: Any) -> None:
    for function in ("sum", "prod", "mean", "var", "std", "any", "nansum", "nanmean"):
        agrees(lambda x, call=REDUCTIONS[function]: call(x, AT_LEAST_TWO), K.astype(dtype), rtol=2e-3)


@pytest.mark.parametrize("axis", [0, -1, 1, None])
def test_reductions_of_numbers_by_an_axis(agrees: Any, axis: Any) -> None:
    for function in (
        np.sum,
        np.prod,
        np.max,
        np.min,
        np.any,
        np.all,
        np.add.reduce,
        np.mean,
        np.var,
        np.argmax,
    ):
        agrees(lambda x, function=function: function(x, axis=axis), np.array(2.5))
