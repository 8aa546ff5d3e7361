"""Fourier transforms in native code: lengths, axes, batches, precisions and processors against NumPy; accuracy."""

from __future__ import annotations

import math
import platform
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.compiler.comparing import check
from wengert.compiler import specialisation
from wengert.compiler.llvm.host import host, named
from wengert.engine.machine import costs
from wengert.engine.passes.fast_transforms import columns, steps

RNG = np.random.default_rng(0)
EPSILON = {"complex64": 2.0**-23, "complex128": 2.0**-52}


def normal(*shape: int, dtype: str = "complex128") -> Any:
    return (RNG.normal(size=shape) + 1j * RNG.normal(size=shape)).astype(dtype)


def same(function: Callable[[Any], Any], z: Any) -> None:
    """Check that a compiled function gives what NumPy gives, but for rounding errors of the norm of the result."""
    expected, actual = function(z), wg.jit(function)(z)
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    bound = 4 * np.log2(z.size + 2) * EPSILON[str(expected.dtype)]
    assert np.linalg.norm(actual - expected) <= bound * np.linalg.norm(expected)


def is_native(function: Callable[..., Any], *arguments: Any) -> bool:
    return wg.jit(function).report(*arguments).hosts == ()


def smooth(count: int) -> bool:
    """Return whether all prime factors are at most 43."""
    for prime in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43):
        while count % prime == 0:
            count //= prime
    return count == 1


def test_the_steps_of_a_length_are_short_and_make_it() -> None:
    for count in range(2, 3000):
        found = steps(count)
        assert max(found) <= 43
        longer = math.prod(found)
        assert longer == count if smooth(count) else 2 * count - 1 <= longer < 4 * count
    assert steps(0) == steps(1) == steps(1 << 21) == ()
    assert steps(524_309) == ()  # the convolution would be longer than the longest native transform


@pytest.mark.parametrize("first", range(4))
@pytest.mark.parametrize("dtype", ["complex128", "complex64"])
def test_all_short_lengths(dtype: str, first: int) -> None:
    single = dtype == "complex64"
    counts = [24, 25, 37, 77, 121] if single else [*range(2, 10), 11, 13, 16, 24, 26, 37, 45, 77]
    for count in counts[first::4]:
        z = normal(*[(), (3,), (2, 3), (9,)][count % 4], count, dtype=dtype)
        same((np.fft.fft, np.fft.ifft)[count % 3 == 0], z)


def test_short_transforms_are_native() -> None:
    assert is_native(np.fft.fft, normal(3, 39))


def test_numpy_is_called_where_a_convolution_takes_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    z = normal(4, 94)
    assert is_native(np.fft.fft, z)
    assert is_native(np.fft.rfft, z.real.copy())
    monkeypatch.setattr(costs, "COSTS", replace(costs.COSTS, host_call_work=0, host_transform_work=1e-3))
    assert not is_native(np.fft.fft, z)
    assert not is_native(np.fft.rfft, z.real.copy())
    assert is_native(np.fft.fft, normal(4, 72))
    same(np.fft.fft, z)


def longer(*shape: int) -> Any:
    """Return a shape whose programs take long to compile."""
    return pytest.param(shape, marks=pytest.mark.slow)


@pytest.mark.parametrize("real", [False, True])
@pytest.mark.parametrize(
    "shape", [(6, 5), (13, 8), longer(37, 20), longer(33, 40), longer(47, 20), longer(3, 20, 67)]
)
def test_several_axes_and_transposed_operands(shape: tuple[int, ...], real: bool) -> None:
    z = normal(*shape)
    z = z.real.copy() if real else z

    def all_of(z: Any) -> Any:
        return np.concatenate(
            [
                np.ravel(np.fft.fft2(z)),
                np.ravel(np.fft.ifftn(z)),
                np.ravel(np.fft.ifft(z.T)),
                np.ravel(np.fft.fft(np.fft.fft(z, axis=0) * 2.0, axis=-2) * z),
                np.ravel(np.fft.fft(z, 2 * z.shape[0], axis=0)),
                np.ravel(np.fft.fft(np.flip(z, -1))),
            ]
        )

    same(all_of, z)


@pytest.mark.parametrize("first", range(4))
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_transforms_of_real_numbers(dtype: str, first: int) -> None:
    counts = [20, 66, 15, 9] if dtype == "float32" else [2, 3, 4, 9, 15, 16, 17, 33, 34, 100]
    for count in counts[first::4]:
        x = normal(*[(), (3,), (2, 3), (9,)][count % 4], count).real.astype(dtype)

        def both_ways(x: Any) -> Any:
            y = np.fft.rfft(x)
            return np.concatenate([y, y * np.fft.irfft(y * (1 + 1j), x.shape[-1])[..., : y.shape[-1]]], -1)

        same(both_ways, x)
        assert is_native(both_ways, x)


