"""Fourier transforms and gradients of spectral steps against scipy.fft and JAX, on one thread.

The libraries take turns in one process, on one processor. Times are those that the process has had the processor for;
a ratio is the median of the ratios of neighbouring turns. JAX is left out where it is not installed. With `--write` the
table in docs/performance.md is replaced.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

os.environ["OMP_NUM_THREADS"] = "1"  # before the libraries load
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["WENGERT_THREADS"] = "1"

import numpy as np
import scipy.fft
from tables import replace_table

import wengert as wg

try:
    import jax
    import jax.numpy as jnp
except ImportError:
    jax = jnp = None
else:
    jax.config.update("jax_enable_x64", True)


class Workload(NamedTuple):
    """A function for each library, and its arguments."""

    name: str
    wengert: Callable[..., Any]
    peers: dict[str, Callable[..., Any]]
    arguments: tuple[Any, ...]


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


def seconds(function: Callable[..., Any], arguments: tuple[Any, ...], calls: int) -> float:
    start = time.process_time()
    for _ in range(calls):
        result = function(*arguments)
    if hasattr(result, "block_until_ready"):
        result.block_until_ready()
    return (time.process_time() - start) / calls


def compare(workload: Workload, turns: int) -> tuple[float, dict[str, tuple[float, float]]]:
    """Return microseconds of Wengert, and those of each peer with the median ratio to Wengert's."""
    given = {
        name: tuple(map(jnp.asarray, workload.arguments)) if name == "JAX" else workload.arguments
        for name in workload.peers
    }
    ours = workload.wengert(*workload.arguments)
    for name, peer in workload.peers.items():  # the results must agree
        error = np.linalg.norm(np.asarray(peer(*given[name])) - ours) / np.linalg.norm(ours)
        assert error < (1e-5 if ours.dtype.itemsize <= 4 or ours.dtype == np.complex64 else 1e-9), (
            workload.name,
            name,
            error,
        )

    def calls(function: Callable[..., Any], arguments: tuple[Any, ...]) -> int:
        return max(1, round(0.01 / max(seconds(function, arguments, 2), 1e-7)))

    own_calls = calls(workload.wengert, workload.arguments)
    counts = {name: calls(peer, given[name]) for name, peer in workload.peers.items()}
    own: list[float] = []
    others: dict[str, list[float]] = {name: [] for name in workload.peers}
    for _ in range(turns):
        own.append(seconds(workload.wengert, workload.arguments, own_calls))
        for name, peer in workload.peers.items():
            others[name].append(seconds(peer, given[name], counts[name]))
    return statistics.median(own) * 1e6, {
        name: (
            statistics.median(times) * 1e6,
            statistics.median(b / a for a, b in zip(own, times, strict=True)),
        )
        for name, times in others.items()
    }


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=15, help="the number of turns")
    parser.add_argument("--write", action="store_true", help="replace the table in docs/performance.md")
    arguments = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    text = table(arguments.turns)
    if arguments.write:
        replace_table("performance.md", "fourier", text)


if __name__ == "__main__":
    main()
