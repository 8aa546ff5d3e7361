"""`np.fft` on boxes: every function and option against NumPy, derivatives, batches, compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.compiler.comparing import check
from tests.modes import EAGER, TYPED, assert_same
from wengert.engine.core.errors import ArgumentError, DtypeError, WengertError
from wengert.testing import check_grads

RNG = np.random.default_rng(0)
X = RNG.normal(size=(3, 4, 5))
Z = X + 1j * RNG.normal(size=X.shape)
NORMS = (None, "backward", "ortho", "forward")

ONE = [np.fft.fft, np.fft.ifft, np.fft.rfft, np.fft.irfft, np.fft.hfft, np.fft.ihfft]
TWO = [np.fft.fft2, np.fft.ifft2, np.fft.rfft2, np.fft.irfft2]
SEVERAL = [np.fft.fftn, np.fft.ifftn, np.fft.rfftn, np.fft.irfftn]


def operand_of(function: Any) -> Any:
    return X if function.__name__ in ("rfft", "ihfft", "rfftn", "rfft2") else Z


def same(program: Callable[[Any], Any], x: Any) -> None:
    expected = program(x)
    for mode in (*EAGER, *TYPED):
        assert_same(mode(program, x), expected, rtol=1e-11)


@pytest.mark.parametrize("function", ONE, ids=lambda f: f.__name__)
def test_transforms_of_one_axis_are_numpys(function: Any) -> None:
    for norm in NORMS:
        for n, axis in ((None, -1), (3, 0), (7, 1), (4, -1), (1, 2)):
            same(lambda x: function(x, n, axis, norm), operand_of(function))  # noqa: B023


@pytest.mark.parametrize("function", [*TWO, *SEVERAL], ids=lambda f: f.__name__)
def test_transforms_of_several_axes_are_numpys(function: Any) -> None:
    for norm in NORMS:
        for options in (
            {},
            {"s": (3, 6), "axes": (0, 2)},
            {"axes": (1, 0)},
            {"s": (-1, 4), "axes": (-1, -2)},
        ):
            same(lambda x: function(x, norm=norm, **options), operand_of(function))  # noqa: B023


@pytest.mark.parametrize("function", [*ONE, *TWO, *SEVERAL], ids=lambda f: f.__name__)
def test_derivatives(function: Any) -> None:
    x = operand_of(function)[:2, :3, :3]
    check_grads(lambda x: function(x, norm="ortho") * np.sin(function(x)), (x,))
    check_grads(lambda x: function(np.concatenate([x, x * x]).real), (x,)) if x is not X else None


@pytest.mark.parametrize("function", [*ONE, *SEVERAL], ids=lambda f: f.__name__)
def test_compiled(function: Any) -> None:
    x = operand_of(function)
    check(lambda x: function(x, norm="forward"), x, ulp=50.0, scale=1.0)
    loss = wg.grad(lambda x: np.sum(np.abs(function(x)) ** 2))
    check(loss, x, ulp=500.0, scale=10.0)


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [("float32", "complex64"), ("float16", "complex64"), ("int32", "complex128"), ("bool", "complex128")],
)
def test_dtypes_are_numpys(dtype: str, expected: str) -> None:
    x = (X > 0).astype(dtype)
    for function in (np.fft.fft, np.fft.rfft):
        assert function(x).dtype == expected
        for mode in TYPED:
            assert mode(function, x).dtype == expected


def test_shifts_and_frequencies() -> None:
    same(lambda x: (np.fft.fftshift(x), np.fft.ifftshift(x, axes=1), np.fft.fftshift(x, axes=(0, -1))), X)
    check_grads(lambda d: np.fft.fftfreq(5, d) * np.fft.rfftfreq(8, d), (0.3,))


def test_a_convolution_by_transforms_has_the_derivative_of_the_convolution() -> None:
    def by_transforms(x: Any, y: Any) -> Any:
        count = len(x) + len(y) - 1
        return np.fft.irfft(np.fft.rfft(x, count) * np.fft.rfft(y, count), count)

    x, y = X[0, 0], X[1, :, 0]
    np.testing.assert_allclose(by_transforms(x, y), np.convolve(x, y))
    weights = np.arange(8.0)
    for position in (0, 1):
        found = wg.grad(lambda x, y: weights @ by_transforms(x, y), position)(x, y)
        np.testing.assert_allclose(found, wg.grad(lambda x, y: weights @ np.convolve(x, y), position)(x, y))


@pytest.mark.parametrize(
    ("wrong", "kind", "says"),
    [
        (lambda x: np.fft.fft(x, 0), ArgumentError, "at least one point; got 0"),
        (lambda x: np.fft.fft(x, norm="unit"), ArgumentError, 'norm must be "backward"'),
        (lambda x: np.fft.irfft(x, norm="unit"), ArgumentError, 'norm must be "backward"'),
        (lambda x: np.fft.rfft(x + 1j), DtypeError, "real numbers are required"),
        (lambda x: np.fft.fft(x, axis=3), IndexError, "axis must lie"),
        (lambda x: np.fft.fftn(x, (2, 2), (0,)), ArgumentError, "the same length"),
        (lambda x: np.fft.irfft(x[..., :1]), ArgumentError, "at least one point"),
    ],
)
def test_errors(wrong: Callable[[Any], Any], kind: type[Exception], says: str) -> None:
    with pytest.raises(kind, match=says) as caught:
        wg.grad(lambda x: np.sum(np.abs(wrong(x))))(X)
    assert isinstance(caught.value, WengertError)