@pytest.mark.parametrize(
    "shape", [(8, 6), (12, 1), (26, 5), longer(82, 5), longer(33, 40), longer(3, 20, 70)]
)
def test_transforms_of_real_numbers_along_several_axes(shape: tuple[int, ...]) -> None:
    x = normal(*shape).real.copy()

    def all_of(x: Any) -> Any:
        y, z = np.fft.rfft2(x), np.fft.rfft(x, axis=-2)
        one, other = np.fft.irfft2(y * 2j, x.shape[-2:]), np.fft.irfft(z * 2j, x.shape[-2], axis=-2)
        return np.concatenate([*map(np.ravel, (y, z, one + 0j, other + 0j))])

    same(all_of, x)


def test_a_transform_of_a_constant_is_one() -> None:
    z = normal(3, 20)
    same(
        lambda x: np.fft.fft(z) * x + np.fft.rfft(z.real)[..., :1] + np.fft.irfft(z, 38)[..., :1], normal(20)
    )


@pytest.mark.parametrize("mode", ["gradient", "tangent", "batch", "loop"])
def test_derivatives_batches_and_loops(mode: str) -> None:
    z = normal(12, 20)
    kernel = np.fft.fft2(normal(12, 20))

    def blur(z: Any) -> Any:
        return np.fft.ifft2(np.fft.fft2(z) * kernel)

    functions = {
        "gradient": wg.grad(lambda z: np.sum(np.abs(blur(z)) ** 2)),
        "tangent": lambda z: wg.jvp(blur, (z,), (kernel,)),
        "batch": wg.vmap(blur),
        "loop": lambda z: wg.fori_loop(0, 3, lambda i, z: blur(z) / 20.0, z),
    }
    if mode == "batch":
        z = normal(3, 12, 20)
    check(functions[mode], z, ulp=1e5, scale=1e2)
    if mode == "gradient":
        assert is_native(functions[mode], z)


def test_a_compiled_transform_is_kept_on_disk(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WENGERT_CACHE", str(tmp_path))
    wg.jit(lambda z: np.fft.fft(z))(normal(24))
    assert any(path.suffix for path in tmp_path.rglob("*") if path.is_file())


@pytest.mark.parametrize("shape", [(300, 256), (256, 320)])
def test_threads_share_rows_and_blocks_of_columns(
    shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WENGERT_THREADS", "2")
    same(np.fft.fft2, normal(*shape))


def test_blocks_of_columns() -> None:
    for width in range(1, 300):
        for count in (8, 1024, 1 << 17):
            block = columns(count, width, np.dtype(np.float64))
            assert 1 <= block <= min(width, costs.COSTS.transform_columns)
            assert width % block == 0 or block % costs.COSTS.lane_extent == 0


@pytest.mark.parametrize("level", ["avx2", "sse2"])
def test_lesser_processors(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if (
        platform.machine().lower() not in ("x86_64", "amd64")
        or named(level).vector_bytes > host().vector_bytes
    ):
        pytest.skip(f"this processor has no {level}")
    monkeypatch.setattr(specialisation, "host", lambda: named(level))
    for dtype in ("complex128", "complex64"):
        for count in (15, 13, 32):
            same(np.fft.fft, normal(3, count, dtype=dtype))
        same(np.fft.fft2, normal(12, 10, dtype=dtype))


@pytest.mark.parametrize("dtype", ["complex128", "complex64"])
@pytest.mark.parametrize("count", [17, 37, 43, 47, 60, 77, 101, 243, 512])
def test_errors_are_at_most_twice_those_of_pocketfft(dtype: str, count: int) -> None:
    pocketfft = pytest.importorskip("scipy.fft")  # NumPy's works in double precision
    z = normal(8, count, dtype=dtype)
    turns = np.outer(np.arange(count), np.arange(count)) % count
    angles = 2 * np.arccos(np.longdouble(-1)) * turns.astype(np.longdouble) / count
    matrix = np.cos(angles) - 1j * np.sin(angles)
    exact = z.astype(np.clongdouble) @ matrix
    error = np.linalg.norm(wg.jit(np.fft.fft)(z) - exact)
    assert error <= 2 * np.linalg.norm(pocketfft.fft(z) - exact)


def test_infinities_and_nans_reach_the_results() -> None:
    z = normal(3, 24)
    z[1, 5] = np.nan
    z[2, 7] = np.inf
    found = wg.jit(np.fft.fft)(z)
    np.testing.assert_allclose(found[0], np.fft.fft(z[0]), rtol=1e-13)
    assert not np.isfinite(found[1:]).any()
