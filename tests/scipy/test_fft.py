"""`wengert.scipy.fft`: every function and option against SciPy, derivatives, batches, compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.scipy.checks import check, close
from wengert.engine.core.errors import ArgumentError, AxisError, WengertError
from wengert.scipy import fft as own

theirs = pytest.importorskip("scipy.fft")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(3, 4, 5))
Z = X + 1j * RNG.normal(size=X.shape)
NORMS = (None, "backward", "ortho", "forward")
OF_REAL = ("rfft", "ihfft", "rfft2", "ihfft2", "rfftn", "ihfftn")
FOURIER = [f"{kind}fft" for kind in ("", "i", "r", "ir", "h", "ih")]
COSINES = ["dct", "idct", "dst", "idst"]


def operand_of(name: str) -> Any:
    return X if name in OF_REAL else Z


@pytest.mark.parametrize("name", FOURIER)
def test_transforms_of_one_axis_are_scipys(name: str) -> None:
    for norm in NORMS:
        for n, axis in ((None, -1), (3, 0), (7, 1), (1, 2)):
            options = {"n": n, "axis": axis, "norm": norm, "workers": 1}
            x = operand_of(name)
            close(getattr(own, name)(x, **options), getattr(theirs, name)(x, **options), 1e-13)


@pytest.mark.parametrize("name", [*(f"{name}2" for name in FOURIER), *(f"{name}n" for name in FOURIER)])
def test_transforms_of_several_axes_are_scipys(name: str) -> None:
    for norm in NORMS:
        for options in (
            {},
            {"s": (3, 6), "axes": (0, 2)},
            {"axes": (1, 0)},
            {"s": (-1, 4), "axes": (-1, -2)},
        ):
            x = operand_of(name)
            given: Any = {**options, "norm": norm, "overwrite_x": True}
            close(getattr(own, name)(x, **given), getattr(theirs, name)(x.copy(), **given), 1e-13)


@pytest.mark.parametrize("name", [*FOURIER, "fft2", "irfftn", "hfftn", "ihfftn"])
def test_fourier_transforms_in_all_modes(name: str) -> None:
    x = operand_of(name)[:2, :3, :3]
    function = getattr(own, name)
    check(lambda x: function(x, norm="ortho") * np.sin(function(x)), None, x, rtol=1e-11)


@pytest.mark.parametrize("type_", [1, 2, 3, 4])
@pytest.mark.parametrize("name", COSINES)
def test_cosine_and_sine_transforms_are_scipys(name: str, type_: int) -> None:
    for norm in NORMS:
        for orthogonalize in (None, True, False):
            options: Any = {"type": type_, "norm": norm, "orthogonalize": orthogonalize}
            for count in range(2 if name in ("dct", "idct") and type_ == 1 else 1, 10):
                x = RNG.normal(size=(2, count))
                close(getattr(own, name)(x, **options), getattr(theirs, name)(x, **options), 1e-13)
            for more in ({}, {"axes": (0, 2)}, {"s": (2, 7)}, {"s": (-1, 4), "axes": (2, 0)}, {"axes": ()}):
                x = Z if orthogonalize is None else X  # SciPy ignores the option for complex arrays
                found = getattr(own, f"{name}n")(x, **options, **more)
                close(found, getattr(theirs, f"{name}n")(x, **options, **more), 1e-13)
    for n, axis in ((3, 0), (7, 1), (2, 2)):
        close(getattr(own, name)(X, type_, n, axis), getattr(theirs, name)(X, type_, n, axis), 1e-13)


@pytest.mark.parametrize("type_", [1, 2, 3, 4])
@pytest.mark.parametrize("name", COSINES)
def test_cosine_and_sine_transforms_in_all_modes(name: str, type_: int) -> None:
    for count in (2, 5, 6):
        x = RNG.normal(size=(2, count))
        check(lambda x: getattr(own, name)(x, type_, norm="ortho") * np.sin(x), None, x)
    check(lambda x: getattr(own, f"{name}n")(x, type_, s=(4, 3)), None, X[:2, :3, :3])


@pytest.mark.parametrize("name", COSINES)
def test_inverses(name: str) -> None:
    other = name[1:] if name[0] == "i" else f"i{name}"
    for type_ in (1, 2, 3, 4):
        for norm in NORMS:
            x = RNG.normal(size=6)
            close(getattr(own, other)(getattr(own, name)(x, type_, norm=norm), type_, norm=norm), x, 1e-14)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "bool"])
def test_dtypes_are_scipys(dtype: str) -> None:
    names = ("fft", "rfft", "fftn", "dct", "dstn")

    def transformed(x: Any) -> Any:
        return [getattr(own, name)(x) for name in names]

    x = (X > 0).astype(dtype)
    for name, found, other in zip(names, transformed(x), wg.jit(transformed)(x), strict=True):
        close(found, getattr(theirs, name)(x), 1e-6)
        assert other.dtype == getattr(theirs, name)(x).dtype


def test_types_of_complex_cosines_and_of_no_axes() -> None:
    assert own.dct(Z.astype("complex64")).dtype == theirs.dct(Z.astype("complex64")).dtype
    close(own.fftn(X, axes=()).real, theirs.fftn(X, axes=()), 0.0)


def test_order_and_lengths() -> None:
    for count in range(200):
        for real in (False, True):
            assert own.next_fast_len(count, real) == theirs.next_fast_len(count, real)
    for count in range(1, 9):
        close(own.fftfreq(count, 0.5), theirs.fftfreq(count, 0.5), 0.0)
        close(own.rfftfreq(count), theirs.rfftfreq(count), 0.0)
        close(own.fftshift(X[..., :count]), theirs.fftshift(X[..., :count]), 0.0)
        close(own.ifftshift(X[:count], 0), theirs.ifftshift(X[:count], 0), 0.0)
    wg.check_grads(lambda d, x: own.fftfreq(5, d) * own.fftshift(x), (0.3, X[0, 0]))


@pytest.mark.parametrize(
    ("wrong", "kind", "says"),
    [
        (lambda x: own.fft(x, 0), ArgumentError, "fft: .*at least one point; got 0"),
        (lambda x: own.fft(x, norm="unit"), ArgumentError, 'norm must be "backward"'),
        (lambda x: own.hfft(x, norm="unit"), ArgumentError, 'norm must be "backward"'),
        (lambda x: own.fft(x, plan="measure"), ArgumentError, "plan must be None"),
        (lambda x: own.fft(x, workers=0), ArgumentError, "workers must not be 0"),
        (lambda x: own.rfft(x + 1j), TypeError, "real numbers are required"),
        (lambda x: own.fftn(x, axes=(0, 0)), ValueError, "once only"),
        (lambda x: own.rfftn(x, axes=()), AxisError, "at least one axis"),
        (lambda x: own.dct(x, 5), ArgumentError, "type must be 1, 2, 3 or 4; got 5"),
        (lambda x: own.dct(x, norm="unit"), ArgumentError, 'norm must be "backward"'),
        (lambda x: own.dct(x[..., :1], 1), ArgumentError, "at least two points"),
        (lambda x: own.dst(x, n=0), ArgumentError, "at least one point"),
        (lambda x: own.fftfreq(0) * x[0, 0], ArgumentError, "at least one point"),
        (lambda x: own.fftfreq(5, device="gpu") * x[0, 0], ArgumentError, "arrays are NumPy's"),
        (lambda x: own.next_fast_len(-1) * x, ArgumentError, "a length is not negative"),
    ],
)
def test_errors(wrong: Callable[[Any], Any], kind: type[Exception], says: str) -> None:
    with pytest.raises(kind, match=says) as caught:
        wg.grad(lambda x: np.sum(np.abs(wrong(x))))(X)
    assert isinstance(caught.value, WengertError)


@pytest.mark.parametrize("bias", [0.0, -0.3])
@pytest.mark.parametrize("name", ["fht", "ifht"])
def test_hankel_transforms(name: str, bias: float) -> None:
    x = np.random.default_rng(7).normal(size=(2, 6))
    program = lambda m, x: getattr(m, name)(x, 0.2, 0.5, offset=0.1, bias=bias)  # noqa: E731
    np.testing.assert_allclose(program(own, x), program(theirs, x), rtol=1e-12, atol=1e-14)
    wg.check_grads(lambda x: program(theirs, x), (x,), order=2, rtol=1e-6)
    total = lambda x: np.sum(np.sin(program(own, x)))  # noqa: E731
    np.testing.assert_allclose(wg.jit(wg.grad(total))(x), wg.grad(total)(x), rtol=1e-11)
