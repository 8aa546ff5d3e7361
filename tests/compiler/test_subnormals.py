"""Subnormal numbers: programs that flush them, the processor's flags afterwards, and the line that makes them."""

from __future__ import annotations

import pickle
import platform
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.compiler.running import output, run
from wengert import special
from wengert.compiler import specialisation
from wengert.compiler.codegen.subnormals import can_flush
from wengert.compiler.llvm.host import host, named
from wengert.compiler.llvm.object_code import assembly

pytestmark = pytest.mark.skipif(not can_flush(host()), reason="the processor has no flags")

SMALL = {"float32": (1e-30, 1e-12), "float64": (1e-200, 1e-112)}
"""Normal numbers whose product is subnormal."""
LONG = 300_000


def product(x: Any, y: Any) -> Any:
    return x * y


def flushing(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    return wg.jit(function, flush_subnormals=True, **options)


def flushes_here() -> bool:
    """Return whether the flags of this thread are set: Python divides by the processor's instruction."""
    return sys.float_info.min / 2 == 0.0


def factors(dtype: str, count: int = 20) -> tuple[Any, Any]:
    x, y = SMALL[dtype]
    return np.full(count, x, dtype), np.full(count, y, dtype)


@pytest.mark.parametrize("dtype", SMALL)
def test_products(dtype: str) -> None:
    given = factors(dtype)
    expected = product(*given)
    assert np.all(expected > 0)
    assert np.all(expected < np.finfo(dtype).smallest_normal)
    np.testing.assert_array_equal(wg.jit(product)(*given), expected)
    for _ in range(3):
        np.testing.assert_array_equal(flushing(product)(*given), np.zeros(20))
        assert not flushes_here()


@pytest.mark.parametrize("dtype", SMALL)
def test_operands_count_as_zeros_and_copies_keep_them(dtype: str) -> None:
    subnormal = product(*factors(dtype))
    grown = flushing(lambda x: (x * 1e10, x + x, x > 0, np.sqrt(x), -x.sum()))(subnormal)
    assert not any(np.any(each) for each in grown)
    moved = flushing(lambda x: (x.reshape(4, 5).T, x[::-1], np.where(x < 1, x, 0)))(subnormal)
    assert all(np.all(each == subnormal[0]) for each in moved)


def test_numbers_that_are_not_small_stay_the_same() -> None:
    x = np.random.default_rng(0).normal(size=(50, 7))
    slope = wg.value_and_grad(lambda x: np.sum(np.tanh(x @ x.T) * np.exp(-(x[:, :1] ** 2))))
    (value, gradient), (other, expected) = flushing(slope)(x), wg.jit(slope)(x)
    assert value == other
    np.testing.assert_array_equal(gradient, expected)


_OF_NUMPY = (
    *(np.exp, np.exp2, np.expm1, np.log, np.log2, np.log10, np.log1p, np.sqrt, np.cbrt, np.square, np.rint),
    *(np.sin, np.cos, np.tan, np.arcsin, np.arctan, np.sinh, np.cosh, np.tanh, np.arcsinh, np.arccosh),
)
_SPECIAL = (special.expit, special.erf, special.erfc, special.gammaln, special.digamma)
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    **{function.__name__: function for function in (*_OF_NUMPY, *_SPECIAL)},
    "power": lambda x: np.abs(x) ** 2.5,
    "quotient": lambda x: 1.7 / x,
    "slope of tanh": lambda x: wg.jvp(np.tanh, (x,), (np.ones_like(x),))[1],
    "slope of expit": lambda x: wg.jvp(special.expit, (x,), (np.ones_like(x),))[1],
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", SMALL)
def test_elementary_functions_need_no_subnormal_numbers(name: str, dtype: str) -> None:
    limits, r = np.finfo(dtype), np.random.default_rng(0)
    sizes = 2.0 ** r.uniform(limits.minexp, limits.maxexp - 0.01, 2000)
    x = np.concatenate([sizes, -sizes, *(r.uniform(-most, most, 500) for most in (2, 30, 110, 800))])
    function, x = FUNCTIONS[name], x.astype(dtype)
    found, expected = flushing(function)(x), wg.jit(function)(x)
    equal = (found == expected) | (np.isnan(found) & np.isnan(expected))
    with np.errstate(invalid="ignore"):
        close = np.abs(found - expected) <= limits.smallest_normal
    assert np.all(equal | close)


# -- the flags afterwards --------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [3, LONG])
def test_flags_after_an_error(count: int) -> None:
    picked = flushing(lambda x, i: (x * x).sum() + x[i])
    with pytest.raises(IndexError):
        picked(np.ones(count), count)
    assert not flushes_here()
    with pytest.raises(np.linalg.LinAlgError):
        flushing(np.linalg.inv)(np.zeros((3, 3)))
    with pytest.raises(np.linalg.LinAlgError):  # of LAPACK
        flushing(lambda x: np.linalg.inv(x * 2.0))(np.zeros((99, 99)))
    assert not flushes_here()


INTERRUPTED = """
import os, signal, sys, threading
signal.signal(signal.SIGINT, signal.default_int_handler)
loop = wg.jit(lambda x, n: wg.fori_loop(0, n, lambda i, c: c * 0.5 + i * 1e-3, x), flush_subnormals=True)
for threads, count in ((1, 3), (2, 100_000)):
    wg.set_threads(threads)
    loop(np.ones(count), 2)
    threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        loop(np.ones(count), 10**12)
    except KeyboardInterrupt:
        print(sys.float_info.min / 2 > 0)
"""


def test_flags_after_ctrl_c() -> None:
    done = run(INTERRUPTED)
    assert done.stdout.split() == ["True", "True"], done.stderr


@pytest.mark.usefixtures("restored_threads")
@pytest.mark.parametrize("dtype", SMALL)
def test_threads_flush_and_have_their_flags_back(dtype: str) -> None:
    wg.set_threads(2)
    given = factors(dtype, LONG)
    expected = product(*given)
    both = {True: flushing(product), False: wg.jit(product)}
    for flush in [True, False] * 10:
        np.testing.assert_array_equal(both[flush](*given), np.zeros(LONG) if flush else expected)
    assert not flushes_here()


@pytest.mark.usefixtures("restored_threads")
def test_turns_that_threads_share_flush() -> None:
    wg.set_threads(2)
    w = np.full((64, 64), 1e-30, "float32")
    xs = np.full((256, 40, 64), 1e-10, "float32")

    def recurrence(w: Any, xs: Any) -> Any:
        def step(h: Any, x: Any) -> Any:
            h = np.tanh(h @ w + x) * np.float32(1e-2)
            return h, h @ w

        return wg.scan(step, np.zeros_like(xs[:, 0]), xs.swapaxes(0, 1))[1]

    assert np.all(wg.jit(recurrence)(w, xs) > 0)
    compiled = wg.jit(recurrence, flush_subnormals=True)
    assert "@turns" in compiled.llvm(w, xs)
    for _ in range(3):
        assert not np.any(compiled(w, xs))
        assert not flushes_here()


def test_numpy_inside_a_program_keeps_its_meaning() -> None:
    a = np.eye(99) * 1e308

    def inverse(a: Any) -> Any:
        found = np.linalg.inv(a)
        return found, found * 1.5, (a * 1e-300) * 1e-310

    found, again, last = flushing(inverse)(a)
    assert found[0, 0] == np.linalg.inv(a)[0, 0] > 0
    assert not np.any(again)
    assert not np.any(last)
    assert not flushes_here()


# -- where it applies ------------------------------------------------------------------------------------


def test_the_outermost_function_decides() -> None:
    given = factors("float64")
    assert not np.any(flushing(wg.jit(product))(*given))
    assert np.all(wg.jit(flushing(product))(*given))
    assert np.all(wg.grad(lambda x, y: np.sum(flushing(product)(x, y) * 1e-200))(*given))


def test_options_are_kept_by_pickles_and_decorators() -> None:
    given = factors("float64")
    again = pickle.loads(pickle.dumps(wg.jit(product, flush_subnormals=True)))
    assert not np.any(again(*given))
    assert not np.any(wg.jit(flush_subnormals=True)(product)(*given))


def test_the_report_says_so() -> None:
    given = factors("float64")
    for flush in (True, False):
        report = wg.jit(product, flush_subnormals=flush).report(*given)
        assert report.flushes_subnormals == flush
        assert ("subnormal numbers count as zeros" in str(report)) == flush


@pytest.mark.parametrize(
    ("target", "reads", "writes"), [("avx2", "stmxcsr", "ldmxcsr"), ("aarch64", "FPCR", "FPCR")]
)
def test_instructions(target: str, reads: str, writes: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if target != "aarch64" and platform.machine().lower() not in ("x86_64", "amd64"):
        pytest.skip("another processor")
    monkeypatch.setattr(specialisation, "host", lambda: named(target))
    compiled = wg.jit(product, flush_subnormals=True)
    text = assembly(compiled.llvm(*factors("float64")), named(target))
    assert text.count(reads) == (1 if reads != writes else 3)
    assert text.count(writes) == (2 if reads != writes else 3)


# -- the line that makes them ----------------------------------------------------------------------------

CHECKED = """
def call(function, *args, **options):
    try:
        print(wg.jit(function, **options)(*args))
    except FloatingPointError as error:
        print(error)
def f(x):
    y = x * 1e-100
    return np.sum(y * y + 1.0)  # line 9
call(f, np.full(3, 1e-60))
call(f, np.full(3, 1e-60), flush_subnormals=True)
call(lambda x: x * 2, np.array([1e-310, 1.0]))
call(lambda x: (x * 1e-320) * 0.0, np.ones(2))
call(wg.grad(lambda x: np.sum((x * 1e-200) * (x * 1e-120))), np.ones(3))  # line 14
call(lambda x: x.astype("float32"), np.array([1e-40]))  # line 15
def loop(x):
    return wg.fori_loop(0, 300, lambda i, c:
        c * np.float32(0.5), x)  # line 18
call(loop, np.float32(1.0))
call(lambda x: np.linalg.inv(x), np.eye(99) * 1e308)  # line 20
call(lambda x: np.exp(x), np.array([-1.0, -90.0], "float32"))  # line 21
call(lambda x: np.sum(x), np.array([3e-308, -2.5e-308]))
call(lambda x: x * x, np.array([1e-170, 1.0]))
"""


def test_the_operation_that_made_a_subnormal_number() -> None:
    said = output(CHECKED, WENGERT_CHECK="subnormal").splitlines()
    message = "the result must not be subnormal while WENGERT_CHECK=subnormal is set."
    assert said[0] == said[1] == f"multiply: {message} [user.py:9]"
    assert said[2] == "[2.e-310 2.e+000]"
    assert said[3] == "[0. 0.]"
    assert said[4].endswith("user.py:14]")
    assert said[5] == f"cast: {message} [user.py:15]"
    assert said[6] == f"multiply: {message} [user.py:18]"
    assert said[7].startswith("inverse: ")
    assert said[7].endswith("[user.py:20]")
    assert said[8] == f"exp: {message} [user.py:21]"
    assert said[9].startswith("reduce_sum: ")
    assert said[10] == "[0. 1.]"
    assert (
        wg.jit(lambda x: np.sum((x * 1e-100) ** 2 + 1.0))(np.full(3, 1e-60)) == 3.0
    )  # unless it is asked for
