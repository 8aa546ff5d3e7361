"""Fourier transforms and gradients of spectral steps against scipy.fft and JAX, on one thread.

The libraries take turns in one process, on one processor. Times are those that the process has had the processor for;
a ratio is the median of the ratios of neighbouring turns. JAX is left out where it is not installed. With `--write` the
table in docs/measurements.md is replaced.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tables import write_measurements
from turns import Workload, compare, jax, jnp  # before NumPy: it limits the threads

import numpy as np  # isort: skip
import scipy.fft

import wengert as wg


def kdv(xp: Any, count: int) -> Callable[..., Any]:
    """Return the distance from a target after a step of the Korteweg-de Vries equation.

    The linear part is solved exactly, the other by the method of Runge and Kutta of order 4.
    """
    k, dt = 2 * np.pi * np.fft.rfftfreq(count, 2.0 / count), 1e-4
    factor = -0.5j * dt * k
    half = np.exp(0.5j * dt * 0.022**2 * k**3)

    def advected(v):
        return factor * xp.fft.rfft(xp.fft.irfft(v, count) ** 2)

    def loss(u, target):
        v = xp.fft.rfft(u)
        a = advected(v)
        b = advected(half * (v + a / 2))
        c = advected(half * v + b / 2)
        d = advected(half**2 * v + half * c)
        v = half**2 * v + (half**2 * a + 2 * half * (b + c) + d) / 6
        return xp.sum((xp.fft.irfft(v, count) - target) ** 2)

    return loss


def vorticity(xp: Any, count: int) -> Callable[..., Any]:
    """Return the distance from a target after a step of the two-dimensional Navier-Stokes equations (Heun)."""
    k = np.fft.fftfreq(count, 1.0 / count)
    kx, ky = k[:, None] * 1j, k[None, : count // 2 + 1] * 1j
    ky = np.abs(ky.imag) * 1j
    laplacian = (kx**2 + ky**2).real
    inverse = 1 / np.where(laplacian == 0, 1.0, laplacian)
    dt, viscosity = 1e-3, 1e-3

    def change(w):
        stream = -w * inverse
        u, v, wx, wy = (xp.fft.irfft2(z, (count, count)) for z in (ky * stream, -kx * stream, kx * w, ky * w))
        return viscosity * laplacian * w - xp.fft.rfft2(u * wx + v * wy)

    def loss(w, target):
        w = xp.fft.rfft2(w)
        first = change(w)
        second = change(w + dt * first)
        return xp.sum((xp.fft.irfft2(w + dt / 2 * (first + second), (count, count)) - target) ** 2)

    return loss


def transforms() -> list[Workload]:
    rng = np.random.default_rng(0)
    shapes = [(1 << power,) for power in (6, 8, 10, 12, 14, 16, 18, 20)]
    shapes += [(1000, 64), (400, 256), (100, 1000), (100, 1024), (25, 4096)]
    primes = [(1009,), (10007,), (1000, 17), (100, 1009)]
    cases = [("fft", shape) for shape in (*shapes, *primes)] + [("fft2", (256, 256)), ("fft2", (1024, 1024))]
    cases += [
        (name, shape) for name in ("rfft", "irfft") for shape in ((1024,), (65536,), (100, 1000), (100, 1009))
    ]
    return [
        transform(name, shape, dtype, rng) for dtype in ("complex64", "complex128") for name, shape in cases
    ]


def transform(name: str, shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> Workload:
    """Return a transform of, or to, so many points."""
    count = shape[-1]
    z = (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)
    options = {"n": count} if name == "irfft" else {}
    argument = {"rfft": z.real.copy(), "irfft": z[..., : count // 2 + 1].copy()}.get(name, z)
    ours = wg.jit(lambda z: getattr(np.fft, name)(z, **options))
    peers = {"scipy.fft": lambda z: getattr(scipy.fft, name)(z, **options)}
    if jax:
        peers["JAX"] = jax.jit(lambda z: getattr(jnp.fft, name)(z, **options))
    return Workload(f"{name}, {' x '.join(map(str, shape))}, {dtype}", ours, peers, (argument,))


def gradients() -> list[Workload]:
    rng = np.random.default_rng(0)
    found = []
    for title, program, shape in (
        ("gradient of a KdV step, 512 points", kdv, (512,)),
        ("gradient of a KdV step, 8192 points", kdv, (8192,)),
        ("gradient of a vorticity step, 128 x 128", vorticity, (128, 128)),
        ("gradient of a vorticity step, 256 x 256", vorticity, (256, 256)),
    ):
        arguments = (rng.normal(size=shape), rng.normal(size=shape))
        peers = {"JAX": jax.jit(jax.grad(program(jnp, shape[0])))} if jax else {}
        found.append(Workload(title, wg.jit(wg.grad(program(np, shape[0]))), peers, arguments))
    return found


def table(turns: int) -> str:
    lines = [
        "| workload | Wengert, µs | scipy.fft, µs | JAX, µs | faster than scipy.fft by | faster than JAX by |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for workload in (*transforms(), *gradients()):
        mine, others = compare(workload, turns)
        times = [f"{others[name][0]:,.1f}" if name in others else "" for name in ("scipy.fft", "JAX")]
        ratios = [f"{others[name][1]:.2f} x" if name in others else "" for name in ("scipy.fft", "JAX")]
        lines.append(f"| {workload.name} | {mine:,.1f} | {' | '.join((*times, *ratios))} |")
        print(lines[-1], flush=True)
    return "\n".join(lines)


if __name__ == "__main__":
    write_measurements(__doc__, "fourier", table)
